"""A run that is asked to stop rolls everything back first."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any

from ccmove.system import ENDING


def termination_as_interrupt() -> contextlib.AbstractContextManager[None]:
    """The system asks us to end: that is like Ctrl-C, and everything is rolled back."""
    return _handled(signal.default_int_handler, ENDING)


def interrupts_ignored() -> contextlib.AbstractContextManager[None]:
    """Rolling back must not be interrupted half way."""
    return _handled(signal.SIG_IGN, [signal.SIGINT, *ENDING])


@contextlib.contextmanager
def _handled(handler: Any, numbers: list[signal.Signals]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set handlers, and only it gets the signals
        return
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
