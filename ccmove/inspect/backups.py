"""The rows of `ccmove backups`: what backups there are, and which of them still stand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ccmove.claude.layout import Layout
from ccmove.inspect.survey import measured
from ccmove.run.backups import Backup, all_backups, holds_only_copy, unfinished_ids

SET_ASIDE = "could not be rolled back and was set aside: nothing of it is ever removed"


@dataclass(frozen=True, slots=True)
class Row:
    """One backup, as `--json` tells it."""

    id: str
    moves: tuple[tuple[str, str], ...] = ()
    kind: str = "?"
    undoes: str | None = None
    stands: bool = False
    only_copy: bool = False  # of something that lost a conflict
    bytes: int = 0
    error: str | None = None


def list_backups(layout: Layout, known: Iterable[Backup] | None = None) -> list[Row]:
    """Every backup, newest first; runs that were set aside come before them."""
    rows = []
    for backup in all_backups(layout) if known is None else known:
        size, m = measured(layout.backups / backup.id).size, backup.manifest
        if m is not None:
            only = holds_only_copy(layout, backup)
            rows.append(Row(backup.id, m.moves, m.kind, m.undoes, backup.stands, only, size))
        elif backup.problem is not None:
            rows.append(Row(backup.id, bytes=size, error=backup.problem.message))
    for identifier in unfinished_ids(layout):
        size = measured(layout.unfinished / identifier).size
        rows.append(Row(identifier, kind="unfinished", bytes=size, error=SET_ASIDE))
    return rows[::-1]
