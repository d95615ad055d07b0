"""The format of an archive: a tar that says first what is in it, and last its hashes.

`ccmove.json` comes first and says what there is; then the members in that order; then
`SHA256SUMS` of all the others. Whoever reads one believes nothing: names, sizes, order
and kinds are those of the header, or it is refused, and nothing of it counts before
`Reader.finish` returned. Neither reading nor writing needs more memory than the header
and a block.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Annotated

from ccmove.errors import CcmoveError
from ccmove.plan.model import can_be_moved
from ccmove.plan.records import Count, read, write
from ccmove.rewrite.windows import is_windows
from ccmove.text import as_text
from ccmove.transfer.roles import BESIDE_PROJECTS, Names, Part, part_of
from ccmove.transfer.tar import (
    END,
    Source,
    TarReader,
    compressed,
    padding,
    tar_header,
)

FORMAT = 1
HEADER = "ccmove.json"
SUMS = "SHA256SUMS"
LARGEST_HEADER = 32 << 20  # some 200,000 members


@dataclass(frozen=True, slots=True)
class Member:
    """One file, and the date that it gets."""

    role: str
    name: str
    size: Count
    mtime_ns: int

    @property
    def part(self) -> Part:
        """What it is; ValueError where its role has no such name."""
        part = part_of(self.role, self.name)
        if part is None:
            raise ValueError(f"{self.name!r:.200} can't be a {self.role!r:.50}")
        return part


@dataclass(frozen=True, slots=True)
class Git:
    """A repository, as far as there is one."""

    root: str | None = None  # its first commit
    remote: str | None = None  # owner/name


def _is_absolute(path: str) -> bool:
    if "\0" in path or path[:1] in "~$":
        return False
    return path.startswith("/") or is_windows(path)


def _can_be_packed(path: str) -> bool:
    return _is_absolute(path) and can_be_moved(path)


@dataclass(frozen=True, slots=True)
class PackedProject:
    """Where a project was, and what it was a checkout of."""

    path: Annotated[str, _can_be_packed]
    git: Git


@dataclass(frozen=True, slots=True)
class Header:
    """What an archive says of itself before anything else."""

    format: int = field(default=FORMAT, kw_only=True)
    home: Annotated[str, _is_absolute]
    system: str  # such as linux, darwin, win32
    client: str | None  # the version of Claude Code that went on last
    projects: tuple[PackedProject, ...]
    members: tuple[Member, ...]

    @property
    def size(self) -> int:
        return sum(member.size for member in self.members)

    def to_bytes(self) -> bytes:
        """As it is stored; CcmoveError when nobody would read as much."""
        data = json.dumps(write(self)).encode() + b"\n"
        if len(data) > LARGEST_HEADER:
            number = f"{len(self.members):,}"
            what = f"{number} files are too many for one archive"
            raise CcmoveError(what, "pack one project at a time")
        return data

    @classmethod
    def from_bytes(cls, data: bytes) -> Header:
        """ValueError with what is wrong when no pack of ours wrote it."""
        try:
            record = json.loads(data)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
        header = read(cls, record)
        if write(header) != record:
            raise ValueError("it has something in it that pack does not write")
        _refuse_contradictions(header)
        return header


def _refuse_contradictions(header: Header) -> None:
    """Each path and each name is there once, and nothing is of a project or a session
    that is not in it.
    """
    paths = {project.path for project in header.projects}
    if len(paths) < len(header.projects) or not paths:
        raise ValueError("it names a project twice, or none")
    names = Names()
    sessions: set[str] = set()
    for member in header.members:
        part = member.part
        if not names.add(member.name):
            raise ValueError(f"{member.name!r} can't be beside another name in it")
        if part.project > len(header.projects):
            raise ValueError(f"{member.name!r} is of no project in it")
        if part.role == "transcript":
            sessions.add(part.id)
    for member in header.members:
        is_beside = member.role in BESIDE_PROJECTS
        if is_beside and member.part.id not in sessions:
            raise ValueError(f"{member.name!r} is of no session in it")


# -- writing

Contents = Callable[[Member], Iterable[bytes]]  # exactly the bytes of a member


def write_archive(
    header: Header, contents: Contents, suffix: str = ".tar.gz"
) -> Iterator[bytes]:
    """The archive, piece by piece; the same header and contents give the same tar."""
    return compressed(_files(header, contents), suffix)


def _files(header: Header, contents: Contents) -> Iterator[bytes]:
    """The header, the members, and their hashes."""
    first = header.to_bytes()
    sums: list[str] = []
    yield from _small_file(HEADER, first, sums)
    for member in header.members:
        pieces = contents(member)
        yield from _file(member, pieces, sums)
    listed = "".join(sums)
    last = listed.encode()
    yield from _small_file(SUMS, last, sums)
    yield END


def _small_file(name: str, data: bytes, sums: list[str]) -> Iterator[bytes]:
    yield from _file(Member("", name, len(data), 0), [data], sums)


def _file(member: Member, pieces: Iterable[bytes], sums: list[str]) -> Iterator[bytes]:
    """One file, whose hash is noted."""
    digest = hashlib.sha256()
    yield tar_header(member.name, member.size, member.mtime_ns)
    yield from _hashed(pieces, digest)
    yield padding(member.size)
    line = _line_of(member.name, digest.hexdigest())
    sums.append(f"{line}\n")


def _line_of(name: str, digest: str) -> str:
    return f"{digest}  {name}"


def _hashed(pieces: Iterable[bytes], digest: hashlib._Hash) -> Iterator[bytes]:
    for piece in pieces:
        digest.update(piece)
        yield piece


# -- reading


class Reader:
    """An archive, read once from beginning to end; ArchiveError when it is not what
    pack writes.
    """

    def __init__(self, stream: Source, name: str) -> None:
        """Read the header. `name` is what messages call the archive."""
        self._tar = TarReader(stream, name)
        self._sums: dict[str, str] = {}
        self.header = self._read_header()
        self._members = self._read_members()

    def members(self) -> Iterator[tuple[Member, Iterator[bytes]]]:
        """Each member with its bytes, in the order of the header.

        What is not asked for before the next one is read all the same.
        """
        return self._members

    def sum_of(self, member: Member) -> str:
        """The hash of what was read of a member, all of which was."""
        return self._sums[member.name]

    def finish(self) -> None:
        """Read to the end: from here on the contents count."""
        for _ in self._members:
            pass
        self._check_sums()
        self._tar.finish()

    def _read_header(self) -> Header:
        """The header, if its format is ours."""
        data = self._whole(HEADER, LARGEST_HEADER)
        version: object = None
        with contextlib.suppress(ValueError, RecursionError, TypeError, KeyError):
            version = json.loads(data)["format"]
        if type(version) is int and version != FORMAT:
            hint = "use the same version of ccmove on both machines"
            what = f"has format {version}, and this ccmove reads format {FORMAT}"
            raise self._tar.refused(what, hint)
        try:
            return Header.from_bytes(data)
        except ValueError as error:
            what = f"has a {HEADER} that can't be used: {error}"
            raise self._tar.refused(what) from None

    def _read_members(self) -> Iterator[tuple[Member, Iterator[bytes]]]:
        for member in self.header.members:
            size = self._tar.next_file(member.name)
            if size != member.size:
                what = f"has {size} bytes of {member.name} and not {member.size}"
                raise self._tar.refused(what)
            chunks = self._chunks(member.name, size)
            yield member, chunks
            for _ in chunks:
                pass

    def _whole(self, name: str, largest: int) -> bytes:
        size = self._tar.next_file(name)
        if size > largest:
            what = f"has a {name} of {size} bytes, which can't be right"
            raise self._tar.refused(what)
        return b"".join(self._chunks(name, size))

    def _chunks(self, name: str, size: int) -> Iterator[bytes]:
        """The bytes of a file; its hash is known when they are through."""
        digest = hashlib.sha256()
        yield from _hashed(self._tar.chunks(size), digest)
        self._sums[name] = digest.hexdigest()

    def _check_sums(self) -> None:
        """The hashes in the list are those of what was read.

        A list that has them all and is not longer has nothing else.
        """
        lines = {}
        longest = 0
        for name, digest in self._sums.items():
            line = _line_of(name, digest)
            lines[line] = name
            longest += len(line.encode()) + 1
        data = self._whole(SUMS, longest)
        text = as_text(data)
        listed = set(text.split("\n"))
        for line, name in lines.items():
            if line not in listed:
                raise self._tar.refused(f"is damaged: {name} is not what was packed")
