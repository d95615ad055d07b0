"""The manifest: what one run did, written down so that later runs can undo it.

It is the plan's list of operations, with hashes instead of contents. A manifest is
data, not an order: version, checksum, the type of every value and every path in it are
checked before anything is done with it. What can be said of a value alone its type
says: `Annotated[str, is_name]` has a function that it satisfies.
"""

import contextlib
import dataclasses
import hashlib
import json
import os
import re
import types
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePath
from typing import Annotated, Any

from ccmove.claude.layout import PROJECT_FILES, Layout
from ccmove.claude.state import ALIASES, INDEX, MEMORY, POINTER
from ccmove.plan.files import PLACES
from ccmove.plan.model import PARKED, FolderHolds, Mkdir, Mode, Rename, Undertaking
from ccmove.rewrite.pathmap import is_root

SCHEMA = 3
LARGEST_NUMBER = 1 << 63
NAME = "kind_of"  # the member of an object that says which record it is
ReadPath = Callable[[str], Path]
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
    staged: Path
    path: Path  # where it was replaced or made
    ends: Path  # where it was when the run was done
    place: Annotated[str, ("index", "config", "other").__contains__]
    before: Content | None
    after: Content


@dataclass(frozen=True, slots=True)
class WroteHistory:
    """The history got new values;
    those and the old ones are kept in `files/<number>.changes`.
    """

    number: Count
    staged: Path
    path: Path
    before: Content
    after: Content
    record: Hash  # of that file


@dataclass(frozen=True, slots=True)
class SavedNote:
    """A note that a merge renamed; the backup keeps it as it was, under `name`."""

    number: Count
    path: Path  # where it was
    ends: Path  # where it was when the run was done
    content: Content

    @property
    def name(self) -> str:
        return f"{self.number}.note"


Recorded = Wrote | WroteHistory | Rename | Mkdir


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest(Undertaking):
    """Everything that one run did."""

    id: Id
    homes: tuple[tuple[str, int, int], ...]  # folders at a NEW: device and inode
    undoes: Id | None
    config_file: str  # as the client composes it, which depends on $CLAUDE_CONFIG_DIR
    staged: tuple[Path, ...] = ()  # the files that will be, or were, staged
    operations: tuple[Recorded, ...] = ()  # from the commit point on
    notes_saved: tuple[SavedNote, ...] = ()  # from the commit point on

    @property
    def history(self) -> WroteHistory | None:
        return next(
            (op for op in self.operations if isinstance(op, WroteHistory)), None
        )


def folder_id(path: str) -> tuple[str, int, int] | None:
    """What a folder is known by for a while, on one disk: good enough for a hint."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return path, found.st_dev, found.st_ino


def config_name(layout: Layout) -> str:
    where = "$C" if layout.config_file.parent == layout.config_dir else "~"
    return f"{where}/{layout.config_file.name}"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Spelling:
    """Paths as manifests have them, so that they hold when the home is elsewhere.

    `$RUN` is the directory of the run itself, `$C` the state, whose `projects` may be
    elsewhere, `$CONFIG` the config file, wherever it leads; `~` the home; anything else
    is absolute.
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
                inside = path.relative_to(place).as_posix()
                return f"{name}/{inside if path != place else ''}"
        return path.as_posix()

    def read(self, text: str) -> Path:
        """The path; ValueError when it is spelled in a way that `write` never does."""
        if "\0" in text or ".." in PurePath(text).parts:
            raise ValueError(f"{text!r} is not a path")
        os.fsencode(
            text
        )  # half a character is not a name; this error is a ValueError too
        if text == "$CONFIG":
            return self.config_file
        for name, place in self.places:
            rest = text.removeprefix(f"{name}/")
            if rest != text and not rest.startswith("/"):
                return place / rest
        if not os.path.isabs(text):
            raise ValueError(f"{text!r} is not a path")
        return Path(text)


# What is parked or set aside, in this run or in an earlier backup.
_KEPT = rf"(?:\$RUN|\$C/ccmove/backups/{ID_PATTERN.pattern})/(?:aside|parked)/.+"
_BESIDE = r"(?: \(from [^/]+\))?"  # what one is called that is kept beside another
_MEMORY = rf"{MEMORY}{_BESIDE}/.+"


def _or_beside(name: str) -> str:
    """The pattern of this name, and of one that is kept beside it."""
    stem, suffix = os.path.splitext(name)
    return f"{re.escape(stem)}{_BESIDE}{re.escape(suffix)}"


_NOTES = rf"(?:{_or_beside(ALIASES)}|{_or_beside(POINTER)}|{_MEMORY})"


def _allowed(
    manifest: Manifest, layout: Layout, spell: Callable[[Path], str]
) -> dict[str, str]:
    """Where a run may work: for each kind of thing the pattern of its path, as it is
    spelled.

    In the state, and the few places outside that it can be asked for. A transcript is
    never rewritten, nor is anything of ours or of anybody else.
    """

    def exactly(*paths: Path) -> str:
        return "|".join(re.escape(spell(path)) for path in paths)

    folders = [folder for pair in manifest.folders for folder in pair]
    parked = [re.escape(spell(folder.parent / PARKED)) + "[^/]+" for folder in folders]
    settings = [folder / name for folder in manifest.places for name in PROJECT_FILES]
    others = [re.escape(place.pattern).replace(r"\*", "[^/]+") for place in PLACES]
    return {
        "config": r"\$CONFIG",
        "history": exactly(layout.history),
        "index": rf"\$C/projects/[^/]+/{_or_beside(INDEX)}|{_KEPT}",
        "other": rf"\$C/projects/[^/]+/{_NOTES}|{_KEPT}|\$C/(?:{'|'.join(others)})"
        rf"|{exactly(layout.desktop_sessions)}/(?:.+/)?local_[^/]*\.json"
        rf"|{exactly(*settings)}",
        "state": rf"\$C/projects/.+|{_KEPT}",
        "folder": "|".join((exactly(*folders), *parked)),
        "note": rf"\$C/projects/[^/]+/{_MEMORY}",
        "staged": rf"(?:.*/)?\.ccmove-{manifest.id}-[0-9]+",
    }


def _named(manifest: Manifest) -> Iterator[tuple[str, Path]]:
    """Every path with which something is done, and as what."""
    yield from (("staged", path) for path in manifest.staged)
    for note in manifest.notes_saved:
        yield from (("note", note.path), ("note", note.ends))
    for op in manifest.operations:
        match op:
            case Rename(path, target, held):
                kind = "folder" if isinstance(held, FolderHolds) else "state"
                yield from ((kind, path), (kind, target))
            case Mkdir(path):
                yield "state", path
            case WroteHistory():
                yield from (("history", op.path), ("staged", op.staged))
            case Wrote():
                yield from (
                    (op.place, op.path),
                    (op.place, op.ends),
                    ("staged", op.staged),
                )


def _check(manifest: Manifest, layout: Layout, spell: Callable[[Path], str]) -> None:
    """ValueError when no run of ours does such a thing."""
    for folder in (
        *manifest.places,
        *(folder for pair in manifest.folders for folder in pair),
    ):
        if is_root(str(folder)) or {layout.own, layout.projects} & {
            folder,
            *folder.parents,
        }:
            raise ValueError(f"{str(folder)!r} is not a project folder")
    is_written = any(
        isinstance(op, Wrote) and op.place == "config" for op in manifest.operations
    )
    now = config_name(layout)
    if is_written and manifest.config_file != now:
        raise ValueError(
            f"the config file was {manifest.config_file} ($CLAUDE_CONFIG_DIR?), not "
            f"{now}"
        )
    written = [
        op.number for op in manifest.operations if isinstance(op, Wrote | WroteHistory)
    ]
    saved = [note.number for note in manifest.notes_saved]
    if len({*written}) < len(written) or len({*saved}) < len(saved):
        raise ValueError("two files have one number")
    allowed = _allowed(manifest, layout, spell)
    for kind, path in _named(manifest):
        if not re.fullmatch(allowed[kind], spell(path), re.DOTALL):
            raise ValueError(
                f"{str(path)!r} is not something that a run has to do with ({kind})"
            )


def sealed(body: dict[str, Any]) -> dict[str, Any]:
    """A record as it is written, with the version and a checksum over all of it."""
    record = {"schema": SCHEMA, **body}
    return {**record, "checksum": sha256(json.dumps(record, sort_keys=True).encode())}


def unsealed(record: object) -> dict[str, Any]:
    """The body of a record; ValueError when it is not one that this version wrote."""
    found = record.get("schema") if isinstance(record, dict) else None
    if not isinstance(record, dict) or found != SCHEMA:
        raise ValueError(f"unknown version {found!r}")
    body = {k: v for k, v in record.items() if k not in ("schema", "checksum")}
    if record != sealed(body):
        raise ValueError("it was changed since it was written")
    return body


def from_json(record: object, layout: Layout, run: Path) -> Manifest:
    """The manifest that `record` is;
    ValueError when it is not one that this version wrote.
    """
    spelling = Spelling(layout, run)
    manifest: Manifest = decode(Manifest, unsealed(record), spelling.read)
    if run not in (layout.run, layout.backups / manifest.id):
        raise ValueError(f"it belongs to {manifest.id}")
    _check(manifest, layout, spelling.write)
    return manifest


def decode(kind: Any, value: Any, read_path: ReadPath) -> Any:
    """The `kind` that `value` spells; ValueError when it spells none."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        for one in arguments:
            with contextlib.suppress(ValueError):
                return decode(one, value, read_path)
        raise ValueError(f"{value!r:.200} is none of {kind}")
    if origin is tuple and type(value) is list:
        kinds = arguments[:1] * len(value) if arguments[-1] is Ellipsis else arguments
        pairs = zip(kinds, value, strict=True)  # other lengths are a ValueError
        return tuple(decode(one, item, read_path) for one, item in pairs)
    if dataclasses.is_dataclass(kind) and type(value) is dict:
        return _record(kind, value, read_path)
    if kind is Path and type(value) is str:
        return read_path(value)
    if not _fits(kind, value):
        raise ValueError(f"{value!r} is not {getattr(kind, '__name__', kind)}")
    return value


def _fits(kind: Any, value: Any) -> bool:
    if typing.get_origin(kind) is typing.Annotated:
        plain, check = typing.get_args(kind)
        return _fits(plain, value) and bool(check(value))
    return type(value) is kind and (kind is not int or abs(value) < LARGEST_NUMBER)


def _record(kind: Any, value: dict[str, Any], read_path: ReadPath) -> Any:
    hints = _hints(kind)
    given = {name: item for name, item in value.items() if name != NAME}
    if value.get(NAME) != kind.__name__ or given.keys() != hints.keys():
        raise ValueError(f"{value!r:.200} is not a {kind.__name__}")
    return kind(
        **{name: decode(hints[name], item, read_path) for name, item in given.items()}
    )


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind, include_extras=True)


def encode(value: Any, write_path: Callable[[Path], str]) -> Any:
    """The JSON values that `decode` reads again."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        rows = {f.name: encode(getattr(value, f.name), write_path) for f in fields}
        return {NAME: type(value).__name__, **rows}
    if isinstance(value, tuple):
        return [encode(item, write_path) for item in value]
    return write_path(value) if isinstance(value, Path) else value
