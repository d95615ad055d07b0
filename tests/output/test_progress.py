"""Long work shows how far it is, on a terminal only, and takes the bar away again."""

import io
import re
import sys
import threading
import time
from pathlib import Path

import pytest

from ccmove.claude.layout import size_of
from ccmove.report.console import Printer, Progress
from tests.output.terminal import run_on_terminal
from tests.support import seams
from tests.support.run import Completed, run_ccmove, run_child
from tests.support.state import StateBuilder

WAITING = "Waiting for Claude Code to release history.jsonl, Ctrl-C to stop\n"
HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
# Everything is drawn at once: what is done in less than a tenth of a second would not
# be seen.
AT_ONCE = """
import sys
import rich.status
from ccmove.cli.main import main
from ccmove.report.console import Progress

Progress.DELAY = 0.0
update = rich.status.Status.update

def drawn(self, *args):
    update(self, *args)
    self._live.refresh()

rich.status.Status.update = drawn
main(sys.argv[1:])
"""


@pytest.fixture
def large(state: StateBuilder) -> StateBuilder:
    """A history of some 20 MB, a few lines of which move."""
    state.project("my-app", sessions=2)
    state.project("other", prompts=100)
    (state.code / "new-app").mkdir()
    with state.history.open("ab") as file:
        lines = state.history.read_bytes()
        for _ in range(20_000_000 // len(lines)):
            file.write(lines)
    return state


def at_once(state: StateBuilder, *options: str) -> list[str]:
    arguments = [*options, str(state.code / "my-app"), str(state.code / "new-app")]
    return [sys.executable, "-c", AT_ONCE, *arguments]


@pytest.mark.parametrize("columns", [60, 80])
def test_each_long_part_is_shown_with_how_much_is_done(
    large: StateBuilder, columns: int
) -> None:
    words = at_once(large, "--hash")
    screen = run_on_terminal(words, state=large, program=True, columns=columns)
    assert screen.exit == 0
    for part in ("reading the history", "writing the history", "hashing"):
        assert part in screen.raw
    drawn = [
        part for part in screen.raw.split("\r") if re.search(r"the history \d+%", part)
    ]
    assert drawn
    assert all(part.count("\n") <= 1 for part in drawn), (
        "a narrow terminal has room for the bar"
    )
    assert screen.raw.count(HIDE_CURSOR) == screen.raw.count(SHOW_CURSOR) >= 1
    assert "To undo: ccmove undo" in " ".join(
        line.strip() for line in screen.lines[-2:]
    )


@pytest.mark.parametrize("option", ["-q", "--json"])
def test_no_bar_when_only_errors_or_one_object_is_wanted(
    large: StateBuilder, option: str
) -> None:
    screen = run_on_terminal(at_once(large, option), state=large, program=True)
    assert screen.exit == 0
    assert HIDE_CURSOR not in screen.raw


def test_no_bar_in_a_pipe(large: StateBuilder) -> None:
    done = run_child(at_once(large), state=large)
    assert done.exit == 0
    assert "\x1b" not in done.out + done.err
    assert "\r" not in done.out + done.err


@pytest.fixture
def known(state: StateBuilder) -> list[str]:
    state.project("my-app", sessions=1)
    (state.code / "new-app").mkdir()
    return [str(state.code / "my-app"), str(state.code / "new-app")]


def run_while_the_client_holds_its_lock(*args: str, state: StateBuilder) -> Completed:
    lock = state.config_dir / "history.jsonl.lock"
    lock.mkdir()
    release = threading.Timer(3.0, lock.rmdir)
    release.start()
    done = run_ccmove(*args, state=state)
    release.join()
    return done


@pytest.mark.slow
def test_waiting_for_locks_is_said_on_standard_error(
    state: StateBuilder, known: list[str]
) -> None:
    done = run_while_the_client_holds_its_lock("--json", *known, state=state)
    assert (done.exit, done.err, done.json()["status"]) == (0, WAITING, "moved")


@pytest.mark.slow
def test_a_recovery_says_that_it_waits_too(
    state: StateBuilder, known: list[str]
) -> None:
    killed = (
        f"{seams.PROLOGUE}\nWork.verify = lambda *_: os._exit(9)\nmain(sys.argv[1:])"
    )
    assert run_child([sys.executable, "-c", killed, *known], state=state).exit == 9
    done = run_while_the_client_holds_its_lock("recover", state=state)
    assert (done.exit, done.err) == (0, WAITING)
    assert done.out.endswith("Everything is as it was before.\n")


@pytest.mark.slow
def test_reading_a_long_history_is_shown_by_what_does_not_move(
    large: StateBuilder,
) -> None:
    assert run_ccmove("-q", *at_once(large)[-2:], state=large).exit == 0
    for words in (["list"], ["doctor"], ["verify"], ["undo", "-n"]):
        screen = run_on_terminal(
            [sys.executable, "-c", AT_ONCE, *words], state=large, program=True
        )
        assert "reading the history" in screen.raw


def test_after_half_a_second_it_is_drawn_and_taken_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setenv("TERM", "xterm")
    out = io.StringIO()
    out.isatty = lambda: True  # type: ignore[method-assign]
    progress = Progress(Printer(out=out, err=out))
    progress("history", 1, 10_000_000)
    now += 0.49
    progress("history", 2, 10_000_000)
    assert out.getvalue() == ""
    now += 0.11
    progress("history", 5_000_000, 10_000_000)
    progress("history", 20_000_000, 10_000_000)  # it grew meanwhile
    progress.close()
    assert "writing the history" in out.getvalue()
    assert "100%" in out.getvalue()
    assert out.getvalue().count(HIDE_CURSOR) == out.getvalue().count(SHOW_CURSOR) == 1


def test_a_history_that_vanishes_between_looks_leaves_the_bar_no_size(
    tmp_path: Path,
) -> None:
    assert size_of(tmp_path / "history.jsonl") == 0
