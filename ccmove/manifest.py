"""The manifest: what one run did, written down so that later runs can take it back.

A manifest is data, not an order. Version, checksum and every path in it are checked before
anything is done with it: it may come from another machine, or from someone with bad intent.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from ccmove.edits import Edit
from ccmove.errors import RefusedError
from ccmove.layout import Layout
from ccmove.pathmap import PathMap
from ccmove.plan import ProjectMove, Step
from ccmove.state import read_document

SCHEMA = 1
ID_PATTERN = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{4}")


class Content(NamedTuple):
    """What a file held: enough to recognise it."""

    sha256: str
    size: int
    mode: int = 0o600
    mtime_ns: int = 0


class SavedFile(NamedTuple):
    """One file that a run replaced or made. `before` is None for one that it made."""

    path: Path  # where it was before the steps of the run
    ends: Path  # where it was after them
    place: str
    saved: str | None
    before: Content | None
    after: Content
    edits: str | None = None  # name of the file with the edits
    edits_sha256: str | None = None
    inode: int = 0  # of the file that the run put there

    @property
    def is_history(self) -> bool:
        return self.place == "history"


class Manifest(NamedTuple):
    """Everything that one run did."""

    id: str
    kind: str  # move or restore
    created: str
    moves: tuple[tuple[str, str], ...]
    kept: tuple[str, ...] = ()
    undoes: str | None = None
    projects: tuple[ProjectMove, ...] = ()
    steps: tuple[Step, ...] = ()
    inodes: tuple[int, ...] = ()  # of what each step renames, 0 for the others
    files: tuple[SavedFile, ...] = ()
    folders: tuple[tuple[str, str], ...] = ()

    @property
    def paths(self) -> PathMap:
        return PathMap(self.moves, frozenset(self.kept))


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def sha256_of(path: Path, size: int | None = None) -> str:
    """The hash of a file, or of its first `size` bytes."""
    digest = hashlib.sha256()
    left = os.stat(path).st_size if size is None else size
    with open(path, "rb") as file:
        while left > 0 and (block := file.read(min(left, 1 << 20))):
            digest.update(block)
            left -= len(block)
    return digest.hexdigest()


# -- paths as they are written down ----------------------------------------------------


# The project's own files that a run may rewrite; the only ones outside of the state, apart from
# the desktop app's.
PROJECT_FILES = (".claude/settings.json", ".claude/settings.local.json", ".mcp.json")


class Spelling:
    """Paths in manifests: `$C/…` inside the state, `$CONFIG` for the config file, else absolute.

    Reading checks that a path stays where a run may work: in the state, or the few files and
    folders outside that a move can be asked to change.
    """

    def __init__(self, layout: Layout, folders: Iterable[str] = ()) -> None:
        self.state = layout.config_dir
        self.config_file = layout.real_config_file
        self.desktop = layout.desktop_sessions
        self.folders = tuple(folders)

    def write(self, path: Path) -> str:
        if path == self.config_file:
            return "$CONFIG"
        if path.is_relative_to(self.state):
            return f"$C/{path.relative_to(self.state)}"
        return str(path)

    def read(self, text: object) -> Path:
        if not isinstance(text, str) or "\0" in text or ".." in PurePath(text).parts:
            raise ValueError(f"{text!r} is not a path of the state")
        if text == "$CONFIG":
            return self.config_file
        if text.startswith("$C/") and text[3:4] not in ("", "/"):
            return self.state / text[3:]
        if not self._may_be_outside(Path(text)):
            raise ValueError(f"{text!r} is outside of the state")
        return Path(text)

    def _may_be_outside(self, path: Path) -> bool:
        if path.is_relative_to(self.desktop):
            return path.match("local_*.json")
        names = ("", *PROJECT_FILES)
        return any(path == Path(folder, name) for folder in self.folders for name in names)


def to_json(manifest: Manifest, layout: Layout) -> dict[str, Any]:
    """The manifest as it is written, with a checksum over all of it."""
    spelling = Spelling(layout)
    record = manifest._asdict() | {
        "schema": SCHEMA,
        "config_dir": str(layout.config_dir),
        "projects": [dict(vars(move)) for move in manifest.projects],
        "steps": [_step_to_json(step, spelling) for step in manifest.steps],
        "files": [_file_to_json(file, spelling) for file in manifest.files],
    }
    record["checksum"] = _checksum(record)
    return record


def _step_to_json(step: Step, spelling: Spelling) -> dict[str, Any]:
    target = spelling.write(step.target) if step.target else None
    return {
        "kind": step.kind,
        "path": spelling.write(step.path),
        "target": target,
        "mode": step.mode,
    }


def _file_to_json(file: SavedFile, spelling: Spelling) -> dict[str, Any]:
    return file._asdict() | {
        "path": spelling.write(file.path),
        "ends": spelling.write(file.ends),
        "before": file.before._asdict() if file.before else None,
        "after": file.after._asdict(),
    }


def _checksum(record: dict[str, Any]) -> str:
    body = {key: value for key, value in record.items() if key != "checksum"}
    return sha256(json.dumps(body, sort_keys=True).encode())


def from_json(record: object, layout: Layout) -> Manifest:
    """The manifest that `record` is; ValueError when it is not one that this version wrote."""
    if not isinstance(record, dict) or record.get("schema") != SCHEMA:
        found = record.get("schema") if isinstance(record, dict) else None
        raise ValueError(f"unknown version {found!r}")
    if record.get("checksum") != _checksum(record):
        raise ValueError("it was changed since it was written")
    try:
        return _manifest(record, layout)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"it is not complete ({error!r})") from None


def _manifest(record: dict[str, Any], layout: Layout) -> Manifest:
    identifier = checked_id(record["id"])
    moves = tuple((str(old), str(new)) for old, new in record["moves"])
    spelling = Spelling(layout, [path for move in moves for path in move])
    return Manifest(
        identifier,
        _one_of(record["kind"], ("move", "restore")),
        str(record["created"]),
        moves,
        tuple(str(path) for path in record["kept"]),
        checked_id(record["undoes"]) if record["undoes"] is not None else None,
        tuple(
            ProjectMove(**{**row, "entries": tuple(row["entries"])}) for row in record["projects"]
        ),
        tuple(_step(row, spelling) for row in record["steps"]),
        tuple(int(number) for number in record["inodes"]),
        tuple(_saved_file(row, spelling) for row in record["files"]),
        tuple((str(old), str(new)) for old, new in record["folders"]),
    )


def checked_id(text: object) -> str:
    if not isinstance(text, str) or not ID_PATTERN.fullmatch(text):
        raise ValueError(f"{text!r} is not an ID")
    return text


def _one_of(value: object, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ValueError(f"{value!r} is none of {', '.join(allowed)}")
    return str(value)


def _step(row: dict[str, Any], spelling: Spelling) -> Step:
    kind = _one_of(row["kind"], ("rename", "mkdir", "rmdir"))
    target = spelling.read(row["target"]) if row["target"] is not None else None
    if (kind == "rename") != (target is not None):
        raise ValueError(f"a {kind} with target {row['target']!r}")
    return Step(kind, spelling.read(row["path"]), target, int(row["mode"]) & 0o7777)


def _saved_file(row: dict[str, Any], spelling: Spelling) -> SavedFile:
    for name in ("saved", "edits"):
        if row[name] is not None and not re.fullmatch(r"files/\d+(\.json)?", row[name]):
            raise ValueError(f"{row[name]!r} is not a saved file")
    return SavedFile(
        spelling.read(row["path"]),
        spelling.read(row["ends"]),
        _one_of(row["place"], ("index", "history", "config", "other")),
        row["saved"],
        Content(**row["before"]) if row["before"] is not None else None,
        Content(**row["after"]),
        row["edits"],
        row["edits_sha256"],
        int(row["inode"]),
    )


# -- edits -----------------------------------------------------------------------------


def edits_to_json(
    edits: Iterable[Edit], lines: Iterable[tuple[int, str, str]], appended: str
) -> bytes:
    rows = [[e.kind, e.pointer, e.before, e.after, e.anchor] for e in edits]
    return json.dumps({"edits": rows, "lines": list(lines), "appended": appended}).encode()


def read_edits(
    manifest: Manifest, file: SavedFile, layout: Layout
) -> tuple[list[Edit], list[tuple[int, str, str]], str]:
    """The edits that a run made to a file, as they were written down."""
    if file.edits is None:
        return [], [], ""
    path = layout.backups / manifest.id / file.edits
    document = read_document(path)
    if document is None or sha256(document.data) != file.edits_sha256:
        raise RefusedError(f"{path} is missing or was changed since it was written")
    record = json.loads(document.data)
    edits = [
        Edit(kind, tuple(pointer), before, after, anchor=anchor)
        for kind, pointer, before, after, anchor in record["edits"]
    ]
    return edits, [(n, b, a) for n, b, a in record["lines"]], record["appended"]
