"""The work of looking through a state grows with its size, and no faster.

Counted in calls, not in seconds: those depend on the machine and on what else it does.
"""

import json
import os
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.crash.sample import EXHAUSTIVE
from tests.inspect.conftest import run_ccmove
from tests.support.run import run_child
from tests.support.state import StateBuilder, encoded_name

PROJECTS = 2_000 if EXHAUSTIVE else 500
TRANSCRIPTS = PROJECTS * 5 // 2
FEW = 200
DOUBLED_AT_MOST = 2.05  # work that grows with the square of the size would be near 4

# Runs its arguments as `python -m` would, and says how many calls were made, whatever
# the end.
_COUNTING = """
import cProfile, os, pstats, runpy, sys
profile, leave = cProfile.Profile(), os._exit
def end(code):
    profile.disable()
    print(pstats.Stats(profile).total_calls, file=sys.stderr, flush=True)
    sys.stdout.flush()
    leave(code)
os._exit = end
sys.argv = sys.argv[1:]
profile.enable()
try:
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
except SystemExit as how:
    end(how.code or 0)
end(0)
"""

_SQUARE = """
import os
names = os.listdir(os.path.expanduser("~/.claude/projects"))
for one in names:
    for other in names:
        one.startswith(other)
"""


def fill(state: StateBuilder, projects: int) -> StateBuilder:
    """Every other folder exists; two or three sessions each, ten prompts a project."""
    config = state.config()
    prompts = []
    for number in range(projects):
        path = state.code / f"team-{number % 40}" / f"project-{number}"
        if number % 2:
            path.mkdir(parents=True)
        config["projects"][str(path)] = {
            "hasTrustDialogAccepted": True,
            "allowedTools": [],
        }
        directory = state.projects / encoded_name(str(path))
        directory.mkdir()
        for session in range(2 + number % 2):
            identifier = str(uuid.UUID(int=number * 10 + session, version=4))
            write_transcript(directory / f"{identifier}.jsonl", str(path), identifier)
            prompts += [prompt(str(path), identifier)] * 4
    state.write_config(config)
    state.history.write_text("".join(prompts))
    return state


def write_transcript(file: Path, cwd: str, session: str) -> None:
    tool = {"type": "tool_use", "input": {"file_path": f"{cwd}/src/main.py"}}
    record = {
        "type": "assistant",
        "cwd": cwd,
        "sessionId": session,
        "message": {"content": [tool]},
    }
    line = json.dumps(record, separators=(",", ":")) + "\n"
    file.write_text(line * 20)
    os.utime(file, (1_780_000_000, 1_780_000_000))


def prompt(path: str, session: str) -> str:
    entry = {
        "display": "go on",
        "timestamp": 1780000000000,
        "project": path,
        "sessionId": session,
    }
    return json.dumps(entry) + "\n"


def calls(command: Sequence[str], state: StateBuilder, expected: int) -> int:
    """How many calls a module of Python makes with these arguments, until it ends."""
    argv = [sys.executable, "-c", _COUNTING, *command]
    done = run_child(
        argv, state=state, env={"PYTHONPATH": str(state.root)}, timeout=240
    )
    assert done.exit == expected, done
    return int(done.err.splitlines()[-1])


def growth(tmp_path: Path, command: Sequence[str], expected: int = 0) -> float:
    """How many times the calls it makes where there are twice as many projects."""
    few, many = (fill(StateBuilder(tmp_path / str(n)), n * FEW) for n in (1, 2))
    for state in (few, many):
        (state.root / "square.py").write_text(_SQUARE)
    return calls(command, many, expected) / calls(command, few, expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "expected"), [("list", 0), ("doctor", 1), ("verify", 0)]
)
def test_twice_the_projects_are_twice_the_work(
    tmp_path: Path, command: str, expected: int
) -> None:
    assert (
        1.2
        < growth(tmp_path, ["ccmove", command, "--json"], expected)
        < DOUBLED_AT_MOST
    )


@pytest.mark.slow
def test_control_work_that_grows_with_the_square_is_noticed(tmp_path: Path) -> None:
    assert growth(tmp_path, ["square"]) > DOUBLED_AT_MOST


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_of_very_many_projects_all_are_looked_at(state: StateBuilder) -> None:
    fill(state, PROJECTS)
    assert len(list(state.projects.glob("*/*.jsonl"))) == TRANSCRIPTS
    listed, examined, verified = (
        run_ccmove(command, "--json", state=state).json()
        for command in ("list", "doctor", "verify")
    )
    assert len(listed["projects"]) == len(verified["paths"]) == PROJECTS
    assert len(examined["paths"]) == PROJECTS
    assert len(examined["findings"]) == len(verified["notes"]) == PROJECTS // 2
