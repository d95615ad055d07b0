"""The JSON object of a run, as `--json` prints it and a backup keeps it, and back.

docs/ccmove.schema.json publishes all objects: within one version members are only
added.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TypeAlias

from ccmove.claude.state import get
from ccmove.plan.records import read, write
from ccmove.report.result import (
    Change,
    Leftover,
    MovedProject,
    Moves,
    Result,
    Told,
)

SCHEMA = 1
HISTORY = "history"  # the form in its row among the changes
OF_RUNS = ("moved", "undone", "unpacked")  # the statuses that are kept
# Of fields that have another name in JSON:
KEYS = {
    "path": "from",
    "new_path": "to",
    "size": "bytes",
    "command": "hint",
    "form": "place",
}
FIELDS = {key: field for field, key in KEYS.items()}
Json: TypeAlias = "str | int | Sequence[Json] | Mapping[str, Json] | None"
Record: TypeAlias = "Mapping[str, Json]"


def to_text(record: Record) -> str:
    """As it is printed, and kept."""
    return json.dumps(record, indent=2) + "\n"


def head(status: str) -> Record:
    """How each object begins."""
    return {"schema": SCHEMA, "status": status}


def pairs(moves: Moves) -> list[Json]:
    return [{"old": old, "new": new} for old, new in moves]


def to_json(result: Result) -> Record:
    """The object of a move, an undo or a recovery."""
    old, new = result.moves[0] if result.moves else (None, None)
    return {
        **head(result.status),
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
        **failure(result),
    }


def failure(result: Result) -> Record:
    """What went wrong, if something did, and what to do next."""
    hints = [": ".join(filter(None, hint)) for hint in result.hints]
    return {
        "error": result.error,
        "hint": "\n".join(hints) or None,
        "details": result.details,
    }


def _row(row: MovedProject | Leftover | Change) -> Record:
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
    if result.history is not None:
        first = result.history.paths[0]
        row = {
            **asdict(result.history),
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


def from_text(text: str | bytes, backup: str) -> Result:
    """What the run with this backup said; ValueError when that is not it."""
    try:
        record = json.loads(text, object_hook=_by_field)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    version = get(record, "schema")
    if type(version) is not int or version != SCHEMA:
        raise ValueError(f"unknown version {version!r:.20}")
    changes = []
    history = None
    for change in _list(record, "changes"):
        if get(change, "form") == HISTORY:
            history = change
        else:
            changes.append(change)
    as_fields = {
        "moves": _tuples(record, "moves", "old", "new"),
        "folders": _tuples(record, "folders", "old", "new"),
        "merged": _tuples(record, "merged", "path", "sessions"),
        "changes": changes,
        "history": history,
    }
    result = read(Result, {**record, **as_fields, **write(Told())})
    if result.backup != backup:
        raise ValueError(f"it belongs to {result.backup}")
    if result.status not in OF_RUNS or result.config_dir is None:
        raise ValueError(f"it is of no run: {result.status}")
    if result.history is not None and not result.history.paths:
        raise ValueError("paths is empty")
    return replace(result, is_undo=result.status == "undone")


def _by_field(row: dict[str, Json]) -> Record:
    return {FIELDS.get(key, key): value for key, value in row.items()}


def _list(record: object, name: str) -> list[object]:
    rows = get(record, name)
    if type(rows) is not list:
        raise ValueError(f"{name} is not a list")
    return rows


def _tuples(record: object, name: str, *members: str) -> list[object]:
    """The rows of a list, each as the values of these members."""
    rows: list[object] = []
    for row in _list(record, name):
        values = [get(row, member) for member in members]
        rows.append(values)
    return rows
