"""One look through the whole history."""

from __future__ import annotations

from ccmove.bothends import Tick, scan_file
from ccmove.claude.reading import Fingerprint
from ccmove.rewrite.history import Scan
from ccmove.rewrite.pathmap import PathMap


def scan_history(fd: int, seen: Fingerprint, paths: PathMap, tick: Tick | None = None) -> Scan:
    """Look through the whole history."""
    return scan_file(fd, seen.size, paths, tick)
