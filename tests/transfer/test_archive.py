"""What the writer writes, the reader reads: all of it, in order, or nothing counts."""

import contextlib
import gzip
import io
import random
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccmove.errors import ArchiveError, CcmoveError, UsageError
from ccmove.transfer.archive import (
    Git,
    Header,
    Member,
    PackedProject,
    Reader,
    write_archive,
)
from ccmove.transfer.tar import SUFFIXES, suffix_of
from tests.transfer.archives import DATE, FIRST, OLD, sample_archive

PROJECT = PackedProject(OLD, Git("0123abcd", "me/app"))


def read(data: bytes) -> tuple[Header, dict[str, bytes]]:
    """All of an archive, whose last hash was checked."""
    reader = Reader(io.BytesIO(data), "it")
    contents = {member.name: b"".join(chunks) for member, chunks in reader.members()}
    reader.finish()
    return reader.header, contents


def written(
    contents: dict[str, tuple[str, bytes]], suffix: str = ".tar.gz"
) -> tuple[Header, bytes]:
    """An archive of members by name, each with its role."""
    members = tuple(
        Member(role, name, len(data), DATE) for name, (role, data) in contents.items()
    )
    header = Header("/home/me", "linux", "2.1.327", (PROJECT,), members)
    pieces = write_archive(header, lambda member: [contents[member.name][1]], suffix)
    return header, b"".join(pieces)


def sample() -> dict[str, tuple[str, bytes]]:
    archive = sample_archive()
    roles = {row["name"]: row["role"] for row in archive.header["members"]}
    return {name: (roles[name], data) for name, data in archive.contents.items()}


@pytest.mark.parametrize("suffix", [".tar.gz", ".tar"])
def test_what_was_written_is_read(suffix: str) -> None:
    header, data = written(sample(), suffix)
    found, contents = read(data)
    assert found == header
    assert contents == {name: data for name, (_, data) in sample().items()}


def test_an_archive_made_with_tar_is_read() -> None:
    archive = sample_archive()
    for archive.format in (
        tarfile.PAX_FORMAT,
        tarfile.USTAR_FORMAT,
        tarfile.GNU_FORMAT,
    ):
        for data in (archive.build(), archive.tar(), archive.tar() + bytes(9216)):
            header, contents = read(data)
            assert contents == archive.contents
            assert len(header.members) == len(archive.contents)


def test_tar_and_sha256sum_take_it(tmp_path: Path) -> None:
    contents = sample()
    long = "projects/1/memory/" + "/".join(["caf\xe9" * 20] * 3)
    contents[long] = ("memory", b"long\n")
    (tmp_path / "it.tar.gz").write_bytes(written(contents)[1])
    subprocess.run(["tar", "xzf", "it.tar.gz"], cwd=tmp_path, check=True)
    told = subprocess.run(
        ["sha256sum", "-c", "--strict", "SHA256SUMS"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    assert told.stdout.count(b": OK\n") == len(contents) + 1
    for name, (_, data) in contents.items():
        file = tmp_path / name
        assert file.read_bytes() == data
        assert file.stat().st_mtime == DATE // 10**9
    (tmp_path / "it.tar.gz").unlink()
    assert read(written(contents)[1])[1][long] == b"long\n"


def test_the_same_gives_the_same_bytes() -> None:
    for suffix in (".tar.gz", ".tar"):
        assert written(sample(), suffix)[1] == written(sample(), suffix)[1]


def test_a_file_that_is_larger_than_eight_gigabytes_has_its_size() -> None:
    size = 9 << 30
    name = f"projects/1/sessions/{FIRST}.jsonl"
    header = Header(
        "/home/me", "linux", None, (PROJECT,), (Member("transcript", name, size, DATE),)
    )
    start = b""
    for piece in write_archive(header, lambda _: iter([b""]), ".tar"):
        start += piece
    reader = Reader(io.BytesIO(start), "it")
    for member, chunks in reader.members():
        assert member.size == size
        with pytest.raises(ArchiveError, match="it ends before"):
            for _ in chunks:
                pass
        break


class Slow(io.RawIOBase):
    """A pipe that gives a few bytes at a time."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)
        self._random = random.Random(1)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[call-overload]
        data = self._data.read(min(len(view), self._random.randint(1, 3000)))
        view[: len(data)] = data
        return len(data)


@pytest.mark.parametrize("suffix", [".tar.gz", ".tar"])
def test_it_is_read_from_a_pipe(suffix: str) -> None:
    header, data = written(sample(), suffix)
    reader = Reader(io.BufferedReader(Slow(data)), "it")
    assert [member for member, _ in reader.members()] == list(header.members)
    reader.finish()


def test_what_is_not_asked_for_is_checked_all_the_same() -> None:
    archive = sample_archive()
    archive.sums["plans/calm-otter.md"] = "0" * 64
    reader = Reader(io.BytesIO(archive.build()), "it")
    with pytest.raises(
        ArchiveError, match=r"plans/calm-otter.md is not what was packed"
    ):
        reader.finish()


def test_a_hash_counts_for_the_header_too() -> None:
    archive = sample_archive()
    archive.sums["ccmove.json"] = "0" * 64
    with pytest.raises(ArchiveError, match=r"ccmove.json is not what was packed"):
        read(archive.build())


def test_every_place_to_cut_it_off_is_noticed() -> None:
    for data in (written(sample())[1], written(sample(), ".tar")[1]):
        for length in range(0, len(data), 97):
            with pytest.raises(ArchiveError):
                read(data[:length])


@given(st.data())
def test_a_changed_byte_is_refused_or_changes_nothing(data: st.DataObject) -> None:
    """In a tar every byte is of a header or a hash, or padding and then harmless."""
    archive = bytearray(WHOLE)
    where = data.draw(st.integers(0, len(archive) - 1))
    archive[where] ^= data.draw(st.integers(1, 255))
    try:
        header, contents = read(bytes(archive))
    except ArchiveError:
        return
    assert (header, contents) == read(WHOLE)


WHOLE = written(sample(), ".tar")[1]
PARTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)


@given(st.dictionaries(PARTS, st.binary(max_size=2000), max_size=6))
def test_notes_of_any_name_and_content_come_through_an_archive(
    notes: dict[str, bytes],
) -> None:
    """Names that the header can't hold are refused by it, before anything else."""
    contents = {}
    for name, data in notes.items():
        contents[f"projects/1/memory/{name}"] = ("memory", data)
    header, data = written(contents)
    try:
        Header.from_bytes(header.to_bytes())
    except ValueError:
        with pytest.raises(ArchiveError, match=r"ccmove.json that can't be used"):
            read(data)
        return
    assert read(data)[1] == {name: data for name, (_, data) in contents.items()}


def test_memory_stays_flat(tmp_path: Path) -> None:
    """A member of 100 MB goes through in blocks."""
    import tracemalloc

    size = 100 << 20
    name = f"projects/1/sessions/{FIRST}.jsonl"
    header = Header(
        "/home/me", "linux", None, (PROJECT,), (Member("transcript", name, size, DATE),)
    )

    def zeros(_: Member) -> Iterator[bytes]:
        for _ in range(100):
            yield bytes(1 << 20)

    file = tmp_path / "it.tar.gz"
    tracemalloc.start()
    with file.open("wb") as out:
        out.writelines(write_archive(header, zeros))
    with file.open("rb") as stream:
        reader = Reader(stream, "it")
        assert sum(len(c) for _, chunks in reader.members() for c in chunks) == size
        reader.finish()
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()


@pytest.mark.slow
def test_too_many_files_are_refused_in_words() -> None:
    name = f"file-history/{FIRST}/{{:0200}}"
    members = tuple(Member("memory", name.format(n), 1, DATE) for n in range(120_000))
    header = Header("/home/me", "linux", None, (PROJECT,), members)
    with pytest.raises(CcmoveError, match="120,000 files are too many"):
        header.to_bytes()


def test_the_format_follows_the_name() -> None:
    assert suffix_of("a.tar.gz") == ".tar.gz"
    assert suffix_of("/x.tar/a.tar") == ".tar"
    for name in ("a.zip", "a", ".tar.gz.", "a.tgz", ""):
        with pytest.raises(UsageError):
            suffix_of(name)


def test_zstd_where_python_has_it() -> None:
    try:
        import compression.zstd  # noqa: F401
    except ImportError:
        with pytest.raises(UsageError, match=r"zstd needs Python 3.14"):
            suffix_of("a.tar.zst")
        with pytest.raises(ArchiveError, match="is compressed with zstd"):
            read(b"\x28\xb5\x2f\xfd" + bytes(100))
        return
    assert suffix_of("a.tar.zst") in SUFFIXES
    header, data = written(sample(), ".tar.zst")
    assert read(data)[0] == header
    for end in range(len(data)):
        with pytest.raises(ArchiveError):
            read(data[:end])
        spoiled = data[:end] + bytes([data[end] ^ 0x55]) + data[end + 1 :]
        with contextlib.suppress(ArchiveError):
            assert read(spoiled) == read(data)


def test_several_gzips_in_a_row_are_one() -> None:
    """As pigz and bgzip write them."""
    data = written(sample(), ".tar")[1]
    halves = gzip.compress(data[:3000]) + gzip.compress(data[3000:])
    assert read(halves)[1] == read(data)[1]
