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
import threading
from collections.abc import Callable
from pathlib import Path

from ccmove.history import Scan, scan
from ccmove.pathmap import PathMap
from ccmove.state import open_regular, reader

WORTH_A_PROCESS = 16 << 20  # bytes; below that a process costs what it saves
_LARGEST_KEPT = 30 << 20
_INTERRUPTIONS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


def scan_file(
    fd: int,
    size: int,
    paths: PathMap,
    tick: Callable[[int], None] | None = None,
) -> Scan:
    """Look at the first `size` bytes of a file, as `history.scan` does."""
    _keep_freed_memory()
    middle = _middle(fd, size)
    half = (lambda done: tick(done * size // middle)) if tick else None
    with _Other() as other:
        if middle < size:
            other.begin(fd, size, paths, middle)
        found = scan(reader(fd), middle, paths, tick=half)
        rest = other.answer(size)
    if middle < size:
        found.extend(rest or scan(reader(fd), size, paths, middle))
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


def _keep_freed_memory() -> None:
    """Blocks of a file come into memory that others have left, which takes half the time.

    The GNU C library gives a large block back to the system when it is freed, and gets fresh
    pages for the next one. Once a larger one was freed, it keeps such blocks; nothing is written
    into this one, so that it takes up no room.
    """
    bytes(_LARGEST_KEPT)


def _middle(fd: int, size: int) -> int:
    """Where a line begins in the middle of a large file; its end where one process is enough."""
    if size < WORTH_A_PROCESS or sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2:
        return size
    if threading.active_count() > 1:  # whoever has threads should not make a process
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
    """The other process, if it could be had; it does not outlive the work on this half."""

    def __init__(self) -> None:
        self._process = 0
        self._ends: tuple[int, ...] = ()  # of the pipe, the reading one first

    def __enter__(self) -> _Other:
        return self

    def __exit__(self, *_: object) -> None:
        """Whatever happened here: it is gone, and so is the pipe."""
        for end in self._ends:
            os.close(end)
        if self._process:
            # Where a parent does not care for its children, the system forgets one that has ended.
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                if os.waitpid(self._process, os.WNOHANG) == (0, 0):  # it is alive, and still ours
                    os.kill(self._process, signal.SIGKILL)
                    os.waitpid(self._process, 0)

    def begin(self, fd: int, size: int, paths: PathMap, start: int) -> None:
        """Let it look at the bytes from `start` to `size`."""
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        try:
            # It is never interrupted: it would take back what is not its own to take back.
            signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTIONS)
            self._ends = os.pipe()
            self._process = os.fork()
            if not self._process:
                _look(fd, size, paths, start, self._ends[1])
        except OSError:
            return  # no more processes, or no more descriptors
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def answer(self, size: int) -> Scan | None:
        """What it found up to `size`; None when it did not come to its end."""
        if not self._process:
            return None
        reading, writing = self._ends
        self._ends = (reading,)
        os.close(writing)
        with os.fdopen(reading, "rb", closefd=False) as pipe:
            try:
                found = Scan.load(pipe)
            except (EOFError, ValueError, TypeError):
                return None
        return found if found.size == size else None


def _look(fd: int, size: int, paths: PathMap, start: int, writing: int) -> None:
    """In the other process. Never returns, and runs nothing of what this one runs at its end."""
    with contextlib.suppress(BaseException):
        # It must not hold a lock or a terminal, nor the end of the pipe that tells it to end.
        for name in os.listdir("/proc/self/fd"):
            if int(name) not in (fd, writing):
                with contextlib.suppress(OSError):
                    os.close(int(name))
        found = scan(reader(fd), size, paths, start)
        with os.fdopen(writing, "wb") as pipe:
            found.dump(pipe)
    os._exit(0)
