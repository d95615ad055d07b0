"""Controls: with its journal, or its record of progress, taken out ccmove fails the
very tests that it passes with them.
"""

import pytest

from tests.crash.bench import bench_of, points_of
from tests.crash.sample import sampled, some
from tests.crash.sweep import KILL, Tally, after_recovery, happen

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.mark.parametrize("command", some(["move", "restore"], "move"))
def test_without_the_journal_killing_leaves_trees_that_are_neither_before_nor_after(
    command: str,
) -> None:
    bench = bench_of("merge", command)
    job = bench.job(["without_journal"])
    bench.reset()
    tally = Tally()
    for point in sampled(points_of(job), close=0):
        before = bench.reset()
        happen(job, point, KILL)
        end, problems = after_recovery(bench, before)
        tally.add(point.where, end, problems)
    changing = tally.ends["neither"]
    assert changing > tally.tried / 3, tally.ends
    assert len(tally.bad) >= changing


def test_without_the_record_killing_leaves_trees_that_are_neither_before_nor_after() -> (
    None
):
    """What was changed is not known to be, so that it is not rolled back."""
    bench = bench_of("merge")
    job = bench.job(["without_record"])
    bench.reset()
    tally = Tally()
    for point in sampled(points_of(job), close=0):
        before = bench.reset()
        happen(job, point, KILL)
        end, problems = after_recovery(bench, before)
        tally.add(point.where, end, problems)
    changing = tally.ends["neither"]
    assert changing > tally.tried / 4, tally.ends
    assert len(tally.bad) >= changing
