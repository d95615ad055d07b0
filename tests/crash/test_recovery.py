"""A recovery may be killed or fail as well: the next one settles it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.bench import Bench
from tests.crash.conftest import Record
from tests.crash.interruptions import KINDS
from tests.crash.sweep import ERRORS, fail_recovery, kill_recovery, recovery_points, sweep

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.timeout(900)]

KILLED = [("merge", "move"), ("merge", "restore"), ("swap", "move")]
# The longest ways back with every error, the others with one.
FAILED = [(kind, error) for kind in ("prepared", "all changed") for error in ERRORS]
FAILED += [(kind, "EIO") for kind in KINDS if kind not in ("prepared", "all changed")]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("scenario", "command"), KILLED)
def test_a_recovery_killed_at_any_call_is_settled_by_the_next_one(
    scenario: str, command: str, kind: str, in_memory: Path, proven: Record
) -> None:
    bench = Bench(in_memory, scenario, command)
    points = recovery_points(bench, kind)
    tally = sweep(points, lambda point: kill_recovery(bench, kind, point))
    proven(f"killed: recovery of a {command} ({scenario})", tally)
    assert tally.ends == {"before": len(points)}


@pytest.mark.parametrize(("kind", "error"), FAILED)
def test_a_recovery_in_which_a_call_fails_says_so_and_is_settled_by_the_next_one(
    kind: str, error: str, in_memory: Path, proven: Record
) -> None:
    bench = Bench(in_memory, "merge", "move")
    points = recovery_points(bench, kind)
    tally = sweep(points, lambda point: fail_recovery(bench, kind, point, error))
    proven(f"failed with {error}: recovery of a move (merge)", tally)
