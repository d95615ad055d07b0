"""A conversation that was packed and unpacked in another home, under another path, goes on
there: the client finds it, lists it, and offers its prompts.
"""

import json
from pathlib import Path

import pytest

from tests.client import CLIENT_TEST, with_clients
from tests.client.driver import Desk, new_prompt

pytestmark = CLIENT_TEST

with_current_clients = with_clients(
    lambda client: str(client) in ("2.1.327", "2.1.326")
)


@pytest.fixture
def there(desk: Desk) -> Desk:
    """Another home, on what may be another machine."""
    return Desk(
        desk.root / "other", desk.client, desk.api, home="Users/you", code="work"
    )


def bring(desk: Desk, old: Path, there: Desk, new: Path, *options: str) -> None:
    """What a user does: pack, copy, unpack."""
    file = desk.root / "it.tar.gz"
    done = desk.ccmove("pack", old, "-o", file)
    assert done.exit == 0, done
    done = there.ccmove("unpack", *options, file, new)
    assert done.exit == 0, done


@with_current_clients
def test_a_conversation_goes_on_in_another_home(desk: Desk, there: Desk) -> None:
    old, new = desk.folder("old"), there.folder("some where")
    first = new_prompt("remember this")
    session = desk.ask(old, first).session
    packed = desk.transcripts_with(first)[0].read_bytes()

    bring(desk, old, there, new)

    (brought,) = there.transcripts()
    assert brought.read_bytes() == packed
    for way in (["--resume", session], ["--continue"]):
        answer = there.ask(new, new_prompt("and then"), *way)
        assert answer.knew(first), way
        assert answer.session == session
    assert there.transcripts() == [brought]
    fresh = there.ask(new, new_prompt("start afresh"))
    assert there.directory_of(fresh.session) == brought.parent


@with_current_clients
def test_control_without_unpacking_there_is_no_conversation(
    desk: Desk, there: Desk
) -> None:
    old, new = desk.folder("old"), there.folder("new")
    session = desk.ask(old, new_prompt("remember this")).session
    assert there.try_ask(new, new_prompt("and"), "--resume", session).exit != 0


@with_current_clients
def test_there_and_back_again_every_turn_is_in_place(desk: Desk, there: Desk) -> None:
    old, new = desk.folder("old"), there.folder("new")
    first, second = new_prompt("remember this"), new_prompt("and that")
    session = desk.ask(old, first).session
    bring(desk, old, there, new)
    there.ask(new, second, "--resume", session)
    bring(there, new, desk, old)
    answer = desk.ask(old, new_prompt("what was it"), "--resume", session)
    assert answer.knew(first)
    assert answer.knew(second)


@with_current_clients
@pytest.mark.usefixtures("terminal")
def test_the_picker_lists_it_and_arrow_up_offers_its_prompt(
    desk: Desk, there: Desk
) -> None:
    old, new = desk.folder("old"), there.folder("new")
    desk.trust(old)
    first, more = new_prompt("fix the fence"), new_prompt("and the gate")
    desk.talk(old, first)

    bring(desk, old, there, new, "--with-config")

    with there.screen(new) as screen:
        assert not screen.asks_for_trust
        assert screen.recalls(first)
        assert screen.lists_session(first)
        assert screen.opens_listed_session(first)
        screen.say(more)
        screen.leave()
    assert any(first in sent for sent in there.api.conversations_with(more))
    assert there.transcripts_with(first) == there.transcripts_with(more)


@with_current_clients
@pytest.mark.usefixtures("terminal")
def test_trust_is_not_brought_unless_it_is_asked_for(desk: Desk, there: Desk) -> None:
    old, new = desk.folder("old"), there.folder("new")
    desk.trust(old)
    first = new_prompt("fix the fence")
    desk.talk(old, first)
    bring(desk, old, there, new)
    with there.screen(new) as screen:
        assert screen.asks_for_trust
        screen.accept_trust()
        assert screen.recalls(first)


@with_current_clients
@pytest.mark.usefixtures("terminal")
def test_a_large_paste_is_there(desk: Desk, there: Desk) -> None:
    """Long text is kept outside of the history; arrow-up brings it back whole."""
    old, new = desk.folder("old"), there.folder("new")
    desk.trust(old)
    mark = new_prompt("line")
    pasted = "\n".join(f"{mark} {number}" for number in range(120))
    with desk.screen(old) as screen:
        screen.paste(pasted)
        screen.press("Enter")
        screen.wait_for(
            lambda: desk.api.conversations_with(f"{mark} 119"), "the paste to be sent"
        )
        screen.leave()
    listed = (desk.config_dir / "history.jsonl").read_text().splitlines()
    contents = [json.loads(line)["pastedContents"] for line in listed]
    assert any("contentHash" in str(content) for content in contents), contents

    bring(desk, old, there, new, "--with-config")

    sent = len(there.api.conversations_with(f"{mark} 119"))
    with there.screen(new) as screen:
        assert screen.recalls("[Pasted text", clear=False)
        screen.press("Enter")
        screen.wait_for(
            lambda: len(there.api.conversations_with(f"{mark} 119")) > sent,
            "the paste to be sent again",
        )
        screen.leave()


@with_current_clients
@pytest.mark.usefixtures("terminal")
def test_the_plan_of_a_session_is_there(desk: Desk, there: Desk) -> None:
    """The client names a plan in the lines of a transcript; it made none here, so that
    one is written as it does.
    """
    old, new = desk.folder("old"), there.folder("new")
    desk.trust(old)
    first = new_prompt("fix the fence")
    session = desk.ask(old, first).session
    (transcript,) = desk.transcripts_with(first)
    turns = [json.loads(line) for line in transcript.read_text().splitlines()]
    for turn in turns:
        turn["slug"] = "calm-otter"
    lines = [json.dumps(turn, separators=(",", ":")) + "\n" for turn in turns]
    transcript.write_text("".join(lines))
    (desk.config_dir / "plans").mkdir()
    (desk.config_dir / "plans" / "calm-otter.md").write_text(
        "# Plan\n\nPaint it blue\n"
    )
    tasks = desk.config_dir / "tasks" / session
    tasks.mkdir(parents=True, exist_ok=True)
    (tasks / "1.json").write_text('{"id":"1","subject":"paint"}')

    bring(desk, old, there, new, "--with-config")

    brought = there.config_dir / "tasks" / session / "1.json"
    assert brought.read_bytes() == (tasks / "1.json").read_bytes()
    with there.screen(new, "--resume", session) as screen:
        screen.type("/plan")
        screen.press("Enter")
        screen.wait_for(lambda: "Paint it blue" in screen.text, "the plan")


@with_current_clients
def test_the_tasks_of_a_session_are_there(desk: Desk, there: Desk) -> None:
    """Claude Code shows them to the model: its list of tasks is a tool, off by default
    with these versions, and is called here. `/tasks` is about something else.
    """
    old, new = desk.folder("old"), there.folder("new")
    session = desk.ask(old, new_prompt("fix the fence")).session
    tasks = desk.config_dir / "tasks" / session
    tasks.mkdir(parents=True, exist_ok=True)
    task = {"id": "1", "subject": "paint it", "description": "", "status": "pending"}
    task |= {"blocks": [], "blockedBy": []}
    (tasks / "1.json").write_text(json.dumps(task, indent=2))

    bring(desk, old, there, new)

    on = {"env": {"CLAUDE_CODE_ENABLE_TODO_TOOLS": "1"}}
    (there.config_dir / "settings.json").write_text(json.dumps(on))
    told = "#1 [pending] paint it"
    answer = there.ask(new, new_prompt("CALL-TOOL-TaskList"), "--resume", session)
    assert answer.knew(told)
    another = there.ask(new, new_prompt("CALL-TOOL-TaskList"))
    assert another.knew("No tasks found")
    assert not another.knew(told)
