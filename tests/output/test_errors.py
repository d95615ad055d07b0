"""Hints are data: who shows them knows what was typed, and for which state."""

import errno

import pytest

from ccmove.errors import (
    CommandLine,
    Hint,
    LinkError,
    again,
    in_words,
    look_at,
    run,
    system_error,
)
from tests.support.hints import hint_of

TYPED = CommandLine(options=(("--dry-run",),), arguments=("/old", "/new"))
LISTED = CommandLine(("list",), (("--sort", "size"),), ("old",))
# A hint, what was typed, and the command; `elsewhere` another config directory was
# given.
HINTS = {
    "a sentence": (Hint("just so"), TYPED, ""),
    "a command": (run("ccmove", "list"), TYPED, "ccmove list"),
    "quoted": (run("mv", "a b", "c", text="rename it"), TYPED, "mv 'a b' c"),
    "a look": (look_at("/x"), TYPED, "ls -ld /x"),
    "again": (again(), TYPED, "ccmove --dry-run /old /new"),
    "with more": (
        again("to merge", ["--only"]),
        TYPED,
        "ccmove --only --dry-run /old /new",
    ),
    "with what is there already": (
        again(option=["--dry-run"]),
        TYPED,
        "ccmove --dry-run /old /new",
    ),
    "with another": (
        again(instead={"/old": "/older"}),
        TYPED,
        "ccmove --dry-run /older /new",
    ),
    "with less": (again(without=["--dry-run"]), TYPED, "ccmove /old /new"),
    "relative": (
        again(instead={"/old": "/older"}),
        LISTED,
        "ccmove list --sort size /older",
    ),
    "a folder, no option": (
        again(),
        CommandLine(arguments=("a", "-my")),
        "ccmove -- a -my",
    ),
    "standard input": (again(), CommandLine(arguments=("-",)), "ccmove -"),
    "nothing typed": (again("then"), None, "ccmove OLD NEW"),
    "elsewhere: a sentence": (Hint("just so"), None, ""),
    "elsewhere: ours": (
        run("ccmove", "list"),
        None,
        "ccmove --config-dir '/my c' list",
    ),
    "elsewhere: named": (
        run("ccmove", "--config-dir", "D"),
        None,
        "ccmove --config-dir D",
    ),
    "elsewhere: typed": (
        again(),
        LISTED,
        "ccmove --config-dir '/my c' list --sort size old",
    ),
    "elsewhere: not ours": (run("ls", "-ld", "/x"), None, "ls -ld /x"),
}


@pytest.mark.parametrize("what", HINTS)
def test_a_hint_in_words(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    hint, typed, command = HINTS[what]
    config_dir = "/my c" if what.startswith("elsewhere") else None
    assert in_words(hint, typed, config_dir) == (hint.text, command)


def test_all_hints_of_an_error_are_said() -> None:
    assert hint_of(LinkError("/x")).startswith("look at it: ls -ld /x\n")


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
