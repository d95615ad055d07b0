"""Work on blocks of a large file on another core.

Hashing, comparing and the system's reading and writing all release the interpreter, so a thread
is enough.
"""

from __future__ import annotations

import hashlib
import os
import queue
import threading
from collections.abc import Callable

from ccmove.claude.reading import add_file

WORTH_A_THREAD = 1 << 18

Job = Callable[[], None]


class Background:
    """Does jobs in order on another thread; what one of them raises is raised by `wait`.

    Only a few jobs wait at a time, so that what they hold stays small. A small job is done at once
    while there is no thread, and every job where none can be had.
    """

    def __init__(self) -> None:
        self._jobs: queue.Queue[Job | None] = queue.Queue(maxsize=4)
        self._thread: threading.Thread | None = None
        self._ends = False  # the thread, once it has done what it has
        self._error: BaseException | None = None

    def __enter__(self) -> Background:
        return self

    def __exit__(self, *_: object) -> None:
        """Whatever happened: nothing of it goes on behind the block."""
        self.end()
        self._join()

    def do(self, job: Job, size: int = WORTH_A_THREAD) -> None:
        if self._ends:
            self._join()
        if self._thread is None and size >= WORTH_A_THREAD:
            self._thread = self._started()
        if self._thread is not None:
            self._jobs.put(job)
        elif self._error is None:
            try:
                job()
            except Exception as error:  # Ctrl-C does not wait
                self._error = error

    def _started(self) -> threading.Thread | None:
        thread = threading.Thread(target=self._run, daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no more threads
            return None
        return thread

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                if self._error is None:  # else whoever brings more must not wait for ever
                    job()
            except BaseException as error:
                self._error = error

    def end(self) -> None:
        """Nobody need wait: the thread ends when all is done. More may follow."""
        if self._thread is not None and not self._ends:
            self._jobs.put(None)
            self._ends = True

    def wait(self) -> None:
        """Until all is done; more may follow."""
        self.end()
        self._join()
        if self._error is not None:
            raise self._error

    def _join(self) -> None:
        if self._thread is not None:
            self._thread.join()
        self._thread, self._ends = None, False


class BackgroundHash:
    """SHA-256 of blocks, or of the beginning of a file."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._hashing = Background()

    def update(self, block: bytes) -> None:
        self._hashing.do(lambda: self._digest.update(block), len(block))

    def read(self, fd: int, size: int) -> None:
        """Of the first bytes of a file; its descriptor may be closed meanwhile."""
        own = os.dup(fd)
        self._hashing.do(lambda: self._read(own, size), size)
        self.end()

    def _read(self, fd: int, size: int) -> None:
        try:
            add_file(self._digest, fd, size)
        finally:
            os.close(fd)

    def end(self) -> None:
        """Nobody need ask for the hash: no thread stays behind. More may follow."""
        self._hashing.end()

    def hexdigest(self) -> str:
        """The hash of everything so far; more may follow."""
        self._hashing.wait()
        return self._digest.hexdigest()


def hashing(data: bytes) -> Callable[[], str]:
    """Begins to hash; what is returned waits for the result."""
    begun = BackgroundHash()
    begun.update(data)
    return begun.hexdigest
