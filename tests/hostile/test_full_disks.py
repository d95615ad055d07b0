"""A file system that is full, has no room for another file, or can't be written to at
all.

All of them are real: small file systems in memory, made for the test and seen by it
alone.
"""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.crash.bench import Bench, must
from tests.crash.conftest import Record
from tests.crash.fork import Ended, Job
from tests.crash.interruptions import KINDS
from tests.crash.sample import at_least
from tests.crash.sweep import (
    FAILED,
    REFUSED,
    UNFINISHED,
    Tally,
    after_recovery,
    break_off,
    truthful,
)
from tests.hostile import hooks
from tests.hostile.gaps import gaps_of, plain, sweep
from tests.hostile.surroundings import remount, tmpfs
from tests.support.tree import Tree, diff, snapshot

pytestmark = [pytest.mark.limits, pytest.mark.timeout(300)]

USE_UP = {"fill": hooks.use_up_bytes, "exhaust": hooks.use_up_files}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system that is soon full."""
    with tmpfs(tmp_path / "disk", "size=3m,nr_inodes=300") as made:
        yield made


def filler(bench: Bench) -> Path:
    return bench.live.parent / "filler"


def make_room(bench: Bench) -> None:
    shutil.rmtree(filler(bench), ignore_errors=True)


def since(tree: Tree, bench: Bench) -> list[str]:
    """What differs by now."""
    return diff(tree, snapshot(bench.live), mtimes="all", inodes="all")


def judged_full(bench: Bench, before: Tree, ended: Ended) -> tuple[str, list[str]]:
    """What the exit code promises holds; what is left to `recover` it rolls back, given
    room.
    """
    problems = [] if filler(bench).exists() else ["the disk was not full"]
    if ended.exit == UNFINISHED:
        problems += plain(bench.recovery.run())
    make_room(bench)
    end, more = truthful(bench, before, ended)
    return end, problems + more


def full_from_each_change_on(
    bench: Bench, what: str, sabotage: Sequence[str] = (), every: int = 1
) -> Tally:
    """What frees room is left out: full before it is full before the next call, and
    worse then.
    """
    freeing = ("os.remove", "os.rmdir")
    gaps = [gap for gap in gaps_of(bench, sabotage) if gap.changes_something]
    gaps = [gap for gap in gaps if gap.call not in freeing]
    assert len(gaps) > 30
    kind, _, spare = what.partition(" ")
    more = [str(filler(bench)), spare or "0"]
    return sweep(
        bench, gaps[::every], lambda n: [kind, str(n), *more], judged_full, sabotage
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "command"),
    [
        ("fill", "move"),
        pytest.param("exhaust", "move", marks=pytest.mark.exhaustive),
        pytest.param("fill 4096", "restore", marks=pytest.mark.exhaustive),
        ("exhaust 1", "restore"),
    ],
)
def test_full_from_any_call_on_it_is_as_before_or_as_after(
    disk: Path, what: str, command: str, proven: Record
) -> None:
    bench = Bench(disk, "merge", command)
    tally = full_from_each_change_on(bench, what, every=1 if command == "move" else 2)
    proven(f"a full disk ({what}): {command} (merge)", tally)
    assert tally.ends["exit 1, before"] > at_least(5)
    # Once its report is kept, a run needs no more room.
    assert tally.ends["exit 0, after"] >= at_least(4)


@pytest.mark.slow
def test_the_sweep_sees_what_a_full_disk_can_do(disk: Path) -> None:
    """The control: without a journal nothing rolls back what was done."""
    tally = full_from_each_change_on(
        Bench(disk, "merge"), "fill", ["without_journal"], every=4
    )
    assert len(tally.bad) > at_least(2)


@pytest.mark.crash
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("what", USE_UP)
def test_recovery_on_a_full_disk_works_or_says_it_did_not(
    disk: Path, kind: str, what: str
) -> None:
    bench = Bench(disk, "merge")
    before = break_off(bench, kind)
    USE_UP[what](str(filler(bench)))
    ended = bench.recovery.run()
    make_room(bench)
    assert ended.exit in (0, UNFINISHED), ended
    assert plain(ended) == []
    if ended.exit == 0:
        assert bench.judge(before).outcome == "before"
    assert after_recovery(bench, before) == ("before", [])


LOOKS = (["list"], ["doctor"], ["verify"], ["backups"])


def answers(bench: Bench) -> list[tuple[int, str]]:
    """What the commands say that only look."""
    ended = [Job(bench.state, look).run() for look in LOOKS]
    for end in ended:  # the sample's sessions are old
        assert not end.err or end.err.startswith("Note: Claude Code will delete ")
    return [(end.exit, end.out) for end in ended]


def preview(bench: Bench) -> int:
    words = (
        ["restore"] if bench.command == "restore" else [*map(str, bench.scenario.args)]
    )
    return Job(bench.state, [*words, "--dry-run"]).run().exit


@pytest.mark.parametrize("trouble", [*USE_UP, "ro"])
@pytest.mark.parametrize("command", ["move", "restore"])
def test_without_room_or_right_only_looking_works(
    disk: Path, trouble: str, command: str
) -> None:
    bench = Bench(disk, "move", command)
    before = bench.reset()
    expected = answers(bench)
    assert preview(bench) == 0
    if trouble == "ro":
        remount(disk, "ro")
    else:
        USE_UP[trouble](str(filler(bench)))
    assert answers(bench) == expected
    assert preview(bench) == REFUSED  # as the run itself is
    assert {code for code, _ in expected} <= {0, 1}  # 1 is doctor, who found something
    refused(
        bench.job(), REFUSED, "read-only file system" if trouble == "ro" else "df -h"
    )
    if (trouble, command) == ("ro", "restore"):
        prune = Job(bench.state, ["prune", "--keep", "0"])
        refused(prune, FAILED, "read-only file system")
        assert bench.recovery.run().exit == 0  # there is nothing to roll back
    assert since(before, bench) == []
    remount(disk, "rw")
    make_room(bench)
    must(bench.job())
    assert bench.judge(before).outcome == "after"


def refused(job: Job, code: int, told: str) -> None:
    ended = job.run()
    assert ended.exit == code, ended
    assert plain(ended) == []
    assert str(job.state.home) in ended.err
    assert told in ended.err.lower()


@pytest.mark.crash
@pytest.mark.parametrize("kind", KINDS)
def test_a_recovery_waits_until_it_can_write_again(disk: Path, kind: str) -> None:
    bench = Bench(disk, "merge")
    before = break_off(bench, kind)
    left = snapshot(bench.live)
    remount(disk, "ro")
    ended = bench.recovery.run()
    assert ended.exit == UNFINISHED, ended
    assert plain(ended) == []
    assert "ccmove recover" in ended.err
    assert since(left, bench) == []
    remount(disk, "rw")
    assert after_recovery(bench, before) == ("before", [])
