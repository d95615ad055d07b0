"""The target exists: someone started Claude Code in the new folder before running
ccmove.
"""

from pathlib import Path

import pytest

from tests.shapes.bench import Bench, Expected, directory_of
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
    """Two projects: the one that was renamed, and the one that the client started
    afterwards.
    """
    old = state.project("old", index=True, memory=OLD_MEMORY)
    new = state.project(
        "new", sessions=1, index=True, memory=NEW_MEMORY, make_folder=True
    )
    return old, new


def test_everything_is_merged_and_taken_apart_again(
    bench: Bench, pair: tuple[ProjectHandle, ProjectHandle]
) -> None:
    old, new = pair
    expected = Expected(bench)
    expected.bring_sessions(old, new)
    expected.join_lists(bench.state, (old.path, new.path))
    expected.write(
        new.memory / "MEMORY.md", b"# Notes\n- shared\n- run make\n- tabs, not spaces\n"
    )
    expected.rename(old.memory / "only-old.md", new.memory / "only-old.md")
    expected.remove(old.directory)
    moved = bench.cycle(expected, old.path, new.path)
    assert [p["kind"] for p in moved["projects"]] == ["merge"]
    assert moved["counts"]["transcripts"] == 2


def test_a_target_that_is_an_empty_directory_is_merged(
    bench: Bench, state: StateBuilder
) -> None:
    old = state.project("old", index=True)
    (state.code / "new").mkdir()
    directory_of(state, state.code / "new").mkdir(mode=0o700)
    expected = Expected(bench)
    expected.remove(directory_of(state, state.code / "new"))
    expected.move(state, old.path, state.code / "new")
    bench.cycle(expected, old.path, state.code / "new")


def test_a_target_without_index_memory_or_config_gets_the_old_ones(
    bench: Bench,
) -> None:
    state = bench.state
    old = state.project("old", index=True, memory=OLD_MEMORY)
    new = state.project("new", sessions=1, prompts=0, config=None, make_folder=True)
    expected = Expected(bench)
    for path in old.directory.iterdir():
        expected.rename(path, new.directory / path.name)
    expected.remove(old.directory)
    expected.rewrite_index(new.index, (old.path, new.path), (old.name, new.name))
    expected.rewrite_lists(state, (old.path, new.path))
    bench.cycle(expected, old.path, new.path)


def twins(state: StateBuilder) -> tuple[ProjectHandle, ProjectHandle, str]:
    """Both sides have a session of one id with different bytes."""
    old = state.project("old", sessions=1, index=True, subagents=False)
    session = old.sessions[0]
    new = state.project("new", sessions=0, prompts=1, make_folder=True)
    state.add_session("new", session_id=session, text="another conversation")
    return old, new, session


def test_a_session_that_went_on_in_two_files_is_refused_with_a_list(
    bench: Bench,
) -> None:
    old, new, session = twins(bench.state)
    report = bench.refused(old.path, new.path)
    assert report["status"] == "refused"
    (line,) = report["details"]
    assert str(old.directory / f"{session}.jsonl") in line
    assert str(new.directory / f"{session}.jsonl") in line
    assert f"ccmove doctor {session}" in report["hint"]


def test_identical_files_are_not_a_conflict(bench: Bench, state: StateBuilder) -> None:
    old = state.project("old", sessions=1, subagents=False)
    new = state.project(
        "new", sessions=1, subagents=False, config=None, make_folder=True
    )
    copy = new.directory / f"{old.sessions[0]}.jsonl"
    copy.write_bytes(old.transcripts[0].read_bytes())
    copy.chmod(0o600)
    expected = Expected(bench)
    expected.remove(old.directory)
    expected.rewrite_lists(state, (old.path, new.path))
    bench.cycle(expected, old.path, new.path)


def test_a_session_folder_on_both_sides_is_merged(
    bench: Bench, state: StateBuilder
) -> None:
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
    for name in (
        before.keys() | after.keys()
    ):  # a session's folder that was emptied is a new one
        was, now = before[name], after[name]
        assert (now.kind, now.mode, now.sha256) == (was.kind, was.mode, was.sha256)
        assert (
            now.inode == was.inode or was.kind == "directory" or "projects" not in name
        )


def test_two_olds_can_merge_into_one_new(bench: Bench, state: StateBuilder) -> None:
    one = state.project("one", sessions=1, index=True, memory={"MEMORY.md": "- one\n"})
    two = state.project("two", sessions=1, index=True, memory={"MEMORY.md": "- two\n"})
    new = state.project("new", sessions=1, index=True, memory={"MEMORY.md": "- new\n"})
    Path(new.path).mkdir()
    expected = Expected(bench)
    for old in (one, two):
        expected.bring_sessions(old, new)
        expected.remove(old.directory)
    expected.write(new.memory / "MEMORY.md", b"- new\n- one\n- two\n")
    expected.join_lists(state, (one.path, new.path), (two.path, new.path))
    lines = f"{one.path}\t{new.path}\n{two.path}\t{new.path}\n"
    bench.cycle(expected, "--from-file", "-", input=lines)


def test_a_file_in_place_of_a_project_directory_is_refused(bench: Bench) -> None:
    old = bench.state.project("old")
    (bench.state.code / "new").mkdir()
    directory_of(bench.state, bench.state.code / "new").write_text("a file")
    report = bench.refused(old.path, bench.state.code / "new")
    assert "is not a directory" in report["error"]
