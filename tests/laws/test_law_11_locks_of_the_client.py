"""Law 11: locks of the client that we made are always released, and no lock of anybody
else is.
"""

import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.bench import Bench as CrashBench
from tests.crash.calls import Point
from tests.crash.conftest import Record
from tests.crash.fork import Job
from tests.crash.sweep import sweep
from tests.crash.world import World, age_locks, killed, lasting, world_bench
from tests.hostile.surroundings import mounted, needs_root, tmpfs
from tests.shapes.bench import Bench
from tests.support import seams
from tests.support.state import StateBuilder


def locks(state: StateBuilder) -> list[Path]:
    return sorted(state.home.glob(".claude.json.lock*")) + sorted(
        state.config_dir.glob("history.jsonl.lock*")
    )


@pytest.fixture
def without_nanoseconds(tmp_path: Path) -> Iterator[Path]:
    """A file system whose times are whole seconds: ext4 with small inodes, as of an old
    disk.
    """
    with tmpfs(tmp_path / "outer", "size=64m") as outer:
        image, where = outer / "image", outer / "coarse"
        where.mkdir()
        image.write_bytes(b"")
        with image.open("r+b") as file:
            file.truncate(32 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-I", "128", str(image)], check=True)
        with mounted(where, "-o", "loop", image):
            yield where


@pytest.mark.limits
@needs_root
def test_locks_are_released_where_times_have_no_nanoseconds(
    without_nanoseconds: Path,
) -> None:
    state = StateBuilder(without_nanoseconds / "state")
    bench = Bench(state)
    old = state.project("old", index=True)
    (state.code / "new").mkdir()
    before = bench.tree()
    assert state.history.stat().st_mtime_ns % 10**9 == 0
    for args in ([old.path, state.code / "new"], ["restore"]):
        started = time.monotonic()
        bench.ok(*args)
        assert locks(state) == []
        assert time.monotonic() - started < 5
    bench.expect(before)


def with_locks_left(bench: CrashBench) -> World:
    """A run that was killed while it held both locks."""
    for point in reversed(lasting(bench.points)):
        world, _ = killed(bench, point)
        if len(locks(world.state)) == len(seams.CLIENT_LOCKS):
            return world
    raise AssertionError("no such point")


@pytest.mark.crash
@pytest.mark.slow
def test_a_recovery_releases_what_a_crash_has_left_once_it_is_stale(
    proven: Record,
) -> None:
    bench = world_bench("move")

    def try_one(point: Point) -> tuple[str, list[str]]:
        world, problems = killed(bench, point)
        age_locks(world.state)
        ended = Job(world.state, ["recover"]).run()
        problems += [f"left: {lock}" for lock in locks(world.state)]
        return f"exit {ended.exit}", problems

    proven("killed: locks left (move)", sweep(lasting(bench.points), try_one))


@pytest.mark.crash
@pytest.mark.slow
def test_a_lock_that_the_client_took_over_since_is_waited_for(tmp_path: Path) -> None:
    """Ours was stale, the client made its own in its place: that one is not ours to
    remove.
    """
    world = with_locks_left(world_bench("move"))
    age_locks(world.state)
    (lock, *_) = (world.state.home / name for name in seams.CLIENT_LOCKS)
    lock.rmdir()
    lock.mkdir()
    inode, seen = lock.stat().st_ino, []

    def release() -> None:
        seen.append(lock.exists() and lock.stat().st_ino == inode)
        lock.rmdir()

    timer = threading.Timer(2, release)
    timer.start()
    started = time.monotonic()
    ended = Job(world.state, ["recover"]).run()
    timer.join()
    assert ended.exit == 0, ended
    assert seen == [True]
    assert time.monotonic() - started >= 2
