"""Questions: arrow keys on a terminal, numbers anywhere."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import re
import subprocess
import termios
import threading
import time
from collections.abc import Iterator

import pytest

from ccmove.cli.ask import Asker, NoAnswerError
from tests.inspect.conftest import make_repo
from tests.support.run import ccmove_command, clean_environment
from tests.support.state import StateBuilder, encoded_name


@contextlib.contextmanager
def terminal(*keys: bytes) -> Iterator[Asker]:
    """An asker on a terminal at which these keys are pressed as soon as it listens."""
    controller, end = pty.openpty()
    settings = termios.tcgetattr(end)

    def press() -> None:
        while termios.tcgetattr(end)[3] & termios.ICANON:
            time.sleep(0.01)
        os.write(controller, b"".join(keys))

    thread = threading.Thread(target=press)
    thread.start()
    with open(end, closefd=False) as stdin, open(os.dup(end), "w", buffering=1) as out:
        yield Asker(out=out, stdin=stdin)
        assert termios.tcgetattr(end) == settings
    thread.join()
    os.close(controller)
    os.close(end)


@pytest.fixture(autouse=True)
def terminal_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        ([b"\n"], 1),
        ([b"\x1b[A", b"\n"], 0),
        ([b"\x1b[B", b"\n"], 2),
        ([b"\x1b[B\x1b[B", b"\n"], 0),
        ([b"\x1bOA", b"\n"], 0),
        ([b"k", b"\n"], 0),
        ([b"3"], 2),
        ([b"9", b"x", b"\n"], 1),
    ],
)
def test_keys_on_a_terminal(keys: list[bytes], answer: int) -> None:
    with terminal(*keys) as ask:
        assert ask(["one", "two", "three"], 1) == answer


@pytest.mark.parametrize("key", [b"q", b"\x1b", b"\x04"])
def test_whoever_wants_to_stop_is_let_go(key: bytes) -> None:
    with terminal(key) as ask, pytest.raises(NoAnswerError):
        ask(["one", "two"])


@pytest.mark.parametrize(("typed", "answer"), [("2\n", 1), ("\n", 0), ("0\nzwei\n3\n2\n", 1)])
def test_numbers_in_a_pipe(typed: str, answer: int) -> None:
    out = io.StringIO()
    assert Asker(out=out, stdin=io.StringIO(typed))(["one", "two"]) == answer
    assert "    1  one\n    2  two\n" in out.getvalue()


def test_the_end_of_the_input_is_no_answer() -> None:
    with pytest.raises(NoAnswerError):
        Asker(out=io.StringIO(), stdin=io.StringIO(""))(["one", "two"])


def test_arrow_keys_choose_in_the_real_command(state: StateBuilder) -> None:
    for name in ("first", "second"):
        state.project(name, repo=f"acme/{name}")
        make_repo(state.code / f"{name}-new", f"acme/{name}")
    controller, end = pty.openpty()
    child = subprocess.Popen(
        ccmove_command("doctor", "--fix"), env=clean_environment(state, {"TERM": "xterm"}),
        cwd=state.home, stdin=end, stdout=end, stderr=end,
    )  # fmt: skip
    os.close(end)
    shown = ""
    for marker, keys in (("leave it as it is", b"\x1b[B\n"), ("second-new", b"\n")):
        shown += until(controller, marker)
        os.write(controller, keys)
    shown += until(controller, "To undo")
    assert child.wait(30) == 1
    os.close(controller)
    assert "> 2  leave it as it is" in shown
    assert (state.projects / encoded_name(f"{state.code}/first")).is_dir()
    assert (state.projects / encoded_name(f"{state.code}/second-new")).is_dir()


def until(controller: int, marker: str) -> str:
    """Read the screen until the marker was shown and everything went quiet."""
    text = ""
    deadline = time.monotonic() + 60
    while marker not in text and time.monotonic() < deadline:
        try:
            block = os.read(controller, 65536)
        except OSError:
            break
        text += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", block.decode(errors="replace"))
    assert marker in text
    time.sleep(0.3)  # the question is drawn after the marker
    return text
