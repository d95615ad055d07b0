"""Open files and directories without following any link, not even one put there a moment ago.

A directory is opened first and then asked for its path, or reached step by step, each relative
to the one before: either way there is no gap between looking at a path and using it. A link in
the way is an OSError with ELOOP and its full path.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

_NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC
_INSIDE = os.O_RDONLY | os.O_DIRECTORY | _NO_LINK
# On the way only the right to pass is needed: /home is often closed for reading.
_ON_THE_WAY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | _NO_LINK


@contextlib.contextmanager
def directory(path: Path) -> Iterator[int]:
    """A descriptor of a directory; an error of what is done with it names its full path."""
    fd = _at_once(path)
    if fd is None:
        fd = _step_by_step(path)
    try:
        yield fd
    except OSError as error:
        _complete(error, path)
        raise
    finally:
        os.close(fd)


def _at_once(path: Path) -> int | None:
    """The directory, if the system tells of it that it is the one with this very path.

    A link on the way would show in that path, and so would a rename; then, and where the system
    does not tell, the steps say what is in the way. They take two calls for each part of the path.
    """
    try:
        fd = os.open(path, _INSIDE)
    except OSError:
        return None
    try:
        if os.readlink(f"/proc/self/fd/{fd}") == str(path):
            return fd
    except OSError:
        pass
    os.close(fd)
    return None


def _step_by_step(path: Path) -> int:
    last = len(path.parts)
    fd = os.open(path.anchor, _ON_THE_WAY if last > 1 else _INSIDE)
    try:
        for depth in range(2, last + 1):
            deeper = _enter(fd, path.parts[:depth], _INSIDE if depth == last else _ON_THE_WAY)
            os.close(fd)
            fd = deeper
    except OSError as error:
        os.close(fd)
        _complete(error, path)
        raise
    return fd


def open_file(path: Path, flags: int, mode: int = 0o600) -> int:
    """A descriptor of a file."""
    with directory(path.parent) as parent:
        return os.open(path.name, flags | _NO_LINK, mode, dir_fd=parent)


def lstat(path: Path) -> os.stat_result:
    """What is known about the thing itself."""
    with directory(path.parent) as parent:
        return os.lstat(path.name, dir_fd=parent)


def is_there(path: Path) -> bool:
    """Whether anything has this name. When that can't be told, it is an error and not a no:
    something of the user's that is taken for gone would be lost."""
    try:
        os.lstat(path)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
            return False
        raise
    return True


def listdir(path: Path) -> list[str]:
    """The names in a directory."""
    with directory(path) as fd:
        return os.listdir(fd)


def _enter(parent: int, parts: tuple[str, ...], flags: int) -> int:
    name = parts[-1]
    try:
        return os.open(name, flags, dir_fd=parent)
    except OSError as error:
        error.filename = str(Path(*parts))
        # Asked for a directory, Linux says of a link that it is none.
        if error.errno == errno.ENOTDIR and stat.S_ISLNK(os.lstat(name, dir_fd=parent).st_mode):
            error = OSError(errno.ELOOP, os.strerror(errno.ELOOP), error.filename)
        raise error from None


def _complete(error: OSError, directory: Path) -> None:
    """Calls relative to a descriptor know the last name only; the second of two is the inner."""
    if isinstance(error.filename2, str) and not os.path.isabs(error.filename2):
        error.filename2 = str(directory / error.filename2)
    elif error.filename is None or isinstance(error.filename, int):
        error.filename = str(directory)
    elif isinstance(error.filename, str):
        error.filename = str(directory / error.filename)  # an absolute one stays as it is
