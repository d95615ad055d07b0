"""After a move the client goes on with the old conversation, in the directory it itself
uses.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.client import CLIENT_TEST, with_clients
from tests.client.driver import Desk, new_prompt
from tests.client.versions import CLIENTS, Client

pytestmark = CLIENT_TEST

LONG = "/".join(letter * 60 for letter in "abcd")

# OLD and NEW, below the desk's `code`.
NAMES = {
    "plain": ("old", "new"),
    "spaces": ("an old  app", "a new app "),
    "dots": ("my.old.app", ".new..app"),
    "underscores": ("my_old_app", "__new_app"),
    "accents": ("café", "naïve-façade"),
    "decomposed accents": ("cafe\u0301", "nai\u0308ve"),
    "CJK": ("古い名前", "새-이름"),
    "emoji": ("🚀old", "new🧑‍🚀"),
    "over 200 units": (f"{LONG}/old", f"{LONG}/new"),
    "to over 200 units": ("short", f"{LONG}/new"),
    "same encoded name": ("my_app", "my-app"),
}


def names_for(client: Client) -> list[str]:
    """All names for the newest client; for the others a sample of the same rules.

    Left out where they have rules of their own, by which a move cannot go as the
    current form needs it: 2.1.92 composes accents before it encodes, and the index era
    never cuts a long name.
    """
    if client.stands_for_all:
        return list(NAMES)
    sample = ["plain", "accents", "emoji", "same encoded name"]
    return sample if client.is_of_the_index_era else [*sample, "over 200 units"]


@dataclass(frozen=True)
class Begun:
    """A conversation that the client began: its session and first prompt."""

    session: str
    first: str


def begin(desk: Desk, folder: Path) -> Begun:
    """Begin a conversation in `folder`; a client of the index era lists it in the index
    too.
    """
    first = new_prompt("remember this")
    session = desk.ask(folder, first).session
    if desk.client.is_of_the_index_era:
        # The client puts a session into the index when it next starts.
        desk.ask(folder, new_prompt("and this"), "--resume", session)
        assert (
            session in (desk.directory_of(session) / "sessions-index.json").read_text()
        )
    return Begun(session, first)


def assert_goes_on(
    desk: Desk, folder: Path, begun: Begun, *, not_knowing: Begun | None = None
) -> None:
    """`--resume ID` and `--continue` send the first prompt again, and no second session
    appears.
    """
    before = desk.transcripts()
    ways = [["--resume", begun.session]]
    if desk.client.continues_print_mode_sessions:
        ways.append(["--continue"])
    for way in ways:
        answer = desk.ask(folder, new_prompt("and then"), *way)
        assert answer.knew(begun.first), f"{way}: the conversation was not found"
        assert answer.session == begun.session
        assert not_knowing is None or not answer.knew(not_knowing.first)
    assert desk.transcripts() == before


def assert_directory_is_the_clients_own(desk: Desk, folder: Path, begun: Begun) -> None:
    """A session that the client begins in `folder` lands beside the moved one."""
    fresh = desk.ask(folder, new_prompt("start afresh"))
    assert desk.directory_of(fresh.session) == desk.directory_of(begun.session)


def git(folder: Path, *args: str) -> str:
    """What git prints, with no configuration of this machine's."""
    who = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org")
    argv = ["git", "-C", str(folder), *who, *args]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


# -- names


@pytest.mark.parametrize(
    ("desk", "name"),
    [pytest.param(c, name, id=f"{c}-{name}") for c in CLIENTS for name in names_for(c)],
    indirect=["desk"],
)
def test_a_moved_conversation_goes_on_whatever_the_names(desk: Desk, name: str) -> None:
    old, new = (desk.code / part for part in NAMES[name])
    old.mkdir(parents=True)
    begun = begin(desk, old)

    desk.rename_and_move(old, new)

    assert_goes_on(desk, new, begun)
    assert_directory_is_the_clients_own(desk, new, begun)


# -- shapes of a move


@with_clients()
def test_without_ccmove_the_conversation_is_lost(desk: Desk) -> None:
    """The control: it is ccmove that makes the other tests pass."""
    old, new = desk.folder("old"), desk.code / "new"
    begun = begin(desk, old)

    old.rename(new)

    with pytest.raises(AssertionError):
        assert_goes_on(desk, new, begun)
    with pytest.raises(AssertionError):
        assert_directory_is_the_clients_own(desk, new, begun)


@with_clients()
def test_a_project_that_shares_its_directory_takes_only_its_own(desk: Desk) -> None:
    mover, stayer = desk.folder("my_app"), desk.folder("my-app")
    moved, stayed = begin(desk, mover), begin(desk, stayer)
    assert desk.directory_of(moved.session) == desk.directory_of(stayed.session)

    desk.rename_and_move(mover, desk.code / "other")

    assert_goes_on(desk, desk.code / "other", moved, not_knowing=stayed)
    assert_goes_on(desk, stayer, stayed, not_knowing=moved)
    assert_directory_is_the_clients_own(desk, desk.code / "other", moved)
    assert_directory_is_the_clients_own(desk, stayer, stayed)
    if desk.client.is_of_the_older_form:
        for folder, others in ((stayer, moved), (desk.code / "other", stayed)):
            refused = desk.try_ask(
                folder, new_prompt("not mine"), "--resume", others.session
            )
            assert "No conversation found" in refused.err


@with_clients()
def test_a_target_that_was_used_before_has_both_conversations(desk: Desk) -> None:
    old, new = desk.folder("old"), desk.folder("new")
    earlier = begin(desk, new)
    new.rmdir()
    begun = begin(desk, old)

    desk.rename_and_move(old, new)

    assert desk.directory_of(earlier.session) == desk.directory_of(begun.session)
    assert_goes_on(desk, new, begun, not_knowing=earlier)
    assert desk.ask(new, new_prompt("and that"), "--resume", earlier.session).knew(
        earlier.first
    )
    assert_directory_is_the_clients_own(desk, new, begun)


@with_clients()
def test_a_project_moved_twice_and_back_still_goes_on(desk: Desk) -> None:
    place = desk.folder("old")
    begun = begin(desk, place)

    for name in ["between", "new"] + ["old"] * desk.client.stands_for_all:
        desk.rename_and_move(place, desk.code / name)
        place = desk.code / name
        assert_goes_on(desk, place, begun)

    assert_directory_is_the_clients_own(desk, place, begun)


@with_clients(lambda client: client.stands_for_all)
def test_a_nested_folder_moves_along(desk: Desk) -> None:
    old, new = desk.folder("old"), desk.code / "new"
    inner = desk.folder("old/packages/web")
    begun, begun_inside = begin(desk, old), begin(desk, inner)

    desk.rename_and_move(old, new)

    assert_goes_on(desk, new, begun, not_knowing=begun_inside)
    assert_goes_on(desk, new / "packages/web", begun_inside, not_knowing=begun)


@with_clients(lambda client: client.stands_for_all)
def test_a_moved_parent_takes_every_project_along(desk: Desk) -> None:
    parent, new_parent = desk.folder("group"), desk.code / "team"
    names = ["one", "two"]
    begun = {name: begin(desk, desk.folder(f"group/{name}")) for name in names}

    desk.rename_and_move(parent, new_parent)

    for name in names:
        assert_goes_on(desk, new_parent / name, begun[name])


@with_clients(lambda client: client.stands_for_all)
def test_a_worktree_moves_along_with_its_repository(desk: Desk) -> None:
    old, new = desk.folder("old"), desk.code / "new"
    git(old, "init", "--quiet")
    git(old, "commit", "--quiet", "--allow-empty", "--message", "first")
    git(old, "worktree", "add", "--quiet", ".claude/worktrees/feature")
    begun, begun_inside = (
        begin(desk, old),
        begin(desk, old / ".claude/worktrees/feature"),
    )

    done = desk.ccmove("--move-folder", old, new)
    assert done.exit == 0, (done.out, done.err)

    assert "feature" in git(
        new / ".claude/worktrees/feature", "branch", "--show-current"
    )
    assert_goes_on(desk, new, begun)
    assert_goes_on(desk, new / ".claude/worktrees/feature", begun_inside)
