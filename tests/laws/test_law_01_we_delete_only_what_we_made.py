"""Law 1: we delete only what we made; what is parked or set aside is the user's."""

import pytest

from tests.crash.calls import Point
from tests.crash.conftest import Record
from tests.crash.fork import Job
from tests.crash.sweep import Tally, sweep
from tests.crash.world import (
    age_locks,
    killed,
    lasting,
    lines,
    lost,
    world_bench,
)
from tests.shapes.bench import Bench
from tests.support.state import encoded_name

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.timeout(900)]


def then_another_run() -> Tally:
    """A swap dies, and another project is moved: is any line lost?"""
    bench = world_bench("swap")

    def try_one(point: Point) -> tuple[str, list[str]]:
        world, problems = killed(bench, point)
        age_locks(world.state)
        world.state.add_session("x", text=world.mark("session"))
        (world.state.code / "x2").mkdir()
        there = lines(world.state.home)
        ended = Job(world.state, ["x", "x2"]).run()
        problems += lost(world, there)
        if ended.exit not in (0, 4, 5):
            problems.append(f"{ended}")
        return f"exit {ended.exit}", problems

    return sweep(lasting(bench.points), try_one)


def test_the_next_run_after_a_crash_loses_nothing(proven: Record) -> None:
    tally = then_another_run()
    proven("killed, then another run (swap)", tally)
    assert tally.ends == {"exit 0": tally.tried}


def test_a_file_of_the_users_that_only_looks_like_ours_stays(bench: Bench) -> None:
    """Whoever names a file so may have a reason."""
    state = bench.state
    old = state.project("old", memory={"MEMORY.md": "x\n"})
    (state.code / "new").mkdir()
    names = [".ccmove-notes.txt", ".ccmove-20200101T000000Z-abcd-0"]
    for name in names:
        (old.directory / name).write_text("mine\n")
        (state.home / name).write_text("mine\n")
    with bench.moved(old.path, state.code / "new"):
        target = state.projects / encoded_name(str(state.code / "new"))
        assert all(
            (folder / name).exists()
            for folder in (state.home, target)
            for name in names
        )
        bench.ok("recover")
