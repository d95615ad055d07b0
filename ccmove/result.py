"""What a command found or did, as frozen data; one shape for people and for `--json`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ccmove.errors import CcmoveError
from ccmove.jsonspan import show
from ccmove.layout import Layout
from ccmove.plan import FileChange, Plan

SCHEMA = 1


@dataclass(frozen=True)
class Result:
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
            "counts": counts(plan),
            "changes": _changes(plan),
            "left_alone": [
                {"file": item.file, "what": item.what, "hint": item.hint}
                for item in (plan.left_alone if plan else ())
            ],
            "warnings": [*self.warnings, *(plan.warnings if plan else ())],
            "error": self.error,
            "hint": self.hint,
            "details": list(self.details),
        }


def failure(
    error: CcmoveError, layout: Layout | None, moves: tuple[tuple[str, str], ...]
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


def counts(plan: Plan | None) -> dict[str, int]:
    """How many values change, by place."""
    found = {"transcripts": 0, "history": 0, "index": 0, "config": 0, "other": 0}
    if plan is None:
        return found
    found["transcripts"] = sum(move.transcripts for move in plan.projects)
    found["history"] = plan.history.lines if plan.history else 0
    for change in plan.files:
        found[change.place] += changes_in(change)
    return found


def changes_in(change: FileChange) -> int:
    """The number of values that change in one file; a file that is made or put back counts as one."""
    return len(change.edits) + len(change.lines) + bool(change.appended) or 1


def _changes(plan: Plan | None) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for change in plan.files if plan else ():
        rows += [_row(change, *row) for row in differences(change)]
    if plan is not None and plan.history is not None:
        what = f"{plan.history.lines} lines"
        pointer = {"file": str(plan.history.path), "pointer": "/project"}
        rows.append({**pointer, "before": what, "after": what, "count": plan.history.lines})
    return rows


def _row(change: FileChange, pointer: str, before: object, after: object) -> dict[str, Any]:
    return {"file": str(change.path), "pointer": pointer, "before": before, "after": after}


def differences(change: FileChange) -> list[tuple[str, object, object]]:
    """(pointer, before, after) of every value that changes in one file."""
    rows: list[tuple[str, object, object]] = [
        (show(edit.pointer), *edit.describe()) for edit in change.edits
    ]
    rows += [(f"line {number + 1}", before, after) for number, before, after in change.lines]
    if change.appended:
        rows.append(("end", None, change.appended))
    if not rows:
        rows.append(
            ("", None if change.is_new else "as it is", "new" if change.is_new else "as saved")
        )
    return rows
