"""What ccmove is meant to reach, held against what was measured."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from bench.contenders import BARE, RENAMED, WITH_SESSIONS
from bench.rounds import Results, Tally
from bench.scenarios import (
    GROWING,
    GROWTH,
    HOOK,
    LARGE,
    MANY,
    TYPICAL,
    Scale,
    history_label,
)
from bench.transfer import PACKING, TAR, UNPACKING, UNTAR

# The group, what it is held against, and how often that it may take.
TRANSFER = ((PACKING, TAR, 1.3), (UNPACKING, UNTAR, 2.0))
MIB = 1 << 20
MS = 1000
MEASURABLE = 3  # sizes that a growth needs
SMALLEST = 1e-6  # seconds: a cost of one more that is below what can be measured

Figure = tuple[float, str]  # what was measured, and how it came about


class NotMeasuredError(Exception):
    """The runs that a goal speaks of did not take place, or failed."""


@dataclass(frozen=True)
class Goal:
    """One row: what it is about, what was measured (None: nothing), and what may be at
    most.
    """

    what: str
    limit: float
    unit: str  # "×", "MiB" or "ms"
    measured: float | None
    detail: str

    @property
    def met(self) -> bool | None:
        return None if self.measured is None else self.measured <= self.limit


def goals(results: Results, scale: Scale) -> list[Goal]:
    """Every goal, measured or not: none can hide."""
    found, large, huge = Findings(results), scale.large, scale.huge
    return [
        _goal("a typical state: against claudepath", 1, "×", found.against_claudepath),
        _goal(
            f"{large} MB history, 5 % matching: against `cp && sync`",
            6, "×", lambda: found.against_copy(large),
        ),
        _goal(f"{huge} MB history: peak memory", 64, "MiB", lambda: found.peak(huge, scale.shares)),
        _goal(
            f"{huge} MB history: the client's lock on it is held, longest of all runs",
            250, "ms", lambda: found.lock(huge),
        ),
        _goal(
            f"{scale.nested:,} projects in one move: the client's lock is held",
            250, "ms", lambda: found.lock_of_many(scale.nested),
        ),
        *(_growth_goal(found, group, 1.5) for group in GROWING),
        *(_growth_goal(found, group, 1.3) for group in GROWTH),
        *(_large_goal(found, scale, share) for share in scale.shares_of_one),
        *(_hook_goal(found, scale, name) for name in (WITH_SESSIONS, RENAMED)),
        *(_transfer_goal(found, scale, *row) for row in TRANSFER),
        *(_transfer_peak(found, scale, group) for group, _, _ in TRANSFER),
    ]  # fmt: skip


def _growth_goal(found: Findings, group: str, limit: float) -> Goal:
    what = f"{group}: the last step costs each, against the step before"
    return _goal(what, limit, "×", lambda: found.growth(group))


def _large_goal(found: Findings, scale: Scale, share: float) -> Goal:
    what = (
        f"{scale.beside:,} projects with {scale.beside * scale.each:,} transcripts, "
        f"{scale.beside_megabytes} MB history: preview of the move of one that has "
        f"{share:g} % of the prompts, against `ls -lR` and `wc -l`"
    )
    return _goal(what, 5, "×", lambda: found.against_look(share))


def _hook_goal(found: Findings, scale: Scale, name: str) -> Goal:
    what = f"{name}, {scale.beside:,} projects: more than `{BARE}`"
    return _goal(what, 150, "ms", lambda: found.more_than_python(name, scale.beside))


def _transfer_goal(
    found: Findings, scale: Scale, group: str, base: str, limit: float
) -> Goal:
    what = f"{group} {scale.packed} MB of transcripts: against `{base}`"
    return _goal(what, limit, "×", lambda: found.against_tar(group, base, scale.packed))


def _transfer_peak(found: Findings, scale: Scale, group: str) -> Goal:
    what = f"{group} {scale.packed} MB of transcripts: peak memory"
    return _goal(what, 96, "MiB", lambda: found.transfer_peak(group, scale.packed))


def _goal(what: str, limit: float, unit: str, measure: Callable[[], Figure]) -> Goal:
    try:
        return Goal(what, limit, unit, *measure())
    except NotMeasuredError as error:
        return Goal(what, limit, unit, None, str(error))


def _ms(seconds: float) -> str:
    return f"{seconds * MS:.0f} ms"


class Findings:
    """Figures from the results; NotMeasuredError where there are none."""

    def __init__(self, results: Results) -> None:
        self.results = results

    def _tally(self, group: str, label: str, contender: str) -> Tally:
        tally = self.results.get((group, label, contender))
        if tally is None or not tally.runs:
            raise NotMeasuredError(tally.note if tally else "not run")
        return tally

    def _history(
        self, megabytes: int, contender: str = "ccmove", share: float = 5
    ) -> Tally:
        label = history_label(megabytes, share)
        return self._tally(f"history {label}", label, contender)

    def against_copy(self, megabytes: int) -> Figure:
        move = self._history(megabytes).seconds
        copy = self._history(megabytes, "cp && sync").seconds
        return move / copy, f"{_ms(move)} / {_ms(copy)}"

    def against_claudepath(self) -> Figure:
        move = self._tally(TYPICAL, TYPICAL, "ccmove").seconds
        other = self._tally(TYPICAL, TYPICAL, "claudepath").seconds
        return move / other, f"{_ms(move)} / {_ms(other)}"

    def against_look(self, share: float) -> Figure:
        label = f"{share:g} % of the prompts:"
        preview = self._tally(LARGE, label, "preview").seconds
        look = self._tally(LARGE, label, "ls -lR && wc -l").seconds
        return preview / look, f"{_ms(preview)} / {_ms(look)}"

    def against_tar(self, group: str, base: str, megabytes: int) -> Figure:
        label = f"{megabytes} MB"
        ours = self._tally(group, label, "ccmove").seconds
        tar = self._tally(group, label, base).seconds
        return ours / tar, f"{_ms(ours)} / {_ms(tar)}"

    def transfer_peak(self, group: str, megabytes: int) -> Figure:
        return self._tally(group, f"{megabytes} MB", "ccmove").peak / MIB, ""

    def more_than_python(self, name: str, projects: int) -> Figure:
        label = f"{projects:,} projects:"
        tally = self._tally(HOOK, label, name)
        says = name == RENAMED
        if any(bool(run.output) != says for run in tally.runs):
            raise NotMeasuredError("it did not say what it should")
        bare = self._tally(HOOK, label, BARE).seconds
        more = tally.seconds - bare
        return more * MS, f"{_ms(tally.seconds)} - {_ms(bare)}"

    def peak(self, megabytes: int, shares: tuple[float, ...]) -> Figure:
        peaks = [self._history(megabytes, share=share).peak / MIB for share in shares]
        return max(peaks), ", ".join(
            f"{share:g} %: {peak:.0f} MiB"
            for share, peak in zip(shares, peaks, strict=True)
        )

    def lock(self, megabytes: int) -> Figure:
        return self._lock(self._history(megabytes))

    def lock_of_many(self, projects: int) -> Figure:
        return self._lock(self._tally(MANY, f"{projects:,}", "ccmove"))

    def _lock(self, tally: Tally) -> Figure:
        if not tally.locks:
            raise NotMeasuredError("never seen; it can be watched on Linux only")
        return max(tally.locks) * MS, f"median {_ms(statistics.median(tally.locks))}"

    def growth(self, group: str) -> Figure:
        """What one more costs between the last two sizes, against between the first and
        the last but one: linear is 1, and less than that is better.
        """
        cases = [
            (int(label.replace(",", "")), t)
            for (g, label, _), t in self.results.items()
            if g == group
        ]
        sizes = sorted((size, tally.seconds) for size, tally in cases if tally.runs)
        if len(sizes) < MEASURABLE:
            raise NotMeasuredError("not run")
        (first, least), (middle, more), (last, most) = sizes[0], sizes[-2], sizes[-1]
        before, after = (
            (more - least) / (middle - first),
            (most - more) / (last - middle),
        )
        times = ", ".join(f"{size:,}: {_ms(seconds)}" for size, seconds in sizes)
        return max(after, 0) / max(before, SMALLEST), times
