"""What differs between Linux, macOS and Windows: asked here, so that the rest need not
ask.

Windows can't open a directory, so nothing there works relative to one: `Folder` stands
for either.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import shutil
import signal
import stat
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SYSTEM = sys.platform  # linux, darwin, win32
WINDOWS = SYSTEM == "win32"
# Characters that a file's name can't have, or should not.
NOT_IN_NAMES = "/\x7f" + "".join(map(chr, range(32))) + '<>:"\\|?*' * WINDOWS
MAC = SYSTEM == "darwin"

_fcntl: Any = importlib.import_module("fcntl") if not WINDOWS else None
# What a file system answers that has no such call; macOS knows two numbers of "not
# supported".
NO_CALL = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOTTY)
# Without O_BINARY, Windows turns \n into \r\n and ends a file at Ctrl-Z.
AS_IT_IS = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
AT_ONCE = getattr(
    os, "O_NONBLOCK", 0
)  # a pipe without a writer is waited for otherwise
INSIDE = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | AS_IT_IS
# On the way only the right to pass is needed: /home is often closed for reading.
ON_THE_WAY = INSIDE | getattr(os, "O_PATH", 0)
ENDING = [
    getattr(signal, name)
    for name in ("SIGTERM", "SIGHUP", "SIGBREAK")
    if hasattr(signal, name)
]
_STANDS_FOR_ANOTHER = (
    0x2000_0000  # of a reparse tag: links and junctions, not files of a cloud
)


@dataclass(frozen=True, slots=True)
class Folder:
    """A directory reached without following a link;
    a call in it takes `at(name)`, `dir_fd=fd`.
    """

    path: Path
    fd: int | None  # None on Windows: there its path is all there is

    def at(self, name: str) -> str:
        if self.fd is not None:
            return name
        return str(self.path / name)

    def scan(self) -> Any:
        return os.scandir(str(self.path) if self.fd is None else self.fd)

    def open(self, name: str) -> int:
        """For reading; Windows would follow a link."""
        if self.fd is None and is_link(self.lstat(name)):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
        flags = os.O_RDONLY | AT_ONCE | AS_IT_IS
        return os.open(self.at(name), flags, dir_fd=self.fd)

    def lstat(self, name: str) -> os.stat_result:
        return os.lstat(self.at(name), dir_fd=self.fd)


def full_fsync(fd: int) -> bool:
    """Flush it through the disk's own cache, which fsync on macOS does not; False where
    there is no such call. Any other failure counts: fsync, asked after it, may not know
    of it any more.
    """
    if not hasattr(_fcntl, "F_FULLFSYNC"):
        return False
    try:
        _fcntl.fcntl(fd, _fcntl.F_FULLFSYNC)
    except OSError as error:
        if error.errno not in NO_CALL:
            raise
        return False
    return True


def is_link(status: os.stat_result) -> bool:
    """Whether it stands for something elsewhere:
    a symbolic link, or a junction of Windows.
    """
    tag: int = getattr(status, "st_reparse_tag", 0)
    if stat.S_ISLNK(status.st_mode):
        return True
    return bool(tag & _STANDS_FOR_ANOTHER)


def is_foreign(status: os.stat_result) -> bool:
    """Whether it is another user's; Windows has access lists instead,
    which the system checks.
    """
    if WINDOWS:
        return False
    return status.st_uid != os.geteuid()


def mount_of(directory: Path) -> str:
    """Which mount it is on, where the system tells:
    two of one disk are two for a rename.
    """
    if not hasattr(os, "O_PATH"):
        return ""
    fd = os.open(directory, os.O_PATH | AS_IT_IS)
    try:
        told = Path(f"/proc/self/fdinfo/{fd}").read_text()
    except FileNotFoundError:  # there need not be a /proc
        return ""
    finally:
        os.close(fd)
    return told.partition("mnt_id:")[2].partition("\n")[0]


def has_room(directory: Path, size: int, files: int) -> bool:
    """Whether so many bytes in so many new files find room;
    not every file system counts files.
    """
    if WINDOWS:
        return shutil.disk_usage(directory).free >= size
    space = os.statvfs(directory)
    if space.f_blocks == 0:  # some network file systems do not tell
        return True
    if space.f_bavail * space.f_frsize < size:
        return False
    return space.f_files == 0 or space.f_favail >= files


def desktop_data(home: Path, environ: Mapping[str, str]) -> Path:
    if WINDOWS:
        return Path(environ.get("APPDATA") or home / "AppData" / "Roaming")
    if MAC:
        return home / "Library/Application Support"
    return home / ".config"


def looking_for(text: str, where: str, is_directory: bool) -> tuple[str, ...]:
    """What shows the lines that have a text;
    the path of a folder has many spellings on Windows.
    """
    if not WINDOWS:
        return "grep", "-rnF", text, where
    files = where
    if is_directory:
        files = f"{where}\\*"
    return "findstr", "/s", "/n", "/i", f"/c:{Path(text).name}", files


def programs_in(folder: Path) -> Iterator[str]:
    """Programs that work in a folder. Who has a file open psutil can only guess on
    Windows, and may wait for it for ever.
    """
    import psutil

    for process in psutil.process_iter():
        with contextlib.suppress(OSError, psutil.Error):
            if Path(process.cwd()).is_relative_to(folder):
                yield f"{process.name()} (pid {process.pid})"
