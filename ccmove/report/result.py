"""What a command found or did, as frozen data; one shape for people and for `--json`."""

from __future__ import annotations

import errno
import os
from typing import Any, NamedTuple

from ccmove.claude.layout import Layout
from ccmove.errors import CcmoveError
from ccmove.plan.model import Plan
from ccmove.rewrite.compare import compare
from ccmove.text import quote as shell_quote

SCHEMA = 1
Rewrite = tuple[str, str, int]  # before, after, number of lines


class Result(NamedTuple):
    """The outcome of a move, a restore or a recovery."""

    status: str
    layout: Layout | None = None
    moves: tuple[tuple[str, str], ...] = ()
    plan: Plan | None = None
    backup: str | None = None
    warnings: tuple[str, ...] = ()
    error: str | None = None
    hint: str | None = None
    details: tuple[str, ...] = ()
    exit_code: int = 0
    settled: str | None = None

    @property
    def undoes(self) -> bool:
        return self.plan is not None and self.plan.kind == "restore"

    @property
    def prompts(self) -> int:
        """How many lines of the history change."""
        return self.plan.history.scan.lines if self.plan and self.plan.history else 0

    @property
    def rewrites(self) -> list[Rewrite]:
        """The paths that change in the history, with their number of lines."""
        counts = self.plan.history.scan.counts if self.plan and self.plan.history else {}
        return [(before, after, number) for (before, after), number in counts.items()]

    def to_json(self) -> dict[str, Any]:
        """The object of contract version 1."""
        old, new = self.moves[0] if self.moves else (None, None)
        plan = self.plan
        return {
            "schema": SCHEMA,
            "status": self.status,
            "old": old,
            "new": new,
            "moves": [{"old": one, "new": other} for one, other in self.moves],
            "config_dir": str(self.layout.config_dir) if self.layout else None,
            "backup": self.backup,
            "projects": _projects(plan),
            "counts": counts(self),
            "changes": _changes(self),
            "left_alone": [
                {"file": item.file, "what": item.what, "hint": item.hint}
                for item in (plan.left_alone if plan else ())
            ],
            "warnings": [*self.warnings, *(plan.warnings if plan else ())],
            "settled": self.settled,
            "error": self.error,
            "hint": self.hint,
            "details": list(self.details),
        }


def _projects(plan: Plan | None) -> list[dict[str, Any]]:
    return [
        {
            "from": move.path,
            "to": move.new_path,
            "kind": move.kind,
            "transcripts": move.transcripts,
            "bytes": move.size,
            "from_directory": move.source,
            "to_directory": move.target,
        }
        for move in (plan.projects if plan else ())
    ]


def counts(result: Result) -> dict[str, int]:
    """How many values change, by place."""
    found = {"transcripts": 0, "history": result.prompts, "index": 0, "config": 0, "other": 0}
    if result.plan is None:
        return found
    found["transcripts"] = sum(move.transcripts for move in result.plan.projects)
    for change in result.plan.writes:
        found[change.place] += len(compare(change.before, change.after))
    return found


def _changes(result: Result) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for change in result.plan.writes if result.plan else ():
        rows += [
            {
                "file": str(change.path),
                "pointer": row.place,
                "before": row.before,
                "after": row.after,
            }
            for row in compare(change.before, change.after)
        ]
    if result.plan is not None and result.plan.history is not None:
        rows.append(_history_row(result, str(result.plan.history.path)))
    return rows


def _history_row(result: Result, file: str) -> dict[str, Any]:
    """One row for the whole history: its count, and the paths."""
    first = result.rewrites[0] if result.rewrites else None
    return {
        "file": file,
        "pointer": "/project",
        "before": first[0] if first else None,
        "after": first[1] if first else None,
        "count": result.prompts,
        "paths": [
            {"before": one, "after": other, "count": number}
            for one, other, number in result.rewrites
        ],
    }


# -- failures ------------------------------------------------------------------------------------


def failure(
    error: CcmoveError, layout: Layout | None = None, moves: tuple[tuple[str, str], ...] = ()
) -> Result:
    """The result of a run that ended with this error."""
    return Result(
        error.status,
        layout,
        moves,
        error=error.message,
        hint=error.hint,
        details=error.details,
        exit_code=error.exit_code,
    )


def system_error(error: OSError) -> CcmoveError:
    """What the system refused, on which file, and how to look into it."""
    name = error.filename2 or error.filename
    path = os.fsdecode(name) if isinstance(name, (str, bytes, os.PathLike)) else ""
    reason = error.strerror or str(error)
    return CcmoveError(f"{path}: {reason}" if path else reason, _advice(error.errno, path))


def _advice(number: int | None, path: str) -> str:
    quoted = shell_quote(path)
    if path and number in (errno.EACCES, errno.EPERM):
        return f"look at the permissions: ls -ld {quoted}"
    if path and number in (errno.ENOSPC, errno.EDQUOT):
        return f"what is free: df -h {quoted}\nmake room, then run the command again"
    if path and number == errno.ENOENT:
        return f"check the spelling: ls -ld {quoted}"
    return "nothing was changed; mend that and run the command again"
