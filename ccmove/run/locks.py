"""Our own lock, and the client's locks by its own protocol.

The client's lock is a directory beside the file. Whoever makes it holds it, refreshes its mtime
every few seconds and removes it; one that was not refreshed for 10 s is stale and may be taken.
We know a lock for ours by the mtime that we read back after we set it: nobody else's has the
same, also where times have no nanoseconds, since ours is refreshed before it gets stale. None of
this is flushed to disk: after a power cut nobody holds a lock, and one that is left is stale.
"""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from filelock import lock_descriptor

from ccmove.claude.layout import Layout
from ccmove.claude.reading import links_refused
from ccmove.errors import RefusedError, again
from ccmove.run import disk
from ccmove.run.manifest import Manifest, Wrote

STALE_AFTER = 10.0
REFRESH_EVERY = 3.0
WAIT = 15.0
Waiting = Callable[[str, int, int], None]  # told once what is waited for


@contextlib.contextmanager
def own_lock(layout: Layout) -> Iterator[None]:
    """One ccmove at a time; RefusedError when another one is running."""
    with links_refused():
        disk.ensure_directory(layout.own)
        fd = disk.open_lock(layout.lock)
    try:
        if not lock_descriptor(fd, blocking=False):
            raise RefusedError(
                f"another ccmove is running ({layout.lock} is locked)",
                again("wait until it is done, then try again"),
            )
        yield
    finally:
        with contextlib.suppress(OSError):  # the run is over, well or not, by now
            os.close(fd)  # which also releases it


def client_locks(layout: Layout, manifest: Manifest) -> list[Path]:
    """The client's locks that a run needs."""
    history_lock, config_lock = layout.client_locks
    needed = [history_lock] if manifest.history is not None else []
    if any(isinstance(op, Wrote) and op.place == "config" for op in manifest.written):
        needed.append(config_lock)
    return needed


class ClientLocks:
    """Holds the client's locks on these files for as short a time as possible."""

    def __init__(self, paths: Iterable[Path], waiting: Waiting | None = None) -> None:
        self.paths = tuple(paths)
        self.waiting = waiting
        self._held: dict[Path, int] = {}  # the mtime that was read back after it was set
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._keep_fresh, daemon=True)

    def __enter__(self) -> "ClientLocks":
        self._thread.start()
        try:
            for path in self.paths:
                self._acquire(path)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _acquire(self, path: Path) -> None:
        start = time.monotonic()
        said = False
        while not self._taken(path):
            waited = time.monotonic() - start
            if waited > WAIT:
                raise RefusedError(
                    f"{path} is held by a running Claude Code",
                    again("let it finish or exit it, then try again"),
                )
            if self.waiting and waited > 1 and not said:
                name = path.name.removesuffix(".lock")
                self.waiting(f"Waiting for Claude Code to release {name}, Ctrl-C to stop", 0, 0)
                said = True
            time.sleep(0.05)

    def _taken(self, path: Path) -> bool:
        """Make the lock directory; one that is stale is removed first. False while it is held."""
        remove_stale([path])
        try:
            disk.make_directory(path, flushed=False)
        except FileExistsError:
            return False
        try:
            self._held[path] = os.lstat(path).st_mtime_ns
        except OSError:
            disk.remove_directory(path, flushed=False)  # else nobody would know that it is ours
            raise
        return True

    def _keep_fresh(self) -> None:
        while not self._done.wait(REFRESH_EVERY):
            for path in list(self._held):
                with contextlib.suppress(OSError):
                    if self._is_ours(path):
                        disk.stamp(path)
                        self._held[path] = os.lstat(path).st_mtime_ns

    def _is_ours(self, path: Path) -> bool:
        """Not made again by someone who took it for stale."""
        return os.lstat(path).st_mtime_ns == self._held[path]

    def __exit__(self, *_: object) -> None:
        """Give the locks back; one that someone took over meanwhile is not ours to remove."""
        self._done.set()
        if self._thread.is_alive():
            self._thread.join()
        for path in list(self._held):
            with contextlib.suppress(FileNotFoundError):
                if self._is_ours(path):
                    disk.remove_directory(path, flushed=False)
            del self._held[path]


def remove_stale(paths: Iterable[Path]) -> None:
    """Remove locks that a dead run of ours, or anybody, has left."""
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            if time.time() - os.lstat(path).st_mtime > STALE_AFTER:
                disk.remove_directory(path, flushed=False)
