"""The gaps between the calls of a run, and something that happens in one of them.

A run is recorded once, undisturbed; then it is made again from the same start for each
gap, with the same thing happening before another of its calls each time. Tests judge
what is left.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from tests.crash.bench import Bench
from tests.crash.fork import Ended
from tests.crash.sample import sampled
from tests.crash.sweep import Tally
from tests.hostile.attack import EXIT_CODES
from tests.hostile.hooks import CALLS
from tests.support.tree import Tree

Judge = Callable[["Bench", Tree, Ended], tuple[str, list[str]]]


@dataclass(frozen=True, order=True)
class Gap:
    """The gap before the `number`-th call of a run, and what that call is about."""

    number: int
    call: str
    about: tuple[str, ...]
    changes_something: bool

    @property
    def renames(self) -> bool:
        return self.call in ("os.rename", "os.replace")

    @property
    def commits(self) -> bool:
        return self.renames and self.about[1] == "manifest.json"

    def names(self, name: str) -> bool:
        return any(name in word.split("/") for word in self.about)


def gaps_of(bench: Bench, sabotage: Sequence[str] = ()) -> list[Gap]:
    """Every gap of the command on this bench, which must end well."""
    bench.reset()
    record = bench.live.parent / "calls"
    ended = replace(bench.job(sabotage), hook=["note", str(record)]).run()
    assert ended.exit == 0, ended
    calls = map(json.loads, record.read_text().splitlines())
    record.unlink()
    gaps = [
        Gap(n, name, tuple(about), change)
        for n, (name, about, change) in enumerate(calls, 1)
    ]
    assert {gap.call for gap in gaps} <= CALLS
    assert len(gaps) > 100
    return gaps


def around(gaps: Iterable[Gap], name: str) -> list[Gap]:
    """The gaps before and after every call that names something: between them nothing
    differs.
    """
    every = list(gaps)
    close = {gap.number + more for gap in every if gap.names(name) for more in (0, 1)}
    return [gap for gap in every if gap.number in close]


def sweep(
    bench: Bench,
    gaps: Iterable[Gap],
    hook: Callable[[int], list[str]],
    judge: Judge,
    sabotage: Sequence[str] = (),
    *,
    try_all: bool = False,
) -> Tally:
    """Let `hook` happen in each of the gaps, and judge what is left each time.

    A few gaps are all tried (`try_all`), of many a sample.
    """
    tally = Tally()
    tried = list(gaps)
    if not try_all:
        tried = sampled(tried, close=1)
    for gap in tried:
        before = bench.reset()
        ended = replace(bench.job(sabotage), hook=hook(gap.number)).run()
        end, problems = judge(bench, before, ended)
        tally.add(f"{gap}: {ended}", end, [*plain(ended), *problems])
    return tally


def plain(ended: Ended) -> list[str]:
    """What no run may do, however it ends."""
    said = ended.out + ended.err
    wrong = [word for word in ("Traceback", "bug in ccmove") if word in said]
    if ended.exit not in EXIT_CODES:
        wrong.append(f"exit code {ended.exit}")
    if ended.exit and not ended.err.startswith("ccmove: "):
        wrong.append("no message")
    return wrong


def spread(gaps: Sequence[Gap], number: int) -> list[Gap]:
    """At most that many of the gaps, evenly chosen."""
    number = min(number, len(gaps))
    return [gaps[len(gaps) * i // number] for i in range(number)]
