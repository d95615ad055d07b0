"""`ccmove recover`: roll back a run that was interrupted."""

import click

from ccmove.claude.layout import Layout
from ccmove.claude.reading import is_there
from ccmove.cli import options
from ccmove.cli.boundary import Call
from ccmove.report.result import Result
from ccmove.run import journal, rollback
from ccmove.run.journal import was_interrupted
from ccmove.run.locks import own_lock
from ccmove.run.preflight import refuse_foreign_state, refuse_links_of_ours
from ccmove.run.signals import termination_as_interrupt
from ccmove.run.transaction import Progress


@options.command("recover")
@click.option(
    "--set-aside", is_flag=True, help="Keep what can't be rolled back, so that you can go on."
)
def recover_command(call: Call, set_aside: bool) -> Result:
    """Undo a run that was interrupted."""
    return recover(call.find_layout(), call.progress(), set_aside=set_aside)


def recover(layout: Layout, progress: Progress | None = None, *, set_aside: bool = False) -> Result:
    """Roll back an interrupted run, or keep it with all that belongs to it."""
    if not is_there(layout.own):
        return Result("recovered", layout)
    refuse_foreign_state(layout)
    refuse_links_of_ours(layout)
    if not was_interrupted(layout):  # known without a lock, so also where none can be made
        return Result("recovered", layout)
    with own_lock(layout), termination_as_interrupt():
        if set_aside:
            settled = f"Set aside the interrupted run {journal.set_aside(layout)}."
            return Result("recovered", layout, settled=settled)
        return Result("recovered", layout, settled=rollback.roll_back(layout, progress))
