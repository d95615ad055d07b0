"""An unpack, and somebody who makes files at the same moment."""

import json
from pathlib import Path

import pytest

from tests.crash.fork import Job
from tests.support.packed import handle_at, packed, written
from tests.support.state import StateBuilder
from tests.support.tree import diff, snapshot

THEIRS = "- of somebody else\n"


@pytest.fixture
def machine(tmp_path: Path) -> StateBuilder:
    """With a session at NEW, and an archive that brings two more and notes."""
    there = StateBuilder(tmp_path / "there")
    there.project("app", memory={"notes.md": "long\n"})
    here = StateBuilder(tmp_path / "here")
    (here.code / "x").mkdir()
    here.add_session("x", session_id="11111111-2222-4333-8444-555555555555")
    written(here, "app.tar.gz", packed(there, "app"))
    return here


def unpacking(here: StateBuilder, *hook: object) -> Job:
    words = ["unpack", str(here.root / "app.tar.gz"), str(here.code / "x")]
    return Job(here, words, hook=list(map(str, hook)))


def renames(here: StateBuilder, tmp_path: Path) -> list[int]:
    """The numbers of the calls of an unpack that rename, told by one that is undone."""
    record = tmp_path / "calls"
    assert unpacking(here, "note", record).run().exit == 0
    assert Job(here, ["undo"]).run().exit == 0
    calls = [json.loads(line) for line in record.read_text().splitlines()]
    return [number for number, (name, *_) in enumerate(calls, 1) if "dlsym" in name]


def test_what_appears_where_a_file_comes_in_stays_and_nothing_else_is_changed(
    machine: StateBuilder, tmp_path: Path
) -> None:
    notes = handle_at(machine, "x").memory / "notes.md"
    endings = set()
    for number in renames(machine, tmp_path):
        before = snapshot(machine.home)
        done = unpacking(machine, "appear", number, notes, THEIRS).run()
        endings.add(done.exit)
        if done.exit:
            assert done.exit == 1, done
            assert done.err.startswith("ccmove: the state changed meanwhile: ")
            assert "everything is as it was; try again" in done.err
            assert "incoming" not in done.err
            notes.unlink()
            notes.parent.rmdir()
            changes = diff(before, snapshot(machine.home))
            assert [line for line in changes if "/.claude/ccmove" not in line] == []
            assert not (machine.config_dir / "ccmove" / "run").exists()
        else:
            assert Job(machine, ["undo"]).run().exit == 0
    assert endings == {0, 1}
