"""A run in which a system call fails says so plainly, and leaves everything as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.bench import Bench
from tests.crash.conftest import Record
from tests.crash.sweep import ERRORS, fail, fail_from_there_on, interrupt, sweep

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.timeout(900)]

# Every error at every call of these; the other shapes get the one that is never expected.
IN_FULL = ("move", "merge")
FAILURES = [(scenario, error) for scenario in IN_FULL for error in ERRORS]
FAILURES += [(scenario, "EIO") for scenario in ("split", "swap", "folder")]


@pytest.mark.parametrize("command", ["move", "restore"])
@pytest.mark.parametrize(("scenario", "error"), FAILURES)
def test_a_call_that_fails_is_reported_and_the_exit_code_tells_the_truth(
    scenario: str, error: str, command: str, in_memory: Path, proven: Record
) -> None:
    bench = Bench(in_memory, scenario, command)
    tally = sweep(bench.points, lambda point: fail(bench, point, error))
    proven(f"failed with {error}: {command} ({scenario})", tally)
    assert tally.ends["exit 1, before"] > 50


@pytest.mark.parametrize("command", ["move", "restore"])
def test_a_disk_that_stays_bad_leaves_what_recover_can_settle(
    command: str, in_memory: Path, proven: Record
) -> None:
    bench = Bench(in_memory, "merge", command)
    tally = sweep(bench.points, lambda point: fail_from_there_on(bench, point, "EROFS"))
    proven(f"failed with EROFS from there on: {command} (merge)", tally)
    assert tally.ends["exit 5, before"] > 50


@pytest.mark.parametrize("command", ["move", "restore"])
def test_ctrl_c_at_any_call_ends_with_130_and_everything_as_it_was_or_with_0_and_done(
    command: str, in_memory: Path, proven: Record
) -> None:
    bench = Bench(in_memory, "merge", command)
    tally = sweep(bench.points, lambda point: interrupt(bench, point))
    proven(f"Ctrl-C: {command} (merge)", tally)
    assert tally.ends["exit 130, before"] > 50
