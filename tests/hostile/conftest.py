"""The state that the attacks of this directory are made on."""

from __future__ import annotations

import pytest

from tests.hostile.attack import Target, make_target
from tests.support.state import StateBuilder


@pytest.fixture
def target(state: StateBuilder) -> Target:
    return make_target(state)
