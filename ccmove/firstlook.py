"""What another process has found in the history while this one was still loading its modules.

Of a large history it searches so much that both end at the same time. What it found counts only
if the history is still the file that was searched, and it was searched for the same.
"""

from __future__ import annotations

import marshal
import os
from collections.abc import Callable

from ccmove import ahead
from ccmove.halves import keep_freed_memory, line_from, scan_file
from ccmove.history import Scan, scan
from ccmove.layout import Layout
from ccmove.lighttyping import IO, NamedTuple
from ccmove.pathmap import Move, PathMap
from ccmove.state import Fingerprint, history_file, open_regular, reader

HEAD_START = 16 << 20  # bytes of a history that are searched before this process is ready


class Answer(NamedTuple):
    """What the other process found, and where."""

    seen: Fingerprint
    moves: tuple[Move, ...]
    found: Scan


def look(layout: Layout, move: Move, pipe: IO[bytes]) -> None:
    """In the other process."""
    fd = open_regular(history_file(layout))
    if fd is None:
        return
    keep_freed_memory()
    paths = PathMap((move,))
    seen = Fingerprint.of(os.fstat(fd))
    found = scan(reader(fd), _beginning(fd, seen.size), paths)
    marshal.dump((tuple(seen), paths.moves), pipe)
    found.dump(pipe)


def _load(pipe: IO[bytes]) -> Answer:
    seen, moves = marshal.load(pipe)
    return Answer(Fingerprint(*seen), moves, Scan.load(pipe))


def _beginning(fd: int, size: int) -> int:
    """Where the part of the other process ends."""
    return line_from(fd, min(size, (size + HEAD_START) // 2), size)


def scan_history(
    fd: int, seen: Fingerprint, paths: PathMap, tick: Callable[[int], None] | None = None
) -> Scan:
    """Look through the whole history, or through what the other process leaves of it."""
    other = ahead.taken()
    if other is None or paths.kept:
        return scan_file(fd, seen.size, paths, tick)
    keep_freed_memory()
    middle = _beginning(fd, seen.size)
    own = (lambda done: tick(done * seen.size // (seen.size - middle))) if tick else None
    rest = scan(reader(fd), seen.size, paths, middle, own)
    answer: Answer | None = other.answer(_load)
    if answer is not None and answer[:2] == (seen, paths.moves) and answer.found.size == middle:
        found = answer.found
    else:
        found = scan_file(fd, middle, paths)
    found.extend(rest)
    return found
