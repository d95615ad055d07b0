"""Ways to break ccmove from the inside, for controls and for what strace can't do.

Each function changes the running process; the fork server calls it in a child, before ccmove.
"""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from tests.support import seams

files = seams.module("disk")
# What `run.disk` calls to change something; the rename that never replaces is not among them.
_CHANGING = ("chmod", "fchmod", "fsync", "link", "mkdir", "open", "rename", "rmdir", "unlink",
             "utime", "write")  # fmt: skip


def without_fsync() -> None:
    """Nothing is flushed to disk."""
    replace(files, "fsync", _nothing)


def without_journal() -> None:
    """What is written down about the run under way is gone at once, and nobody misses it.

    That is the journal and what stands beside it, since each alone is enough to roll back.
    """
    transaction, backups = seams.module("transaction"), seams.module("backups")
    write = transaction.write_journal
    known: list[Any] = []

    def write_and_forget(journal: Any, layout: Any) -> None:
        write(journal, layout)
        known.append(journal)
        for path in (layout.journal, layout.run / seams.BEGUN):
            path.unlink(missing_ok=True)

    replace(transaction, "write_journal", write_and_forget)
    replace(backups, "write_manifest", _nothing)
    replace(transaction, "read_journal", lambda _: known[-1])


def without_client_locks() -> None:
    """The client's locks are neither taken nor respected."""
    replace(seams.module("locks").ClientLocks, "__enter__", lambda self: self)


def short_writes() -> None:
    """Every write takes at most seven bytes, as the system may do at any time."""
    write = os.write
    replace(os, "write", lambda fd, data: write(fd, bytes(data[:7])))


def file_size_limit(size: int) -> None:
    """No file can grow beyond this: the kernel shortens one write and refuses the next."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def open_files_limit(number: int) -> None:
    """No more files than this can be open at once, standard input and output among them."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (number, number))


def clock(seconds: int) -> None:
    """The clock was set forward by so many seconds, or back."""
    now, utc = time.time, time.gmtime
    replace(time, "time", lambda: now() + seconds)
    replace(time, "gmtime", lambda moment=None: utc(time.time() if moment is None else moment))


def patience(seconds: int) -> None:
    """A lock that someone holds is waited for so long, and no longer."""
    replace(seams.module("locks"), "WAIT", float(seconds))


def die_at(number: int) -> None:
    """The process is killed at its `number`-th call that may change something."""
    left = number

    def deadly(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*args, **options)

        return call

    changing = {name: deadly(getattr(os, name)) for name in _CHANGING}
    replace(files, "os", SimpleNamespace(**{**vars(os), **changing}))


def _nothing(*_: object) -> None:
    """What is left of a function that was taken out."""


def replace(holder: object, name: str, value: object) -> None:
    """Put `value` in a place that must exist: else the control would prove nothing."""
    if not hasattr(holder, name):
        raise AttributeError(f"{holder} has no {name} to replace")
    setattr(holder, name, value)


_KINDS: dict[str, Callable[..., None]] = {
    function.__name__: function
    for function in (
        without_fsync,
        without_journal,
        without_client_locks,
        short_writes,
        file_size_limit,
        open_files_limit,
        clock,
        patience,
        die_at,
    )
}


def commit(name: str) -> None:
    """Do what `name` says: one of the functions above, or `function=number`."""
    kind, _, number = name.partition("=")
    _KINDS[kind](*([int(number)] if number else []))
