"""Hints are data: who shows them knows what was typed, and for which state."""

import errno

import pytest

from ccmove.errors import Hint, LinkError, again, in_words, look_at, run, system_error
from tests.support.hints import hint_of


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (Hint("just so"), ("just so", "")),
        (run("ccmove", "list"), ("", "ccmove list")),
        (run("mv", "a b", "c", text="rename it"), ("rename it", "mv 'a b' c")),
        (look_at("/x"), ("look at it", "ls -ld /x")),
        (again(), ("", "ccmove -n /old /new")),
        (again("to merge", ["--only"]), ("to merge", "ccmove --only -n /old /new")),
        (again(instead={"/old": "/older"}), ("", "ccmove -n /older /new")),
        (again(instead={"-n": "", "--dry-run": ""}), ("", "ccmove /old /new")),
    ],
)
def test_a_hint_in_words(hint: Hint, words: tuple[str, str]) -> None:
    assert in_words(hint, ["-n", "/old", "/new"]) == words


def test_a_relative_path_is_replaced_by_what_it_means(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    assert in_words(again(instead={"/old": "/older"}), ["old", "new"])[1] == "ccmove /older new"


def test_an_option_is_left_out_of_letters_that_stand_together() -> None:
    hint = again(instead={"-m": "", "--move-folder": ""})
    for typed, left in (
        ("-nm", "-n"),
        ("-mq", "-q"),
        ("-m", ""),
        ("--move-folder", ""),
        ("-", "-"),
    ):
        expected = " ".join(filter(None, ["ccmove", left, "a"]))
        assert in_words(hint, [typed, "a"])[1] == expected


@pytest.mark.parametrize(
    ("hint", "argv", "command"),
    [
        (run("ccmove", "list"), [], "ccmove --config-dir '/my c' list"),
        (run("ccmove", "--config-dir", "DIR", "OLD", "NEW"), [], "ccmove --config-dir DIR OLD NEW"),
        (again(), ["--config-dir=/my c", "/old"], "ccmove '--config-dir=/my c' /old"),
        (run("ls", "-ld", "/x"), [], "ls -ld /x"),
        (Hint("just so"), [], ""),
    ],
)
def test_a_command_of_ours_acts_on_the_same_state(
    hint: Hint, argv: list[str], command: str
) -> None:
    assert in_words(hint, argv, "/my c")[1] == command


def test_without_a_command_line_the_usual_one_is_named() -> None:
    assert hint_of(LinkError("/x")).startswith("look at it: ls -ld /x\n")
    assert in_words(again("then")) == ("then", "ccmove OLD NEW")


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (errno.EACCES, "look at it: ls -ld /x"),
        (errno.ENOENT, "what is there: ls -l /"),
        (errno.EDQUOT, "free some space, then try again; what is free: df -h /x"),
        (errno.ENOSPC, "free some space, then try again; what is free: df -h /x"),
        (errno.EIO, "look at it: ls -ld /x"),
    ],
)
def test_what_the_system_refused_has_advice(number: int, hint: str) -> None:
    error = system_error(OSError(number, "no", "/x"))
    assert error.message == "/x: no"
    assert hint_of(error) == hint
