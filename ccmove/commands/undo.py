"""Undoing a move: which run is meant, and what is left to do by hand."""

from collections.abc import Iterator
from dataclasses import replace

from ccmove.claude.layout import Layout
from ccmove.claude.owners import Ledger
from ccmove.claude.reading import is_there
from ccmove.commands.move import Before, carry_out, reading
from ccmove.commands.options import UndoOptions, UnpackOptions
from ccmove.commands.paths import refuse_live
from ccmove.errors import CcmoveError, NothingKnownError
from ccmove.hints import Hint, ask, to_type
from ccmove.plan.model import Plan
from ccmove.report.result import Result
from ccmove.rewrite.pathmap import Move, fewest
from ccmove.run.backups import (
    PAST,
    Backup,
    all_backups,
    find_id,
    ledger_of,
    read_backup,
)
from ccmove.run.journal import MOVES, read_run
from ccmove.run.manifest import Manifest
from ccmove.run.preflight import refuse_foreign_state
from ccmove.run.rollback import recover
from ccmove.run.transaction import Progress
from ccmove.run.undo import plan_undo, refuse_built_on
from ccmove.transfer.undo import plan_removal


def undo(
    layout: Layout,
    options: UndoOptions,
    progress: Progress | None = None,
) -> Result:
    """Undo the newest run, or the one whose ID has this part.

    A run that was interrupted was the newest of all: it is rolled back, and no other
    one is undone in its place.
    """
    part = next(iter(options.arguments), None)
    refuse_foreign_state(layout)
    interrupted = read_run(layout)
    rolled_back = recover(layout, progress, dry_run=options.dry_run)
    is_that_one = interrupted is not None and (part is None or part in interrupted.id)
    if rolled_back and is_that_one:
        directory = str(layout.config_dir)
        return Result("recovered", directory, rolled_back=rolled_back)
    try:
        return _undo(layout, part, options, progress, rolled_back)
    except CcmoveError as error:
        error.rolled_back = rolled_back
        raise


def _undo(
    layout: Layout,
    part: str | None,
    options: UndoOptions,
    progress: Progress | None,
    rolled_back: str | None,
) -> Result:
    """Look, plan and do it; who plans again under the lock looks again, too."""
    look = to_undo(layout, part)
    looks = iter([look])  # the first plan is made from this one
    manifest, _ = look
    folders: list[str] = []
    for move in manifest.moves:
        folders += move
    running = refuse_live(layout, folders, options)
    merge = options.merge
    tick = reading(layout, progress)

    def make_plan() -> Plan:
        seen = next(looks, None)
        if seen is None:
            seen = to_undo(layout, manifest.id)
        if manifest.is_unpack:
            return plan_removal(layout, manifest, tick)
        return plan_undo(layout, *seen, merge=merge, tick=tick)

    before = Before(running, rolled_back)
    result = carry_out(layout, make_plan, options, before, progress)
    return replace(result, move_again=move_again(layout, manifest))


def to_undo(layout: Layout, part: str | None) -> tuple[Manifest, Ledger]:
    """What the run did that is to be undone; without an ID the newest one. With what
    all the runs say.

    NothingKnownError for what can't be undone, with the way to move again.
    """
    backups = all_backups(layout)
    ledger = ledger_of(layout, backups)
    if part is None:
        identifier = _newest(ledger.newest, backups)
        hints = [*_older(backups, identifier), PAST]
    else:
        identifier = find_id(layout, part)
        hints = [PAST]
    manifest = read_backup(layout, backups, identifier)
    undone = [backup.id for backup in backups if not backup.stands]
    why = None
    if manifest.undoes is not None:
        why = "is itself an undo, and an undo can't be undone"
    elif identifier in undone:
        why = "was already undone"
    if why is not None:
        again = move_again(layout, manifest)
        raise NothingKnownError(f"{identifier} {why}", again, *hints)
    refuse_built_on(manifest, backups)
    return manifest, ledger


def _newest(newest: str, backups: list[Backup]) -> str:
    """The ID of the newest run; NothingKnownError when its backup was pruned."""
    if not newest:
        raise NothingKnownError("nothing to undo", PAST)
    if backups and backups[-1].id >= newest:
        return newest
    if not backups:
        back = to_type("ccmove", "NEW", "OLD", text="rename the folder back, then")
        raise NothingKnownError("nothing to undo: all backups were pruned", back)
    raise NothingKnownError(
        f"the newest run, {newest}, can't be undone: there is no backup of it",
        *_older(backups, newest),
        PAST,
    )


def _older(backups: list[Backup], identifier: str) -> Iterator[Hint]:
    """How to undo the newest one before this that can be undone."""
    for backup in reversed(backups):
        manifest = backup.manifest
        if manifest is None or not backup.stands or manifest.undoes is not None:
            continue
        if backup.id < identifier:
            old, new = manifest.moves[0]
            kind = "settings of " if manifest.is_of_settings else ""
            text = f"to undo an older one, {kind}{old} -> {new}"
            yield to_type("ccmove", "undo", backup.id, text=text)
            return


def _unpack_again(moves: list[Move]) -> UnpackOptions:
    """The command that brings an archive to the same places."""
    if len(moves) == 1:
        [(_, new)] = moves
        return UnpackOptions(arguments=("FILE", new))
    places = [f"{old}={new}" for old, new in fewest(tuple(moves))]
    return UnpackOptions(arguments=("FILE",), map=tuple(places))


def move_again(layout: Layout, manifest: Manifest) -> Hint:
    """The command that makes a move again: this one, or the one that it undid."""
    moves = list(manifest.moves)
    if manifest.undoes is not None:
        moves = [(old, new) for new, old in moves]
    command = ["ccmove", *manifest.options]
    text = "to rewrite again" if manifest.is_of_settings else "to move again"
    if manifest.is_of_archive:
        return ask(_unpack_again(moves), "to unpack again")
    if len(moves) == 1:
        command += moves[0]
        return to_type(*command, text=text)
    command.append("--from-file")
    identifier = manifest.undoes or manifest.id
    listed = layout.backups / identifier / MOVES
    if is_there(listed):
        command.append(str(listed))
        return to_type(*command, text=text)
    command.append("FILE")
    pairs = "; ".join(f"{old} -> {new}" for old, new in moves)
    text += f", with these as lines OLD<TAB>NEW in FILE ({pairs})"
    return to_type(*command, text=text)
