"""A large history is searched by two processes, each one half.

Searching is work for the interpreter, which does one thing at a time; another process has an
interpreter of its own. It only reads, answers through a pipe and ends. Whatever goes wrong with
it, this process searches the second half as well.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable

from ccmove.history import Scan, scan
from ccmove.pathmap import PathMap
from ccmove.state import reader

WORTH_A_PROCESS = 16 << 20  # bytes; below that a process costs what it saves
_INTERRUPTIONS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


def scan_file(
    fd: int,
    size: int,
    paths: PathMap,
    tick: Callable[[int], None] | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> Scan:
    """Look at the first `size` bytes of a file, as `history.scan` does.

    `meanwhile` is called when the other process, if there is one, is on its way: a process with
    threads should not make another.
    """
    middle = _middle(fd, size)
    other = _Other.begin(fd, size, paths, middle) if middle < size else None
    if meanwhile:
        meanwhile()
    half = (lambda done: tick(done * size // middle)) if tick else None
    found = scan(reader(fd), middle, paths, tick=half)
    if middle < size:
        rest = other.answer() if other else None
        found.extend(rest or scan(reader(fd), size, paths, middle))
    return found


def _middle(fd: int, size: int) -> int:
    """Where a line begins in the middle of a large file; else its end."""
    if size < WORTH_A_PROCESS or sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2:
        return size
    position = size // 2
    while position < size:
        block = os.pread(fd, 1 << 16, position)
        newline = block.find(b"\n")
        if newline >= 0:
            return min(position + newline + 1, size)
        if not block:
            break
        position += len(block)
    return size


class _Other:
    """A process that looks at the bytes from `start` to `size`."""

    def __init__(self, process: int, pipe: int, size: int) -> None:
        self._process = process
        self._pipe = pipe
        self._size = size

    @classmethod
    def begin(cls, fd: int, size: int, paths: PathMap, start: int) -> _Other | None:
        """None when there can be no more processes or descriptors."""
        ends: tuple[int, ...] = ()
        # The other one is never interrupted: it would take back what is not its own to take back.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTIONS)
        try:
            reading, writing = ends = os.pipe()
            process = os.fork()
            if process == 0:
                _look(fd, size, paths, start, writing)
        except OSError:
            for end in ends:
                os.close(end)
            return None
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.close(writing)
        return cls(process, reading, size)

    def answer(self) -> Scan | None:
        """What it found; None when it did not come to its end."""
        with os.fdopen(self._pipe, "rb") as pipe:
            try:
                found = Scan.load(pipe)
            except (EOFError, ValueError, TypeError):
                found = None
        # Where a parent does not care for its children, the system has forgotten it by now.
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._process, 0)
        return found if found is not None and found.size == self._size else None


def _look(fd: int, size: int, paths: PathMap, start: int, writing: int) -> None:
    """In the other process. Never returns, and runs nothing of what this one runs at its end."""
    with contextlib.suppress(BaseException):
        found = scan(reader(fd), size, paths, start)
        with os.fdopen(writing, "wb") as pipe:
            found.dump(pipe)
    os._exit(0)
