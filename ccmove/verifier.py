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

from ccmove import history
from ccmove.edits import Edit
from ccmove.jsonspan import NotJsonError, Pointer, loads
from ccmove.manifest import sha256_of
from ccmove.plan import FileChange, HistoryChange, Plan, landing_of, landings
from ccmove.state import open_regular, read_document, reader

MOST_SHOWN = 20


class Trace(NamedTuple):
    """What must survive a rename; the hash only when everything is to be hashed."""

    inode: int
    size: int
    mtime_ns: int
    mode: int
    sha256: str | None = None


def snapshot(
    plan: Plan,
    staged: Iterable[Path] = (),
    *,
    full: bool = False,
    tick: Callable[[int], None] | None = None,
) -> dict[Path, Trace]:
    """Every file that the steps move, with what must survive; not rewritten or staged ones."""
    rewritten = {*(file.path for file in plan.files), *staged}
    landed = landings(plan.steps)
    traces: dict[Path, Trace] = {}
    for path in landed:
        if any(path == Path(old) for old, _ in plan.folders):
            continue  # the project's own folder: one rename, and not ours to walk through
        for file, found in _files_below(path):
            if file not in rewritten:
                traces[file] = _trace(file, found, full)
                if tick:
                    tick(found.st_size)
    return traces


def _files_below(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode):
        yield path, found
        return
    waiting = [str(path)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    yield Path(entry.path), entry.stat(follow_symlinks=False)


def _trace(path: Path, found: os.stat_result, full: bool) -> Trace:
    hashed = sha256_of(path) if full and stat.S_ISREG(found.st_mode) else None
    return Trace(found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode, hashed)


def check(plan: Plan, traces: dict[Path, Trace], *, full: bool) -> list[str]:
    """What is not as planned, in words; empty when all is well."""
    problems = [*_check_steps(plan), *_check_traces(plan, traces, full)]
    for file in plan.files:
        problems += _check_file(file, full)
    return problems[:MOST_SHOWN]


def _check_steps(plan: Plan) -> Iterator[str]:
    landed = landings(plan.steps)
    for final in landed.values():
        if not os.path.lexists(final):
            yield f"{final} is missing"
    made = {step.path for step in plan.steps if step.kind == "mkdir"}
    finals = set(landed.values())
    for step in plan.steps:
        gone = step.kind == "rmdir" or (step.kind == "rename" and step.path not in finals)
        if gone and step.path not in made and _is_there(step.path):
            yield f"{step.path} is still there"


def _is_there(path: Path) -> bool:
    """By its very spelling: where case is ignored, the new name answers for the old one too."""
    try:
        return path.name in os.listdir(path.parent)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _check_traces(plan: Plan, traces: dict[Path, Trace], full: bool) -> Iterator[str]:
    landed = landings(plan.steps)
    for path, before in traces.items():
        final = landing_of(path, landed)
        try:
            after = _trace(final, os.lstat(final), full)
        except FileNotFoundError:
            yield f"{final} is missing (it was {path})"
            continue
        if after != before:
            yield f"{final} is not the file it was: {before} became {after}"


def _check_file(file: FileChange, full: bool) -> Iterator[str]:
    document = read_document(file.ends)
    if document is None:
        yield f"{file.ends} is missing"
        return
    if document.data != file.after:
        yield f"{file.ends} does not hold what was planned"
        yield from _differences(_value(file.after or b""), _value(document.data))
        return
    if file.edits and file.before is not None:
        before = file.before.decode("utf-8", "surrogateescape")
        yield from json_problems(before, document.text, file.edits, full=full)


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
    for edit in edits:
        _change_value(expected, edit)
    renamed = {edit.pointer: edit.describe()[1] for edit in edits if edit.kind == "key"}
    for pointer, key in sorted(renamed.items(), key=lambda item: -len(item[0])):
        _rename_member(expected, pointer, key)
    if full or expected != found:
        yield from _differences(expected, found)


def _change_value(document: Any, edit: Edit) -> None:
    """Set, add or take out the value at the edit's pointer; renaming waits until the end."""
    parent = _follow(document, edit.pointer[:-1])
    key = edit.pointer[-1]
    if edit.kind == "set" and _has(parent, key) and parent[key] == loads(edit.before or ""):
        parent[key] = loads(edit.after or "")
    elif edit.kind == "add" and isinstance(parent, list):
        parent.append(loads(edit.after or ""))
    elif edit.kind == "add" and isinstance(parent, dict):
        parent[key] = loads(edit.after or "")
    elif edit.kind == "remove" and isinstance(parent, dict):
        parent.pop(key, None)
    elif edit.kind == "remove" and isinstance(parent, list):
        parent.remove(loads(edit.before or ""))


def _rename_member(document: Any, pointer: Pointer, key: object) -> None:
    parent = _follow(document, pointer[:-1])
    if isinstance(parent, dict) and pointer[-1] in parent:
        parent[key] = parent.pop(pointer[-1])


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


# -- the history -----------------------------------------------------------------------


def check_history(change: HistoryChange, staged: Path) -> list[str]:
    """The staged history against its sources: only the planned spans differ, to the byte.

    Done on the staged file before the client's lock is taken; what is renamed into place after
    that is the very same file.
    """
    fd = open_regular(staged)
    if fd is None:
        return [f"{staged} is missing"]
    try:
        read = reader(fd)
        position = 0
        for part in change.parts:
            for piece in _expected(part.file, part.scan, part.start):
                if read(position, len(piece)) != piece:
                    return [f"the new history differs from the plan after byte {position}"]
                position += len(piece)
        if os.fstat(fd).st_size != position:
            return [f"the new history has {os.fstat(fd).st_size} bytes instead of {position}"]
        return []
    finally:
        os.close(fd)


def _expected(path: Path, scan: history.Scan, start: int) -> Iterable[bytes]:
    fd = open_regular(path)
    if fd is None:
        return
    try:
        yield from history.rewritten(reader(fd), scan, start)
    finally:
        os.close(fd)
