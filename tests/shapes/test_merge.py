"""The target exists: someone started Claude Code in the new folder before running ccmove."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.shapes.bench import Bench, Expected, directory_of, files_of, inside
from tests.support.oddlines import stringify
from tests.support.state import ProjectHandle, StateBuilder

OLD_MEMORY = {
    "MEMORY.md": "# Notes\n- tabs, not spaces\n- shared\n",
    "only-old.md": "old\n",
    "same.md": "same\n",
}
NEW_MEMORY = {
    "MEMORY.md": "# Notes\n- shared\n- run make\n",
    "only-new.md": "new\n",
    "same.md": "same\n",
}


@pytest.fixture
def pair(state: StateBuilder) -> tuple[ProjectHandle, ProjectHandle]:
    """Two projects: the one that was renamed, and the one that the client started afterwards."""
    old = state.project("old", index=True, memory=OLD_MEMORY)
    new = state.project("new", sessions=1, index=True, memory=NEW_MEMORY, make_folder=True)
    return old, new


def merged(bench: Bench, old: ProjectHandle, new: ProjectHandle) -> Expected:
    """What all merges have in common: sessions, index and lists; memory is left to the test."""
    state, expected = bench.state, Expected(bench)
    for path in files_of(old.directory):
        expected.rename(path, new.directory / path.name)
    if old.index.exists():
        merge_index(expected, old, new)
    expected.replace(state.history, (f'"project":"{old.path}"', f'"project":"{new.path}"'))
    merge_config(expected, state, old, new)
    return expected


def merge_index(expected: Expected, old: ProjectHandle, new: ProjectHandle) -> None:
    """The old entries follow the new ones, in the same form."""
    coming = json.loads(old.index.read_text())["entries"]
    for entry in coming:
        entry["projectPath"] = new.path
        entry["fullPath"] = entry["fullPath"].replace(inside(old.name), inside(new.name))
    document = json.loads(new.index.read_text())
    document["entries"] += coming
    expected.write(new.index, stringify(document, 2))


def merge_config(
    expected: Expected, state: StateBuilder, old: ProjectHandle, new: ProjectHandle
) -> None:
    """Both entries are alike here, so that only the old one goes."""
    config = state.config()
    del config["projects"][old.path]
    expected.write(state.config_file, state.config_bytes(config))


def merge_memory(expected: Expected, old: ProjectHandle, new: ProjectHandle) -> None:
    memory = old.directory / "memory"
    expected.write(new.memory / "MEMORY.md", b"# Notes\n- shared\n- run make\n- tabs, not spaces\n")
    expected.rename(memory / "only-old.md", new.memory / "only-old.md")
    expected.remove(old.directory)


def test_everything_is_merged_and_taken_apart_again(
    bench: Bench, pair: tuple[ProjectHandle, ProjectHandle]
) -> None:
    old, new = pair
    expected = merged(bench, old, new)
    merge_memory(expected, old, new)
    moved = bench.cycle(expected, old.path, new.path)
    assert [p["kind"] for p in moved["projects"]] == ["merge"]
    assert moved["counts"]["transcripts"] == 2


def test_a_target_that_is_an_empty_directory_is_merged_into(bench: Bench) -> None:
    state = bench.state
    old = state.project("old", index=True)
    (state.code / "new").mkdir()
    directory_of(state, state.code / "new").mkdir(mode=0o700)
    expected = Expected(bench)
    expected.remove(directory_of(state, state.code / "new"))
    expected.move(state, old.path, state.code / "new")
    bench.cycle(expected, old.path, state.code / "new")


def test_a_target_without_index_memory_or_config_gets_the_old_ones(bench: Bench) -> None:
    state = bench.state
    old = state.project("old", index=True, memory=OLD_MEMORY)
    new = state.project("new", sessions=1, prompts=0, config=None, make_folder=True)
    expected = Expected(bench)
    for path in old.directory.iterdir():
        expected.rename(path, new.directory / path.name)
    expected.remove(old.directory)
    pairs = (
        (f'"{old.path}"', f'"{new.path}"'),
        (inside(old.name), inside(new.name)),
    )
    expected.replace(new.index, *pairs)
    expected.rewrite_lists(state, (old.path, new.path))
    bench.cycle(expected, old.path, new.path)


def twins(state: StateBuilder) -> tuple[ProjectHandle, ProjectHandle, str]:
    """Both sides have a session of one id with different bytes."""
    old = state.project("old", sessions=1, index=True, subagents=False)
    session = old.sessions[0]
    new = state.project("new", sessions=0, prompts=1, make_folder=True)
    state.add_session("new", session_id=session, text="another conversation")
    return old, new, session


def test_different_files_of_one_name_are_refused_with_a_list(bench: Bench) -> None:
    old, new, session = twins(bench.state)
    report = bench.refused(old.path, new.path)
    assert report["status"] == "refused"
    (line,) = report["details"]
    assert str(old.directory / f"{session}.jsonl") in line
    assert str(new.directory / f"{session}.jsonl") in line
    assert f"ccmove doctor {session}" in report["hint"]
    assert "--on-conflict" not in report["hint"]  # either choice would discard turns


@pytest.mark.parametrize("choice", ["keep-new", "keep-old"])
def test_what_loses_a_conflict_stays_in_the_backup(bench: Bench, choice: str) -> None:
    state = bench.state
    old, new, session = twins(state)
    name = f"{session}.jsonl"
    contents = [(handle.directory / name).read_bytes() for handle in (old, new)]
    expected = Expected(bench)
    if choice == "keep-old":
        expected.remove(new.directory / name)
        expected.rename(old.directory / name, new.directory / name)
    expected.rename(old.index, new.index)
    pairs = (
        (f'"{old.path}"', f'"{new.path}"'),
        (inside(old.name), inside(new.name)),
    )
    expected.replace(new.index, *pairs)
    expected.remove(old.directory)
    expected.replace(state.history, (f'"project":"{old.path}"', f'"project":"{new.path}"'))
    config = state.config()
    last = config["projects"].pop(old.path)["lastSessionId"]
    config["projects"][new.path]["lastSessionId"] = last
    expected.write(state.config_file, state.config_bytes(config))
    moved = bench.ok("--on-conflict", choice, old.path, new.path)
    loser = (old if choice == "keep-new" else new).directory / name
    assert any(w.startswith(f"{loser}: the other file") for w in moved["warnings"])
    bench.expect(expected)
    backup = state.config_dir / "ccmove" / "backups" / moved["backup"] / "aside"
    lost = [p.read_bytes() for p in backup.iterdir() if p.is_file()]
    assert lost == [contents[choice == "keep-old"]]


def test_a_conflict_that_was_decided_is_undone_as_well(bench: Bench) -> None:
    for choice in ("keep-new", "keep-old"):
        state = StateBuilder(bench.state.root / choice)
        inner = Bench(state)
        old, new, _ = twins(state)
        before = inner.tree()
        inner.ok("--on-conflict", choice, old.path, new.path)
        inner.ok("restore")
        inner.expect(before)


def test_identical_files_are_not_a_conflict(bench: Bench) -> None:
    state = bench.state
    old = state.project("old", sessions=1, subagents=False)
    new = state.project("new", sessions=1, subagents=False, config=None, make_folder=True)
    copy = new.directory / f"{old.sessions[0]}.jsonl"
    copy.write_bytes(old.transcripts[0].read_bytes())
    copy.chmod(0o600)
    expected = Expected(bench)
    expected.remove(old.directory)
    expected.rewrite_lists(state, (old.path, new.path))
    bench.cycle(expected, old.path, new.path)


def test_a_session_folder_on_both_sides_is_merged(bench: Bench) -> None:
    state = bench.state
    old = state.project("old", sessions=1)
    session = old.sessions[0]
    new = state.project("new", sessions=0, prompts=0, config=None, make_folder=True)
    other = new.directory / session / "tool-results" / "call_2.txt"
    other.parent.mkdir(parents=True, mode=0o700)
    other.write_text("more\n")
    before = bench.tree()
    bench.ok(old.path, new.path)
    found = sorted(p.name for p in (new.directory / session).rglob("*") if p.is_file())
    assert found[0].startswith("agent-")
    assert found[1:] == ["call_1.txt", "call_2.txt"]
    assert not old.directory.exists()
    bench.ok("restore")
    after = bench.tree()
    assert {k: (v.kind, v.mode, v.sha256) for k, v in before.items()} == {
        k: (v.kind, v.mode, v.sha256) for k, v in after.items()
    }
    names = [k for k, v in before.items() if v.kind == "file"]
    assert [after[k].inode for k in names if "projects" in k] == [
        before[k].inode for k in names if "projects" in k
    ]


def test_a_file_that_meets_a_directory_is_a_conflict(bench: Bench) -> None:
    state = bench.state
    old = state.project("old", sessions=1, memory={"notes": "a file\n"})
    new = state.project("new", sessions=1, memory={"notes/deep.md": "in a folder\n"})
    Path(new.path).mkdir()
    bench.refused(old.path, new.path)
    before = bench.tree()
    bench.ok("--on-conflict", "keep-old", old.path, new.path)
    assert (new.memory / "notes").read_text() == "a file\n"
    bench.ok("restore")
    bench.expect(before)


def test_two_olds_can_merge_into_one_new(bench: Bench) -> None:
    state = bench.state
    one = state.project("one", sessions=1, index=True, memory={"MEMORY.md": "- one\n"})
    two = state.project("two", sessions=1, index=True, memory={"MEMORY.md": "- two\n"})
    new = state.project("new", sessions=1, index=True, memory={"MEMORY.md": "- new\n"})
    Path(new.path).mkdir()
    expected = Expected(bench)
    document = json.loads(new.index.read_text())
    for old in (one, two):
        for path in files_of(old.directory):
            expected.rename(path, new.directory / path.name)
        (entry,) = json.loads(old.index.read_text())["entries"]
        entry["fullPath"] = entry["fullPath"].replace(inside(old.name), inside(new.name))
        document["entries"].append({**entry, "projectPath": new.path})
        expected.remove(old.directory)
    expected.write(new.index, stringify(document, 2))
    expected.write(new.memory / "MEMORY.md", b"- new\n- one\n- two\n")
    expected.rewrite_lists(state, (one.path, new.path), (two.path, new.path))
    config = state.config()
    del config["projects"][one.path], config["projects"][two.path]
    expected.write(state.config_file, state.config_bytes(config))
    lines = f"{one.path}\t{new.path}\n{two.path}\t{new.path}\n"
    bench.cycle(expected, "--from-file", "-", input=lines)


def test_an_index_that_is_not_an_index_is_a_conflict_of_its_own(bench: Bench) -> None:
    state = bench.state
    old = state.project("old", index=True)
    new = state.project("new", index=True, make_folder=True)
    new.index.write_text("{ not JSON")
    report = bench.refused(old.path, new.path)
    assert str(new.index) in report["details"][0]
    before = bench.tree()
    bench.ok("--on-conflict", "keep-new", old.path, new.path)
    assert new.index.read_text() == "{ not JSON"
    bench.ok("restore")
    bench.expect(before)
