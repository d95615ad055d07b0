"""`ccmove demo` shows the whole cycle, far away from the real home, and leaves nothing
behind.
"""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.output.golden import check_golden, normalised
from tests.output.inprocess import Run
from tests.output.terminal import run_on_terminal
from tests.support.run import ccmove_command, clean_environment, run_ccmove, run_child
from tests.support.state import StateBuilder
from tests.support.tree import snapshot

pytestmark = pytest.mark.slow


def left_over(state: StateBuilder) -> list[str]:
    return sorted(path.name for path in (state.root / "tmp").iterdir())


def test_the_demo_shows_preview_move_verification_and_restore(
    state: StateBuilder,
) -> None:
    # The length of a path decides where a line is broken, so the place must always be
    # the same.
    screen = run_on_terminal(["demo"], state=state, columns=100, env={"TMPDIR": "/tmp"})
    assert screen.exit == 0
    text = "\n".join(line.rstrip() for line in screen.lines) + "\n"
    text = re.sub(r"ccmove-demo-[a-z0-9_-]{8}", "ccmove-demo-X", text)
    check_golden("demo", normalised(text, state))


def test_the_demo_leaves_nothing_behind(state: StateBuilder) -> None:
    before = snapshot(state.home)
    done = run_ccmove("demo", state=state)
    assert (done.exit, done.err) == (0, "")
    assert left_over(state) == []
    assert snapshot(state.home) == before


@pytest.mark.parametrize("home", ["/no/such/home", ""])
def test_the_demo_needs_no_home(state: StateBuilder, home: str) -> None:
    done = run_ccmove("demo", state=state, cwd=state.root, env={"HOME": home})
    assert done.exit == 0
    assert "Your turn:" in done.out


@pytest.mark.parametrize("option", ["--json", "-q", "-v", "--config-dir=/x"])
@pytest.mark.parametrize("command", [["demo"], ["completion", "bash"]])
def test_an_option_that_would_do_nothing_is_none(
    command: list[str], option: str, state: StateBuilder
) -> None:
    assert run_ccmove(*command, option, state=state).exit == 2


@pytest.mark.crash  # for strace
@pytest.mark.parametrize("variable", ["HOME", "CLAUDE_CONFIG_DIR"])
def test_no_system_call_of_the_demo_names_the_home(
    state: StateBuilder, variable: str
) -> None:
    decoy = str(state.root / "decoy")
    os.mkdir(decoy)
    traced = trace(state, {variable: decoy}, "demo")
    assert "ccmove-demo-" in traced
    assert decoy not in traced
    assert decoy in trace(state, {variable: decoy}, "backups"), (
        "the trace would show a look at it"
    )


def trace(state: StateBuilder, env: Mapping[str, str], *arguments: str) -> str:
    """Every system call with a file name that a run makes."""
    file = state.root / "trace"
    words = [
        "strace",
        "-f",
        "-e",
        "trace=%file",
        "-o",
        str(file),
        *ccmove_command(*arguments),
    ]
    # Python itself looks for packages below the home, unless told not to.
    environment = {"TMPDIR": "/tmp", "PYTHONNOUSERSITE": "1", **env}
    done = run_child(words, state=state, cwd=Path("/"), env=environment)
    assert done.exit == 0, done
    return file.read_text(errors="replace")


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_the_demo_cleans_up_when_it_is_stopped(
    state: StateBuilder, number: str
) -> None:
    script = f"""
import os, signal, time
from ccmove.cli import demo
from ccmove.cli.main import main
def stopped(*_):
    print("in the way:", len(os.listdir(os.environ["TMPDIR"])), flush=True)
    os.kill(os.getpid(), signal.{number})
    time.sleep(60)
demo.transcripts = stopped
main(["demo"])
"""
    done = run_child([sys.executable, "-c", script], state=state)
    assert done.exit == 130
    assert "in the way: 1\n" in done.out
    assert left_over(state) == []
    assert done.err.startswith("ccmove: interrupted")
    assert "Traceback" not in done.err


def test_a_demo_that_finds_something_wrong_fails(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    different = iter(range(100))
    monkeypatch.setattr(
        "ccmove.cli.demo.transcripts", lambda _: {"file": (next(different), 0, b"")}
    )
    done = run("demo")
    assert done.exit == 1
    assert "a transcript has changed" in done.err


def test_who_reads_the_demo_may_stop_at_any_time(state: StateBuilder) -> None:
    with subprocess.Popen(
        ccmove_command("demo"),
        env=clean_environment(state, {"PYTHONUNBUFFERED": "1"}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.readline().rstrip() == b"ccmove demo"
        child.stdout.close()
        assert child.stderr.read() == b""
    assert child.returncode == 0
