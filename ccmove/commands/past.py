"""Past runs: told again, listed, pruned, and one that was interrupted rolled back."""

import contextlib
import re
from dataclasses import replace

from ccmove.claude.layout import Layout
from ccmove.commands.undo import move_again
from ccmove.errors import (
    NothingKnownError,
    RefusedError,
    UnfinishedRunError,
    UsageError,
    run,
)
from ccmove.inspect.survey import measured
from ccmove.report.json import from_text
from ccmove.report.result import BackupRow, Backups, Result
from ccmove.run.backups import (
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
from ccmove.run.locks import own_lock
from ccmove.run.manifest import Manifest
from ccmove.run.rollback import recover
from ccmove.run.transaction import Progress

UNITS = {"m": 60, "h": 3600, "d": 86400, "w": 604800}  # seconds
INTERRUPTED = "was interrupted: `ccmove recover` rolls it back"
USUAL_AGE = "30d"  # what is older is pruned when nothing else is said
PREVIEW = run("ccmove", "prune", "--older-than", USUAL_AGE, "-n", text="for example")


def show_run(layout: Layout, part: str | None) -> Result:
    """What the last run said, or the one whose ID has this part."""
    backups = all_backups(layout)
    if not backups and part is None:
        raise NothingKnownError("there is no run to show", PAST)
    identifier = backups[-1].id if part is None else find_id(layout, part)
    manifest = read_backup(layout, backups, identifier)
    return replace(
        _kept_result(layout, manifest),
        is_past=True,
        is_undone=any(b.id == identifier and not b.stands for b in backups),
        is_newest=identifier == newest_id(layout),
        move_again=move_again(layout, manifest),
    )


def _kept_result(layout: Layout, manifest: Manifest) -> Result:
    """RefusedError with what the manifest tells where the report can't be read."""
    try:
        report = read_report(layout, manifest.id)
        if report is None:
            raise ValueError("it is missing")
        return from_text(report, manifest.id)
    except ValueError as error:
        path = layout.backups / manifest.id / REPORT
        (old, new), *more = manifest.moves
        moved = f"the run moved {old} to {new}"
        if more:
            moved += f" and {len(more)} more"
        raise RefusedError(f"{path} can't be used: {error}; {moved}", PAST) from None


def recover_run(
    layout: Layout, progress: Progress | None = None, *, set_aside: bool = False
) -> Result:
    """Roll back a run that was interrupted, if there is one."""
    rolled_back = recover(layout, progress, set_aside=set_aside)
    return Result("recovered", str(layout.config_dir), rolled_back=rolled_back)


def _rows(layout: Layout) -> list[BackupRow]:
    """Every backup, newest first; runs that were not finished come before them."""
    rows = [_row(layout, backup) for backup in all_backups(layout)]
    for identifier in backup_ids(layout.unfinished):
        size = measured(layout.unfinished / identifier).size
        rows.append(BackupRow(identifier, "unfinished", size, SET_ASIDE))
    with contextlib.suppress(UnfinishedRunError):  # which `ccmove doctor` tells
        interrupted = read_run(layout)
        if interrupted is not None:
            size = measured(layout.run).size
            rows.append(BackupRow(interrupted.id, "unfinished", size, INTERRUPTED))
    return rows[::-1]


def _row(layout: Layout, backup: Backup) -> BackupRow:
    size = measured(layout.backups / backup.id).size
    manifest = backup.manifest
    if manifest is None:
        why = backup.problem.message if backup.problem else None
        return BackupRow(backup.id, "unreadable", size, why)
    state = "done" if backup.stands else "undone"
    moves, kind, undoes = manifest.moves, manifest.kind, manifest.undoes
    return BackupRow(backup.id, state, size, None, moves, kind, undoes)


def backups_listed(layout: Layout, parts: tuple[str, ...] = ()) -> Backups:
    """All backups, or those whose IDs have these parts."""
    wanted = {find_id(layout, part) for part in parts}
    rows = _rows(layout)
    return Backups(tuple(row for row in rows if not wanted or row.id in wanted))


def prune_backups(
    layout: Layout,
    parts: tuple[str, ...],
    keep: int | None,
    older_than: str | None,
    *,
    dry_run: bool = False,
) -> Backups:
    """Remove backups, or show which; those of a month ago when nothing is said."""
    if not parts and keep is None and older_than is None:
        older_than = USUAL_AGE
    age = None
    if older_than is not None:
        age = seconds(older_than)
    named = {find_id(layout, part) for part in parts}
    wanted = Pruning(keep, age, named)
    rows = tuple(_rows(layout))
    with own_lock(layout) if rows and not dry_run else contextlib.nullcontext():
        why = prune(layout, wanted, dry_run=dry_run)
    reasons = {row.id: why.get(row.id, SET_ASIDE) for row in rows}
    return Backups(rows, reasons, dry_run)


def seconds(text: str) -> float:
    """`30d`, `12h`, `45m` -> seconds."""
    if re.fullmatch("[0-9]{1,9}[mhdw]", text):
        return int(text[:-1]) * UNITS[text[-1]]
    raise UsageError(f"{text!r} is not a duration: a number and m, h, d or w", PREVIEW)
