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
from ccmove.run.members import Members, read_items, read_match, read_number, read_text
from ccmove.run.roots import Role, Roots, is_name, read_folder, write_folder

SCHEMA = 4
HASH = re.compile("[0-9a-f]{64}")
PROMPT = re.compile("[0-9a-f]{16}")
OPTION = re.compile("(--)?[a-z]+(-[a-z]+)*")
DOCUMENTS = {"config": roots.CONFIG, "index": roots.INDEXES, "other": roots.OTHER}

KINDS_OF_RUN = ("move", "undo")
KINDS_OF_MOVE = ("rename", "merge", "same", "split")

Row = dict[str, object]
Runs = dict[str, tuple[ProjectMove, ...]]  # ID -> what that run brought where
T = TypeVar("T")


class Fields(Members):
    """The members of what is in a manifest, which has paths."""

    def __init__(self, value: object, paths: Roots | None = None) -> None:
        super().__init__(value)
        self._roots = paths

    def name(self, name: str) -> str:
        return _name(self.value(name))

    def notes(self, name: str) -> tuple[str, ...]:
        return self.each(name, inside)

    def prompts(self, name: str) -> tuple[str, ...]:
        return tuple(read_match(item, PROMPT) for item in self.items(name))

    def options(self, name: str) -> tuple[str, ...]:
        return tuple(read_match(item, OPTION) for item in self.items(name))

    def id(self, name: str) -> str:
        return read_match(self.value(name), ID_PATTERN)

    def id_if_any(self, name: str) -> str | None:
        return self.id(name) if self.has(name) else None

    def hash(self, name: str) -> str:
        return read_match(self.value(name), HASH)

    def mode(self, name: str) -> int:
        return self.count(name, 0o10000)

    def path(self, name: str, role: Role) -> Path:
        return self._path(self.value(name), role)

    def paths(self, name: str, role: Role) -> tuple[Path, ...]:
        return tuple(self._path(item, role) for item in self.items(name))

    def _path(self, value: object, role: Role) -> Path:
        assert self._roots is not None
        return self._roots.read(value, role)

    def row(self, name: str) -> "Fields":
        return Fields(self.value(name), self._roots)

    def rows(self, name: str, read: Callable[["Fields"], T]) -> tuple[T, ...]:
        rows = [Fields(item, self._roots) for item in self.items(name)]
        return tuple(map(read, rows))


def _name(value: object) -> str:
    if not is_name(value):
        raise ValueError(f"{value!r:.200} is not a name")
    return read_text(value)


def inside(value: object) -> str:
    """Names with strokes between them, which lead nowhere but down."""
    text = read_text(value)
    path = PurePath(text)
    if path.anchor or ".." in path.parts:
        raise ValueError(f"{text!r:.200} leads elsewhere")
    return text


# -- version and checksum


def sealed(body: Row) -> Row:
    """A record as it is written, with the version and a checksum over all of it."""
    record: Row = {"schema": SCHEMA, **body}
    return {**record, "checksum": sha256(_json(record).encode())}


def unsealed(record: object) -> Row:
    """What a record holds; ValueError when it is not one that this version wrote."""
    body = dict(record) if type(record) is dict else {}
    version = body.pop("schema", None)
    if version != SCHEMA:
        raise ValueError(f"unknown version {version!r}")
    body.pop("checksum", None)
    if _json(sealed(body)) != _json(record):
        raise ValueError("it was changed since it was written")
    return body


def _json(record: object) -> str:
    return json.dumps(record, sort_keys=True)


# -- a manifest


def to_json(manifest: Manifest, layout: Layout, run: Path) -> Row:
    """The record of a manifest that is, or will be, in the directory `run`."""
    paths = Roots(layout, run, manifest.folders, manifest.places)
    without_paths = replace(
        manifest, folders=(), places=(), replaced=(), operations=(), notes_saved=()
    )
    folders = []
    for old, new in manifest.folders:
        pair = write_folder(layout, old), write_folder(layout, new)
        folders.append(pair)
    places = [write_folder(layout, place) for place in manifest.places]
    replaced = [paths.write(path, roots.REPLACED) for path in manifest.replaced]
    operations = [_from_operation(op, paths) for op in manifest.operations]
    notes_saved = [_from_note(note, paths) for note in manifest.notes_saved]
    return sealed(
        {
            **asdict(without_paths),
            "folders": folders,
            "places": places,
            "replaced": replaced,
            "operations": operations,
            "notes_saved": notes_saved,
        }
    )


def from_json(record: object, layout: Layout, run: Path) -> Manifest:
    """The manifest in the directory `run`; ValueError when no run of ours wrote it."""
    manifest = _manifest(unsealed(record), layout, run)
    is_its_own = run == layout.backups / manifest.id
    if run != layout.run and not is_its_own:
        raise ValueError(f"it belongs to {manifest.id}")
    again = to_json(manifest, layout, run)
    if _json(again) != _json(record):
        raise ValueError("it has something in it that no run writes")
    _refuse_other_numbers(manifest)
    _refuse_another_config_file(manifest, layout)
    return manifest


def _manifest(body: Row, layout: Layout, run: Path) -> Manifest:
    """Every value has its type, and every path its root."""
    paths = _roots(Fields(body), layout, run)
    row = Fields(body, paths)
    return Manifest(
        id=row.id("id"),
        kind=row.one_of("kind", *KINDS_OF_RUN),
        moves=row.each("moves", _move),
        kept=row.texts("kept"),
        projects=row.rows("projects", _project),
        own=row.rows("own", _own),
        prompts_at_new=row.prompts("prompts_at_new"),
        folders=paths.folders,
        places=paths.settings,
        undoes=row.id_if_any("undoes"),
        options=row.options("options"),
        homes=row.each("homes", _home),
        config_file=row.text("config_file"),
        replaced=row.paths("replaced", roots.REPLACED),
        operations=row.rows("operations", _operation),
        notes_saved=row.rows("notes_saved", _note),
    )


def _roots(row: Fields, layout: Layout, run: Path) -> Roots:
    """The roots of the run, to which its folders belong."""
    folders = [_folder_pair(pair, layout) for pair in row.items("folders")]
    places = [read_folder(layout, place) for place in row.items("places")]
    return Roots(layout, run, tuple(folders), tuple(places))


def _folder_pair(value: object, layout: Layout) -> tuple[Path, Path]:
    old, new = read_items(value)
    return read_folder(layout, old), read_folder(layout, new)


def _refuse_other_numbers(manifest: Manifest) -> None:
    """Each saved file is one operation's, and each staged one beside its document."""
    numbers: set[int] = set()
    staged = dict(enumerate(manifest.replaced))
    for op in manifest.operations:
        if isinstance(op, Rename | Mkdir):
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
    kind = type(operation).__name__
    match operation:
        case Rename():
            row = _from_rename(operation, paths)
        case Mkdir(path, mode):
            row = {"path": paths.write(path, roots.MOVED), "mode": mode}
        case Wrote():
            row = _from_wrote(operation, paths)
        case WroteHistory(path=path):
            row = asdict(operation)
            row["path"] = paths.write(path, roots.HISTORY)
    return {"kind_of": kind, **row}


def _from_rename(rename: Rename, paths: Roots) -> Row:
    role = _role(rename.holds)
    path = paths.write(rename.path, role)
    target = paths.write(rename.target, role)
    holds = {"kind_of": type(rename.holds).__name__, **asdict(rename.holds)}
    return {"path": path, "target": target, "holds": holds}


def _from_wrote(wrote: Wrote, paths: Roots) -> Row:
    role = DOCUMENTS[wrote.place]
    path = paths.write(wrote.path, role)
    ends = paths.write(wrote.ends, role)
    return {**asdict(wrote), "path": path, "ends": ends}


def _operation(row: Fields) -> Recorded:
    """By the kind that it says it is."""
    match row.value("kind_of"):
        case "Rename":
            holds = _holds(row.row("holds"))
            role = _role(holds)
            return Rename(row.path("path", role), row.path("target", role), holds)
        case "Mkdir":
            return Mkdir(row.path("path", roots.MOVED), row.mode("mode"))
        case "Wrote":
            return _wrote(row)
        case "WroteHistory":
            return WroteHistory(
                number=row.count("number"),
                path=row.path("path", roots.HISTORY),
                before=_content(row.row("before")),
                after=_content(row.row("after")),
                record=row.hash("record"),
            )
        case kind:
            raise ValueError(f"{kind!r:.200} is not an operation")


def _role(holds: Holds | FileHolds | FolderHolds) -> Role:
    """Where something that is renamed may be."""
    return roots.FOLDER if isinstance(holds, FolderHolds) else roots.MOVED


def _wrote(row: Fields) -> Wrote:
    place = row.one_of("place", *DOCUMENTS)
    role = DOCUMENTS[place]
    before = None
    if row.has("before"):
        before = _content(row.row("before"))
    return Wrote(
        number=row.count("number"),
        path=row.path("path", role),
        ends=row.path("ends", role),
        place=place,
        before=before,
        after=_content(row.row("after")),
    )


def _holds(row: Fields) -> Holds | FileHolds | FolderHolds:
    match row.value("kind_of"):
        case "Holds":
            return Holds(row.notes("names"))
        case "FileHolds":
            return FileHolds(row.number("size"), row.number("mtime_ns"))
        case "FolderHolds":
            device = row.number("device")
            inode = row.number("inode")
            return FolderHolds(device, inode, row.each("entries", _entry))
        case kind:
            raise ValueError(f"{kind!r:.200} recognises nothing")


def _entry(value: object) -> tuple[str, str, int, int]:
    name, kind, size, mtime = read_items(value)
    return inside(name), read_text(kind), read_number(size), read_number(mtime)


def _content(row: Fields) -> Content:
    return Content(
        sha256=row.hash("sha256"),
        size=row.count("size"),
        mode=row.mode("mode"),
        mtime_ns=row.number("mtime_ns"),
    )


def _from_note(note: SavedNote, paths: Roots) -> Row:
    path = paths.write(note.path, roots.NOTE)
    ends = paths.write(note.ends, roots.NOTE)
    return {**asdict(note), "path": path, "ends": ends}


def _note(row: Fields) -> SavedNote:
    return SavedNote(
        number=row.count("number"),
        path=row.path("path", roots.NOTE),
        ends=row.path("ends", roots.NOTE),
        content=_content(row.row("content")),
    )


def _project(row: Fields) -> ProjectMove:
    return ProjectMove(
        path=row.text("path"),
        new_path=row.text("new_path"),
        source=row.name("source"),
        target=row.name("target"),
        kind=row.one_of("kind", *KINDS_OF_MOVE),
        entries=row.each("entries", _name),
        notes=row.notes("notes"),
        transcripts=row.number("transcripts"),
        size=row.number("size"),
    )


def _own(row: Fields) -> Own:
    return Own(
        path=row.text("path"),
        sessions=row.texts("sessions"),
        notes=row.notes("notes"),
        config=row.text("config"),
    )


def _move(value: object) -> tuple[str, str]:
    old, new = map(read_text, read_items(value))
    for path in (old, new):
        if is_root(path) or "\0" in path:
            raise ValueError(f"{path!r} can't be moved")
    return old, new


def _home(value: object) -> tuple[str, int, int]:
    path, device, inode = read_items(value)
    return read_text(path), read_number(device), read_number(inode)


# -- the ledger: what is known of runs whose backups were pruned


def ledger_to_json(runs: Runs) -> Row:
    rows = []
    for identifier, moves in runs.items():
        rows.append((identifier, [asdict(move) for move in moves]))
    return sealed({"runs": rows})


def ledger_from_json(record: object) -> Runs:
    """What each run brought where; ValueError when no run of ours wrote this."""
    runs: Runs = {}
    for value in read_items(unsealed(record).get("runs")):
        identifier, moves = read_items(value)
        projects = [_project(Fields(move)) for move in read_items(moves)]
        runs[read_match(identifier, ID_PATTERN)] = tuple(projects)
    return runs
