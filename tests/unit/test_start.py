"""`ccmove OLD NEW` goes its short way, everything else through click."""

from __future__ import annotations

import re

import pytest

from ccmove.cli import main as cli
from ccmove.cli import start
from ccmove.cli.start import COMPLETE_VARIABLE
from tests.support.run import run_ccmove
from tests.support.state import StateBuilder


def test_every_command_is_known_without_click() -> None:
    assert set(cli.app.commands) == start.COMMANDS


@pytest.mark.parametrize("given", [["/old", "/new"], ["old", "."], ["", ""], ["/old", "list"]])
def test_two_words_are_old_and_new(given: list[str]) -> None:
    assert start.is_plain_move(given)
    assert cli.app.with_command(given) == ["move", *given]


@pytest.mark.parametrize(
    "given",
    [
        [],
        ["/old"],
        ["/old", "/new", "/more"],
        ["/old", "-n"],
        ["--json", "/new"],
        ["-", "/new"],
        ["--", "/new"],
        *([command, "word"] for command in sorted(start.COMMANDS)),
    ],
)
def test_everything_else_is_clicks(given: list[str]) -> None:
    assert not start.is_plain_move(given)


def test_a_shell_that_completes_a_word_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(COMPLETE_VARIABLE, "bash_complete")
    assert not start.is_plain_move(["/old", "/new"])


def test_both_ways_say_and_do_the_same(state: StateBuilder) -> None:
    old, new = state.project("my-app").path, state.code / "new-app"
    new.mkdir(parents=True)
    short = run_ccmove(old, new, state=state)
    assert run_ccmove("restore", state=state).exit == 0
    spelled_out = run_ccmove("move", old, new, state=state)
    assert (short.exit, short.err) == (spelled_out.exit, spelled_out.err) == (0, "")
    assert _without_id(short.out) == _without_id(spelled_out.out)


def test_both_ways_fail_alike(state: StateBuilder) -> None:
    old, new = state.code / "never", state.code / "there"
    short = run_ccmove(old, new, state=state)
    spelled_out = run_ccmove("move", old, new, state=state)
    assert short.exit == spelled_out.exit != 0
    assert short.err.partition("\n")[0] == spelled_out.err.partition("\n")[0]


def _without_id(text: str) -> str:
    return re.sub(r"\d{8}T\d{6}Z-[0-9a-f]{4}", "ID", text)
