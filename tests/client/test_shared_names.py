"""Two folders with one encoded name: whose conversations the client shows in which."""

from tests.client import CLIENT_TEST, with_clients
from tests.client.driver import Desk, new_prompt

pytestmark = CLIENT_TEST


@with_clients(lambda client: client.stands_for_all)
def test_what_is_merged_into_a_living_twins_directory_the_twin_opens(
    desk: Desk,
) -> None:
    """A transcript that names neither of the two counts as the directory's, so as both
    theirs.
    """
    twin, old, new = desk.folder("my-app"), desk.folder("old"), desk.code / "my_app"
    of_the_twin, moved = new_prompt("of the twin"), new_prompt("moved")
    directory = desk.directory_of(desk.ask(twin, of_the_twin).session)
    moved_session = desk.ask(old, moved).session
    assert desk.ask(twin, new_prompt("whose is it"), "--continue").knew(of_the_twin)

    old.rename(new)
    transcript = desk.directory_of(moved_session) / f"{moved_session}.jsonl"
    transcript.touch()  # used last, so that it is the one to continue
    transcript.rename(directory / transcript.name)

    answer = desk.ask(twin, new_prompt("and now"), "--continue")
    assert answer.session == moved_session
    assert answer.knew(moved)
    assert not answer.knew(of_the_twin)


@with_clients(lambda client: client.stands_for_all)
def test_a_move_to_a_living_twins_name_is_refused(desk: Desk) -> None:
    twin, old, new = desk.folder("my-app"), desk.folder("old"), desk.code / "my_app"
    of_the_twin = new_prompt("of the twin")
    desk.ask(twin, of_the_twin)
    session = desk.ask(old, new_prompt("to be moved")).session
    directory = desk.directory_of(session)
    old.rename(new)

    assert desk.ccmove(old, new).exit == 4

    assert desk.directory_of(session) == directory
    assert desk.ask(twin, new_prompt("and now"), "--continue").knew(of_the_twin)


@with_clients(lambda client: client.stands_for_all)
def test_renamed_by_hand_to_the_same_encoded_name_the_conversation_goes_on(
    desk: Desk,
) -> None:
    begun_in, now_in = desk.folder("my_app"), desk.code / "my-app"
    first = new_prompt("at first")
    session = desk.ask(begun_in, first).session

    begun_in.rename(now_in)

    answer = desk.ask(now_in, new_prompt("and then"), "--continue")
    assert answer.knew(first)
    assert answer.session == session


@with_clients(lambda client: client.stands_for_all)
def test_what_was_begun_under_the_name_before_comes_along(desk: Desk) -> None:
    """my_app, renamed by hand to my-app and used there, then moved on: the client
    showed it all.
    """
    begun_in, now_in, new = (
        desk.folder("my_app"),
        desk.code / "my-app",
        desk.code / "webshop",
    )
    first, here = new_prompt("at first"), new_prompt("begun here")
    session = desk.ask(begun_in, first).session
    begun_in.rename(now_in)
    begun_here = desk.ask(now_in, here).session
    assert desk.ask(now_in, new_prompt("and then"), "--resume", session).knew(first)

    desk.rename_and_move(now_in, new)

    assert desk.directory_of(begun_here).name.endswith("-webshop")
    assert desk.directory_of(session) == desk.directory_of(begun_here)
    assert desk.ask(new, new_prompt("and on"), "--continue").knew(first)
