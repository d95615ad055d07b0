"""Here every run is a process of its own, started as a user starts it."""

from __future__ import annotations

import pytest

from tests.support.run import ALONE


@pytest.fixture(autouse=True)
def processes_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALONE, "1")
