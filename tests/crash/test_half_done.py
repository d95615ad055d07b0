"""A run that dies between two of its replacements, and a client that goes on before the recovery.

In a swap every path is both an old and a new one: whatever is taken back that was never done
comes out exchanged.
"""

from __future__ import annotations

import json
import os
import sys

import pytest

from tests.support import tree
from tests.support.run import Completed, run_ccmove, run_child
from tests.support.state import StateBuilder

pytestmark = pytest.mark.crash

DYING = """
import errno, os, sys
from ccmove.run import disk as files
from ccmove.run import transaction
from ccmove.cli.main import main
left = [int(sys.argv[1])]
replace, change = files.replace, transaction.Run.change
def and_die(staged, target):
    if not left[0]:
        os._exit(9)
    left[0] -= 1
    replace(staged, target)
def with_care(self):
    files.replace = and_die
    change(self)
transaction.Run.change = with_care
if sys.argv[2] == "copies":
    def link(*args, **named):
        raise OSError(errno.EPERM, "no links here")
    os.link = link
main(sys.argv[3:])
"""
FILES = 4  # that the swap replaces: two indexes, the config file, the history


@pytest.fixture
def swapped(state: StateBuilder) -> StateBuilder:
    for name in ("one", "two"):
        state.project(name, sessions=1, index=True, prompts=2, make_folder=True)
    moves = [("one", "two"), ("two", "one")]
    lines = "".join(f"{state.code / old}\t{state.code / new}\n" for old, new in moves)
    (state.root / "moves").write_text(lines)
    return state


def swap(state: StateBuilder, number: int, backups: str) -> Completed:
    """A run that dies after so many replacements."""
    words = [str(number), backups, "--skip-path-check", "--from-file", str(state.root / "moves")]
    return run_child([sys.executable, "-c", DYING, *words], state=state)


def die(state: StateBuilder, number: int, backups: str) -> None:
    assert swap(state, number, backups).exit == 9


def rewrite_config(state: StateBuilder) -> None:
    """As the client does it."""
    config = json.loads(state.config_file.read_text())
    config["numStartups"] = 17
    fresh = state.config_file.with_name(".claude.json.tmp.1.ab")
    fresh.write_text(json.dumps(config, indent=2))
    fresh.chmod(0o600)
    fresh.rename(state.config_file)


def add_prompt(state: StateBuilder) -> None:
    with state.history.open("ab") as history:
        history.write(b'{"display":"late","project":"%b"}\n' % os.fsencode(state.code / "third"))


@pytest.mark.parametrize("backups", ["links", "copies"])
@pytest.mark.parametrize("number", range(FILES))
def test_what_was_not_replaced_yet_is_not_taken_back(
    number: int, backups: str, swapped: StateBuilder
) -> None:
    before = tree.snapshot(swapped.home)
    die(swapped, number, backups)
    assert run_ccmove("recover", state=swapped).exit == 0
    assert tree.diff(before, tree.snapshot(swapped.home), ignore=[".claude/ccmove"]) == []


@pytest.mark.parametrize("backups", ["links", "copies"])
@pytest.mark.parametrize("number", range(FILES))
def test_nor_when_what_was_staged_is_gone(number: int, backups: str, swapped: StateBuilder) -> None:
    """As when a recovery has swept up and was killed before it was done."""
    before = tree.snapshot(swapped.home)
    die(swapped, number, backups)
    staged = list(swapped.home.rglob(".ccmove-*"))
    assert len(staged) == FILES - number
    for path in staged:
        path.unlink()
    assert run_ccmove("recover", state=swapped).exit == 0
    assert tree.diff(before, tree.snapshot(swapped.home), ignore=[".claude/ccmove"]) == []


@pytest.mark.parametrize("backups", ["links", "copies"])
@pytest.mark.parametrize("number", range(FILES))
def test_what_the_client_wrote_before_the_recovery_stays(
    number: int, backups: str, swapped: StateBuilder
) -> None:
    projects = json.loads(swapped.config_file.read_text())["projects"]
    prompts = swapped.history.read_bytes()
    die(swapped, number, backups)
    rewrite_config(swapped)
    add_prompt(swapped)
    added = swapped.history.read_bytes()[len(prompts) :]
    assert run_ccmove("recover", state=swapped).exit == 0
    config = json.loads(swapped.config_file.read_text())
    assert config["projects"] == projects
    assert config["numStartups"] == 17
    assert swapped.history.read_bytes() == prompts + added


@pytest.mark.parametrize("backups", ["links", "copies"])
def test_control_so_many_files_are_replaced(backups: str, swapped: StateBuilder) -> None:
    """And their backups are what they are said to be."""
    replaced = [swapped.history, swapped.config_file]
    replaced += swapped.projects.glob("*/sessions-index.json")
    before = {path.stat().st_ino for path in replaced}
    done = swap(swapped, FILES, backups)
    assert (done.exit, done.err) == (0, "")
    files = (swapped.config_dir / "ccmove" / "backups").glob("*/files/[0-9]")
    saved = {path.stat().st_ino for path in files}
    assert len(saved) == len(before) == FILES
    assert saved == before if backups == "links" else not saved & before


def test_a_late_prompt_keeps_its_time_when_the_run_is_taken_back(state: StateBuilder) -> None:
    """Also where the backup is a copy, to which the prompt was added."""
    old, new = state.project("my-app", prompts=3).path, state.code / "new-app"
    new.mkdir(parents=True)
    (state.root / "second-name").hardlink_to(state.history)
    script = """
import os, sys
from ccmove.run import transaction
from ccmove.cli.main import main
save = transaction.Run.save
def and_a_prompt_comes(self):
    save(self)
    with open(self.layout.history, "ab") as history:
        history.write(b"{}\\n")
    os.utime(self.layout.history, ns=(10**18, 10**18))
def fail(self, *_):
    raise OSError(5, "boom")
transaction.Run.save, transaction.Run.verify = and_a_prompt_comes, fail
main(sys.argv[1:])
"""
    before = state.history.read_bytes()
    failed = run_child([sys.executable, "-c", script, old, str(new)], state=state)
    assert failed.exit == 1, failed
    assert state.history.read_bytes() == before + b"{}\n"
    assert state.history.stat().st_mtime_ns == 10**18
