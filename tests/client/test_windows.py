"""A move on Windows: the native client and ccmove, both under Wine."""

from collections.abc import Iterator

import pytest

from tests.client import CLIENT_TEST
from tests.client.driver import Desk, new_prompt
from tests.client.loopback import Loopback
from tests.client.versions import Client, ClientMissingError, pinned
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


def test_a_conversation_goes_on_after_a_rename_and_after_its_undo(
    desk: WindowsDesk,
) -> None:
    old, new = desk.folder("old-app"), desk.code / "new-app"
    first, second = new_prompt("remember this"), new_prompt("and then")
    session = desk.ask(old, first).session
    desk.rename_and_move(old, new)
    answer = desk.ask(new, second, "--continue")
    assert answer.knew(first)
    assert answer.session == session
    assert desk.directory_of(session).name == "C--work-new-app"

    new.rename(old)
    done = desk.ccmove("restore")
    assert done.exit == 0, (done.out, done.err)
    answer = desk.ask(old, new_prompt("and now"), "--continue")
    assert answer.knew(first)
    assert answer.knew(second)
    assert answer.session == session
    assert desk.directory_of(session).name == "C--work-old-app"


@pytest.mark.usefixtures("terminal")
def test_trust_and_prompts_come_along_once_the_client_has_ended(
    desk: WindowsDesk,
) -> None:
    old, new = desk.folder("My_App é"), desk.code / "Other App"
    prompt = new_prompt("in the terminal")
    with desk.screen(old) as screen:
        assert screen.asks_for_trust
    desk.trust("C:/work/My_App é")
    with desk.screen(old) as screen:
        screen.say(prompt)
        done = desk.ccmove("--skip-path-check", old, new)
        assert done.exit == 4
        assert "(pid " in done.err
        assert "can't be checked" not in done.err
        screen.leave()
    desk.rename_and_move(old, new)
    assert desk.prompts() == [("C:\\work\\Other App", prompt)]
    with desk.screen(new) as screen:
        assert not screen.asks_for_trust
        assert screen.recalls(prompt)
        screen.leave()


def test_every_spelling_of_the_folder_comes_along(desk: WindowsDesk) -> None:
    """The client takes them for several folders in the config file, for one in
    `projects`.
    """
    old, new = desk.folder("spelled"), desk.code / "merged"
    spellings = ("c:\\work\\spelled", "C:\\WORK\\Spelled", "C:\\work\\spelled")
    first = {spelling: new_prompt("remember this") for spelling in spellings}
    begun = {
        spelling: desk.ask(spelling, prompt).session
        for spelling, prompt in first.items()
    }
    for spelling in spellings:
        desk.trust(spelling.replace("\\", "/"))
    desk.rename_and_move(old, new)
    for spelling in spellings:
        answer = desk.ask(new, new_prompt("and then"), "--resume", begun[spelling])
        assert answer.knew(first[spelling])
        assert desk.directory_of(begun[spelling]).name == "C--work-merged"
    known = [key.lower() for key in desk.config()["projects"]]
    assert "c:/work/spelled" not in known
    assert known.count("c:/work/merged") == 1
    assert "several paths" not in desk.ccmove("doctor").out
    listed = [row["path"] for row in desk.ccmove("list", "--json").json()["projects"]]
    assert [path for path in listed if path.lower().endswith("merged")] == [
        "C:\\work\\merged"
    ]


def test_without_ccmove_the_client_begins_a_new_conversation(desk: WindowsDesk) -> None:
    """The control."""
    old, new = desk.folder("left"), desk.code / "found"
    first = new_prompt("remember this")
    begun = desk.ask(old, first)
    old.rename(new)
    answer = desk.ask(new, new_prompt("and then"), "--continue")
    assert not answer.knew(first)
    assert answer.session != begun.session


@pytest.fixture
def other(tmp_path_factory: pytest.TempPathFactory, api: Loopback) -> Desk:
    """Another machine, with the client for this system."""
    client = Client(pinned()[0])
    try:
        client.command()
    except ClientMissingError as missing:
        pytest.skip(str(missing))
    return Desk(tmp_path_factory.mktemp("other"), client, api)


def test_a_conversation_comes_from_another_system_and_goes_back(
    desk: WindowsDesk, other: Desk
) -> None:
    old, new = other.folder("app"), desk.folder("came here")
    first, second = new_prompt("remember this"), new_prompt("and that")
    session = other.ask(old, first).session
    there, back = desk.code / "there.tar.gz", desk.code / "back.tar.gz"
    assert other.ccmove("pack", old, "-o", there).exit == 0
    done = desk.ccmove("unpack", there, new)
    assert done.exit == 0, (done.out, done.err)
    answer = desk.ask(new, second, "--continue")
    assert answer.knew(first)
    assert answer.session == session
    assert desk.directory_of(session).name == "C--work-came-here"

    done = desk.ccmove("pack", new, "-o", back)
    assert done.exit == 0, (done.out, done.err)
    assert other.ccmove("unpack", back, old).exit == 0
    answer = other.ask(old, new_prompt("what was it"), "--resume", session)
    assert answer.knew(first)
    assert answer.knew(second)


def test_a_conversation_of_windows_goes_on_elsewhere(
    desk: WindowsDesk, other: Desk
) -> None:
    old, new = desk.folder("begun here"), other.folder("app")
    first = new_prompt("remember this")
    session = desk.ask(old, first).session
    archive = desk.code / "from windows.tar.gz"
    done = desk.ccmove("pack", old, "-o", archive)
    assert done.exit == 0, (done.out, done.err)
    assert other.ccmove("unpack", archive, new).exit == 0
    answer = other.ask(new, new_prompt("and then"), "--continue")
    assert answer.knew(first)
    assert answer.session == session


def test_what_came_from_another_system_is_taken_out_again(
    desk: WindowsDesk, other: Desk
) -> None:
    """Its dates there are coarser than those that were packed."""
    old, new = other.folder("app"), desk.folder("for a while")
    session = other.ask(old, new_prompt("remember this")).session
    archive = desk.code / "for a while.tar.gz"
    assert other.ccmove("pack", old, "-o", archive).exit == 0
    done = desk.ccmove("unpack", archive, new)
    assert done.exit == 0, (done.out, done.err)
    assert desk.directory_of(session).name == "C--work-for-a-while"
    done = desk.ccmove("undo")
    assert done.exit == 0, (done.out, done.err)
    assert "changed since" not in done.out
    assert session not in {path.stem for path in desk.transcripts()}
