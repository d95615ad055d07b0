"""What a user sees in NEW after a move: no trust question, the old prompts, the old
sessions.
"""

import json
from pathlib import Path

import pytest

from tests.client import CLIENT_TEST, with_clients
from tests.client.driver import Desk, new_prompt

pytestmark = [*CLIENT_TEST, pytest.mark.usefixtures("terminal")]

INDEX = "sessions-index.json"


def open_it_and_go_on(desk: Desk, new: Path, first: str, *, recalled: bool) -> None:
    """No second file takes up the conversation: both prompts are in one."""
    more = new_prompt("and the gate")
    with desk.screen(new) as screen:
        assert not screen.asks_for_trust
        assert not recalled or screen.recalls(first)
        assert screen.lists_session(first)
        assert screen.opens_listed_session(first)
        screen.say(more)
        screen.leave()
    assert any(first in sent for sent in desk.api.conversations_with(more))
    assert desk.transcripts_with(first) == desk.transcripts_with(more)


@with_clients()
def test_the_new_folder_is_trusted_offers_the_prompt_and_opens_the_session(
    desk: Desk,
) -> None:
    old, new = desk.folder("old"), desk.code / "new"
    desk.trust(old)
    first = new_prompt("fix the fence")
    desk.talk(old, first)

    desk.rename_and_move(old, new)

    open_it_and_go_on(desk, new, first, recalled=True)
    # What the terminal began, every version continues.
    assert desk.ask(new, new_prompt("and the wall"), "--continue").knew(first)


@with_clients()
def test_without_ccmove_each_of_these_fails(desk: Desk) -> None:
    """The control: the checks above can tell."""
    old, new = desk.folder("old"), desk.code / "new"
    desk.trust(old)
    first = new_prompt("fix the fence")
    desk.talk(old, first)

    old.rename(new)

    with desk.screen(new) as screen:
        assert screen.asks_for_trust
        screen.accept_trust()
        assert not screen.recalls(first)
        assert not screen.lists_session(first)


def begin_a_session_that_is_in_the_index(desk: Desk, folder: Path, first: str) -> Path:
    """The project directory, whose index has an up-to-date entry for the session."""
    desk.trust(folder)
    session = desk.ask(folder, first).session
    desk.ask(
        folder, new_prompt("what else")
    )  # the next start puts the session into the index
    directory = desk.directory_of(session)
    assert session in (directory / INDEX).read_text()
    return directory


@with_clients(lambda client: client.is_of_the_index_era)
def test_a_session_that_is_in_the_index_opens_from_the_list(desk: Desk) -> None:
    """The client believes an index entry that is no older than its transcript, paths
    and all.
    """
    old, new = desk.folder("old"), desk.code / "new"
    first = new_prompt("fix the fence")
    begin_a_session_that_is_in_the_index(desk, old, first)

    desk.rename_and_move(old, new)

    open_it_and_go_on(desk, new, first, recalled=False)
    (transcript,) = desk.transcripts_with(first)
    assert json.loads((transcript.parent / INDEX).read_text())["originalPath"] == str(
        new
    )


@with_clients(lambda client: client.is_of_the_index_era)
def test_an_index_that_still_names_the_old_directory_opens_nothing(desk: Desk) -> None:
    """The control: a directory renamed by hand lists the session, but has lost the
    conversation.
    """
    old, new = desk.folder("old"), desk.folder("new")
    first = new_prompt("fix the fence")
    directory = begin_a_session_that_is_in_the_index(desk, old, first)
    desk.trust(new)

    directory.rename(directory.with_name(f"{directory.name[:-3]}new"))

    with desk.screen(new) as screen:
        assert screen.lists_session(first)
        assert not screen.opens_listed_session(first)
