"""What a command found or did, as frozen data; one shape for people and for `--json`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ccmove.claude.layout import Layout
from ccmove.claude.lists import Problem
from ccmove.errors import CcmoveError
from ccmove.inspect.findings import Choice, Finding
from ccmove.inspect.survey import Project
from ccmove.plan.model import Plan
from ccmove.rewrite.compare import compare

SCHEMA = 1
Moves = tuple[tuple[str, str], ...]
Rewrite = tuple[str, str, int]  # before, after, number of lines


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a move, a restore or a recovery."""

    status: str
    layout: Layout | None = None
    moves: Moves = ()
    plan: Plan | None = None
    backup: str | None = None
    warnings: tuple[str, ...] = ()
    error: str | None = None
    hints: tuple[tuple[str, str], ...] = ()  # sentence, command
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
            "hint": "\n".join(": ".join(filter(None, hint)) for hint in self.hints) or None,
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
        for row in compare(change.before, change.after):
            place = {"file": str(change.path), "pointer": row.place}
            rows.append({**place, "before": row.before, "after": row.after})
    if result.plan is not None and result.plan.history is not None:
        rows.append(_history_row(result, str(result.plan.history.path)))
    return rows


def _history_row(result: Result, file: str) -> dict[str, Any]:
    """One row for the whole history: its count, and the paths."""
    rewrites = result.rewrites
    return {
        "file": file,
        "pointer": "/project",
        "before": rewrites[0][0] if rewrites else None,
        "after": rewrites[0][1] if rewrites else None,
        "count": result.prompts,
        "paths": [
            {"before": before, "after": after, "count": number}
            for before, after, number in rewrites
        ],
    }


def failure(
    error: CcmoveError,
    hints: tuple[tuple[str, str], ...],
    layout: Layout | None = None,
    moves: Moves = (),
) -> Result:
    """The result of a run that ended with this error; its hints come in words."""
    return Result(
        error.status,
        layout,
        moves,
        error=error.message,
        hints=hints,
        details=error.details,
        exit_code=error.exit_code,
    )


# -- list, verify, doctor --fix --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Listing:
    """The projects that were asked for, in the order that was asked for."""

    layout: Layout
    projects: tuple[Project, ...]
    problems: tuple[Problem, ...]
    known: int  # how many there are in all
    exit_code: int = 0


@dataclass(frozen=True, slots=True)
class Verification:
    """What was checked, what is wrong, and what is only worth knowing."""

    layout: Layout
    paths: tuple[str, ...]
    failures: tuple[Finding, ...]
    notes: tuple[Finding, ...]

    @property
    def exit_code(self) -> int:
        return 1 if self.failures else 0


@dataclass(frozen=True, slots=True)
class Repair:
    """What was chosen and done, and what is left."""

    layout: Layout
    chosen: tuple[tuple[Finding, Choice], ...] = ()
    left: tuple[Finding, ...] = ()
    result: Result | None = None  # of the one transaction
    recovered: str | None = None
    pruned: int = 0
    notes: tuple[str, ...] = ()
    look: str = "ccmove doctor"  # shows what is left

    @property
    def backup(self) -> str | None:
        return self.result.backup if self.result else None

    @property
    def exit_code(self) -> int:
        """As of `ccmove doctor`: 1 while something is left to be mended."""
        return 1 if self.left else 0
