"""Undoing, doing it again, pruning in between: nothing is lost, and no session changes
hands.
"""

import json
import os
import time
from pathlib import Path

import pytest

from tests.shapes.bench import Bench, directory_of
from tests.support import seams
from tests.support.state import ProjectHandle


@pytest.fixture
def merging(bench: Bench) -> tuple[str, str]:
    """OLD and NEW both have notes, which are merged, and one of each name that differs."""
    for name, text in (("old", "of old"), ("new", "of new")):
        memory = {"MEMORY.md": f"- {text}\n", "plan.md": f"{text}\n"}
        bench.state.project(name, sessions=1, index=True, memory=memory)
    (bench.state.code / "new").mkdir()
    return str(bench.state.code / "old"), str(bench.state.code / "new")


@pytest.mark.parametrize("by_its_id", [False, True])
def test_what_was_done_again_is_undone_with_all_that_was_set_aside(
    bench: Bench, merging: tuple[str, str], by_its_id: bool
) -> None:
    before = bench.tree()
    moved = bench.ok(*merging)
    bench.restore(bench.restore()["backup"])
    bench.restore(*([moved["backup"]] if by_its_id else []))
    bench.expect(before)
    bench.ok("backups", "--prune", "--keep", "1")
    bench.expect(before)


@pytest.mark.parametrize("keep", ["0", "1"])
def test_a_move_that_was_undone_is_no_evidence_when_it_is_pruned_either(
    bench: Bench, keep: str
) -> None:
    """Of two paths with one directory the one whose folder is gone had come along."""
    state = bench.state
    mine, other = (state.project(name, sessions=1) for name in ("my_app", "my-app"))
    for name in ("web", "api"):
        (state.code / name).mkdir()
    moved = bench.ok(mine.path, state.code / "web")
    assert any(
        f"the sessions of {other.path}, " in warning for warning in moved["warnings"]
    )
    bench.restore()
    bench.ok("backups", "--prune", "--keep", keep)
    Path(mine.path).mkdir()
    bench.ok(other.path, state.code / "api")
    there = directory_of(state, state.code / "api")
    assert [file.stem for file in there.glob("*.jsonl")] == other.sessions


def test_an_undo_stays_as_long_as_what_it_has_undone(
    bench: Bench, merging: tuple[str, str]
) -> None:
    moved = bench.ok(*merging)["backup"]
    undo = bench.restore()["backup"]
    assert f"only together with {moved}" in json.dumps(
        bench.ok("backups", "--prune", undo)
    )
    assert bench.run("restore").exit == 3
    bench.ok("backups", "--prune", undo, moved)
    assert seams.backup_ids(bench.state) == []


@pytest.fixture
def unlisted(bench: Bench) -> ProjectHandle:
    """A project without a config entry, index or prompts when it is moved."""
    (bench.state.code / "new").mkdir()
    return bench.state.project("old", sessions=1, prompts=0, config=None)


def test_trust_given_at_a_new_path_since_goes_back(
    bench: Bench, unlisted: ProjectHandle
) -> None:
    new = bench.state.code / "new"
    bench.ok(unlisted.path, new)
    bench.state.project("new", sessions=0, prompts=0)
    entry = bench.state.config()["projects"][str(new)]
    bench.restore()
    projects = bench.state.config()["projects"]
    assert projects[unlisted.path] == entry
    assert str(new) not in projects


@pytest.mark.parametrize("merged", [False, True])
def test_an_index_made_at_the_new_path_since_is_true_after_an_undo(
    bench: Bench, unlisted: ProjectHandle, merged: bool
) -> None:
    state, new = bench.state, bench.state.code / "new"
    if merged:
        state.add_session(new)
    bench.ok(unlisted.path, new)
    sessions = [file.stem for file in directory_of(state, new).glob("*.jsonl")]
    index = state.project("new", sessions=0, prompts=0, config=None, index=True).index
    listed = json.loads(index.read_bytes())
    listed["entries"] = [
        {
            "sessionId": session,
            "projectPath": str(new),
            "fullPath": f"{index.parent}/{session}.jsonl",
        }
        for session in sessions
    ]
    index.write_text(json.dumps(listed))
    os.utime(index, (time.time() + 60,) * 2)
    bench.restore()
    assert bench.run("verify").exit == 0


def test_a_redo_adds_the_lines_that_the_other_note_lacks_by_now(bench: Bench) -> None:
    memory = {"MEMORY.md": "- shared\n- of one\n"}
    old, new = (
        bench.state.project(n, sessions=1, memory=memory) for n in ("old", "new")
    )
    Path(new.path).mkdir()
    bench.ok(old.path, new.path)
    undone = bench.restore()["backup"]
    (new.memory / "MEMORY.md").write_text("- of new\n")
    bench.ok("restore", undone)
    assert (new.memory / "MEMORY.md").read_text() == "- of new\n- shared\n- of one\n"


def test_a_move_whose_undo_can_not_be_read_is_undone_by_what_did_it_again(
    bench: Bench, merging: tuple[str, str]
) -> None:
    moved = bench.ok(*merging)["backup"]
    undone = bench.restore()["backup"]
    again = bench.restore(undone)["backup"]
    seams.manifest(bench.state, undone).write_text("{")
    assert again in bench.refused("restore", moved)["hint"]
    bench.ok("restore", again)


def test_after_pruning_what_was_done_again_is_still_the_newest(
    bench: Bench, merging: tuple[str, str]
) -> None:
    bench.state.project("a", sessions=1)
    (bench.state.code / "b").mkdir()
    bench.ok(bench.state.code / "a", bench.state.code / "b")
    before = bench.tree()
    moved = bench.ok(*merging)["backup"]
    bench.restore(bench.restore()["backup"])
    bench.ok("backups", "--prune", moved)
    bench.restore()
    bench.expect(before)


def test_a_config_file_that_became_a_link_since_is_restored(
    bench: Bench, unlisted: ProjectHandle
) -> None:
    state, other = bench.state, bench.state.project("other")
    (state.code / "moved").mkdir()
    config = state.config_file.read_bytes()
    bench.ok(other.path, state.code / "moved")
    state.config_file.rename(state.home / "dotfile.json")
    state.config_file.symlink_to(state.home / "dotfile.json")
    bench.restore()
    assert state.config_file.is_symlink()
    assert state.config_file.read_bytes() == config
