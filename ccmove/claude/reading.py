"""Open and read the state's files without following any link, not even one put there
just now.

A directory is reached step by step, each relative to the one before, so that there is
no gap between looking at a path and using it (on Windows, which can't do that, each
step is looked at). A link in the way is refused by its full path.
"""

from __future__ import annotations

import _thread
import contextlib
import errno
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from queue import SimpleQueue
from typing import BinaryIO

from ccmove.errors import LinkError, RefusedError, StaleLookError
from ccmove.hints import again, look_at
from ccmove.rewrite.history import Read, Tick
from ccmove.system import INSIDE, ON_THE_WAY, WINDOWS, Folder, is_link
from ccmove.text import as_text, readable_size

LARGEST_DOCUMENT = 1 << 30
MOST_WAITING = 4  # blocks for another thread
_BLOCK = 1 << 20
_GONE = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG}
if WINDOWS:
    _GONE.add(errno.EINVAL)  # which it says of `a*b`


@contextlib.contextmanager
def directory(path: Path) -> Iterator[Folder]:
    """A directory; an error of what is done with it names its full path."""
    fd: int | None = None
    try:
        names = path.parts or (os.curdir,)
        for depth in range(1, len(names) + 1):
            flags = ON_THE_WAY
            if depth == len(names):
                flags = INSIDE
            above, fd = fd, _enter(fd, names[:depth], flags)
            if above is not None:
                os.close(above)
        yield Folder(path, fd)
    except OSError as error:
        _complete(error, path)
        if error.errno == errno.ELOOP:
            raise LinkError(error.filename) from None
        raise
    finally:
        # Nothing was written through it; failing here would hide that the work was
        # done.
        with contextlib.suppress(OSError):
            if fd is not None:
                os.close(fd)


def _enter(parent: int | None, names: tuple[str, ...], flags: int) -> int | None:
    """Open the next directory on the way; a link is refused by its path."""
    name = names[-1]
    if parent is None:  # the first of all, or on Windows
        name = os.path.join(*names)
    try:
        if not WINDOWS:
            return os.open(name, flags, dir_fd=parent)
        status = os.lstat(name)
        if stat.S_ISDIR(status.st_mode) and not is_link(status):
            return None
        what = os.strerror(errno.ENOTDIR)
        raise OSError(errno.ENOTDIR, what)
    except OSError as error:
        path = Path(*names)
        error.filename = str(path)
        # Asked for a directory, Linux says of a link that it is not one.
        is_other = error.errno == errno.ENOTDIR
        if is_other and is_link(os.lstat(name, dir_fd=parent)):
            raise LinkError(path) from None
        raise


def _complete(error: OSError, directory: Path) -> None:
    """Calls relative to a descriptor know the last name only;
    the second of two is the inner. An absolute one stays as it is.
    """
    inner = error.filename2
    if isinstance(inner, str) and not os.path.isabs(inner):
        error.filename2 = str(directory / inner)
        return
    name = ""
    if isinstance(error.filename, str):
        name = error.filename
    error.filename = str(directory / name)


def open_file(path: Path) -> int:
    """A descriptor for reading, whatever it is."""
    with directory(path.parent) as parent:
        return parent.open(path.name)


def is_there(path: Path | str) -> bool:
    """Whether anything has this name. When that can't be told, it is an error and not a
    no: something of the user's that is taken for gone would be lost.
    """
    try:
        os.lstat(path)
    except OSError as error:
        if error.errno in _GONE:
            return False
        raise
    return True


def ignores_case(path: Path) -> bool:
    """Whether names in the place where `path` is mean the same in any case."""
    other = path.with_name(path.name.swapcase())
    if other.name == path.name:
        return False
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False


def refuse_link(path: Path) -> None:
    """A link where a directory of the state should be leads out of it."""
    if is_there(path) and is_link(os.lstat(path)):
        raise LinkError(path)


def open_regular(path: Path) -> BinaryIO | None:
    """A file to read, None when there is no such file; links and pipes are refused."""
    refusal = RefusedError(f"{path} is not a regular file", look_at(path))
    try:
        fd = open_file(path)
    except OSError as error:
        if error.errno in _GONE:
            return None
        # A socket; a directory of Windows.
        if error.errno == errno.ENXIO or os.path.isdir(path):
            raise refusal from None
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise refusal
    return open(fd, "rb")


def open_again(path: Path) -> BinaryIO:
    """A file to read that was there; StaleLookError when it is gone."""
    file = open_regular(path)
    if file is None:
        raise StaleLookError(f"{path} is gone", again("try again"))
    return file


def names_in(path: Path) -> list[str]:
    """The names in a directory of the state; none when there is no such directory."""
    try:
        with directory(path) as folder, folder.scan() as entries:
            return sorted(entry.name for entry in entries)
    except (FileNotFoundError, NotADirectoryError):
        return []


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Enough to notice that a file is no longer the one that was looked at."""

    inode: int
    size: int
    mtime_ns: int
    device: int = 0

    @classmethod
    def of(cls, found: os.stat_result) -> Fingerprint:
        return cls(found.st_ino, found.st_size, found.st_mtime_ns, found.st_dev)


@dataclass(frozen=True)
class Document:
    """A small file as it was when it was read."""

    path: Path
    data: bytes
    seen: Fingerprint

    @cached_property
    def text(self) -> str:
        return as_text(self.data)


def read_document(path: Path, largest: int = LARGEST_DOCUMENT) -> Document | None:
    """The whole of a small file, or None when there is none."""
    opened = open_regular(path)
    if opened is None:
        return None
    with opened as file:
        seen = Fingerprint.of(os.fstat(file.fileno()))
        if seen.size > largest:
            limit = readable_size(largest)
            what = f"{path} is larger than {limit}, which can't be right"
            raise RefusedError(what, look_at(path))
        data = file.read(seen.size + 1)
    if len(data) != seen.size:
        raise StaleLookError(f"{path} changed while it was read", again("try again"))
    return Document(path, data, seen)


@contextlib.contextmanager
def open_history(path: Path) -> Iterator[tuple[Read, Fingerprint]]:
    """How to read the history, and what it is now; one that is missing is empty."""
    opened = open_regular(path)
    if opened is None:
        yield lambda _offset, _length: b"", Fingerprint(0, 0, 0)
        return
    with opened as file:
        yield reader(file), Fingerprint.of(os.fstat(file.fileno()))


@contextlib.contextmanager
def handed_over(
    take: Callable[[Iterator[bytes]], None],
) -> Iterator[Callable[[bytes], None]]:
    """Blocks for another thread, which takes all of them. Who hands over too many has
    to wait: else they would pile up in memory.
    """
    waiting: SimpleQueue[bytes | None] = SimpleQueue()
    errors: list[BaseException] = []
    # Without `threading`: Ctrl-C between two of its lines can leave a lock held for
    # ever.
    at_work = _thread.allocate_lock()

    def take_all() -> None:
        try:
            take(iter(waiting.get, None))
        except BaseException as error:
            errors.append(error)
        at_work.release()

    def hand_over(block: bytes) -> None:
        waiting.put(block)
        while waiting.qsize() > MOST_WAITING and at_work.locked():
            time.sleep(0.0005)

    at_work.acquire()
    _thread.start_new_thread(take_all, ())
    try:
        yield hand_over
    finally:
        waiting.put(None)  # else that thread would never end
    at_work.acquire()
    if errors:
        raise errors[0]


def reader(file: BinaryIO) -> Read:
    """Read by offset from an open file; a short answer only at its end."""

    def read(offset: int, length: int) -> bytes:
        file.seek(offset)
        return file.read(length)

    return read


def sha256_of(path: Path) -> str:
    """The hash of a file; a link is refused."""
    with open(open_file(path), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def add_to_hash(
    digest: hashlib._Hash, read: Read, start: int, end: int, tick: Tick = None
) -> None:
    """Add these bytes of a file, as far as it goes; `tick` is told how far so far."""
    while start < end and (block := read(start, min(_BLOCK, end - start))):
        digest.update(block)
        start += len(block)
        if tick:
            tick(start)
