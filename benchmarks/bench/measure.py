"""Runs one command as a user does, from process start to exit, and takes its time and
memory.
"""

from __future__ import annotations

import ctypes
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TIMEOUT = 300.0
LOCK = b"history.jsonl.lock"
IN_MOVED_TO, IN_CREATE, IN_DELETE = 0x80, 0x100, 0x200


@dataclass(frozen=True)
class Run:
    """One run: its time, its peak of memory, how it ended and what it printed."""

    seconds: float
    peak: int  # bytes; of the largest process
    exit: int
    output: bytes
    lock_seconds: float | None = None  # how long the client's history lock was held


def timed(
    argv: Sequence[str], env: Mapping[str, str], watched: Path | None = None
) -> Run:
    """Run `argv` with its output in a pipe; `watched` is a directory whose history lock
    counts.
    """
    watch = (
        LockWatch(watched) if watched is not None and sys.platform == "linux" else None
    )
    started = time.perf_counter()
    with subprocess.Popen(
        list(argv),
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as child:
        timer = threading.Timer(TIMEOUT, os.killpg, (child.pid, signal.SIGKILL))
        timer.start()
        try:
            assert child.stdout is not None  # it is a pipe
            output = child.stdout.read()
            _, status, usage = os.wait4(child.pid, 0)
        finally:
            timer.cancel()
        seconds = time.perf_counter() - started
        child.returncode = os.waitstatus_to_exitcode(status)
    unit = 1 if sys.platform == "darwin" else 1024
    held = watch.close() if watch else None
    return Run(seconds, usage.ru_maxrss * unit, child.returncode, output, held)


class LockWatch:
    """Sees from outside, by inotify, when the lock appears in a directory and when it
    goes.
    """

    def __init__(self, directory: Path) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._fd = libc.inotify_init1(os.O_CLOEXEC)
        mask = IN_MOVED_TO | IN_CREATE | IN_DELETE
        if (
            self._fd < 0
            or libc.inotify_add_watch(self._fd, os.fsencode(directory), mask) < 0
        ):
            raise OSError(ctypes.get_errno(), "inotify")
        self._directory = directory
        self._held: list[float] = []
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def close(self) -> float | None:
        """The longest time that the lock was held; None when it never was."""
        end = self._directory / "end-of-watch"
        end.mkdir()
        self._thread.join()
        end.rmdir()
        os.close(self._fd)
        return max(self._held, default=None)

    def _listen(self) -> None:
        since = 0.0
        while True:
            events = os.read(self._fd, 65536)
            now = time.perf_counter()
            for mask, name in _events(events):
                if name == b"end-of-watch":
                    return
                if name == LOCK and mask & IN_DELETE:
                    self._held.append(now - since)
                elif name == LOCK:
                    since = now


def _events(data: bytes) -> list[tuple[int, bytes]]:
    """(mask, name) of every event in what was read."""
    found = []
    while data:
        _, mask, _, length = struct.unpack_from("iIII", data)
        found.append((mask, data[16 : 16 + length].rstrip(b"\0")))
        data = data[16 + length :]
    return found
