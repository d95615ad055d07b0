"""The only module that changes the disk.

Its contract, which a system-call trace can check:

- A file of the user's or the client's is never opened for writing. New content is
  written beside it under a new name (O_CREAT|O_EXCL|O_NOFOLLOW, 0600), flushed to disk,
  given mode and owner, and renamed.
- After every change of a directory of the user's that directory is flushed, before
  anything else. Our own directories, and those in which files are staged, are flushed
  before the manifest changes, which is what builds on them. The client's locks need not
  survive a power cut.
- Only two files of ours are appended to: the record of progress, through one descriptor
  and flushed after every line, and the staged history, by what came meanwhile.
- Nothing is renamed over something else, except a staged file over the one it replaces.
- Parents are opened without following links, and every call works relative to that
  descriptor: a link put there by someone else leads to an error, not astray.
- Directories go by rmdir, when empty. Only a backup that is pruned, and what of an
  archive is not needed, go with all that is in them.

Limits: a file system that lies about fsync can't be helped. Where a directory can't be
flushed (some network file systems say EINVAL), the change itself is still atomic.
"""

import contextlib
import ctypes
import errno
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ccmove.claude.reading import directory, names_in, open_file
from ccmove.errors import RefusedError
from ccmove.hints import again
from ccmove.system import (
    AS_IT_IS,
    AT_ONCE,
    MAC,
    NO_CALL,
    WINDOWS,
    Folder,
    full_fsync,
    programs_in,
)

BLOCK = 1 << 20
NO_REPLACE = 1  # Linux: RENAME_NOREPLACE
NO_REPLACE_MAC = 4  # RENAME_EXCL
# What a file system answers that can't make a hard link there.
NO_LINK = (errno.EXDEV, errno.EPERM, errno.ENOTSUP, errno.EMLINK)


@dataclass(frozen=True, slots=True)
class Attributes:
    """Mode and owner of the file that a staged one will replace."""

    mode: int = 0o600
    uid: int = -1
    gid: int = -1
    mtime_ns: int | None = None

    @classmethod
    def of(cls, found: os.stat_result, mtime_ns: int | None = None) -> "Attributes":
        mode = stat.S_IMODE(found.st_mode)
        return cls(mode, found.st_uid, found.st_gid, mtime_ns)


def flush(path: Path) -> None:
    """Flush a directory: names that were made, changed or removed in it."""
    with directory(path) as folder:
        _flush(folder)


def _flush(folder: Folder) -> None:
    if folder.fd is None:
        return
    try:
        fsync(folder.fd)
    except OSError as error:
        if error.errno not in (*NO_CALL, errno.EBADF):
            raise


def fsync(fd: int) -> None:
    if not full_fsync(fd):
        os.fsync(fd)


def _open(parent: Folder, name: str, flags: int) -> int:
    return os.open(parent.at(name), flags | AS_IT_IS, 0o600, dir_fd=parent.fd)


def write_new(
    path: Path, pieces: Iterable[bytes], attributes: Attributes | None = None
) -> None:
    """Write a file that must not exist yet, and flush it.

    Its name is flushed by whoever renames it into place, or by `flush`. A piece is in
    the file when the next one is asked for, and can be read back from then on.
    """
    _write(path, os.O_CREAT | os.O_EXCL, pieces, attributes or Attributes())


def append(path: Path, data: bytes, attributes: Attributes) -> None:
    """Add to a file that we staged, and flush it."""
    _write(path, os.O_APPEND, [data], attributes)


def _write(
    path: Path, how: int, pieces: Iterable[bytes], attributes: Attributes
) -> None:
    """The owner comes before the mode, which it resets, and the date after the last
    piece; on Windows after the file is closed, which sets it too.
    """
    with directory(path.parent) as parent:
        fd = _open(parent, path.name, os.O_WRONLY | how)
        try:
            now = Attributes.of(os.fstat(fd))
            owner = (attributes.uid, attributes.gid)
            as_now = (-1, -1), (now.uid, now.gid)
            if not WINDOWS and owner not in as_now:
                os.fchown(fd, *owner)
            if not WINDOWS and now.mode != attributes.mode:
                os.fchmod(fd, attributes.mode)
            for piece in pieces:
                _write_all(fd, piece)
            if not WINDOWS:
                _set_date(fd, attributes)
            fsync(fd)
        finally:
            os.close(fd)
        if WINDOWS:
            _set_date(path, attributes)


def _set_date(file: int | Path, attributes: Attributes) -> None:
    if attributes.mtime_ns is not None:
        os.utime(file, ns=(attributes.mtime_ns, attributes.mtime_ns))


def _write_all(fd: int, data: bytes) -> None:
    """All of it: os.write may write less than it was given."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def open_record(path: Path) -> int:
    """A descriptor of our record of progress, which is there, to add lines to."""
    with directory(path.parent) as parent:
        return _open(parent, path.name, os.O_WRONLY | os.O_APPEND | AT_ONCE)


def add_line(fd: int, line: bytes) -> None:
    """Add a line to the record of progress; it is on disk when this returns."""
    _write_all(fd, line)
    fsync(fd)


def save(source: Path, saved: Path) -> None:
    """Keep a large file under another name as well: by a hard link, or by a copy.

    A link is not frozen: until the file is replaced, what is appended to it reaches
    both names.
    """
    with directory(source.parent) as old, directory(saved.parent) as new:
        try:
            os.link(
                old.at(source.name),
                new.at(saved.name),
                src_dir_fd=old.fd,
                dst_dir_fd=new.fd,
                follow_symlinks=False,
            )
            return
        except OSError as error:
            if error.errno not in NO_LINK:
                raise
    with open(open_file(source), "rb") as file:
        blocks = iter(lambda: file.read(BLOCK), b"")
        write_new(saved, blocks)


def replace(staged: Path, target: Path) -> None:
    """Put a staged file in the place of `target`, both in one directory."""
    with directory(target.parent) as parent, _explained(target):
        old = parent.at(staged.name)
        new = parent.at(target.name)
        os.replace(old, new, src_dir_fd=parent.fd, dst_dir_fd=parent.fd)
        _flush(parent)


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Windows refuses to rename what a program has open,
    or what holds such a file: say which.
    """
    try:
        yield
    except OSError as error:
        if WINDOWS and isinstance(error, PermissionError):
            error.strerror = f"in use by {_users_of(path)}"
        # Preflight has seen that both are on one file system.
        if error.errno == errno.EXDEV:
            where = "on an overlay (a container?) or across a mount"
            error.strerror = f"can't be renamed here: {where}"
            error.filename = str(path)
            error.filename2 = None
        raise


def _users_of(path: Path) -> str:
    return ", ".join(programs_in(path)) or "some program"


def refuse_open(path: Path) -> None:
    """A file that a program has open Windows would not let us replace. Only a rename
    tells; to its own name it changes nothing.
    """
    try:
        if WINDOWS and os.path.exists(path):
            os.rename(path, path)
    except PermissionError:
        what = f"{path} is in use by {_users_of(path.parent)}"
        raise RefusedError(what, again("close it, then")) from None


def remove_file(path: Path, *, flushed: bool = True) -> None:
    """Remove a file of ours; it may be gone already."""
    accepted = contextlib.suppress(FileNotFoundError, NotADirectoryError)
    with accepted, directory(path.parent) as parent:
        os.unlink(parent.at(path.name), dir_fd=parent.fd)
        if flushed:
            _flush(parent)


def rename_new(source: Path, target: Path) -> None:
    """Rename to a name that must be free: FileExistsError when it is not."""
    with (
        directory(source.parent) as old,
        directory(target.parent) as new,
        _explained(source),
    ):
        _rename_no_replace(old, source.name, new, target.name)
        _flush(new)
        if source.parent != target.parent:
            _flush(old)


def _rename_no_replace(
    old_parent: Folder, old: str, new_parent: Folder, new: str
) -> None:
    """os.rename onto an empty directory silently succeeds,
    so the kernel must refuse it.
    """
    code = errno.ENOSYS
    try:
        occupant = new_parent.lstat(new)
    except FileNotFoundError:
        if old_parent.fd is not None and new_parent.fd is not None:
            names = (os.fsencode(old), os.fsencode(new))
            code = _renameat2(old_parent.fd, names[0], new_parent.fd, names[1])
    else:
        # Where names in another case, or composed in another way, are the same, it
        # finds itself.
        is_itself = os.path.samestat(occupant, old_parent.lstat(old))
        if not is_itself or not stat.S_ISDIR(occupant.st_mode):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new)
    if code in NO_CALL:
        os.rename(
            old_parent.at(old),
            new_parent.at(new),
            src_dir_fd=old_parent.fd,
            dst_dir_fd=new_parent.fd,
        )
    elif code != 0:
        raise OSError(code, os.strerror(code), old, None, new)


def _renameat2(old_parent: int, old: bytes, new_parent: int, new: bytes) -> int:
    """The system's rename that refuses to replace, returning an errno; ENOSYS where
    there is none (Windows needs none: its own rename refuses).
    """
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if MAC:
            function = library.renameatx_np
            flag = NO_REPLACE_MAC
        else:
            function = library.renameat2
            flag = NO_REPLACE
    except (AttributeError, OSError):
        return errno.ENOSYS
    failed = function(old_parent, old, new_parent, new, flag)
    if failed:
        return ctypes.get_errno()
    return 0


def make_directory(path: Path, mode: int = 0o700, *, flushed: bool = True) -> None:
    """Make a directory with exactly this mode, whatever the umask."""
    with directory(path.parent) as parent:
        before = os.umask(0o077)
        try:
            os.mkdir(parent.at(path.name), 0o700, dir_fd=parent.fd)
        finally:
            os.umask(before)
        if mode != 0o700:
            set_mode(path, mode)
        if flushed:
            _flush(parent)


def set_mode(path: Path, mode: int) -> None:
    """Give a directory this mode, through a descriptor: chmod by name would follow a
    link that took its place meanwhile.
    """
    with directory(path) as folder:
        if folder.fd is not None:
            os.fchmod(folder.fd, mode)


def ensure_directory(path: Path) -> None:
    """A directory of ours, 0700; it may be there already."""
    with contextlib.suppress(FileExistsError):
        make_directory(path)
    if stat.S_IMODE(os.lstat(path).st_mode) != 0o700:
        set_mode(path, 0o700)


def remove_directory(path: Path, *, flushed: bool = True) -> None:
    with directory(path.parent) as parent:
        os.rmdir(parent.at(path.name), dir_fd=parent.fd)
        if flushed:
            _flush(parent)


def remove_tree(path: Path) -> None:
    """Remove a pruned backup, or what of an archive is not needed, with all that is in
    it; a link is removed, not followed. Nothing is flushed.
    """
    if path.is_symlink() or not path.is_dir():
        remove_file(path, flushed=False)
        return
    for name in names_in(path):
        remove_tree(path / name)
    remove_directory(path, flushed=False)


def open_lock(path: Path) -> int:
    """A descriptor of our lock file, created with 0600 if it is not there yet."""
    with directory(path.parent) as parent:
        fd = _open(parent, path.name, os.O_RDWR | os.O_CREAT | AT_ONCE)
        mode = stat.S_IMODE(os.fstat(fd).st_mode)
        if not WINDOWS and mode != 0o600:
            os.fchmod(fd, 0o600)
        return fd


def refresh(path: Path) -> None:
    """Set the time of a lock directory to now:
    that is how its holder says it is alive.
    """
    with directory(path.parent) as parent:
        os.utime(parent.at(path.name), dir_fd=parent.fd, follow_symlinks=WINDOWS)
