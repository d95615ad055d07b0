"""A history that grows while it is moved: its backup and the hashes of it are whole."""

import hashlib
import json
import os
import sys

import pytest

from tests.support import seams
from tests.support.run import run_ccmove, run_child
from tests.support.state import StateBuilder

pytestmark = pytest.mark.slow

GROWING = f"""{seams.PROLOGUE}
step = Work.STEP
grown = []
def and_a_prompt_comes(self):
    step(self)
    if not grown:
        grown.append(True)
        with open(self.layout.history, "r+b") as history:
            line = history.readline()
            history.seek(0, 2)
            history.write(line)
Work.STEP = and_a_prompt_comes
if os.environ.get("NO_LINKS"):
    def link(*args, **named):
        raise OSError(errno.EPERM, "no links here")
    os.link = link
main(sys.argv[1:])
"""
STEPS = ("begin", "stage", "commit")


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


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("links", [True, False])
def test_the_hashes_are_those_of_the_histories(
    large: StateBuilder, step: str, links: bool
) -> None:
    """Without hard links it is saved as a copy."""
    before = large.history.read_bytes()
    script = GROWING.replace("STEP", step)
    env = {} if links else {"NO_LINKS": "1"}
    command = [sys.executable, "-c", script, "my-app", "new-app"]
    moved = run_child(command, state=large, cwd=large.code, env=env)
    before += before[: before.index(b"\n") + 1]
    assert (moved.exit, moved.err) == (0, "")
    (run,) = seams.backup_ids(large)
    record = json.loads(seams.manifest(large, run).read_bytes())
    (history,) = seams.operations(record, "WroteHistory")
    after = large.history.read_bytes()
    sep = os.sep.encode()
    assert after == before.replace(sep + b"my-app", sep + b"new-app")
    for name, text in (("before", before), ("after", after)):
        noted = (history[name]["sha256"], history[name]["size"])
        assert noted == (hashlib.sha256(text).hexdigest(), len(text))
    kept = [path.name for path in (seams.backups(large) / run / "files").iterdir()]
    assert (
        f"{history['number']}.before" not in kept
    )  # only what changed is kept for good
    assert run_ccmove("restore", state=large).exit == 0
    assert large.history.read_bytes() == before
