"""Opening and reading the state's files: no link is followed, and nothing but a file is read.

Another process begins with this before anything else is loaded, so it loads little itself.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ccmove.claude import nofollow
from ccmove.claude.layout import Layout
from ccmove.errors import LinkError, RefusedError
from ccmove.text import command_line

if TYPE_CHECKING:
    import hashlib

_BLOCK = 1 << 20


class Fingerprint(NamedTuple):
    """Enough to notice that a file is no longer the one that was looked at."""

    inode: int
    size: int
    mtime_ns: int
    device: int = 0

    @classmethod
    def of(cls, found: os.stat_result) -> Fingerprint:
        return cls(found.st_ino, found.st_size, found.st_mtime_ns, found.st_dev)


@contextlib.contextmanager
def links_refused() -> Iterator[None]:
    """Meeting a link is a refusal that names it."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):
            raise LinkError(error.filename) from None
        raise


def open_regular(path: Path) -> int | None:
    """A descriptor for reading, None when there is no such file; links and pipes are refused."""
    try:
        with links_refused():
            fd = nofollow.open_file(path, os.O_RDONLY | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise _not_a_file(path) from None
        if error.errno == errno.ENAMETOOLONG:
            return None
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise _not_a_file(path)
    return fd


def _not_a_file(path: Path) -> RefusedError:
    look = command_line(["ls", "-ld", str(path)])
    return RefusedError(f"{path} is not a regular file", f"look at it: {look}")


def reader(fd: int) -> Callable[[int, int], bytes]:
    """Read by offset from an open file; a short answer only at its end."""

    def read(offset: int, length: int) -> bytes:
        block = os.pread(fd, length, offset)
        while block and len(block) < length:
            more = os.pread(fd, length - len(block), offset + len(block))
            if not more:
                break
            block += more
        return block

    return read


def add_file(digest: hashlib._Hash, fd: int, size: int) -> None:
    """The first bytes of a file; as far as it goes, so that whoever compares sizes will notice.

    Through one and the same small buffer: fresh memory takes longer than reading.
    """
    block = memoryview(bytearray(min(_BLOCK, size)))
    position = 0
    while position < size and (length := os.preadv(fd, [block[: size - position]], position)):
        digest.update(block[:length])
        position += length


def refuse_link(path: Path) -> None:
    """A link where a directory of the state should be leads out of it."""
    if os.path.islink(path):
        raise LinkError(path)


def history_file(layout: Layout) -> Path:
    """The history itself: a link is followed inside of the state, and nowhere else."""
    real = Path(os.path.realpath(layout.history))
    if real != layout.history and not real.is_relative_to(layout.config_dir):
        raise LinkError(layout.history)
    return real
