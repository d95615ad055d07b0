"""Past runs: the rows of `ccmove backups`."""

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass

from ccmove.claude.layout import Layout
from ccmove.errors import UnfinishedRunError
from ccmove.inspect.survey import measured
from ccmove.run.backups import Backup, all_backups, backup_ids
from ccmove.run.journal import read_run

INTERRUPTED = "was interrupted: `ccmove recover` rolls it back"
SET_ASIDE = "could not be rolled back and was set aside: nothing of it is ever removed"


@dataclass(frozen=True, slots=True)
class Row:
    """One backup, as `--json` tells it."""

    id: str
    state: str  # done, undone, unreadable or unfinished
    bytes: int
    error: str | None = None
    moves: tuple[tuple[str, str], ...] = ()
    kind: str = "?"
    undoes: str | None = None


def list_backups(layout: Layout, known: Iterable[Backup] | None = None) -> list[Row]:
    """Every backup, newest first; runs that were set aside come before them."""
    rows = []
    for backup in all_backups(layout) if known is None else known:
        size, m = measured(layout.backups / backup.id).size, backup.manifest
        if m is not None:
            about = (m.moves, m.kind, m.undoes)
            rows.append(
                Row(
                    backup.id, "done" if backup.stands else "undone", size, None, *about
                )
            )
        elif backup.problem is not None:
            rows.append(Row(backup.id, "unreadable", size, backup.problem.message))
    for identifier in backup_ids(layout.unfinished):
        size = measured(layout.unfinished / identifier).size
        rows.append(Row(identifier, "unfinished", size, SET_ASIDE))
    with contextlib.suppress(UnfinishedRunError):  # which `ccmove doctor` tells
        if run := read_run(layout):
            rows.append(
                Row(run.id, "unfinished", measured(layout.run).size, INTERRUPTED)
            )
    return rows[::-1]
