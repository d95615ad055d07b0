"""What backups there are, and which of them still stand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ccmove.claude.layout import Layout
from ccmove.inspect.survey import measured
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


def list_backups(layout: Layout, known: Iterable[backups.Backup] | None = None) -> list[Backup]:
    """Every backup, newest first."""
    rows = []
    for backup in backups.all_backups(layout) if known is None else known:
        size, m = measured(layout.backups / backup.id).size, backup.manifest
        if m is None:
            problem = backup.problem.message if backup.problem is not None else None
            rows.append(Backup(backup.id, "?", (), False, None, size, problem))
        else:
            only = backups.holds_only_copy(layout, backup)
            row = Backup(backup.id, m.kind, m.moves, backup.stands, m.undoes, size, only_copy=only)
            rows.append(row)
    for identifier in backups.unfinished_ids(layout):
        size = measured(layout.unfinished / identifier).size
        rows.append(Backup(identifier, "unfinished", (), False, None, size, SET_ASIDE))
    return rows[::-1]
