"""One conversation in two files, as a session that goes on during a move leaves it.

docs/split-conversations.md has every arrangement that was tried; here is what ccmove
relies on.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.client import CLIENT_TEST, with_clients
from tests.client.driver import Answer, Desk, new_prompt

pytestmark = [*CLIENT_TEST, pytest.mark.usefixtures("terminal")]


@dataclass(frozen=True)
class Split:
    """The two parts of one session, with a prompt of each."""

    older: Path
    newer: Path
    first: str
    then: str


def split_conversation(desk: Desk, old: Path, new: Path) -> Split:
    """A session goes on while its folder is moved: it appends by path to OLD's
    directory.
    """
    desk.trust(old)
    first, then = new_prompt("at first"), new_prompt("and then")
    with desk.screen(old) as screen:
        screen.say(first)
        old.rename(new)
        assert desk.ccmove("--allow-live", old, new).exit == 0
        screen.say(then)
        screen.leave()
    (older,), (newer,) = desk.transcripts_with(first), desk.transcripts_with(then)
    assert older.name == newer.name
    assert older.parent != newer.parent
    return Split(older, newer, first, then)


def knowledge(answer: Answer, split: Split) -> tuple[bool, bool]:
    return answer.knew(split.first), answer.knew(split.then)


@with_clients(lambda client: client.stands_for_all)
def test_neither_part_is_read_with_the_other_wherever_the_other_is(desk: Desk) -> None:
    old, new = desk.folder("old"), desk.code / "new"
    split = split_conversation(desk, old, new)
    session = split.older.stem

    found = desk.ask(new, new_prompt("which part"), "--resume", session)
    assert knowledge(found, split) == (True, False)

    beside = split.older.with_name("00000000-0000-4000-8000-000000000000.jsonl")
    split.older.rename(beside)
    split.newer.rename(split.older)
    found = desk.ask(new, new_prompt("and now"), "--resume", session)
    assert knowledge(found, split) == (False, True)


@with_clients(lambda client: client.stands_for_all)
def test_a_fork_of_both_joined_outside_is_whole_and_leaves_the_parts_alone(
    desk: Desk,
) -> None:
    old, new = desk.folder("old"), desk.code / "new"
    split = split_conversation(desk, old, new)
    parts = {path: path.read_bytes() for path in (split.older, split.newer)}
    joined = desk.root / "joined.jsonl"
    joined.write_bytes(parts[split.older] + parts[split.newer])

    fork = desk.ask(
        new, new_prompt("once more"), "--resume", str(joined), "--fork-session"
    )

    assert knowledge(fork, split) == (True, True)
    assert fork.session != split.older.stem
    assert desk.directory_of(fork.session) == split.older.parent
    assert {path: path.read_bytes() for path in parts} == parts
    for way in (["--continue"], ["--resume", fork.session]):
        assert knowledge(desk.ask(new, new_prompt("and on"), *way), split) == (
            True,
            True,
        )
