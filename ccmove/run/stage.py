"""New contents, written beside the files that they will replace, flushed, and checked.

The history is written by streaming: any size, in little memory. Its bulk is staged before the
client's lock is taken; what the client appends meanwhile is carried over under the lock.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ccmove.claude.reading import Fingerprint, open_regular, reader
from ccmove.errors import CcmoveError, StaleLookError, again
from ccmove.plan.model import Write, WriteHistory
from ccmove.rewrite import history, history_back
from ccmove.rewrite.history import Read, Scan
from ccmove.rewrite.pathmap import PathMap
from ccmove.run import disk
from ccmove.run.disk import Attributes
from ccmove.run.manifest import Content, Wrote, WroteHistory, sha256

Tick = Callable[[int, int], None]  # bytes done, bytes in all
BLOCK = 1 << 20


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
        self._hash_before = hashlib.sha256()
        self._hash_after = hashlib.sha256()
        self._files = Path()
        self._changed: history_back.Changed | None = None
        self._record = b""

    def save(self, files: Path) -> None:
        """A second name until the run is done; it grows with the history until that is replaced."""
        self._files = files
        disk.save(self.write.path, files / f"{self.number}.before")

    def stage(self, tick: Tick | None = None) -> None:
        """Write the new history while the old one is hashed beside it."""
        fd = _open(self.write.path)
        try:
            found = os.fstat(fd)
            read = reader(fd)
            with ThreadPoolExecutor(1) as beside:
                hashing = beside.submit(_hash, self._hash_before, read, 0, self._seen.size)
                pieces = self._hashed(history.rewritten(read, self.scan), tick)
                disk.write_new(self.path, pieces, Attributes.of(found, self.write.mtime_ns))
                hashing.result()
            self._changed = history_back.changed(read, self.scan)
        finally:
            os.close(fd)
        self._mode = stat.S_IMODE(found.st_mode)
        self._size = os.lstat(self.path).st_size
        self._write_record()
        self._check()

    def _hashed(self, pieces: Iterator[bytes], tick: Tick | None) -> Iterator[bytes]:
        done = 0
        for piece in pieces:
            self._hash_after.update(piece)
            done += len(piece)
            if tick:
                tick(done, self.scan.size)
            yield piece

    def _check(self) -> None:
        """What was written is read back, and has the size that was planned."""
        fd = _open(self.path)
        try:
            found = hashlib.sha256()
            _hash(found, reader(fd), 0, self._size)
        finally:
            os.close(fd)
        planned = self.scan.new_size()
        if self._size != planned or found.digest() != self._hash_after.digest():
            what = f"{self._size} bytes instead of {planned}"
            raise CcmoveError(f"the new history is not as planned: {what}")

    def _write_record(self) -> None:
        """What the backup keeps of the history for good: the values that change."""
        assert self._changed is not None
        self._record = json.dumps(history_back.to_json(self._changed)).encode()
        path = self._files / f"{self.number}.json"
        disk.remove_file(path, flushed=False)
        disk.write_new(path, [self._record])

    def look_again(self) -> bool:
        """Under the lock: what was appended since the plan goes into the staged file too.

        False when there was nothing to carry over.
        """
        fd = _open(self.write.path)
        try:
            now = Fingerprint.of(os.fstat(fd))
            if now == self._seen:
                return False
            read = reader(fd)
            self._refuse_other_change(now, read)
            tail = history.scan(read, now.size, self.paths, start=self._seen.size)
            added = b"".join(history.rewritten(read, tail, self._seen.size))
            disk.append(self.path, added, Attributes.of(os.fstat(fd)))
            assert self._changed is not None
            self._changed = history_back.joined(
                self._changed, history_back.changed(read, tail, self._seen.size)
            )
            self.scan.extend(tail)
            _hash(self._hash_before, read, self._seen.size, now.size)
        finally:
            os.close(fd)
        self._hash_after.update(added)
        self._size += len(added)
        self._seen = now
        self._write_record()
        return True

    def _refuse_other_change(self, now: Fingerprint, read: Read) -> None:
        """It may only have grown, by whole lines."""
        seen = self._seen
        same_file = (now.inode, now.device) == (seen.inode, seen.device)
        whole_lines = seen.size == 0 or read(seen.size - 1, 1) == b"\n"
        if not same_file or now.size <= seen.size or not whole_lines:
            raise _keeps_changing(self.write.path)

    def record(self) -> WroteHistory:
        seen = self._seen
        before = Content(self._hash_before.hexdigest(), seen.size, self._mode, seen.mtime_ns)
        after = Content(self._hash_after.hexdigest(), self._size)
        return WroteHistory(self.number, self.write.path, before, after, sha256(self._record))


Staged = StagedDocument | StagedHistory


def _keeps_changing(path: Path) -> StaleLookError:
    return StaleLookError(f"{path} keeps changing", "close Claude Code and try again")


def _hash(digest: hashlib._Hash, read: Read, start: int, end: int) -> None:
    """Add these bytes of a file, as far as it goes: whoever compares sizes will notice."""
    while start < end and (block := read(start, min(BLOCK, end - start))):
        digest.update(block)
        start += len(block)


def _open(path: Path) -> int:
    fd = open_regular(path)
    if fd is None:
        raise StaleLookError(f"{path} is gone", again("run it again"))
    return fd
