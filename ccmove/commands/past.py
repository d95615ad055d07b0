"""Past runs: told again, listed, pruned, and one that was interrupted rolled back."""

import re
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace

from ccmove.claude.layout import Layout
from ccmove.commands.options import PruneOptions
from ccmove.commands.undo import move_again
from ccmove.errors import (
    NothingKnownError,
    RefusedError,
    UnfinishedRunError,
    UsageError,
)
from ccmove.hints import to_type
from ccmove.inspect.survey import measured
from ccmove.report.json import from_text
from ccmove.report.result import BackupRow, Backups, Result
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
    newest_id,
    prune,
    read_backup,
    read_report,
)
from ccmove.run.journal import read_run
from ccmove.run.locks import ccmove_lock
from ccmove.run.manifest import Manifest
from ccmove.run.rollback import recover
from ccmove.run.transaction import Progress
from ccmove.text import amounts

UNITS = {"m": 60, "h": 3600, "d": 86400, "w": 604800}  # seconds
INTERRUPTED = "was interrupted: `ccmove recover` rolls it back"
USUAL_AGE = "30d"  # what is older is pruned when nothing else is said
PREVIEW = to_type(
    "ccmove", "prune", "--older-than", USUAL_AGE, "-n", text="for example"
)


def show_run(layout: Layout, part: str | None = None) -> Result:
    """What the last run said, or the one whose ID has this part; RefusedError with
    what the manifest tells where the report can't be read.
    """
    backups = all_backups(layout)
    if not backups and part is None:
        raise NothingKnownError("there is no run to show", PAST)
    identifier = backups[-1].id if part is None else find_id(layout, part)
    manifest = read_backup(layout, backups, identifier)
    undone = [backup.id for backup in backups if not backup.stands]
    try:
        report = read_report(layout, manifest.id)
        if report is None:
            raise ValueError("it is missing")
        result = from_text(report, manifest.id)
    except ValueError as error:
        path = layout.backups / manifest.id / REPORT
        (old, new), *more = manifest.moves
        moved = f"the run moved {old} to {new}"
        if more:
            moved += f" and {len(more)} more"
        raise RefusedError(f"{path} can't be used: {error}; {moved}", PAST) from None
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
    state = "unfinished"
    for identifier in backup_ids(layout.unfinished):
        amount = measured(layout.unfinished / identifier)
        row = BackupRow(identifier, state, amount.size, SET_ASIDE)
        rows.append(row)
    with suppress(UnfinishedRunError):  # which `ccmove doctor` tells
        manifest = read_run(layout)
        if manifest is not None:
            amount = measured(layout.run_dir)
            row = BackupRow(manifest.id, state, amount.size, INTERRUPTED)
            rows.append(row)
    return rows[::-1]


def _row(layout: Layout, backup: Backup) -> BackupRow:
    amount = measured(layout.backups / backup.id)
    manifest = backup.manifest
    if manifest is None:
        why = backup.problem.message if backup.problem else None
        return BackupRow(backup.id, "unreadable", amount.size, why)
    kind = "settings" if manifest.is_of_settings else manifest.kind
    return BackupRow(
        backup.id,
        "done" if backup.stands else "undone",
        amount.size,
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
    age = None
    if options.older_than is not None:
        age = seconds(options.older_than)
    elif options.keep is None and not options.arguments:
        age = seconds(USUAL_AGE)
    identifiers = set()
    for part in options.arguments:
        identifiers.add(find_id(layout, part))
    pruning = Pruning(options.keep, age, identifiers)
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
