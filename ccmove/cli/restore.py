"""`ccmove restore`, `recover` and `backups`: taking back, and what can be taken back."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.live import live_sessions
from ccmove.claude.reading import is_there
from ccmove.errors import NothingKnownError, RefusedError, UsageError, run
from ccmove.plan import worktrees
from ccmove.plan.model import Plan
from ccmove.report.result import Result
from ccmove.run import backups as backup
from ccmove.run import transaction
from ccmove.run.journal import was_interrupted
from ccmove.run.locks import own_lock
from ccmove.run.manifest import ID_PATTERN, Manifest
from ccmove.run.preflight import preflight, refuse_foreign_state, refuse_links_of_ours
from ccmove.run.restore import plan_restore
from ccmove.run.rollback import roll_back
from ccmove.run.signals import termination_as_interrupt
from ccmove.text import command_line
from ccmove.typed import again


def restore(
    layout: Layout,
    identifier: str | None,
    *,
    dry_run: bool = False,
    allow_live: bool = False,
    full: bool = False,
    progress: transaction.Progress | None = None,
) -> Result:
    """Undo a move or a restore; without an ID the newest move that still stands."""
    manifest = _find(layout, identifier)
    if not allow_live and not dry_run:
        _refuse_live(layout, manifest)
    moves = manifest.paths.reversed().moves
    if dry_run:
        plan = plan_restore(layout, manifest)
        preflight(layout, plan)
        return Result("planned", layout, moves, plan)

    def make_plan() -> Plan:
        return plan_restore(layout, _find(layout, manifest.id))

    outcome = transaction.run_plan(layout, make_plan, full=full, progress=progress)
    return Result(
        "restored",
        layout,
        moves,
        outcome.plan,
        outcome.identifier,
        (*_folders_to_rename(outcome.plan, moves), *worktrees.repair(outcome.plan)),
        settled=outcome.rolled_back,
    )


def _folders_to_rename(plan: Plan, moves: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """The state is at the old path again; its folder is the user's to rename."""
    return tuple(
        f"the folder is still {now}; to rename it too: {command_line(['mv', now, then])}"
        for now, then in moves
        if not plan.folders and os.path.isdir(now) and not os.path.lexists(then)
    )


def _find(layout: Layout, identifier: str | None) -> Manifest:
    if identifier is not None:
        return _named(layout, identifier)
    for one in reversed(backup.all_backups(layout)):
        if one.problem is not None:  # it may be the newest move: never undo another instead
            raise RefusedError(
                one.problem.message,
                run("ccmove", "backups", text="undo one by its ID"),
            )
        if one.manifest is not None and one.manifest.kind == "move" and one.stands:
            return one.manifest
    raise NothingKnownError(
        f"there is no move to undo in {layout.backups}", "what there is: ccmove backups"
    )


def _named(layout: Layout, identifier: str) -> Manifest:
    if not ID_PATTERN.fullmatch(identifier):
        raise UsageError(
            f"{identifier!r} is not the ID of a backup", "the IDs there are: ccmove backups"
        )
    manifest = backup.read_manifest(identifier, layout)
    standing = {one.id: one.stands for one in backup.all_backups(layout)}
    if not standing[identifier]:
        raise RefusedError(f"{identifier} was undone already", "what still stands: ccmove backups")
    return manifest


def _refuse_live(layout: Layout, manifest: Manifest) -> None:
    folders = [path for move in manifest.moves for path in move]
    for session in live_sessions(layout, folders):
        raise RefusedError(
            f"Claude Code is running in {session.folder} (pid {session.pid})",
            f"leave it (/exit), then: {again()}\n"
            f"if it must go on meanwhile: {again('--allow-live')}",
        )


def recover(layout: Layout) -> Result:
    """Settle an interrupted run."""
    if not is_there(layout.own):
        return Result("recovered", layout, settled=None)
    refuse_foreign_state(layout)
    refuse_links_of_ours(layout)
    if not was_interrupted(layout):  # known without a lock, so also where none can be made
        return Result("recovered", layout, settled=None)
    with own_lock(layout), termination_as_interrupt():
        return Result("recovered", layout, settled=roll_back(layout))


# -- backups ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Backup:
    """One line of `ccmove backups`."""

    identifier: str
    kind: str
    moves: tuple[tuple[str, str], ...]
    stands: bool
    undoes: str | None
    size: int
    problem: str | None = None


def list_backups(layout: Layout) -> list[Backup]:
    """Every backup, newest first."""
    rows = []
    for one in reversed(backup.all_backups(layout)):
        size = _size(layout.backups / one.id)
        m = one.manifest
        if m is None:
            problem = one.problem.message if one.problem else ""
            rows.append(Backup(one.id, "?", (), False, None, size, problem))
        else:
            rows.append(Backup(one.id, m.kind, m.moves, one.stands, m.undoes, size))
    return rows


def _size(directory: Path) -> int:
    """Of the files that are there, at any depth; no link is followed."""
    total = 0
    waiting = [] if directory.is_symlink() else [os.fspath(directory)]
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    total += entry.stat(follow_symlinks=False).st_size
    return total


def prune(layout: Layout, keep: int | None, older_than: float | None) -> list[str]:
    """Remove backups beyond the newest `keep`, or older than that many seconds; their IDs."""
    if keep is None and older_than is None:
        raise UsageError(
            "--prune needs to know what to remove",
            "all but the newest 10: ccmove backups --prune --keep 10\n"
            "what is older than 30 days: ccmove backups --prune --older-than 30d",
        )
    if not is_there(layout.own):
        return []
    refuse_foreign_state(layout)
    with own_lock(layout):
        roll_back(layout)
        return backup.prune(layout, keep, older_than)[0]


def seconds(text: str) -> float:
    """`30d`, `12h`, `45m` -> seconds."""
    units = {"d": 86400, "h": 3600, "m": 60, "w": 604800}
    if re.fullmatch("[0-9]{1,9}[mhdw]", text):
        return int(text[:-1]) * units[text[-1]]
    raise UsageError(
        f"{text!r} is not a length of time",
        "a number and m, h, d or w: ccmove backups --prune --older-than 30d",
    )
