"""New contents, written beside the files that they will replace, flushed, and checked.

The history is written by streaming: any size, in little memory. Its bulk is staged
before the client's lock is taken; what the client appends meanwhile is carried over
under the lock.
"""

import hashlib
import io
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from ccmove.claude.reading import (
    Fingerprint,
    add_to_hash,
    handed_over,
    is_there,
    open_again,
    reader,
    sha256_of,
)
from ccmove.errors import CcmoveError, StaleLookError
from ccmove.plan.model import MovedNote, Write, WriteHistory
from ccmove.rewrite import history
from ccmove.run import disk
from ccmove.run.disk import Attributes
from ccmove.run.manifest import Content, SavedNote, Wrote, WroteHistory, sha256

Tick = Callable[[int, int], None]  # bytes done, bytes in all


@dataclass
class StagedDocument:
    """A document, its saved texts and its staged file."""

    number: int
    write: Write
    path: Path

    def save(self, files: Path) -> None:
        """Keep the document before and after in the backup:
        all that undoing it needs.
        """
        if self.write.before is not None:
            disk.write_new(files / f"{self.number}.before", [self.write.before])
        disk.write_new(files / f"{self.number}.after", [self.write.after])

    def stage(self, _: Tick | None = None) -> None:
        attributes = Attributes(self.write.mode)
        if self.write.before is not None:
            facts = os.lstat(self.write.path)
            attributes = Attributes.of(facts, self.write.mtime_ns)
        disk.write_new(self.path, [self.write.after], attributes)

    def look_again(self) -> bool:
        """Right before it is replaced: is the file still what the plan was made from?

        StaleLookError if not. Nothing is ever added to it, so the answer is False.
        """
        path = self.write.path
        seen = self.write.seen
        if seen and not (
            os.path.lexists(path) and Fingerprint.of(os.lstat(path)) == seen
        ):
            raise keeps_changing(path)
        return False

    def record(self) -> Wrote:
        write = self.write
        before = None
        if write.before is not None:
            before = _content(write.before, os.lstat(write.path))
        after = _content(write.after)
        return Wrote(self.number, write.path, write.ends, write.form, before, after)


def _content(data: bytes, facts: os.stat_result | None = None) -> Content:
    """What is recorded of a text; of one that is staged mode and date say nothing."""
    if facts is None:
        return Content(sha256(data), len(data))
    mode = stat.S_IMODE(facts.st_mode)
    return Content(sha256(data), len(data), mode, facts.st_mtime_ns)


class StagedHistory:
    """The history: its second name in the backup,
    what changes in it, and its staged file.
    """

    def __init__(self, number: int, write: WriteHistory, staged: Path) -> None:
        self.number = number
        self.write = write
        self.path = staged
        self.scan = write.scan.copy()  # which may grow; the plan stays as it is
        self._seen = write.seen
        self._before = hashlib.sha256()
        self._after = hashlib.sha256()
        self._checked = 0  # bytes that were read back as planned
        self._files = Path()

    def save(self, files: Path) -> None:
        """A second name until the run is done;
        it grows with the history until that is replaced.
        """
        self._files = files
        if not self.write.is_made:
            disk.save(self.write.path, files / f"{self.number}.before")

    def stage(self, tick: Tick | None = None) -> None:
        """Write the new history, while a thread reads back what is written."""
        planned = self.scan.new_size()
        with (
            self._opened_now() as file,
            handed_over(self._read_back) as hand_over,
        ):
            read = reader(file)
            add_to_hash(self._before, read, 0, self._seen.size)
            attributes = Attributes()
            if not self.write.is_made:
                facts = os.fstat(file.fileno())
                attributes = Attributes.of(facts, self.write.mtime_ns)

            def pieces() -> Iterator[bytes]:
                done = 0
                for piece in history.rewritten(read, self.scan):
                    yield piece
                    hand_over(piece)
                    done += len(piece)
                    if tick:
                        tick(done, planned)

            disk.write_new(self.path, pieces(), attributes)
        if not os.lstat(self.path).st_size == self._checked == planned:
            raise CcmoveError(f"the new history is not as planned: {self.path}")

    def _opened_now(self) -> BinaryIO:
        """The history as it is; one that is made has nothing in it yet."""
        if self.write.is_made:
            return io.BytesIO()
        return open_again(self.write.path)

    def _read_back(self, written: Iterator[bytes]) -> None:
        for first in written:  # by then the file is there
            with open_again(self.path) as file:
                for piece in chain([first], written):
                    if file.read(len(piece)) == piece:
                        self._checked += len(piece)
                    self._after.update(piece)

    def look_again(self) -> bool:
        """Under the lock: what was appended since the plan is carried over;
        False when nothing.
        """
        write = self.write
        if write.is_made:
            if is_there(write.path):
                raise keeps_changing(write.path)
            return False
        with open_again(write.path) as file:
            facts = os.fstat(file.fileno())
            now = Fingerprint.of(facts)
            if now == self._seen:
                return False
            read = reader(file)
            self._refuse_other_change(read, now)
            start = self._seen.size
            tail = history.scan(read, now.size, write.rule, start)
            pieces = history.rewritten(read, tail, start)
            added = b"".join(pieces)
            disk.append(self.path, added, Attributes.of(facts))
            add_to_hash(self._before, read, start, now.size)
        self._after.update(added)
        self.scan.extend(tail)
        self._seen = now
        return True

    def _refuse_other_change(self, read: history.Read, now: Fingerprint) -> None:
        """The history may only grow, by whole lines."""
        seen = self._seen
        is_same = (now.inode, now.device) == (seen.inode, seen.device)
        ends_a_line = seen.size == 0 or read(seen.size - 1, 1) == b"\n"
        if not is_same or not ends_a_line or now.size <= seen.size:
            raise keeps_changing(self.write.path)

    def record(self) -> WroteHistory:
        """With what the backup keeps of the history for good:
        the values that change.
        """
        changes = self._files / f"{self.number}.changes"
        disk.remove_file(changes, flushed=False)
        disk.write_new(changes, history.to_record(self.scan))
        facts = os.lstat(self.path)
        before = None
        if not self.write.is_made:
            before = Content(
                sha256=self._before.hexdigest(),
                size=self._seen.size,
                mode=stat.S_IMODE(facts.st_mode),
                mtime_ns=self._seen.mtime_ns,
            )
        after = Content(self._after.hexdigest(), self.scan.new_size())
        return WroteHistory(
            number=self.number,
            path=self.write.path,
            before=before,
            after=after,
            record=sha256_of(changes),
        )


Staged = StagedDocument | StagedHistory


def save_note(number: int, note: MovedNote, files: Path) -> SavedNote:
    """Keep a note that a merge moves in the backup; how that is recorded."""
    size = len(note.data)
    content = Content(sha256(note.data), size, note.mode, note.mtime_ns)
    record = SavedNote(number, note.path, note.ends, content)
    disk.write_new(files / record.name, [note.data])
    return record


def keeps_changing(path: Path) -> StaleLookError:
    return StaleLookError(f"{path} keeps changing", "exit Claude Code, then try again")
