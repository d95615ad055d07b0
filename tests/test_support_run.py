"""A child process sees the sample home and nothing of ours."""

import sys

import pytest

from tests.support.run import ccmove_command, run_ccmove, run_child
from tests.support.state import StateBuilder

SHOW_ENVIRONMENT = "import json, os; print(json.dumps([dict(os.environ), os.getcwd()]))"


def test_a_child_gets_the_state_as_its_home_and_nothing_of_claude_code(
    state: StateBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/leaked")
    monkeypatch.setenv("SOMETHING_OF_OURS", "leaked")
    done = run_child([sys.executable, "-c", SHOW_ENVIRONMENT], state=state, env={"NO_COLOR": "1"})
    environment, cwd = done.json()
    assert environment["HOME"] == cwd == str(state.home)
    assert environment["NO_COLOR"] == "1"
    assert "leaked" not in environment.values()
    assert environment["TMPDIR"].startswith(str(state.root))


def test_exit_code_output_and_input_come_through(state: StateBuilder) -> None:
    code = (
        "import sys; sys.stderr.write(sys.stdin.read()); sys.stdout.buffer.write(b'\\xff'); exit(4)"
    )
    done = run_child([sys.executable, "-c", code], state=state, input="café", cwd=state.code)
    assert (done.exit, done.out.encode("utf-8", "surrogateescape"), done.err) == (
        4,
        b"\xff",
        "café",
    )


def test_arguments_are_never_read_by_a_shell(state: StateBuilder) -> None:
    assert ccmove_command("a b; $HOME", state.code / "x")[1:] == [
        "-m",
        "ccmove",
        "a b; $HOME",
        str(state.code / "x"),
    ]


def test_a_traceback_fails_the_test(state: StateBuilder) -> None:
    # A package of the same name in the working directory is found before the real one.
    (state.home / "ccmove").mkdir()
    (state.home / "ccmove" / "__init__.py").write_text("raise KeyError('boom')")
    with pytest.raises(AssertionError, match="KeyError: 'boom'"):
        run_ccmove("--version", state=state, alone=True)
