"""The new history, written by streaming: any size, in little memory.

Its bulk is staged before the client's lock is taken. What the client appends meanwhile is
carried over under the lock, so that the lock is held for a moment only.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ccmove.background import BackgroundHash
from ccmove.claude.reading import Fingerprint, open_regular, reader
from ccmove.errors import CcmoveError, StaleLookError, again
from ccmove.plan.model import HistoryChange
from ccmove.rewrite import history
from ccmove.rewrite.pathmap import PathMap
from ccmove.run import disk as files
from ccmove.run.disk import Attributes
from ccmove.run.manifest import Content

Tick = Callable[[int, int], None]  # bytes done, bytes in all


class StagedHistory:
    """The staged file of a history change, and what the history held before and will hold.

    What it holds now is hashed from the beginning: until all is staged there is time.
    """

    def __init__(self, change: HistoryChange, staged: Path, paths: PathMap) -> None:
        self.change = change
        self.staged = staged
        self.paths = paths
        self.inode = 0
        self._now = change.seen
        self._mode = 0o600
        self._size = 0
        self._sha_before = BackgroundHash()
        self._sha_after = BackgroundHash()
        self._hash_before()

    def _hash_before(self) -> None:
        fd = _open(self.change.path)
        try:
            self._sha_before.read(fd, self.change.seen.size)
        finally:
            os.close(fd)

    def write(self, attributes: Attributes, tick: Tick | None) -> None:
        """Stage the whole of it; every piece is read back, and the size must be as planned."""
        pieces = self._read_back(self._counted(history_pieces(self.change), tick))
        try:
            self.inode = files.write_new(self.staged, pieces, attributes)
        finally:
            self._sha_after.end()
        self._mode = attributes.mode
        self._size = os.lstat(self.staged).st_size
        planned = sum(part.scan.new_size(part.start) for part in self.change.parts)
        if self._size != planned:
            raise _not_as_planned(f"{self._size} bytes instead of {planned}")

    def _read_back(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Compare each piece with what the file holds once it is written.

        `write_new` has written a piece when it asks for the next one.
        """
        position = 0
        fd = -1
        try:
            for piece in pieces:
                yield piece
                if fd < 0:
                    fd = _open(self.staged)
                if reader(fd)(position, len(piece)) != piece:
                    raise _not_as_planned(f"it differs after byte {position}")
                position += len(piece)
        finally:
            if fd >= 0:
                os.close(fd)

    def _counted(self, pieces: Iterable[bytes], tick: Tick | None) -> Iterator[bytes]:
        total = sum(part.scan.size - part.start for part in self.change.parts)
        done = 0
        for piece in pieces:
            self._sha_after.update(piece)
            done += len(piece)
            if tick:
                tick(done, total)
            yield piece

    def contents(self) -> tuple[Content, Content]:
        """What the history holds now and what it will hold, each with its hash."""
        now = self._now
        before = Content(self._sha_before.hexdigest(), now.size, self._mode, now.mtime_ns)
        after = Content(self._sha_after.hexdigest(), self._size)
        return before, after

    def carry_over(self, saved_copy: Path | None) -> bool:
        """Under the lock: what was appended since the plan goes into the staged file too.

        A linked backup has grown with the history; one that is a copy, of the history as it was by
        then, gets what it lacks. False when there was nothing to carry over.
        """
        change = self.change
        fd = _open(change.path)
        try:
            now = Fingerprint.of(os.fstat(fd))
            if now == change.seen:
                return False
            tail = _tail(change, now, reader(fd))
            found = history.scan(reader(fd), now.size, self.paths, change.seen.size)
            added = b"".join(history.rewritten(reader(fd), found, change.seen.size))
            attributes = Attributes.of(os.fstat(fd))
        finally:
            os.close(fd)
        files.append(self.staged, added, attributes)
        if saved_copy is not None:
            saved = os.lstat(saved_copy)
            lacking = tail[saved.st_size - change.seen.size :]
            as_now = Attributes.of(saved)._replace(mtime_ns=now.mtime_ns)
            files.append(saved_copy, lacking, as_now)
        self._sha_before.update(tail)
        self._sha_after.update(added)
        self._size += len(added)
        self._now = now
        return True


def _not_as_planned(what: str) -> CcmoveError:
    return CcmoveError(f"the new history is not as planned: {what}")


def _tail(change: HistoryChange, now: Fingerprint, read: history.Read) -> bytes:
    """What follows the part that was planned; StaleLookError when it did not simply grow."""
    grew = (now.inode, now.device) == (change.seen.inode, change.seen.device)
    whole_lines = change.seen.size == 0 or read(change.seen.size - 1, 1) == b"\n"
    if not grew or now.size <= change.seen.size or not whole_lines:
        raise StaleLookError(f"{change.path} keeps changing", "close Claude Code and try again")
    return read(change.seen.size, now.size - change.seen.size)


def history_pieces(change: HistoryChange) -> Iterator[bytes]:
    """The new content, part by part."""
    for part in change.parts:
        fd = _open(part.file)
        try:
            yield from history.rewritten(reader(fd), part.scan, part.start)
        finally:
            os.close(fd)


def _open(path: Path) -> int:
    fd = open_regular(path)
    if fd is None:
        raise StaleLookError(f"{path} is gone", again("run it again"))
    return fd
