"""The world changes between a crash and the recovery: nothing is lost, what came later
is live.
"""

import os
import random

import pytest

from tests.crash.conftest import Record
from tests.crash.sample import EXHAUSTIVE
from tests.crash.scenarios import SCENARIOS
from tests.crash.sweep import Tally
from tests.crash.world import CHANGES, lasting, trial, try_all, world_bench

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.timeout(1800)]

KINDS = [
    (scenario, command) for scenario in SCENARIOS for command in ("move", "restore")
]
# of trials in which nothing needed is gone may end with 5: rare meetings of changes
SHARE = 0.05
TRIALS = int(os.environ.get("CCMOVE_TRIALS") or (400 if EXHAUSTIVE else 30))
DEATHS = (1, 4, 9, 16, 25, 36)  # of a recovery: most make more changes than that


def test_whatever_happens_after_whatever_crash_nothing_is_lost(proven: Record) -> None:
    """To repeat a run: CCMOVE_SEED=number; for a longer or shorter one:
    CCMOVE_TRIALS=number.
    """
    seed = int(os.environ.get("CCMOVE_SEED") or random.randrange(10**6))
    chance = random.Random(seed)
    tally, free, needless = Tally(), 0, list[str]()
    benches = [world_bench(*kind) for kind in KINDS]
    for number in range(TRIALS):
        bench = chance.choice(benches)
        point = chance.choice(lasting(bench.points))
        changes = chance.sample(list(CHANGES), chance.randint(1, 3))
        death = chance.choice((0, 0, *DEATHS))
        outcome = trial(bench, point, changes, death)
        what = f"{number}: {bench.scenario.name}, {bench.command}: {point.where}; {changes}"
        what += f", recovery killed at its change {death}" if death else ""
        tally.add(what, f"exit {outcome.ended.exit}", outcome.problems)
        free += not outcome.needed_is_gone
        needless += [f"{what}\n{outcome.ended.err}"] if outcome.needless else []
    told = f"{len(needless)} of {free} exit 5 without need, CCMOVE_SEED={seed}"
    proven(f"the world changed at random: {told}", tally)
    assert len(needless) <= SHARE * free, "\n".join([told, *needless])


@pytest.mark.parametrize(
    ("scenario", "command"), [("merge", "restore"), ("folder", "move")]
)
def test_control_without_any_change_every_trial_ends_well(
    scenario: str, command: str, proven: Record
) -> None:
    tally = try_all(world_bench(scenario, command))
    proven(f"killed, nothing changed: {command} ({scenario})", tally)
    assert tally.ends == {"exit 0": tally.tried}


TOGETHER = [  # what comes together in practice, and what is hardest together
    (
        "home copied",
        "sessions added",
        "notes added",
        "prompts added",
        "config written twice",
    ),
    ("home at another path", "sessions added", "config written once"),
    ("home on another file system",),
    ("backups gone", "notes added"),
    ("something else in the folders", "home copied"),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("scenario", "command"), KINDS)
def test_at_every_point_nothing_is_lost(
    scenario: str, command: str, proven: Record
) -> None:
    """Every point with changes that come together; with each alone a third, in turn."""
    tally = Tally()
    bench = world_bench(scenario, command)
    for changes in TOGETHER:
        tally.include(", ".join(changes), try_all(bench, *changes))
    for change in CHANGES:
        tally.include(change, try_all(bench, change, share=3))
    proven(f"the world changed: {command} ({scenario})", tally)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("scenario", "command"), KINDS)
def test_a_recovery_that_is_killed_in_a_changed_world_is_finished_by_the_next_one(
    scenario: str, command: str, proven: Record
) -> None:
    tally = Tally()
    bench = world_bench(scenario, command)
    for changes in TOGETHER:
        found = try_all(bench, *changes, share=3, deaths=DEATHS)
        tally.include(", ".join(changes), found)
    proven(f"the world changed, its recovery killed: {command} ({scenario})", tally)
