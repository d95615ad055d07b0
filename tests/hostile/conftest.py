"""The state that the attacks of this directory are made on."""

from pathlib import Path

import pytest

from tests.crash.conftest import in_memory, on_disk, proven
from tests.hostile.attack import Target, make_target
from tests.support.state import StateBuilder

__all__ = ["in_memory", "on_disk", "proven"]


@pytest.fixture
def state(in_memory: Path) -> StateBuilder:
    return StateBuilder(in_memory / "root")


@pytest.fixture
def target(state: StateBuilder) -> Target:
    return make_target(state)
