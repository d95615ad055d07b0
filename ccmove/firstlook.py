"""What another process finds while this one still loads its modules.

Before a move knows what to do, it goes through the history and looks into every project directory.
Of a large history the other process searches so much that both end at the same time. What it found
counts only while the history is the file that was searched, and nothing has come to a directory or
gone from it.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import time
from collections.abc import Callable, Iterable
from functools import cached_property

from ccmove import ahead, nofollow
from ccmove.halves import keep_freed_memory, line_from, scan_file
from ccmove.history import Scan, scan
from ccmove.layout import Layout
from ccmove.lighttyping import IO, NamedTuple
from ccmove.pathmap import Move, PathMap
from ccmove.state import Fingerprint, State, history_file, open_regular, reader

HEAD_START = 16 << 20  # bytes of a history that are searched before this process is ready

SETTLED = 1_000_000_000  # ns; a directory may change again without a later mtime, but not so late

Stamp = tuple[int, int]  # inode and mtime of a directory


class Answer(NamedTuple):
    """What the other process found, and where."""

    names: dict[str, tuple[Stamp, list[str]]]  # State.beside_sessions, with stamps from before
    history: Fingerprint | None
    moves: tuple[Move, ...]  # what was searched for
    found: Scan


def look(layout: Layout, move: Move, pipe: IO[bytes]) -> None:
    """In the other process."""
    paths = PathMap((move,))
    names = _listed(layout) if ahead.has_many(str(layout.projects)) else {}
    seen, found = None, Scan()
    fd = open_regular(history_file(layout))
    if fd is not None:
        keep_freed_memory()
        seen = Fingerprint.of(os.fstat(fd))
        found = scan(reader(fd), _beginning(fd, seen.size), paths)
    marshal.dump((names, None if seen is None else tuple(seen), paths.moves), pipe)
    found.dump(pipe)


def _listed(layout: Layout) -> dict[str, tuple[Stamp, list[str]]]:
    state = State(layout)
    settled = time.time_ns() - SETTLED
    stamps = _stamps(layout, state.directory_names)
    found = state.beside_sessions
    return {
        name: (stamp, found[name])
        for name, stamp in stamps.items()
        if name in found and stamp[1] < settled
    }


def _stamps(layout: Layout, names: Iterable[str]) -> dict[str, Stamp]:
    """What changes with every name that comes or goes, of those that are there."""
    found: dict[str, Stamp] = {}
    with nofollow.directory(layout.projects) as projects:
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                now = os.lstat(name, dir_fd=projects)
                found[name] = (now.st_ino, now.st_mtime_ns)
    return found


def _beginning(fd: int, size: int) -> int:
    return line_from(fd, min(size, (size + HEAD_START) // 2), size)


def _load(pipe: IO[bytes]) -> Answer:
    names, seen, moves = marshal.load(pipe)
    return Answer(names, None if seen is None else Fingerprint(*seen), moves, Scan.load(pipe))


class FirstLook:
    """The answer of the other process, if there is one, for who asks first."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._other = ahead.taken()

    @cached_property
    def _answer(self) -> Answer | None:
        answer: Answer | None = self._other.answer(_load) if self._other is not None else None
        return answer

    def names(self) -> dict[str, list[str]]:
        """What lies beside the sessions, of project directories that are as they were."""
        known = self._answer.names if self._answer is not None else {}
        try:
            now = _stamps(self._layout, known) if known else {}
        except OSError:
            return {}  # whoever lists them again will say why
        return {name: names for name, (was, names) in known.items() if now.get(name) == was}

    def scan(
        self, fd: int, seen: Fingerprint, paths: PathMap, tick: Callable[[int], None] | None = None
    ) -> Scan:
        """Look through the whole history, or through the rest of it."""
        if self._other is None or paths.kept:
            return scan_file(fd, seen.size, paths, tick)
        keep_freed_memory()
        middle = _beginning(fd, seen.size)
        own = (lambda done: tick(done * seen.size // (seen.size - middle))) if tick else None
        rest = scan(reader(fd), seen.size, paths, middle, own)
        found = self._found(seen, paths, middle) or scan_file(fd, middle, paths)
        found.extend(rest)
        return found

    def _found(self, seen: Fingerprint, paths: PathMap, middle: int) -> Scan | None:
        answer = self._answer
        if answer is None or (answer.history, answer.moves) != (seen, paths.moves):
            return None
        return answer.found if answer.found.size == middle else None
