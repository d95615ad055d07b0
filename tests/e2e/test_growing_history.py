"""A history that grows while it is moved: its backup and the hashes of it are whole."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.run import run_ccmove, run_child
from tests.support.state import StateBuilder

GROWING = """
import sys
from ccmove.cli.main import main
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
main(sys.argv[1:])
"""


@pytest.fixture
def large(state: StateBuilder) -> StateBuilder:
    """More than two megabytes of prompts."""
    old = state.code / "my-app"
    state.project(old, sessions=3, index=True)
    state.project(old / "web", sessions=1)
    block = state.history.read_bytes()
    state.history.write_bytes(block * (1 + (2 << 20) // len(block)))
    (state.code / "new-app").mkdir(parents=True)
    return state


def in_manifest(state: StateBuilder) -> tuple[Path, dict[str, Any]]:
    """The newest backup, and what it says about the history."""
    backup = max((state.config_dir / "ccmove" / "backups").iterdir())
    record = json.loads((backup / "manifest.json").read_bytes())
    return backup, next(file for file in record["files"] if file["place"] == "history")


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("step", [None, "begin", "save", "stage", "commit"])
@pytest.mark.parametrize("links", [1, 2])
def test_the_hashes_are_those_of_the_history_before_and_after(
    large: StateBuilder, step: str | None, links: int
) -> None:
    """With two links to the history the backup is a copy."""
    if links > 1:
        (large.root / "link").hardlink_to(large.history)
    before = large.history.read_bytes()
    words = ["my-app", "new-app"]
    if step is None:
        moved = run_ccmove(*words, state=large, cwd=large.code)
    else:
        script = GROWING.replace("STEP", step)
        moved = run_child([sys.executable, "-c", script, *words], state=large, cwd=large.code)
        before += before[: before.index(b"\n") + 1]
    assert (moved.exit, moved.err) == (0, "")
    backup, history = in_manifest(large)
    assert (backup / history["saved"]).read_bytes() == before
    assert history["before"]["sha256"] == sha256(backup / history["saved"])
    assert history["after"]["sha256"] == sha256(large.history)
    assert large.history.read_bytes() == before.replace(b"/my-app", b"/new-app")
    assert run_ccmove("restore", state=large).exit == 0
    assert large.history.read_bytes() == before
