"""Ways to break ccmove from the inside, for controls and for what strace can't do.

Each function changes the running process; the fork server calls it in a child, before
ccmove.
"""

import ctypes
import errno
import os
import signal
import struct
import sys
import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from tests.support import seams

files = seams.module("disk")
# What `run.disk` calls to change something, and the system call that this is; the
# rename that never replaces is made through ctypes, and comes beside these.
_CHANGING = {
    "fchmod": "fchmod", "fchown": "fchown", "fsync": "fsync", "link": "linkat", "mkdir": "mkdirat",
    "open": "openat", "rename": "renameat", "replace": "renameat", "rmdir": "unlinkat",
    "unlink": "unlinkat", "utime": "utimensat", "write": "write",
}  # fmt: skip
_replaced: list[tuple[object, str, object]] = []
record = os.devnull  # where it is noted at which call something happened


def without_fsync() -> None:
    replace(files, "fsync", _nothing)


def without_journal() -> None:
    """A run never writes down what it is going to do, and does not miss it."""
    for name in ("backups", "journal"):
        replace(seams.module(name), "write_manifest", _nothing)


def without_record() -> None:
    """A run never writes down how far it came."""
    replace(files, "add_line", _nothing)


def without_client_locks() -> None:
    replace(seams.module("locks"), "_acquire", lambda *_: 0)


def without_process_table() -> None:
    """No other process is seen, however many run on this machine."""
    replace(seams.module("live"), "_processes", dict)


def follow_links() -> None:
    """Every link is followed, as if nobody had thought of them."""
    no_follow = os.O_NOFOLLOW
    for module in [
        module for name, module in sys.modules.items() if name.startswith("ccmove")
    ]:
        for name, value in list(vars(module).items()):
            if name.isupper() and isinstance(value, int) and value & os.O_CLOEXEC:
                setattr(module, name, value & ~no_follow)
    replace(os, "O_NOFOLLOW", 0)


def short_writes() -> None:
    """Every write takes at most seven bytes, as the system may do at any time."""
    write = os.write
    replace(os, "write", lambda fd, data: write(fd, bytes(data[:7])))


def file_size_limit(size: str) -> None:
    """No file can grow beyond this: the kernel shortens one write and refuses the next."""
    import resource  # not on every system

    resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), int(size)))


def open_files_limit(number: str) -> None:
    """No more files than this can be open at once, standard input and output among
    them.
    """
    import resource

    resource.setrlimit(resource.RLIMIT_NOFILE, (int(number), int(number)))


def umask(mode: str) -> None:
    """What is made from here on lacks these bits of its mode."""
    os.umask(int(mode, 8))


def without_privileges() -> None:
    """Modes count, as for an ordinary user: that is what root without its capabilities
    is.
    """
    version_3, none = struct.pack("Ii", 0x20080522, 0), bytes(24)
    if ctypes.CDLL(None, use_errno=True).capset(version_3, none):
        raise OSError(ctypes.get_errno(), "capset")


def clock(seconds: str) -> None:
    now, utc = time.time, time.gmtime
    replace(time, "time", lambda: now() + int(seconds))
    replace(
        time,
        "gmtime",
        lambda moment=None: utc(time.time() if moment is None else moment),
    )


def patience(seconds: str) -> None:
    """A lock that someone holds is waited for so long, and no longer."""
    replace(seams.module("locks"), "WAIT", float(seconds))


def stale(seconds: str) -> None:
    """A lock of the client that was not refreshed for so long counts as left behind."""
    replace(seams.module("locks"), "STALE_AFTER", float(seconds))


def die_at(number: str) -> None:
    """The process is killed as its `number`-th call that changes something begins."""
    _at(
        number, lambda *_: os.kill(os.getpid(), 9)
    )  # also where no signal has that name


def interrupt_at(number: str, name: str) -> None:
    """The process gets a signal as that call begins; the call itself still happens."""
    _at(number, lambda *_: os.kill(os.getpid(), signal.Signals[f"SIG{name}"]))


def fail_at(number: str, name: str, *, onwards: bool = False) -> None:
    """That call fails with this error."""
    code = getattr(errno, name)

    def fail(names: Sequence[object]) -> None:
        raise OSError(code, os.strerror(code), *names)

    _at(number, fail, onwards=onwards)


def fail_from(number: str, name: str) -> None:
    """That call fails with this error, and so do all later ones but opening and
    writing.
    """
    fail_at(number, name, onwards=True)


def _at(
    number: str, action: Callable[[Sequence[object]], object], *, onwards: bool = False
) -> None:
    """Before the `number`-th call of `run.disk` that changes something, note it and do
    this.
    """
    left = int(number)

    def happens(
        call: str, names: Sequence[object], parents: Sequence[int | None]
    ) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            with open(record, "w") as file:
                file.write(" ".join([call, *_paths(names, parents)]))
        if left == 0 or (onwards and left < 0 and call not in ("openat", "write")):
            action([name for name in names if isinstance(name, str)])

    def watched(call: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def watch(*args: Any, **options: Any) -> Any:
            if call != "openat" or args[1] & (os.O_CREAT | os.O_TRUNC):
                names = args[:2] if call in ("linkat", "renameat") else args[:1]
                happens(
                    call,
                    names,
                    [fd for key, fd in options.items() if key.endswith("dir_fd")],
                )
            return function(*args, **options)

        return watch

    there = {name: call for name, call in _CHANGING.items() if hasattr(os, name)}
    changing = {name: watched(call, getattr(os, name)) for name, call in there.items()}
    replace(files, "os", SimpleNamespace(**{**vars(os), **changing}))
    if sys.platform == "win32":  # where the plain rename refuses to replace
        return
    rename = files._renameat2

    def rename_new(old_parent: int, old: bytes, new_parent: int, new: bytes) -> int:
        try:
            happens(
                "renameat2",
                [os.fsdecode(old), os.fsdecode(new)],
                [old_parent, new_parent],
            )
        except OSError as error:
            return error.errno or 0
        return int(rename(old_parent, old, new_parent, new))

    replace(files, "_renameat2", rename_new)


def _paths(names: Sequence[object], parents: Sequence[int | None]) -> list[str]:
    """The absolute paths of what a call names: by a descriptor, or below the given
    ones.
    """
    if isinstance(names[0], int):
        return [_directory(names[0])]
    if not parents:  # on Windows nothing is named relative to a descriptor
        return [str(name) for name in names]
    bases = [_directory(fd) for fd in parents]
    return [
        os.path.join(base, str(name)) for base, name in zip(bases, names, strict=True)
    ]


def _directory(fd: int | None) -> str:
    if fd is None:  # where all names are whole paths
        return ""
    return (
        os.readlink(f"/proc/self/fd/{fd}")
        if sys.platform == "linux"
        else f"descriptor {fd}"
    )


def _nothing(*_: object) -> None:
    """What is left of a function that was taken out."""


def replace(holder: object, name: str, value: object) -> None:
    """Put `value` in a place that must exist: else the control would prove nothing."""
    if not hasattr(holder, name):
        raise AttributeError(f"{holder} has no {name} to replace")
    _replaced.append((holder, name, getattr(holder, name)))
    setattr(holder, name, value)


def end() -> None:
    """Undo every replacement, for a process that goes on."""
    while _replaced:
        setattr(*_replaced.pop())


_KINDS: dict[str, Callable[..., None]] = {
    function.__name__: function
    for function in (
        without_fsync, without_journal, without_record, without_client_locks, without_process_table,
        without_privileges, follow_links, short_writes, file_size_limit, open_files_limit, umask,
        clock, patience, stale, die_at, interrupt_at, fail_at, fail_from,
    )
}  # fmt: skip


def commit(name: str) -> None:
    """Do what `name` says: one of the functions above, or `function=number:word`."""
    kind, _, words = name.partition("=")
    _KINDS[kind](*(words.split(":") if words else []))
