"""`ccmove show`: the full report of a past run."""

from dataclasses import replace

import click

from ccmove.cli import options, values
from ccmove.cli.boundary import Call
from ccmove.errors import NothingKnownError, run
from ccmove.inspect.backups import past_plan
from ccmove.report.result import Result
from ccmove.run.backups import all_backups


@options.command("show")
@click.argument("identifier", metavar="[ID]", required=False, shell_complete=values.backups)
def show_command(call: Call, identifier: str | None) -> Result:
    """Print the full report of the last run, or of the one with this ID.

    Every change, what is still to do, and what was left alone.
    """
    call.printer = replace(call.printer, verbose=True)
    layout = call.find_layout()
    past = {backup.id: backup for backup in all_backups(layout)}
    wanted = identifier or max(past, default="")
    if wanted not in past:
        message = f"there is no backup {wanted}" if wanted else "nothing was moved yet"
        raise NothingKnownError(message, run("ccmove", "backups", text="past moves"))
    backup = past[wanted]
    if backup.manifest is None:
        assert backup.problem is not None
        raise backup.problem
    plan = past_plan(layout, backup.manifest)
    status = "moved" if plan.kind == "move" else "restored"
    return Result(status, layout, plan.moves, plan, wanted, past=True, undone=not backup.stands)
