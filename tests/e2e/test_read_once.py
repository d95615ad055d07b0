"""While a run is planned, state, manifests and history are read once each."""

import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.support.run import run_ccmove, run_child
from tests.support.state import StateBuilder

SCRIPT = """
import os, sys
from ccmove.cli.main import main

def told(event, arguments):
    if event == "open" and not isinstance(arguments[0], int):
        name = os.path.basename(os.fsdecode(arguments[0]))
        if not arguments[2] & (os.O_WRONLY | os.O_RDWR):
            sys.stderr.write(f"OPENED {name}\\n")

sys.addaudithook(told)
main(sys.argv[1:])
"""
DOCUMENTS = (".claude.json", "history.jsonl", "sessions-index.json", "manifest.json")


def opened(state: StateBuilder, *words: str) -> Counter[str]:
    """How often each document is opened by a run that plans, and changes nothing."""
    root = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", SCRIPT, *words]
    done = run_child(command, state=state, env={"PYTHONPATH": root})
    assert done.exit == 0, done.err
    lines = done.err.splitlines()
    names = [line.removeprefix("OPENED ") for line in lines if line[:7] == "OPENED "]
    assert any(name.endswith(".jsonl") for name in names)  # else nothing was watched
    return Counter(name for name in names if name in DOCUMENTS)


@pytest.fixture
def move(state: StateBuilder) -> tuple[str, str]:
    state.project("beside", index=True)
    old = state.project("old", sessions=3, prompts=4, index=True)
    state.project("old/part", index=True)
    (state.code / "new").mkdir()
    return old.path, str(state.code / "new")


def test_a_preview_of_a_move(state: StateBuilder, move: tuple[str, str]) -> None:
    counts = opened(state, "-n", *move)
    assert counts == {".claude.json": 1, "history.jsonl": 1, "sessions-index.json": 2}


def test_a_preview_of_a_merge(state: StateBuilder, move: tuple[str, str]) -> None:
    state.project("new", index=True)
    counts = opened(state, "-n", "--merge", *move)
    assert counts == {".claude.json": 1, "history.jsonl": 1, "sessions-index.json": 3}


@pytest.mark.parametrize("came", [False, True], ids=["as it was left", "gone on with"])
def test_a_preview_of_an_undo(
    state: StateBuilder, move: tuple[str, str], came: bool
) -> None:
    assert run_ccmove(*move, state=state).exit == 0
    if came:
        state.add_prompt("new", "came since")
    counts = opened(state, "undo", "-n")
    assert counts["manifest.json"] == 1
    assert counts[".claude.json"] == 1
    assert counts["history.jsonl"] == 1
