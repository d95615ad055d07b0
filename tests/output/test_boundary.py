"""Whatever happens to the output or inside: one plain line, and an exit code that is
true.
"""

import os
import sys
from pathlib import Path

import pytest

from tests.support.run import Completed, ccmove_command, run_ccmove, run_child
from tests.support.state import StateBuilder

pytestmark = pytest.mark.slow

needs_dev_full = pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="needs /dev/full"
)


@pytest.fixture
def known(state: StateBuilder) -> StateBuilder:
    state.project("my-app")
    (state.code / "new-app").mkdir()
    return state


def arguments(state: StateBuilder) -> list[str]:
    return [str(state.code / "my-app"), str(state.code / "new-app")]


def shell(state: StateBuilder, line: str) -> Completed:
    """Run a shell line in which `ccmove` is ours and "$@" are OLD and NEW."""
    program = f'ccmove() {{ "{sys.executable}" -m ccmove "$@"; }}; {line}'
    return run_child(["bash", "-c", program, "bash", *arguments(state)], state=state)


@pytest.mark.parametrize("command", ['-n "$@"', "--help"])
def test_output_that_nobody_reads_any_more_is_not_an_error(
    known: StateBuilder, command: str
) -> None:
    line = f'ccmove {command} | true; echo "${{PIPESTATUS[0]}}"'
    done = shell(known, line)
    assert (done.out, done.err) == ("0\n", "")


@needs_dev_full
def test_output_that_can_not_be_written_is_said_and_what_was_done_stays_done(
    known: StateBuilder,
) -> None:
    done = shell(known, 'ccmove "$@" > /dev/full')
    assert done.exit == 0
    assert done.err.startswith("ccmove: the output could not be written: No space left")
    assert "ccmove backups" in done.err
    assert "Traceback" not in done.err
    assert list(known.config()["projects"]) == arguments(known)[1:]


@needs_dev_full
@pytest.mark.parametrize("command", ["--help", "backups", "--no-such-option --json"])
def test_an_answer_that_can_not_be_written_is_a_failure(
    known: StateBuilder, command: str
) -> None:
    done = shell(known, f"ccmove {command} > /dev/full")
    assert done.exit in (1, 2)
    assert (
        done.err == "ccmove: the output could not be written: No space left on device\n"
    )


@needs_dev_full
@pytest.mark.parametrize(
    ("command", "code"), [("restore", 3), ("/neither /nor", 4), ("--no-such-option", 2)]
)
def test_an_error_that_can_not_be_written_still_has_its_exit_code(
    known: StateBuilder, command: str, code: int
) -> None:
    for full in ("2> /dev/full", "> /dev/full 2>&1"):
        assert shell(known, f"ccmove {command} {full}").exit == code


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_outputs_do_no_harm(known: StateBuilder, closed: str) -> None:
    done = shell(known, f'ccmove "$@" {closed}')
    assert done.exit == 0
    assert "Traceback" not in done.err


def test_a_terminal_without_unicode_gets_escapes(state: StateBuilder) -> None:
    state.project("café")
    (state.code / "bar").mkdir()
    done = run_ccmove(
        "-n", state.code / "café", state.code / "bar", state=state,
        env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )  # fmt: skip
    assert done.exit == 0
    assert r"caf\xe9" in done.out


def test_a_bug_shows_its_traceback_only_to_those_who_ask(known: StateBuilder) -> None:
    script = (
        "import sys, ccmove.commands.move as m\n"
        "def fail(*a, **k): raise KeyError('planted')\n"
        "m.plan_move = fail\n"
        "from ccmove.cli.main import main; main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", script, *arguments(known)]
    for debug, shown in (("", False), ("1", True)):
        done = run_child(command, state=known, env={"CCMOVE_DEBUG": debug})
        assert (done.exit, "Traceback" in done.err) == (1, shown)
        assert "planted" in done.err


def test_the_program_can_be_run_as_a_module_and_by_its_name(
    state: StateBuilder,
) -> None:
    by_name = Path(sys.executable).with_name("ccmove")
    for command in (ccmove_command("--version"), [os.fspath(by_name), "--version"]):
        assert run_child(command, state=state).out.startswith("ccmove ")
