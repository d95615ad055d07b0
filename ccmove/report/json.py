"""The JSON objects of `--json`, and the one reader of those that backups keep.

Within one version of the schema members are only added.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from ccmove.claude.retention import LINE_THAT_KEEPS, settings_file
from ccmove.report.result import (
    BackupRow,
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
    from ccmove.inspect.lost import Candidate
    from ccmove.inspect.survey import Project, Survey

SCHEMA = 1
LARGEST_NUMBER = 1 << 63
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
    hints = [": ".join(filter(None, hint)) for hint in result.hints]
    return {
        "schema": SCHEMA,
        "status": result.status,
        "old": old,
        "new": new,
        "moves": pairs(result.moves),
        "config_dir": result.config_dir,
        "backup": result.backup,
        "folders": pairs(result.folders),
        "projects": [_project(project) for project in result.projects],
        "merged": [{"path": path, "sessions": n} for path, n in result.merged],
        "counts": _counts(result),
        "changes": _changes(result),
        "to_do": _to_do(result),
        "left_alone": [
            {"file": row.file, "what": row.what, "hint": row.command}
            for row in result.left_alone
        ],
        "warnings": result.warnings,
        "remembering": result.remembering,
        "reasons": result.reasons,
        "rolled_back": result.rolled_back,
        "error": result.error,
        "hint": "\n".join(hints) or None,
        "details": result.details,
    }


def _project(project: MovedProject) -> Record:
    return {
        "from": project.path,
        "to": project.new_path,
        "kind": project.kind,
        "transcripts": project.transcripts,
        "bytes": project.size,
        "directory": project.directory,
        "new_directory": project.new_directory,
    }


def _counts(result: Result) -> Record:
    """How many values change, by place."""
    values = {"index": 0, "config": 0, "other": 0}
    for change in result.changes:
        values[change.place] += 1
    return {
        "transcripts": sum(project.transcripts for project in result.projects),
        "history": result.history.lines if result.history else 0,
        **values,
    }


def _changes(result: Result) -> list[Json]:
    """Every value of a document; one row for the whole history,
    with its count and the paths.
    """
    rows: list[Json] = [_change(change) for change in result.changes]
    if result.history is not None:
        rows.append(_history(result.history))
    return rows


def _change(change: Change) -> Record:
    return {
        "file": change.file,
        "ends": change.ends,
        "place": change.place,
        "pointer": change.pointer,
        "is_key": change.is_key,
        "before": change.before,
        "after": change.after,
    }


def _history(history: ChangedHistory) -> Record:
    before, after, _ = history.paths[0]
    return {
        "file": history.file,
        "place": "history",
        "pointer": "/project",
        "before": before,
        "after": after,
        "count": history.lines,
        "paths": [
            {"before": before, "after": after, "count": lines}
            for before, after, lines in history.paths
        ],
    }


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
        "status": "listed",
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
    return {
        "path": project.path,
        "exists": project.exists,
        "directories": project.directories,
        "sessions": project.sessions,
        "bytes": project.bytes,
        "first_used": date(project.first_used),
        "last_used": date(project.last_used),
        "deleted_soon": project.deleted_soon,
        "kept": project.kept,
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
        status = "listed"
    elif backups.dry_run:
        status = "planned"
    kept = backups.rows
    if not backups.dry_run:
        kept = tuple(row for row in backups.rows if row not in backups.removed)
    return {
        "schema": SCHEMA,
        "status": status,
        "backups": [_backup(row) for row in kept],
        "removed": [row.id for row in backups.removed],
        "why": backups.why,
        "rolled_back": backups.rolled_back,
        "error": None,
    }


def _backup(row: BackupRow) -> Record:
    return {
        "id": row.id,
        "state": row.state,
        "bytes": row.bytes,
        "error": row.error,
        "moves": pairs(row.moves),
        "kind": row.kind,
        "undoes": row.undoes,
    }


def examination_to_json(examination: Examination) -> Record:
    """The object of `ccmove doctor` and `verify`."""
    status = "verified"
    if examination.verified is None:
        status = "examined"
    elif examination.findings:
        status = "failed"
    survey = examination.survey
    return {
        "schema": SCHEMA,
        "status": status,
        "config_dir": str(survey.layout.config_dir),
        "paths": examination.verified or sorted(survey.by_path),
        "findings": [_finding(finding) for finding in examination.findings],
        "notes": [_finding(finding) for finding in examination.harmless],
        "retention": _retention(survey, survey.projects),
        "error": None,
    }


def _finding(finding: Finding) -> Record:
    return {
        "kind": finding.kind,
        "means": finding.means,
        "subject": finding.subject,
        "what": finding.what,
        "command": finding.command,
        "details": finding.details,
        "names": finding.names,
        "along": finding.along,
        "unambiguous": finding.sure is not None,
        "candidates": [_candidate(candidate) for candidate in finding.candidates],
    }


def _candidate(candidate: Candidate) -> Record:
    return {
        "path": candidate.path,
        "basis": candidate.basis,
        "confidence": candidate.confidence,
        "evidence": candidate.evidence,
        "against": candidate.against,
        "is_proven": candidate.is_proven,
        "command": candidate.command,
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


def from_text(text: str | bytes, backup: str) -> Result:
    """What the run with this backup said; ValueError when that is not it.

    What follows from the rest, such as the counts, is not read.
    """
    try:
        report = Members(json.loads(text))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if report.number("schema") != SCHEMA:
        raise ValueError(f"unknown version {report.number('schema')}")
    if report.text("backup") != backup:
        raise ValueError(f"it belongs to {report.text('backup')}")
    status = report.one_of("status", "moved", "undone")
    changes, history = _read_changes(report)
    return Result(
        status,
        report.text("config_dir"),
        _read_pairs(report, "moves"),
        status == "undone",
        backup,
        _read_pairs(report, "folders"),
        tuple(_read_project(row) for row in report.rows("projects")),
        tuple(
            (row.text("path"), row.number("sessions")) for row in report.rows("merged")
        ),
        changes,
        history,
        tuple(_read_leftover(row) for row in report.rows("left_alone")),
        report.texts("warnings"),
        report.number("remembering"),
        report.texts("reasons"),
        report.text_or_none("rolled_back"),
    )


def _read_pairs(report: Members, name: str) -> Moves:
    return tuple((row.text("old"), row.text("new")) for row in report.rows(name))


def _read_project(row: Members) -> MovedProject:
    return MovedProject(
        row.text("from"),
        row.text("to"),
        row.one_of("kind", "rename", "merge", "split", "same"),
        row.number("transcripts"),
        row.number("bytes"),
        row.text("directory"),
        row.text("new_directory"),
    )


def _read_leftover(row: Members) -> Leftover:
    return Leftover(row.text("file"), row.text("what"), row.text("hint"))


def _read_changes(
    report: Members,
) -> tuple[tuple[Change, ...], ChangedHistory | None]:
    changes: list[Change] = []
    history = None
    for row in report.rows("changes"):
        place = row.one_of("place", "index", "config", "other", "history")
        if place == "history":
            history = _read_history(row)
        else:
            changes.append(_read_change(row, place))
    return tuple(changes), history


def _read_change(row: Members, place: str) -> Change:
    return Change(
        row.text("file"),
        row.text("ends"),
        place,
        row.text("pointer"),
        row.flag("is_key"),
        row.text_or_none("before"),
        row.text_or_none("after"),
    )


def _read_history(row: Members) -> ChangedHistory:
    paths = tuple(_read_paths(path) for path in row.rows("paths"))
    if not paths:
        raise ValueError("paths is empty")
    return ChangedHistory(row.text("file"), row.number("count"), paths)


def _read_paths(row: Members) -> tuple[str, str, int]:
    return row.text("before"), row.text("after"), row.number("count")


class Members:
    """The members of one object, each read as what it must be: ValueError when it is
    something else, or missing.
    """

    def __init__(self, value: object) -> None:
        if not isinstance(value, dict):
            raise ValueError("it is not an object")
        self._values = value

    def text(self, name: str) -> str:
        value = self._values.get(name)
        if not isinstance(value, str):
            raise ValueError(f"{name} is not a text")
        return value

    def text_or_none(self, name: str) -> str | None:
        if name in self._values and self._values[name] is None:
            return None
        return self.text(name)

    def one_of(self, name: str, *words: str) -> str:
        word = self.text(name)
        if word not in words:
            raise ValueError(f"{name} is none of {', '.join(words)}")
        return word

    def number(self, name: str) -> int:
        value = self._values.get(name)
        if type(value) is not int or not 0 <= value < LARGEST_NUMBER:
            raise ValueError(f"{name} is not a number")
        return value

    def flag(self, name: str) -> bool:
        value = self._values.get(name)
        if not isinstance(value, bool):
            raise ValueError(f"{name} is neither true nor false")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        values = self._list(name)
        return tuple(Members({name: value}).text(name) for value in values)

    def rows(self, name: str) -> list[Members]:
        return [Members(value) for value in self._list(name)]

    def _list(self, name: str) -> list[object]:
        values = self._values.get(name)
        if not isinstance(values, list):
            raise ValueError(f"{name} is not a list")
        return values
