"""Hints are data: who shows them knows what was typed, and for which state."""

import errno

import pytest

from ccmove.errors import Hint, LinkError, again, in_words, look_at, run, system_error
from tests.support.hints import hint_of

WITHOUT_M = again(instead={"-m": "", "--move-folder": ""})
# A hint, what was typed, and the command; `elsewhere` another config directory was
# given.
HINTS = {
    "a sentence": (Hint("just so"), "-n /old", ""),
    "a command": (run("ccmove", "list"), "-n /old", "ccmove list"),
    "quoted": (run("mv", "a b", "c", text="rename it"), "-n /old", "mv 'a b' c"),
    "a look": (look_at("/x"), "-n /old", "ls -ld /x"),
    "again": (again(), "-n /old /new", "ccmove -n /old /new"),
    "with more": (again("to merge", ["--only"]), "-n /old", "ccmove --only -n /old"),
    "with another": (
        again(instead={"/old": "/older"}),
        "-n /old /new",
        "ccmove -n /older /new",
    ),
    "with less": (again(instead={"-n": "", "--dry-run": ""}), "-n /old", "ccmove /old"),
    "relative": (again(instead={"/old": "/older"}), "old new", "ccmove /older new"),
    "letter behind": (WITHOUT_M, "-nm a", "ccmove -n a"),
    "letter before": (WITHOUT_M, "-mq a", "ccmove -q a"),
    "letter alone": (WITHOUT_M, "-m a", "ccmove a"),
    "long option": (WITHOUT_M, "--move-folder a", "ccmove a"),
    "no letter": (WITHOUT_M, "- a", "ccmove - a"),
    "a folder, no option": (WITHOUT_M, "-m -- a -my", "ccmove -- a -my"),
    "nothing typed": (again("then"), "", "ccmove OLD NEW"),
    "elsewhere: a sentence": (Hint("just so"), "", ""),
    "elsewhere: ours": (run("ccmove", "list"), "", "ccmove --config-dir '/my c' list"),
    "elsewhere: named": (
        run("ccmove", "--config-dir", "D"),
        "",
        "ccmove --config-dir D",
    ),
    "elsewhere: typed": (
        again(),
        "--config-dir=/my /old",
        "ccmove --config-dir=/my /old",
    ),
    "elsewhere: not ours": (run("ls", "-ld", "/x"), "", "ls -ld /x"),
}


@pytest.mark.parametrize("what", HINTS)
def test_a_hint_in_words(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    hint, typed, command = HINTS[what]
    config_dir = "/my c" if what.startswith("elsewhere") else None
    assert in_words(hint, typed.split(), config_dir) == (hint.text, command)


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
