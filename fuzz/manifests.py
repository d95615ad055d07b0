"""Manifests, also of a run under way: refused cleanly, or confined to what a run may
touch.

Most inputs are changes of a real manifest, signed again: the checksum is no secret.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ccmove.claude.layout import Layout
from ccmove.claude.reading import Document, Fingerprint
from ccmove.errors import RefusedError, UnfinishedRunError
from ccmove.plan import model
from ccmove.plan.model import FolderHolds, Rename
from ccmove.run import backups as backup
from ccmove.run import codec
from ccmove.run import journal as under_way
from ccmove.run.manifest import Content, Manifest, Recorded, Wrote, WroteHistory
from fuzz.source import Source, document, text

LONGEST_INPUT = 64
HOME = "/nonexistent/home"
STATE = f"{HOME}/.claude"
LAYOUT = Layout(Path(STATE), Path(f"{HOME}/.claude.json"), Path(HOME))
SAMPLE = (Path(__file__).parent / "samples" / "manifest.json").read_text()
ID: str = json.loads(SAMPLE)["id"]
OTHER_ID = "20200101T000000Z-0000"

reader: Any = backup
journal: Any = under_way
RUN = Path(f"{STATE}/ccmove/run")

Place = tuple[str | int, ...]
ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1.5, 10**30, float("inf"), "", "x", ".", "..", "\0", [], {}, [[]], ["x"],
    [["/etc", "/srv"]], [["", "/"]], [["x", "."]], [["/", STATE]], {"a": 1}, 0o100644, 1 << 63,
    ID, OTHER_ID, ID + "\n", "move", "restore", "rename", "mkdir", "rmdir", "merge", "split",
    "index", "history", "config", "other", "same", "Wrote", "WroteHistory", "Rename", "Mkdir",
    "Holds", "FolderHolds", "Content",
    "0" * 64, "\ud800",
)  # fmt: skip
PIECES = (
    "state", "config", "run", "backup", "home", "desktop", "nonexistent", "code", "my-app",
    "new", "srv", "other", "etc", "folder 0", STATE, HOME, "projects",
    "ccmove", "backups", ID, OTHER_ID, "retired", "parked", "files", "0.before", "..", ".", "",
    "settings.json", "history.jsonl", "sessions-index.json", ".session-aliases", "memory", "jobs",
    "state.json", "plugins", "installed_plugins.json", ".mcp.json", ".claude", ".claude/x", "/",
    "settings.local.json", "1.jsonl", "ledger.json", "lock", "/etc", "/srv", "x", "\0", "\ud800",
    "\udcff", "../..", "/nonexistent/code/new", ".ccmove-parked-0", f".ccmove-{ID}-0",
    "local_1.json",
)  # fmt: skip
OLD = ("/", "nonexistent", "code", "my-app")
NEW = ("/", "nonexistent", "code", "new")
USUAL = (
    ("config",), ("state", "history.jsonl"), ("projects", "-a"), ("projects", "-a", "1.jsonl"),
    ("run", "retired", "0"), ("run", "parked", "0"), ("backup", ID, "retired", "0"),
    ("backup", OTHER_ID, "retired", "0"), ("projects", "-a", "sessions-index.json"),
    ("projects", "-a", "memory", "MEMORY.md"), ("projects", "-a", ".session-aliases"),
    ("state", "jobs", "1", "state.json"), ("state", "plugins", "installed_plugins.json"),
    ("state", "settings.json"), ("state", "ccmove", "ledger.json"), OLD, NEW,
    (*OLD[:3], ".ccmove-parked-0"), (*OLD, ".mcp.json"), ("state", "skills", "a"),
    (*NEW, ".claude", "settings.json"), ("desktop", "a", "local_1.json"), ("home",),
    ("home", "code", "x"), ("/", "nonexistent", "code", "other"), ("/", "etc"), ("home", ".claude"),
)  # fmt: skip


def check(data: bytes) -> None:
    """One way of looking at it, chosen by the first byte."""
    source = Source(data)
    ways = (_changed_manifest, _changed_manifest, _any_bytes, _changed_run)
    source.pick(ways)(source)


# -- reading ---------------------------------------------------------------------------------------


@contextmanager
def _on_disk(data: bytes) -> Iterator[None]:
    """What is read is this, and a run is under way."""

    def read(path: Path, _largest: int = 0) -> Document | None:
        return Document(path, data, Fingerprint(0, 0, 0, 0))

    before, names_in = reader.read_document, journal.names_in
    reader.read_document = read  # by hand, since `mock` takes longer than all the rest
    journal.names_in = lambda _: ["manifest.json"]
    try:
        yield
    finally:
        journal.names_in = names_in
        reader.read_document = before


def _read_manifest(data: bytes, identifier: str) -> None:
    with _on_disk(data):
        try:
            found = backup.read_manifest(
                LAYOUT.backups / identifier / "manifest.json", LAYOUT
            )
        except RefusedError as error:
            _check_words(error)
            return
    assert found.id == identifier
    _check_manifest(found, LAYOUT.backups / identifier)


def _read_run(data: bytes) -> None:
    with _on_disk(data):
        try:
            found = journal.read_run(LAYOUT)
        except UnfinishedRunError as error:
            _check_words(error)
            return
    assert found is not None
    _check_manifest(found, RUN)
    places = {_spelled(path) for path in found.settings_in}
    for path in found.replaced:
        is_history = path == LAYOUT.history
        assert is_history or any(
            _may_rewrite(_spelled(path), form, places) for form in REWRITABLE
        )
    for path in found.beside_documents:
        assert re.fullmatch(
            rf"\.ccmove-{found.id}-[0-9]+(-back)?", os.path.basename(_spelled(path))
        )


def _check_words(error: RefusedError | UnfinishedRunError) -> None:
    assert error.message
    assert error.hints


def _any_bytes(source: Source) -> None:
    if source.yes():
        data = source.rest()
    else:
        data = document(source, tuple(json.loads(SAMPLE))).encode(
            "utf-8", "surrogatepass"
        )
    _read_manifest(data, ID)
    _read_run(data)


def sign(record: Any) -> Any:
    """As ccmove would sign it."""
    if isinstance(record, dict):
        body = {key: value for key, value in record.items() if key != "checksum"}
        whole = json.dumps(body, sort_keys=True).encode()
        record["checksum"] = hashlib.sha256(whole).hexdigest()
    return record


def _sample(source: Source) -> dict[str, Any]:
    """The real manifest, mostly with one operation alone, which is far sooner read."""
    record: dict[str, Any] = json.loads(SAMPLE)
    chosen = source.byte()
    if chosen != 255:
        rows = record["operations"]
        record["operations"] = [rows[chosen % len(rows)]]
    return record


def _changed_manifest(source: Source) -> None:
    record: Any = _changed(source, _sample(source))
    with suppress(AttributeError, IndexError, KeyError, TypeError):
        _stage_what_is_written(record)
    if source.below(8) != 1:
        sign(record)
    identifier = record.get("id") if isinstance(record, dict) else None
    is_id = isinstance(identifier, str) and model.is_id(identifier)
    _read_manifest(
        json.dumps(record).encode(), identifier if is_id and identifier else ID
    )


def _stage_what_is_written(record: Any) -> None:
    """A forger sees to it that each operation has its number, and that documents are
    staged where they are written.
    """
    replaced = []
    for number, row in enumerate(record["operations"]):
        if type(row.get("number")) is int:
            row["number"] = number
        if row.get("before") is not None:
            replaced.append(row["path"])
    if record["operations"]:
        record["replaced"] = replaced


def _changed_run(source: Source) -> None:
    record: Any = _sample(source)
    if source.yes():
        replaced = [["state", "history.jsonl"], _path(source)]
        record |= {"operations": [], "replaced": replaced}
    if source.yes():
        record = _changed(source, record)
    with suppress(AttributeError, IndexError, KeyError, TypeError):
        _stage_what_is_written(record)
    _read_run(json.dumps(sign(record)).encode())


# -- changing --------------------------------------------------------------------------------------


def _places(value: Any, at: Place = ()) -> list[Place]:
    """Every place in a JSON value."""
    found = [at] if at else []
    items = value.items() if isinstance(value, dict) else ()
    for key, item in enumerate(value) if isinstance(value, list) else items:
        found += _places(item, (*at, key))
    return found


def _changed(source: Source, record: Any) -> Any:
    for _ in range(1 + source.below(3)):
        places = _places(record)
        if places:
            _change(source, record, source.pick(places))
    return record


def _change(source: Source, record: Any, at: Place) -> None:
    """Put something else in one place, or take it away, or have it twice."""
    for token in at[:-1]:
        record = record[token]
    way, value = source.below(8), record[at[-1]]
    is_path = isinstance(value, list) and all(isinstance(v, str) for v in value)
    if way < 6:
        record[at[-1]] = _path(source) if is_path and way < 5 else _value(source)
    elif way == 6:
        del record[at[-1]]
    elif isinstance(record, list):
        record.append(json.loads(json.dumps(value)))
    else:
        record[text(source)] = value


def _value(source: Source) -> Any:
    return (
        _path(source)
        if source.below(4) == 1
        else json.loads(json.dumps(source.pick(ODD)))
    )


def _path(source: Source) -> list[str]:
    """One that a run may have written, perhaps with a piece more; or made of pieces
    alone.
    """
    way = source.below(4)
    if way == 0:
        return list(source.pick(USUAL))
    if way == 1:
        return [text(source, PIECES) for _ in range(1 + source.below(5))]
    parts = list(source.pick(USUAL))
    parts.insert(source.below(len(parts) + 1), text(source, PIECES))
    return parts


# -- what may be in a manifest that is believed ----------------------------------------------------

_ANY_ID = r"[0-9]{8}T[0-9]{6}Z-[0-9a-f]{4}"
KEPT = rf"ccmove/(?:run|backups/{_ANY_ID})/(?:retired|parked)/.+"
BESIDE = r"(?: \(from [^/]+\))?"  # of one that is kept beside another
NOTE = rf"projects/[^/]+/memory{BESIDE}/.+"
MOVABLE = re.compile(rf"projects/.+|{KEPT}", re.DOTALL)
REWRITABLE = {
    "config": re.compile(r"(?!)"),
    "index": re.compile(
        rf"projects/[^/]+/sessions-index{BESIDE}\.json|{KEPT}", re.DOTALL
    ),
    "other": re.compile(
        rf"projects/[^/]+/\.session-aliases{BESIDE}|{NOTE}|jobs/[^/]+/state\.json"
        rf"|plugins/installed_plugins\.json|settings(\.local)?\.json|{KEPT}",
        re.DOTALL,
    ),
}
OURS = re.compile(rf"{STATE}/(?:projects|ccmove)(?:/.*)?", re.DOTALL)
PROJECT_FILE = re.compile(
    r"(.*)/(?:\.claude/settings(?:\.local)?\.json|\.mcp\.json)", re.DOTALL
)
DESKTOP_FILE = re.compile(
    rf"{HOME}/\.config/Claude/claude-code-sessions/(?:.*/)?local_[^/]*\.json", re.DOTALL
)


def _check_manifest(found: Manifest, run: Path) -> None:
    """Every path is one that a run may touch, and all of it can be written again."""
    folders = {_spelled(path) for pair in found.folders for path in pair}
    places = {_spelled(path) for path in found.settings_in}
    assert not any(OURS.fullmatch(path) or path == "/" for path in folders | places)
    for operation in found.operations:
        _check_operation(operation, folders, places)
    for note in found.notes_saved:
        for path in (note.path, note.ends):
            assert re.fullmatch(NOTE, _inside(path), re.DOTALL), path
    for project in found.projects:
        for name in (project.source, project.target, *project.entries):
            assert name not in ("", ".", "..")
            assert "/" not in name
    again = json.loads(json.dumps(codec.to_json(found, LAYOUT, run)))
    assert codec.from_json(again, LAYOUT, run) == found
    found.paths.map(STATE)


def _check_operation(operation: Recorded, folders: set[str], places: set[str]) -> None:
    match operation:
        case Rename(holds=FolderHolds()):
            for path in (operation.path, operation.target):
                assert _is_folder(_spelled(path), folders), path
        case Rename():
            assert all(map(_may_move, (operation.path, operation.target)))
        case Wrote():
            for path in (operation.path, operation.ends):
                assert _may_rewrite(_spelled(path), operation.form, places), path
            _check_contents(operation.before, operation.after)
        case WroteHistory():
            assert operation.path == LAYOUT.history
            _check_contents(operation.before, operation.after)
        case _:
            assert _may_move(operation.path), operation
            assert 0 <= operation.mode <= 0o7777


def _check_contents(*contents: Content | None) -> None:
    for content in contents:
        if content is not None:
            assert re.fullmatch("[0-9a-f]{64}", content.sha256)
            assert content.size >= 0
            assert 0 <= content.mode <= 0o7777


def _spelled(path: Path) -> str:
    """The path as text; one that can be opened, and leads nowhere but where it says."""
    assert os.fsencode(path)
    spelled = str(path)
    assert spelled.startswith("/")
    assert "\0" not in spelled
    assert ".." not in spelled.split("/")
    return spelled


def _inside(path: Path) -> str:
    """Below the state; nothing when it is not."""
    spelled = _spelled(path)
    return spelled.removeprefix(f"{STATE}/") if spelled.startswith(f"{STATE}/") else ""


def _may_move(path: Path) -> bool:
    return bool(MOVABLE.fullmatch(_inside(path)))


def _is_folder(path: str, folders: set[str]) -> bool:
    parent, _, name = path.rpartition("/")
    parents = {os.path.dirname(one) for one in folders}
    return path in folders or (
        name.startswith(".ccmove-parked-") and (parent or "/") in parents
    )


def _may_rewrite(path: str, form: str, places: set[str]) -> bool:
    if path == f"{HOME}/.claude.json":
        return form == "config"
    if REWRITABLE[form].fullmatch(_inside(Path(path))):
        return True
    inside = PROJECT_FILE.fullmatch(path)
    is_projects = inside is not None and any(
        f"{inside[1]}/".startswith(f"{p}/") for p in places
    )
    return form == "other" and (is_projects or bool(DESKTOP_FILE.fullmatch(path)))
