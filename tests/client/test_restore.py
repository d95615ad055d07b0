"""After `ccmove restore` the client finds everything in OLD again, and what came since
too.
"""

import pytest

from tests.client import CLIENT_TEST, with_clients
from tests.client.driver import Desk, new_prompt

pytestmark = [*CLIENT_TEST, pytest.mark.usefixtures("terminal")]


@with_clients()
def test_after_a_restore_the_old_folder_has_what_it_had_and_what_was_added(
    desk: Desk,
) -> None:
    old, new = desk.folder("old"), desk.code / "new"
    desk.trust(old)
    first, added_to_it, added = (
        new_prompt(a) for a in ("at first", "then", "something else")
    )
    desk.talk(old, first)
    (session,) = (path.stem for path in desk.transcripts())
    desk.rename_and_move(old, new)
    desk.ask(new, added_to_it, "--resume", session)
    desk.talk(new, added)

    new.rename(old)
    done = desk.ccmove("restore")
    assert done.exit == 0, (done.out, done.err)

    resumed = desk.ask(old, new_prompt("where were we"), "--resume", session)
    assert resumed.knew(first)
    assert resumed.knew(added_to_it)
    with desk.screen(old) as screen:
        assert not screen.asks_for_trust
        assert screen.recalls(added)
        assert screen.recalls(first, presses=2)
        assert screen.lists_session(added)
        assert screen.opens_listed_session(added)
        more = new_prompt("and on")
        screen.say(more)
        screen.leave()
    assert any(added in sent for sent in desk.api.conversations_with(more))
    assert {path.parent for path in desk.transcripts()} == {desk.directory_of(session)}
    assert str(new) not in desk.config()["projects"]
    assert {project for project, _ in desk.prompts()} == {str(old)}
