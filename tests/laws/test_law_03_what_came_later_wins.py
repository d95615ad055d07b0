"""Law 3: what is neither what we found nor what we left is never replaced or removed."""

import pytest

from tests.crash.calls import Point
from tests.crash.conftest import Record
from tests.crash.fork import Job
from tests.crash.sweep import sweep
from tests.crash.world import age_locks, is_live, killed, lasting, try_all, world_bench

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.timeout(900)]


def test_a_note_added_to_a_file_that_the_run_made_stays_live_and_is_named(
    proven: Record,
) -> None:
    """A split copies the memory; Claude adds to the copy before the recovery."""
    bench = world_bench("split")

    def try_one(point: Point) -> tuple[str, list[str]]:
        world, problems = killed(bench, point)
        file = world.directory("neu") / "memory/MEMORY.md"
        if not file.exists():
            return "no copy yet", problems
        text = world.mark("note")
        with file.open("a") as memory:
            memory.write(f"- {text}\n")
        age_locks(world.state)
        ended = Job(world.state, ["recover"]).run()
        if ended.exit != 0 or not is_live(world, text, "note"):
            problems.append(f"not live: {ended}")
        rolled_back = "no run was interrupted" not in ended.out
        if rolled_back and "neu/memory" not in ended.out + ended.err:
            problems.append(f"not named: {ended}")
        return f"exit {ended.exit}", problems

    tally = sweep(lasting(bench.points), try_one)
    proven("killed, a note in a file that we made (split)", tally)
    assert tally.ends["exit 0"] > 3


@pytest.mark.parametrize(("scenario", "command"), [("move", "move"), ("swap", "move")])
def test_prompts_that_came_since_the_crash_are_live_once(
    scenario: str, command: str, proven: Record
) -> None:
    tally = try_all(world_bench(scenario, command), "prompts added")
    proven(f"killed, prompts added: {command} ({scenario})", tally)


SINCE = ("prompts added", "notes added", "sessions added", "config written twice")


@pytest.mark.parametrize("command", ["move", "restore"])
def test_all_that_came_since_the_crash_is_live(command: str, proven: Record) -> None:
    """Together; each alone is tried by `make test-all`."""
    tally = try_all(world_bench("merge", command), *SINCE)
    proven(f"killed, {', '.join(SINCE)}: {command} (merge)", tally)
