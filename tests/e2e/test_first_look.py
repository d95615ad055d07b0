"""A large history is searched ahead by another process, and all comes out as without it."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import tree
from tests.support.run import Completed, run_ccmove, run_child
from tests.support.state import StateBuilder, encoded_name

STEPS = ("begin", "save", "stage", "commit")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no other one")

COUNTING = """
import os, sys
from ccmove.cli.start import main
os.sched_getaffinity = lambda _: {0, 1}
made = []
fork = os.fork
def counted():
    child = fork()
    if child:
        made.append(child)
    return child
os.fork = counted
try:
    main(sys.argv[1:])
finally:
    sys.stderr.write(f"forks: {len(made)}")
    try:
        os.wait()
    except ChildProcessError:
        pass
    else:
        sys.stderr.write(" and one is left")
"""


@pytest.fixture
def large(state: StateBuilder) -> StateBuilder:
    """More than two megabytes of prompts."""
    old = state.code / "my-app"
    state.project(old, sessions=3, index=True)
    state.project(old / "web", sessions=1)
    state.project("notes", memory={"MEMORY.md": f"built like {old}\n"})
    block = state.history.read_bytes()
    state.history.write_bytes(block * (1 + (2 << 20) // len(block)))
    (state.code / "new-app").mkdir(parents=True)
    return state


GROWING = """
from ccmove.run import transaction
step = transaction.Run.STEP
grown = []
def and_a_prompt_comes(self):
    step(self)
    if not grown:
        grown.append(True)
        with open(self.layout.history, "r+b") as history:
            line = history.readline()
            history.seek(0, 2)
            history.write(line)
transaction.Run.STEP = and_a_prompt_comes
"""
GROWN = {"as it is": "", **{f"grown after {step}": GROWING.replace("STEP", step) for step in STEPS}}


def counted(state: StateBuilder, *words: str, first: str = "") -> Completed:
    command = [sys.executable, "-c", first + COUNTING, *words, "my-app", "new-app"]
    return run_child(command, state=state, cwd=state.code)


def manifest(state: StateBuilder) -> tuple[Path, dict[str, Any]]:
    """The newest backup, and what it says about the history."""
    backup = max((state.config_dir / "ccmove" / "backups").iterdir())
    record = json.loads((backup / "manifest.json").read_bytes())
    return backup, next(file for file in record["files"] if file["place"] == "history")


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_usual_call_and_the_long_one_have_the_same_result(large: StateBuilder) -> None:
    before = tree.snapshot(large.home)
    usual = counted(large)
    assert (usual.exit, usual.err) == (0, "forks: 1")
    moved = tree.snapshot(large.home)
    assert large.history.read_bytes().count(b"my-app") == 0
    assert run_ccmove("restore", state=large).exit == 0
    ours = [".claude/ccmove"]
    assert tree.diff(before, tree.snapshot(large.home), ignore=ours) == []
    long = counted(large, "move")
    assert (long.exit, long.err) == (0, "forks: 0")  # the control
    assert tree.diff(moved, tree.snapshot(large.home), ignore=ours) == []
    assert "left alone" in usual.out
    assert usual.out.splitlines()[:-1] == long.out.splitlines()[:-1]  # the last names the backup


def test_a_small_state_is_looked_at_by_one_process(state: StateBuilder) -> None:
    state.project("my-app")
    (state.code / "new-app").mkdir(parents=True)
    assert counted(state).err == "forks: 0"


def test_a_refusal_leaves_no_process_behind(large: StateBuilder) -> None:
    (large.code / "my-app").mkdir()  # so both exist
    before = tree.snapshot(large.home)
    refused = counted(large)
    assert refused.exit == 4
    assert refused.err.endswith("forks: 1")
    assert tree.diff(before, tree.snapshot(large.home), mtimes="all", inodes="all") == []


def test_a_link_in_the_place_of_the_history_leads_the_other_one_nowhere(
    large: StateBuilder,
) -> None:
    """It is refused as ever: what the other process meets is not for it to say."""
    outside = large.root / "outside.jsonl"
    large.history.rename(outside)
    large.history.symlink_to(outside)
    refused = counted(large)
    assert refused.exit == 4
    assert "symbolic link" in refused.err
    assert outside.exists()
    assert not (large.projects / encoded_name(str(large.code / "new-app"))).exists()


@pytest.mark.parametrize("words", [(), ("move",)], ids=["ahead", "control"])
@pytest.mark.parametrize("how", GROWN)
@pytest.mark.parametrize("links", [1, 2])
def test_the_hashes_are_those_of_the_history_before_and_after(
    large: StateBuilder, words: tuple[str, ...], how: str, links: int
) -> None:
    """With two links to the history the backup is a copy."""
    if links > 1:
        (large.root / "link").hardlink_to(large.history)
    before = large.history.read_bytes()
    moved = counted(large, *words, first=GROWN[how])
    assert (moved.exit, moved.err) == (0, f"forks: {0 if words else 1}")
    if GROWN[how]:
        before += before[: before.index(b"\n") + 1]
    backup, history = manifest(large)
    assert (backup / history["saved"]).read_bytes() == before
    assert history["before"]["sha256"] == sha256(backup / history["saved"])
    assert history["after"]["sha256"] == sha256(large.history)
    assert large.history.read_bytes() == before.replace(b"/my-app", b"/new-app")
    assert run_ccmove("restore", state=large).exit == 0
    assert large.history.read_bytes() == before
