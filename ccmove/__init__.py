"""Move Claude Code's state when a project folder was renamed."""

__version__ = "0.1.0"
