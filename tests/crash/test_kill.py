"""A run that is killed anywhere is taken back whole, or was done whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.bench import Bench
from tests.crash.conftest import Record
from tests.crash.scenarios import SCENARIOS
from tests.crash.sweep import kill, sweep

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.mark.parametrize("command", ["move", "restore"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_killed_at_any_call_it_is_exactly_as_before_or_exactly_as_after(
    scenario: str, command: str, on_disk: Path, proven: Record
) -> None:
    bench = Bench(on_disk, scenario, command)
    tally = sweep(bench.points, lambda point: kill(bench, point))
    proven(f"killed: {command} ({scenario})", tally)
    # Were all as before, then nothing would have been seen of the end of a run.
    assert tally.ends["before"] > 50
    assert tally.ends["after"] > 0
