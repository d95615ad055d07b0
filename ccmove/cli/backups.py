"""`ccmove restore`, `show`, `recover` and `backups`:
past runs, told again, undone, removed.
"""

import contextlib
import re
from dataclasses import replace

import click

from ccmove.claude.layout import Layout
from ccmove.cli import options
from ccmove.cli.boundary import Call
from ccmove.cli.move import carry_out
from ccmove.cli.options import flag
from ccmove.cli.resolve import refuse_live
from ccmove.errors import NothingKnownError, RefusedError, UsageError, run
from ccmove.inspect.backups import SET_ASIDE, list_backups, past_plan
from ccmove.plan.model import Plan
from ccmove.report.inspect import Backups
from ccmove.report.result import DONE, Result
from ccmove.run.backups import Backup, all_backups, no_backup
from ccmove.run.backups import prune as prune_backups
from ccmove.run.journal import read_run
from ccmove.run.locks import own_lock
from ccmove.run.manifest import Manifest
from ccmove.run.preflight import refuse_foreign_state
from ccmove.run.rollback import recover
from ccmove.run.transaction import Progress
from ccmove.run.undo import plan_undo, refuse_built_on

PAST = run("ccmove", "backups", text="past moves")
UNITS = {"m": 60, "h": 3600, "d": 86400, "w": 604800}  # seconds
OLD_ONES = run(
    "ccmove", "backups", "--prune", "--older-than", "30d", "-n", text="for example"
)


@options.command("restore")
@click.argument(
    "identifier", metavar="[ID]", required=False, shell_complete=options.backups
)
@options.dry_run
@options.full
@flag("--merge", help="Go on although OLD is in use again.")
@options.allow_live
def restore_command(
    call: Call, identifier: str | None, verify: str, **wanted: bool
) -> Result:
    """Undo the last move, or the one with this ID.

    What was added since is kept. `ccmove undo` is the same.
    """
    # An interrupted run comes first: if it was a move, then that was the newest of all.
    refuse_foreign_state(layout := call.find_layout())
    interrupted = read_run(layout)
    call.recover(dry_run=wanted["dry_run"])
    if identifier is None and interrupted is not None and interrupted.kind == "move":
        return Result("recovered", layout)
    return restore(layout, identifier, call.progress(), full=verify == "full", **wanted)


def restore(
    layout: Layout,
    identifier: str | None,
    progress: Progress | None = None,
    *,
    allow_live: bool = False,
    merge: bool = False,
    **how: bool,
) -> Result:
    """Undo a move or a restore; without an ID the newest move that still stands."""
    manifest = _to_undo(layout, identifier)
    named = [path for move in manifest.moves for path in move]
    warnings = refuse_live(
        layout, named, allow=allow_live, dry_run=how.get("dry_run", False)
    )

    def make_plan() -> Plan:
        return plan_undo(layout, _to_undo(layout, manifest.id), merge=merge)

    result = carry_out(layout, make_plan, progress, **how)
    return replace(result, warnings=(*warnings, *result.warnings))


def _to_undo(layout: Layout, identifier: str | None) -> Manifest:
    """What the run did that is to be undone;
    without an ID the newest move that stands.
    """
    found = all_backups(layout)
    if (
        identifier is None
    ):  # one that can't be read may be the newest: never undo another
        moves = {
            b.id for b in found if b.manifest is not None and b.manifest.kind == "move"
        }
        standing = [b.id for b in found if b.problem or (b.stands and b.id in moves)]
        if not standing:
            raise NothingKnownError("nothing to undo", PAST)
        identifier = standing[-1]
    undoing = {b.manifest.undoes: b.id for b in found if b.manifest is not None}
    while (redone := undoing.get(undoing.get(identifier, ""))) is not None:
        identifier = redone  # which has what the first had set aside
    backup, manifest = _named(layout, found, identifier)
    if not backup.stands:
        raise RefusedError(f"{identifier} was already undone", PAST)
    known = {b.id for b in found if b.manifest is not None}
    for later in (
        b.manifest for b in found if b.manifest is not None and b.id > identifier
    ):
        if later.undoes and later.undoes not in known and later.moves == manifest.moves:
            that = run("ccmove", "restore", later.id, text="undo that instead")
            raise RefusedError(
                f"{identifier} was undone, and done again by {later.id}", that
            )
    refuse_built_on(manifest, found)
    return manifest


def _named(
    layout: Layout, found: list[Backup], identifier: str
) -> tuple[Backup, Manifest]:
    """The backup with this ID and what is in it;
    RefusedError when that can't be read.
    """
    backup = next((b for b in found if b.id == identifier), Backup(identifier, None))
    if backup.manifest is None:
        raise backup.problem or no_backup(identifier, layout)
    return backup, backup.manifest


@options.command("show")
@click.argument(
    "identifier", metavar="[ID]", required=False, shell_complete=options.backups
)
def show_command(call: Call, identifier: str | None) -> Result:
    """Print the full report of the last run, or of the one with this ID.

    Every change, what is still to do, and what was left alone.
    """
    call.printer = replace(call.printer, verbose=True)
    layout = call.find_layout()
    found = all_backups(layout)
    if not found and identifier is None:
        raise NothingKnownError("there is no run to show", PAST)
    backup, manifest = _named(layout, found, identifier or found[-1].id)
    plan, undone = past_plan(layout, manifest), not backup.stands
    return Result(
        DONE[plan.kind], layout, plan.moves, plan, backup.id, past=True, undone=undone
    )


@options.command("recover")
@flag("--set-aside", help="Keep what can't be rolled back, so that you can go on.")
def recover_command(call: Call, set_aside: bool) -> Result:
    """Undo a run that was interrupted."""
    layout, bar = call.find_layout(), call.progress()
    return Result(
        "recovered", layout, rolled_back=recover(layout, bar, set_aside=set_aside)
    )


@options.command("backups")
@click.argument(
    "identifiers", metavar="[ID]...", nargs=-1, shell_complete=options.backups
)
@flag("--prune", help="Remove backups: those with these IDs, or as below.")
@click.option(
    "--keep",
    type=click.IntRange(min=0),
    metavar="N",
    help="With --prune: keep the newest N.",
)
@click.option(
    "--older-than",
    metavar="AGE",
    help="With --prune: remove only what is older, such as 30d.",
)
@flag("-n", "--dry-run", help="With --prune: show what would be removed.")
def backups_command(
    call: Call,
    identifiers: tuple[str, ...],
    prune: bool,
    keep: int | None,
    older_than: str | None,
    dry_run: bool,
) -> Backups:
    """List the moves that can be undone; --prune removes old backups."""
    if not prune and (keep is not None or older_than or dry_run):
        raise UsageError("--keep, --older-than and --dry-run need --prune", OLD_ONES)
    age = seconds(older_than) if older_than else None
    if prune and keep is None and age is None and not identifiers:
        raise UsageError("--prune needs to know what to remove", OLD_ONES)
    layout = call.recover(dry_run=dry_run) if prune else call.find_layout()
    rows = tuple(list_backups(layout))
    if unknown := sorted(set(identifiers).difference(row.id for row in rows)):
        raise NothingKnownError(f"there is no backup {unknown[0]}", PAST)
    if not prune:
        return Backups(
            tuple(row for row in rows if not identifiers or row.id in identifiers)
        )
    with own_lock(layout) if rows and not dry_run else contextlib.nullcontext():
        why = prune_backups(layout, keep, age, identifiers, dry_run=dry_run)
    return Backups(rows, {row.id: why.get(row.id, SET_ASIDE) for row in rows}, dry_run)


def seconds(text: str) -> float:
    """`30d`, `12h`, `45m` -> seconds."""
    if re.fullmatch("[0-9]{1,9}[mhdw]", text):
        return int(text[:-1]) * UNITS[text[-1]]
    raise UsageError(f"{text!r} is not a duration: a number and m, h, d or w", OLD_ONES)
