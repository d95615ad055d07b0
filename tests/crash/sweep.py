"""Kill or fail a run at one point after another, and judge what is left each time."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from tests.crash.bench import Bench, age_locks, points_of
from tests.crash.calls import Point, alike, parse
from tests.crash.fork import Ended, Job
from tests.crash.interruptions import interruptions
from tests.crash.sample import CLOSE, sampled
from tests.support.tree import Tree

KILL = "KILL"
HURRY = (
    "stale=0.2",
)  # a lock of its own that could not be removed is waited for until then
ERRORS = ("EIO", "ENOSPC", "EACCES", "EROFS", "EXDEV")
KILLED = -9

FAILED, REFUSED, UNFINISHED, INTERRUPTED = 1, 4, 5, 130


@dataclass
class Tally:
    """How many points were tried, how each ended, and what was wrong with the bad ones."""

    tried: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    bad: list[str] = field(default_factory=list)

    def add(self, what: str, end: str, problems: Iterable[str]) -> None:
        self.tried += 1
        self.ends[end] += 1
        listed = list(problems)
        if listed:
            self.bad.append("\n    ".join([what, *listed]))

    def include(self, what: str, other: Tally) -> None:
        self.tried += other.tried
        self.ends += other.ends
        self.bad += [f"{what}: {bad}" for bad in other.bad]

    def report(self) -> str:
        return f"{len(self.bad)} bad of {self.tried}:\n" + "\n".join(self.bad[:10])


def sweep(
    points: Sequence[Point],
    try_one: Callable[[Point], tuple[str, list[str]]],
    *,
    close: int = CLOSE,
    share: int = 1,
) -> Tally:
    """Try every point, or a sample; `try_one` says how it ended and what was wrong."""
    tally = Tally()
    for point in sampled(points, close=close, share=share):
        end, problems = try_one(point)
        tally.add(f"{point.name} {point.number}: {point.where}", end, problems)
    return tally


# -- one point ------------------------------------------------------------------------------


def happen(job: Job, point: Point, what: str, *, traced: bool = False) -> Ended:
    """Run the job and let a signal or an error happen as that call begins.

    Mostly from the inside, which takes a third of the time and makes no difference to
    the disk; under strace when `traced`, or when the call is not one of `run.disk`.
    """
    job = replace(job, sabotage=[*HURRY, *job.sabotage])
    if traced or not point.ordinal:
        return job.run(
            point.inject(("error=" if what.startswith("E") else "signal=") + what)
        )
    ways = {KILL: f"die_at={point.ordinal}", "INT": f"interrupt_at={point.ordinal}:INT",
            "TERM": f"interrupt_at={point.ordinal}:TERM"}  # fmt: skip
    way = ways.get(what, f"fail_at={point.ordinal}:{what}")
    return replace(job, sabotage=[*job.sabotage, way]).run()


def kill(
    bench: Bench, point: Point, *, again: bool = False, traced: bool = False
) -> tuple[str, list[str]]:
    """Kill it there; `recover` rolls everything back, and `again` it does its work as
    usual.
    """
    before = bench.reset()
    ended = happen(bench.job(), point, KILL, traced=traced)
    end, problems = after_recovery(bench, before)
    problems += not_killed_there(ended, point)
    if again and end == "before" and not problems:
        problems += fails_again(bench, before)
    return end, problems


def fail(
    bench: Bench, point: Point, error: str, *, traced: bool = False
) -> tuple[str, list[str]]:
    """Let that one call fail; the exit code must tell the truth about what is left."""
    before = bench.reset()
    ended = happen(bench.job(), point, error, traced=traced)
    end, problems = truthful(bench, before, ended)
    return end, [*not_happened_there(ended, point), *problems]


def fail_from_there_on(bench: Bench, point: Point, error: str) -> tuple[str, list[str]]:
    """Let that call fail and all later ones that rename, remove, make or flush
    something.
    """
    before = bench.reset()
    ended = bench.job([*HURRY, f"fail_from={point.ordinal}:{error}"]).run()
    end, problems = truthful(bench, before, ended)
    return end, [*not_happened_there(ended, point), *problems]


def interrupt(bench: Bench, point: Point, signal: str) -> tuple[str, list[str]]:
    """A signal as that call begins; the call itself still happens."""
    before = bench.reset()
    return truthful(bench, before, happen(bench.job(), point, signal))


# -- recoveries -----------------------------------------------------------------------------


def break_off(bench: Bench, kind: str) -> Tree:
    """Interrupt the command in this way; the tree before it."""
    point = interruptions(bench.points)[kind]
    before = bench.reset()
    ended = happen(bench.job(), point, KILL)
    assert not not_killed_there(ended, point), ended
    age_locks(bench.state)
    return before


@functools.cache
def recovery_points(bench: Bench, kind: str) -> list[Point]:
    """Every call that changes something in the recovery from such an interruption."""
    break_off(bench, kind)
    return points_of(bench.recovery)


def kill_recovery(bench: Bench, kind: str, point: Point) -> tuple[str, list[str]]:
    """Kill the recovery there; the next one must finish it."""
    before = break_off(bench, kind)
    ended = happen(bench.recovery, point, KILL)
    end, problems = after_recovery(bench, before)
    return end, [*not_killed_there(ended, point), *problems]


def fail_recovery(
    bench: Bench, kind: str, point: Point, error: str
) -> tuple[str, list[str]]:
    """Let that call of the recovery fail: it says so, or it has rolled back all the
    same.
    """
    before = break_off(bench, kind)
    ended = happen(bench.recovery, point, error)
    problems = [*not_happened_there(ended, point), *plain(ended)]
    if ended.exit == 0:
        verdict = bench.judge(before)
        problems += verdict.problems
    elif ended.exit not in (FAILED, REFUSED, UNFINISHED):
        problems.append(f"ended with {ended}")
    end, others = after_recovery(bench, before)
    return f"exit {ended.exit}, {end}", problems + others


# -- what must be so ------------------------------------------------------------------------


def after_recovery(bench: Bench, before: Tree) -> tuple[str, list[str]]:
    """`recover` ends well, and the tree is exactly as before or exactly as after."""
    age_locks(bench.state)
    recovered = bench.recovery.run()
    verdict = bench.judge(before)
    problems = list(verdict.problems)
    if recovered.exit != 0 or "Traceback" in recovered.err:
        problems.insert(0, f"recover: {recovered}")
    return verdict.outcome, problems


def fails_again(bench: Bench, before: Tree) -> list[str]:
    """Once recovered, the same command does its work as if nothing had happened."""
    ended = bench.job().run()
    verdict = bench.judge(before)
    if ended.exit == 0 and verdict.outcome == "after":
        return []
    return [f"run again: {ended}", *verdict.problems]


def truthful(bench: Bench, before: Tree, ended: Ended) -> tuple[str, list[str]]:
    """What the exit code promises holds at once; only 5 may leave something for
    `recover`.
    """
    promised = {0: "after", FAILED: "before", REFUSED: "before", INTERRUPTED: "before"}
    if ended.exit == UNFINISHED:
        end, problems = after_recovery(bench, before)
        return f"exit 5, {end}", [*plain(ended), *problems]
    verdict = bench.judge(before)
    problems = [*plain(ended), *verdict.problems]
    if verdict.outcome != promised.get(ended.exit):
        problems.append(f"it is as {verdict.outcome}, in spite of {ended}")
    return f"exit {ended.exit}, {verdict.outcome}", problems


def plain(ended: Ended) -> list[str]:
    """Whoever fails says why in plain words, never with a traceback."""
    if "Traceback" in ended.err:
        return [f"a traceback: {ended.err}"]
    said = re.sub(r"^(Waiting for Claude Code .*\n)*", "", ended.err)
    if ended.exit != 0 and not said.startswith("ccmove: "):
        return [f"no message: {ended}"]
    return []


def not_killed_there(ended: Ended, point: Point) -> list[str]:
    """Every planned point must really have been reached."""
    if ended.exit != KILLED:
        return [f"was not killed: {ended}"]
    return not_happened_there(ended, point)


def not_happened_there(ended: Ended, point: Point) -> list[str]:
    """The planned call is noted as the one, or as one of those, at which it happened."""
    calls = list(parse(ended.trace))
    if not calls:
        return (
            []
            if alike(ended.trace) == point.where
            else [f"happened elsewhere: {ended.trace}"]
        )
    hit = [call.where for call in calls if call.injected] or [calls[-1].where]
    return [] if point.where in hit else [f"happened elsewhere: {hit}"]
