"""What backups there are, and which of them still stand."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.run import backups


@dataclass(frozen=True, slots=True)
class Backup:
    """One row of `ccmove backups`."""

    identifier: str
    kind: str
    moves: tuple[tuple[str, str], ...]
    stands: bool
    undoes: str | None
    size: int
    problem: str | None = None
    only_copy: bool = False  # of something that lost a conflict


SET_ASIDE = "could not be rolled back and was set aside: nothing of it is ever removed"


def list_backups(layout: Layout) -> list[Backup]:
    """Every backup, newest first."""
    rows = []
    for identifier in reversed(backups.unfinished_ids(layout)):
        size = _size(layout.unfinished / identifier)
        rows.append(Backup(identifier, "unfinished", (), False, None, size, SET_ASIDE))
    for backup in reversed(backups.all_backups(layout)):
        size = _size(layout.backups / backup.id)
        m = backup.manifest
        if m is None:
            problem = backup.problem.message if backup.problem is not None else None
            rows.append(Backup(backup.id, "?", (), False, None, size, problem))
        else:
            only = backups.holds_only_copy(layout, backup)
            row = Backup(backup.id, m.kind, m.moves, backup.stands, m.undoes, size, only_copy=only)
            rows.append(row)
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
