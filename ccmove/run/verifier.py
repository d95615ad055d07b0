"""Is what is on disk exactly what was planned, and is it what an earlier run noted?

Everything unexpected is named.

Compared are: every staged file byte by byte with the plan; every moved file by inode,
size and mtime before and after, or with `full` by hash. What is not as planned, and
with `full` every change of a JSON document, is looked at with deepdiff, value by value.
What was noted is recognised by names, sizes and dates, not by inode numbers.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from ccmove.claude.reading import names_in, read_document, sha256_of
from ccmove.plan.model import FolderHolds, Holds, Plan, Write
from ccmove.plan.tree import folder_holds
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


def is_noted(path: Path, noted: Holds | FolderHolds) -> bool:
    """Whether something of what was noted is there; names of transcripts are unique,
    and one may have grown since. Any directory may be the one that was empty.
    """
    if isinstance(noted, FolderHolds):
        return is_directory(path) and _is_folder(path, noted)
    if not noted.entries:
        return is_directory(path)
    return any(has(path, entry) for entry in noted.entries)


def has(path: Path, entry: tuple[str, int, int]) -> bool:
    """Whether one of the noted files is there, or has grown there."""
    name, size, _ = entry
    found = _facts(path / name)
    return found is not None and stat.S_ISREG(found.st_mode) and found.st_size >= size


def has_grown(path: Path, noted: Holds | FolderHolds) -> bool:
    """Whether something came to what a run took out of a backup:
    that is not to be hidden there.
    """
    if isinstance(noted, FolderHolds) or any(
        e[0].endswith(".jsonl") for e in noted.entries
    ):
        return False  # of which not every file was noted
    return any(_noted(path, file) not in noted.entries for file in _files_in(path))


def _files_in(path: Path) -> Iterator[Path]:
    """The file or link that this is, or every one in this directory."""
    if not is_directory(path):
        yield path
        return
    for inner in path.rglob("*"):
        if not is_directory(inner):
            yield inner


def _noted(path: Path, file: Path) -> tuple[str, int, int]:
    found = os.lstat(file)
    name = file.relative_to(path).as_posix() if file != path else ""
    return name, found.st_size, found.st_mtime_ns


def likeness(path: Path, noted: Holds) -> tuple[int, int]:
    """How much of what was noted is at `path`, to compare two places by."""
    if not noted.entries:
        return int(is_directory(path) and not names_in(path)), 0
    files = [
        path / name for name, _, _ in noted.entries if _facts(path / name) is not None
    ]
    exact = sum(_noted(path, file) in noted.entries for file in files)
    return exact, sum(has(path, entry) for entry in noted.entries)


def _is_folder(path: Path, noted: FolderHolds) -> bool:
    """Whether this is the project folder that was noted.

    The very one, with something left of what was in it; or, in a copied home, one with
    most of the noted entries, each of the same kind, size and date.
    """
    found = folder_holds(path)
    names = {entry[0] for entry in found.entries}
    if (found.device, found.inode) == (noted.device, noted.inode):
        return not noted.entries or any(entry[0] in names for entry in noted.entries)
    return 2 * len(set(found.entries) & set(noted.entries)) > len(noted.entries)


def is_respelled(path: Path, other: Path) -> bool:
    """Whether both are one directory: where names in another case, or with another form
    of an accent, mean the same.
    """
    return is_directory(path) and is_directory(other) and os.path.samefile(path, other)


def is_directory(path: Path) -> bool:
    found = _facts(path)
    return found is not None and stat.S_ISDIR(found.st_mode)


def _facts(path: Path) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
