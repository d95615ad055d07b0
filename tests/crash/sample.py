"""Every point of a sweep with CCMOVE_EXHAUSTIVE=1 (`make test-all`), a stratified sample without.

The sample has the first and the last point, every 12th, and all that are close to a rename: of the
journal, of the backup, of each thing that is replaced or moved. Where "every 12th" begins is taken
from the commit, so that other points have their turn with each; CCMOVE_OFFSET=number repeats one.
"""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, TypeVar

EXHAUSTIVE = os.environ.get("CCMOVE_EXHAUSTIVE", "") not in ("", "0")
EVERY, CLOSE = 12, 2
_ROOT = Path(__file__).resolve().parents[2]


class Step(Protocol):
    @property
    def renames(self) -> bool: ...


AnyStep = TypeVar("AnyStep", bound=Step)


@functools.cache
def offset() -> int:
    """Where every 12th point begins; 0 where there is no commit to take it from."""
    given = os.environ.get("CCMOVE_OFFSET")
    if given:
        return int(given) % EVERY
    asked = ["git", "-C", str(_ROOT), "rev-parse", "HEAD"]
    try:
        commit = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return 0
    return int(commit.strip(), 16) % EVERY


def sampled(points: Sequence[AnyStep], *, close: int = CLOSE) -> list[AnyStep]:
    """The points to try; `close` to a rename are those at most so many calls away (-1: none)."""
    if EXHAUSTIVE:
        return list(points)
    chosen = {0, len(points) - 1, *range(offset(), len(points), EVERY)}
    for number, point in enumerate(points):
        if point.renames:
            chosen.update(range(number - close, number + close + 1))
    return [point for number, point in enumerate(points) if number in chosen]


def at_least(number: int) -> int:
    """How often something must be seen: that often in the whole, some time in a sample."""
    return number if EXHAUSTIVE else min(number, 1)


def told() -> str:
    """For the head of a run, and for whoever wants to repeat it."""
    if EXHAUSTIVE:
        return "crash points: all"
    return f"crash points: a sample, CCMOVE_OFFSET={offset()} (all: CCMOVE_EXHAUSTIVE=1)"
