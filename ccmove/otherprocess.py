"""Another process that reads for this one.

An interpreter does one thing at a time; another process has an interpreter of its own. It only
reads, answers through a pipe and ends. Whatever goes wrong with it, there is no answer, and this
process reads for itself.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import select
import signal
import sys
from collections.abc import Callable, Sequence
from typing import IO, Any

_LONGEST_WAIT = 10_000  # milliseconds; who takes longer was stopped, or is in a deadlock
_LENGTH = 8  # bytes that tell how long a message is
_INTERRUPTIONS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


def is_worth_it() -> bool:
    """Whether there is a core for another process; whoever has threads should not make one."""
    threading = sys.modules.get("threading")  # where nobody has loaded it, there are none
    has_threads = threading is not None and threading.active_count() > 1
    return sys.platform == "linux" and len(os.sched_getaffinity(0)) > 1 and not has_threads


class OtherProcess:
    """The process, if it could be had; it does not outlive the block."""

    def __init__(self) -> None:
        self._process = 0
        self._ends: tuple[int, ...] = ()  # of the pipe, the reading one first

    def __enter__(self) -> OtherProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Whatever happened here: it is gone, and so is the pipe."""
        self.stop()
        if self._process:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._process, 0)
            self._process = 0

    def stop(self) -> None:
        """Nothing more is wanted of it. Until it is gone takes a moment, in which others work."""
        ends, self._ends = self._ends, ()
        for end in ends:
            os.close(end)
        # Where a parent does not care for its children, the system forgets one that has ended.
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            if self._process and os.waitpid(self._process, os.WNOHANG) == (0, 0):
                os.kill(self._process, signal.SIGKILL)  # it is alive, and still ours
                return
        self._process = 0

    def begin(self, look: Callable[[IO[bytes]], object], *kept: int) -> None:
        """Let it look, and write what it finds; it has only those descriptors that are kept."""
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        try:
            # It is never interrupted: it would take back what is not its own to take back.
            signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTIONS)
            self._ends = os.pipe()
            self._process = os.fork()
            if not self._process:
                _look(look, kept, self._ends[1])
        except OSError:
            return  # no more processes, or no more descriptors
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    @property
    def is_there(self) -> bool:
        """Whether it may still send something."""
        return bool(self._process and self._ends)

    def answer(self) -> Any:
        """The one thing that it sends; None when there is none, or nobody knows when."""
        try:
            return self.receive(_LONGEST_WAIT)
        finally:
            self.stop()

    def receive(self, patience: int | None = None) -> Any:
        """What it has sent next; None when nothing came in time, or nothing will come any more.

        `patience` is in milliseconds, and without end by default.
        """
        if not self.is_there:
            return None
        reading, *writing = self._ends
        self._ends = (reading,)
        for end in writing:
            os.close(end)
        if patience is not None and not _comes_something(reading, patience):
            return None
        try:
            length = int.from_bytes(_exactly(reading, _LENGTH), "little")
            return marshal.loads(_exactly(reading, length))
        except (EOFError, ValueError, TypeError):
            self.stop()
            return None


def send(pipe: IO[bytes], value: Any) -> None:
    """In the other process: made of what marshal knows, numbers, strings, tuples and the like."""
    data = marshal.dumps(value)
    pipe.write(len(data).to_bytes(_LENGTH, "little") + data)
    pipe.flush()


def _comes_something(fd: int, patience: int) -> bool:
    waiting = select.poll()
    waiting.register(fd, select.POLLIN)
    return bool(waiting.poll(patience))


def _exactly(fd: int, length: int) -> bytes:
    pieces = []
    while length:
        piece = os.read(fd, min(length, 1 << 20))
        if not piece:
            raise EOFError
        pieces.append(piece)
        length -= len(piece)
    return b"".join(pieces)


def in_halves(
    items: Sequence[Any], work: Callable[[Sequence[Any]], list[Any]], worth_it: int, *kept: int
) -> list[Any]:
    """What `work` makes of the items, one of each; of so many another process takes one half."""
    if len(items) < worth_it or not is_worth_it():
        return work(items)
    mine, others = items[: len(items) // 2], items[len(items) // 2 :]
    with OtherProcess() as other:
        other.begin(lambda pipe: send(pipe, work(others)), *kept)
        made = work(mine)
        rest = other.answer()
    return made + (rest if isinstance(rest, list) else work(others))


def _look(look: Callable[[IO[bytes]], object], kept: tuple[int, ...], writing: int) -> None:
    """In the other process. Never returns, and runs nothing of what this one runs at its end."""
    with contextlib.suppress(BaseException):
        # It must not hold a lock or a terminal, nor keep its own pipe open for reading: once nobody
        # reads any more, writing into it fails, and it ends.
        for name in os.listdir("/proc/self/fd"):
            if int(name) not in (*kept, writing):
                with contextlib.suppress(OSError):
                    os.close(int(name))
        with os.fdopen(writing, "wb") as pipe:
            look(pipe)
    os._exit(0)
