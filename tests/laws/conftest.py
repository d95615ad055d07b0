"""What the laws share: the benches of the shapes and of the crash suite."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.shapes.bench")

from tests.crash.conftest import proven  # noqa: E402 - after the assertions were made to speak
from tests.shapes.conftest import bench  # noqa: E402

__all__ = ["bench", "proven"]
