"""While this process still loads its modules, another one begins to search a large history.

This module comes first, so it loads next to nothing.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import IO

from ccmove.otherprocess import OtherProcess, is_worth_it

LARGE = 2 << 20  # bytes

_under_way: list[OtherProcess] = []  # one at most


@contextlib.contextmanager
def looking(loaded: Callable[[], Callable[[IO[bytes]], None]]) -> Iterator[None]:
    """Let another process look, if the history is large, and go on meanwhile.

    What it needs is loaded here before, since both need it.
    """
    if not _is_large() or not is_worth_it():
        yield
        return
    with OtherProcess() as other:
        other.begin(loaded())
        try:
            _under_way.append(other)
            yield
        finally:
            _under_way.clear()


def _is_large() -> bool:
    """A first guess: where the history really is takes longer to find out."""
    config_dir = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")
    try:
        return os.stat(os.path.join(config_dir, "history.jsonl")).st_size >= LARGE
    except (OSError, ValueError):
        return False


def taken() -> OtherProcess | None:
    """The other process, for the first who asks: it answers once."""
    return _under_way.pop() if _under_way else None
