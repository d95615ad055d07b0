"""A clock that was set back or forward between two commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.fork import Ended, Job
from tests.crash.sweep import REFUSED
from tests.hostile.attack import Target
from tests.support import tree

DAY = 86_400
YEAR = 365 * DAY
SET = pytest.mark.parametrize("clock", [-50 * YEAR, -YEAR, -DAY, DAY, YEAR, 50 * YEAR])


def at(target: Target, clock: int, *args: str | Path, more: tuple[str, ...] = ()) -> Ended:
    """Run ccmove while the clock is off by so many seconds."""
    return Job(target.state, list(map(str, args)), sabotage=[f"clock={clock}", *more]).run()


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
    assert target.move().exit == 0
    [first_id] = backups(target)
    move_on(target, target.new, second, clock)
    [second_id, *_] = backups(target)
    move_on(target, second, third, 0)
    assert backups(target) == sorted(backups(target), reverse=True)
    assert backups(target)[1:] == [second_id, first_id]
    for folder in (second, target.new, target.old):
        assert at(target, -clock, "restore").exit == 0
        assert str(folder) in target.state.config()["projects"]


@SET
def test_a_restore_gives_everything_back_whatever_the_clock_says(
    target: Target, clock: int
) -> None:
    before = tree.snapshot(target.state.home)
    assert target.move().exit == 0
    assert at(target, clock, "restore").exit == 0
    assert tree.diff(before, tree.snapshot(target.state.home), ignore=[".claude/ccmove"]) == []


@pytest.mark.parametrize(
    ("clock", "left"), [(-50 * YEAR, 1), (-YEAR, 1), (0, 1), (29 * DAY, 1), (31 * DAY, 0)]
)
def test_what_is_not_older_by_the_clock_is_not_removed(
    target: Target, clock: int, left: int
) -> None:
    """The last of them is the control: there it is older."""
    assert target.move().exit == 0
    assert at(target, clock, "backups", "--prune", "--older-than", "30d").exit == 0
    assert len(backups(target)) == left


def test_a_backup_from_a_clock_that_was_ahead_is_kept(target: Target) -> None:
    assert at(target, YEAR, target.old, target.new).exit == 0
    assert target.run("backups", "--prune", "--older-than", "1m").exit == 0
    assert len(backups(target)) == 1


@pytest.mark.parametrize("lock", [".claude/history.jsonl.lock", ".claude.json.lock"])
def test_a_lock_that_is_held_is_not_removed_when_the_clock_was_set_back(
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
        died = Job(target.state, [str(target.old), str(target.new)], sabotage=[f"die_at={number}"])
        assert died.run().exit < 0
        assert (target.own / "journal.json").exists()
        assert at(target, clock, "recover").exit == 0
        target.nothing_changed()
        target.nothing_left_over()
