"""The JSON objects of `--json`, and the one reader of those that backups keep.

docs/ccmove.schema.json publishes them: within one version members are only added.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, TypeAlias

from ccmove.claude.retention import LINE_THAT_KEEPS, settings_file
from ccmove.claude.state import get
from ccmove.plan.records import Count, one_of, read
from ccmove.report.belongings import Belongings
from ccmove.report.result import (
    Backups,
    Change,
    ChangedHistory,
    Leftover,
    MovedProject,
    Moves,
    Result,
)

if TYPE_CHECKING:  # a move needs none of these
    from ccmove.inspect.findings import Examination, Finding
    from ccmove.inspect.survey import Project, Survey
    from ccmove.inspect.where import Whereabouts

SCHEMA = 1
HISTORY = "history"  # the form in its row among the changes
# Of fields that have another name in JSON:
KEYS = {
    "path": "from",
    "new_path": "to",
    "size": "bytes",
    "command": "hint",
    "form": "place",
}
FIELDS = {key: field for field, key in KEYS.items()}
NS = 1_000_000_000
Json: TypeAlias = "str | int | Sequence[Json] | Mapping[str, Json] | None"
Record: TypeAlias = "Mapping[str, Json]"


def to_text(record: Record) -> str:
    """As it is printed, and kept."""
    return json.dumps(record, indent=2) + "\n"


def pairs(moves: Moves) -> list[Json]:
    return [{"old": old, "new": new} for old, new in moves]


def to_json(result: Result) -> Record:
    """The object of a move, an undo or a recovery."""
    old, new = result.moves[0] if result.moves else (None, None)
    return {
        "schema": SCHEMA,
        "status": result.status,
        "old": old,
        "new": new,
        "moves": pairs(result.moves),
        "config_dir": result.config_dir,
        "backup": result.backup,
        "folders": pairs(result.folders),
        "projects": [_row(project) for project in result.projects],
        "merged": [{"path": path, "sessions": n} for path, n in result.merged],
        "counts": _counts(result),
        "belongings": asdict(result.belongings),
        "changes": _changes(result),
        "to_do": _to_do(result),
        "left_alone": [_row(row) for row in result.left_alone],
        "warnings": result.warnings,
        "remembering": result.remembering,
        "reasons": result.reasons,
        "rolled_back": result.rolled_back,
        **_failure(result),
    }


def _failure(result: Result) -> Record:
    """What went wrong, if something did, and what to do next."""
    hints = [": ".join(filter(None, hint)) for hint in result.hints]
    return {
        "error": result.error,
        "hint": "\n".join(hints) or None,
        "details": result.details,
    }


def _row(row: MovedProject | Leftover | Change | ChangedHistory) -> Record:
    return {KEYS.get(name, name): value for name, value in asdict(row).items()}


def _counts(result: Result) -> Record:
    """How many values change, by the form of the document."""
    values = {"index": 0, "config": 0, "other": 0}
    for change in result.changes:
        values[change.form] += 1
    return {
        "transcripts": sum(project.transcripts for project in result.projects),
        "history": result.history.count if result.history else 0,
        **values,
    }


def _changes(result: Result) -> list[Json]:
    """Every value of a document; one row for the whole history,
    with its count and the paths.
    """
    rows: list[Json] = [_row(change) for change in result.changes]
    history = result.history
    if history is not None:
        first = history.paths[0]
        row = {
            **asdict(history),
            "place": HISTORY,
            "pointer": "/project",
            "before": first.before,
            "after": first.after,
        }
        rows.append(row)
    return rows


def _to_do(result: Result) -> list[Json]:
    rows: list[Json] = []
    for command, leftovers in result.to_do().items():
        abouts = [f"{row.file}: {row.what}" for row in leftovers]
        rows.append({"what": "; ".join(abouts), "command": command})
    return rows


def listing_to_json(survey: Survey, projects: Sequence[Project]) -> Record:
    """The object of `ccmove list`."""
    problems = survey.problems.items()
    return {
        "schema": SCHEMA,
        "status": "ok",
        "config_dir": str(survey.layout.config_dir),
        "projects": [_listed(project) for project in projects],
        "retention": _retention(survey, projects),
        "warnings": [f"{file}: {what}" for file, what in problems],
        "error": None,
    }


def _retention(survey: Survey, projects: Iterable[Project]) -> Record:
    """For how long sessions are kept, and what will be deleted within a week."""
    return {
        "days": survey.days_kept,
        "deleted_soon": sum(project.deleted_soon for project in projects),
        "file": str(settings_file(survey.layout)),
        "line": LINE_THAT_KEEPS,
    }


def _listed(project: Project) -> Record:
    row = asdict(project)
    del row["last_session"]
    row["first_used"] = date(project.first_used)
    row["last_used"] = date(project.last_used)
    return row


def where_to_json(whereabouts: Whereabouts, result: Result) -> Record:
    """The object of `ccmove where`."""
    memory = whereabouts.memory
    return {
        "schema": SCHEMA,
        "status": result.status,
        "path": whereabouts.path,
        "directory": str(whereabouts.directory),
        "exists": whereabouts.exists,
        "sessions": whereabouts.sessions,
        "bytes": whereabouts.bytes,
        "memory": str(memory) if memory else None,
        "config_key": whereabouts.config_key,
        "trusted": whereabouts.trusted,
        "former_paths": whereabouts.former_paths,
        "warnings": whereabouts.problems,
        **_failure(result),
    }


def date(moment: int | None) -> str | None:
    """A moment in nanoseconds as people and JSON read it."""
    if not moment:
        return None
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment // NS))


def backups_to_json(backups: Backups) -> Record:
    """The object of `ccmove backups` and `prune`."""
    status = "pruned"
    if backups.why is None:
        status = "ok"
    elif backups.dry_run:
        status = "planned"
    kept = backups.rows
    if not backups.dry_run:
        kept = tuple(row for row in backups.rows if row not in backups.removed)
    return {
        "schema": SCHEMA,
        "status": status,
        "backups": [{**asdict(row), "moves": pairs(row.moves)} for row in kept],
        "removed": [row.id for row in backups.removed],
        "why": backups.why,
        "rolled_back": backups.rolled_back,
        "error": None,
    }


def examination_to_json(examination: Examination) -> Record:
    """The object of `ccmove doctor` and `verify`."""
    survey = examination.survey
    return {
        "schema": SCHEMA,
        "status": "findings" if examination.findings else "ok",
        "config_dir": str(survey.layout.config_dir),
        "paths": examination.verified or sorted(survey.by_path),
        "findings": [_finding(finding) for finding in examination.findings],
        "notes": [_finding(finding) for finding in examination.harmless],
        "retention": _retention(survey, survey.projects),
        "error": None,
    }


def _finding(finding: Finding) -> Record:
    candidates = []
    for candidate in finding.candidates:
        row = {**asdict(candidate), "confidence": candidate.confidence}
        candidates.append(row)
    return {
        **asdict(finding),
        "means": finding.means,
        "unambiguous": finding.sure is not None,
        "candidates": candidates,
    }


def repair_to_json(
    config_dir: str,
    result: Result | None,
    recovered: str | None,
    left: Iterable[Finding],
    notes: Sequence[str],
) -> Record:
    """The object of `ccmove doctor --fix`."""
    done: Record = to_json(result) if result else {}
    return {
        "schema": SCHEMA,
        "status": done.get("status", "nothing"),
        "config_dir": config_dir,
        "backup": done.get("backup"),
        "recovered": recovered,
        "left": [_finding(finding) for finding in left],
        "result": done or None,
        "warnings": notes,
        "error": None,
    }


# -- what a backup keeps


@dataclass(frozen=True, slots=True)
class _Pair:
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class _Merged:
    path: str
    sessions: Count


@dataclass(frozen=True, slots=True)
class _Report:
    """What is read of a report; the rest, such as the counts, follows from it."""

    status: Annotated[str, one_of("moved", "undone", "unpacked")]
    config_dir: str
    backup: str
    moves: tuple[_Pair, ...]
    folders: tuple[_Pair, ...]
    projects: tuple[MovedProject, ...]
    merged: tuple[_Merged, ...]
    belongings: Belongings
    left_alone: tuple[Leftover, ...]
    warnings: tuple[str, ...]
    remembering: Count
    reasons: tuple[str, ...]
    rolled_back: str | None


def from_text(text: str | bytes, backup: str) -> Result:
    """What the run with this backup said; ValueError when that is not it."""
    try:
        record = json.loads(text, object_hook=_by_field)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    version = get(record, "schema")
    if type(version) is not int or version != SCHEMA:
        raise ValueError(f"unknown version {version!r:.20}")
    report = read(_Report, record)
    if report.backup != backup:
        raise ValueError(f"it belongs to {report.backup}")
    changes, history = _read_changes(get(record, "changes"))
    return Result(
        report.status,
        report.config_dir,
        tuple((pair.old, pair.new) for pair in report.moves),
        report.status == "undone",
        backup,
        tuple((pair.old, pair.new) for pair in report.folders),
        report.projects,
        tuple((row.path, row.sessions) for row in report.merged),
        changes,
        history,
        report.belongings,
        report.left_alone,
        report.warnings,
        report.remembering,
        report.reasons,
        report.rolled_back,
    )


def _by_field(row: dict[str, Json]) -> Record:
    return {FIELDS.get(key, key): value for key, value in row.items()}


def _read_changes(
    rows: object,
) -> tuple[tuple[Change, ...], ChangedHistory | None]:
    if type(rows) is not list:
        raise ValueError("changes is not a list")
    changes: list[Change] = []
    history = None
    for row in rows:
        if get(row, "form") != HISTORY:
            changes.append(read(Change, row))
            continue
        history = read(ChangedHistory, row)
        if not history.paths:
            raise ValueError("paths is empty")
    return tuple(changes), history
