"""Another process that reads for this one.

An interpreter does one thing at a time; another process has an interpreter of its own. It only
reads, answers through a pipe and ends. Whatever goes wrong with it, there is no answer, and this
process reads for itself.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable

from ccmove.lighttyping import IO, Any

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
        ends, self._ends = self._ends, ()
        for end in ends:
            os.close(end)
        if self._process:
            # Where a parent does not care for its children, the system forgets one that has ended.
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                if os.waitpid(self._process, os.WNOHANG) == (0, 0):  # it is alive, and still ours
                    os.kill(self._process, signal.SIGKILL)
                    os.waitpid(self._process, 0)
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

    def answer(self, load: Callable[[IO[bytes]], Any]) -> Any:
        """What `load` makes of the answer; None when there is none. The process is gone then."""
        if not self._process:
            return None
        reading, writing = self._ends
        self._ends = (reading,)
        os.close(writing)
        try:
            with os.fdopen(reading, "rb", closefd=False) as pipe:
                return load(pipe)
        except (EOFError, ValueError, TypeError):
            return None
        finally:
            self.end()


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
