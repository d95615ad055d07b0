"""A large history is searched by two processes, each one half."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from ccmove.history import Scan, scan
from ccmove.otherprocess import OtherProcess, is_worth_it
from ccmove.pathmap import PathMap
from ccmove.state import open_regular, reader

WORTH_A_PROCESS = 16 << 20  # bytes; below that a process costs what it saves
_LARGEST_KEPT = 30 << 20


def scan_file(
    fd: int,
    size: int,
    paths: PathMap,
    tick: Callable[[int], None] | None = None,
) -> Scan:
    """Look at the first `size` bytes of a file, as `history.scan` does."""
    keep_freed_memory()
    is_large = size >= WORTH_A_PROCESS and is_worth_it()
    middle = line_from(fd, size // 2, size) if is_large else size
    half = (lambda done: tick(done * size // middle)) if tick else None
    with OtherProcess() as other:
        if middle < size:
            other.begin(lambda pipe: scan(reader(fd), size, paths, middle).dump(pipe), fd)
        found = scan(reader(fd), middle, paths, tick=half)
        rest = other.answer(Scan.load)
    if middle < size:
        is_whole = rest is not None and rest.size == size
        found.extend(rest if is_whole else scan(reader(fd), size, paths, middle))
    return found


def paths_in(file: Path, paths: PathMap) -> tuple[str, ...]:
    """Every path that `paths` moves and a history names; none when there is no such file."""
    fd = open_regular(file)
    if fd is None:
        return ()
    try:
        found = scan_file(fd, os.fstat(fd).st_size, paths)
    finally:
        os.close(fd)
    return tuple(before for before, _ in found.counts)


def keep_freed_memory() -> None:
    """Blocks of a file come into memory that others have left, which takes half the time.

    The GNU C library gives a large block back to the system when it is freed, and gets fresh
    pages for the next one. Once a larger one was freed, it keeps such blocks; nothing is written
    into this one, so that it takes up no room.
    """
    bytes(_LARGEST_KEPT)


def line_from(fd: int, position: int, size: int) -> int:
    """Where the first line begins behind `position`; `size` when there is none."""
    while position < size:
        block = os.pread(fd, 1 << 16, position)
        newline = block.find(b"\n")
        if newline >= 0:
            return min(position + newline + 1, size)
        if not block:
            break
        position += len(block)
    return size
