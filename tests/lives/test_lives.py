"""Lives: everything that people do, in any order, keeps the promises of SAFETY.md."""

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crash.sample import EXHAUSTIVE
from tests.lives.model import BrokenError
from tests.lives.tale import Tale
from tests.support.life import INDEX
from tests.support.state import encoded_name

AT_ONCE = 10
LIVES = 300 if EXHAUSTIVE else 10
FIRST = int(os.environ.get("CCMOVE_SEED") or 0)  # the seed of the first one


def live(root: Path, seed: int) -> Tale:
    tale = Tale(root / f"life-{seed}", seed)
    try:
        tale.live()
    except BrokenError as broken:
        steps = "\n".join(tale.lines)
        again = f"python -m tests.lives {seed}"
        pytest.fail(f"{broken}\n\n{steps}\n\nto live it again: {again}", pytrace=False)
    return tale


@pytest.mark.parametrize("first", range(FIRST, FIRST + LIVES, AT_ONCE))
def test_no_life_breaks_a_promise(tmp_path: Path, first: int) -> None:
    for seed in range(first, first + AT_ONCE):
        live(tmp_path, seed)


@pytest.mark.exhaustive
def test_lives_do_all_that_they_can_do(tmp_path: Path) -> None:
    """Else the oracle would have nothing to judge."""
    steps: Counter[str] = Counter()
    for seed in range(40):
        tale = Tale(tmp_path / f"life-{seed}", seed)
        try:
            tale.live()
        except BrokenError:
            pass  # another test's concern
        steps.update(tale.steps)
    moves = ("move", "move -m", "move --only", "move --merge", "move --from-file")
    for kind in (*moves, "undo", "undo ID"):
        assert steps[f"{kind}, exit 0"] > 0, kind
    done = sum(number for kind, number in steps.items() if "exit 0" in kind)
    refused = sum(number for kind, number in steps.items() if "exit 4" in kind)
    killed = sum(number for kind, number in steps.items() if "exit 1" in kind)
    assert done > 2 * refused
    assert killed > 0


def test_a_seed_is_one_life(tmp_path: Path) -> None:
    lines = []
    for turn in ("first", "second"):
        tale = Tale(tmp_path / turn, 7)
        try:
            tale.live()
        except BrokenError:
            pass
        lines.append(tale.lines)
    assert lines[0] == lines[1]
    assert len(lines[0]) > 4


# -- the oracle can fail -----------------------------------------------------------------------


def leave_prompts_behind(tale: Tale) -> None:
    """As an undo does that takes a session back and forgets what was typed."""
    history = tale.state.history
    text = history.read_text()
    history.write_text(text.replace(tale.life.path("a"), tale.life.path("b")))


def lose_a_prompt(tale: Tale) -> None:
    lines = tale.state.history.read_bytes().splitlines(keepends=True)
    tale.state.history.write_bytes(b"".join(lines[1:]))


def double_a_prompt(tale: Tale) -> None:
    lines = tale.state.history.read_bytes().splitlines(keepends=True)
    tale.state.history.write_bytes(b"".join([*lines, lines[0]]))


def copy_a_transcript(tale: Tale) -> None:
    transcript = next(tale.life.directory("a").glob("*.jsonl"))
    tale.life.directory("b").mkdir(exist_ok=True)
    (tale.life.directory("b") / transcript.name).write_bytes(transcript.read_bytes())


def lose_a_transcript(tale: Tale) -> None:
    next(tale.life.directory("a").glob("*.jsonl")).unlink()


def write_a_transcript_again(tale: Tale) -> None:
    transcript = next(tale.life.directory("a").glob("*.jsonl"))
    transcript.write_bytes(transcript.read_bytes())


def lose_a_session_folder(tale: Tale) -> None:
    session = next(tale.life.directory("a").glob("*.jsonl")).with_suffix("")
    session.rename(session.with_name("elsewhere"))


def leave_an_index_behind(tale: Tale) -> None:
    tale.life.directory("b").mkdir(exist_ok=True)
    index = tale.life.directory("a") / INDEX
    index.rename(tale.life.directory("b") / INDEX)


def lose_an_index(tale: Tale) -> None:
    (tale.life.directory("a") / INDEX).unlink()


def lose_a_note(tale: Tale) -> None:
    (tale.life.memory("a") / "topic.md").unlink()


def lose_a_tool(tale: Tale) -> None:
    config = tale.state.config()
    del config["projects"][tale.life.path("a")]
    tale.state.write_config(config)


FAULTS: dict[Callable[[Tale], None], str] = {
    leave_prompts_behind: "prompts apart",
    lose_a_prompt: "prompt lost or doubled",
    double_a_prompt: "prompt lost or doubled",
    copy_a_transcript: "transcript",
    lose_a_transcript: "transcript",
    write_a_transcript_again: "transcript changed",
    lose_a_session_folder: "session folder",
    leave_an_index_behind: "index entry apart",
    lose_an_index: "index entry lost",
    lose_a_note: "note lost",
    lose_a_tool: "allowed tool lost",
}


def short_life(root: Path) -> Tale:
    """A move and its undo, without anything in between."""
    tale = Tale(root / "life", 0)
    tale.has_index = True
    tale.without = ("crash", "undo --merge")
    tale.make("a")
    tale.begin_at("a")
    tale._note("topic.md")
    tale.allow()
    tale.mv("a", "b")
    tale.ccmove([("a", "b")])
    tale.undo()
    return tale


def test_the_oracle_is_content_with_a_move_and_its_undo(tmp_path: Path) -> None:
    tale = short_life(tmp_path)
    tale.oracle.check()
    tale.oracle.check_places(dict.fromkeys(tale._places(), "a"))


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.__name__ for fault in FAULTS])
def test_the_oracle_sees_a_planted_fault(
    tmp_path: Path, fault: Callable[[Tale], None]
) -> None:
    tale = short_life(tmp_path)
    fault(tale)
    with pytest.raises(BrokenError) as broken:
        tale.oracle.check()
    assert broken.value.kind == FAULTS[fault]


def test_the_oracle_sees_a_whole_project_in_the_wrong_place(tmp_path: Path) -> None:
    tale = short_life(tmp_path)
    expected = dict.fromkeys(tale._places(), "b")
    with pytest.raises(BrokenError, match="place of a session"):
        tale.oracle.check_places(expected)
    assert tale.life.directory("a").name == encoded_name(tale.life.path("a"))


def test_an_undo_that_leaves_a_session_behind_is_noticed(tmp_path: Path) -> None:
    """A move that says it is done and did nothing."""
    tale = Tale(tmp_path / "life", 0)
    tale.without = ("crash",)
    tale.make("a")
    tale.begin_at("a")
    expected = dict.fromkeys(tale._places(), "b")
    with pytest.raises(BrokenError, match="place of a session"):
        tale.run(["verify"], expected, None)
