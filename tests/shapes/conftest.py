"""The bench of the shapes."""

import pytest

from tests.shapes.bench import Bench
from tests.support.state import StateBuilder


@pytest.fixture
def bench(state: StateBuilder) -> Bench:
    return Bench(state)
