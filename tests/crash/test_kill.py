"""A run that is killed anywhere is rolled back completely, or was done completely."""

from pathlib import Path

import pytest

from tests.crash.bench import Bench, bench_of
from tests.crash.conftest import Record
from tests.crash.sample import EXHAUSTIVE, at_least
from tests.crash.scenarios import LIFE_WENT_ON, SCENARIOS
from tests.crash.sweep import kill, sweep

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.mark.parametrize("command", ["move", "restore"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_killed_at_any_call_it_is_exactly_as_before_or_exactly_as_after(
    scenario: str, command: str, proven: Record
) -> None:
    bench = bench_of(scenario, command)
    traced = EXHAUSTIVE and scenario == "merge"  # once by the kernel itself
    close = 2 if scenario == "merge" else 1  # it has the most kinds of steps
    tally = sweep(
        bench.points, lambda point: kill(bench, point, traced=traced), close=close
    )
    proven(f"killed: {command} ({scenario})", tally)
    # Were all as before, then nothing would have been seen of the end of a run.
    assert tally.ends["before"] > at_least(50)
    assert tally.ends["after"] > 0


def test_an_undo_after_life_went_on_is_killed_at_any_call(
    in_memory: Path, proven: Record
) -> None:
    bench = Bench(in_memory, LIFE_WENT_ON, "restore")
    tally = sweep(bench.points, lambda point: kill(bench, point), close=1)
    proven("killed: restore (merge, life went on)", tally)
    assert tally.ends["after"] > 0


@pytest.mark.exhaustive
@pytest.mark.parametrize("command", ["move", "restore"])
def test_on_a_disk_too_where_inodes_are_reused_and_it_works(
    command: str, proven: Record
) -> None:
    bench = bench_of("merge", command, on_disk=True)
    tally = sweep(bench.points, lambda point: kill(bench, point, again=True), close=0)
    proven(f"killed, then run again: {command} (merge)", tally)
