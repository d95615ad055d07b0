"""Law 2: what is done is told by the record of progress, never by inode numbers.

Seen to fail on the code that went by inodes: after a copy a third of the points were
neither before nor after, some of them with exit 0; a config file that the client had
written since was taken for "not begun", or for ours.
"""

import shutil
from pathlib import Path

import pytest

from tests.crash.bench import Bench, age_locks, bench_of
from tests.crash.calls import Point
from tests.crash.conftest import Record
from tests.crash.scenarios import Scenario
from tests.crash.sweep import KILL, KILLED, after_recovery, break_off, happen, sweep
from tests.crash.world import try_all, world_bench
from tests.support import seams
from tests.support.state import StateBuilder, encoded_name
from tests.support.tree import snapshot

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.timeout(900)]


def _plain(state: StateBuilder) -> None:
    """Without an index: the config file is the first thing that is replaced."""
    state.project("app", sessions=1, subagents=False, prompts=1)
    state.project("other", sessions=0, prompts=0)
    (state.code / "neu").mkdir()


PLAIN = Scenario("plain", _plain, ("app", "neu"))


@pytest.mark.parametrize(
    ("scenario", "command"),
    [("move", "move"), ("split", "move"), ("swap", "move"), ("folder", "restore")],
)
def test_a_home_that_was_copied_is_rolled_back(
    scenario: str, command: str, proven: Record
) -> None:
    tally = try_all(world_bench(scenario, command), "home copied")
    proven(f"killed, home copied: {command} ({scenario})", tally)


def test_a_home_that_came_to_another_disk_is_rolled_back(proven: Record) -> None:
    tally = try_all(world_bench("folder"), "home on another file system")
    proven("killed, home on another disk: move (folder)", tally)


@pytest.mark.parametrize("number", ["once", "twice"])
def test_a_config_file_that_has_our_inode_again_is_not_ours(
    number: str, proven: Record
) -> None:
    """The client writes twice, and the second file gets the inode number that ours had.

    One that it wrote once is seen as replaced, else trust is under the new path and the
    sessions are under the old one.
    """
    tally = try_all(world_bench(PLAIN, on_disk=True), f"config written {number}")
    proven(f"killed, config written {number}: move (plain)", tally)


@pytest.mark.parametrize(
    "changes", [("sessions added",), ("home copied", "sessions added")], ids=", ".join
)
def test_a_directory_made_again_is_merged(
    changes: tuple[str, ...], proven: Record
) -> None:
    """Two projects change places, and a session is begun in each while one of them is
    parked.
    """
    tally = try_all(world_bench("swap"), *changes)
    proven(f"killed, {', '.join(changes)}: move (swap)", tally)


def recorded(bench: Bench) -> list[Point]:
    """The flushes of the record: when one begins its line was written."""
    return [
        point
        for point in bench.points
        if point.name == "fsync" and point.where.endswith("run/progress")
    ]


@pytest.mark.parametrize("command", ["move", "restore"])
@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_line_that_was_cut_off_leaves_one_operation_in_doubt(
    command: str, cut: int, proven: Record
) -> None:
    """By a power cut: the change is on disk, its line is not, or only a part of it."""
    bench = bench_of("merge", command)

    def try_one(point: Point) -> tuple[str, list[str]]:
        before = bench.reset()
        happen(bench.job(), point, KILL)
        record = seams.record(bench.state)
        record.write_bytes(record.read_bytes()[:-cut])
        return after_recovery(bench, before)

    points = recorded(bench)[1:]  # not that of the commit point
    tally = sweep(points, try_one)
    proven(f"killed, {cut} bytes of the record lost: {command} (merge)", tally)
    assert tally.ends == {"before": tally.tried}


def test_each_operation_has_its_line_and_its_undoing_too() -> None:
    bench = bench_of("merge")
    break_off(bench, "all changed")
    lines = seams.record(bench.state).read_text().splitlines()
    number = len(seams.operations_under_way(bench.state))
    assert lines == [f"+{n}" for n in range(number + 1)]
    assert number > 10


GARBAGE = (b"+0\nhello\n", b"+999\n", b"\0\0\n")


@pytest.mark.parametrize("text", [*GARBAGE, None], ids=repr)
def test_a_record_that_no_run_wrote_blocks_and_all_is_kept(text: bytes | None) -> None:
    bench = bench_of("merge")
    before = break_off(bench, "all changed")
    record = seams.record(bench.state)
    right = record.read_bytes()
    if text is None:
        record.unlink()
    else:
        record.write_bytes(text)
    there = snapshot(bench.live)
    ended = bench.recovery.run()
    assert ended.exit == 5, ended
    assert "progress" in ended.err
    assert snapshot(bench.live) == there
    record.write_bytes(right)
    record.chmod(0o600)
    age_locks(bench.state)
    assert after_recovery(bench, before) == ("before", [])


# -- the one operation that is in doubt ---------------------------------------------------


def killed_at_the_rename(bench: Bench, *, is_done: bool) -> tuple[Path, Path]:
    """OLD's and NEW's directory, of which the one was just renamed to the other, or was
    just about to be; there is no line for it yet.
    """
    old, new = (
        bench.state.projects / encoded_name(str(bench.state.code / name))
        for name in ("app", "neu")
    )
    number = next(
        number
        for number, point in enumerate(bench.points)
        if point.renames and point.where.endswith(f"{old} {new}")
    )
    bench.reset()
    ended = happen(bench.job(), bench.points[number + is_done], KILL)
    assert ended.exit == KILLED
    assert new.exists() == is_done
    age_locks(bench.state)
    return old, new


def sessions_in(directory: Path) -> set[str]:
    return {file.stem for file in directory.glob("*.jsonl")}


def test_a_rename_was_done_although_the_client_has_made_the_old_place_again() -> None:
    bench = world_bench("move")
    old, new = killed_at_the_rename(bench, is_done=True)
    ours = sessions_in(new)
    later = bench.state.add_session("app")
    assert bench.recovery.run().exit == 0
    assert sessions_in(old) == {*ours, later}
    assert not new.exists()


def test_a_rename_was_not_done_although_the_client_has_made_the_new_place() -> None:
    bench = world_bench("move")
    old, new = killed_at_the_rename(bench, is_done=False)
    ours = sessions_in(old)
    later = bench.state.add_session("neu")
    assert bench.recovery.run().exit == 0
    assert sessions_in(old) == ours
    assert sessions_in(new) == {later}


def test_a_rename_was_not_done_although_someone_has_copied_it_to_the_new_place() -> (
    None
):
    bench = world_bench("move")
    old, new = killed_at_the_rename(bench, is_done=False)
    shutil.copytree(old, new)
    (new / "only-here.txt").write_text("x")
    there = {file.name for file in new.iterdir()}
    assert bench.recovery.run().exit == 0
    assert {file.name for file in new.iterdir()} == there
