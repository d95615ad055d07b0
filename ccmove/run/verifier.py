"""Is what is on disk exactly what was planned? Everything unexpected is named.

Compared are: every rewritten file byte by byte with the plan, and as JSON with what was saved
(exactly the planned changes, nothing else); every moved file by inode, size and mtime, or with
`full` by hash; and that every rename has happened.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ccmove.claude.reading import open_regular, read_document
from ccmove.plan.model import FileChange, Plan, landings
from ccmove.rewrite.alike import Alike
from ccmove.rewrite.config import PROJECTS, is_opened
from ccmove.rewrite.jsonspan import Node, NotJsonError, Pointer, loads, member_at, outline, unquote
from ccmove.rewrite.splice import Edit
from ccmove.run.manifest import sha256_of

MOST_SHOWN = 20
PIECE = 1 << 16
_SEPARATORS = b" \t\n\r,"


class Trace(NamedTuple):
    """What must survive a rename; the hash only when everything is to be hashed."""

    inode: int
    size: int
    mtime_ns: int
    mode: int
    sha256: str | None = None


# What the steps rename, and in it every file by its name below that.
Traces = dict[Path, dict[str, Trace]]


def snapshot(
    plan: Plan,
    staged: Iterable[Path] = (),
    *,
    full: bool = False,
    tick: Callable[[int], None] | None = None,
) -> Traces:
    """Every file that the steps move, with what must survive; not rewritten or staged ones."""
    landed = landings(plan.steps)
    rewritten = {change.path for change in plan.files}
    left_out = {os.fspath(path) for path in (*landed, *rewritten, *staged)}
    folders = {Path(old) for old, _ in plan.folders}  # one rename, and not ours to walk through
    traces: Traces = {}
    for path in landed:
        if path not in folders | rewritten:
            top = os.fspath(path)
            found = traces[path] = {}
            for file, facts in _files_below(top, left_out):
                found[file[len(top) :]] = _trace(file, facts, full)
                if tick:
                    tick(facts.st_size)
    return traces


def _files_below(top: str, left_out: set[str]) -> Iterator[tuple[str, os.stat_result]]:
    """The file `top`, or every file in that directory; what goes another way is left out."""
    found = os.lstat(top)
    if not stat.S_ISDIR(found.st_mode):
        yield top, found
        return
    waiting = [top]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.path in left_out:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    yield entry.path, entry.stat(follow_symlinks=False)


def _trace(path: str, found: os.stat_result, full: bool) -> Trace:
    hashed = sha256_of(Path(path)) if full and stat.S_ISREG(found.st_mode) else None
    facts = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode, hashed)
    return Trace._make(facts)  # there may be thousands


def check(plan: Plan, traces: Traces, *, full: bool) -> list[str]:
    """What did not move as planned, in words; empty when all is well."""
    problems = [*_check_steps(plan), *_check_traces(plan, traces, full)]
    return problems[:MOST_SHOWN]


def _check_steps(plan: Plan) -> Iterator[str]:
    landed = landings(plan.steps)
    for final in landed.values():
        if not os.path.lexists(final):
            yield f"{final} is missing"
    made = {step.path for step in plan.steps if step.kind == "mkdir"}
    finals = set(landed.values())
    for step in plan.steps:
        taken = finals.intersection((step.path, *step.path.parents))  # by something else
        gone = step.kind != "mkdir" and not taken
        if gone and step.path not in made and _is_there(step.path):
            yield f"{step.path} is still there"


def _is_there(path: Path) -> bool:
    """By its very spelling: where case is ignored, the new name answers for the old one too."""
    try:
        os.lstat(path)  # as a rule it is gone, and there is no need to list its neighbours
        return path.name in os.listdir(path.parent)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _check_traces(plan: Plan, traces: Traces, full: bool) -> Iterator[str]:
    landed = landings(plan.steps)
    for path, before in traces.items():
        top = os.fspath(landed[path])
        for name, trace in before.items():
            try:
                after = _trace(top + name, os.lstat(top + name), full)
            except FileNotFoundError:
                yield f"{top + name} is missing (it was {path}{name})"
                continue
            if after != trace:
                yield f"{top + name} is not the file it was: {trace} became {after}"


def check_file(change: FileChange, path: Path, *, full: bool = False) -> list[str]:
    """What is not as planned in the file at `path`, which holds the new content of a change."""
    after = change.after or b""
    if not _holds(path, after):
        return list(_other_content(path, after))[:MOST_SHOWN]
    if not change.edits or change.before is None:
        return []
    if not full and _explains(change.edits, change.before, after, change.outline):
        return []
    problems = json_problems(_text(change.before), _text(after), change.edits, full=full)
    return [f"{path}: {problem}" for problem in problems][:MOST_SHOWN]


def _explains(edits: Sequence[Edit], before: bytes, after: bytes, root: Node | None = None) -> bool:
    """Whether the edits are the whole difference; False may also mean that it is hard to say.

    `root` is the outline of the text before, where that is at hand.
    """
    if isinstance(edits, Alike):
        return edits.explain(after)
    try:
        return _Comparison(edits, before, after).is_as_planned(root or outline(before, is_opened))
    except (NotJsonError, IndexError):  # or it ends too early
        return False


class _Member(NamedTuple):
    """A member of the old text that edits name."""

    place: Pointer
    key: Node
    item: Node
    counts: bool  # of repeated keys the last, as the client reads it


class _Comparison:
    """Goes from one member that edits name to the next, in the old and the new text at once.

    Such a member is compared by value. What stands between two of them must be spelled as
    before, and is not parsed, however much it is; only beside a removed member a comma goes.
    """

    def __init__(self, edits: Sequence[Edit], before: bytes, after: bytes) -> None:
        self.edits = edits
        self.before = before
        self.after = after
        self.position = 0  # in the new text
        self.named = {edit.pointer[:depth] for edit in edits for depth in (1, 2)}
        self.removed = {edit.pointer for edit in edits if edit.kind == "remove"}
        self.renamed = {edit.pointer: _plain(edit.after) for edit in edits if edit.kind == "key"}
        inside = {e.pointer[:-1] if e.kind == "key" else e.pointer for e in edits}
        self.parsed = {pointer[:depth] for pointer in inside for depth in (1, 2)}

    def is_as_planned(self, root: Node) -> bool:
        if any(is_opened(edit.pointer) for edit in self.edits):
            return False
        members = [*self._members(root, ())]
        planned = self._planned(members)
        text = self.after.decode("latin-1")  # bytes for characters, as `outline` has it
        whole = memoryview(self.before)
        was = 0
        beside_removed = False
        for member in members:
            is_removed = member.place in self.removed
            between = whole[was : member.key.start]
            if not self._pass(between, beside_removed, is_removed):
                return False
            if not is_removed and not self._meet(member, planned, text):
                return False
            was, beside_removed = member.item.end, is_removed
        ends = self._pass(whole[was:], beside_removed) and self.position == len(self.after)
        return ends and planned in ({}, {PROJECTS: {}})  # else something planned is missing

    def _members(self, node: Node, pointer: Pointer) -> Iterator[_Member]:
        """In their order; of an opened one those inside."""
        last = {key.value: number for number, key in enumerate(node.keys)}
        for number, (key, item) in enumerate(node.members()):
            place = (*pointer, key.value)
            if place not in self.named:
                continue
            counts = last[key.value] == number
            if counts and item.opened == "{" and is_opened(place):
                yield from self._members(item, place)
            else:
                yield _Member(place, key, item, counts)

    def _planned(self, members: Iterable[_Member]) -> dict[Any, Any]:
        """What the members will be; one that only gets another name as it is spelled."""
        planned: dict[Any, Any] = {}
        for place, _, item, counts in members:
            if counts:
                parent = planned
                for token in place[:-1]:
                    parent = parent.setdefault(token, {})
                raw = self.before[item.start : item.end]
                parent[place[-1]] = loads(_text(raw)) if place in self.parsed else raw
        _make(self.edits, planned)
        return planned

    def _pass(self, between: memoryview, after_removed: bool, before_removed: bool = False) -> bool:
        """What stands between two members; beside one that is gone there may be no comma."""
        if before_removed:
            between = between[: len(bytes(between).rstrip(_SEPARATORS))]
        if after_removed:
            between = between[len(between) - len(bytes(between).lstrip(_SEPARATORS)) :]
            if (between or not before_removed) and not self._separate(bytes(between[:1])):
                return False
        is_same = self.after.startswith(between, self.position)
        self.position += len(between)
        return is_same

    def _separate(self, following: bytes) -> bool:
        """Pass what is left between the members beside a removed one: a comma if there are two."""
        start, end = self.position, self.position
        while self.after[end] in _SEPARATORS:
            end += 1
        self.position = end
        alone = self.after[start - 1] == ord("{") or following == b"}"
        return self.after.count(b",", start, end) == (0 if alone else 1)

    def _meet(self, member: _Member, planned: dict[Any, Any], text: str) -> bool:
        """Whether the member that comes next is the one that was planned."""
        key, item = member_at(text, self.position)
        self.position = item.end
        name = self.renamed.get(member.place, member.place[-1])
        if name != unquote(_text(self.after[key.start : key.end])):
            return False
        raw = self.after[item.start : item.end]
        if not member.counts:
            return raw == self.before[member.item.start : member.item.end]
        among = _follow(planned, member.place[:-1])
        if name not in among:
            return False
        value = among.pop(name)
        return bool(value == (raw if isinstance(value, bytes) else loads(_text(raw))))


def _holds(path: Path, data: bytes) -> bool:
    """Whether the file holds just this; piece by piece, which needs no memory for a second one."""
    fd = open_regular(path)
    if fd is None:
        return False
    position = 0
    with open(fd, "rb", buffering=0) as file:
        while piece := file.read(PIECE):
            if piece != data[position : position + len(piece)]:
                return False
            position += len(piece)
    return position == len(data)


def _other_content(path: Path, planned: bytes) -> Iterator[str]:
    document = read_document(path)
    if document is None:
        yield f"{path} is missing"
    else:
        yield f"{path} does not hold what was planned"
        yield from _differences(_value(planned), _value(document.data))


def json_problems(
    before: str, after: str, edits: Iterable[Edit], *, full: bool = False
) -> Iterator[str]:
    """Differences between two JSON texts that the planned edits do not explain.

    The edits are applied to the *values* of the text before, which knows nothing of the byte
    positions that the rewriter used. deepdiff names what differs; as it takes long to load, it
    is asked only when something does, or when everything is to be checked in full.
    """
    try:
        expected, found = loads(before), loads(after)
    except NotJsonError as error:
        yield f"not valid JSON: {error}"
        return
    _make(list(edits), expected)
    if full or expected != found:
        yield from _differences(expected, found)


def _make(edits: Sequence[Edit], document: Any) -> None:
    """Make the edits to the value of a document."""
    for edit in sorted(edits, key=_turn):
        _change_value(document, edit)
    _rename_members(document, [edit for edit in edits if edit.kind == "key"])


def _turn(edit: Edit) -> tuple[int, int, int]:
    """Removals come last, inside before outside and from the end: pointers are those of before."""
    if edit.kind != "remove":
        return 0, 0, 0
    last = edit.pointer[-1]
    return 1, -len(edit.pointer), -last if isinstance(last, int) else 0


def _change_value(document: Any, edit: Edit) -> None:
    """Set, add or take out the value at the edit's pointer; renaming waits until the end."""
    parent = _follow(document, edit.pointer[:-1])
    key = edit.pointer[-1]
    if edit.kind == "set" and _has(parent, key) and parent[key] == _plain(edit.before):
        parent[key] = _plain(edit.after)
    elif edit.kind == "add" and isinstance(parent, list):
        parent.append(_plain(edit.after))
    elif edit.kind == "add" and isinstance(parent, dict):
        parent[key] = _plain(edit.after)
    elif edit.kind == "remove" and isinstance(parent, dict):
        parent.pop(key, None)
    elif edit.kind == "remove" and _has(parent, key) and parent[key] == _plain(edit.before):
        del parent[key]


def _plain(raw: str | None) -> Any:
    """The value of a piece of JSON; strings, of which there may be thousands, by the short way."""
    assert raw is not None  # an edit of this kind has it
    return unquote(raw) if raw.startswith('"') else loads(raw)


def _rename_members(document: Any, edits: list[Edit]) -> None:
    """Give members their new names, all of one object at once: two may have swapped theirs."""
    names: dict[Pointer, dict[Any, Any]] = {}
    for edit in edits:
        names.setdefault(edit.pointer[:-1], {})[edit.pointer[-1]] = edit.describe()[1]
    for pointer, new in sorted(names.items(), key=lambda item: -len(item[0])):
        parent = _follow(document, pointer)
        if isinstance(parent, dict):
            members = [(new.get(key, key), value) for key, value in parent.items()]
            parent.clear()
            parent.update(members)


def _follow(document: Any, pointer: Pointer) -> Any:
    for token in pointer:
        if not _has(document, token):
            return None
        document = document[token]
    return document


def _has(container: Any, token: str | int) -> bool:
    if isinstance(container, list):
        return isinstance(token, int) and 0 <= token < len(container)
    return isinstance(container, dict) and token in container


def _differences(expected: Any, found: Any) -> Iterator[str]:
    """What deepdiff says of two values."""
    from deepdiff import DeepDiff

    for line in DeepDiff(expected, found, verbose_level=2).pretty().splitlines():
        yield f"  {line}"


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _value(data: bytes) -> Any:
    text = _text(data)
    try:
        return loads(text)
    except NotJsonError:
        return text.splitlines()
