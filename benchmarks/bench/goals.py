"""What ccmove is meant to reach, held against what was measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.rounds import Results, Tally
from bench.scenarios import Scale, history_label

MIB = 1 << 20
MS = 1000

Figure = tuple[float, str]  # what was measured, and how it came about


class NotMeasuredError(Exception):
    """The runs that a goal speaks of did not take place, or failed."""


@dataclass(frozen=True)
class Goal:
    """One row: what it is about, what was measured (None: nothing), and what may be at most."""

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
    return [*_speed_goals(Findings(results), scale), *_independence_goals(Findings(results), scale)]


def _speed_goals(found: Findings, scale: Scale) -> list[Goal]:
    small, large, huge = scale.small, scale.large, scale.huge
    return [
        _goal(
            f"{large} MB history, 5 % matching: against `cp && sync`",
            4, "×", lambda: found.against_copy(large),
        ),
        _goal(
            f"{small} MB history, 5 % matching: against `ccmove --version` plus `cp && sync`",
            1.5, "×", lambda: found.against_start_and_copy(small),
        ),
        _goal(f"{large} MB history: peak memory", 117, "MiB", lambda: found.peak(large)),
        _goal(f"{huge} MB history: peak memory", 117, "MiB", lambda: found.peak(huge)),
        _goal(
            f"peak memory at {huge} MB against {large} MB",
            1.1, "×", lambda: found.peaks(huge, large),
        ),
        _goal(
            f"{large} MB history: the client's lock on it is held, longest of all runs",
            250, "ms", lambda: found.lock(large),
        ),
        _goal(
            '`ccmove --help` against `python -c "import click"`',
            2.5, "×", found.help_against_click,
        ),
    ]  # fmt: skip


def _independence_goals(found: Findings, scale: Scale) -> list[Goal]:
    """What grows beside the history must not cost, or not much more than reading it."""
    transcripts, others = f"{scale.transcripts[-1]:,}", f"{scale.others[-1]:,}"
    large_one = f"{scale.large_transcript} MB"
    config, index = f"{scale.config} MB", f"{scale.index:,} entries"
    projects = f"{scale.config_projects} projects"
    return [
        _goal(
            f"{transcripts} transcripts against 1",
            1.5, "×", lambda: found.against_first("transcripts", transcripts),
        ),
        _goal(
            f"a transcript of {large_one} against one of 10 kB",
            1.5, "×", lambda: found.against_first("transcripts", f"1 of {large_one}"),
        ),
        _goal(
            f"{others} other projects against none",
            1.5, "×", lambda: found.against_first("other projects", others),
        ),
        _goal(
            f"a config file of {config} with {projects} adds, against `json.load` of it",
            3, "×", lambda: found.added("config file", config),
        ),
        _goal(
            f"an index of {index} adds, against `json.load` of it",
            3, "×", lambda: found.added("index", index),
        ),
    ]  # fmt: skip


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

    def _history(self, megabytes: int, contender: str = "ccmove") -> Tally:
        label = history_label(megabytes, 5)
        return self._tally(f"history {label}", label, contender)

    def against_copy(self, megabytes: int) -> Figure:
        move = self._history(megabytes).seconds
        copy = self._history(megabytes, "cp && sync").seconds
        return move / copy, f"{_ms(move)} / {_ms(copy)}"

    def against_start_and_copy(self, megabytes: int) -> Figure:
        move = self._history(megabytes).seconds
        copy = self._history(megabytes, "cp && sync").seconds
        start = self._history(megabytes, "ccmove --version").seconds
        return move / (start + copy), f"{_ms(move)} / ({_ms(start)} + {_ms(copy)})"

    def peak(self, megabytes: int) -> Figure:
        return self._history(megabytes).peak / MIB, ""

    def peaks(self, huge: int, large: int) -> Figure:
        one, other = self.peak(huge)[0], self.peak(large)[0]
        return one / other, f"{one:.0f} / {other:.0f} MiB"

    def lock(self, megabytes: int) -> Figure:
        tally = self._history(megabytes)
        if not tally.longest_lock:
            raise NotMeasuredError("never seen; it can be watched on Linux only")
        return tally.longest_lock * MS, f"median {_ms(tally.lock)}"

    def help_against_click(self) -> Figure:
        shown = self._tally("start", "", "ccmove --help").seconds
        click = self._tally("start", "", "import click").seconds
        return shown / click, f"{_ms(shown)} / {_ms(click)}"

    def against_first(self, group: str, label: str) -> Figure:
        """A case against the smallest of its group."""
        first = next((key for key in self.results if key[0] == group), (group, "", ""))
        small, large = self._tally(*first).seconds, self._tally(group, label, "ccmove").seconds
        return large / small, f"{_ms(large)} / {_ms(small)}"

    def added(self, group: str, label: str) -> Figure:
        """What one large file adds to the time, against reading it as JSON."""
        without = self._tally(group, "without", "ccmove").seconds
        with_it = self._tally(group, label, "ccmove").seconds
        load = self._tally(group, label, "json.load").seconds
        return (with_it - without) / load, f"({_ms(with_it)} − {_ms(without)}) / {_ms(load)}"
