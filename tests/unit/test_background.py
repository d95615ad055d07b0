"""Blocks are worked on in order, on another thread, and no error is lost."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from functools import partial
from pathlib import Path

import pytest

from ccmove.background import WORTH_A_THREAD, Background, BackgroundHash, hashing
from ccmove.run import disk as files
from tests.support import threads

BLOCKS = [bytes([number]) * 1000 for number in range(100)]


@pytest.fixture(params=[0, WORTH_A_THREAD - 1, WORTH_A_THREAD], ids=["small", "less", "large"])
def size(request: pytest.FixtureRequest) -> int:
    """What the jobs are said to be: small ones are done at once."""
    return int(request.param)


@pytest.mark.parametrize("waits", [1, 7, 100])
def test_jobs_are_done_in_order_and_more_may_follow_after_waiting(waits: int, size: int) -> None:
    seen: list[int] = []
    work = Background()
    for number in range(100):
        work.do(partial(seen.append, number), size)
        if number % waits == 0:
            work.wait()
            assert seen == [*range(number + 1)]
    work.wait()
    assert seen == [*range(100)]


def test_only_a_large_job_is_worth_a_thread_and_what_follows_it_keeps_the_order(size: int) -> None:
    threads: list[tuple[int, bool]] = []

    def note(number: int) -> None:
        threads.append((number, threading.current_thread() is threading.main_thread()))

    work = Background()
    for number, length in enumerate((1, size, 2)):
        work.do(partial(note, number), length)
    work.wait()
    here = size < WORTH_A_THREAD
    assert threads == [(0, True), (1, here), (2, here)]


def test_the_first_error_is_raised_and_nobody_waits_for_ever(size: int) -> None:
    seen: list[int] = []

    def fail_at_the_third(number: int) -> None:
        seen.append(number)
        if number == 2:
            raise ValueError("the third")

    work = Background()
    for number in range(100):  # many more than may wait at a time
        work.do(partial(fail_at_the_third, number), size)
    with pytest.raises(ValueError, match="the third"):
        work.wait()
    assert seen == [0, 1, 2]


def test_a_hash_that_nobody_asks_for_leaves_no_thread(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(2 * WORTH_A_THREAD))
    before = threading.active_count()
    with (tmp_path / "file").open("rb") as file:
        for _ in range(20):
            BackgroundHash().read(file.fileno(), 2 * WORTH_A_THREAD)
    assert threads.come_down_to(before)


def test_where_no_thread_can_be_had_the_work_is_done_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def none(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", none)
    data = bytes(3 * WORTH_A_THREAD)
    assert hashing(data)() == hashlib.sha256(data).hexdigest()


def test_ctrl_c_does_not_wait() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Background().do(interrupted, 0)


def test_a_hash_can_be_asked_for_and_gone_on_with() -> None:
    hashed = BackgroundHash()
    for block in BLOCKS[:50]:
        hashed.update(block)
    assert hashed.hexdigest() == hashlib.sha256(b"".join(BLOCKS[:50])).hexdigest()
    for block in BLOCKS[50:]:
        hashed.update(block)
    assert hashed.hexdigest() == hashlib.sha256(b"".join(BLOCKS)).hexdigest()


@pytest.mark.parametrize("size", [0, 1, WORTH_A_THREAD - 1, WORTH_A_THREAD, 3 * WORTH_A_THREAD + 7])
def test_a_file_is_hashed_up_to_a_size_and_may_be_closed_meanwhile(
    tmp_path: Path, size: int
) -> None:
    data = os.urandom(size)
    (tmp_path / "file").write_bytes(data + b"what came since")
    with (tmp_path / "file").open("rb") as file:
        hashed = BackgroundHash()
        hashed.read(file.fileno(), size)
    hashed.update(b"more")
    assert hashed.hexdigest() == hashlib.sha256(data + b"more").hexdigest()


def test_a_file_that_has_shrunk_is_hashed_as_far_as_it_goes(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"short")
    with (tmp_path / "file").open("rb") as file:
        hashed = BackgroundHash()
        hashed.read(file.fileno(), WORTH_A_THREAD)
    assert hashed.hexdigest() == hashlib.sha256(b"short").hexdigest()


def test_a_file_that_can_t_be_read_is_an_error_and_not_a_hash(tmp_path: Path) -> None:
    hashed = BackgroundHash()
    fd = os.open(tmp_path, os.O_RDONLY)
    hashed.read(fd, 1)
    os.close(fd)
    with pytest.raises(IsADirectoryError):
        hashed.hexdigest()


def test_an_early_flush_that_fails_fails_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system tells of a lost write once: who asks again hears that all is well."""
    told: list[int] = []

    def fail_once(fd: int) -> None:
        told.append(fd)
        if len(told) == 1:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(files, "fsync", fail_once)
    monkeypatch.setattr(files, "FLUSHED_EARLY", 1000)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        files.write_new(tmp_path / "large", BLOCKS)


def test_a_large_file_is_whole_and_flushed_on_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[int] = []
    monkeypatch.setattr(files, "fsync", flushed.append)
    monkeypatch.setattr(files, "FLUSHED_EARLY", 10_000)
    files.write_new(tmp_path / "large", BLOCKS)
    assert (tmp_path / "large").read_bytes() == b"".join(BLOCKS)
    assert len(flushed) == 11


@pytest.mark.parametrize("size", [0, 1, WORTH_A_THREAD - 1, WORTH_A_THREAD, 3 * WORTH_A_THREAD])
def test_a_hash_that_was_begun_is_that_of_the_data(size: int) -> None:
    data = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    wait = hashing(data)
    assert wait() == hashlib.sha256(data).hexdigest()
    assert wait() == wait()
