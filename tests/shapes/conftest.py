"""The bench of the shapes."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.shapes.bench")

from tests.shapes.bench import Bench  # noqa: E402 - after its assertions were made to speak
from tests.support.state import StateBuilder  # noqa: E402


@pytest.fixture
def bench(state: StateBuilder) -> Bench:
    return Bench(state)
