"""What a conversation from before the move still says of the old place; ccmove can only
tell.
"""

from ccmove.claude.naming import encode
from tests.client import CLIENT_TEST, with_clients
from tests.client.driver import Desk, new_prompt

pytestmark = CLIENT_TEST

# How a transcript shows that its client keeps the system prompt: before the first
# answer.
SIGN = b'"attachment":{"type":"prompt_snapshot"'


@with_clients(lambda client: not client.is_of_the_index_era)  # which has no memory
def test_a_resumed_session_is_told_of_the_old_memory_if_its_transcript_keeps_the_prompt(
    desk: Desk,
) -> None:
    old, new = desk.folder("old"), desk.code / "new"
    first = desk.ask(old, new_prompt("begin"))
    old_memory, new_memory = (f"{encode(str(folder))}/memory/" for folder in (old, new))
    transcript = desk.directory_of(first.session) / f"{first.session}.jsonl"
    head = transcript.read_bytes().partition(b'"type":"assistant"')[0]
    assert first.told_beforehand(old_memory)
    keeps = not desk.client.is_of_the_older_form
    assert (SIGN in head) == keeps

    desk.rename_and_move(old, new)

    resumed = desk.ask(new, new_prompt("and then"), "--resume", first.session)
    assert resumed.told_beforehand(old_memory) == keeps
    assert resumed.told_beforehand(new_memory) != keeps
    if keeps:
        off = ("--resume", first.session, "--system-prompt-snapshot", "off")
        resumed = desk.ask(new, new_prompt("told again"), *off)
        assert resumed.told_beforehand(new_memory)
        assert not resumed.told_beforehand(old_memory)
