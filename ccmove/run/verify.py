"""Is what is on disk exactly what was planned? Everything unexpected is named.

Compared are: every staged file byte by byte with the plan; every moved file by inode,
size and mtime before and after, or with `full` by hash. What is not as planned, and
with `full` every change of a JSON document, is looked at with deepdiff, value by value.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from ccmove.claude.reading import read_document, sha256_of
from ccmove.plan.model import Plan, Write
from ccmove.rewrite.compare import compare
from ccmove.rewrite.jsonspan import NotJsonError, parse

Trace = tuple[
    int, int, int, int, str
]  # inode, size, mtime, mode; the hash when all are hashed
Traces = dict[str, Trace]  # of every file that is moved, by where it will be
Tick = Callable[[int], None]  # told the size of each file that was hashed


def snapshot(plan: Plan, staged: Iterable[Path], tick: Tick | None = None) -> Traces:
    """What must survive of every file that is moved; not of rewritten or staged ones.

    With `tick` everything is hashed.
    """
    rewritten = {write.path for write in plan.writes}
    left_out = {os.fspath(path) for path in (*dict(plan.moved), *rewritten, *staged)}
    folders = {
        old for old, _ in plan.folders
    }  # one rename, and not ours to walk through
    traces: Traces = {}
    for path, final in plan.moved:
        if path not in folders | rewritten:
            for file in _files_below(os.fspath(path), left_out):
                traces[f"{final}{file[len(os.fspath(path)) :]}"] = _trace(file, tick)
    return traces


def _trace(path: str, tick: Tick | None) -> Trace:
    found, hashed = os.lstat(path), ""
    if tick is not None:
        hashed = sha256_of(Path(path)) if stat.S_ISREG(found.st_mode) else ""
        tick(found.st_size)
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode, hashed


def _files_below(top: str, left_out: set[str]) -> Iterator[str]:
    """The file `top`, or every file in that directory;
    what goes another way is left out.
    """
    if os.path.islink(top) or not os.path.isdir(top):
        yield top
        return
    waiting = [top]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.path not in left_out and entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif entry.path not in left_out:
                    yield entry.path


def check(plan: Plan, traces: Traces, tick: Tick | None = None) -> Iterator[str]:
    yield from (
        f"{final} is missing" for _, final in plan.moved if not os.path.lexists(final)
    )
    for path, before in traces.items():
        now = _trace(path, tick) if os.path.lexists(path) else None
        if now != before:
            yield f"{path} is not the file it was: {before} became {now}"


def check_write(write: Write, path: Path, *, full: bool = False) -> list[str]:
    """What is not as planned in the file at `path`,
    which holds the new content of a write.
    """
    document = read_document(path)
    if document is None:
        return [f"{path} is missing"]
    if document.data != write.after:
        named = _named_differences(write.after, document.data)
        return [f"{path} is not what was planned", *named]
    if full and write.before is not None:
        # What deepdiff finds and the list of changes that people are shown does not.
        named = _named_differences(write.before, write.after)
        if named and not compare(write.before, write.after):
            return ["values changed that no list names", *named]
    return []


def _named_differences(expected: bytes, found: bytes) -> list[str]:
    from deepdiff import DeepDiff

    difference = DeepDiff(_value(expected), _value(found), verbose_level=2)
    return [f"  {line}" for line in difference.pretty().splitlines()]


def _value(data: bytes) -> Any:
    text = data.decode("utf-8", "surrogateescape")
    try:
        return parse(text).value
    except NotJsonError:
        return text.splitlines()
