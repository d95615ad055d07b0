"""Manifests as JSON, and back.

A manifest is data, not an order: whoever reads one believes nothing. Version and
checksum are right, every value has its type and every path its root, and what was read
is written again as it was: so there is nothing more in it, nothing less, and nothing in
another way.
"""

import json
import re
from collections.abc import Callable, Collection
from dataclasses import asdict
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
from ccmove.run.roots import Roots, is_name, read_folder, write_folder

SCHEMA = 4
LARGEST_NUMBER = 1 << 63
HASH = re.compile("[0-9a-f]{64}")
PROMPT = re.compile("[0-9a-f]{16}")
OPTION = re.compile("(--)?[a-z]+(-[a-z]+)*")
DOCUMENTS = {"config": roots.CONFIG, "index": roots.INDEXES, "other": roots.OTHER}

Row = dict[str, object]
Runs = dict[str, tuple[ProjectMove, ...]]  # ID -> what that run brought where
T = TypeVar("T")


def sealed(body: Row) -> Row:
    """A record as it is written, with the version and a checksum over all of it."""
    record: Row = {"schema": SCHEMA, **body}
    return {**record, "checksum": sha256(_text_of(record).encode())}


def unsealed(record: object) -> Row:
    """The body of a record; ValueError when it is not one that this version wrote."""
    if type(record) is not dict or record.get("schema") != SCHEMA:
        version = record.get("schema") if type(record) is dict else None
        raise ValueError(f"unknown version {version!r}")
    body = dict(record)
    del body["schema"]
    body.pop("checksum", None)
    if _text_of(sealed(body)) != _text_of(record):
        raise ValueError("it was changed since it was written")
    return body


def _text_of(record: object) -> str:
    return json.dumps(record, sort_keys=True)


# -- a manifest


def to_json(manifest: Manifest, layout: Layout, run: Path) -> Row:
    """The record of a manifest that is, or will be, in the directory `run`."""
    paths = Roots(layout, run, manifest.folders, manifest.places)
    folders = []
    for old, new in manifest.folders:
        folders.append((write_folder(layout, old), write_folder(layout, new)))
    return sealed(
        {
            "id": manifest.id,
            "kind": manifest.kind,
            "moves": manifest.moves,
            "kept": manifest.kept,
            "projects": [asdict(move) for move in manifest.projects],
            "own": [asdict(own) for own in manifest.own],
            "prompts_at_new": manifest.prompts_at_new,
            "folders": folders,
            "places": [write_folder(layout, place) for place in manifest.places],
            "undoes": manifest.undoes,
            "options": manifest.options,
            "homes": manifest.homes,
            "config_file": manifest.config_file,
            "replaced": [paths.write(p, roots.REPLACED) for p in manifest.replaced],
            "operations": [_operation_row(op, paths) for op in manifest.operations],
            "notes_saved": [_note_row(note, paths) for note in manifest.notes_saved],
        }
    )


def from_json(record: object, layout: Layout, run: Path) -> Manifest:
    """The manifest in the directory `run`; ValueError when no run of ours wrote it."""
    try:
        manifest = _manifest(unsealed(record), layout, run)
    except KeyError as error:
        raise ValueError(f"{error} is missing") from None
    if run not in (layout.run, layout.backups / manifest.id):
        raise ValueError(f"it belongs to {manifest.id}")
    if _text_of(to_json(manifest, layout, run)) != _text_of(record):
        raise ValueError("it has something in it that no run writes")
    _check_numbers(manifest)
    _check_config_file(manifest, layout)
    return manifest


def _manifest(row: Row, layout: Layout, run: Path) -> Manifest:
    folders = tuple(_folder_pair(pair, layout) for pair in _items(row["folders"]))
    places = tuple(read_folder(layout, place) for place in _items(row["places"]))
    paths = Roots(layout, run, folders, places)
    replaced = [paths.read(p, roots.REPLACED) for p in _items(row["replaced"])]
    operations = [_operation(value, paths) for value in _items(row["operations"])]
    notes_saved = [_note(value, paths) for value in _items(row["notes_saved"])]
    return Manifest(
        id=_matching(row["id"], ID_PATTERN),
        kind=_one_of(row["kind"], ("move", "undo")),
        moves=_each(row["moves"], _move),
        kept=_each(row["kept"], _text),
        projects=_each(row["projects"], _project),
        own=_each(row["own"], _own),
        prompts_at_new=_each(row["prompts_at_new"], _prompt),
        folders=folders,
        places=places,
        undoes=_undoes(row["undoes"]),
        options=_each(row["options"], _option),
        homes=_each(row["homes"], _home),
        config_file=_text(row["config_file"]),
        replaced=tuple(replaced),
        operations=tuple(operations),
        notes_saved=tuple(notes_saved),
    )


def _check_numbers(manifest: Manifest) -> None:
    """Each saved file is one operation's, each staged one is beside its document."""
    written = [op for op in manifest.operations if isinstance(op, Wrote | WroteHistory)]
    replaced = dict(enumerate(manifest.replaced))
    for op in written:
        if op.before is not None and replaced.get(op.number) != op.path:
            raise ValueError(f"{str(op.path)!r} was not staged")
    numbers = [op.number for op in written]
    notes = [note.number for note in manifest.notes_saved]
    if len(set(numbers)) < len(numbers) or len(set(notes)) < len(notes):
        raise ValueError("two files have one number")


def _check_config_file(manifest: Manifest, layout: Layout) -> None:
    """It is where it was, unless the run has nothing to do with it."""
    then = manifest.config_file
    now = config_name(layout)
    for op in manifest.operations:
        if isinstance(op, Wrote) and op.place == "config" and then != now:
            raise ValueError(
                f"the config file was {then} ($CLAUDE_CONFIG_DIR?), not {now}"
            )


# -- what is in it


def _operation_row(operation: Recorded, paths: Roots) -> Row:
    match operation:
        case Rename(path, target, holds):
            role = roots.FOLDER if isinstance(holds, FolderHolds) else roots.MOVED
            return {
                "kind_of": "Rename",
                "path": paths.write(path, role),
                "target": paths.write(target, role),
                "holds": {"kind_of": type(holds).__name__, **asdict(holds)},
            }
        case Mkdir(path, mode):
            row = paths.write(path, roots.MOVED)
            return {"kind_of": "Mkdir", "path": row, "mode": mode}
        case Wrote():
            role = DOCUMENTS[operation.place]
            before = operation.before
            return {
                "kind_of": "Wrote",
                "number": operation.number,
                "path": paths.write(operation.path, role),
                "ends": paths.write(operation.ends, role),
                "place": operation.place,
                "before": asdict(before) if before is not None else None,
                "after": asdict(operation.after),
            }
        case WroteHistory():
            return {
                "kind_of": "WroteHistory",
                "number": operation.number,
                "path": paths.write(operation.path, roots.HISTORY),
                "before": asdict(operation.before),
                "after": asdict(operation.after),
                "record": operation.record,
            }


def _operation(value: object, paths: Roots) -> Recorded:
    row = _row(value)
    match row["kind_of"]:
        case "Rename":
            holds = _holds(row["holds"])
            role = roots.FOLDER if isinstance(holds, FolderHolds) else roots.MOVED
            path = paths.read(row["path"], role)
            return Rename(path, paths.read(row["target"], role), holds)
        case "Mkdir":
            return Mkdir(paths.read(row["path"], roots.MOVED), _mode(row["mode"]))
        case "Wrote":
            place = _one_of(row["place"], DOCUMENTS)
            before = row["before"]
            return Wrote(
                number=_count(row["number"]),
                path=paths.read(row["path"], DOCUMENTS[place]),
                ends=paths.read(row["ends"], DOCUMENTS[place]),
                place=place,
                before=_content(before) if before is not None else None,
                after=_content(row["after"]),
            )
        case "WroteHistory":
            return WroteHistory(
                number=_count(row["number"]),
                path=paths.read(row["path"], roots.HISTORY),
                before=_content(row["before"]),
                after=_content(row["after"]),
                record=_matching(row["record"], HASH),
            )
    raise ValueError(f"{value!r:.200} is not an operation")


def _holds(value: object) -> Holds | FileHolds | FolderHolds:
    row = _row(value)
    match row["kind_of"]:
        case "Holds":
            return Holds(_each(row["names"], inside))
        case "FileHolds":
            return FileHolds(_number(row["size"]), _number(row["mtime_ns"]))
        case "FolderHolds":
            entries = _each(row["entries"], _entry)
            return FolderHolds(_number(row["device"]), _number(row["inode"]), entries)
    raise ValueError(f"{value!r:.200} recognises nothing")


def _entry(value: object) -> tuple[str, str, int, int]:
    name, kind, size, mtime = _items(value)
    return inside(name), _text(kind), _number(size), _number(mtime)


def _content(value: object) -> Content:
    row = _row(value)
    return Content(
        sha256=_matching(row["sha256"], HASH),
        size=_count(row["size"]),
        mode=_mode(row["mode"]),
        mtime_ns=_number(row["mtime_ns"]),
    )


def _note_row(note: SavedNote, paths: Roots) -> Row:
    return {
        "number": note.number,
        "path": paths.write(note.path, roots.NOTE),
        "ends": paths.write(note.ends, roots.NOTE),
        "content": asdict(note.content),
    }


def _note(value: object, paths: Roots) -> SavedNote:
    row = _row(value)
    return SavedNote(
        number=_count(row["number"]),
        path=paths.read(row["path"], roots.NOTE),
        ends=paths.read(row["ends"], roots.NOTE),
        content=_content(row["content"]),
    )


def _project(value: object) -> ProjectMove:
    row = _row(value)
    return ProjectMove(
        path=_text(row["path"]),
        new_path=_text(row["new_path"]),
        source=_name(row["source"]),
        target=_name(row["target"]),
        kind=_one_of(row["kind"], ("rename", "merge", "same", "split")),
        entries=_each(row["entries"], _name),
        notes=_each(row["notes"], inside),
        transcripts=_number(row["transcripts"]),
        size=_number(row["size"]),
    )


def _own(value: object) -> Own:
    row = _row(value)
    return Own(
        path=_text(row["path"]),
        sessions=_each(row["sessions"], _text),
        notes=_each(row["notes"], inside),
        config=_text(row["config"]),
    )


def _folder_pair(value: object, layout: Layout) -> tuple[Path, Path]:
    old, new = _items(value)
    return read_folder(layout, old), read_folder(layout, new)


def _move(value: object) -> tuple[str, str]:
    old, new = _each(value, _text)
    for path in (old, new):
        if is_root(path) or "\0" in path:
            raise ValueError(f"{path!r} can't be moved")
    return old, new


def _home(value: object) -> tuple[str, int, int]:
    path, device, inode = _items(value)
    return _text(path), _number(device), _number(inode)


# -- the ledger: what is known of runs whose backups were pruned


def ledger_to_json(runs: Runs) -> Row:
    rows = []
    for identifier, moves in runs.items():
        rows.append([identifier, [asdict(move) for move in moves]])
    return sealed({"runs": rows})


def ledger_from_json(record: object) -> Runs:
    """What each run brought where; ValueError when no run of ours wrote this."""
    runs: Runs = {}
    try:
        for value in _items(unsealed(record)["runs"]):
            identifier, moves = _items(value)
            runs[_matching(identifier, ID_PATTERN)] = _each(moves, _project)
    except KeyError as error:
        raise ValueError(f"{error} is missing") from None
    return runs


# -- values, each of which is a ValueError when it is something else


def _row(value: object) -> Row:
    if type(value) is dict:
        return value
    raise ValueError(f"{value!r:.200} is not an object")


def _items(value: object) -> list[object]:
    if type(value) is list:
        return value
    raise ValueError(f"{value!r:.200} is not a list")


def _each(value: object, read: Callable[[object], T]) -> tuple[T, ...]:
    return tuple(read(item) for item in _items(value))


def _text(value: object) -> str:
    if type(value) is str:
        return value
    raise ValueError(f"{value!r:.200} is not a text")


def _matching(value: object, pattern: re.Pattern[str]) -> str:
    text = _text(value)
    if pattern.fullmatch(text):
        return text
    raise ValueError(f"{text!r:.200} is not {pattern.pattern}")


def _prompt(value: object) -> str:
    return _matching(value, PROMPT)


def _option(value: object) -> str:
    return _matching(value, OPTION)


def _undoes(value: object) -> str | None:
    return None if value is None else _matching(value, ID_PATTERN)


def _one_of(value: object, choices: Collection[str]) -> str:
    text = _text(value)
    if text in choices:
        return text
    raise ValueError(f"{text!r:.200} is none of {', '.join(choices)}")


def _name(value: object) -> str:
    text = _text(value)
    if is_name(text):
        return text
    raise ValueError(f"{text!r:.200} is not a name")


def inside(value: object) -> str:
    """Names with strokes between them, which lead nowhere but down."""
    path = PurePath(_text(value))
    if path.anchor or ".." in path.parts:
        raise ValueError(f"{value!r:.200} leads elsewhere")
    return _text(value)


def _number(value: object) -> int:
    if type(value) is int and abs(value) < LARGEST_NUMBER:
        return value
    raise ValueError(f"{value!r:.200} is not a number")


def _count(value: object) -> int:
    number = _number(value)
    if number >= 0:
        return number
    raise ValueError(f"{number} is below nothing")


def _mode(value: object) -> int:
    number = _number(value)
    if number in range(0o10000):
        return number
    raise ValueError(f"{number} is not a mode")
