"""A file system that looks names up as APFS does: it keeps their case and Unicode form,
and takes `Foo` and `foo`, `é` as one code point and as two, for the same name.

    python -m tests.systems.apfs DIRECTORY MOUNT_POINT

shows DIRECTORY at MOUNT_POINT until `fusermount3 -u MOUNT_POINT`. It needs root,
/dev/fuse, libfuse and the package mfusepy. Inodes, hard links, links and nanoseconds
are those of DIRECTORY. There is no rename that refuses to replace, as on most such file
systems, so that its replacement is tried.
"""

import errno
import os
import sys
import tempfile
import unicodedata
from typing import Any

import mfusepy

_TIMES = ("st_atime", "st_mtime", "st_ctime")
_STATUS = ("st_mode", "st_ino", "st_nlink", "st_uid", "st_gid", "st_size")
_SPACE = ("f_bavail", "f_bfree", "f_blocks", "f_bsize", "f_favail", "f_ffree", "f_files", "f_flag",
          "f_frsize", "f_namemax")  # fmt: skip


def folded(name: str) -> str:
    """Names for which this is the same are the same name."""
    return unicodedata.normalize("NFD", name).casefold()


class ApfsLike(mfusepy.Operations):  # type: ignore[misc]  # untyped
    """Every call on a path goes to the name that is there, or to the one that was asked
    for.
    """

    use_ns = True

    def __init__(self, root: str) -> None:
        self.root = root
        # libfuse renames a file that is removed while it is open: not in its own
        # directory, please.
        self.removed = tempfile.mkdtemp(prefix="removed-", dir=os.path.dirname(root))

    def real(self, path: str) -> str:
        """Where this is; what is not there yet has its name as it was given."""
        found, last = self.root, os.path.basename(path)
        if last.startswith(".fuse_hidden"):
            return os.path.join(self.removed, last)
        if os.path.lexists(found + path):
            return found + path  # all names as they are: nearly always, and quicker
        for name in filter(None, path.split("/")):
            found = os.path.join(found, self._spelled(found, name))
        return found

    def _spelled(self, directory: str, name: str) -> str:
        if os.path.lexists(os.path.join(directory, name)):
            return name
        try:
            there = os.listdir(directory)
        except OSError:
            return name
        return next((other for other in there if folded(other) == folded(name)), name)

    def named(self, path: str) -> str:
        """The same, but the last name is just as it was given."""
        return os.path.join(os.path.dirname(self.real(path)), os.path.basename(path))

    # -- looking --------------------------------------------------------------------------------

    def getattr(self, path: str, fh: int | None = None) -> dict[str, int]:
        return self._status(self.real(path))

    def _status(self, real: str) -> dict[str, int]:
        status = os.lstat(real)
        times = {name: getattr(status, f"{name}_ns") for name in _TIMES}
        return {name: getattr(status, name) for name in _STATUS} | times

    def readdir(self, path: str, fh: int) -> list[Any]:
        here = self.real(path)
        names = [".", "..", *os.listdir(here)]
        return [(name, self._status(f"{here}/{name}"), 0) for name in names]

    def readlink(self, path: str) -> str:
        return os.readlink(self.real(path))

    def statfs(self, path: str) -> dict[str, int]:
        space = os.statvfs(self.root)
        return {name: getattr(space, name) for name in _SPACE}

    # -- names ----------------------------------------------------------------------------------

    def mkdir(self, path: str, mode: int) -> None:
        if os.path.lexists(self.real(path)):
            raise mfusepy.FuseOSError(errno.EEXIST)
        os.mkdir(self.named(path), mode)

    def mknod(self, path: str, mode: int, dev: int) -> None:
        os.mknod(self.real(path), mode, dev)

    def rmdir(self, path: str) -> None:
        os.rmdir(self.real(path))

    def unlink(self, path: str) -> None:
        os.unlink(self.real(path))

    def symlink(self, target: str, source: str) -> None:
        os.symlink(source, self.named(target))

    def link(self, target: str, source: str) -> None:
        os.link(self.real(source), self.named(target))

    def rename(self, old: str, new: str) -> None:
        source, target = self.real(old), self.real(new)
        if source == target or not os.path.lexists(target):
            target = self.named(new)  # a free name, or only the spelling changes
        os.rename(source, target)  # over a file, which keeps the name that it has

    # -- content --------------------------------------------------------------------------------

    def create(self, path: str, mode: int, fi: Any = None) -> int:
        return os.open(self.real(path), os.O_RDWR | os.O_CREAT, mode)

    def open(self, path: str, flags: int) -> int:
        return os.open(self.real(path), flags & ~os.O_EXCL & ~os.O_CREAT)

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        return os.pread(fh, size, offset)

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
        return os.pwrite(fh, data, offset)

    def truncate(self, path: str, length: int, fh: int | None = None) -> None:
        os.truncate(self.real(path), length)

    def fsync(self, path: str, datasync: int, fh: int) -> None:
        os.fsync(fh)

    def flush(self, path: str, fh: int) -> None:
        pass

    def release(self, path: str, fh: int) -> None:
        os.close(fh)

    # -- attributes -----------------------------------------------------------------------------

    def chmod(self, path: str, mode: int) -> None:
        os.chmod(self.real(path), mode)

    def chown(self, path: str, uid: int, gid: int) -> None:
        os.chown(self.real(path), uid, gid, follow_symlinks=False)

    def utimens(self, path: str, times: tuple[int, int] | None = None) -> None:
        os.utime(self.real(path), ns=times, follow_symlinks=False)


if __name__ == "__main__":
    mfusepy.FUSE(
        ApfsLike(sys.argv[1]),
        sys.argv[2],
        foreground=True,
        nothreads=True,
        use_ino=True,
        default_permissions=True,  # or nothing is closed to anybody
        attr_timeout=0,
        entry_timeout=0,
    )
