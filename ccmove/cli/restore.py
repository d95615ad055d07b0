"""`ccmove restore`: undo a move, or the undoing of one."""

import os
from collections.abc import Iterator
from dataclasses import replace

import click

from ccmove.claude.layout import Layout
from ccmove.cli import options, values
from ccmove.cli.boundary import Call
from ccmove.cli.move import carry_out
from ccmove.cli.recover import recover
from ccmove.cli.resolve import refuse_live
from ccmove.errors import Hint, NothingKnownError, RefusedError, UsageError, run
from ccmove.plan.model import Plan
from ccmove.report.result import Result
from ccmove.rewrite.pathmap import are_nested
from ccmove.run import backups
from ccmove.run.backups import Backup
from ccmove.run.manifest import ID_PATTERN, Manifest
from ccmove.run.restore import plan_restore, refuse_built_on
from ccmove.run.transaction import Progress


@options.command("restore")
@click.argument("identifier", metavar="[ID]", required=False, shell_complete=values.backups)
@options.dry_run
@options.full
@options.allow_live
def restore_command(call: Call, identifier: str | None, verify: str, **wanted: bool) -> Result:
    """Undo the last move, or the one with this ID.

    What was added since is kept. `ccmove undo` is the same.
    """
    layout, progress = call.find_layout(), call.progress()
    return restore(layout, identifier, progress, full=verify == "full", **wanted)


def restore(
    layout: Layout,
    identifier: str | None,
    progress: Progress | None = None,
    *,
    dry_run: bool = False,
    allow_live: bool = False,
    full: bool = False,
) -> Result:
    """Undo a move or a restore; without an ID the newest move that still stands."""
    # An interrupted run comes first: it may be the newest of all.
    settled = None if dry_run else recover(layout, progress).settled
    manifest = _find(layout, identifier)
    named = [path for move in manifest.moves for path in move]
    warnings = refuse_live(layout, named, allow=allow_live, dry_run=dry_run)
    moves = manifest.paths.reversed().moves

    def make_plan() -> Plan:
        return plan_restore(layout, _find(layout, manifest.id))

    result = carry_out("restored", layout, moves, make_plan, dry_run, full, progress)
    warnings += [
        *([] if dry_run else _folders_to_rename(layout, manifest, result.plan)),
        *result.warnings,
    ]
    return replace(result, warnings=tuple(warnings), settled=settled or result.settled)


def _folders_to_rename(layout: Layout, manifest: Manifest, plan: Plan | None) -> Iterator[Hint]:
    """The state is at the old path again; its folder is the user's to rename.

    Not where something of NEW's own stays, not another folder than was there at the move, never
    the home, and only where the command would work.
    """
    if plan is None or plan.folders:
        return
    for now, then in plan.moves:
        came_back = any(are_nested(project.path, now) for project in plan.projects)
        is_one = (then, now) in manifest.fresh
        is_home = any(place.is_relative_to(now) for place in (layout.home, layout.config_dir))
        is_free = not os.path.lexists(then) and os.path.isdir(os.path.dirname(then))
        if came_back and is_one and is_free and not is_home and manifest.still_has(now):
            yield run("mv", now, then, text=f"the folder is still {now}; to rename it too")


def _find(layout: Layout, identifier: str | None) -> Manifest:
    """The run to undo; without an ID the newest move that stands."""
    found = backups.all_backups(layout)
    chosen = _newest(found) if identifier is None else _named(layout, found, identifier)
    refuse_built_on(chosen, found)
    return chosen


def _named(layout: Layout, found: list[Backup], identifier: str) -> Manifest:
    if not ID_PATTERN.fullmatch(identifier):
        there_are = run("ccmove", "backups", text="all IDs")
        raise UsageError(f"{identifier!r} is not the ID of a backup", there_are)
    chosen = backups.read_manifest(identifier, layout)
    if not any(backup.stands for backup in found if backup.id == identifier):
        still = run("ccmove", "backups", text="what can still be undone")
        raise RefusedError(f"{identifier} was already undone", still)
    return chosen


def _newest(found: list[Backup]) -> Manifest:
    """One that can't be read may be the newest: never undo another."""
    for backup in reversed(found):
        if backup.problem is not None:
            by_id = run("ccmove", "backups", text="undo another one by its ID")
            raise RefusedError(backup.problem.message, *backup.problem.hints, by_id)
        if backup.stands and backup.manifest is not None and backup.manifest.kind == "move":
            return backup.manifest
    raise NothingKnownError("nothing to undo", run("ccmove", "backups", text="past moves"))
