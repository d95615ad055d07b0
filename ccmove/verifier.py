"""Is what is on disk exactly what was planned? Everything unexpected is named.

Compared are: every rewritten file byte by byte with the plan, and as JSON with what was saved
(exactly the planned changes, nothing else); every moved file by inode, size and mtime, or with
`full` by hash; and that every rename has happened.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ccmove.edits import Edit
from ccmove.jsonspan import NotJsonError, Pointer, loads, unquote
from ccmove.manifest import sha256_of
from ccmove.plan import FileChange, Plan, landings
from ccmove.state import read_document

MOST_SHOWN = 20


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
            traces[path] = dict(_traces_below(os.fspath(path), left_out, full, tick))
    return traces


def _traces_below(
    top: str, left_out: set[str], full: bool, tick: Callable[[int], None] | None
) -> Iterator[tuple[str, Trace]]:
    for path, found in _files_below(top, left_out):
        yield path[len(top) :], _trace(path, found, full)
        if tick:
            tick(found.st_size)


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
    return Trace(found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode, hashed)


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
    document = read_document(path)
    if document is None:
        return [f"{path} is missing"]
    if document.data != change.after:
        differences = _differences(_value(change.after or b""), _value(document.data))
        return [f"{path} does not hold what was planned", *differences][:MOST_SHOWN]
    if not change.edits or change.before is None:
        return []
    before = change.before.decode("utf-8", "surrogateescape")
    problems = json_problems(before, document.text, change.edits, full=full)
    return [f"{path}: {problem}" for problem in problems][:MOST_SHOWN]


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
    made = list(edits)
    for edit in sorted(made, key=lambda edit: edit.kind != "set"):  # before any index changes
        _change_value(expected, edit)
    _rename_members(expected, [edit for edit in made if edit.kind == "key"])
    if full or expected != found:
        yield from _differences(expected, found)


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
    elif edit.kind == "remove" and isinstance(parent, list):
        parent.remove(_plain(edit.before))


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


def _value(data: bytes) -> Any:
    text = data.decode("utf-8", "surrogateescape")
    try:
        return loads(text)
    except NotJsonError:
        return text.splitlines()
