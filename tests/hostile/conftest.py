"""The state that the attacks of this directory are made on."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile.attack import Target, make_target
from tests.support.state import StateBuilder

IN_MEMORY = Path("/dev/shm")  # flushing to a disk is most of the time that a run takes


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """An empty directory, in memory where that can be had."""
    if not (IN_MEMORY.is_dir() and os.access(IN_MEMORY, os.W_OK)):
        yield tmp_path / "place"
        return
    with tempfile.TemporaryDirectory(prefix="hostile-", dir=IN_MEMORY) as made:
        yield Path(made)


@pytest.fixture
def state(place: Path) -> StateBuilder:
    """Claude Code state without any project yet."""
    return StateBuilder(place / "root")


@pytest.fixture
def target(state: StateBuilder) -> Target:
    return make_target(state)
