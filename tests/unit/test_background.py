"""Blocks are worked on in order, on another thread, and no error is lost."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from pathlib import Path

import pytest

from ccmove import files
from ccmove.background import WORTH_A_THREAD, Background, BackgroundHash, hashing

BLOCKS = [bytes([number]) * 1000 for number in range(100)]


@pytest.fixture(params=[0, 1000, 1001], ids=["all on a thread", "just so", "all at once"])
def worth(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.mark.parametrize("waits", [1, 7, len(BLOCKS)])
def test_blocks_are_worked_on_in_order_and_more_may_follow_after_waiting(
    waits: int, worth: int
) -> None:
    seen: list[bytes] = []
    work = Background(seen.append, worth)
    for number, block in enumerate(BLOCKS, 1):
        work.put(block)
        if number % waits == 0:
            work.wait()
            assert seen == BLOCKS[:number]
    work.wait()
    assert seen == BLOCKS


@pytest.mark.parametrize("size", [0, 999, 1000])
def test_only_a_large_block_is_worth_a_thread_and_what_follows_it_keeps_the_order(
    size: int,
) -> None:
    threads: list[tuple[int, bool]] = []

    def note(block: bytes) -> None:
        threads.append((len(block), threading.current_thread() is threading.main_thread()))

    work = Background(note, 1000)
    for length in (1, size, 2):
        work.put(b"x" * length)
    work.wait()
    here = size < 1000
    assert threads == [(1, True), (size, here), (2, here)]


def test_the_first_error_is_raised_and_nobody_waits_for_ever(worth: int) -> None:
    seen: list[bytes] = []

    def fail_at_the_third(block: bytes) -> None:
        seen.append(block)
        if len(seen) == 3:
            raise ValueError("the third")

    work = Background(fail_at_the_third, worth)
    for block in BLOCKS:  # many more than may wait at a time
        work.put(block)
    with pytest.raises(ValueError, match="the third"):
        work.wait()
    assert seen == BLOCKS[:3]


def test_a_hash_can_be_asked_for_and_gone_on_with() -> None:
    hashed = BackgroundHash()
    for block in BLOCKS[:50]:
        hashed.update(block)
    assert hashed.hexdigest() == hashlib.sha256(b"".join(BLOCKS[:50])).hexdigest()
    other = BackgroundHash(hashed)
    for block in BLOCKS[50:]:
        other.update(block)
    assert other.hexdigest() == hashlib.sha256(b"".join(BLOCKS)).hexdigest()
    assert hashed.hexdigest() == hashlib.sha256(b"".join(BLOCKS[:50])).hexdigest()


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
