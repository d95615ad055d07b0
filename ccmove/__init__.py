"""Move Claude Code's state when a project folder was renamed."""

from ccmove.api import Move, apply, find_state, plan_move, restore
from ccmove.errors import CcmoveError, NothingKnownError, RefusedError
from ccmove.report.result import Result

__version__ = "0.1.0"

# Versions of the client that the tests drive; tests/client/versions.txt holds the same.
TESTED_WITH = ("2.1.325", "2.1.92", "2.1.23")

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
