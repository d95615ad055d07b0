"""A directory is reached without any link on the way; files are read as they are."""

import errno
import hashlib
import os
from pathlib import Path

import pytest

from ccmove.claude import reading
from ccmove.errors import LinkError

NAMES = [
    "plain",
    "x (deleted)",
    "two\nlines",
    "a b",
    os.fsdecode(b"caf\xe9"),
    "-x",
    "é",
]


def error_of(path: Path) -> tuple[int | None, str]:
    with pytest.raises(OSError) as found, reading.directory(path):
        pass
    return found.value.errno, str(found.value.filename)


def link_met(path: Path) -> str:
    with pytest.raises(LinkError) as found, reading.directory(path):
        pass
    return found.value.message.removesuffix(" is a symbolic link")


@pytest.mark.parametrize("name", NAMES)
def test_a_directory_is_opened_whatever_its_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.mkdir()
    (path / "inside").touch()
    with reading.directory(path) as folder:
        assert folder.lstat("inside").st_ino == (path / "inside").stat().st_ino
        with folder.scan() as entries:
            assert [entry.name for entry in entries] == ["inside"]
    if folder.fd is not None:
        with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
            os.fstat(folder.fd)


def test_the_root_directory_can_be_opened() -> None:
    root = Path(Path.cwd().anchor)
    with reading.directory(root) as folder, folder.scan() as entries:
        assert {entry.name for entry in entries} == set(os.listdir(root))


@pytest.mark.parametrize("at", ["link", "link/deep", "link/deep/deeper"])
def test_a_link_anywhere_on_the_way_is_refused_by_name(tmp_path: Path, at: str) -> None:
    (tmp_path / "real/deep/deeper").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    assert link_met(tmp_path / at) == str(tmp_path / "link")


def test_a_link_to_a_deleted_directory_is_refused(tmp_path: Path) -> None:
    """Of such a directory the system tells a path that has `(deleted)` at its end."""
    (tmp_path / "x").mkdir()
    (tmp_path / "x (deleted)").symlink_to("x")
    assert link_met(tmp_path / "x (deleted)") == str(tmp_path / "x (deleted)")


def test_what_is_missing_or_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert error_of(tmp_path / "gone/deep") == (errno.ENOENT, str(tmp_path / "gone"))
    assert error_of(tmp_path / "file/deep") == (errno.ENOTDIR, str(tmp_path / "file"))
    assert error_of(tmp_path / "file") == (errno.ENOTDIR, str(tmp_path / "file"))


def test_an_error_inside_names_the_whole_path(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as found:
        reading.open_file(tmp_path / "gone")
    assert found.value.filename == str(tmp_path / "gone")


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    before = os.listdir("/dev/fd")
    for path in (
        tmp_path,
        tmp_path / "link",
        tmp_path / "gone",
        tmp_path / "link/gone",
    ):
        try:
            reading.names_in(path)
        except (OSError, LinkError):
            continue
    assert os.listdir("/dev/fd") == before


def test_a_directory_that_is_swapped_for_a_link_as_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever wins the race: what is opened is the directory itself or nothing."""
    (tmp_path / "real").mkdir()
    (tmp_path / "other").mkdir()
    opened = os.open

    def swap_first(path: str | Path, flags: int, mode: int = 0o777, **more: int) -> int:
        monkeypatch.setattr(os, "open", opened)
        (tmp_path / "real").rename(tmp_path / "away")
        (tmp_path / "real").symlink_to("other")
        return opened(path, flags, mode, **more)

    monkeypatch.setattr(os, "open", swap_first)
    assert link_met(tmp_path / "real/") == str(tmp_path / "real")


def test_the_hash_of_a_file_or_of_a_part_of_it(tmp_path: Path) -> None:
    data = os.urandom(3 << 20)
    (tmp_path / "file").write_bytes(data)
    assert reading.sha256_of(tmp_path / "file") == hashlib.sha256(data).hexdigest()
    for end in (0, 1, 1 << 20, (1 << 20) + 1, len(data), len(data) + 1):
        digest = hashlib.sha256()
        with (tmp_path / "file").open("rb") as file:
            reading.add_to_hash(digest, reading.reader(file), 0, end)
        assert digest.hexdigest() == hashlib.sha256(data[:end]).hexdigest()
    with pytest.raises(FileNotFoundError):
        reading.sha256_of(tmp_path / "gone")
