"""Is what is on disk exactly what was planned? Everything unexpected is named.

Compared are: every staged file byte by byte with the plan; every moved file by inode,
size and mtime before and after, or with `full` by hash. What is not as planned, and
with `full` every change of a JSON document, is looked at with deepdiff, value by value.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ccmove.claude.reading import read_document, sha256_of
from ccmove.plan.model import Plan, Write
from ccmove.rewrite.compare import compare
from ccmove.rewrite.jsonspan import NotJsonError, value_of
from ccmove.text import as_text

# Inode, size, mtime, mode, and the hash when all are hashed.
Trace = tuple[int, int, int, int, str]
Traces = dict[str, Trace]  # of every file that is moved, by where it will be
Tick = Callable[[int], None]  # told the size of each file that was hashed


def snapshot(plan: Plan, staged: Iterable[Path], tick: Tick | None = None) -> Traces:
    """What must survive of every file that is moved; not of rewritten or staged ones.

    With `tick` everything is hashed. A project folder is one rename, and not ours to
    walk through.
    """
    moved = dict(plan.moved)
    rewritten = {write.path for write in plan.writes}
    folders = dict(plan.folders)
    not_looked_at = rewritten.union(folders)
    elsewhere = {*moved, *rewritten, *staged}
    left_out = set(map(str, elsewhere))
    traces: Traces = {}
    for path, final in moved.items():
        if path in not_looked_at:
            continue
        top = str(path)
        for file in _files_below(top, left_out):
            inside = file.removeprefix(top)
            place = f"{final}{inside}"
            traces[place] = _trace(file, tick)
    return traces


def _trace(path: str, tick: Tick | None) -> Trace:
    facts = os.lstat(path)
    digest = ""
    if tick is not None:
        if stat.S_ISREG(facts.st_mode):
            digest = sha256_of(Path(path))
        tick(facts.st_size)
    return (
        facts.st_ino,
        facts.st_size,
        facts.st_mtime_ns,
        facts.st_mode,
        digest,
    )


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
                if entry.path in left_out:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    yield entry.path


def check(plan: Plan, traces: Traces, tick: Tick | None = None) -> Iterator[str]:
    """Everything that was moved is where it was to go, and is the file it was."""
    for _, final in plan.moved:
        if not os.path.lexists(final):
            yield f"{final} is missing"
    for path, before in traces.items():
        now = None
        if os.path.lexists(path):
            now = _trace(path, tick)
        if now != before:
            yield f"{path} is not the file it was: {before} became {now}"


def check_write(write: Write, path: Path, *, full: bool = False) -> list[str]:
    """What is not as planned in the file at `path`,
    which holds the new content of a write.
    """
    document = read_document(path)
    if document is None:
        return [f"{path} is missing"]
    now = document.data
    if now != write.after:
        differences = _named_differences(write.after, now)
        return [f"{path} is not what was planned", *differences]
    if not full or write.before is None:
        return []
    # What deepdiff finds and the list of changes that people are shown does not.
    differences = _named_differences(write.before, write.after)
    if not differences or compare(write.before, write.after):
        return []
    return ["values changed that no list names", *differences]


def _named_differences(expected: bytes, found: bytes) -> list[str]:
    from deepdiff import DeepDiff

    difference = DeepDiff(_value(expected), _value(found), verbose_level=2)
    return [f"  {line}" for line in difference.pretty().splitlines()]


def _value(data: bytes) -> object:
    text = as_text(data)
    try:
        return value_of(text)
    except NotJsonError:
        return text.splitlines()
