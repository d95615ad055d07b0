"""Places for the proof to work in, and the table of its figures."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.crash import places
from tests.crash.figures import note, pytest_terminal_summary
from tests.crash.sweep import Tally

__all__ = ["pytest_terminal_summary"]

Record = Callable[[str, Tally], None]


@pytest.fixture
def on_disk() -> Iterator[Path]:
    """An empty directory in a real file system, where inodes are soon used again."""
    with places.on_disk() as directory:
        yield Path(directory).resolve()


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """An empty directory in a fast file system."""
    with places.in_memory() as directory:
        yield Path(directory).resolve()


@pytest.fixture
def proven(request: pytest.FixtureRequest) -> Record:
    """Notes a tally for the table at the end, then insists that none of it is bad."""

    def record(what: str, tally: Tally) -> None:
        note(request.node, what, tally)
        assert tally.tried > 0
        assert not tally.bad, f"{what}: {tally.report()}"

    return record
