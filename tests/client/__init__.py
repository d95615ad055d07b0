"""End-to-end tests of `ccmove` with the real Claude Code client, offline."""

from collections.abc import Callable

import pytest

from tests.client.versions import CLIENTS, Client

# A start of the client takes a second, on a busy machine many; a test has up to thirty.
CLIENT_TEST = [pytest.mark.client, pytest.mark.timeout(600)]


def with_clients(
    fits: Callable[[Client], bool] = lambda _: True,
) -> pytest.MarkDecorator:
    """Run a test, which takes a `desk`, once with each client that fits."""
    fitting = [client for client in CLIENTS if fits(client)]
    return pytest.mark.parametrize("desk", fitting, indirect=True, ids=str)
