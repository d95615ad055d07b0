"""The work grows with the projects, and not with their square.

Work is counted in calls of functions, which are the same each time; the time that they
take is for `make bench`.
"""

import sys
from pathlib import Path

import pytest

from tests.support.run import run_ccmove, run_child
from tests.support.state import StateBuilder

SCRIPT = """
import sys
from ccmove.cli.main import main

calls = 0

def count(frame, event, function):
    global calls
    calls += event in ("call", "c_call")

sys.setprofile(count)
try:
    main(sys.argv[1:])
finally:
    sys.setprofile(None)
    sys.stderr.write(f"CALLS {calls}")
"""
SIZES = (10, 30, 90)
MOST = 1.1  # times what one more costs between the first two


def calls_of(state: StateBuilder, *words: str) -> int:
    root = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", SCRIPT, *words]
    done = run_child(command, state=state, env={"PYTHONPATH": root})
    assert done.exit in (0, 1), done.err  # doctor finds that they are lost
    return int(done.err.rpartition("CALLS ")[2])


def work_with(state: StateBuilder, command: str, size: int) -> int:
    """What a command does where so many projects are in the folder that was renamed."""
    old, new = state.code / "old", state.code / "new"
    new.mkdir()
    for number in range(size):
        state.project(f"old/{number}", index=True, memory={"MEMORY.md": "a note"})
        (new / str(number)).mkdir()
    pair = (str(old), str(new))
    rows = [f"{old}/{number}\t{new}/{number}\n" for number in range(size)]
    listed = state.root / "moves.txt"
    listed.write_text("".join(rows))
    if command == "undo":
        assert run_ccmove(*pair, state=state).exit == 0
    words = {
        "preview": ("-n", *pair),
        "preview of a list": ("-n", "--from-file", str(listed)),
        "move": pair,
    }
    return calls_of(state, *words.get(command, (command,)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", ["preview", "preview of a list", "move", "undo", "list", "doctor"]
)
def test_one_more_project_costs_no_more_than_the_ones_before(
    tmp_path: Path, command: str
) -> None:
    work = []
    for size in SIZES:
        root = tmp_path / str(size)
        root.mkdir()
        work.append(work_with(StateBuilder(root), command, size))
    first = (work[1] - work[0]) / (SIZES[1] - SIZES[0])
    last = (work[2] - work[1]) / (SIZES[2] - SIZES[1])
    assert last <= MOST * first, work
