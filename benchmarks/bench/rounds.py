"""Groups of cases that are run in turn, round after round, so that a slow moment hits
all alike.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from bench.contenders import Contender, copy_of, environment
from bench.measure import Run, timed
from bench.states import Places, Shape, Truth, make, parts


@dataclass(frozen=True)
class Case:
    """One contender on one state."""

    label: str
    shape: Shape
    contender: Contender

    @property
    def key(self) -> tuple[str, str]:
        return self.label, self.contender.name


@dataclass(frozen=True)
class Group:
    """Cases that are compared with each other."""

    name: str
    cases: tuple[Case, ...]
    rounds: int


@dataclass
class Tally:
    """The runs of one case."""

    runs: list[Run] = field(default_factory=list)
    note: str = ""  # what the contender left undone, or why there are no runs

    @property
    def seconds(self) -> float:
        return statistics.median(run.seconds for run in self.runs)

    @property
    def peak(self) -> int:
        return max(run.peak for run in self.runs)

    @property
    def locks(self) -> list[float]:
        """How long each run held the client's lock; 0 is too short for the watch."""
        times = [run.lock_seconds for run in self.runs]
        return [seconds for seconds in times if seconds is not None]


T = TypeVar("T")
Results = dict[tuple[str, str, str], Tally]  # (group, label, contender)


class Bench:
    """Makes the states, runs the groups and keeps the results."""

    def __init__(self, root: Path, *, settle: bool = True) -> None:
        self.places = Places(root)
        self.settle = (
            settle  # wait before each run until the disk has nothing left to write
        )
        self.places.new.mkdir(parents=True)
        self.results: Results = {}

    def run(self, group: Group) -> None:
        states = dict(self._states(group))
        order = list(group.cases)
        for number in range(group.rounds):
            say(f"{group.name}: round {number + 1} of {group.rounds}")
            for case in order:
                if number < (case.contender.most_rounds or group.rounds):
                    self._once(group, case, *states[case.shape])
            order.append(
                order.pop(0)
            )  # nobody always comes first, or after the same one
        for made, _ in states.values():
            shutil.rmtree(made)
        self._clear()

    def _states(self, group: Group) -> Iterator[tuple[Shape, tuple[Path, Truth]]]:
        for number, shape in enumerate(
            dict.fromkeys(case.shape for case in group.cases)
        ):
            say(f"{group.name}: making state {number + 1}")
            made = self.places.root / f"made-{number}"
            yield shape, (made, apart(make, made, shape, self.places))

    def _once(self, group: Group, case: Case, made: Path, truth: Truth) -> None:
        tally = self.results.setdefault((group.name, *case.key), Tally())
        if tally.note.startswith("failed"):
            return
        try:
            self._prepare(case, made)
        except RuntimeError as error:
            tally.note = f"failed: {error}"
            return
        watched = self.places.home / ".claude" if case.contender.in_a_home else None
        argv = case.contender.argv(self.places, made)
        run = timed(argv, environment(self.places), watched)
        if run.exit not in case.contender.may_end:
            tally.note = f"failed: {_last_lines(run.output)}"
            tally.runs.clear()
            return
        if case.contender.judge and not tally.runs:
            tally.note = apart(case.contender.judge, self.places, made, truth)
        tally.runs.append(run)

    def _prepare(self, case: Case, made: Path) -> None:
        """A fresh home; and nothing left to write when the clock starts."""
        self._clear()
        if case.contender.in_a_home:
            subprocess.run(["cp", "-a", str(made), str(self.places.home)], check=True)
            for name in parts(case.shape):
                (self.places.new / name).mkdir()
        if case.contender.before is not None:
            argv = case.contender.before(self.places, made)
            run = timed(argv, environment(self.places))
            if run.exit:
                raise RuntimeError(_last_lines(run.output))
        if self.settle:
            os.sync()

    def _clear(self) -> None:
        shutil.rmtree(self.places.home, ignore_errors=True)
        shutil.rmtree(self.places.new, ignore_errors=True)
        self.places.new.mkdir()
        copy_of(self.places).unlink(missing_ok=True)


def apart(function: Callable[..., T], *args: object) -> T:
    """What the function returns, called in a process of its own.

    The peak that the system reports for a child is never below the memory of the
    process that started it: the one that measures must stay small.
    """
    with ProcessPoolExecutor(1) as pool:
        return pool.submit(function, *args).result()


def _last_lines(output: bytes) -> str:
    lines = output.decode("utf-8", "replace").strip().splitlines()
    return " / ".join(line.strip() for line in lines[-3:]) if lines else "no message"


def say(text: str) -> None:
    """How far it is, for whoever waits; the tables go to standard output."""
    print(f"  {text}", file=sys.stderr, flush=True)
