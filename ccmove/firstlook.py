"""What another process has found in the history while this one was still loading its modules.

What it found counts only if the history is still the file that was searched, and it was searched
for the same.
"""

from __future__ import annotations

import os
from typing import IO

from ccmove import ahead
from ccmove.bothends import Tick, keep_freed_memory, scan_file, scan_with, search
from ccmove.claude.layout import Layout
from ccmove.claude.reading import Fingerprint, history_file, open_regular
from ccmove.rewrite.history import Scan
from ccmove.rewrite.pathmap import Move, PathMap


def look(layout: Layout, move: Move, pipe: IO[bytes]) -> None:
    """In the other process."""
    fd = open_regular(history_file(layout))
    if fd is None:
        return
    keep_freed_memory()
    paths = PathMap((move,))
    seen = Fingerprint.of(os.fstat(fd))
    search(fd, seen.size, paths, pipe, (tuple(seen), paths.moves))


def scan_history(fd: int, seen: Fingerprint, paths: PathMap, tick: Tick | None = None) -> Scan:
    """Look through the whole history, or through what the other process leaves of it."""
    other = ahead.taken()
    if other is None or paths.kept:
        return scan_file(fd, seen.size, paths, tick)
    keep_freed_memory()
    try:
        return scan_with(other, fd, seen.size, paths, (tuple(seen), paths.moves), tick)
    finally:
        other.stop()
