"""A run in which a system call fails says so plainly, and leaves everything as it was."""

import pytest

from tests.crash.bench import bench_of
from tests.crash.calls import is_output, reading_points
from tests.crash.conftest import Record
from tests.crash.sample import EXHAUSTIVE, at_least
from tests.crash.sweep import ERRORS, fail, fail_from_there_on, interrupt, sweep

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.timeout(900)]

# Every error at every call of these; the other shapes get the one that is never
# expected. In a sample: how close to a rename; the way back is the same whatever the
# error is.
CLOSE = {error: 1 if error == "EIO" else -1 for error in ERRORS}
IN_FULL = ("move", "merge")
REST = pytest.mark.exhaustive
FAILURES = [
    pytest.param(scenario, error, marks=[] if error in ("EIO", "ENOSPC") else REST)
    for scenario in IN_FULL
    for error in ERRORS
]
OTHERS = ("split", "swap", "folder", "unpack", "unpack-empty")
FAILURES += [pytest.param(scenario, "EIO") for scenario in OTHERS]
# What comes in is written while it is not known yet whether there is room for it.
FAILURES += [
    pytest.param(scenario, error, marks=[] if error == "ENOSPC" else REST)
    for scenario in ("unpack", "unpack-empty")
    for error in ("ENOSPC", "EACCES")
]


@pytest.mark.parametrize("command", ["move", "restore"])
@pytest.mark.parametrize(("scenario", "error"), FAILURES)
def test_a_call_that_fails_is_reported_and_the_exit_code_tells_the_truth(
    scenario: str, error: str, command: str, proven: Record
) -> None:
    bench = bench_of(scenario, command)
    traced = EXHAUSTIVE and (scenario, error) == (
        "merge",
        "EIO",
    )  # once by the kernel itself
    close = CLOSE[error] if scenario in IN_FULL else 0
    tally = sweep(
        bench.points,
        lambda point: fail(bench, point, error, traced=traced),
        close=close,
    )
    proven(f"failed with {error}: {command} ({scenario})", tally)
    assert tally.ends["exit 1, before"] > at_least(50)


def test_a_call_that_changes_nothing_may_fail_as_well(proven: Record) -> None:
    bench = bench_of("folder")
    bench.reset()
    every = reading_points(bench.job().run(["-y"]).trace)
    # There are very many: every third, and all of the last ones, when the move is done.
    points = [*every[:-30:3], *every[-30:]]
    tally = sweep(points, lambda point: fail(bench, point, "EIO"), close=0)
    proven("failed with EIO: a third of the calls that only read, move (folder)", tally)


@pytest.mark.parametrize("command", ["move", "restore"])
def test_a_disk_that_stays_bad_leaves_what_can_be_rolled_back(
    command: str, proven: Record
) -> None:
    bench = bench_of("merge", command)
    points = [
        point for point in bench.points if point.ordinal
    ]  # what is said still comes out
    tally = sweep(
        points, lambda point: fail_from_there_on(bench, point, "EROFS"), close=0
    )
    proven(f"failed with EROFS from there on: {command} (merge)", tally)
    assert tally.ends["exit 5, before"] > at_least(50)


@pytest.mark.parametrize(
    ("command", "signal"),
    [("move", "INT"), ("restore", "INT"), pytest.param("move", "TERM", marks=REST)],
)
def test_asked_to_end_at_any_call_it_rolls_everything_back_or_is_done(
    command: str, signal: str, proven: Record
) -> None:
    bench = bench_of("merge", command)
    points = [point for point in bench.points if not is_output(point)]
    tally = sweep(points, lambda point: interrupt(bench, point, signal), close=0)
    proven(f"interrupted by SIG{signal}: {command} (merge)", tally)
    assert tally.ends["exit 130, before"] > at_least(50)
    assert tally.ends["exit 0, after"] > 0


def test_ctrl_c_while_the_result_is_printed_does_not_deny_the_move() -> None:
    bench = bench_of("merge")
    [output] = [point for point in bench.points if is_output(point)]
    assert interrupt(bench, output, "INT") == ("exit 0, after", [])
