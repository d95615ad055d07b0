"""A move on Windows: the native client and ccmove, both under Wine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.client import CLIENT_TEST
from tests.client.driver import new_prompt
from tests.client.loopback import Loopback
from tests.client.versions import ClientMissingError, pinned
from tests.client.wine import WindowsClient, WindowsDesk, windows_desk

pytestmark = [*CLIENT_TEST, pytest.mark.windows]


@pytest.fixture(scope="module")
def desk(api: Loopback) -> Iterator[WindowsDesk]:
    """One for all tests of this file: to make a Wine takes longer than a test."""
    client = WindowsClient(pinned()[0])
    try:
        client.command()
    except ClientMissingError as missing:
        pytest.skip(str(missing))
    with windows_desk(client, api) as made:
        yield made


def test_without_ccmove_the_client_begins_a_new_conversation(desk: WindowsDesk) -> None:
    """The control."""
    old, new = desk.folder("left"), desk.code / "found"
    first = new_prompt("remember this")
    begun = desk.ask(old, first)
    old.rename(new)
    answer = desk.ask(new, new_prompt("and then"), "--continue")
    assert not answer.knew(first)
    assert answer.session != begun.session
