"""What is proven for forked children holds for `python -m ccmove`: it makes the same
calls.
"""

from pathlib import Path

import pytest

from tests.crash.bench import Bench, age_locks, bench_of
from tests.crash.calls import TRACE_MUTATING, Call, Point, parse
from tests.crash.fork import Job
from tests.crash.interruptions import KINDS, interruptions
from tests.crash.sample import some
from tests.crash.scenarios import SCENARIOS
from tests.crash.sweep import KILL, KILLED
from tests.support.run import Completed, ccmove_command, run_ccmove, run_child

pytestmark = pytest.mark.crash


def trace_of_real_process(job: Job, options: list[str], trace: Path) -> Completed:
    """Run the job as a process of its own, under strace from its first step."""
    strace = ["strace", "-f", "-y", "-o", str(trace), *options]
    command = [*strace, *ccmove_command(*job.args)]
    return run_child(command, state=job.state, cwd=job.state.code, input=job.input)


def changes(trace: str, bench: Bench) -> list[str]:
    """The calls that change something in the state, in order."""
    calls = [
        call for call in parse(trace) if call.changes_something and not call.failed
    ]
    return [call.where for call in calls if _is_in_the_state(call, bench)]


def _is_in_the_state(call: Call, bench: Bench) -> bool:
    return any(Path(path).is_relative_to(bench.live) for path in call.paths)


@pytest.mark.parametrize("command", ["move", "restore"])
@pytest.mark.parametrize("scenario", some(SCENARIOS, "merge", "folder"))
def test_a_forked_child_makes_the_same_changes_as_a_real_process(
    scenario: str, command: str, tmp_path: Path
) -> None:
    bench = bench_of(scenario, command, on_disk=True)
    bench.reset()
    forked = bench.job().run(["-y", "-e", TRACE_MUTATING])
    bench.reset()
    done = trace_of_real_process(
        bench.job(), ["-e", TRACE_MUTATING], tmp_path / "trace"
    )
    assert done.exit == forked.exit == 0
    expected = changes(forked.trace, bench)
    assert len(expected) > 50
    assert changes((tmp_path / "trace").read_text(), bench) == expected


@pytest.mark.parametrize("kind", some(KINDS, "prepared", "half changed"))
def test_a_real_process_killed_in_each_way_is_rolled_back_by_a_real_recovery(
    kind: str, tmp_path: Path
) -> None:
    bench = bench_of("merge", on_disk=True)
    point = interruptions(bench.points)[kind]
    before = bench.reset()
    # The real process may make other calls of this name before: find the very one by
    # its paths.
    number = number_in_real_process(bench, point, tmp_path / "trace")
    before = bench.reset()
    inject = [
        "-e",
        f"trace={point.name}",
        "-e",
        f"inject={point.name}:signal={KILL}:when={number}",
    ]
    assert trace_of_real_process(bench.job(), inject, tmp_path / "trace").exit == KILLED
    assert list(parse((tmp_path / "trace").read_text()))[-1].where == point.where
    assert bench.judge(before).outcome == "neither"  # it was in the middle of something
    age_locks(bench.state)
    assert run_ccmove("recover", state=bench.state).exit == 0
    assert bench.judge(before).outcome == "before"


def number_in_real_process(bench: Bench, point: Point, trace: Path) -> int:
    """As which call of its name the real process comes to this point."""
    trace_of_real_process(bench.job(), ["-e", f"trace={point.name}"], trace)
    calls = [call.where for call in parse(trace.read_text()) if call.name == point.name]
    occurrence = [p.where for p in bench.points if p.name == point.name][: point.number]
    wanted = occurrence.count(point.where)
    seen = [number for number, where in enumerate(calls, 1) if where == point.where]
    return seen[wanted - 1]
