"""New contents, written beside the files that they will replace, flushed, and checked.

The history is written by streaming: any size, in little memory. Its bulk is staged before the
client's lock is taken; what the client appends meanwhile is carried over under the lock.
"""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import BinaryIO

from ccmove.claude.reading import Fingerprint, add_to_hash, open_regular, reader, sha256_of
from ccmove.errors import CcmoveError, StaleLookError, again
from ccmove.plan.model import Write, WriteHistory
from ccmove.rewrite import history, history_back
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
        self.scan = write.scan
        self._seen = write.seen
        self._before = hashlib.sha256()
        self._after = hashlib.sha256()
        self._files = Path()

    def save(self, files: Path) -> None:
        """A second name until the run is done; it grows with the history until that is replaced."""
        self._files = files
        disk.save(self.write.path, files / f"{self.number}.before")

    def stage(self, tick: Tick | None = None) -> None:
        """Write the new history; it is read back, and has the size that was planned."""
        with _opened(self.write.path) as file, ThreadPoolExecutor(1) as beside:
            found, read = os.fstat(file.fileno()), reader(file.fileno())
            hashing: list[Future[None]] = []
            planned = self.scan.new_size()

            def pieces() -> Iterator[bytes]:
                """Hashed beside the writing; the old content then, while the new is flushed."""
                done = 0
                for piece in history.rewritten(read, self.scan):
                    wait(hashing[-1:])  # else blocks would pile up in memory
                    hashing.append(beside.submit(self._after.update, piece))
                    done += len(piece)
                    if tick:
                        tick(done, planned)
                    yield piece
                hashing.append(beside.submit(add_to_hash, self._before, read, 0, self.scan.size))

            disk.write_new(self.path, pieces(), Attributes.of(found, self.write.mtime_ns))
            read_back = sha256_of(self.path)
            for one in hashing:
                one.result()
        size = os.lstat(self.path).st_size
        if size != planned or read_back != self._after.hexdigest():
            what = f"{size} bytes instead of {planned}"
            raise CcmoveError(f"the new history is not as planned: {what}")

    def look_again(self) -> bool:
        """Under the lock: what was appended since the plan is carried over; False when nothing."""
        with _opened(self.write.path) as file:
            found = os.fstat(file.fileno())
            seen, now = self._seen, Fingerprint.of(found)
            if now == seen:
                return False
            read = reader(file.fileno())
            is_same = (now.inode, now.device) == (seen.inode, seen.device)
            ends_a_line = seen.size == 0 or read(seen.size - 1, 1) == b"\n"
            if not is_same or now.size <= seen.size or not ends_a_line:
                raise _keeps_changing(self.write.path)  # it may only grow, by whole lines
            tail = history.scan(read, now.size, self.paths, start=seen.size)
            added = b"".join(history.rewritten(read, tail, seen.size))
            disk.append(self.path, added, Attributes.of(found))
            add_to_hash(self._before, read, seen.size, now.size)
        self._after.update(added)
        self.scan.extend(tail)
        self._seen = now
        return True

    def record(self) -> WroteHistory:
        """With what the backup keeps of the history for good: the values that change."""
        path = self._files / f"{self.number}.changes"
        disk.remove_file(path, flushed=False)
        disk.write_new(path, history_back.to_record(self.scan))
        seen, mode = self._seen, stat.S_IMODE(os.lstat(self.path).st_mode)
        before = Content(self._before.hexdigest(), seen.size, mode, seen.mtime_ns)
        after = Content(self._after.hexdigest(), self.scan.new_size())
        return WroteHistory(self.number, self.write.path, before, after, sha256_of(path))


Staged = StagedDocument | StagedHistory


def _keeps_changing(path: Path) -> StaleLookError:
    return StaleLookError(f"{path} keeps changing", "exit Claude Code, then try again")


def _opened(path: Path) -> BinaryIO:
    fd = open_regular(path)
    if fd is None:
        raise StaleLookError(f"{path} is gone", again("try again"))
    return open(fd, "rb")
