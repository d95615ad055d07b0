"""`ccmove undo`, `show`, `backups`, `prune` and `recover`: what is about past runs."""

from dataclasses import replace
from functools import partial

import click

from ccmove.cli import options
from ccmove.cli.boundary import Answer, Call
from ccmove.cli.completion import backups
from ccmove.cli.options import flag
from ccmove.commands import past
from ccmove.commands.options import PruneOptions, RecoverOptions, UndoOptions
from ccmove.hints import Asked
from ccmove.report.listing import show_backups

one_id = options.one_word(metavar="[ID]", shell_complete=backups)
some_ids = options.words(metavar="[ID]...", shell_complete=backups)


@options.command("undo", UndoOptions, *options.with_details())
@one_id
@options.dry_run
@flag("--merge", help="Merge even if OLD is in use by another project by now.")
@options.hash_files
@options.allow_live
def undo_command(call: Call, asked: UndoOptions) -> Answer:
    """Undo the last move, or the one with this ID.

    What was added since is kept. Any unique part of an ID will do. An undo can't be
    undone: move again instead. `ccmove restore` is the same.
    """
    return call.answer(past.undo(call.find_layout(), asked, call.progress()))


@options.command("show", Asked, options.CONFIG_DIR, options.JSON)
@one_id
def show_command(call: Call, asked: Asked) -> Answer:
    """Print the full report of the last run, or of one by its ID.

    Every change, what is still to do, and what was left alone.
    """
    call.printer = replace(call.printer, verbose=True)
    return call.answer(past.show_run(call.find_layout(), *asked.arguments))


@options.command("recover", RecoverOptions, *options.USUAL)
@flag("--set-aside", help="Keep what can't be rolled back, so that you can go on.")
def recover_command(call: Call, asked: RecoverOptions) -> Answer:
    """Undo a run that was interrupted."""
    layout = call.find_layout()
    progress = call.progress()
    return call.answer(past.recover_run(layout, progress, set_aside=asked.set_aside))


@options.command("backups", Asked, *options.USUAL)
@some_ids
def backups_command(call: Call, asked: Asked) -> Answer:
    """List the moves that can be undone."""
    rows = past.backups_listed(call.find_layout(), asked.arguments)
    return Answer(partial(show_backups, rows))


def _number(typed: str) -> int:
    """How many; of a range of click's the help would say [x>=0]."""
    if not typed.isdecimal():
        raise click.BadParameter(f"{typed!r} is not a number of backups")
    return int(typed)


@options.command("prune", PruneOptions, *options.USUAL)
@some_ids
@click.option("--keep", type=_number, metavar="N", help="Keep the newest N.")
@click.option(
    "--older-than",
    metavar="AGE",
    help="Remove only what is older than AGE, such as 12h or 4w [default: 30d, unless "
    "IDs or --keep are given].",
)
@flag("-n", "--dry-run", help="Preview: show what would be removed.")
def prune_command(call: Call, asked: PruneOptions) -> Answer:
    """Remove old backups, or those with these IDs.

    A move that was undone goes together with its undo.
    """
    layout = call.recover(dry_run=asked.dry_run)
    pruned = past.prune_backups(layout, asked)
    pruned = replace(pruned, rolled_back=call.rolled_back)
    return Answer(partial(show_backups, pruned))
