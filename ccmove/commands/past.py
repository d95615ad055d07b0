"""Past runs: undone, told again, listed and pruned; one that was interrupted is rolled
back.
"""

import re
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.owners import Ledger
from ccmove.commands.move import Run, reading
from ccmove.commands.options import PruneOptions, UndoOptions, UnpackOptions
from ccmove.commands.paths import refuse_live
from ccmove.errors import (
    CcmoveError,
    NothingKnownError,
    RefusedError,
    UnfinishedRunError,
    UsageError,
)
from ccmove.hints import Hint, ask, to_type
from ccmove.inspect.survey import measured
from ccmove.plan.model import Plan
from ccmove.report.json import from_text
from ccmove.report.result import BackupRow, Backups, Result
from ccmove.rewrite.pathmap import Move, fewest
from ccmove.run.backups import (
    HOLDS_THE_ONLY_COPY,
    PAST,
    REPORT,
    SET_ASIDE,
    Backup,
    Pruning,
    all_backups,
    backup_ids,
    find_id,
    ledger_of,
    newest_id,
    prune,
    read_backup,
    read_report,
)
from ccmove.run.journal import MOVES, read_run
from ccmove.run.locks import ccmove_lock
from ccmove.run.manifest import Manifest
from ccmove.run.preflight import refuse_foreign_state
from ccmove.run.rollback import recover
from ccmove.run.transaction import Progress
from ccmove.run.undo import plan_undo, refuse_built_on
from ccmove.text import amounts
from ccmove.transfer.undo import plan_removal

UNITS = {"m": 60, "h": 3600, "d": 86400, "w": 604800}  # seconds
INTERRUPTED = "was interrupted: `ccmove recover` rolls it back"
USUAL_AGE = "30d"  # what is older is pruned when nothing else is said
PREVIEW = to_type(
    "ccmove", "prune", "--older-than", USUAL_AGE, "-n", text="for example"
)


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
    tick = reading(layout, progress)

    def make_plan() -> Plan:
        look = looks.pop() if looks else _look(layout, manifest.id)
        if manifest.is_unpack:
            return plan_removal(layout, manifest, tick)
        return plan_undo(layout, *look, merge=options.merge, tick=tick)

    try:
        looks = [_look(layout, part)]  # who plans again looks again
        manifest, _ = looks[0]
        folders = [*chain.from_iterable(manifest.moves)]
        running = refuse_live(layout, folders, options)
        run = Run(layout, options, progress, rolled_back, running)
        result = run.carry_out(make_plan, full=options.hash)
    except CcmoveError as error:
        error.rolled_back = rolled_back
        raise
    return replace(result, move_again=move_again(layout, manifest))


def _look(layout: Layout, part: str | None) -> tuple[Manifest, Ledger]:
    """What the run did that is to be undone; without an ID the newest one. With what
    all the runs say.

    NothingKnownError for what can't be undone, with the way to move again.
    """
    backups = all_backups(layout)
    ledger = ledger_of(layout, backups)
    older = None
    if part is not None:
        identifier = find_id(layout, part)
    else:
        identifier = ledger.newest
        if not identifier:
            raise NothingKnownError("nothing to undo", PAST)
        if not backups:
            back = to_type("ccmove", "NEW", "OLD", text="rename the folder back, then")
            raise NothingKnownError("nothing to undo: all backups were pruned", back)
        older = _older(backups, identifier)
        if backups[-1].id < identifier:
            what = f"the newest run, {identifier}, can't be undone: there is no backup "
            raise NothingKnownError(f"{what}of it", older, PAST)
    manifest = read_backup(layout, backups, identifier)
    undone = [backup.id for backup in backups if not backup.stands]
    why = None
    if manifest.undoes is not None:
        why = "is itself an undo, and an undo can't be undone"
    elif identifier in undone:
        why = "was already undone"
    if why is not None:
        again = move_again(layout, manifest)
        raise NothingKnownError(f"{identifier} {why}", again, older, PAST)
    refuse_built_on(manifest, backups)
    return manifest, ledger


def _older(backups: list[Backup], identifier: str) -> Hint | None:
    """How to undo the newest one before this that can be undone."""
    for backup in reversed(backups):
        manifest = backup.manifest
        if manifest is None or manifest.undoes is not None:
            continue
        if not backup.stands:
            continue
        if backup.id < identifier:
            old, new = manifest.moves[0]
            kind = ""
            if manifest.is_of_settings:
                kind = "settings of "
            text = f"to undo an older one, {kind}{old} -> {new}"
            return to_type("ccmove", "undo", backup.id, text=text)
    return None


def _unpack_again(moves: tuple[Move, ...]) -> UnpackOptions:
    """The command that brings an archive to the same places."""
    if len(moves) == 1:
        [(_, new)] = moves
        return UnpackOptions(arguments=("FILE", new))
    places = [f"{old}={new}" for old, new in fewest(moves)]
    return UnpackOptions(arguments=("FILE",), map=tuple(places))


def move_again(layout: Layout, manifest: Manifest) -> Hint:
    """The command that makes a move again: this one, or the one that it undid."""
    moves = manifest.moves
    if manifest.undoes is not None:
        back = [(old, new) for new, old in moves]
        moves = tuple(back)
    if manifest.is_of_archive:
        asked = _unpack_again(moves)
        return ask(asked, "to unpack again")
    text = "to move again"
    if manifest.is_of_settings:
        text = "to rewrite again"
    paths = moves[0]
    if len(moves) > 1:
        identifier = manifest.undoes or manifest.id
        listed = layout.backups / identifier / MOVES
        paths = "--from-file", str(listed)
    return to_type("ccmove", *manifest.options, *paths, text=text)


# -- told, listed and pruned


def show_run(layout: Layout, part: str | None = None) -> Result:
    """What the last run said, or the one whose ID has this part; RefusedError with
    what the manifest tells where the report can't be read.
    """
    backups = all_backups(layout)
    if not backups and part is None:
        raise NothingKnownError("there is no run to show", PAST)
    if part is None:
        identifier = backups[-1].id
    else:
        identifier = find_id(layout, part)
    manifest = read_backup(layout, backups, identifier)
    undone = [backup.id for backup in backups if not backup.stands]
    try:
        report = read_report(layout, identifier)
        if report is None:
            raise ValueError("it is missing")
        result = from_text(report, identifier)
    except ValueError as error:
        path = layout.backups / identifier / REPORT
        (old, new), *more = manifest.moves
        what = f"{path} can't be used: {error}; the run moved {old} to {new}"
        if more:
            what += f" and {len(more)} more"
        raise RefusedError(what, PAST) from None
    return replace(
        result,
        is_undone=identifier in undone,
        is_newest=identifier == newest_id(layout),
        is_unpack=manifest.is_of_archive,
        move_again=move_again(layout, manifest),
    )


def recover_run(
    layout: Layout, progress: Progress | None = None, *, set_aside: bool = False
) -> Result:
    """Roll back a run that was interrupted, if there is one."""
    rolled_back = recover(layout, progress, set_aside=set_aside)
    return Result("recovered", str(layout.config_dir), rolled_back=rolled_back)


def _rows(layout: Layout) -> list[BackupRow]:
    """Every backup, newest first; runs that were not finished come before them."""
    backups = all_backups(layout)
    rows = [_row(layout, backup) for backup in backups]
    for identifier in backup_ids(layout.unfinished):
        kept = layout.unfinished / identifier
        row = _unfinished(identifier, kept, SET_ASIDE)
        rows.append(row)
    with suppress(UnfinishedRunError):  # which `ccmove doctor` tells
        manifest = read_run(layout)
        if manifest is not None:
            row = _unfinished(manifest.id, layout.run_dir, INTERRUPTED)
            rows.append(row)
    return rows[::-1]


def _unfinished(identifier: str, path: Path, why: str) -> BackupRow:
    return BackupRow(identifier, "unfinished", measured(path).size, why)


def _row(layout: Layout, backup: Backup) -> BackupRow:
    size = measured(layout.backups / backup.id).size
    manifest = backup.manifest
    if manifest is None:
        why = None
        if backup.problem:
            why = backup.problem.message
        return BackupRow(backup.id, "unreadable", size, why)
    kind: str = manifest.kind
    if manifest.is_of_settings:
        kind = "settings"
    return BackupRow(
        backup.id,
        "done" if backup.stands else "undone",
        size,
        moves=manifest.moves,
        kind=kind,
        undoes=manifest.undoes,
        holds=_held(manifest),
    )


def _held(manifest: Manifest) -> str:
    """What a backup has that is nowhere else."""
    if not manifest.holds_the_only_copy:
        return ""
    sessions = sum(move.transcripts for move in manifest.projects)
    notes = sum(len(move.notes) for move in manifest.projects)
    words = amounts((sessions, "session"), (notes, "note"))
    if not words:
        return HOLDS_THE_ONLY_COPY
    what = f"holds {' and '.join(words)} that came in an archive"
    return f"{what}: removed only by its ID"


def backups_listed(layout: Layout, parts: tuple[str, ...]) -> Backups:
    """All backups, or those whose IDs have these parts."""
    rows = _rows(layout)
    if parts:
        identifiers = {find_id(layout, part) for part in parts}
        rows = [row for row in rows if row.id in identifiers]
    return Backups(tuple(rows))


def prune_backups(layout: Layout, options: PruneOptions) -> Backups:
    """Remove backups, or show which; those of a month ago when nothing is said."""
    keep = options.keep
    parts = options.arguments
    age = None
    if options.older_than is not None:
        age = seconds(options.older_than)
    elif keep is None and not parts:
        age = seconds(USUAL_AGE)
    identifiers = [find_id(layout, part) for part in parts]
    pruning = Pruning(keep, age, identifiers)
    rows = _rows(layout)
    lock: AbstractContextManager[object] = nullcontext()
    if rows and not options.dry_run:
        lock = ccmove_lock(layout)
    with lock:
        why = prune(layout, pruning, dry_run=options.dry_run)
    for row in rows:
        why.setdefault(row.id, SET_ASIDE)
    to_apply = replace(options, dry_run=False)
    return Backups(tuple(rows), why, options.dry_run, to_apply.to_line())


def seconds(text: str) -> float:
    """`30d`, `12h`, `45m` -> seconds."""
    if re.fullmatch("[0-9]{1,9}[mhdw]", text):
        return int(text[:-1]) * UNITS[text[-1]]
    raise UsageError(f"{text!r} is not a duration: a number and m, h, d or w", PREVIEW)
