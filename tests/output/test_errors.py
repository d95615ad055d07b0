"""Hints are data: who shows them knows what was typed, and for which state."""

import errno

import pytest

from ccmove.commands.options import (
    DoctorOptions,
    ListOptions,
    MoveOptions,
    PruneOptions,
    RecoverOptions,
    UndoOptions,
)
from ccmove.errors import LinkError, system_error
from ccmove.hints import Asked, Hint, again, ask, in_words, look_at, to_type
from tests.support.hints import hint_of

MOVED = MoveOptions(dry_run=True, arguments=("/old", "/new"))
LISTED = ListOptions(sort="size", arguments=("old",))
# A hint, what was asked, and the command; `elsewhere` another config directory was
# given.
HINTS: dict[str, tuple[Hint, Asked | None, str]] = {
    "a sentence": (Hint("just so"), MOVED, ""),
    "a command": (to_type("ccmove", "list"), MOVED, "ccmove list"),
    "quoted": (to_type("mv", "a b", "c", text="rename it"), MOVED, "mv 'a b' c"),
    "a look": (look_at("/x"), MOVED, "ls -ld /x"),
    "again": (again(), MOVED, "ccmove --dry-run /old /new"),
    "with more": (
        again("to merge", merge=True),
        MOVED,
        "ccmove --dry-run --merge /old /new",
    ),
    "with what is there already": (
        again(merge=True),
        UndoOptions(merge=True),
        "ccmove undo --merge",
    ),
    "with what the command has not": (
        again(merge=True),
        LISTED,
        "ccmove list --sort size old",
    ),
    "with another": (
        ask(LISTED.with_argument("old", "/older")),
        LISTED,
        "ccmove list --sort size /older",
    ),
    "with what was not typed": (
        ask(MOVED.with_argument("x", "y")),
        MOVED,
        "ccmove --dry-run /old /new",
    ),
    "a folder, no option": (
        again(),
        MoveOptions(arguments=("a", "-my")),
        "ccmove -- a -my",
    ),
    "standard input": (again(), MoveOptions(from_file="-"), "ccmove --from-file -"),
    "nothing typed": (again("then"), None, "ccmove OLD NEW"),
    "elsewhere: a sentence": (Hint("just so"), None, ""),
    "elsewhere: ours": (
        to_type("ccmove", "list"),
        None,
        "ccmove --config-dir '/my c' list",
    ),
    "elsewhere: named": (
        to_type("ccmove", "--config-dir", "D"),
        None,
        "ccmove --config-dir D",
    ),
    "elsewhere: asked": (
        again(),
        LISTED,
        "ccmove --config-dir '/my c' list --sort size old",
    ),
    "elsewhere: not ours": (to_type("ls", "-ld", "/x"), None, "ls -ld /x"),
}
# Every option of every command that has some.
IN_FULL = {
    "ccmove --config-dir D --json --quiet --verbose --dry-run --merge --hash "
    "--allow-live --move-folder --only --yes --settings --desktop --skip-path-check "
    "a b": (
        MoveOptions(
            dry_run=True,
            move_folder=True,
            only=True,
            merge=True,
            yes=True,
            settings=True,
            desktop=True,
            hash=True,
            allow_live=True,
            skip_path_check=True,
            config_dir="D",
            json=True,
            quiet=True,
            verbose=True,
            arguments=("a", "b"),
        )
    ),
    "ccmove undo --dry-run --merge --hash --allow-live 3f9c": UndoOptions(
        dry_run=True, merge=True, hash=True, allow_live=True, arguments=("3f9c",)
    ),
    "ccmove recover --set-aside": RecoverOptions(set_aside=True),
    "ccmove prune --dry-run --keep 0 --older-than 2d": PruneOptions(
        dry_run=True, keep=0, older_than="2d"
    ),
    "ccmove list --missing --sort used": ListOptions(missing=True, sort="used"),
    "ccmove doctor --fix --yes --plan --search a --search b x": DoctorOptions(
        fix=True, yes=True, plan=True, search=("a", "b"), arguments=("x",)
    ),
}


@pytest.mark.parametrize("typed", IN_FULL)
def test_options_print_themselves_as_they_are_typed(typed: str) -> None:
    assert in_words(ask(IN_FULL[typed])) == ("", typed)


@pytest.mark.parametrize("what", HINTS)
def test_a_hint_is_told_as_a_sentence_and_a_command(what: str) -> None:
    hint, asked, command = HINTS[what]
    config_dir = "/my c" if what.startswith("elsewhere") else None
    assert in_words(hint, asked, config_dir) == (hint.text, command)


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
