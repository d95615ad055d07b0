"""The manifest: what one run did, written down so that later runs can undo it.

It is the plan's list of operations, with hashes instead of contents. A manifest is data, not an
order: version, checksum, the type of every value and every path in it are checked before anything
is done with it.
"""

import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Annotated, Any

from ccmove.claude.layout import PROJECT_FILES, Layout
from ccmove.claude.state import ALIASES, INDEX, MEMORY, POINTER
from ccmove.plan.documents import PLACES
from ccmove.plan.model import PARKED, FolderHolds, Mkdir, Mode, Rename, Rmdir, Undertaking
from ccmove.rewrite.pathmap import is_root
from ccmove.run.decode import decode, encode

SCHEMA = 2
LARGEST_MANIFEST = 64 << 20
ID_PATTERN = re.compile(
    r"[0-9]{4}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])"
    r"T(?:[01][0-9]|2[0-3])[0-5][0-9][0-5][0-9]Z-[0-9a-f]{4}"
)
Id = Annotated[str, ID_PATTERN.fullmatch]
Hash = Annotated[str, re.compile("[0-9a-f]{64}").fullmatch]
Count = Annotated[int, (0).__le__]


@dataclass(frozen=True, slots=True)
class Content:
    """What a file held: enough to recognise it."""

    sha256: Hash
    size: Count
    mode: Mode = 0o600
    mtime_ns: int = 0


@dataclass(frozen=True, slots=True)
class Wrote:
    """A document that got new content; `before` is None for one that was made.

    The backup keeps both texts, as `files/<number>.before` and `.after`.
    """

    number: Count
    path: Path  # where it was replaced or made
    ends: Path  # where it was when the run was done
    place: Annotated[str, ("index", "config", "other").__contains__]
    before: Content | None
    after: Content


@dataclass(frozen=True, slots=True)
class WroteHistory:
    """The history got new values; those and the old ones are kept in `files/<number>.changes`."""

    number: Count
    path: Path
    before: Content
    after: Content
    record: Hash  # of that file


Recorded = Wrote | WroteHistory | Rename | Mkdir | Rmdir


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest(Undertaking):
    """Everything that one run did."""

    id: Id
    created: str
    homes: tuple[tuple[str, int, int], ...]  # folders at a NEW: device and inode
    undoes: Id | None
    operations: tuple[Recorded, ...]

    def still_has(self, path: str) -> bool:
        """Whether the folder at a NEW is the one that was there when the run was made."""
        return folder_id(path) in self.homes

    @property
    def written(self) -> tuple[Wrote | WroteHistory, ...]:
        return tuple(op for op in self.operations if isinstance(op, (Wrote, WroteHistory)))

    @property
    def history(self) -> WroteHistory | None:
        return next((op for op in self.operations if isinstance(op, WroteHistory)), None)


def folder_id(path: str) -> tuple[str, int, int] | None:
    """What a folder is known by for a while, on one disk: good enough for a hint."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return path, found.st_dev, found.st_ino


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Spelling:
    """Paths as manifests and journals have them, so that they hold when the home is elsewhere.

    `$RUN` is the directory of the run itself, `$C` the state, whose `projects` may be elsewhere,
    `$CONFIG` the config file, `~` the home; anything else is absolute.
    """

    def __init__(self, layout: Layout, run: Path) -> None:
        state = (("$C/projects", layout.projects), ("$C", layout.config_dir))
        self.places = (("$RUN", run), *state, ("~", layout.home))
        self.config_file = layout.real_config_file

    def write(self, path: Path) -> str:
        if path == self.config_file:
            return "$CONFIG"
        for name, place in self.places:
            if path.is_relative_to(place):
                return f"{name}/{path.relative_to(place).as_posix()}"
        return str(path)

    def read(self, text: str) -> Path:
        """The path; ValueError when it is spelled in a way that `write` never does."""
        if "\0" in text or ".." in PurePath(text).parts:
            raise ValueError(f"{text!r} is not a path")
        os.fsencode(text)  # half a character is not a name; this error is a ValueError too
        if text == "$CONFIG":
            return self.config_file
        for name, place in self.places:
            rest = text.removeprefix(f"{name}/")
            if rest != text and not rest.startswith("/"):
                return place / rest
        if not os.path.isabs(text):
            raise ValueError(f"{text!r} is not a path")
        return Path(text)


# By the spelling of a path. What is parked or set aside is in this run or in an earlier backup.
_KEPT = rf"(?:\$RUN|\$C/ccmove/backups/{ID_PATTERN.pattern})/(?:aside|parked)/.+"
_MOVED = rf"\$C/projects/.+|{_KEPT}"
_NOTES = rf"(?:{re.escape(ALIASES)}|{re.escape(POINTER)}|{MEMORY}/.+)"
_WRITTEN = {
    "config": r"\$CONFIG",
    "index": rf"\$C/projects/[^/]+/{re.escape(INDEX)}|{_KEPT}",
    "other": rf"\$C/projects/[^/]+/{_NOTES}|{_KEPT}",
}


class Policy:
    """The places where a run may work: in the state, and the few outside that it can be asked for.

    A transcript is never rewritten, nor is anything of ours or of anybody else.
    """

    def __init__(self, layout: Layout, run: Path, manifest: Manifest) -> None:
        self.layout = layout
        self.spelling = Spelling(layout, run)
        self.places = manifest.places
        self.folders = {folder for pair in manifest.folders for folder in pair}

    def check(self, manifest: Manifest) -> None:
        """ValueError when no run of ours does such a thing."""
        for folder in (*self.folders, *self.places):
            of_state = {self.layout.own, self.layout.projects} & {folder, *folder.parents}
            _require(not is_root(str(folder)) and not of_state, folder, "is not a project folder")
        for path in manifest.only_copies:
            _require(self._fits(path, _KEPT), path, "is not in a backup")
        numbers = [op.number for op in manifest.written]
        _require(len(set(numbers)) == len(numbers), numbers, "repeat")
        for operation in manifest.operations:
            match operation:
                case Rename():
                    is_folder = isinstance(operation.holds, FolderHolds)
                    for path in (operation.path, operation.target):
                        may = self._is_folder(path) if is_folder else self._fits(path, _MOVED)
                        _require(may, path, "is not something that a run moves")
                case Mkdir(path) | Rmdir(path):
                    _require(self._fits(path, _MOVED), path, "is not something that a run makes")
                case WroteHistory(path=path):
                    _require(path == self.layout.history, path, "is not the history")
                case Wrote():
                    for path in (operation.path, operation.ends):
                        may = self._may_rewrite(path, operation.place)
                        _require(
                            may, path, f"is not something that a run rewrites as {operation.place}"
                        )

    def _fits(self, path: Path, pattern: str) -> bool:
        return re.fullmatch(pattern, self.spelling.write(path), re.DOTALL) is not None

    def _is_folder(self, path: Path) -> bool:
        """A folder of the move, under its own name or while it steps aside for another."""
        beside = any(path.parent == folder.parent for folder in self.folders)
        return path in self.folders or (path.name.startswith(PARKED) and beside)

    def _may_rewrite(self, path: Path, place: str) -> bool:
        """A document of the state or, as another, one of the few that are elsewhere."""
        layout = self.layout
        if self._fits(path, _WRITTEN[place]):
            return True
        if place != "other" or any(map(path.is_relative_to, (layout.own, layout.projects))):
            return False
        inside = path.parts[len(layout.config_dir.parts) :]
        if path.is_relative_to(layout.config_dir) and any(p.covers(inside) for p in PLACES):
            return True
        if path.is_relative_to(layout.desktop_sessions):
            return path.match("local_*.json")
        is_settings = any(path.match(name) for name in PROJECT_FILES)
        return is_settings and any(map(path.is_relative_to, self.places))


def _require(fits: bool, what: object, why: str) -> None:
    if not fits:
        raise ValueError(f"{str(what)!r} {why}")


def to_json(manifest: Manifest, layout: Layout, run: Path) -> dict[str, Any]:
    """The manifest as it is written, with a checksum over all of it."""
    body = encode(manifest, Spelling(layout, run).write)
    return sealed({"config_dir": str(layout.config_dir), **body})


def sealed(body: dict[str, Any]) -> dict[str, Any]:
    """A record as it is written, with the version and a checksum over all of it."""
    record = {"schema": SCHEMA, **body}
    return {**record, "checksum": sha256(json.dumps(record, sort_keys=True).encode())}


def unsealed(record: object) -> dict[str, Any]:
    """The body of a record; ValueError when it is not one that this version wrote."""
    if not isinstance(record, dict) or record.get("schema") != SCHEMA:
        found = record.get("schema") if isinstance(record, dict) else None
        raise ValueError(f"unknown version {found!r}")
    body = {k: v for k, v in record.items() if k not in ("schema", "checksum")}
    if record != sealed(body):
        raise ValueError("it was changed since it was written")
    return body


def from_json(record: object, layout: Layout, run: Path) -> Manifest:
    """The manifest that `record` is; ValueError when it is not one that this version wrote."""
    body = unsealed(record)
    body.pop("config_dir", None)
    manifest: Manifest = decode(Manifest, body, Spelling(layout, run).read)
    Policy(layout, run, manifest).check(manifest)
    return manifest
