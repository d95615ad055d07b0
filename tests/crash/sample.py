"""Every point of a sweep with CCMOVE_EXHAUSTIVE=1 (`make test-all`), a stratified
sample without.

The sample has the first and the last point, every 12th, every rename (so that there is
one between any two replacements), and all that are close to the renames by which a run
begins, can be rolled back, and is done. Where "every 12th" begins is taken from the
commit, so that other points have their turn with each; CCMOVE_OFFSET=number repeats
one.
"""

import functools
import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest

EXHAUSTIVE = os.environ.get("CCMOVE_EXHAUSTIVE", "") not in ("", "0")
EVERY, CLOSE = 12, 2
_ROOT = Path(__file__).resolve().parents[2]


class Step(Protocol):
    @property
    def renames(self) -> bool: ...
    @property
    def commits(self) -> bool: ...


AnyStep = TypeVar("AnyStep", bound=Step)


@functools.cache
def offset() -> int:
    """Where every 12th point begins; 0 where there is no commit to take it from."""
    given = os.environ.get("CCMOVE_OFFSET")
    if given:
        return int(given) % EVERY
    asked = ["git", "-C", str(_ROOT), "rev-parse", "HEAD"]
    try:
        commit = subprocess.run(
            asked, capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return 0
    return int(commit.strip(), 16) % EVERY


def sampled(
    points: Sequence[AnyStep], *, close: int = CLOSE, share: int = 1
) -> list[AnyStep]:
    """The points to try; `close` to a commit are those at most so many calls away (-1:
    no renames).

    `share` is for what is one of many: even with CCMOVE_EXHAUSTIVE only every so
    many-th point.
    """
    every = share if EXHAUSTIVE else EVERY
    chosen = {0, len(points) - 1, *range(offset() % every, len(points), every)}
    for number, point in enumerate(points):
        if point.renames and close >= 0:
            near = close if point.commits else 0
            chosen.update(range(number - near, number + near + 1))
    return [point for number, point in enumerate(points) if number in chosen]


def some(values: Iterable[str], *chosen: str) -> list[Any]:
    """Parameters of a test: these are in every run, the others only in `make test-all`."""
    marks = {True: (), False: (pytest.mark.exhaustive,)}
    return [pytest.param(value, marks=marks[value in chosen]) for value in values]


def at_least(number: int) -> int:
    """How often something must be seen: that often in the whole, some time in a sample."""
    return number if EXHAUSTIVE else min(number, 1)


def told() -> str:
    """For the head of a run, and for whoever wants to repeat it."""
    which = "all" if EXHAUSTIVE else "a sample (all: CCMOVE_EXHAUSTIVE=1)"
    seed = os.environ.get("CCMOVE_SEED") or "0 for lives, random for trials"
    return f"crash points: {which}, CCMOVE_OFFSET={offset()}, CCMOVE_SEED={seed}"
