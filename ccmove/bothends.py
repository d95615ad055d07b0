"""A large history is searched by two processes, one from each end, until they meet.

So neither waits for the other, however busy the machine is.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO

from ccmove.claude.reading import open_regular, reader
from ccmove.otherprocess import OtherProcess, is_worth_it, send
from ccmove.rewrite.history import Scan, scan
from ccmove.rewrite.pathmap import PathMap

WORTH_A_PROCESS = 16 << 20  # bytes; below that a process costs what it saves
PART = 1 << 20  # so much is searched at a time
_LARGEST_KEPT = 30 << 20

Tick = Callable[[int], None]
Subject = tuple[object, ...]  # which file, and what it is searched for


def scan_file(fd: int, size: int, paths: PathMap, tick: Tick | None = None) -> Scan:
    """Look at the first `size` bytes of a file, as `history.scan` does."""
    keep_freed_memory()
    with OtherProcess() as other:
        if size >= WORTH_A_PROCESS and is_worth_it():
            other.begin(lambda pipe: search(fd, size, paths, pipe), fd)
        return scan_with(other, fd, size, paths, (), tick)


def search(fd: int, size: int, paths: PathMap, pipe: IO[bytes], subject: Subject = ()) -> None:
    """In the other process: from the beginning, part by part."""
    position = 0
    while position < size:
        end = line_from(fd, position + PART, size)
        found = scan(reader(fd), end, paths, position)
        send(pipe, (subject, position, found.packed()))
        if found.size < end:
            break  # the file has shrunk meanwhile
        position = end


def scan_with(
    other: OtherProcess,
    fd: int,
    size: int,
    paths: PathMap,
    subject: Subject,
    tick: Tick | None = None,
) -> Scan:
    """Search from the end as far back as the other process has not come.

    What it found of another subject does not count, nor anything behind a gap.
    """
    if not other.is_there:
        return scan(reader(fd), size, paths, tick=tick)
    found = Scan()  # from the beginning, by the other one
    own: list[Scan] = []  # from the end
    begins = size
    while found.size < begins:
        about, start, answer = other.receive(0) or (subject, found.size, None)
        if (about, start) != (subject, found.size):
            other.stop()
        elif answer is not None and answer[0] <= begins:
            found.extend(Scan.unpacked(answer))
        else:  # it has sent nothing, or has met what was searched here
            end, begins = begins, _part_before(fd, found.size, begins)
            own.append(scan(reader(fd), end, paths, begins))
        if tick:
            tick(size - max(0, begins - found.size))
    for part in reversed(own):
        found.extend(part)
    return found


def _part_before(fd: int, first: int, end: int) -> int:
    """Where the last part of first..end begins: with a line, and `first` does."""
    length = PART
    while end - length > first:
        begins = line_from(fd, end - length, end)
        if begins < end:
            return begins
        length *= 2  # a long line
    return first


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


@functools.cache
def keep_freed_memory() -> None:
    """Blocks of a file come into memory that others have left, which takes half the time.

    The GNU C library gives a large block back to the system when it is freed, and gets fresh
    pages for the next one. Once a larger one was freed, it keeps such blocks; nothing is written
    into this one, so that it takes up no room. A second one would come from what is kept, and
    be written all over with zeros.
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
