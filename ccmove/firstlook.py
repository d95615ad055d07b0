"""What another process finds while this one still loads its modules.

Before a move knows what to do, it goes through the history and looks into every project directory.
Of a large history the other process searches so much that both end at the same time. What it found
counts only for the first plan, and of the history only if that is still the file that was searched.
"""

from __future__ import annotations

import marshal
import os
from collections.abc import Callable
from functools import cached_property

from ccmove import ahead
from ccmove.halves import keep_freed_memory, line_from, scan_file
from ccmove.history import Scan, scan
from ccmove.layout import Layout
from ccmove.lighttyping import IO, NamedTuple
from ccmove.pathmap import Move, PathMap
from ccmove.state import Fingerprint, State, history_file, open_regular, reader

HEAD_START = 16 << 20  # bytes of a history that are searched before this process is ready

Names = dict[str, list[str]]  # as State.beside_sessions has them


class Answer(NamedTuple):
    """What the other process found, and where."""

    names: Names
    history: Fingerprint | None
    moves: tuple[Move, ...]  # what was searched for
    found: Scan


def look(layout: Layout, move: Move, pipe: IO[bytes]) -> None:
    """In the other process."""
    paths = PathMap((move,))
    names = State(layout).beside_sessions if ahead.has_many(str(layout.projects)) else {}
    seen, found = None, Scan()
    fd = open_regular(history_file(layout))
    if fd is not None:
        keep_freed_memory()
        seen = Fingerprint.of(os.fstat(fd))
        found = scan(reader(fd), _beginning(fd, seen.size), paths)
    marshal.dump((names, None if seen is None else tuple(seen), paths.moves), pipe)
    found.dump(pipe)


def _beginning(fd: int, size: int) -> int:
    return line_from(fd, min(size, (size + HEAD_START) // 2), size)


def _load(pipe: IO[bytes]) -> Answer:
    names, seen, moves = marshal.load(pipe)
    return Answer(names, None if seen is None else Fingerprint(*seen), moves, Scan.load(pipe))


class FirstLook:
    """The answer of the other process, if there is one, for who asks first."""

    def __init__(self) -> None:
        self._other = ahead.taken()

    @cached_property
    def _answer(self) -> Answer | None:
        answer: Answer | None = self._other.answer(_load) if self._other is not None else None
        return answer

    def names(self) -> Names:
        """What lies beside the sessions, of project directories that were looked into."""
        return self._answer.names if self._answer is not None else {}

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
