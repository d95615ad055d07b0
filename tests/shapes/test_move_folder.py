"""`--move-folder`: the folder itself is renamed in the same transaction."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash import places
from tests.inspect.conftest import git, make_repo
from tests.shapes.bench import Bench, Expected
from tests.support.oddlines import stringify
from tests.support.state import ProjectHandle, StateBuilder


@pytest.fixture
def old(state: StateBuilder) -> ProjectHandle:
    handle = state.project("old", sessions=1, index=True, make_folder=True)
    (Path(handle.path) / "src").mkdir()
    (Path(handle.path) / "src" / "main.py").write_text("print()\n")
    return handle


def with_folder(bench: Bench, old: ProjectHandle, new: Path) -> Expected:
    expected = Expected(bench)
    expected.move(bench.state, old.path, new)
    expected.rename(old.path, new)
    return expected


def test_the_folder_goes_with_the_state(bench: Bench, old: ProjectHandle) -> None:
    new = bench.state.code / "new"
    inode = os.stat(old.path).st_ino
    bench.cycle(with_folder(bench, old, new), "--move-folder", old.path, new)
    assert os.stat(old.path).st_ino == inode


def test_its_settings_are_rewritten_on_the_way(
    bench: Bench, old: ProjectHandle
) -> None:
    new = bench.state.code / "elsewhere" / "new"
    new.parent.mkdir()
    settings = Path(old.path) / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_bytes(stringify({"env": {"ROOT": old.path}}, 2))
    expected = with_folder(bench, old, new)
    expected.replace(new / ".claude" / "settings.json", (old.path, str(new)))
    bench.cycle(expected, "-m", "--settings", old.path, new)


def test_a_folder_on_another_file_system_is_refused(
    bench: Bench, old: ProjectHandle
) -> None:
    with places.on_disk() as other:
        if Path(other).stat().st_dev == bench.state.code.stat().st_dev:
            pytest.skip("there is only one file system to write to here")
        report = bench.refused("-m", old.path, Path(other) / "new")
        assert "a different file system" in report["error"]
        assert os.listdir(other) == []


def test_a_failure_later_puts_the_folder_back(bench: Bench, old: ProjectHandle) -> None:
    """The second folder can't be renamed, so the first one must come back."""
    state = bench.state
    other = state.project("locked/other", sessions=1, make_folder=True)
    locked = state.code / "locked"
    if sys.platform == "win32" or os.geteuid() == 0:
        immutable = subprocess.run(["chattr", "+i", locked], capture_output=True)
        if immutable.returncode:
            pytest.skip("root can rename everything here")
    else:
        locked.chmod(0o500)
    before = bench.tree()
    try:
        lines = f"{old.path}\t{state.code}/new\n{other.path}\t{state.code}/new2\n"
        done = bench.run("--json", "-m", "--from-file", "-", input=lines)
    finally:
        subprocess.run(["chattr", "-i", locked], capture_output=True)
        locked.chmod(0o755)
    assert done.exit in (1, 4), done.out
    bench.expect(before)
    assert not (state.config_dir / "ccmove" / "run").exists()


def test_folders_can_be_swapped(
    bench: Bench, old: ProjectHandle, state: StateBuilder
) -> None:
    other = state.project("other", sessions=1, index=True, make_folder=True)
    (Path(other.path) / "README").write_text("the other one\n")
    lines = f"{old.path}\t{other.path}\n{other.path}\t{old.path}\n"
    with bench.moved("-m", "--from-file", "-", input=lines):
        assert (Path(old.path) / "README").exists()
        assert (Path(other.path) / "src" / "main.py").exists()
        assert sorted(os.listdir(state.code)) == ["old", "other"]


def test_folders_can_move_in_a_chain_and_one_out_of_another(
    bench: Bench, old: ProjectHandle, state: StateBuilder
) -> None:
    inner = state.project("old/inner", sessions=1, make_folder=True)
    next_one = state.project("next", sessions=1, make_folder=True)
    moves = [(old.path, next_one.path), (next_one.path, "last"), (inner.path, "inner")]
    lines = "".join(f"{one}\t{state.code / other}\n" for one, other in moves)
    with bench.moved("-m", "--from-file", "-", input=lines):
        assert sorted(os.listdir(state.code)) == ["inner", "last", "next"]
        assert (state.code / "next" / "src").is_dir()


def test_restoring_is_refused_when_the_old_folder_is_back(
    bench: Bench, old: ProjectHandle
) -> None:
    bench.ok("-m", old.path, bench.state.code / "new")
    Path(old.path).mkdir()
    assert old.path in bench.refused("restore")["error"]


def repository(folder: str) -> list[Path]:
    """A repository with a worktree of Claude Code's inside it and one beside it."""
    make_repo(Path(folder), commit=True)
    inside = Path(folder) / ".claude" / "worktrees" / "fix"
    beside = Path(folder).parent / "beside"
    for path in (inside, beside):
        git(Path(folder), "worktree", "add", "-q", str(path))
    return [inside, beside]


def test_worktrees_are_repaired_with_the_folder(
    bench: Bench, old: ProjectHandle
) -> None:
    repository(old.path)
    new = bench.state.code / "new"
    assert bench.ok("-m", old.path, new)["warnings"] == []
    for path in (
        new,
        new / ".claude" / "worktrees" / "fix",
        bench.state.code / "beside",
    ):
        git(path, "status", "--short")
    bench.restore()
    for path in (
        old.path,
        f"{old.path}/.claude/worktrees/fix",
        bench.state.code / "beside",
    ):
        git(path, "status", "--short")


def test_worktrees_to_repair_are_named_if_moved_by_hand(
    bench: Bench, old: ProjectHandle
) -> None:
    repository(old.path)
    new = bench.state.code / "new"
    os.rename(old.path, new)
    moved = bench.ok(old.path, new)
    (hint,) = [
        row["hint"] for row in moved["left_alone"] if row["hint"].startswith("git ")
    ]
    assert hint == f"git -C {new} worktree repair {new}/.claude/worktrees/fix"
    git(new, *hint.split()[3:])
    for path in (
        new,
        new / ".claude" / "worktrees" / "fix",
        bench.state.code / "beside",
    ):
        git(path, "status", "--short")


def test_a_worktree_that_was_moved_itself_is_named(
    bench: Bench, old: ProjectHandle
) -> None:
    state = bench.state
    _, beside = repository(old.path)
    state.project(beside, sessions=1)
    new = state.code / "beside-2"
    os.rename(beside, new)
    moved = bench.ok(beside, new)
    (hint,) = [
        row["hint"] for row in moved["left_alone"] if row["hint"].startswith("git ")
    ]
    assert hint == f"git -C {old.path} worktree repair {new}"
    git(old.path, "worktree", "repair", str(new))
    assert str(new) in git(old.path, "worktree", "list")


def test_a_parent_with_a_repository_and_its_worktrees_is_repaired(bench: Bench) -> None:
    state = bench.state
    handle = state.project("code/app", sessions=1, make_folder=True)
    _, beside = repository(handle.path)
    state.project(beside, sessions=1)
    before = git(handle.path, "worktree", "list")
    bench.ok("-m", state.code / "code", state.code / "src")
    folders = [state.code / "src" / name for name in ("app", "beside")]
    folders.append(folders[0] / ".claude" / "worktrees" / "fix")
    for folder in folders:
        git(folder, "status", "--short")
    bench.restore()
    assert git(handle.path, "worktree", "list") == before


def test_a_worktree_that_is_moved_with_its_folder_is_repaired(
    bench: Bench, old: ProjectHandle, state: StateBuilder
) -> None:
    _, beside = repository(old.path)
    state.project(beside, sessions=1)
    before = git(old.path, "worktree", "list")
    bench.ok("-m", beside, state.code / "apart")
    assert str(state.code / "apart") in git(old.path, "worktree", "list")
    bench.restore()
    assert git(old.path, "worktree", "list") == before
