"""Waiting for another process, never longer than it takes."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(look: Callable[[], T], what: str, seconds: float = 90) -> T:
    """The first true answer of `look`; AssertionError naming `what` when time is up."""
    end = time.monotonic() + seconds
    while not (answer := look()):
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        time.sleep(0.05)
    return answer


def seen_within(seconds: float, look: Callable[[], object]) -> bool:
    """Whether `look` came true in that time."""
    try:
        wait_until(look, "it", seconds)
    except AssertionError:
        return False
    return True
