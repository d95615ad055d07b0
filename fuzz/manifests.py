"""Manifests, journals and lists of edits: refused cleanly, or confined to what a run may touch.

Most inputs are changes of a real manifest, signed again: the checksum is no secret.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ccmove.claude.layout import Layout
from ccmove.claude.reading import Document, Fingerprint
from ccmove.errors import RefusedError, UnsettledError
from ccmove.rewrite import jsonspan, rewriter
from ccmove.rewrite import splice as edits
from ccmove.rewrite.splice import Edit
from ccmove.run import backups as backup
from ccmove.run import journal, manifest, reversal
from ccmove.run.journal import Journal
from ccmove.run.manifest import Content, Manifest, SavedFile
from fuzz.source import Source, blank, document, leaf, spelled, text
from fuzz.spans import NAMES, containers, reference

LONGEST_INPUT = 64
HOME = "/nonexistent/home"
STATE = f"{HOME}/.claude"
LAYOUT = Layout(Path(STATE), Path(f"{HOME}/.claude.json"), Path(HOME))
SAMPLE = (Path(__file__).parent / "samples" / "manifest.json").read_text()
ID: str = json.loads(SAMPLE)["id"]
OTHER_ID = "20200101T000000Z-0000"

READERS: tuple[Any, ...] = (backup, journal, manifest)

Place = tuple[str | int, ...]
ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1.5, 10**30, float("inf"), "", "x", ".", "..", "\0", [], {}, [[]], ["x"],
    [["/etc", "/srv"]], [["", "/"]], [["x", "."]], [["/", STATE]], {"a": 1}, 0o100644, 1 << 63,
    ID, OTHER_ID, ID + "\n", "move", "restore", "rename", "mkdir", "rmdir", "merge", "split",
    "index", "history", "config", "other", "files/0", "files/0.json", "files/../0",
    "0" * 64, "\ud800",
)  # fmt: skip
PIECES = (
    "$C", "$CONFIG", STATE, HOME, "projects", "ccmove", "work", "backups", ID, OTHER_ID,
    "displaced", "..", ".", "", "settings.json", "history.jsonl", "sessions-index.json",
    ".session-aliases",
    "memory", "jobs", "state.json", "plugins", "installed_plugins.json", ".mcp.json", ".claude",
    "settings.local.json", "1.jsonl", "journal.json", "lock", "/etc", "/srv", "x", "\0", "\ud800",
    "\udcff", "/nonexistent/code/my-app", "/nonexistent/code/new", ".ccmove-parked-0",
    f".ccmove-{ID}-0", ".config/Claude/claude-code-sessions", "local_1.json", "/nonexistent/code",
)  # fmt: skip
USUAL = (
    "$CONFIG", "$C/history.jsonl", "$C/projects/-a", "$C/projects/-a/1.jsonl", "$C/ccmove/work/0",
    f"$C/ccmove/backups/{ID}/displaced/0", "$C/projects/-a/sessions-index.json",
    "$C/projects/-a/memory/MEMORY.md", "$C/projects/-a/.session-aliases", "$C/jobs/1/state.json",
    "$C/plugins/installed_plugins.json", "$C/settings.json", "$C/ccmove/journal.json",
    "/nonexistent/code/new", "/nonexistent/code/my-app/.mcp.json", "/nonexistent/code/other",
    "/nonexistent/code/new/.claude/settings.json", "/nonexistent/code/.ccmove-parked-0",
    f"{STATE}/skills/a", "$C/skills/a/.mcp.json",
    f"{HOME}/.config/Claude/claude-code-sessions/a/local_1.json",
)  # fmt: skip


def check(data: bytes) -> None:
    """One way of looking at it, chosen by the first byte."""
    source = Source(data)
    ways = (_changed_manifest, _changed_manifest, _any_bytes, _changed_journal, _changed_edits)
    source.pick(ways)(source)


# -- reading ---------------------------------------------------------------------------------------


@contextmanager
def _on_disk(data: bytes, saved: bytes = b"") -> Iterator[None]:
    """What is read is this. By hand, since `mock` takes longer than all the rest."""

    def read(path: Path, _largest: int = 0) -> Document:
        found = data if path.suffix == ".json" else saved
        return Document(path, found, Fingerprint(0, 0, 0, 0))

    before = [module.read_document for module in READERS]
    for module in READERS:
        module.read_document = read
    try:
        yield
    finally:
        for module, function in zip(READERS, before, strict=True):
            module.read_document = function


def _read_manifest(data: bytes, identifier: str) -> None:
    with _on_disk(data):
        try:
            found = backup.read_manifest(identifier, LAYOUT)
        except RefusedError as error:
            _check_words(error)
            return
    assert found.id == identifier
    _check_manifest(found)


def _read_journal(data: bytes) -> None:
    with _on_disk(data):
        try:
            found = journal.read_journal(LAYOUT)
        except UnsettledError as error:
            _check_words(error)
            return
    assert found is not None
    _check_journal(found)


def _check_words(error: RefusedError | UnsettledError) -> None:
    assert error.message
    assert error.hints


def _any_bytes(source: Source) -> None:
    if source.yes():
        data = source.rest()
    else:
        data = document(source, tuple(json.loads(SAMPLE))).encode("utf-8", "surrogatepass")
    _read_manifest(data, ID)
    _read_journal(data)


def sign(record: Any) -> Any:
    """As ccmove would sign it."""
    if isinstance(record, dict):
        body = {key: value for key, value in record.items() if key != "checksum"}
        whole = json.dumps(body, sort_keys=True).encode()
        record["checksum"] = hashlib.sha256(whole).hexdigest()
    return record


def _sample(source: Source) -> dict[str, Any]:
    """The real manifest, mostly with one step and one file alone, which is far sooner read."""
    record: dict[str, Any] = json.loads(SAMPLE)
    chosen = source.byte()
    if chosen != 255:
        for name, number in (("steps", chosen), ("inodes", chosen), ("files", chosen >> 2)):
            record[name] = [record[name][number % 4]]
    return record


def _changed_manifest(source: Source) -> None:
    record: Any = _changed(source, _sample(source))
    if source.below(8) != 1:
        sign(record)
    identifier = record.get("id") if isinstance(record, dict) else None
    is_id = isinstance(identifier, str) and manifest.ID_PATTERN.fullmatch(identifier)
    _read_manifest(json.dumps(record).encode(), identifier if is_id and identifier else ID)


def _changed_journal(source: Source) -> None:
    record: Any = {"schema": 1, "id": ID, "mark": 7, "locks": ["$C/history.jsonl.lock"]}
    staged = f"{_path(source)}/.ccmove-{ID}-1" if source.below(4) else _path(source)
    record |= {"staged": [f"$C/.ccmove-{ID}-0", staged], "manifest": None}
    if source.yes():
        record["manifest"] = sign(_changed(source, _sample(source)))
    if source.yes():
        record = _changed(source, record)
    _read_journal(json.dumps(record).encode())


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
    is_path = isinstance(value, str) and "/" in value
    if way < 6:
        record[at[-1]] = _path(source) if is_path and way < 5 else _value(source)
    elif way == 6:
        del record[at[-1]]
    elif isinstance(record, list):
        record.append(json.loads(json.dumps(value)))
    else:
        record[text(source)] = value


def _value(source: Source) -> Any:
    return _path(source) if source.below(4) == 1 else json.loads(json.dumps(source.pick(ODD)))


def _path(source: Source) -> str:
    """One that a run may have written, perhaps with a piece more; or made of pieces alone."""
    way = source.below(4)
    if way == 0:
        return source.pick(USUAL)
    if way == 1:
        return "/".join(text(source, PIECES) for _ in range(1 + source.below(5)))
    parts = source.pick(USUAL).split("/")
    parts.insert(source.below(len(parts) + 1), text(source, PIECES))
    return "/".join(parts)


# -- what may be in a manifest that is believed ----------------------------------------------------

_ANY_ID = r"[0-9]{8}T[0-9]{6}Z-[0-9a-f]{4}"
_DISPLACED = rf"ccmove/backups/{_ANY_ID}/displaced/.+"
MOVABLE = re.compile(rf"projects/.+|ccmove/work/.+|{_DISPLACED}", re.DOTALL)
REWRITABLE = {
    "config": re.compile(_DISPLACED, re.DOTALL),
    "history": re.compile(r"history\.jsonl"),
    "index": re.compile(rf"projects/[^/]+/sessions-index\.json|{_DISPLACED}", re.DOTALL),
    "other": re.compile(
        rf"projects/[^/]+/\.session-aliases|projects/[^/]+/memory/.+|jobs/[^/]+/state\.json"
        rf"|plugins/installed_plugins\.json|{_DISPLACED}",
        re.DOTALL,
    ),
}
OWN_FOLDER = re.compile(rf"{STATE}/(?!(?:projects|ccmove)(?:/|$)).+", re.DOTALL)
PROJECT_FILE = re.compile(r"(.*)/(?:\.claude/settings(?:\.local)?\.json|\.mcp\.json)", re.DOTALL)
DESKTOP_FILE = re.compile(
    rf"{HOME}/\.config/Claude/claude-code-sessions/(?:.*/)?local_[^/]*\.json", re.DOTALL
)


def _check_manifest(found: Manifest) -> None:
    """Every value has its kind, every path is one that a run may touch, and all can be written."""
    named = {path for pair in (*found.moves, *found.folders) for path in pair}
    for step in found.steps:
        assert (step.target is not None) == (step.kind == "rename")
        for path in (step.path, step.target):
            assert path is None or _may_move(_spelled(path), named), path
        assert step.kind == "rename" or str(step.path) not in named
    for file in found.files:
        for path in (file.path, file.ends):
            assert _may_rewrite(_spelled(path), file.place, named), (path, file.place)
        assert (file.saved is None) == (file.before is None)
        for name in (file.saved, file.edits):
            assert name is None or re.fullmatch(r"files/[0-9]+(\.json)?", name)
        assert file.edits is None or file.edits_sha256 is not None
    for project in found.projects:
        for name in (project.source, project.target, *project.entries):
            assert name not in ("", ".", "..")
            assert "/" not in name
    assert all(type(number) is int and number >= 0 for number in found.inodes)
    assert len(found.inodes) == len(found.steps)
    again = json.loads(json.dumps(manifest.to_json(found, LAYOUT)))
    assert manifest.from_json(again, LAYOUT) == found
    found.paths.map(STATE)


def _spelled(path: Path) -> str:
    """The path as text; one that can be opened, and leads nowhere but where it says."""
    assert os.fsencode(path)
    spelled = str(path)
    assert spelled.startswith("/")
    assert "\0" not in spelled
    assert ".." not in spelled.split("/")
    return spelled


def _may_move(path: str, named: set[str]) -> bool:
    if path.startswith(f"{STATE}/") and MOVABLE.fullmatch(path.removeprefix(f"{STATE}/")):
        return True
    parent, _, name = path.rpartition("/")
    parents = {str(Path(one).parent) for one in named}
    return path in named or (name.startswith(".ccmove-parked-") and (parent or "/") in parents)


def _may_rewrite(path: str, place: str, named: set[str]) -> bool:
    if path == f"{HOME}/.claude.json":
        return place == "config"
    if path.startswith(f"{STATE}/"):
        if REWRITABLE[place].fullmatch(path.removeprefix(f"{STATE}/")):
            return True
        named = {one for one in named if OWN_FOLDER.fullmatch(str(Path(one)))}
    inside = PROJECT_FILE.fullmatch(path)
    is_projects = inside is not None and any(
        f"{inside[1]}/".startswith(f"{Path(one)}/".replace("//", "/")) for one in named
    )
    return place == "other" and (is_projects or bool(DESKTOP_FILE.fullmatch(path)))


def _check_journal(found: Journal) -> None:
    assert manifest.ID_PATTERN.fullmatch(found.id)
    assert 0 <= found.mark < 10**9
    assert set(found.locks) <= set(LAYOUT.client_locks)
    for path in found.staged:
        assert re.fullmatch(rf"\.ccmove-{found.id}-[0-9]+", os.path.basename(_spelled(path)))
    if found.manifest is not None:
        assert found.manifest.id == found.id
        _check_manifest(found.manifest)


# -- lists of edits --------------------------------------------------------------------------------

TAILS = ("", ",", " ,")
REPLACED = (
    "a",
    "x",
    '"x"',
    '"a"',
    "/code/app",
    "/src/new-app",
    "0",
    "1",
    "true",
    "[",
    "",
    '"b":',
    "\ud83d",
)
ODD_IN_EDITS: tuple[Any, ...] = (
    None, 1, -1, -2, 10**20, True, "", "{", "1, 2", '"\ud83d"', "]", '"x"', "7", "do", "key", "set",
    [], [[]], [-1], ["a", None], ["entries", 10**20], ",", "1", ":", ',"b":1,"a":', '"a":', ", 1",
    "\n",
)  # fmt: skip


def _changed_edits(source: Source) -> None:
    """Edits that are believed can be undone in any document, and leave it a document."""
    current = document(source, NAMES)
    rows = [_edit(source, current) for _ in range(1 + source.below(4))]
    lines = [[source.below(4), text(source), text(source)] for _ in range(source.below(3))]
    record: Any = {"edits": rows, "lines": lines, "appended": text(source)}
    saved = after = current.encode("utf-8", "surrogateescape")
    if source.below(4) == 1:  # as for an index whose entries change alike
        record["replaced"] = [[source.pick(REPLACED), source.pick(REPLACED)]]
        record["edits"] = record["edits"][: source.below(2)]
        texts = [one.encode("utf-8", "surrogatepass") for one in record["replaced"][0]]
        after = after.replace(*texts)
        current = after.decode("utf-8", "surrogateescape") if source.yes() else current
    if source.below(8) == 1:
        record = _changed(source, record)
    data = json.dumps(record).encode()
    path = Path(f"{STATE}/plugins/installed_plugins.json")
    contents = Content("0" * 64, 0), Content(hashlib.sha256(after).hexdigest(), 0)
    digest = hashlib.sha256(data).hexdigest()
    file = SavedFile(path, path, "other", "files/0", *contents, "files/0.json", digest)
    with _on_disk(data, saved):
        try:
            found = manifest.read_edits(Manifest(ID, "move", "", ()), file, LAYOUT)
        except RefusedError as error:
            _check_words(error)
            return
    _check_edits(found, current)


def _check_edits(found: tuple[list[Edit], list[manifest.Line], str], current: str) -> None:
    try:
        reference(current)
    except ValueError:
        return  # no document before, so there is nothing to keep
    known = reversal.Recorded(*found)
    for one in (known, known.opposite()):
        back, _ = edits.undo(current, one.edits)
        after = edits.apply(current, back)
        reference(after)
        after.encode("utf-8", "surrogateescape")
        rewriter.change_lines(current, one.lines).encode("utf-8", "surrogateescape")
    known.appended.encode("utf-8", "surrogateescape")


def _edit(source: Source, current: str) -> list[Any]:
    """One edit as a run would have written it, or with something odd in it."""
    kind = source.pick(("set", "key", "add", "remove"))
    pointer, before, after = _aimed(source, kind, current)
    row: list[Any] = [
        kind,
        pointer,
        before if kind != "add" else None,
        after if kind != "remove" else None,
    ]
    anchor = "x" if source.below(8) == 1 else None
    row += [anchor, source.below(4) if kind in ("key", "remove") else -1]
    row += [_lead(source, pointer[-1]), source.pick(TAILS)] if kind == "remove" else ["", ""]
    if source.below(4) == 1:
        row[source.below(len(row))] = json.loads(json.dumps(source.pick(ODD_IN_EDITS)))
    return row


def _aimed(source: Source, kind: str, current: str) -> tuple[list[str | int], str, str]:
    """Pointer, before and after; mostly of something that is in the document now."""
    pointer = [_token(source) for _ in range(1 + source.below(3))]
    before, after = _json(source), _json(source)
    opened = [(n, p) for n, p in containers(jsonspan.parse(current)) if n.items]
    if opened and source.below(4):
        node, above = source.pick(opened)
        number = source.below(len(node.items))
        pointer = [*above, node.keys[number].value if node.keys else number]
        after = current[node.items[number].start : node.items[number].end]
    if kind == "key":
        after = json.dumps(str(pointer[-1]))
        pointer[-1] = source.pick(NAMES)
        before = spelled(source, str(pointer[-1]))
    if kind == "remove":
        pointer[-1] = _token(source)
    return pointer, before, after


def _token(source: Source) -> str | int:
    return source.pick(NAMES[:5]) if source.below(3) else source.below(3)


def _lead(source: Source, token: str | int) -> str:
    comma = f"{blank(source)},{blank(source)}"
    if isinstance(token, int):
        return comma
    return f"{comma}{spelled(source, token)}{blank(source)}:{blank(source)}"


def _json(source: Source) -> str:
    return leaf(source) if source.yes() else document(source, NAMES, depth=3)
