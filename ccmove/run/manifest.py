"""The manifest: what one run did, written down so that later runs can undo it.

It is the plan's list of operations, with hashes instead of contents. A manifest is data, not an
order: version, checksum, the type of every value and every path in it are checked before anything
is done with it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from ccmove.claude.layout import PROJECT_FILES, Layout
from ccmove.claude.state import ALIASES, INDEX, MEMORY
from ccmove.plan.documents import PLACES
from ccmove.plan.model import PARKED, FolderHolds, Mkdir, ProjectMove, Rename, Rmdir
from ccmove.rewrite.pathmap import PathMap, is_root
from ccmove.run.decode import decode, encode

SCHEMA = 2
LARGEST_MANIFEST = 64 << 20
ID_PATTERN = re.compile(
    r"[0-9]{4}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])"
    r"T(?:[01][0-9]|2[0-3])[0-5][0-9][0-5][0-9]Z-[0-9a-f]{4}"
)
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Content:
    """What a file held: enough to recognise it."""

    sha256: str
    size: int
    mode: int = 0o600
    mtime_ns: int = 0


@dataclass(frozen=True, slots=True)
class Wrote:
    """A document that got new content; `before` is None for one that was made.

    The backup keeps both texts, as `files/<number>.before` and `.after`.
    """

    number: int
    path: Path  # where it was replaced or made
    ends: Path  # where it was when the run was done
    place: str
    before: Content | None
    after: Content


@dataclass(frozen=True, slots=True)
class WroteHistory:
    """The history got new values; those and the old ones are kept in `files/<number>.changes`."""

    number: int
    path: Path
    before: Content
    after: Content
    record: str  # hash of that file


Recorded = Wrote | WroteHistory | Rename | Mkdir | Rmdir


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything that one run did."""

    id: str
    kind: str  # move or restore
    created: str
    moves: tuple[tuple[str, str], ...]
    kept: tuple[str, ...]
    undoes: str | None
    operations: tuple[Recorded, ...]
    projects: tuple[ProjectMove, ...]
    folders: tuple[tuple[Path, Path], ...]
    places: tuple[Path, ...]
    fresh: tuple[tuple[str, str], ...]
    own: tuple[str, ...]
    only_copies: tuple[Path, ...]

    @property
    def paths(self) -> PathMap:
        return PathMap(self.moves, frozenset(self.kept))

    @property
    def written(self) -> tuple[Wrote | WroteHistory, ...]:
        return tuple(op for op in self.operations if isinstance(op, (Wrote, WroteHistory)))

    @property
    def history(self) -> WroteHistory | None:
        return next((op for op in self.operations if isinstance(op, WroteHistory)), None)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# -- paths as they are written down ----------------------------------------------------------------


class Spelling:
    """Paths as manifests and journals have them, so that they hold when the home is elsewhere.

    `$RUN` is the directory of the run itself, `$C` the state, `$CONFIG` the config file, `~` the
    home; anything else is absolute.
    """

    def __init__(self, layout: Layout, run: Path) -> None:
        self.places = (("$RUN", run), ("$C", layout.config_dir), ("~", layout.home))
        self.config_file = layout.real_config_file

    def write(self, path: Path) -> str:
        if path == self.config_file:
            return "$CONFIG"
        for name, place in self.places:
            if path.is_relative_to(place):
                return f"{name}/{path.relative_to(place)}"
        return str(path)

    def read(self, text: str) -> Path:
        """The path; ValueError when it is spelled in a way that `write` never does."""
        if "\0" in text or ".." in PurePath(text).parts:
            raise ValueError(f"{text!r} is not a path")
        os.fsencode(text)  # half a character is no name; this error is a ValueError too
        if text == "$CONFIG":
            return self.config_file
        for name, place in self.places:
            start, slash, rest = text.partition("/")
            if start == name and slash and not rest.startswith("/"):
                return place / rest
        if not os.path.isabs(text):
            raise ValueError(f"{text!r} is not a path")
        return Path(text)


# -- what a run may touch --------------------------------------------------------------------------


class Policy:
    """The places where a run may work: in the state, and the few outside that it can be asked for.

    A transcript is never rewritten, nor is anything of ours or of anybody else.
    """

    def __init__(self, layout: Layout, run: Path, manifest: Manifest) -> None:
        self.layout = layout
        self.run = run
        self.histories = {layout.history, Path(os.path.realpath(layout.history))}
        self.folders = {folder for pair in manifest.folders for folder in pair}
        self.places = manifest.places

    def check(self, operation: Recorded) -> None:
        """ValueError when no run of ours does such a thing."""
        match operation:
            case Rename():
                self._check_rename(operation)
            case Mkdir() | Rmdir():
                fits = self._may_move(operation.path) and 0 <= operation.mode <= 0o7777
                _refuse(fits, operation.path, "is nothing that a run makes or removes")
            case WroteHistory():
                fits = operation.path in self.histories and self._inside(operation.path) != ()
                _refuse(fits, operation.path, "is not the history")
                _check_content(operation.before, operation.after)
                _refuse(bool(_SHA256.fullmatch(operation.record)), operation.record, "is no hash")
            case Wrote():
                for path in (operation.path, operation.ends):
                    fits = self._may_rewrite(path, operation.place)
                    _refuse(fits, path, f"is nothing that a run rewrites as {operation.place}")
                _check_content(operation.before, operation.after)

    def _check_rename(self, operation: Rename) -> None:
        is_folder = isinstance(operation.holds, FolderHolds)
        may = self._is_folder if is_folder else self._may_move
        for path in (operation.path, operation.target):
            _refuse(may(path), path, "is nothing that a run moves")
        for name in (str(entry[0]) for entry in operation.holds.entries):
            fits = ".." not in PurePath(name).parts and not os.path.isabs(name)
            _refuse(fits, name, "is not a name")

    def _inside(self, path: Path) -> tuple[str, ...]:
        """The parts of a path below the state, none when it is outside."""
        root = self.layout.config_dir
        return path.relative_to(root).parts if path.is_relative_to(root) else ()

    def _is_folder(self, path: Path) -> bool:
        """A folder of the move, under its own name or while it steps aside for another."""
        beside = any(path.parent == folder.parent for folder in self.folders)
        return path in self.folders or (path.name.startswith(PARKED) and beside)

    def _may_move(self, path: Path) -> bool:
        inside = self._inside(path)
        return (inside[:1] == ("projects",) and len(inside) > 1) or self.is_kept(path)

    def is_kept(self, path: Path) -> bool:
        """In the part of a backup, or of this run, where things are parked or set aside."""
        inside = self._inside(path)
        parts: tuple[str, ...] = ()
        if path.is_relative_to(self.run):
            parts = path.relative_to(self.run).parts
        elif inside[:2] == ("ccmove", "backups") and ID_PATTERN.fullmatch("".join(inside[2:3])):
            parts = inside[3:]
        return len(parts) > 1 and parts[0] in ("aside", "parked")

    def _may_rewrite(self, path: Path, place: str) -> bool:
        layout, inside = self.layout, self._inside(path)
        if path == layout.real_config_file:
            return place == "config"
        if path in self.histories or place not in ("index", "other"):
            return False
        if self.is_kept(path):
            return True
        if inside[:1] == ("projects",):
            in_memory = len(inside) > 3 and inside[2] == MEMORY
            by_name = {INDEX: "index", ALIASES: "other"} if len(inside) == 3 else {}
            return place == "other" if in_memory else place == by_name.get(inside[-1])
        if place != "other" or inside[:1] == ("ccmove",):
            return False
        return self._is_other(path, inside)

    def _is_other(self, path: Path, inside: tuple[str, ...]) -> bool:
        """One of the files beside index, history and config."""
        if any(place.covers(inside) for place in PLACES):
            return True
        if path.is_relative_to(self.layout.desktop_sessions):
            return path.match("local_*.json")
        is_settings = any(path.match(name) for name in PROJECT_FILES)
        return is_settings and any(map(path.is_relative_to, self.places))


def _refuse(fits: bool, what: object, why: str) -> None:
    if not fits:
        raise ValueError(f"{str(what)!r} {why}")


def _check_content(*contents: Content | None) -> None:
    for content in contents:
        if content is not None:
            fits = bool(_SHA256.fullmatch(content.sha256)) and content.size >= 0
            _refuse(fits and 0 <= content.mode <= 0o7777, content, "is no content of a file")


# -- reading and writing ---------------------------------------------------------------------------


def to_json(manifest: Manifest, layout: Layout, run: Path) -> dict[str, Any]:
    """The manifest as it is written, with a checksum over all of it."""
    record: dict[str, Any] = {
        "schema": SCHEMA,
        "config_dir": str(layout.config_dir),
        **encode(manifest, Spelling(layout, run).write),
    }
    record["checksum"] = _checksum(record)
    return record


def _checksum(record: dict[str, Any]) -> str:
    body = {key: value for key, value in record.items() if key != "checksum"}
    return sha256(json.dumps(body, sort_keys=True).encode())


def from_json(record: object, layout: Layout, run: Path) -> Manifest:
    """The manifest that `record` is; ValueError when it is not one that this version wrote."""
    if not isinstance(record, dict) or record.get("schema") != SCHEMA:
        found = record.get("schema") if isinstance(record, dict) else None
        raise ValueError(f"unknown version {found!r}")
    if record.get("checksum") != _checksum(record):
        raise ValueError("it was changed since it was written")
    body = {k: v for k, v in record.items() if k not in ("schema", "config_dir", "checksum")}
    manifest: Manifest = decode(Manifest, body, Spelling(layout, run).read)
    _check(manifest, Policy(layout, run, manifest))
    return manifest


def _check(manifest: Manifest, policy: Policy) -> None:
    checked_id(manifest.id)
    if manifest.undoes is not None:
        checked_id(manifest.undoes)
    _refuse(manifest.kind in ("move", "restore"), manifest.kind, "is no kind of run")
    for moved in (path for pair in manifest.moves for path in pair):
        _refuse(not is_root(moved) and "\0" not in moved, moved, "can't be moved")
    for folder in (*(f for pair in manifest.folders for f in pair), *manifest.places):
        inside = policy.layout.own in (folder, *folder.parents)
        inside = inside or policy.layout.projects in (folder, *folder.parents)
        _refuse(not is_root(str(folder)) and not inside, folder, "is no project folder")
    for operation in manifest.operations:
        policy.check(operation)
    for path in manifest.only_copies:
        _refuse(policy.is_kept(path), path, "is not in a backup")
    numbers = [op.number for op in manifest.written]
    _refuse(len(set(numbers)) == len(numbers) and min(numbers, default=0) >= 0, numbers, "repeat")
    _check_names(manifest.projects)


def _check_names(projects: Iterable[ProjectMove]) -> None:
    for move in projects:
        _refuse(move.kind in ("rename", "merge", "same", "split"), move.kind, "is no kind of move")
        for name in (move.source, move.target, *move.entries):
            fits = not {"/", "\0"} & set(name) and name not in ("", ".", "..")
            _refuse(fits, name, "is not a name")


def checked_id(text: object) -> str:
    if not isinstance(text, str) or not ID_PATTERN.fullmatch(text):
        raise ValueError(f"{text!r} is not an ID")
    return text
