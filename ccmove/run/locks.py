"""Our own lock, and the client's locks by its own protocol.

The client's lock is a directory beside the file. Whoever makes it holds it, refreshes its mtime
every few seconds and removes it; one that was not refreshed for 10 s is stale and may be taken.
Ours are made under another name, marked by the nanoseconds of their mtime, and renamed into
place, so that they never appear unmarked: a later run knows what our dead one left behind.
None of this is flushed to disk: after a power cut nobody holds a lock, and one that is still
there is stale.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.reading import links_refused
from ccmove.errors import RefusedError, again
from ccmove.run import disk as files

STALE_AFTER = 10.0
REFRESH_EVERY = 3.0
WAIT = 15.0
SECOND = 1_000_000_000


@contextlib.contextmanager
def own_lock(layout: Layout) -> Iterator[None]:
    """One ccmove at a time; RefusedError when another one is at work.

    This is the lock that the package filelock takes, without the package: loading it takes longer
    than planning a move, and it would follow a link on the way to the file.
    """
    with links_refused():
        files.ensure_directory(layout.own)
        fd = files.open_lock(layout.lock)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RefusedError(
                f"another ccmove is at work ({layout.lock} is locked)",
                again("wait until it is done, then run it again"),
            ) from None
        yield
    finally:
        with contextlib.suppress(OSError):  # the run is over, well or not, by now
            os.close(fd)  # which also releases it


class ClientLocks:
    """Holds the client's locks on these files for as short a time as possible."""

    def __init__(self, paths: list[Path], mark: int) -> None:
        self.paths = paths
        self.mark = mark
        self._held: dict[Path, int] = {}
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> ClientLocks:
        try:
            for path in self.paths:
                self._acquire(path)
        except BaseException:
            self.release()
            raise
        self._thread = threading.Thread(target=self._keep_fresh, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _acquire(self, path: Path) -> None:
        deadline = time.monotonic() + WAIT
        while True:
            try:
                self._held[path] = self._make(path)
                return
            except FileExistsError:
                if self._take_over(path):
                    continue
            if time.monotonic() > deadline:
                raise RefusedError(
                    f"{path} is held by a running Claude Code",
                    again("let it finish or leave it, then run it again"),
                )
            time.sleep(0.05)

    def _make(self, path: Path) -> int:
        """Make the lock directory, marked from its first moment on; its inode."""
        fresh = prepared_name(path, self.mark)
        with contextlib.suppress(FileNotFoundError):
            files.remove_directory(fresh, flushed=False)
        files.make_directory(fresh, flushed=False)
        try:
            files.stamp(fresh, _marked_now(self.mark))
            inode = os.lstat(fresh).st_ino
            files.rename_new(fresh, path, flushed=False)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                files.remove_directory(fresh, flushed=False)
            raise
        return inode

    def _take_over(self, path: Path) -> bool:
        """Remove a lock that is stale or that our own dead run left; False while it is held."""
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            return True
        age = time.time() - found.st_mtime
        if age <= STALE_AFTER and found.st_mtime_ns % SECOND != self.mark:
            return False
        with contextlib.suppress(FileNotFoundError):
            files.remove_directory(path, flushed=False)
        return True

    def _keep_fresh(self) -> None:
        while not self._done.wait(REFRESH_EVERY):
            for path, inode in list(self._held.items()):
                with contextlib.suppress(OSError):
                    if self._is_ours(path, inode):
                        files.stamp(path, _marked_now(self.mark))

    def _is_ours(self, path: Path, inode: int) -> bool:
        """Not made anew by someone who took it over: by the mark too, as inodes are used again."""
        found = os.lstat(path)
        return found.st_ino == inode and found.st_mtime_ns % SECOND == self.mark

    def release(self) -> None:
        """Give the locks back; one that someone took over meanwhile is not ours to remove."""
        self._done.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        for path, inode in list(self._held.items()):
            with contextlib.suppress(FileNotFoundError):
                if self._is_ours(path, inode):
                    files.remove_directory(path, flushed=False)
            del self._held[path]


def new_mark() -> int:
    """Nanoseconds by which this run's locks are told from all others."""
    return 1_000 + int.from_bytes(os.urandom(4)) % 900_000_000


def prepared_name(path: Path, mark: int) -> Path:
    """The name under which a lock of ours is made before it takes its place."""
    return path.with_name(f"{path.name}.ccmove-{mark}")


def remove_left_over(path: Path, mark: int) -> None:
    """Remove what a dead run with this mark left of its lock; never someone else's."""
    with contextlib.suppress(FileNotFoundError):
        files.remove_directory(prepared_name(path, mark))
    with contextlib.suppress(FileNotFoundError):
        if os.lstat(path).st_mtime_ns % SECOND == mark:
            files.remove_directory(path)


def _marked_now(mark: int) -> int:
    return int(time.time()) * SECOND + mark
