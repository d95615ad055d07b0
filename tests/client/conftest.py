"""Gives a test a client with a home of its own, or skips it and says why."""

import os
import random
import shutil
from collections.abc import Iterator

import pytest

from tests.client.driver import Desk
from tests.client.loopback import Loopback, running
from tests.client.versions import Client, ClientMissingError

# In the environment, so that the processes of a parallel run use the seed that the
# header shows.
SEED = "CCMOVE_NAMES_SEED"
os.environ.setdefault(SEED, str(random.SystemRandom().randrange(10**9)))


def pytest_report_header() -> str:
    return f"random folder names: {SEED}={os.environ[SEED]}"


@pytest.fixture
def seed() -> int:
    """What this run's random names come from."""
    return int(os.environ[SEED])


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loopback]:
    with running(tmp_path_factory.mktemp("api")) as server:
        yield server


@pytest.fixture
def desk(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    api: Loopback,
) -> Desk:
    """A desk for the client that the test is parametrized with."""
    client: Client = request.param
    try:
        client.command()
    except ClientMissingError as missing:
        pytest.skip(str(missing))
    # A short name: the path's length matters to the client, and pytest's own is long.
    return Desk(tmp_path_factory.mktemp("desk"), client, api)


@pytest.fixture
def terminal() -> None:
    """For tests that look at the screen."""
    if shutil.which("tmux") is None:
        pytest.skip("the screen needs tmux, which is not on PATH")
