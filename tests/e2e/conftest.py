"""Here runs are processes of their own, started as a user starts them.

In `make test` only those of test_move.py are: five times as many would fit into the
same time.
"""

import pytest

from tests.crash.sample import EXHAUSTIVE
from tests.shapes.conftest import bench
from tests.support.run import ALONE
from tests.systems import windows

__all__ = ["bench"]


@pytest.fixture(autouse=True)
def processes_of_their_own(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_cheap = not windows.HERE  # under Wine a start takes most of a second
    if EXHAUSTIVE or (request.path.name == "test_move.py" and is_cheap):
        monkeypatch.setenv(ALONE, "1")
