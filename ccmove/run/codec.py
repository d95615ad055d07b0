"""Manifests as JSON, and back.

A manifest is data, not an order: whoever reads one believes nothing. Version and
checksum are right, every value has its type and every path its root, and what was read
is written again as it was: so there is nothing more in it, nothing less, and nothing in
another way.
"""

import json
import re
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path, PurePath
from typing import TypeVar

from ccmove.claude.layout import Layout
from ccmove.plan.model import (
    FileHolds,
    FolderHolds,
    Holds,
    LeftAlone,
    Mkdir,
    Own,
    ProjectMove,
    Rename,
)
from ccmove.rewrite.pathmap import is_root
from ccmove.run import roots
from ccmove.run.manifest import (
    ID_PATTERN,
    Content,
    Manifest,
    Recorded,
    SavedNote,
    Wrote,
    WroteHistory,
    config_name,
    sha256,
)
from ccmove.run.roots import Roots, is_name, read_folder, write_folder

SCHEMA = 4
LARGEST_NUMBER = (1 << 63) - 1
HASH = re.compile("[0-9a-f]{64}")
PROMPT = re.compile("[0-9a-f]{16}")
OPTION = re.compile("(--)?[a-z]+(-[a-z]+)*")
DOCUMENTS = {"config": roots.CONFIG, "index": roots.INDEXES, "other": roots.OTHER}

Row = dict[str, object]
Runs = dict[str, tuple[ProjectMove, ...]]  # ID -> what that run brought where
T = TypeVar("T")


class Fields:
    """The members of a JSON object, each of them read as what it has to be."""

    def __init__(self, value: object) -> None:
        if type(value) is not dict:
            raise ValueError(f"{value!r:.200} is not an object")
        self._members: Row = value

    def value(self, name: str) -> object:
        if name not in self._members:
            raise ValueError(f"{name} is missing")
        return self._members[name]

    def text(self, name: str) -> str:
        return _text(self.value(name))

    def match(self, name: str, pattern: re.Pattern[str]) -> str:
        return _match(self.value(name), pattern)

    def matches(self, name: str, pattern: re.Pattern[str]) -> tuple[str, ...]:
        return tuple(_match(item, pattern) for item in self.items(name))

    def one_of(self, name: str, *choices: str) -> str:
        text = self.text(name)
        if text not in choices:
            raise ValueError(f"{text!r:.200} is none of {', '.join(choices)}")
        return text

    def number(
        self, name: str, least: int = -LARGEST_NUMBER, most: int = LARGEST_NUMBER
    ) -> int:
        number = _number(self.value(name))
        if not least <= number <= most:
            raise ValueError(f"{name} can't be {number}")
        return number

    def items(self, name: str) -> list[object]:
        return _items(self.value(name))

    def each(self, name: str, read: Callable[[object], T]) -> tuple[T, ...]:
        return tuple(read(item) for item in self.items(name))


def _items(value: object) -> list[object]:
    if type(value) is not list:
        raise ValueError(f"{value!r:.200} is not a list")
    return value


def _text(value: object) -> str:
    if type(value) is not str:
        raise ValueError(f"{value!r:.200} is not a text")
    return value


def _match(value: object, pattern: re.Pattern[str]) -> str:
    text = _text(value)
    if not pattern.fullmatch(text):
        raise ValueError(f"{text!r:.200} is not {pattern.pattern}")
    return text


def _number(value: object) -> int:
    if type(value) is not int or abs(value) > LARGEST_NUMBER:
        raise ValueError(f"{value!r:.200} is not a number")
    return value


def _name(value: object) -> str:
    if not is_name(value):
        raise ValueError(f"{value!r:.200} is not a name")
    return _text(value)


def inside(value: object) -> str:
    """Names with strokes between them, which lead nowhere but down."""
    text = _text(value)
    path = PurePath(text)
    if path.anchor or ".." in path.parts:
        raise ValueError(f"{text!r:.200} leads elsewhere")
    return text


# -- version and checksum


def sealed(body: Row) -> Row:
    """A record as it is written, with the version and a checksum over all of it."""
    record: Row = {"schema": SCHEMA, **body}
    return {**record, "checksum": sha256(_json(record).encode())}


def unsealed(record: object) -> Fields:
    """What a record holds; ValueError when it is not one that this version wrote."""
    body = dict(record) if type(record) is dict else {}
    version = body.pop("schema", None)
    if version != SCHEMA:
        raise ValueError(f"unknown version {version!r}")
    body.pop("checksum", None)
    if _json(sealed(body)) != _json(record):
        raise ValueError("it was changed since it was written")
    return Fields(body)


def _json(record: object) -> str:
    return json.dumps(record, sort_keys=True)


# -- a manifest


def to_json(manifest: Manifest, layout: Layout, run: Path) -> Row:
    """The record of a manifest that is, or will be, in the directory `run`."""
    paths = Roots(layout, run, manifest.folders, manifest.places)
    folders = []
    for old, new in manifest.folders:
        folders.append((write_folder(layout, old), write_folder(layout, new)))
    without_paths = replace(
        manifest, folders=(), places=(), replaced=(), operations=(), notes_saved=()
    )
    body = asdict(without_paths)
    body["folders"] = folders
    body["places"] = [write_folder(layout, place) for place in manifest.places]
    body["replaced"] = [paths.write(p, roots.REPLACED) for p in manifest.replaced]
    body["operations"] = [_from_operation(op, paths) for op in manifest.operations]
    body["notes_saved"] = [_from_note(note, paths) for note in manifest.notes_saved]
    return sealed(body)


def from_json(record: object, layout: Layout, run: Path) -> Manifest:
    """The manifest in the directory `run`; ValueError when no run of ours wrote it."""
    manifest = _manifest(unsealed(record), layout, run)
    if run not in (layout.run, layout.backups / manifest.id):
        raise ValueError(f"it belongs to {manifest.id}")
    if _json(to_json(manifest, layout, run)) != _json(record):
        raise ValueError("it has something in it that no run writes")
    _refuse_other_numbers(manifest)
    _refuse_another_config_file(manifest, layout)
    return manifest


def _manifest(row: Fields, layout: Layout, run: Path) -> Manifest:
    """What no run writes may still be in it; every path has its root."""
    folders = tuple(_folder_pair(pair, layout) for pair in row.items("folders"))
    places = tuple(read_folder(layout, place) for place in row.items("places"))
    paths = Roots(layout, run, folders, places)
    replaced = [paths.read(p, roots.REPLACED) for p in row.items("replaced")]
    operations = [_operation(Fields(op), paths) for op in row.items("operations")]
    notes = [_note(Fields(note), paths) for note in row.items("notes_saved")]
    is_undo = row.value("undoes") is not None
    return Manifest(
        id=row.match("id", ID_PATTERN),
        kind=row.one_of("kind", "move", "undo"),
        moves=row.each("moves", _move),
        kept=row.each("kept", _text),
        projects=row.each("projects", _project),
        own=row.each("own", _own),
        prompts_at_new=row.matches("prompts_at_new", PROMPT),
        folders=folders,
        places=places,
        undoes=row.match("undoes", ID_PATTERN) if is_undo else None,
        options=row.matches("options", OPTION),
        merged=row.each("merged", _merged),
        left_alone=row.each("left_alone", _left_alone),
        warnings=row.each("warnings", _text),
        remembering=row.number("remembering"),
        notes=row.each("notes", _text),
        homes=row.each("homes", _home),
        config_file=row.text("config_file"),
        replaced=tuple(replaced),
        operations=tuple(operations),
        notes_saved=tuple(notes),
    )


def _refuse_other_numbers(manifest: Manifest) -> None:
    """Each saved file is one operation's, and each staged one beside its document."""
    numbers: set[int] = set()
    staged = dict(enumerate(manifest.replaced))
    for op in manifest.operations:
        if not isinstance(op, Wrote | WroteHistory):
            continue
        if op.number in numbers:
            raise ValueError(f"two files have the number {op.number}")
        numbers.add(op.number)
        if op.before is not None and staged.get(op.number) != op.path:
            raise ValueError(f"{str(op.path)!r} was not staged")
    notes = {note.number for note in manifest.notes_saved}
    if len(notes) < len(manifest.notes_saved):
        raise ValueError("two notes have one number")


def _refuse_another_config_file(manifest: Manifest, layout: Layout) -> None:
    """It is where it was, unless the run had nothing to do with it."""
    then = manifest.config_file
    now = config_name(layout)
    for op in manifest.operations:
        if isinstance(op, Wrote) and op.place == "config" and then != now:
            what = f"the config file was {then} ($CLAUDE_CONFIG_DIR?), not {now}"
            raise ValueError(what)


# -- what is in it


def _from_operation(operation: Recorded, paths: Roots) -> Row:
    match operation:
        case Rename(path, target, holds):
            role = _role(holds)
            row = {"path": paths.write(path, role), "target": paths.write(target, role)}
            noted = {"kind_of": type(holds).__name__, **asdict(holds)}
            return {"kind_of": "Rename", **row, "holds": noted}
        case Mkdir(path, mode):
            row = {"path": paths.write(path, roots.MOVED)}
            return {"kind_of": "Mkdir", **row, "mode": mode}
        case Wrote(path=path, ends=ends, place=place):
            role = DOCUMENTS[place]
            row = {"path": paths.write(path, role), "ends": paths.write(ends, role)}
            return {"kind_of": "Wrote", **asdict(operation), **row}
        case WroteHistory(path=path):
            row = {"path": paths.write(path, roots.HISTORY)}
            return {"kind_of": "WroteHistory", **asdict(operation), **row}


def _operation(row: Fields, paths: Roots) -> Recorded:
    match row.value("kind_of"):
        case "Rename":
            holds = _holds(Fields(row.value("holds")))
            role = _role(holds)
            path = paths.read(row.value("path"), role)
            return Rename(path, paths.read(row.value("target"), role), holds)
        case "Mkdir":
            path = paths.read(row.value("path"), roots.MOVED)
            return Mkdir(path, row.number("mode", 0, 0o7777))
        case "Wrote":
            return _wrote(row, paths)
        case "WroteHistory":
            return WroteHistory(
                number=row.number("number", 0),
                path=paths.read(row.value("path"), roots.HISTORY),
                before=_content(row.value("before")),
                after=_content(row.value("after")),
                record=row.match("record", HASH),
            )
        case kind:
            raise ValueError(f"{kind!r:.200} is not an operation")


def _role(holds: Holds | FileHolds | FolderHolds) -> roots.Role:
    """Where something that is renamed may be."""
    return roots.FOLDER if isinstance(holds, FolderHolds) else roots.MOVED


def _wrote(row: Fields, paths: Roots) -> Wrote:
    place = row.one_of("place", *DOCUMENTS)
    role = DOCUMENTS[place]
    before = row.value("before")
    return Wrote(
        number=row.number("number", 0),
        path=paths.read(row.value("path"), role),
        ends=paths.read(row.value("ends"), role),
        place=place,
        before=None if before is None else _content(before),
        after=_content(row.value("after")),
    )


def _holds(row: Fields) -> Holds | FileHolds | FolderHolds:
    match row.value("kind_of"):
        case "Holds":
            return Holds(row.each("names", inside))
        case "FileHolds":
            return FileHolds(row.number("size"), row.number("mtime_ns"))
        case "FolderHolds":
            device = row.number("device")
            inode = row.number("inode")
            return FolderHolds(device, inode, row.each("entries", _entry))
        case kind:
            raise ValueError(f"{kind!r:.200} recognises nothing")


def _entry(value: object) -> tuple[str, str, int, int]:
    name, kind, size, mtime = _items(value)
    return inside(name), _text(kind), _number(size), _number(mtime)


def _content(value: object) -> Content:
    row = Fields(value)
    return Content(
        sha256=row.match("sha256", HASH),
        size=row.number("size", 0),
        mode=row.number("mode", 0, 0o7777),
        mtime_ns=row.number("mtime_ns"),
    )


def _from_note(note: SavedNote, paths: Roots) -> Row:
    path = paths.write(note.path, roots.NOTE)
    ends = paths.write(note.ends, roots.NOTE)
    return {**asdict(note), "path": path, "ends": ends}


def _note(row: Fields, paths: Roots) -> SavedNote:
    path = paths.read(row.value("path"), roots.NOTE)
    ends = paths.read(row.value("ends"), roots.NOTE)
    content = _content(row.value("content"))
    return SavedNote(row.number("number", 0), path, ends, content)


def _project(value: object) -> ProjectMove:
    row = Fields(value)
    return ProjectMove(
        path=row.text("path"),
        new_path=row.text("new_path"),
        source=_name(row.value("source")),
        target=_name(row.value("target")),
        kind=row.one_of("kind", "rename", "merge", "same", "split"),
        entries=row.each("entries", _name),
        notes=row.each("notes", inside),
        transcripts=row.number("transcripts"),
        size=row.number("size"),
    )


def _own(value: object) -> Own:
    row = Fields(value)
    return Own(
        path=row.text("path"),
        sessions=row.each("sessions", _text),
        notes=row.each("notes", inside),
        config=row.text("config"),
    )


def _left_alone(value: object) -> LeftAlone:
    row = Fields(value)
    command = row.each("command", _text)
    return LeftAlone(row.text("file"), row.text("what"), command)


def _folder_pair(value: object, layout: Layout) -> tuple[Path, Path]:
    old, new = _items(value)
    return read_folder(layout, old), read_folder(layout, new)


def _move(value: object) -> tuple[str, str]:
    old, new = map(_text, _items(value))
    for path in (old, new):
        if is_root(path) or "\0" in path:
            raise ValueError(f"{path!r} can't be moved")
    return old, new


def _merged(value: object) -> tuple[str, int]:
    path, number = _items(value)
    return _text(path), _number(number)


def _home(value: object) -> tuple[str, int, int]:
    path, device, inode = _items(value)
    return _text(path), _number(device), _number(inode)


# -- the ledger: what is known of runs whose backups were pruned


def ledger_to_json(runs: Runs) -> Row:
    rows = []
    for identifier, moves in runs.items():
        rows.append((identifier, [asdict(move) for move in moves]))
    return sealed({"runs": rows})


def ledger_from_json(record: object) -> Runs:
    """What each run brought where; ValueError when no run of ours wrote this."""
    runs: Runs = {}
    for value in unsealed(record).items("runs"):
        identifier, moves = _items(value)
        projects = tuple(_project(move) for move in _items(moves))
        runs[_match(identifier, ID_PATTERN)] = projects
    return runs
