"""A run that is asked to end takes everything back first."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator


class TerminatedError(KeyboardInterrupt):
    """SIGTERM or SIGHUP: end like Ctrl-C, with everything as it was."""


@contextlib.contextmanager
def termination_as_interrupt() -> Iterator[None]:
    """Give a run that is asked to end the chance to take everything back."""

    def end(number: int, _: object) -> None:
        raise TerminatedError(number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def interrupts_ignored() -> Iterator[None]:
    """Taking back must not be interrupted half way."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
