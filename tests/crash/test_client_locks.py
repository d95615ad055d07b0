"""The client's locks: taken by its own protocol, never taken away from someone who
holds them.
"""

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.crash.bench import age_locks, bench_of, must
from tests.crash.sample import EXHAUSTIVE
from tests.crash.sweep import REFUSED, UNFINISHED, break_off
from tests.support import seams

LOCKS = seams.CLIENT_LOCKS
STALE = 10.5  # seconds
# As long as a user waits in `make test-all`; in `make test` nobody has the time.
WAITS, PATIENCE = (15, ()) if EXHAUSTIVE else (2, ("patience=2",))


@contextlib.contextmanager
def held(lock: Path) -> Iterator[None]:
    """A lock as a running client holds it: fresh all the time."""
    lock.mkdir()
    done = threading.Event()

    def refresh() -> None:
        while not done.wait(1):
            os.utime(lock)

    thread = threading.Thread(target=refresh)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        lock.rmdir()


@pytest.mark.crash
@pytest.mark.parametrize("lock", LOCKS)
def test_a_stale_lock_is_taken_over_at_once(lock: str) -> None:
    bench = bench_of("move")
    before = bench.reset()
    (bench.state.home / lock).mkdir()
    age_locks(bench.state, STALE)
    started = time.monotonic()
    must(bench.job())
    assert time.monotonic() - started < 5
    assert bench.judge(before).outcome == "after"


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_that_is_held_is_waited_for_and_never_removed(lock: str) -> None:
    bench = bench_of("move")
    before = bench.reset()
    path = bench.state.home / lock
    with held(path):
        inode = path.stat().st_ino
        started = time.monotonic()
        ended = bench.job(PATIENCE).run()
        assert WAITS - 1 < time.monotonic() - started < WAITS + 10
        assert path.stat().st_ino == inode
    assert ended.exit == REFUSED
    assert str(path) in ended.err
    assert bench.judge(before).outcome == "before"


@pytest.mark.crash
def test_a_lock_that_is_given_back_in_time_is_taken() -> None:
    bench = bench_of("move")
    before = bench.reset()
    lock = bench.state.home / LOCKS[0]
    lock.mkdir()
    timer = threading.Timer(0.7, lock.rmdir)
    timer.start()
    must(bench.job())
    timer.join()
    assert bench.judge(before).outcome == "after"


@pytest.mark.crash
@pytest.mark.parametrize("by", ["recover", "move"])
def test_locks_that_a_killed_run_of_ours_left_are_taken_once_they_are_stale(
    by: str,
) -> None:
    """And not before: by then a client may hold one under the same name."""
    bench = bench_of("move")
    before = break_off(bench, "locked files replaced")
    age_locks(bench.state, STALE - 2)
    started = time.monotonic()
    must(bench.recovery if by == "recover" else bench.job())
    assert 1 < time.monotonic() - started < 8
    assert bench.judge(before).outcome == ("before" if by == "recover" else "after")


@pytest.mark.crash
@pytest.mark.slow
def test_a_recovery_waits_for_a_client_and_says_that_it_could_not_roll_back() -> None:
    bench = bench_of("move")
    before = break_off(bench, "locked files replaced")
    lock = bench.state.home / LOCKS[0]
    lock.rmdir()  # the client took it over as stale, and holds its own now
    with held(lock):
        ended = replace(bench.recovery, sabotage=PATIENCE).run()
        assert lock.is_dir()
    assert ended.exit == UNFINISHED
    assert str(lock) in ended.err
    must(bench.recovery)
    assert bench.judge(before).outcome == "before"


@pytest.mark.parametrize("also", ["", "refreshed"])
def test_a_lock_that_someone_took_over_from_us_is_not_released(
    also: str, tmp_path: Path
) -> None:
    lock = tmp_path.resolve() / "history.jsonl.lock"
    with seams.module("locks").held([lock]):
        take_over(lock, lock.stat().st_ino)
        if also:
            os.utime(lock)
    assert lock.is_dir()


def take_over(lock: Path, inode: int) -> None:
    """Made again by someone else, if possible under the very inode that ours had."""
    for _ in range(20):
        lock.rmdir()
        lock.mkdir()
        if lock.stat().st_ino == inode:
            return
