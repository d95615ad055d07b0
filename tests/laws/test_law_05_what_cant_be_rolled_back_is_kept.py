"""Law 5: what can't be rolled back is kept, and blocks, and nobody is told to remove it
by hand.
"""

import pytest

from tests.crash.conftest import Record
from tests.crash.fork import Ended, Job
from tests.crash.world import (
    BY_HAND,
    World,
    age_locks,
    killed,
    lasting,
    lines,
    lost,
    try_all,
    world_bench,
)
from tests.laws.test_law_04_folders_are_never_merged import another_repository
from tests.support import seams

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture
def blocked() -> World:
    """`-m` died when the folder had been renamed, and another repository is in its old
    place.
    """
    bench = world_bench("folder")
    for point in reversed(lasting(bench.points)):
        world, problems = killed(bench, point)
        old, new = (world.state.code / name for name in world.places)
        if seams.under_way(world.state) and new.exists() and not old.exists():
            another_repository(old)
            age_locks(world.state)
            if run(world, "recover").exit == 5:
                assert not problems
                return world
    raise AssertionError("no such point")


def run(world: World, *args: str) -> Ended:
    return Job(world.state, args).run()


def sessions(world: World) -> set[bytes]:
    return {
        f.read_bytes()
        for f in world.state.home.rglob("*.jsonl")
        if f.name != "history.jsonl"
    }


def test_a_run_that_cant_be_rolled_back_blocks_every_other_and_keeps_everything(
    blocked: World,
) -> None:
    blocked.state.add_session("x")
    (blocked.state.code / "y").mkdir()
    there = lines(blocked.state.home)
    for args in (["recover"], ["restore"], ["x", "y"], ["recover"]):
        ended = run(blocked, *args)
        assert ended.exit == 5, ended
        assert lost(blocked, there) == []
    assert seams.under_way(blocked.state)


def test_no_hint_tells_anybody_to_do_something_of_ours_by_hand(blocked: World) -> None:
    for args in (["recover"], ["doctor"], ["backups"], ["restore"], ["verify"]):
        ended = run(blocked, *args)
        hint = BY_HAND.search(ended.out + ended.err)
        assert hint is None, ended
    assert "ccmove recover --set-aside" in run(blocked, "recover").err


def test_a_run_that_was_set_aside_blocks_nobody_and_is_shown_and_never_pruned(
    blocked: World,
) -> None:
    there, found = lines(blocked.state.home), sessions(blocked)
    ended = run(blocked, "recover", "--set-aside")
    assert ended.exit == 0, ended
    assert not seams.under_way(blocked.state)
    (kept,) = seams.unfinished(blocked.state)
    for args in (["doctor"], ["backups"], ["doctor", "--json"], ["backups", "--json"]):
        shown = run(blocked, *args)
        assert kept in shown.out, shown
    for command in ("show", "restore"):
        told = run(blocked, command, kept)
        assert told.exit == 4, told
        assert f"run {kept} was set aside; it is kept in " in told.err
    assert "was set aside" in run(blocked, "prune", kept).out
    assert run(blocked, "recover").exit == 0
    assert run(blocked, "prune", "--keep", "0").exit == 0
    assert seams.unfinished(blocked.state) == [kept]
    assert lost(blocked, there) == []
    assert sessions(blocked) == found


def test_a_run_that_was_set_aside_does_not_stop_the_next_move(blocked: World) -> None:
    assert run(blocked, "recover", "--set-aside").exit == 0
    there = lines(blocked.state.home)
    blocked.state.add_session("x")
    (blocked.state.code / "y").mkdir()
    ended = run(blocked, "x", "y")
    assert ended.exit == 0, ended
    assert run(blocked, "restore").exit == 0
    assert len(seams.unfinished(blocked.state)) == 1
    assert lost(blocked, there) == []


@pytest.mark.parametrize(
    ("scenario", "command"), [("folder", "move"), ("split", "restore")]
)
def test_a_home_that_is_at_another_path_by_now_is_rolled_back(
    scenario: str, command: str, proven: Record
) -> None:
    tally = try_all(world_bench(scenario, command), "home at another path")
    proven(f"killed, home at another path: {command} ({scenario})", tally)
