"""The manifest: what one run did, written down so that later runs can take it back.

A manifest is data, not an order. Version, checksum, the type of every value and every path in it
are checked before anything is done with it: it may come from another machine, or from someone
with bad intent.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from ccmove.claude.layout import PROJECT_FILES, Layout
from ccmove.claude.reading import LARGEST_DOCUMENT, read_document
from ccmove.claude.reading import sha256_of as sha256_of
from ccmove.claude.state import ALIASES, INDEX, MEMORY
from ccmove.errors import RefusedError
from ccmove.plan.model import PARKED, ProjectMove, Step
from ccmove.rewrite.alike import Alike, differing_values
from ccmove.rewrite.jsonspan import loads, parse
from ccmove.rewrite.pathmap import PathMap, is_root
from ccmove.rewrite.splice import Edit

SCHEMA = 1
LARGEST_MANIFEST = 64 << 20
ID_PATTERN = re.compile(
    r"[0-9]{4}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])"
    r"T(?:[01][0-9]|2[0-3])[0-5][0-9][0-5][0-9]Z-[0-9a-f]{4}"
)
_SHA256 = re.compile(r"[0-9a-f]{64}")
_LARGEST_NUMBER = 1 << 63


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
    native: tuple[str, ...] = ()  # at NEW, in a history in which the run had nothing to change

    @property
    def paths(self) -> PathMap:
        return PathMap(self.moves, frozenset(self.kept))


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# -- paths as they are written down ----------------------------------------------------


# The project's own files that a run may rewrite; the only ones outside of the state, apart from
# the desktop app's.


class Spelling:
    """Paths in manifests: `$C/…` inside the state, `$CONFIG` for the config file, else absolute.

    Reading checks that a path stays where a run may work: in the state, or the few files and
    folders outside that a move can be asked to change.
    """

    def __init__(self, layout: Layout, folders: Iterable[str] = ()) -> None:
        self.state = layout.config_dir
        self.config_file = layout.real_config_file
        self.desktop = layout.desktop_sessions
        self.histories = {layout.history, Path(os.path.realpath(layout.history))}
        # One without a root would mean another place in every current directory.
        self.folders = tuple(folder for folder in folders if os.path.isabs(folder))

    def write(self, path: Path) -> str:
        if path == self.config_file:
            return "$CONFIG"
        if path.is_relative_to(self.state):
            return f"$C/{path.relative_to(self.state)}"
        return str(path)

    def read(self, text: object) -> Path:
        """A path of the state, or one of the few outside."""
        if not isinstance(text, str) or "\0" in text or ".." in PurePath(text).parts:
            raise ValueError(f"{text!r} is not a path of the state")
        os.fsencode(text)  # half a character is no name; this error is a ValueError too
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
        if any(path.match(name) for name in PROJECT_FILES):
            return any(path.is_relative_to(folder) for folder in self.folders)
        return self._is_folder(path)

    def _is_of_a_project_in(self, path: Path, place: str) -> bool:
        """A project may lie in the state itself, as a skill does that someone works on.

        Its settings are not the state's own, nor is it among the projects or what is ours.
        """
        inside = [Path(folder) for folder in self.folders if self._inside(Path(folder))]
        foreign = [f for f in inside if self._inside(f)[0] not in ("projects", "ccmove")]
        is_settings = any(path.match(name) for name in PROJECT_FILES)
        return place == "other" and is_settings and any(map(path.is_relative_to, foreign))

    def _is_folder(self, path: Path) -> bool:
        """A folder of the move, under its own name or while it steps aside for another."""
        beside = any(path.parent == Path(folder).parent for folder in self.folders)
        return str(path) in self.folders or (path.name.startswith(PARKED) and beside)

    def read_moving(self, text: object) -> Path:
        """What a step may rename, make or remove: a folder of the move, or a place of ours."""
        path = self.read(text)
        if not (self._is_folder(path) or self._may_move(self._inside(path))):
            raise ValueError(f"{text!r} is nothing that a run moves")
        return path

    def read_rewritten(self, text: object, place: str) -> Path:
        """A file that a run may give new content: never a transcript, never a file of ours."""
        path = self.read(text)
        inside = self._inside(path)
        if path == self.config_file:
            fits = place == "config"
        elif path in self.histories:
            fits = place == "history" and bool(inside)
        elif not inside:
            fits = place == "other" and not self._is_folder(path) and path != self.state
        else:
            fits = self._may_rewrite(inside, place) or self._is_of_a_project_in(path, place)
        if not fits:
            raise ValueError(f"{text!r} is nothing that a run rewrites as {place}")
        return path

    def _inside(self, path: Path) -> tuple[str, ...]:
        """The parts of a path below the state, none when it is outside."""
        return path.relative_to(self.state).parts if path.is_relative_to(self.state) else ()

    @staticmethod
    def _may_move(parts: tuple[str, ...]) -> bool:
        if parts[:1] == ("projects",):
            return len(parts) > 1
        return (parts[:2] == ("ccmove", "work") and len(parts) > 2) or _is_displaced(parts)

    @staticmethod
    def _may_rewrite(parts: tuple[str, ...], place: str) -> bool:
        if parts[0] == "projects":
            in_memory = len(parts) > 3 and parts[2] == MEMORY
            by_name = {INDEX: "index", ALIASES: "other"} if len(parts) == 3 else {}
            return place == "other" if in_memory else place == by_name.get(parts[-1])
        if parts[0] == "ccmove":
            return _is_displaced(parts) and place != "history"
        is_job = len(parts) == 3 and parts[::2] == ("jobs", "state.json")
        return place == "other" and (is_job or parts == ("plugins", "installed_plugins.json"))


def _is_displaced(parts: tuple[str, ...]) -> bool:
    """In the part of a backup where things are set aside."""
    start, identifier, place = parts[:2], parts[2:3], parts[3:4]
    is_backup = start == ("ccmove", "backups") and ID_PATTERN.fullmatch("".join(identifier))
    return bool(is_backup) and place == ("displaced",) and len(parts) > 4


def to_json(manifest: Manifest, layout: Layout) -> dict[str, Any]:
    """The manifest as it is written, with a checksum over all of it."""
    spelling = Spelling(layout)
    record = manifest._asdict() | {
        "schema": SCHEMA,
        "config_dir": str(layout.config_dir),
        "projects": [move._asdict() for move in manifest.projects],
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
    moves = _moves(record["moves"])
    folders = _moves(record["folders"])
    spelling = Spelling(layout, [path for pair in (*moves, *folders) for path in pair])
    steps = tuple(_step(row, spelling) for row in record["steps"])
    inodes = tuple(_number(number) for number in record["inodes"])
    if len(inodes) != len(steps):
        raise ValueError(f"{len(steps)} steps, but {len(inodes)} inodes")
    return Manifest(
        checked_id(record["id"]),
        _one_of(record["kind"], ("move", "restore")),
        _text(record["created"]),
        moves,
        tuple(_text(path) for path in record["kept"]),
        checked_id(record["undoes"]) if record["undoes"] is not None else None,
        tuple(_project(row) for row in record["projects"]),
        steps,
        inodes,
        tuple(_saved_file(row, spelling) for row in record["files"]),
        folders,
        tuple(_text(path) for path in record.get("native", ())),  # not in earlier versions
    )


def checked_id(text: object) -> str:
    if not isinstance(text, str) or not ID_PATTERN.fullmatch(text):
        raise ValueError(f"{text!r} is not an ID")
    return text


def _one_of(value: object, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ValueError(f"{value!r} is none of {', '.join(allowed)}")
    return str(value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a text")
    return value


def _number(value: object, most: int = _LARGEST_NUMBER, least: int = 0) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{value!r} is not a number from {least} to {most}")
    return value


def _name(value: object) -> str:
    """The name of one thing in a directory, which leads nowhere else."""
    if not isinstance(value, str) or "/" in value or "\0" in value or value in ("", ".", ".."):
        raise ValueError(f"{value!r} is not a name")
    return value


def _pairs(rows: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(rows, list) or not all(isinstance(r, list) and len(r) == 2 for r in rows):
        raise ValueError(f"{rows!r} are not pairs of paths")
    return tuple((_text(old), _text(new)) for old, new in rows)


def _moves(rows: object) -> tuple[tuple[str, str], ...]:
    return tuple((_moved_path(old), _moved_path(new)) for old, new in _pairs(rows))


def _moved_path(value: object) -> str:
    """A path that can be moved."""
    path = _text(value)
    if is_root(path) or "\0" in path:
        raise ValueError(f"{path!r} can't be moved")
    return path


def _project(row: dict[str, Any]) -> ProjectMove:
    return ProjectMove(
        _text(row["path"]),
        _text(row["new_path"]),
        _name(row["source"]),
        _name(row["target"]),
        _one_of(row["kind"], ("rename", "merge", "same", "split")),
        tuple(_name(entry) for entry in row["entries"]),
        _number(row["transcripts"]),
        _number(row["size"]),
    )


def _step(row: dict[str, Any], spelling: Spelling) -> Step:
    kind = _one_of(row["kind"], ("rename", "mkdir", "rmdir"))
    target = spelling.read_moving(row["target"]) if row["target"] is not None else None
    if (kind == "rename") != (target is not None):
        raise ValueError(f"a {kind} with target {row['target']!r}")
    path = spelling.read_moving(row["path"])
    if kind != "rename" and str(path) in spelling.folders:
        raise ValueError(f"a {kind} of {row['path']!r}")
    return Step(kind, path, target, _number(row["mode"], 0o7777))


def _saved_file(row: dict[str, Any], spelling: Spelling) -> SavedFile:
    place = _one_of(row["place"], ("index", "history", "config", "other"))
    before = _content(row["before"]) if row["before"] is not None else None
    if (before is None) != (row["saved"] is None):
        raise ValueError(f"{row['path']!r} was not saved as it says")
    return SavedFile(
        spelling.read_rewritten(row["path"], place),
        spelling.read_rewritten(row["ends"], place),
        place,
        _in_backup(row["saved"], r"files/[0-9]{1,9}"),
        before,
        _content(row["after"]),
        _in_backup(row["edits"], r"files/[0-9]{1,9}\.json"),
        _hash(row["edits_sha256"]) if row["edits"] is not None else None,
        _number(row["inode"]),
    )


def _in_backup(name: object, pattern: str) -> str | None:
    if name is None:
        return None
    if not isinstance(name, str) or not re.fullmatch(pattern, name):
        raise ValueError(f"{name!r} is not a saved file")
    return name


def _content(row: dict[str, Any]) -> Content:
    return Content(
        _hash(row["sha256"]),
        _number(row["size"]),
        _number(row["mode"], 0o7777),
        _number(row["mtime_ns"], least=-_LARGEST_NUMBER),
    )


def _hash(value: object) -> str:
    if not isinstance(value, str) or not _SHA256.fullmatch(value):
        raise ValueError(f"{value!r} is not a hash")
    return value


# -- edits -----------------------------------------------------------------------------


def edits_to_json(
    edits: Iterable[Edit], lines: Iterable[tuple[int, str, str]], appended: str
) -> bytes:
    """What is needed to undo them; of alike edits only what was replaced by what."""
    rows, replaced = [], []
    if isinstance(edits, Alike):
        replaced = [(old.decode(), new.decode()) for old, new, _ in edits.replaced]
    else:
        rows = [edit.record() for edit in edits]
    record = {"edits": rows, "replaced": replaced, "lines": list(lines), "appended": appended}
    return json.dumps(record).encode()


Line = tuple[int, str, str]  # number, before, after


def read_edits(
    manifest: Manifest, file: SavedFile, layout: Layout
) -> tuple[list[Edit], list[Line], str]:
    """The edits that a run made to a file, as they were written down."""
    if file.edits is None:
        return [], [], ""
    path = layout.backups / manifest.id / file.edits
    document = read_document(path)
    if document is None or sha256(document.data) != file.edits_sha256:
        raise RefusedError(
            f"{path} is missing or was changed since it was written",
            "this backup can't be restored",
        )
    try:
        record = json.loads(document.data)
        edits = [_edit(row) for row in record["edits"]]
        if replaced := _pairs(record.get("replaced", [])):
            edits += _replaced(manifest, file, layout, replaced)
        lines = [(_number(n), _bytes(old), _bytes(new)) for n, old, new in record["lines"]]
        return edits, lines, _bytes(record["appended"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RefusedError(
            f"{path} can't be used: {error}", "this backup can't be restored"
        ) from None


def _replaced(
    manifest: Manifest, file: SavedFile, layout: Layout, replaced: tuple[tuple[str, str], ...]
) -> Iterator[Edit]:
    """The edits that replacing these texts in the saved file came to."""
    document = read_document(layout.backups / manifest.id / file.saved) if file.saved else None
    if document is None:
        raise ValueError("nothing was saved of which something could be replaced")
    after = document.data
    for pair in replaced:
        old, new = (text.encode() for text in pair)
        if not old or len(after) + after.count(old) * (len(new) - len(old)) > LARGEST_DOCUMENT:
            raise ValueError(f"{pair!r} can't be what was replaced")
        after = after.replace(old, new)
    if sha256(after) != file.after.sha256:
        raise ValueError("replacing does not give what the run wrote")
    return differing_values(document.text, after.decode("utf-8", "surrogateescape"))


_LEAD = r'[ \t\n\r]*,[ \t\n\r]*(?:("(?:[^"\\]|\\.)*")[ \t\n\r]*:[ \t\n\r]*)?'
_TAIL = r"(?:[ \t\n\r]*,)?"


def _edit(row: list[Any]) -> Edit:
    """One edit; all that undoing it would write is JSON, or it would make something else."""
    kind, pointer, before, after, anchor, place, lead, tail = row
    _one_of(kind, ("set", "key", "add", "remove"))
    if not isinstance(pointer, list) or not pointer:
        raise ValueError(f"{pointer!r} points to nothing")
    for token in pointer:
        _text(token) if isinstance(token, str) else _number(token)
    if kind == "key" and not isinstance(pointer[-1], str):
        raise ValueError(f"{pointer[-1]!r} has no name")
    for raw, is_there in ((before, kind != "add"), (after, kind != "remove")):
        if is_there:
            _json_text(raw, is_name=kind == "key")
        elif raw is not None:
            raise ValueError(f"{raw!r} is no part of {kind}")
    if anchor is not None:
        _text(anchor)
    _number(place, least=0 if kind == "remove" else -1)
    if kind == "remove":
        _check_around(pointer[-1], _text(lead), _text(tail))
    elif (lead, tail) != ("", ""):
        raise ValueError(f"{lead!r} and {tail!r} are no part of {kind}")
    return Edit.from_record(row)


def _json_text(raw: object, is_name: bool) -> None:
    """One JSON value and nothing around it; of a name, a string."""
    node = parse(_bytes(raw))
    if (node.start, node.end) != (0, len(_text(raw))) or (is_name and type(node.value) is not str):
        raise ValueError(f"{raw!r} can't stand there")


def _bytes(value: object) -> str:
    """A text that is bytes decoded with surrogateescape, so that it can be written."""
    text = _text(value)
    text.encode("utf-8", "surrogateescape")
    return text


def _check_around(token: str | int, lead: str, tail: str) -> None:
    """What stood around a removed item: commas and blanks, and its own name if it had one."""
    found = re.fullmatch(_LEAD, _bytes(lead))
    if found is None or not re.fullmatch(_TAIL, tail):
        raise ValueError(f"{lead!r} and {tail!r} do not stand around a value")
    name = loads(found[1]) if found[1] is not None else None
    if name != (token if isinstance(token, str) else None):
        raise ValueError(f"{lead!r} does not name {token!r}")
