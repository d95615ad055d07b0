"""A write that takes less than it was given loses nothing."""

import pytest

from tests.crash.bench import bench_of
from tests.crash.sweep import truthful

pytestmark = pytest.mark.crash


@pytest.mark.parametrize("command", ["move", "restore"])
@pytest.mark.parametrize("scenario", ["move", "merge", "split"])
def test_writes_of_seven_bytes_each_make_the_same_files(
    scenario: str, command: str
) -> None:
    bench = bench_of(scenario, command)
    before = bench.reset()
    ended = bench.job(["short_writes"]).run(["-e", "trace=write"])
    assert ended.exit == 0
    assert ended.trace.count(", 7)") > 200  # they really were short
    verdict = bench.judge(before)
    assert (verdict.outcome, verdict.problems) == ("after", ())


@pytest.mark.parametrize("size", [600, 1500, 2500, 3500])
def test_a_file_that_can_not_grow_ends_the_run_with_everything_as_it_was(
    size: int,
) -> None:
    bench = bench_of("move")
    before = bench.reset()
    ended = bench.job([f"file_size_limit={size}"]).run(["-e", "trace=write"])
    assert "EFBIG" in ended.trace  # the kernel did refuse to go on
    assert truthful(bench, before, ended) == ("exit 1, before", [])
    assert "File too large" in ended.err
