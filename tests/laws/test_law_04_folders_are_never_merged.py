"""Law 4: a project folder is renamed back only if it is the one that we renamed, or
nothing is.
"""

from pathlib import Path

import pytest

from tests.crash.calls import Point
from tests.crash.conftest import Record
from tests.crash.fork import Job
from tests.crash.sweep import UNFINISHED, sweep
from tests.crash.world import (
    age_locks,
    killed,
    lasting,
    not_rolled_back,
    users,
    world_bench,
)
from tests.shapes.bench import Bench
from tests.support.state import StateBuilder
from tests.support.tree import diff, snapshot


def another_repository(folder: Path, since: str = "") -> None:
    """Some names are those of the other folder, some are not."""
    (folder / ".claude").mkdir(parents=True)
    (folder / ".claude/settings.json").write_text("{}" + since)
    (folder / "main.c").write_text("int main;\n" + since)


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("command", ["move", "restore"])
def test_another_repository_in_the_old_place_stops_the_recovery(
    command: str, proven: Record
) -> None:
    """Exit 5, both folders are named, and nothing has changed: not the state either."""
    bench = world_bench("folder", command)

    def try_one(point: Point) -> tuple[str, list[str]]:
        world, problems = killed(bench, point)
        places = [world.state.code / name for name in world.places]
        free = [place for place in places if not place.exists()]
        if not free:
            return "both there", problems
        another_repository(free[0], world.mark("repository"))
        world.came.clear()
        age_locks(world.state)
        before = users(snapshot(world.state.home))
        ended = Job(world.state, ["recover"]).run()
        if (
            ended.exit == 0
        ):  # the folder had not been renamed yet, or the run was finished
            return "exit 0", problems + not_rolled_back(world)
        named = [
            str(place) in ended.err or f"~/code/{place.name}" in ended.err
            for place in places
        ]
        if ended.exit != UNFINISHED or not all(named):
            problems.append(f"not both are named: {ended}")
        problems += diff(before, users(snapshot(world.state.home)), inodes="all")
        return f"exit {ended.exit}", problems

    tally = sweep(lasting(bench.points), try_one)
    proven(f"killed, another repository in the old place: {command} (folder)", tally)
    assert (
        tally.ends["exit 5"] >= 3
    )  # the renames of the folder and of the state, and between
    assert tally.ends["exit 0"] >= 3


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.parametrize("command", ["move", "restore"])
def test_a_new_file_in_our_folder_is_no_reason_to_stop(
    command: str, proven: Record
) -> None:
    """Nor is another repository where nothing has to go back to."""
    bench = world_bench("folder", command)

    def try_one(point: Point) -> tuple[str, list[str]]:
        world, problems = killed(bench, point)
        for name in world.places:
            if (folder := world.state.code / name).exists():
                (folder / "else.txt").write_text(world.mark("folder"))
        age_locks(world.state)
        ended = Job(world.state, ["recover"]).run()
        wrong = not_rolled_back(world) if ended.exit == 0 else [f"{ended}"]
        return f"exit {ended.exit}", problems + wrong

    tally = sweep(lasting(bench.points), try_one)
    proven(f"killed, a new file in the folder: {command} (folder)", tally)


def test_undoing_never_renames_a_strangers_folder(
    bench: Bench, state: StateBuilder
) -> None:
    """The folder was renamed once more by hand, and another repository has its name
    now.
    """
    old, new, archive = (state.code / name for name in ("old", "new", "archive"))
    state.project("old", make_folder=True)
    (old / "file").write_text("mine\n")
    bench.ok("-m", old, new)
    new.rename(archive)
    another_repository(new)
    report = bench.refused("restore")
    assert str(old) in report["error"]
    assert str(new) in report["error"]


def test_undoing_renames_our_folder_back_although_it_was_worked_in(
    bench: Bench,
) -> None:
    state = bench.state
    old, new = state.code / "old", state.code / "new"
    state.project("old", make_folder=True)
    for name in ("file", "gone", "other"):
        (old / name).write_text("mine\n")
    bench.ok("-m", old, new)
    (new / "gone").unlink()
    (new / "file").write_text("changed\n")
    (new / "added").write_text("new\n")
    bench.ok("restore")
    assert {p.name: p.read_text() for p in old.iterdir()} == {
        "file": "changed\n",
        "other": "mine\n",
        "added": "new\n",
    }
    assert not new.exists()
