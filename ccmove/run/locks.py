"""Our own lock, and the client's locks by its own protocol.

The client's lock is a directory beside the file. Whoever makes it holds it, refreshes
its mtime every few seconds and removes it; one that was not refreshed for 10 s is stale
and may be taken. We know a lock for ours by the mtime that we read back after we set
it: nobody else's has the same, also where times have no nanoseconds, since ours is
refreshed before it gets stale. None of this is flushed to disk: after a power cut
nobody holds a lock, and one that is left is stale.
"""

import contextlib
import errno
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.reading import is_there, names_in
from ccmove.errors import LinkError, RefusedError
from ccmove.hints import again
from ccmove.run import disk
from ccmove.run.manifest import Manifest

STALE_AFTER = 10.0
REFRESH_EVERY = 3.0
WAIT = 15.0
# What a file system answers that has no locks.
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
Waiting = Callable[[str, int, int], None]  # told once what is waited for


@contextlib.contextmanager
def ccmove_lock(layout: Layout) -> Iterator[None]:
    """One ccmove at a time; RefusedError when another one is running."""
    disk.ensure_directory(layout.ccmove)
    fd = disk.open_lock(layout.lock)
    try:
        if not _takes_lock(fd, layout):
            raise RefusedError(
                f"another ccmove is running ({layout.lock} is locked)",
                again("wait until it is done, then try again"),
            )
        yield
    finally:
        with contextlib.suppress(OSError):  # the run is over, well or not, by now
            os.close(fd)  # which also releases it


@contextlib.contextmanager
def lock_of_run(layout: Layout) -> Iterator[None]:
    """The same; on a machine without any state nothing is left of it when the run
    brought nothing.
    """
    is_new_machine = not is_there(layout.config_dir)
    if is_new_machine:
        disk.make_directory(layout.config_dir)
    with ccmove_lock(layout):
        try:
            yield
        finally:
            if is_new_machine:
                _remove_unused(layout)


def _remove_unused(layout: Layout) -> None:
    """Whoever has our lock open by now does not take it: see below. Windows removes no
    file that is open.
    """
    left = set(names_in(layout.ccmove))
    empty = {layout.backups.name} & left  # or it is not removed
    if left - empty != {layout.lock.name}:
        return
    with contextlib.suppress(OSError):
        for name in empty:
            disk.remove_directory(layout.ccmove / name)
        disk.remove_file(layout.lock)
        disk.remove_directory(layout.ccmove)
        disk.remove_directory(layout.config_dir)


def _takes_lock(fd: int, layout: Layout) -> bool:
    """Whether nobody has it, and it is the one that others will find."""
    from filelock import lock_descriptor  # a preview takes no lock

    try:
        if not lock_descriptor(fd, blocking=False):
            return False
        found = os.lstat(layout.lock)
        return os.path.samestat(found, os.fstat(fd))
    except FileNotFoundError:
        return False
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        raise RefusedError(
            f"{layout.lock}: its file system has no locks ({error.strerror}), and "
            "without one two runs could meet",
            "run ccmove on the machine that has the disk, or mount it with locks",
        ) from None


def client_locks(layout: Layout, manifest: Manifest) -> list[Path]:
    """Those of the history and of the config file, if the run replaces these."""
    files = (layout.history, layout.real_config_file)
    locks = zip(files, layout.client_locks, strict=True)
    return [lock for file, lock in locks if file in manifest.replaced]


@contextlib.contextmanager
def held(paths: Iterable[Path], waiting: Waiting | None = None) -> Iterator[None]:
    """Hold these locks of the client, for as short a time as possible."""
    ours: dict[Path, int] = {}  # with the mtime that was read back after it was set
    done = threading.Event()
    thread = threading.Thread(target=_keep_fresh, args=(ours, done), daemon=True)
    thread.start()
    try:
        for path in paths:
            ours[path] = _acquire(path, waiting)
        yield
    finally:
        done.set()
        thread.join()
        for path in ours:
            with contextlib.suppress(FileNotFoundError):
                # Another time: someone took it for stale.
                if os.lstat(path).st_mtime_ns == ours[path]:
                    disk.remove_directory(path, flushed=False)


def _acquire(path: Path, waiting: Waiting | None) -> int:
    """Make the lock directory, when it is free; the mtime that it has then."""
    start = time.monotonic()
    has_told = False
    while True:
        remove_stale([path])
        with contextlib.suppress(FileExistsError):
            disk.make_directory(path, flushed=False)
            break
        waited = time.monotonic() - start
        if waited > WAIT:
            raise RefusedError(
                f"{path} is held by a running Claude Code",
                again("let it finish or exit it, then try again"),
            )
        if waiting and waited > 1 and not has_told:
            name = path.name.removesuffix(".lock")
            waiting(f"Waiting for Claude Code to release {name}, Ctrl-C to stop", 0, 0)
            has_told = True
        time.sleep(0.05)
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        # Else nobody would know that it is ours.
        disk.remove_directory(path, flushed=False)
        raise


def _keep_fresh(ours: dict[Path, int], done: threading.Event) -> None:
    while not done.wait(REFRESH_EVERY):
        for path in list(ours):
            with contextlib.suppress(OSError, LinkError):
                if os.lstat(path).st_mtime_ns == ours[path]:
                    disk.refresh(path)
                    ours[path] = os.lstat(path).st_mtime_ns


def remove_stale(paths: Iterable[Path]) -> None:
    """Remove locks that a dead run of ours, or anybody, has left."""
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            if time.time() - os.lstat(path).st_mtime > STALE_AFTER:
                disk.remove_directory(path, flushed=False)
