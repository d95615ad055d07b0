"""A clock that was set back or forward between two commands, and how old is too old."""

from pathlib import Path

import pytest

from tests.crash.fork import Ended, Job
from tests.crash.sweep import REFUSED
from tests.hostile.attack import Target
from tests.support import tree

DAY = 86_400
YEAR = 365 * DAY
SET = pytest.mark.parametrize("clock", [-50 * YEAR, -YEAR, -DAY, DAY, YEAR, 50 * YEAR])


def at(
    target: Target, clock: int, *args: str | Path, more: tuple[str, ...] = ()
) -> Ended:
    """Run ccmove while the clock is off by so many seconds."""
    return Job(
        target.state, list(map(str, args)), sabotage=[f"clock={clock}", *more]
    ).run()


def backups(target: Target) -> list[str]:
    """The IDs that there are, newest first."""
    return [row["id"] for row in target.run("backups", "--json").json()["backups"]]


def move_on(target: Target, old: Path, new: Path, clock: int) -> None:
    old.rename(new)
    ended = at(target, clock, old, new)
    assert ended.exit == 0, ended


@SET
def test_a_later_run_has_a_later_id_and_is_the_one_that_restore_undoes(
    target: Target, clock: int
) -> None:
    second, third = target.state.code / "second", target.state.code / "third"
    before = tree.snapshot(target.state.home)
    assert target.move().exit == 0
    [first_id] = backups(target)
    move_on(target, target.new, second, clock)
    [second_id, *_] = backups(target)
    move_on(target, second, third, 0)
    assert backups(target) == sorted(backups(target), reverse=True)
    assert backups(target)[1:] == [second_id, first_id]
    ways_back = ([], [second_id], [first_id])
    for folder, words in zip((second, target.new, target.old), ways_back, strict=True):
        assert at(target, -clock, "undo", *words).exit == 0
        assert str(folder) in target.state.config()["projects"]
    assert (
        tree.diff(before, tree.snapshot(target.state.home), ignore=[".claude/ccmove"])
        == []
    )


@pytest.mark.parametrize(
    ("made", "pruned", "age", "left"),
    [
        *((0, clock, "30d", 1) for clock in (-50 * YEAR, -YEAR, 0, 29 * DAY)),
        (0, 31 * DAY, "30d", 0),  # the control: there it is older
        (YEAR, 0, "1m", 1),  # the clock was ahead
        # Before the year 1000 a date has fewer digits, and would sort as if it were
        # later.
        *(
            (0, 0, age, 1)
            for age in ("1d", "20000d", "400000d", "999999999d", "999999999w")
        ),
    ],
)
def test_what_is_not_older_by_the_clock_is_not_removed(
    target: Target, made: int, pruned: int, age: str, left: int
) -> None:
    assert at(target, made, target.old, target.new).exit == 0
    assert at(target, pruned, "prune", "--older-than", age).exit == 0
    assert len(backups(target)) == left


@pytest.mark.parametrize(
    "age", ["²d", "٣d", "9" * 5000 + "d", "-1d", "1", "d", "", "1y", "1.5d", "1d\n"]
)
def test_what_is_not_a_duration_is_wrong_usage(target: Target, age: str) -> None:
    assert target.move().exit == 0
    assert target.run("prune", f"--older-than={age}").exit == 2
    assert len(backups(target)) == 1


@pytest.mark.parametrize("lock", [".claude/history.jsonl.lock", ".claude.json.lock"])
def test_a_held_lock_is_not_removed_when_the_clock_was_set_back(
    target: Target, lock: str
) -> None:
    """Its time is in the future then: it is not old, and its holder may be running."""
    held = target.state.home / lock
    held.mkdir()
    target.remember()
    inode = held.stat().st_ino
    ended = at(target, -YEAR, target.old, target.new, more=("patience=1",))
    assert ended.exit == REFUSED, ended
    assert str(held) in ended.err
    assert held.stat().st_ino == inode
    target.nothing_changed()


def test_a_run_that_died_is_rolled_back_whatever_the_clock_says(target: Target) -> None:
    target.remember()
    for number, clock in ((30, -YEAR), (50, YEAR), (70, -50 * YEAR)):
        died = Job(
            target.state,
            [str(target.old), str(target.new)],
            sabotage=[f"die_at={number}"],
        )
        assert died.run().exit < 0
        assert (target.own / "run").exists()
        assert at(target, clock, "recover").exit == 0
        target.nothing_changed()
        target.nothing_left_over()
