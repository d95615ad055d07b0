"""Calls that only macOS has, made by stand-ins: which ones, with what, and what if they
fail.
"""

import ctypes
import errno
import os
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ccmove import system
from ccmove.api import apply, plan_move, undo
from ccmove.run import disk
from tests.support import tree
from tests.support.state import StateBuilder

fcntl = pytest.importorskip("fcntl", reason="macOS is a POSIX system, this is none")

F_FULLFSYNC, RENAME_EXCL = 51, 4  # as in Apple's sys/fcntl.h and sys/stdio.h
NOT_THERE = [
    errno.ENOTSUP,
    errno.EINVAL,
    errno.ENOTTY,
]  # what network and FAT disks answer


class Mac:
    """The calls that were made; each fails with `code` if there is one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[str] = []
        self.code = 0
        self._control = fcntl.fcntl
        library = SimpleNamespace(renameatx_np=self.rename)
        monkeypatch.setattr(disk, "MAC", True)
        monkeypatch.setattr(system, "MAC", True)
        monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: library)
        monkeypatch.setattr(fcntl, "F_FULLFSYNC", F_FULLFSYNC, raising=False)
        monkeypatch.setattr(fcntl, "fcntl", self.control)
        monkeypatch.setattr(
            os, "fsync", lambda fd: self.calls.append(f"fsync {kind(fd)}")
        )

    def control(self, fd: int, command: int, *more: Any) -> Any:
        if command != F_FULLFSYNC:
            return self._control(fd, command, *more)
        self.calls.append(f"full {kind(fd)}")
        if self.code:
            raise OSError(self.code, os.strerror(self.code))
        return 0

    def rename(
        self, old_parent: int, old: bytes, new_parent: int, new: bytes, flags: int
    ) -> int:
        assert flags == RENAME_EXCL
        self.calls.append("rename")
        if self.code:
            ctypes.set_errno(self.code)
            return -1
        os.rename(old, new, src_dir_fd=old_parent, dst_dir_fd=new_parent)
        return 0


def kind(fd: int) -> str:
    return "directory" if stat.S_ISDIR(os.fstat(fd).st_mode) else "file"


@pytest.fixture
def mac(monkeypatch: pytest.MonkeyPatch) -> Mac:
    return Mac(monkeypatch)


@pytest.mark.parametrize("code", [0, *NOT_THERE])
def test_a_whole_move_and_its_undoing_make_these_calls_or_do_without(
    state: StateBuilder, mac: Mac, code: int
) -> None:
    project = state.project("old", index=True)
    (state.code / "new").mkdir()
    before, mac.code = tree.snapshot(state.home), code
    move = plan_move(
        project.path, f"{state.code}/new", config_dir=str(state.config_dir)
    )
    assert mac.calls == []
    apply(move)
    assert not project.directory.exists()
    assert {"full file", "full directory", "rename"} <= {*mac.calls}
    for what in ("file", "directory"):
        fallen_back = mac.calls.count(f"full {what}") if code else 0
        assert mac.calls.count(f"fsync {what}") == fallen_back
    undo(config_dir=str(state.config_dir))
    assert tree.diff(before, tree.snapshot(state.home), ignore=[".claude/ccmove"]) == []


def test_a_failure_other_than_not_supported_is_raised(tmp_path: Path, mac: Mac) -> None:
    """An fsync that is asked after it may not know any more that the disk has failed."""
    mac.code = errno.EIO
    with pytest.raises(OSError, match="Input/output error"):
        disk.write_new(tmp_path / "file", [b"text"])
    with pytest.raises(OSError, match="Input/output error"):
        disk.flush(tmp_path)
    with pytest.raises(OSError, match="Input/output error"):
        disk.rename_new(tmp_path / "file", tmp_path / "other")
    assert mac.calls == ["full file", "full directory", "rename"]
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("code", [errno.ENOTSUP, errno.EEXIST])
def test_a_name_that_is_taken_is_never_replaced(
    tmp_path: Path, mac: Mac, code: int
) -> None:
    """Not even an empty directory: seen before, or by the call when it comes in
    between.
    """
    mac.code = code
    (tmp_path / "a").mkdir()
    if code != errno.EEXIST:
        (tmp_path / "b").mkdir()
    with pytest.raises(FileExistsError):
        disk.rename_new(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "a").is_dir()


def test_the_desktop_app_is_looked_for_where_macos_keeps_its_data(mac: Mac) -> None:
    where = system.desktop_data(Path("/Users/me"), {})
    assert where == Path("/Users/me/Library/Application Support")
