"""Undoing, doing it again, pruning in between: nothing is lost, and no session changes
hands.
"""

import json
import os
import shlex
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


def test_what_was_moved_again_is_undone_to_the_same_tree(
    bench: Bench, merging: tuple[str, str]
) -> None:
    before = bench.tree()
    for _ in range(2):
        bench.ok(*merging)
        bench.restore()
        bench.expect(before)
    bench.ok("prune", "--keep", "1")
    bench.expect(before)


@pytest.fixture
def two_moves(bench: Bench) -> tuple[str, str]:
    """The IDs of two moves that have nothing to do with each other."""
    for old, new in (("a", "b"), ("c", "d")):
        bench.state.project(old, sessions=1)
        bench.folder(new)
        bench.ok("--only", bench.state.code / old, bench.state.code / new)
    first, second = seams.backup_ids(bench.state)
    return first, second


def test_a_repeated_undo_does_not_walk_back_through_other_projects(
    bench: Bench, two_moves: tuple[str, str]
) -> None:
    first, second = two_moves
    undo = bench.restore()["backup"]
    code = bench.state.code
    for words in ([], [undo], [undo[-4:]], [second]):
        report = bench.refused("undo", *words, code=3)
        again = f"to move again: ccmove --only {code / 'c'} {code / 'd'}"
        assert again in report["hint"].splitlines()
        assert (f"ccmove undo {first}" in report["hint"]) == (words == [])
    bench.ok("--only", code / "c", code / "d")
    bench.restore()
    bench.restore(first)


@pytest.mark.parametrize("undone", [False, True])
def test_where_the_newest_run_was_pruned_an_older_one_needs_its_id(
    bench: Bench, two_moves: tuple[str, str], undone: bool
) -> None:
    first, second = two_moves
    if undone:
        bench.restore()
    bench.ok("prune", second)
    assert seams.backup_ids(bench.state) == [first]
    report = bench.refused("undo", code=3)
    assert f"ccmove undo {first}" in report["hint"]
    bench.restore(first)


def test_a_new_id_sorts_after_every_pruned_one(
    bench: Bench, two_moves: tuple[str, str]
) -> None:
    """A clock that was ahead for one run: the ledger goes by the order of IDs."""
    _, second = two_moves
    ahead = f"2999{second[4:]}"
    record = seams.manifest(bench.state, second)
    record.parent.rename(record.parent.with_name(ahead))
    bench.ok("prune", ahead)
    kept = json.loads(seams.ledger(bench.state).read_bytes())
    assert ahead in json.dumps(kept)
    bench.folder("e")
    code = bench.state.code
    later = bench.ok("--skip-path-check", code / "d", code / "e")["backup"]
    assert later > ahead


def test_an_id_may_be_shortened_to_any_unique_part(
    bench: Bench, two_moves: tuple[str, str]
) -> None:
    first, second = two_moves
    shared = "Z-"  # every ID has that
    for command in ("undo", "show", "backups", "prune"):
        report = bench.refused(command, shared, code=2)
        assert report["details"] == [first, second]
        assert bench.refused(command, "", code=2)["error"].startswith("ID is empty")
    assert bench.ok("show", second[-4:])["backup"] == second
    assert [row["id"] for row in bench.ok("backups", first[-4:])["backups"]] == [first]
    shown = bench.run("show", first[-4:]).out.splitlines()[-1]
    assert shown == f"Done and verified. To undo: ccmove undo {first}"
    bench.restore(second[-4:])
    assert bench.ok("prune", "-n", first[-4:])["removed"] == [first]


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
    bench.ok("prune", "--keep", keep)
    Path(mine.path).mkdir()
    bench.ok(other.path, state.code / "api")
    there = directory_of(state, state.code / "api")
    assert [file.stem for file in there.glob("*.jsonl")] == other.sessions


@pytest.mark.parametrize("named", ["the move", "its undo"])
def test_a_move_that_was_undone_is_pruned_with_its_undo(
    bench: Bench, merging: tuple[str, str], named: str
) -> None:
    moved = bench.ok(*merging)["backup"]
    undo = bench.restore()["backup"]
    kept = bench.ok("prune", "-n", "--keep", "1")
    assert kept["why"][moved] == f"it goes only together with {undo}"
    bench.ok("prune", moved if named == "the move" else undo)
    assert seams.backup_ids(bench.state) == []
    assert bench.run("undo").exit == 3


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


def test_a_list_is_moved_again_by_the_command_that_an_undo_names(bench: Bench) -> None:
    state = bench.state
    for name in ("one", "two"):
        state.project(name, sessions=1)
        bench.folder(f"new-{name}")
    pairs = [(state.code / name, state.code / f"new-{name}") for name in ("one", "two")]
    lines = "".join(f"{old}\t{new}\n" for old, new in pairs)
    bench.ok("--from-file", "-", input=lines)
    after = bench.tree()
    undone = bench.run("undo")
    command = undone.out.rpartition("To move again: ccmove ")[2].strip()
    assert command.startswith("--from-file "), undone
    bench.ok(*shlex.split(command))
    bench.expect(after)
