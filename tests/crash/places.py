"""Where states are put that are made and thrown away by the thousand."""

import os
import tempfile
from pathlib import Path

# a directory: all of them are below it, whatever file system that is
HERE = "CCMOVE_TEST_PLACE"
_MEMORY = "/dev/shm"


def on_disk() -> tempfile.TemporaryDirectory[str]:
    """A directory near the root: each part of its path is opened again for every step."""
    return tempfile.TemporaryDirectory(prefix="ccmove-", dir=os.environ.get(HERE))


def in_memory() -> tempfile.TemporaryDirectory[str]:
    """A directory where flushing costs nothing, if this machine has one."""
    memory = _MEMORY if os.access(_MEMORY, os.W_OK) else None
    return tempfile.TemporaryDirectory(
        prefix="ccmove-", dir=os.environ.get(HERE, memory)
    )


def case_counts(directory: Path) -> bool:
    """Whether names there that differ by case alone are two names, as on most disks of
    Linux.
    """
    (directory / "Case").touch()
    return not (directory / "case").exists()
