"""Move Claude Code's state when a project folder was renamed."""

from __future__ import annotations

__version__ = "0.1.0"

# Versions of the client that the tests drive; tests/client/versions.txt holds the same.
TESTED_WITH = ("2.1.325", "2.1.92", "2.1.23")

TYPE_CHECKING = False  # as typing has it; loading that would take longer than loading this
if TYPE_CHECKING:
    from typing import Any

    from ccmove.api import Move, apply, find_state, plan_move, restore
    from ccmove.errors import CcmoveError, NothingKnownError, RefusedError
    from ccmove.report.result import Result

__all__ = [
    "TESTED_WITH",
    "CcmoveError",
    "Move",
    "NothingKnownError",
    "RefusedError",
    "Result",
    "__version__",
    "apply",
    "find_state",
    "plan_move",
    "restore",
]

_HOMES = {"CcmoveError": "errors", "NothingKnownError": "errors", "RefusedError": "errors"}


def __getattr__(name: str) -> Any:
    """The API is loaded when it is asked for: `ccmove --help` does not wait for it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"ccmove.{_HOMES.get(name, 'api')}"), name)
