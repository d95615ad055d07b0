"""The JSON objects of `--json`, and the one reader of those that backups keep.

docs/ccmove.schema.json publishes them: within one version members are only added.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, TypeAlias

from ccmove.claude.retention import LINE_THAT_KEEPS, settings_file
from ccmove.report.belongings import NOTHING, Belongings
from ccmove.report.result import (
    Backups,
    Change,
    ChangedHistory,
    Leftover,
    MovedProject,
    Moves,
    Result,
)
from ccmove.run.members import Members

if TYPE_CHECKING:  # a move needs none of these
    from ccmove.inspect.findings import Examination, Finding
    from ccmove.inspect.survey import Project, Survey
    from ccmove.inspect.where import Whereabouts

SCHEMA = 1
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
        "projects": [_project(project) for project in result.projects],
        "merged": [{"path": path, "sessions": n} for path, n in result.merged],
        "counts": _counts(result),
        "belongings": asdict(result.belongings),
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
    rows: list[Json] = [asdict(change) for change in result.changes]
    history = result.history
    if history is not None:
        before, after, _ = history.paths[0]
        row: Record = {
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


def from_text(text: str | bytes, backup: str) -> Result:
    """What the run with this backup said; ValueError when that is not it.

    What follows from the rest, such as the counts, is not read.
    """
    try:
        report = Members(json.loads(text))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if report.count("schema") != SCHEMA:
        raise ValueError(f"unknown version {report.count('schema')}")
    if report.text("backup") != backup:
        raise ValueError(f"it belongs to {report.text('backup')}")
    status = report.one_of("status", "moved", "undone")
    changes, history = _read_changes(report)
    return Result(
        status,
        report.text("config_dir"),
        report.each("moves", _read_pair),
        status == "undone",
        backup,
        report.each("folders", _read_pair),
        report.each("projects", _read_project),
        report.each("merged", _read_merged),
        changes,
        history,
        _read_belongings(report.value("belongings")),
        report.each("left_alone", _read_leftover),
        report.texts("warnings"),
        report.count("remembering"),
        report.texts("reasons"),
        report.text_if_any("rolled_back"),
    )


def _read_pair(value: object) -> tuple[str, str]:
    row = Members(value)
    return row.text("old"), row.text("new")


def _read_merged(value: object) -> tuple[str, int]:
    row = Members(value)
    return row.text("path"), row.count("sessions")


def _read_project(value: object) -> MovedProject:
    row = Members(value)
    return MovedProject(
        row.text("from"),
        row.text("to"),
        row.one_of("kind", "rename", "merge", "split", "same"),
        row.count("transcripts"),
        row.count("bytes"),
        row.text("directory"),
        row.text("new_directory"),
    )


def _read_belongings(value: object) -> Belongings:
    row = Members(value)
    numbers = {name: row.count(name) for name in asdict(NOTHING)}
    return Belongings(**numbers)


def _read_leftover(value: object) -> Leftover:
    row = Members(value)
    return Leftover(row.text("file"), row.text("what"), row.text("hint"))


def _read_changes(
    report: Members,
) -> tuple[tuple[Change, ...], ChangedHistory | None]:
    changes: list[Change] = []
    history = None
    for row in map(Members, report.items("changes")):
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
        row.text_if_any("before"),
        row.text_if_any("after"),
    )


def _read_history(row: Members) -> ChangedHistory:
    paths = row.each("paths", _read_paths)
    if not paths:
        raise ValueError("paths is empty")
    return ChangedHistory(row.text("file"), row.count("count"), paths)


def _read_paths(value: object) -> tuple[str, str, int]:
    row = Members(value)
    return row.text("before"), row.text("after"), row.count("count")
