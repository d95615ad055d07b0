"""A tar that is written to a pipe and read from one, file by file, in flat memory.

Nothing is extracted: of a tar that somebody else may have made, only regular files with
the names that are expected are read, and whatever else is in it is an ArchiveError.
"""

import gzip
import importlib
import re
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from ccmove.errors import ArchiveError, UsageError
from ccmove.text import as_text

SUFFIXES = (".tar.gz", ".tar", ".tar.zst")
BLOCK = 1 << 18
TAR_BLOCK = tarfile.BLOCKSIZE
END = bytes(2 * TAR_BLOCK)
SECOND = 1_000_000_000  # in ns

_FAST = 1  # of gzip
_ZSTD = b"\x28\xb5\x2f\xfd"
_GZIP = b"\x1f\x8b"
_MOST_AT_THE_END = 1 << 20  # zeros, of which some tools write more than others
_LARGEST_EXTENSION = 64 << 10
_REGULAR = (tarfile.REGTYPE, tarfile.AREGTYPE)
# What an extended header may say: the dates that count are those of our own header.
_KEYS = (b"path", b"size", b"mtime", b"atime", b"ctime")
_RECORD = re.compile(rb"([0-9]{1,5}) ([A-Za-z.]+)=")
_SIZE = re.compile("[0-9]{1,18}")


class Source(Protocol):
    """Anything that can be read once, such as a pipe."""

    def read(self, size: int, /) -> bytes: ...


# -- writing


def suffix_of(file: str) -> str:
    """The format that a file's name asks for; UsageError where there is none."""
    known = [suffix for suffix in SUFFIXES if file.endswith(suffix)]
    if not known:
        names = ", ".join(SUFFIXES)
        raise UsageError(f"{file} ends with none of {names}", "use .tar.gz")
    if known == [".tar.zst"] and _zstd() is None:
        what = f"{file}: zstd needs Python 3.14 or newer"
        raise UsageError(what, "use .tar.gz")
    return known[0]


def _zstd() -> Any:
    """Python's own module, or None."""
    try:
        return importlib.import_module("compression.zstd")
    except ImportError:
        return None


def tar_header(name: str, size: int, mtime_ns: int) -> bytes:
    """What comes before the bytes of a file; who unpacks it with tar gets its date."""
    info = tarfile.TarInfo(name)
    info.size = size
    info.mode = 0o600
    info.mtime = max(mtime_ns, 0) // SECOND
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "strict")


def padding(size: int) -> bytes:
    """What comes after the bytes of a file."""
    return bytes(-size % TAR_BLOCK)


def compressed(pieces: Iterable[bytes], suffix: str) -> Iterator[bytes]:
    """In the format of this suffix, which has neither date nor name in it."""
    blocks = _joined(pieces)
    if suffix == ".tar":
        yield from blocks
        return
    if suffix == ".tar.gz":
        compressor = zlib.compressobj(_FAST, wbits=16 + zlib.MAX_WBITS)
    else:
        compressor = _zstd().ZstdCompressor()
    for block in blocks:
        if shrunk := compressor.compress(block):
            yield shrunk
    yield compressor.flush()


def _joined(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Small pieces together: each would be a call of its own."""
    block = bytearray()
    for piece in pieces:
        block += piece
        if len(block) >= BLOCK:
            yield bytes(block)
            block.clear()
    yield bytes(block)


# -- reading


class TarReader:
    """The files of a tar, each asked for by the name that it must have."""

    def __init__(self, stream: Source, name: str) -> None:
        """`name` is what messages call the archive."""
        self._name = name
        self._file = "its first file"  # that is being read
        self._damage: tuple[type[Exception], ...] = (gzip.BadGzipFile, zlib.error)
        self._stream = self._decompressed(stream)

    def next_file(self, name: str) -> int:
        """The size of the next file, which has this name."""
        self._file = name
        info = self._header()
        values: dict[str, str] = {}
        if info.type == tarfile.XHDTYPE:
            values = self._extended(info.size)
            info = self._header()
        found = values.get("path", info.name)
        size = values.get("size", str(info.size))
        if found != name:
            raise self.refused(f"has {found!r:.200} where {name} should be")
        if info.type not in _REGULAR:
            raise self.refused(f"has {name} as something else than a file")
        if not _SIZE.fullmatch(size):
            raise self.refused(f"has {name} with a size that can't be right")
        return int(size)

    def chunks(self, size: int) -> Iterator[bytes]:
        """The bytes of this file."""
        left = size
        while left:
            chunk = self._exactly(min(BLOCK, left))
            left -= len(chunk)
            yield chunk
        self._exactly(len(padding(size)))

    def finish(self) -> None:
        """There is nothing more."""
        self._file = "its end"
        rest = self._read(_MOST_AT_THE_END)
        if any(rest) or self._read(1):
            raise self.refused("goes on after its end")
        if len(rest) < len(END):
            raise self._cut_off()

    def refused(self, what: str, *hints: str) -> ArchiveError:
        return ArchiveError(f"{self._name} {what}", *hints)

    def _header(self) -> tarfile.TarInfo:
        block = self._exactly(TAR_BLOCK)
        try:
            return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except (tarfile.HeaderError, ValueError):
            what = (
                f"is not an archive of ccmove pack, or damaged: it has no {self._file}"
            )
            raise self.refused(what) from None

    def _extended(self, size: int) -> dict[str, str]:
        """What did not fit into the next file's header."""
        if not 0 <= size <= _LARGEST_EXTENSION:
            raise self.refused(f"has a header of {size} bytes before {self._file}")
        data = self._exactly(size)
        self._exactly(len(padding(size)))
        try:
            return dict(_records(data))
        except ValueError as error:
            raise self.refused(f"has {error} before {self._file}") from None

    def _decompressed(self, stream: Source) -> Source:
        """Told by the first bytes, whatever it is called."""
        start = stream.read(len(_ZSTD))
        whole: Any = _Rejoined(start, stream)
        source: Source = whole
        if start.startswith(_GZIP):
            source = gzip.GzipFile(fileobj=whole, mode="rb")
        if start == _ZSTD:
            zstd = _zstd()
            if zstd is None:
                what = "is compressed with zstd, which needs Python 3.14 or newer"
                raise self.refused(what, "zstd -dc FILE | ccmove unpack -")
            self._damage = (zstd.ZstdError,)
            source = zstd.ZstdFile(whole)
        return source

    def _exactly(self, size: int) -> bytes:
        data = self._read(size)
        if len(data) < size:
            raise self._cut_off()
        return data

    def _read(self, size: int) -> bytes:
        """So many bytes, or those that are left."""
        pieces = []
        while size:
            try:
                piece = self._stream.read(size)
            except EOFError:
                raise self._cut_off() from None
            except self._damage as error:
                raise self.refused(f"is damaged: {error}") from None
            if not piece:
                break
            size -= len(piece)
            pieces.append(piece)
        return b"".join(pieces)

    def _cut_off(self) -> ArchiveError:
        return self.refused(f"is not complete: it ends before {self._file} does")


class _Rejoined:
    """A stream with what was already read of it."""

    def __init__(self, start: bytes, stream: Source) -> None:
        self._start = start
        self._stream = stream

    def read(self, size: int, /) -> bytes:
        if not self._start:
            return self._stream.read(size)
        data = self._start[:size]
        self._start = self._start[size:]
        return data


def _records(data: bytes) -> Iterator[tuple[str, str]]:
    """The lines `length key=value` of an extended header; ValueError for others."""
    while data:
        start = _RECORD.match(data)
        if start is None:
            raise ValueError("a header of another kind")
        digits, key = start.groups()
        length = int(digits)
        value = data[start.end() : length]
        if key not in _KEYS or value[-1:] != b"\n":
            raise ValueError(f"a header with {key!r:.50}")
        text = as_text(value[:-1])
        yield key.decode(), text
        data = data[length:]
