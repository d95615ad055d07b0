"""Move Claude Code's state when a project folder was renamed.
For Python: `ccmove.api`.
"""

__version__ = "0.2.0"

# Versions of the client that the tests drive; tests/client/versions.txt holds the same.
TESTED_WITH = ("2.1.327", "2.1.326", "2.1.92", "2.1.23")
