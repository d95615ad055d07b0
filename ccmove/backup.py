"""Backups and the journal: what a run did, in a form that later runs can trust.

`backups/<ID>/manifest.json` says what a move or a restore changed, `files/` holds the saved
files and the edits that were made to each, `displaced/` what lost in a merge. The journal holds
the manifest of the run under way. Both are data, not orders: version, checksum and every path
are checked before anything is done with them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePath
from typing import Any

from ccmove import files
from ccmove.edits import Edit
from ccmove.errors import NothingKnownError, RefusedError, UnsettledError
from ccmove.jsonspan import Pointer
from ccmove.layout import Layout
from ccmove.ownership import Ledger
from ccmove.pathmap import PathMap
from ccmove.plan import ProjectMove, Step
from ccmove.state import read_document

SCHEMA = 1
LARGEST_MANIFEST = 64 << 20
ID_PATTERN = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{4}")


@dataclass(frozen=True)
class Content:
    """What a file held: enough to recognise it."""

    sha256: str
    size: int
    mode: int = 0o600
    mtime_ns: int = 0


@dataclass(frozen=True)
class SavedFile:
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


@dataclass(frozen=True)
class Manifest:
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


@dataclass(frozen=True)
class Journal:
    """The run under way. Until `manifest` is there nothing of the user's was changed."""

    id: str
    mark: int  # nanoseconds that mark our client locks
    locks: tuple[Path, ...] = ()
    staged: tuple[Path, ...] = ()
    manifest: Manifest | None = None
    undo_staged: tuple[Path, ...] = field(default=())


def new_id(layout: Layout) -> str:
    """An ID that sorts after every other one, even when the clock was set back."""
    identifier = _id(time.time(), os.urandom(2).hex())
    newest = max(backup_ids(layout), default="")
    if identifier > newest:
        return identifier
    import calendar

    then = calendar.timegm(time.strptime(newest[:16], "%Y%m%dT%H%M%SZ"))
    suffix = int(newest[-4:], 16) + 1
    return _id(then, f"{suffix:04x}") if suffix <= 0xFFFF else _id(then + 1, "0000")


def _id(seconds: float, suffix: str) -> str:
    return f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(seconds))}-{suffix}"


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


class Spelling:
    """Paths in manifests: `$C/…` inside the state, `$CONFIG` for the config file, else absolute.

    Reading checks that a path stays where a run may work: in the state, or in a folder or a
    desktop directory that the run itself names.
    """

    def __init__(self, layout: Layout, folders: Iterable[str] = ()) -> None:
        self.layout = layout
        self.folders = tuple(folders)

    def write(self, path: Path) -> str:
        if path == self.layout.real_config_file:
            return "$CONFIG"
        if path.is_relative_to(self.layout.config_dir):
            return f"$C/{path.relative_to(self.layout.config_dir)}"
        return str(path)

    def read(self, text: object) -> Path:
        if not isinstance(text, str) or "\0" in text or ".." in PurePath(text).parts:
            raise ValueError(f"{text!r} is not a path of the state")
        if text == "$CONFIG":
            return self.layout.real_config_file
        if text.startswith("$C/"):
            path = self.layout.config_dir / text[3:]
            if text[3:].startswith("/") or not path.is_relative_to(self.layout.config_dir):
                raise ValueError(f"{text!r} leads out of the state")
            return path
        allowed = (*self.folders, str(self.layout.desktop_sessions))
        path = Path(text)
        if not path.is_absolute() or not any(path.is_relative_to(base) for base in allowed):
            raise ValueError(f"{text!r} is outside of the state")
        return path


def to_json(manifest: Manifest, layout: Layout) -> dict[str, Any]:
    spelling = Spelling(layout)
    record = asdict(manifest)
    record["schema"] = SCHEMA
    record["config_dir"] = str(layout.config_dir)
    record["steps"] = [
        {
            "kind": step.kind,
            "path": spelling.write(step.path),
            "target": spelling.write(step.target) if step.target else None,
            "mode": step.mode,
        }
        for step in manifest.steps
    ]
    for row, file in zip(record["files"], manifest.files, strict=True):
        row["path"], row["ends"] = spelling.write(file.path), spelling.write(file.ends)
    record["checksum"] = _checksum(record)
    return record


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
    identifier = _checked_id(record["id"])
    moves = tuple((str(old), str(new)) for old, new in record["moves"])
    spelling = Spelling(layout, [path for move in moves for path in move])
    return Manifest(
        identifier,
        _one_of(record["kind"], ("move", "restore")),
        str(record["created"]),
        moves,
        tuple(str(path) for path in record["kept"]),
        _checked_id(record["undoes"]) if record["undoes"] is not None else None,
        tuple(
            ProjectMove(**{**row, "entries": tuple(row["entries"])}) for row in record["projects"]
        ),
        tuple(_step(row, spelling) for row in record["steps"]),
        tuple(int(number) for number in record["inodes"]),
        tuple(_saved_file(row, spelling) for row in record["files"]),
        tuple((str(old), str(new)) for old, new in record["folders"]),
    )


def _checked_id(text: object) -> str:
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
        Edit(k, _pointer(p), before, after, anchor=a) for k, p, before, after, a in record["edits"]
    ]
    return edits, [(n, b, a) for n, b, a in record["lines"]], record["appended"]


def _pointer(tokens: list[Any]) -> Pointer:
    return tuple(tokens)


# -- the journal -----------------------------------------------------------------------


def write_journal(journal: Journal, layout: Layout) -> None:
    """Flushed to disk when this returns; the old journal is replaced in one step."""
    spelling = Spelling(layout)
    record = {
        "schema": SCHEMA,
        "id": journal.id,
        "mark": journal.mark,
        "locks": [spelling.write(path) for path in journal.locks],
        "staged": [spelling.write(path) for path in journal.staged],
        "manifest": to_json(journal.manifest, layout) if journal.manifest else None,
    }
    fresh = layout.journal.with_name("journal.json.new")
    files.remove_file(fresh)
    files.write_new(fresh, [json.dumps(record).encode()])
    files.replace(fresh, layout.journal)


def read_journal(layout: Layout) -> Journal | None:
    """The journal of an interrupted run, None when there is none; UnsettledError when unreadable."""
    document = read_document(layout.journal)
    if document is None:
        return None
    try:
        record = json.loads(document.data)
        if record["schema"] != SCHEMA:
            raise ValueError(f"unknown version {record['schema']!r}")
        manifest = record["manifest"]
        return Journal(
            _checked_id(record["id"]),
            int(record["mark"]),
            tuple(_lock_path(text, layout) for text in record["locks"]),
            tuple(_staged_path(text, layout, record) for text in record["staged"]),
            from_json(manifest, layout) if manifest is not None else None,
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UnsettledError(
            f"{layout.journal} can't be trusted: {error}",
            f"look at it and at {layout.backups}, then move it out of the way",
        ) from None


def _lock_path(text: str, layout: Layout) -> Path:
    for path in layout.client_locks:
        if Spelling(layout).write(path) == text:
            return path
    raise ValueError(f"{text!r} is no lock of the client")


def _staged_path(text: str, layout: Layout, record: dict[str, Any]) -> Path:
    """A staged file is always ours: its name carries the ID of the run."""
    path = Path(text) if not text.startswith("$") else Spelling(layout).read(text)
    if f".ccmove-{_checked_id(record['id'])}" not in path.name or ".." in path.parts:
        raise ValueError(f"{text!r} is no staged file")
    return path


# -- the list of backups ---------------------------------------------------------------


def write_manifest(manifest: Manifest, layout: Layout) -> None:
    path = layout.backups / manifest.id / "manifest.json"
    files.remove_file(path)
    files.write_new(path, [json.dumps(to_json(manifest, layout)).encode()])


def read_manifest(identifier: str, layout: Layout) -> Manifest:
    """The manifest of one backup; RefusedError when it can't be trusted."""
    path = layout.backups / identifier / "manifest.json"
    document = read_document(path)
    if document is None:
        raise NothingKnownError(f"there is no backup {identifier}", "ccmove backups")
    if document.seen.size > LARGEST_MANIFEST:
        raise RefusedError(f"{path} is too large to be a manifest")
    try:
        manifest = from_json(json.loads(document.data), layout)
        if manifest.id != identifier:
            raise ValueError(f"it belongs to {manifest.id}")
    except (ValueError, RecursionError) as error:
        raise RefusedError(
            f"{path} can't be used: {error}", "the saved files beside it are untouched"
        ) from None
    return manifest


def backup_ids(layout: Layout) -> list[str]:
    """IDs of the backups there are, oldest first."""
    try:
        names = os.listdir(layout.backups)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(name for name in names if ID_PATTERN.fullmatch(name))


def all_manifests(layout: Layout) -> list[Manifest]:
    """Every manifest that can be trusted, oldest first."""
    found = []
    for identifier in backup_ids(layout):
        with contextlib.suppress(RefusedError, NothingKnownError):
            found.append(read_manifest(identifier, layout))
    return found


def in_force(manifests: Iterable[Manifest]) -> dict[str, bool]:
    """For each run whether it still stands: not undone, or undone and done again."""
    standing: dict[str, bool] = {}
    undoes: dict[str, str] = {}
    for manifest in manifests:
        standing[manifest.id] = True
        if manifest.undoes is not None:
            undoes[manifest.id] = manifest.undoes
            _turn(manifest.undoes, standing, undoes)
    return standing


def _turn(identifier: str, standing: dict[str, bool], undoes: dict[str, str]) -> None:
    """The run is undone; if it was itself an undoing, what it had undone stands again."""
    standing[identifier] = False
    if identifier in undoes:
        original = undoes[identifier]
        standing[original] = True
        if original in undoes:
            _turn(undoes[original], standing, undoes)


def read_ledger(layout: Layout) -> Ledger:
    """What our own moves say about whose the entries of each directory are."""
    ledger = Ledger()
    for manifest in all_manifests(layout):
        for move in manifest.projects:
            for entry in move.entries:
                ledger.entries.pop((move.source, entry), None)
                ledger.entries[(move.target, entry)] = move.new_path
            ledger.owners.get(move.source, set()).discard(move.path)
            ledger.owners.setdefault(move.target, set()).add(move.new_path)
    return ledger
