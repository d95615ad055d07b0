"""A run that is asked to stop rolls everything back first."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from ccmove.system import ENDING

Handler = Callable[[int, FrameType | None], object] | signal.Handlers


def termination_as_interrupt() -> contextlib.AbstractContextManager[None]:
    """The system asks us to end: that is like Ctrl-C, and everything is rolled back."""
    return _handled(signal.default_int_handler, ENDING)


def interrupts_ignored() -> contextlib.AbstractContextManager[None]:
    """Rolling back must not be interrupted half way."""
    return _handled(signal.SIG_IGN, [signal.SIGINT, *ENDING])


@contextlib.contextmanager
def _handled(handler: Handler, numbers: list[signal.Signals]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set handlers, and only it gets the signals
        return
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
