"""New contents, written beside the files that they will replace, flushed, and checked.

The history is written by streaming: any size, in little memory. Its bulk is staged before the
client's lock is taken; what the client appends meanwhile is carried over under the lock.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import BinaryIO

from ccmove.claude.reading import Fingerprint, open_regular, reader, sha256_of
from ccmove.errors import CcmoveError, StaleLookError, again
from ccmove.plan.model import Write, WriteHistory
from ccmove.rewrite import history, history_back
from ccmove.rewrite.history import Read, Scan
from ccmove.rewrite.pathmap import PathMap
from ccmove.run import disk
from ccmove.run.disk import Attributes
from ccmove.run.manifest import Content, Wrote, WroteHistory, sha256

Tick = Callable[[int, int], None]  # bytes done, bytes in all


class StagedDocument:
    """A document, its saved texts and its staged file."""

    def __init__(self, number: int, write: Write, staged: Path) -> None:
        self.number = number
        self.write = write
        self.path = staged
        self._before: Content | None = None

    def save(self, files: Path) -> None:
        """Keep the document before and after in the backup: all that undoing it needs."""
        write = self.write
        if write.before is not None:
            disk.write_new(files / f"{self.number}.before", [write.before])
        disk.write_new(files / f"{self.number}.after", [write.after])

    def stage(self, _: Tick | None = None) -> None:
        write = self.write
        if write.before is None:
            disk.write_new(self.path, [write.after], Attributes(write.mode))
            return
        found = os.lstat(write.path)
        mode = stat.S_IMODE(found.st_mode)
        self._before = Content(sha256(write.before), len(write.before), mode, found.st_mtime_ns)
        disk.write_new(self.path, [write.after], Attributes.of(found, write.mtime_ns))

    def look_again(self) -> bool:
        """Under the locks: is the file still what the plan was made from? Nothing is added."""
        if self.write.seen is not None:
            try:
                now = Fingerprint.of(os.lstat(self.write.path))
            except FileNotFoundError:
                now = None
            if now != self.write.seen:
                raise _keeps_changing(self.write.path)
        return False

    def record(self) -> Wrote:
        write = self.write
        after = Content(sha256(write.after), len(write.after))
        return Wrote(self.number, write.path, write.ends, write.place, self._before, after)


class StagedHistory:
    """The history: its second name in the backup, what changes in it, and its staged file."""

    def __init__(self, number: int, write: WriteHistory, staged: Path, paths: PathMap) -> None:
        self.number = number
        self.write = write
        self.path = staged
        self.paths = paths
        self.scan: Scan = write.scan
        self._seen = write.seen
        self._mode = 0o600
        self._size = 0  # of the staged file
        self._before = hashlib.sha256()
        self._after = hashlib.sha256()
        self._files = Path()

    def save(self, files: Path) -> None:
        """A second name until the run is done; it grows with the history until that is replaced."""
        self._files = files
        disk.save(self.write.path, files / f"{self.number}.before")

    def stage(self, tick: Tick | None = None) -> None:
        """Write the new history; it is read back, and has the size that was planned."""
        with _opened(self.write.path) as file:
            found = os.fstat(file.fileno())
            pieces = self._pieces(reader(file.fileno()), self.scan, tick=tick)
            disk.write_new(self.path, pieces, Attributes.of(found, self.write.mtime_ns))
        self._mode = stat.S_IMODE(found.st_mode)
        self._size, planned = os.lstat(self.path).st_size, self.scan.new_size()
        if self._size != planned or sha256_of(self.path) != self._after.hexdigest():
            what = f"{self._size} bytes instead of {planned}"
            raise CcmoveError(f"the new history is not as planned: {what}")

    def _pieces(
        self, read: Read, scan: Scan, start: int = 0, tick: Tick | None = None
    ) -> Iterator[bytes]:
        """What to write. Both versions are hashed beside that; one block waits at most."""
        done = start
        with ThreadPoolExecutor(2) as beside:
            hashing: list[Future[None]] = []
            for before, after in history.rewritten(read, scan, start):
                wait(hashing)
                hashing = [
                    beside.submit(self._before.update, before),
                    beside.submit(self._after.update, after),
                ]
                done += len(before)
                if tick:
                    tick(done, scan.size)
                yield after

    def look_again(self) -> bool:
        """Under the lock: what was appended since the plan goes into the staged file too.

        False when there was nothing to carry over.
        """
        with _opened(self.write.path) as file:
            found = os.fstat(file.fileno())
            seen, now = self._seen, Fingerprint.of(found)
            if now == seen:
                return False
            read = reader(file.fileno())
            self._refuse_other_change(now, read)
            tail = history.scan(read, now.size, self.paths, start=seen.size)
            added = b"".join(self._pieces(read, tail, seen.size))
            disk.append(self.path, added, Attributes.of(found))
        self.scan.extend(tail)
        self._size += len(added)
        self._seen = now
        return True

    def _refuse_other_change(self, now: Fingerprint, read: Read) -> None:
        """It may only have grown, by whole lines."""
        seen = self._seen
        same_file = (now.inode, now.device) == (seen.inode, seen.device)
        whole_lines = seen.size == 0 or read(seen.size - 1, 1) == b"\n"
        if not same_file or now.size <= seen.size or not whole_lines:
            raise _keeps_changing(self.write.path)

    def record(self) -> WroteHistory:
        """With what the backup keeps of the history for good: the values that change."""
        path = self._files / f"{self.number}.changes"
        disk.remove_file(path, flushed=False)
        disk.write_new(path, history_back.to_record(self.scan))
        seen = self._seen
        before = Content(self._before.hexdigest(), seen.size, self._mode, seen.mtime_ns)
        after = Content(self._after.hexdigest(), self._size)
        return WroteHistory(self.number, self.write.path, before, after, sha256_of(path))


Staged = StagedDocument | StagedHistory


def _keeps_changing(path: Path) -> StaleLookError:
    return StaleLookError(f"{path} keeps changing", "close Claude Code and try again")


def _opened(path: Path) -> BinaryIO:
    fd = open_regular(path)
    if fd is None:
        raise StaleLookError(f"{path} is gone", again("run it again"))
    return open(fd, "rb")
