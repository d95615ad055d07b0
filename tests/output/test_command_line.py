"""Which command a line asks for, what is said to a line that asks for none, and the
help.
"""

import re

import click
import pytest

from ccmove import __version__
from ccmove.cli.help import EXAMPLES
from ccmove.cli.main import COMMANDS, WITH_VALUE, command_named, with_command
from tests.support.run import run_ccmove
from tests.support.state import StateBuilder


@pytest.mark.parametrize(
    ("typed", "understood"),
    [
        (["-h"], ["-h"]),
        (["-V"], ["move", "-V"]),
        (["help"], ["--help"]),
        (["help", "help"], ["--help"]),
        (["help", "--help"], ["--help"]),
        (["--help", "undo"], ["--help"]),
        (["-h", "-n"], ["-h"]),
        (["help", "restore"], ["undo", "--help"]),
        (["restore", "-n"], ["undo", "-n"]),
        (["--json", "undo"], ["undo", "--json"]),
        (["/old", "/new"], ["move", "/old", "/new"]),
        (["/old", "list"], ["move", "/old", "list"]),
        (["-n", "/old", "/new"], ["move", "-n", "/old", "/new"]),
        (["move", "/old", "/new"], ["move", "/old", "/new"]),
        (["./restore", "/new"], ["move", "./restore", "/new"]),
        (["--", "restore", "/new"], ["move", "--", "restore", "/new"]),
        (["--json", "restore"], ["undo", "--json"]),
        (["--config-dir", "list", "restore"], ["undo", "--config-dir", "list"]),
        (["--config-dir=x", "list"], ["list", "--config-dir=x"]),
        (["--keep", "3", "prune"], ["prune", "--keep", "3"]),
    ],
)
def test_the_command_is_found(typed: list[str], understood: list[str]) -> None:
    assert with_command(typed) == understood


def test_alone_it_prints_one_screen(state: StateBuilder) -> None:
    for width in (50, 80):
        done = run_ccmove(state=state, env={"COLUMNS": str(width)})
        assert (done.exit, done.err) == (0, "")
        lines = done.out.splitlines()
        assert len(lines) < 24
        assert max(len(line) for line in lines) <= width
    assert lines[3] == "  ccmove OLD NEW       after you renamed or moved the folder"
    assert len(lines) == 13  # no line is broken at 80


def test_help_begins_with_the_plain_use_and_has_examples_and_defaults(
    state: StateBuilder,
) -> None:
    text = run_ccmove("--help", state=state).out
    assert text.startswith("Usage: ccmove [OPTIONS] OLD NEW\n")
    for section in ("Commands", "Options", "Advanced options"):
        assert f"\n{section}:\n" in text
    listed = re.findall(r"^  ([a-z]+) ", text.partition("Commands:")[2], re.MULTILINE)
    assert listed[:3] == ["undo", "doctor", "list"]
    assert set(listed) == set(COMMANDS) - {"move", "verify"}
    doctor = run_ccmove("help", "doctor", state=state).out
    assert "ccmove verify" in " ".join(doctor.split())
    more = run_ccmove("help", "move", state=state).out
    for section in ("Examples", "Exit codes"):
        assert f"\n{section}:\n" in more
    assert "[default: 30d" in run_ccmove("help", "prune", state=state).out
    assert "[default: $CLAUDE_CONFIG_DIR" in " ".join(text.split())
    assert run_ccmove("help", state=state).out == text


def test_the_help_is_one_screen_of_80_by_45(state: StateBuilder) -> None:
    """With a row left for the shell's prompt."""
    done = run_ccmove("--help", state=state, env={"COLUMNS": "80"})
    lines = done.out.splitlines()
    assert len(lines) <= 44
    assert max(len(line) for line in lines) <= 80
    options = [line.split()[0].rstrip(",") for line in lines if line.startswith("  -")]
    everyday = options.index("--desktop")
    advanced = ["--desktop", "--hash", "--allow-live", "--skip-path-check"]
    assert options[everyday:] == advanced
    assert {"-n", "-m", "--merge", "--settings", "-v"} < set(options[:everyday])


@pytest.mark.parametrize("name", list(COMMANDS))
def test_each_command_has_two_examples_and_all_can_be_typed(
    name: str, state: StateBuilder
) -> None:
    text = run_ccmove("help", name, state=state).out
    examples = re.findall(
        r"^  (ccmove .*?)(?:  |$)", text.partition("Examples:")[2], re.MULTILINE
    )
    assert len(examples) >= 2
    for example in examples:
        words = (
            example.replace("~/archive", str(state.home)).partition(" |")[0].split()[1:]
        )
        command, *rest = with_command(words)
        rest = [word for word in rest if word != "--help"]
        command_named(command).make_context(command, rest)


def test_no_example_is_of_a_command_that_is_gone() -> None:
    assert set(EXAMPLES) == set(COMMANDS)
    for name, rows in EXAMPLES.items():
        assert {with_command(typed.split()[1:])[0] for typed, _ in rows} <= {
            name,
            "undo",
        }


def test_the_options_with_a_value_are_known() -> None:
    """A word after one of them is no command."""
    options = [
        param
        for name in COMMANDS
        for param in command_named(name).params
        if isinstance(param, click.Option) and not param.is_flag
    ]
    assert {name for option in options for name in option.opts} == set(WITH_VALUE)


@pytest.mark.parametrize("typed", [["-V"], ["--version"], ["list", "-V"]])
def test_the_version_can_be_asked_for_anywhere(
    typed: list[str], state: StateBuilder
) -> None:
    assert run_ccmove(*typed, state=state).out.startswith(f"ccmove {__version__}\n")


@pytest.fixture
def folders(state: StateBuilder) -> StateBuilder:
    """`there`, `two` and `into` exist in the current folder, `into/went` and `into/too`
    as well.
    """
    for name in ("there", "two", "into/went", "into/too"):
        (state.code / name).mkdir(parents=True)
    return state


@pytest.mark.parametrize(
    ("typed", "right"),
    [
        ("rename there gone", ["ccmove there gone"]),
        ("mv gone there", ["ccmove gone there"]),
        ("mv old new", ["ccmove old new"]),  # which the arguments are called, too
        ("rename", ["ccmove OLD NEW"]),
        ("doctr", ["ccmove doctor"]),
        ("ls", ["ccmove list"]),
        ("revert 3f9c", ["ccmove undo 3f9c"]),
        ("there two three", ["ccmove OLD NEW"]),
    ],
)
def test_what_is_not_a_move_is_answered_with_the_right_command(
    typed: str, right: list[str], folders: StateBuilder
) -> None:
    done = run_ccmove(*typed.split(), state=folders, cwd=folders.code)
    assert done.exit == 2
    named = [line.rpartition(": ")[2].rpartition("-> ")[2] for line in hints(done.err)]
    assert named == [command.format(code=folders.code) for command in right]


def test_what_is_no_number_is_told_plainly(state: StateBuilder) -> None:
    done = run_ccmove("prune", "--keep", "x", state=state)
    assert done.exit == 2
    assert "'x' is not a number of backups\n" in done.err


@pytest.mark.parametrize(
    "typed",
    ["hook --install --remove", "doctor --fix --plan", "pack --all .", "unpack --map"],
)
def test_the_help_of_the_command_is_the_hint_where_there_is_no_better_one(
    typed: str, state: StateBuilder
) -> None:
    done = run_ccmove(*typed.split(), state=state)
    command, *_ = typed.split()
    assert done.exit == 2
    assert hints(done.err) == [f"  -> ccmove {command} --help"]


def test_a_missing_word_is_named(state: StateBuilder) -> None:
    done = run_ccmove("completion", state=state)
    assert (done.exit, done.err.splitlines()[0]) == (
        2,
        "ccmove: missing argument: SHELL",
    )


def test_an_archive_that_is_not_there_is_named(state: StateBuilder) -> None:
    done = run_ccmove("unpack", "x.tar.gz", state=state)
    assert (done.exit, done.err.splitlines()[0]) == (
        1,
        "ccmove: x.tar.gz does not exist",
    )


def test_help_about_what_is_not_a_command_is_wrong_usage(state: StateBuilder) -> None:
    near = run_ccmove("help", "unpak", state=state)
    assert near.exit == 2
    assert "did you mean: ccmove help unpack\n" in near.err
    done = run_ccmove("help", "foo", state=state)
    assert (done.exit, done.out) == (2, "")
    assert "undo, doctor, list" in done.err


def test_an_empty_config_directory_is_wrong_usage(state: StateBuilder) -> None:
    """It would mean the usual one, and is probably an unset variable."""
    for command in (["list"], ["move", "/old", "/new"], ["doctor"]):
        done = run_ccmove(*command, "--config-dir", "", state=state)
        assert done.exit == 2
        assert "--config-dir is empty (an unset variable?)" in done.err


def hints(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("  -> ")]


@pytest.mark.parametrize("typed", ["lost there", "lost not-there", "lsit there"])
def test_a_word_like_a_command_is_a_path_only_if_it_is_a_project(
    typed: str, folders: StateBuilder
) -> None:
    folders.project("lost")
    for where in ([], ["--config-dir", str(folders.config_dir)]):
        words = ["-n", *where, *typed.split()]
        done = run_ccmove(*words, state=folders, cwd=folders.code)
        if "lsit" in typed:
            assert done.exit == 2
            assert "did you mean: ccmove -n" in done.err
            assert "list there\n" in done.err
        else:
            assert "no such command" not in done.err
            assert done.exit == (4 if "not" in typed else 0)


@pytest.mark.parametrize("typed", ["recovery there", "./lst there", "-- lst there"])
def test_a_project_may_be_called_like_a_command(
    typed: str, folders: StateBuilder
) -> None:
    folders.project(typed.split()[-2].removeprefix("./"))
    done = run_ccmove("-n", *typed.split(), state=folders, cwd=folders.code)
    assert (done.exit, done.err) == (0, "")


def test_a_folder_called_like_a_command_is_written_with_its_place(
    folders: StateBuilder,
) -> None:
    (folders.code / "restore").mkdir()
    done = run_ccmove("restore", "there", state=folders, cwd=folders.code)
    assert "there is no backup there" in done.err


@pytest.mark.parametrize(
    ("words", "offered"), [("ccmove un", "undo"), ("ccmove undo --h", "--hash")]
)
def test_an_alias_completes_like_its_command(
    words: str, offered: str, state: StateBuilder
) -> None:
    place = str(len(words.split()) - 1)
    asked = {
        "COMP_WORDS": words,
        "COMP_CWORD": place,
        "_CCMOVE_COMPLETE": "bash_complete",
    }
    assert f"plain,{offered}" in run_ccmove(state=state, env=asked).out.splitlines()
