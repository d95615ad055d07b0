"""Ctrl-C, a closed terminal or a polite kill at any stage: everything is as it was."""

import signal
import sys

import pytest

from tests.support import seams, tree
from tests.support.run import run_ccmove, run_child
from tests.support.state import StateBuilder

pytestmark = pytest.mark.slow

# Runs ccmove, but the process gets the signal just before or just after one step.
SCRIPT = f"""{seams.PROLOGUE}
stage, number, when = sys.argv[1], int(sys.argv[2]), sys.argv[3]
original = getattr(Work, stage)
def interrupted(self, *arguments):
    if when == "before":
        os.kill(os.getpid(), number)
    result = original(self, *arguments)
    if when == "after":
        os.kill(os.getpid(), number)
    return result
setattr(Work, stage, interrupted)
main(sys.argv[4:])
"""


@pytest.fixture
def ready(state: StateBuilder) -> StateBuilder:
    state.project("my-app", index=True)
    state.project(
        "new", sessions=1
    )  # the target exists: a merge has every kind of step
    (state.code / "new").mkdir(parents=True)
    return state


def interrupt(
    state: StateBuilder, stage: str, number: int, when: str
) -> tuple[int, str]:
    arguments = [
        stage,
        str(number),
        when,
        str(state.code / "my-app"),
        str(state.code / "new"),
    ]
    done = run_child([sys.executable, "-c", SCRIPT, *arguments], state=state)
    assert "Traceback" not in done.err
    return done.exit, done.err


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", seams.STEPS)
def test_a_signal_at_any_step_leaves_everything_as_it_was(
    ready: StateBuilder, step: str, when: str
) -> None:
    """That another signal does the same: hostile/test_meddling."""
    before = tree.snapshot(ready.home)
    code, message = interrupt(ready, step, signal.SIGINT, when)
    assert code == 130
    assert "as it was" in message
    assert tree.diff(before, tree.snapshot(ready.home), ignore=[".claude/ccmove"]) == []
    assert seams.left_over(ready) == []


@pytest.mark.parametrize("when", ["before", "after"])
def test_once_all_is_verified_a_signal_comes_too_late(
    ready: StateBuilder, when: str
) -> None:
    code, message = interrupt(ready, seams.LAST_STEP, signal.SIGINT, when)
    assert (code, message) == (0, "")
    assert not seams.under_way(ready)
    assert run_ccmove("restore", state=ready).exit == 0


def test_a_move_succeeds_after_an_interrupted_one(ready: StateBuilder) -> None:
    assert interrupt(ready, "verify", signal.SIGINT, "before")[0] == 130
    done = run_ccmove(ready.code / "my-app", ready.code / "new", state=ready)
    assert done.exit == 0, done.err
