"""Work on blocks of a large file on another core.

Hashing, comparing and the system's reading and writing all release the interpreter, so a thread
is enough.
"""

from __future__ import annotations

import hashlib
import queue
import threading
from collections.abc import Callable

WORTH_A_THREAD = 1 << 18


class Background:
    """Gives blocks to a function, in order, on another thread; what it raises is raised by `wait`.

    Only a few blocks wait at a time, so that memory stays small. Until the first one that is
    `worth` a thread there is none.
    """

    def __init__(self, work: Callable[[bytes], None], worth: int = WORTH_A_THREAD) -> None:
        self._work = work
        self._worth = worth
        self._blocks: queue.Queue[bytes | None] = queue.Queue(maxsize=4)
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def put(self, block: bytes) -> None:
        if self._thread is None and len(block) < self._worth:
            self._do(block)
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
        self._blocks.put(block)

    def _run(self) -> None:
        while (block := self._blocks.get()) is not None:
            self._do(block)  # after an error too: whoever puts blocks must not wait for ever

    def _do(self, block: bytes) -> None:
        try:
            if self._error is None:
                self._work(block)
        except BaseException as error:
            self._error = error

    def wait(self) -> None:
        """Until all that was put is done; more may follow."""
        if self._thread is not None:
            self._blocks.put(None)
            self._thread.join()
            self._thread = None
        if self._error is not None:
            raise self._error


class BackgroundHash:
    """SHA-256 of blocks; one that was begun elsewhere can be gone on with."""

    def __init__(self, begun: BackgroundHash | None = None) -> None:
        self._digest = begun.digest() if begun is not None else hashlib.sha256()
        self._hashing = Background(self._digest.update)

    def update(self, block: bytes) -> None:
        self._hashing.put(block)

    def digest(self) -> hashlib._Hash:
        """A copy of the hash of everything so far; more may follow."""
        self._hashing.wait()
        return self._digest.copy()

    def hexdigest(self) -> str:
        return self.digest().hexdigest()


def hashing(data: bytes) -> Callable[[], str]:
    """Begins to hash; what is returned waits for the result."""
    begun = BackgroundHash()
    begun.update(data)
    return begun.hexdigest
