"""What comes out of an archive, read once from beginning to end.

For a run each file goes into a directory of the run, from which it is renamed to its
place; a preview only compares the bytes with what is here. Nothing of it counts before
the archive's last hash is checked. Indexes, prompts, entries of the config file and
MEMORY.md are kept in memory, since they are merged with what is here.
"""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from ccmove.claude.reading import open_regular
from ccmove.errors import ArchiveError, RefusedError
from ccmove.plan.meeting import Relation, relation
from ccmove.plan.model import Arrival
from ccmove.run import disk
from ccmove.run.disk import Attributes
from ccmove.run.transaction import Progress
from ccmove.text import readable_size
from ccmove.transfer.archive import Header, Member, Reader
from ccmove.transfer.request import is_memory_file, place_among_incoming
from ccmove.transfer.roles import Part

TEXTS = ("index", "history", "config")  # roles of which no file is made
LARGEST_TEXT = 256 << 20
LARGEST_MEMORY = 8 << 20  # a longer MEMORY.md is merged as any other note is

# What a file that came, by its place among what came in, is to one that is here.
Compare = Callable[[Path, Path], Relation]
Candidates = Callable[[Part], Iterable[Path]]  # what a file may meet here


@dataclass(frozen=True, slots=True)
class Came:
    """One file that was read to its end."""

    member: Member
    part: Part
    sha256: str

    @property
    def place(self) -> Path:
        return place_among_incoming(self.part)

    @property
    def arrival(self) -> Arrival:
        return Arrival("", self.member.size, self.member.mtime_ns, self.sha256)


@dataclass(frozen=True, slots=True)
class Incoming:
    """An archive that was read, and found to be whole."""

    header: Header
    files: tuple[Came, ...]
    compare: Compare
    texts: Mapping[str, bytes] = field(default_factory=dict)  # by the member's name

    def texts_of(self, role: str) -> Iterator[tuple[int, bytes]]:
        """Each text of this role, with the number of its project."""
        for member in self.header.members:
            if member.role == role:
                yield member.part.project, self.texts[member.name]


def receive(
    reader: Reader, directory: Path, progress: Progress | None = None
) -> Incoming:
    """Read the archive into a directory that is made for it; each file is flushed."""
    receiving = _Receiving(directory)
    incoming = _read(reader, receiving, progress)
    for path in reversed(receiving.made):
        disk.flush(path)
    return incoming


class _Receiving:
    """Keeps every file."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.made: dict[Path, None] = {}
        self._make(directory)

    def keep(self, member: Member, pieces: Iterable[bytes]) -> None:
        path = self._directory / place_among_incoming(member.part)
        self._make(path.parent)
        dated = Attributes(mtime_ns=member.mtime_ns)
        disk.write_new(path, pieces, dated)

    def compare(self, place: Path, here: Path) -> Relation:
        return relation(self._directory / place, here)

    def _make(self, directory: Path) -> None:
        """With those that it is in, up to the first one that was made."""
        if directory in self.made:
            return
        if self.made:
            self._make(directory.parent)
        disk.make_directory(directory, flushed=False)
        self.made[directory] = None


def look_through(
    reader: Reader, candidates: Candidates, progress: Progress | None = None
) -> Incoming:
    """Read the archive and keep nothing; each file is compared with what it may
    meet.
    """
    return _read(reader, _Comparing(candidates), progress)


class _Comparing:
    """Keeps nothing but how each file compares with what it may meet."""

    def __init__(self, candidates: Candidates) -> None:
        self._candidates = candidates
        self._relations: dict[tuple[Path, Path], Relation] = {}

    def keep(self, member: Member, pieces: Iterable[bytes]) -> None:
        place = place_among_incoming(member.part)
        paths = self._candidates(member.part)
        for path, found in _compared(pieces, member.size, paths):
            self._relations[place, path] = found

    def compare(self, place: Path, here: Path) -> Relation:
        return self._relations.get((place, here), Relation.DIFFERENT)


def _read(
    reader: Reader, keeper: _Receiving | _Comparing, progress: Progress | None
) -> Incoming:
    """All members, each kept; nothing counts before the last hash is checked."""
    files: list[Came] = []
    texts: dict[str, bytes] = {}
    done = 0
    for member, chunks in reader.members():
        pieces = chunks
        if _is_text(member):
            text = _text(member, chunks)
            texts[member.name] = text
            pieces = iter([text])
        if member.role not in TEXTS:
            keeper.keep(member, pieces)
            came = Came(member, member.part, reader.sum_of(member))
            files.append(came)
        done += member.size
        if progress:
            progress("unpacking", done, reader.header.size)
    reader.finish()
    return Incoming(reader.header, tuple(files), keeper.compare, texts)


def _is_text(member: Member) -> bool:
    if is_memory_file(member.part):
        return member.size <= LARGEST_MEMORY
    return member.role in TEXTS


def _text(member: Member, chunks: Iterable[bytes]) -> bytes:
    if member.size > LARGEST_TEXT:
        size = readable_size(member.size)
        what = f"the archive has {member.name} of {size}, which can't be right"
        raise ArchiveError(what)
    return b"".join(chunks)


def _compared(
    pieces: Iterable[bytes], size: int, paths: Iterable[Path]
) -> Iterator[tuple[Path, Relation]]:
    """What the file whose bytes these are is to each of those at these paths.

    The pieces are read in any case: the archive hashes them.
    """
    with contextlib.ExitStack() as stack:
        alike: dict[Path, BinaryIO] = {}  # those that begin as it does, so far
        for path in paths:
            file = _opened(path)
            if file is not None:
                alike[path] = stack.enter_context(file)
        for piece in pieces:
            for path, file in list(alike.items()):
                there = file.read(len(piece))
                if not piece.startswith(there):
                    del alike[path]
        for path, file in alike.items():
            found = Relation.BEGINNING
            if size > file.seek(0, os.SEEK_END):
                found = Relation.LONGER
            yield path, found


def _opened(path: Path) -> BinaryIO | None:
    """None for what is not a regular file: all files differ from it."""
    try:
        return open_regular(path)
    except RefusedError:
        return None
