"""A client that runs while ccmove works: elsewhere it harms nothing, in OLD it is in
the way.
"""

import os
import shutil

import pytest

from ccmove.claude.layout import Layout, find_layout
from ccmove.claude.live import live_sessions
from tests.client import CLIENT_TEST, with_clients
from tests.client.driver import Desk, new_prompt
from tests.client.waiting import wait_until

pytestmark = [*CLIENT_TEST, pytest.mark.usefixtures("terminal")]

# In full, because it is started with the client's environment, whose PATH has it not.
UNSHARE = shutil.which("unshare") or "unshare"


def layout_of(desk: Desk) -> Layout:
    return find_layout(str(desk.config_dir), {})


@with_clients()
def test_a_session_elsewhere_undoes_nothing_of_the_move_and_loses_no_prompt(
    desk: Desk,
) -> None:
    old, new, other = desk.folder("old"), desk.code / "new", desk.folder("other")
    desk.trust(old)
    desk.trust(other)
    first, before, after = (
        new_prompt(about) for about in ("fix it", "meanwhile", "and later")
    )
    desk.talk(old, first)

    with desk.screen(other) as screen:
        screen.say(before)
        desk.rename_and_move(old, new)
        screen.say(after)
        screen.leave()

    projects = desk.config()["projects"]
    assert str(old) not in projects
    assert projects[str(new)]["hasTrustDialogAccepted"] is True
    # It did write the config file after the move, so it could have undone it.
    assert "lastSessionId" in projects[str(other)]
    assert desk.prompts() == [
        (str(new), first),
        (str(other), before),
        (str(other), after),
    ]


@with_clients()
def test_a_session_that_is_open_in_old_is_named_and_the_move_refused(
    desk: Desk,
) -> None:
    old, new = desk.folder("old"), desk.code / "new"
    desk.trust(old)
    prompt = new_prompt("still here")

    with desk.screen(old) as screen:
        screen.say(prompt)
        before = wait_until(lambda: desk.transcripts_with(prompt), "the transcript")
        wait_until(
            lambda: desk.prompts() == [(str(old), prompt)], "the prompt in the history"
        )
        old.rename(new)
        refused = desk.ccmove(old, new)

        assert refused.exit == 4, (refused.out, refused.err)
        assert str(screen.pid) in refused.err
        (session,) = live_sessions(layout_of(desk), [str(old), str(new)])
        assert (session.pid, session.is_elsewhere) == (screen.pid, False)
        assert desk.transcripts() == before
        assert str(old) in desk.config()["projects"]
        assert desk.prompts() == [(str(old), prompt)]


@with_clients(lambda client: not client.is_of_the_older_form)
def test_a_session_in_another_pid_namespace_is_one_that_can_not_be_checked(
    desk: Desk,
) -> None:
    """As in a container that shares the home: there the client is process 1, here it is
    not.
    """
    if os.geteuid() != 0:
        pytest.skip("a pid namespace needs root")
    old, new = desk.folder("old"), desk.code / "new"
    desk.trust(old)
    apart = [UNSHARE, "--pid", "--fork", "--kill-child", "--mount-proc"]
    with desk.screen(old, before=apart) as screen:
        screen.say(new_prompt("in a box"))
        (record,) = (desk.config_dir / "sessions").glob("*.json")
        sessions = live_sessions(layout_of(desk), [str(old)])
        (elsewhere,) = (session for session in sessions if session.is_elsewhere)
        assert (record.name, elsewhere.pid) == ("1.json", 1)
        assert elsewhere.last_written == record.stat().st_mtime
        old.rename(new)
        assert desk.ccmove(old, new).exit == 4


@with_clients()
def test_once_that_session_has_ended_the_move_goes_through(desk: Desk) -> None:
    """The control: it was the open session that was in the way."""
    old, new = desk.folder("old"), desk.code / "new"
    desk.trust(old)
    desk.talk(old, new_prompt("done here"))

    old.rename(new)

    assert desk.ccmove(old, new).exit == 0
