"""Processes as the client notes them."""

import os
from pathlib import Path

_FROM_1601_TO_1970 = 11_644_473_600


def started(pid: int) -> str:
    """When a process was started, as `procStart` has it on this system."""
    if os.name == "nt":
        import psutil

        return str(
            round((psutil.Process(pid).create_time() + _FROM_1601_TO_1970) * 10**7)
        )
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
