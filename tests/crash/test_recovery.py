"""A recovery may be killed or fail as well: the next one finishes it."""

import pytest

from tests.crash.bench import bench_of
from tests.crash.calls import reading_points
from tests.crash.conftest import Record
from tests.crash.interruptions import KINDS
from tests.crash.sample import at_least
from tests.crash.sweep import (
    ERRORS,
    break_off,
    fail_recovery,
    kill_recovery,
    recovery_points,
    sweep,
)

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.timeout(900)]

REST = pytest.mark.exhaustive
KILLED = [("merge", "move", kind) for kind in KINDS]
KILLED += [
    pytest.param(*command, kind, marks=() if kind == often else REST)
    for *command, often in (
        ("merge", "restore", "all changed"),
        ("swap", "move", "half changed"),
        ("unpack", "move", "all changed"),
        ("unpack", "restore", "half changed"),
    )
    for kind in KINDS
]
# The longest ways back with every error, the others with one.
LONG = ("prepared", "all changed")
FAILED = [pytest.param(kind, "EIO") for kind in KINDS]
FAILED += [
    pytest.param(kind, error, marks=REST)
    for kind in LONG
    for error in ERRORS
    if error != "EIO"
]
# Whether something is there, and which inode it has; a machine may have one name or the
# other.
LOOKING = ("newfstatat", "fstatat64", "statx", "lstat", "stat")


@pytest.mark.parametrize(("scenario", "command", "kind"), KILLED)
def test_a_recovery_killed_at_any_call_is_finished_by_the_next_one(
    scenario: str, command: str, kind: str, proven: Record
) -> None:
    bench = bench_of(scenario, command)
    points = recovery_points(bench, kind)
    tally = sweep(points, lambda point: kill_recovery(bench, kind, point), close=0)
    proven(f"killed: recovery of a {command} ({scenario})", tally)
    assert tally.ends == {"before": tally.tried}


@pytest.mark.parametrize(("kind", "error"), FAILED)
def test_a_recovery_in_which_a_call_fails_says_so_and_is_finished_by_the_next_one(
    kind: str, error: str, proven: Record
) -> None:
    bench = bench_of("merge", "move")
    points = recovery_points(bench, kind)
    tally = sweep(
        points, lambda point: fail_recovery(bench, kind, point, error), close=-1
    )
    proven(f"failed with {error}: recovery of a move (merge)", tally)


def test_a_call_of_a_recovery_that_changes_nothing_may_fail_as_well(
    proven: Record,
) -> None:
    """Above all: what can't be looked at is not taken for gone."""
    bench, kind = bench_of("move"), "all changed"
    break_off(bench, kind)
    every = reading_points(bench.recovery.run(["-y"]).trace)
    points = [
        point for point in every if point.name in LOOKING and "/.claude/" in point.where
    ]
    tally = sweep(points, lambda point: fail_recovery(bench, kind, point, "EIO"))
    proven("failed with EIO: calls that only look, recovery of a move (move)", tally)
    assert tally.tried > at_least(20)
