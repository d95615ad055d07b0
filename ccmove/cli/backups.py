"""`ccmove undo`, `show`, `backups`, `prune` and `recover`: what is about past runs."""

from dataclasses import replace

import click

from ccmove.cli import options
from ccmove.cli.boundary import Call
from ccmove.cli.options import flag
from ccmove.commands import past
from ccmove.commands.options import UndoOptions
from ccmove.commands.undo import undo
from ccmove.report.result import Backups, Result

one_id = click.argument(
    "identifier", metavar="[ID]", required=False, shell_complete=options.backups
)
some_ids = click.argument(
    "identifiers", metavar="[ID]...", nargs=-1, shell_complete=options.backups
)


@options.command("undo")
@one_id
@options.dry_run
@flag("--merge", help="Merge even if OLD is in use by another project by now.")
@options.hash_files
@options.allow_live
def undo_command(call: Call, identifier: str | None, **wanted: bool) -> Result:
    """Undo the last move, or the one with this ID.

    What was added since is kept. Any unique part of an ID will do. An undo can't be
    undone: move again instead. `ccmove restore` is the same.
    """
    layout, asked = call.find_layout(), UndoOptions(**wanted)
    return undo(layout, identifier, asked, call.progress())


@options.command("show")
@one_id
def show_command(call: Call, identifier: str | None) -> Result:
    """Print the full report of the last run, or of the one with this ID.

    Every change, what is still to do, and what was left alone.
    """
    call.printer = replace(call.printer, verbose=True)
    return past.show_run(call.find_layout(), identifier)


@options.command("recover")
@flag("--set-aside", help="Keep what can't be rolled back, so that you can go on.")
def recover_command(call: Call, set_aside: bool) -> Result:
    """Undo a run that was interrupted."""
    return past.recover_run(call.find_layout(), call.progress(), set_aside=set_aside)


@options.command("backups")
@some_ids
def backups_command(call: Call, identifiers: tuple[str, ...]) -> Backups:
    """List the moves that can be undone."""
    return past.backups_listed(call.find_layout(), identifiers)


@options.command("prune")
@some_ids
@click.option(
    "--keep", type=click.IntRange(min=0), metavar="N", help="Keep the newest N."
)
@click.option(
    "--older-than",
    metavar="AGE",
    help="Remove only what is older than AGE, such as 12h or 4w [default: 30d, unless "
    "IDs or --keep are given].",
)
@flag("-n", "--dry-run", help="Preview: show what would be removed.")
def prune_command(
    call: Call,
    identifiers: tuple[str, ...],
    keep: int | None,
    older_than: str | None,
    dry_run: bool,
) -> Backups:
    """Remove old backups, or those with these IDs.

    A move that was undone goes together with its undo.
    """
    layout = call.recover(dry_run=dry_run)
    return past.prune_backups(layout, identifiers, keep, older_than, dry_run=dry_run)
