"""Waiting for threads to end."""

from __future__ import annotations

import threading
import time


def come_down_to(number: int) -> bool:
    """Whether just so many threads are left, at the latest in a minute."""
    until = time.monotonic() + 60
    while threading.active_count() > number and time.monotonic() < until:
        time.sleep(0.01)
    return threading.active_count() == number
