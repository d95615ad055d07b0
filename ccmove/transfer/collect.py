"""Members of an archive to be, each with where its bytes are; what can't be one is
named.

Claude Code may write meanwhile: of a transcript all up to its last line end is taken,
and what it grows by later is left out.
"""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from ccmove.claude.reading import Fingerprint, names_in, open_regular
from ccmove.transfer.archive import Member
from ccmove.transfer.prompts import Prompts
from ccmove.transfer.roles import TRANSCRIPTS, Names, Part, is_portable, part_of

NO_ROLE = "archives have no place for it"
NOT_A_FILE = "a link, or not a regular file"
ODD_NAME = "not every system can have this name, beside the others"
BLOCK = 1 << 16
LONGEST_MATCH = 200
LOG = ".jsonl"
WITH_LOGS = (*TRANSCRIPTS, "session-folder")  # roles
_VERSION = re.compile(rb'"version":"(\d{1,9})\.(\d{1,9})\.(\d{1,9})"')
_SLUG = re.compile(rb'"slug":"([0-9A-Za-z][0-9A-Za-z_-]*)"')


@dataclass(frozen=True, slots=True)
class File:
    """A file that is packed up to a noted size."""

    path: Path
    size: int
    found: Fingerprint
    only_grows: bool  # as a transcript does, also a subagent's


Source = File | Prompts | bytes


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What is there and is not packed."""

    path: str
    why: str


@dataclass
class Collection:
    """What was found so far."""

    with_slugs: bool
    members: list[Member] = field(default_factory=list)
    sources: dict[str, Source] = field(default_factory=dict)  # by members' names
    left_out: list[LeftOut] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    client: tuple[int, ...] = ()  # the newest version that wrote a transcript
    slugs: set[str] = field(default_factory=set)  # of plans that transcripts name
    names: Names = field(default_factory=Names)

    def leave(self, path: str | Path, why: str) -> None:
        self.left_out.append(LeftOut(str(path), why))

    def add(self, part: Part, path: Path) -> None:
        """A file of the state, or all files in a directory of it."""
        try:
            kind = os.lstat(path).st_mode
        except FileNotFoundError:  # since it was listed
            return
        if stat.S_ISDIR(kind):
            if part.below and not is_portable(part.name):
                self.leave(path, ODD_NAME)  # so is all that is in it
                return
            for name in names_in(path):
                below = replace(part, below=(*part.below, name))
                self.add(below, path / name)
        elif stat.S_ISREG(kind):
            self._add_file(part, path)
        else:
            self.leave(path, NOT_A_FILE)

    def add_text(self, part: Part, data: bytes) -> None:
        """A text that is made here; it has no date."""
        self._note(part, len(data), 0, data)

    def add_prompts(self, part: Part, prompts: Prompts) -> None:
        self._note(part, prompts.size, 0, prompts)

    def _add_file(self, part: Part, path: Path) -> None:
        """A regular file, if its name can be one of an archive."""
        if part_of(part.role, part.name) != part:
            self.leave(path, ODD_NAME)
            return
        opened = open_regular(path)
        if opened is None:
            return
        with opened as file:
            seen = Fingerprint.of(os.fstat(file.fileno()))
            size = seen.size
            only_grows = path.suffix == LOG and part.role in WITH_LOGS
            if only_grows:
                size = end_of_lines(file, size)
            if part.role == "transcript":
                self._look_into(file, size)
        source = File(path, size, seen, only_grows)
        self._note(part, size, seen.mtime_ns, source)

    def _note(self, part: Part, size: int, date: int, source: Source) -> None:
        if self.names.add(part.name):
            member = Member(part.role, part.name, size, date)
            self.members.append(member)
            self.sources[part.name] = source
        elif isinstance(source, File):
            self.leave(source.path, ODD_NAME)

    def _look_into(self, file: BinaryIO, size: int) -> None:
        """Which client wrote a transcript last, and which plans it names."""
        start = 0
        if not self.with_slugs:
            start = max(0, size - BLOCK)
        text = b""
        for block in _blocks(file, start, size):
            rest = text[-LONGEST_MATCH:]
            text = rest + block
            slugs = _SLUG.findall(text)
            self.slugs.update(map(bytes.decode, slugs))
        newest = _newest(text)
        self.client = max(self.client, newest)


def _newest(text: bytes) -> tuple[int, ...]:
    versions = [tuple(map(int, match)) for match in _VERSION.findall(text)]
    return max(versions, default=())


def end_of_lines(file: BinaryIO, size: int) -> int:
    """Where the last whole line ends; the end of a file without any."""
    end = size
    while end > 0:
        start = max(0, end - BLOCK)
        file.seek(start)
        newline = file.read(end - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return size


def _blocks(file: BinaryIO, start: int, size: int) -> Iterator[bytes]:
    file.seek(start)
    while start < size:
        block = file.read(min(16 * BLOCK, size - start))
        if not block:
            return
        start += len(block)
        yield block
