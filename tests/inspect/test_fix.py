"""`ccmove doctor --fix`: what is chosen is mended in one run, and one restore takes it back."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from ccmove import files
from ccmove.commands.doctor import Search, only_sure
from ccmove.commands.doctor import fix as mend
from ccmove.errors import CcmoveError
from ccmove.findings import CommandLine
from ccmove.layout import Layout
from tests.inspect.conftest import Examine, make_repo
from tests.support.run import Completed, run_ccmove
from tests.support.state import StateBuilder, encoded_name
from tests.support.tree import diff, snapshot

OURS = (".claude/ccmove",)


def fix(state: StateBuilder, *options: str, answers: str = "") -> Completed:
    return run_ccmove("doctor", "--fix", *options, state=state, input=answers)


def moved_repo(state: StateBuilder, old: str, new: str) -> None:
    state.project(old, index=True, repo=f"acme/{old}")
    make_repo(state.code / new, f"acme/{old}")


def undone(state: StateBuilder) -> None:
    assert run_ccmove("restore", state=state).exit == 0


# -- one transaction -----------------------------------------------------------------------------


def test_yes_moves_every_project_whose_evidence_leaves_no_doubt(state: StateBuilder) -> None:
    for number in range(20):
        moved_repo(state, f"old-{number}", f"new-{number}")
    before = snapshot(state.home)
    done = fix(state, "--yes", "--json").json()
    assert len(done["fixed"]) == 20
    assert done["left"] == []
    for number in range(20):
        assert (state.projects / encoded_name(f"{state.code}/new-{number}")).is_dir()
    assert len(os.listdir(state.config_dir / "ccmove" / "backups")) == 1
    assert run_ccmove("doctor", state=state).exit == 0
    undone(state)
    assert diff(before, snapshot(state.home), ignore=OURS) == []


def test_every_kind_of_mend_and_a_move_are_undone_by_one_restore(
    state: StateBuilder, examine: Examine
) -> None:
    moved_repo(state, "old", "new")
    true = state.project("true", index=True, subagents=False, make_folder=True)
    true.transcripts[0].unlink()
    outer = state.project("outer", make_folder=True)
    state.add_session("inner", directory=outer.directory / "-gone-inner")
    one = state.project("one", make_folder=True)
    two = state.project("two", subagents=False, make_folder=True)
    shutil.copy2(one.transcripts[0], two.directory)
    (state.projects / "-left-over" / "memory").mkdir(parents=True)
    kinds = sorted(finding.kind for finding in examine())
    assert kinds == [
        "duplicate-session",
        "index",
        "leftover-directory",
        "nested-directory",
        "orphan",
    ]
    before = snapshot(state.home)
    done = fix(state, "--yes")
    assert done.exit == 0, done.err
    assert examine() == []
    assert len(os.listdir(state.config_dir / "ccmove" / "backups")) == 1
    undone(state)
    assert diff(before, snapshot(state.home), ignore=OURS) == []


@pytest.mark.parametrize("failing", range(1, 9))
def test_a_failure_at_any_rename_leaves_everything_as_it_was(
    state: StateBuilder, layout: Layout, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    moved_repo(state, "old", "new")
    outer = state.project("outer", make_folder=True)
    state.add_session("inner", directory=outer.directory / "-gone-inner")
    one = state.project("one", make_folder=True)
    two = state.project("two", make_folder=True)
    shutil.copy2(one.transcripts[0], two.directory)
    (state.projects / "-left-over").mkdir()
    before = snapshot(state.home)
    calls = 0
    real = files.rename_new

    def rename_new(source: Path, target: Path, *, flushed: bool = True) -> None:
        nonlocal calls
        calls += source.is_relative_to(state.projects)
        if calls == failing:
            calls += 100  # only once: taking back must not fail as well
            raise OSError(errno.EIO, "made up", str(source))
        real(source, target, flushed=flushed)

    monkeypatch.setattr(files, "rename_new", rename_new)
    search = Search(CommandLine())
    if failing <= RENAMES:
        with pytest.raises(CcmoveError, match="made up"):
            mend(layout, search, only_sure)
        assert diff(before, snapshot(state.home), ignore=OURS) == []
    else:
        assert mend(layout, search, only_sure).left == ()
    assert not layout.journal.exists()


RENAMES = 3  # of directories and transcripts, in the state of the test above


def test_transcripts_keep_inode_bytes_and_date(state: StateBuilder) -> None:
    outer = state.project("outer", make_folder=True)
    inner = outer.directory / "-gone-inner"
    session = state.add_session("inner", directory=inner)
    before = (inner / f"{session}.jsonl").stat()
    assert fix(state, "--yes").exit == 0
    after = (outer.directory / f"{session}.jsonl").stat()
    assert (after.st_ino, after.st_size, after.st_mtime_ns) == (
        before.st_ino, before.st_size, before.st_mtime_ns,
    )  # fmt: skip
    assert not inner.exists()


def test_a_dry_run_changes_nothing_and_says_what_it_would(state: StateBuilder) -> None:
    moved_repo(state, "old", "new")
    before = snapshot(state.home)
    done = fix(state, "--yes", "--dry-run")
    assert f"Would move  {state.code}/old" in done.out
    assert diff(before, snapshot(state.home), mtimes="all", inodes="all") == []


def test_an_index_gets_true_paths_and_every_other_byte_stays(
    state: StateBuilder, examine: Examine
) -> None:
    handle = state.project("old", index=True, config=None, prompts=0, sessions=3)
    new = state.code / "new"
    new.mkdir()
    directory = handle.directory.rename(state.projects / encoded_name(str(new)))
    gone = handle.sessions[1]
    (directory / f"{gone}.jsonl").unlink()
    before = (directory / "sessions-index.json").read_text()
    assert fix(state, "--yes").exit == 0
    after = (directory / "sessions-index.json").read_text()
    kept = before.replace(handle.name, directory.name).replace(f'"{handle.path}"', f'"{new}"')
    start = kept.index("    {", kept.index(handle.sessions[0]))
    end = kept.index("    {", kept.index(gone))
    assert after == kept[:start] + kept[end:]
    assert examine() == []


# -- what is asked ---------------------------------------------------------------------------------


def test_numbers_choose_and_what_is_not_chosen_stays(state: StateBuilder) -> None:
    moved_repo(state, "first", "first-new")
    moved_repo(state, "second", "second-new")
    done = fix(state, answers="2\n1\n")
    assert (state.projects / encoded_name(f"{state.code}/first")).is_dir()
    assert (state.projects / encoded_name(f"{state.code}/second-new")).is_dir()
    assert done.exit == 1
    assert "1 finding left." in done.out


def test_an_empty_answer_takes_the_sure_choice_and_leaves_a_doubtful_one(
    state: StateBuilder,
) -> None:
    moved_repo(state, "sure", "sure-new")
    state.project("doubtful")
    (state.code / "archive" / "doubtful").mkdir(parents=True)
    fix(state, answers="\n\n")
    assert (state.projects / encoded_name(f"{state.code}/sure-new")).is_dir()
    assert (state.projects / encoded_name(f"{state.code}/doubtful")).is_dir()


def test_whoever_does_not_answer_changes_nothing(state: StateBuilder) -> None:
    moved_repo(state, "old", "new")
    before = snapshot(state.home)
    done = fix(state, answers="")
    assert done.exit == 1
    assert "Nothing was changed." in done.out
    assert diff(before, snapshot(state.home), mtimes="all", inodes="all") == []


def test_a_wrong_number_is_asked_again(state: StateBuilder) -> None:
    moved_repo(state, "old", "new")
    done = fix(state, answers="9\nx\n1\n")
    assert done.exit == 0
    assert done.err.count("a number from 1 to 2, please") == 2


def test_options_of_fix_without_fix_are_wrong_usage(state: StateBuilder) -> None:
    assert run_ccmove("doctor", "--yes", state=state).exit == 2


def test_a_subject_limits_what_is_mended(state: StateBuilder) -> None:
    moved_repo(state, "first", "first-new")
    moved_repo(state, "second", "second-new")
    assert fix(state, "--yes", f"{state.code}/second").exit == 0
    assert (state.projects / encoded_name(f"{state.code}/first")).is_dir()
    assert (state.projects / encoded_name(f"{state.code}/second-new")).is_dir()


# -- what --yes does not take -------------------------------------------------------------------


def left_by_yes(state: StateBuilder) -> list[str]:
    before = snapshot(state.home)
    done = fix(state, "--yes", "--json").json()
    assert done["fixed"] == []
    assert diff(before, snapshot(state.home), mtimes="all", inodes="all") == []
    return [finding["kind"] for finding in done["left"]]


def test_yes_leaves_a_folder_that_only_has_the_name(state: StateBuilder) -> None:
    state.project("app")
    (state.code / "archive" / "app").mkdir(parents=True)
    assert left_by_yes(state) == ["orphan"]


def test_yes_leaves_it_open_which_of_two_clones_it_is(state: StateBuilder) -> None:
    state.project("old", repo="acme/app")
    make_repo(state.code / "one", "acme/app")
    make_repo(state.code / "two", "acme/app")
    assert left_by_yes(state) == ["orphan"]


def test_yes_leaves_it_open_which_of_two_projects_a_folder_is(state: StateBuilder) -> None:
    state.project("first", repo="acme/app")
    state.project("second", repo="acme/app")
    make_repo(state.code / "new", "acme/app")
    assert left_by_yes(state) == ["orphan", "orphan"]


def test_yes_leaves_a_clone_that_was_in_use_at_the_same_time(state: StateBuilder) -> None:
    clone = state.project("clone", repo="acme/app")
    make_repo(Path(clone.path), "acme/app")
    state.project("deleted", repo="acme/app")
    assert left_by_yes(state) == ["orphan"]


def test_yes_leaves_different_conversations_of_one_id(state: StateBuilder) -> None:
    one = state.project("one", subagents=False, make_folder=True)
    two = state.project("two", subagents=False, make_folder=True)
    state.add_session("two", session_id=one.sessions[0], directory=two.directory, text="other")
    assert left_by_yes(state) == ["duplicate-session"]


def test_yes_leaves_a_name_that_nobody_knows(state: StateBuilder) -> None:
    state.add_session("x", cwd="/home/dev/my.app", directory=state.projects / "-home-dev-my.app")
    assert left_by_yes(state) == ["unknown-name"]


# -- the mends -------------------------------------------------------------------------------------


def test_a_wrongly_named_directory_gets_the_name_of_its_path(
    state: StateBuilder, examine: Examine
) -> None:
    folder = state.code / "my.app"
    folder.mkdir()
    wrong = state.projects / f"{encoded_name(str(state.code))}-my.app"
    session = state.add_session("x", cwd=str(folder), directory=wrong)
    before = snapshot(state.home)
    assert fix(state, answers="1\n").exit == 0
    assert (state.projects / encoded_name(str(folder)) / f"{session}.jsonl").exists()
    assert examine() == []
    undone(state)
    assert diff(before, snapshot(state.home), ignore=OURS) == []


def test_of_two_copies_the_folder_of_the_dropped_one_is_not_lost(state: StateBuilder) -> None:
    one = state.project("one", subagents=False, make_folder=True)
    two = state.project("two", make_folder=True)
    session = two.sessions[0]
    longer = two.transcripts[0].read_bytes() + b"{}\n"
    (one.directory / f"{session}.jsonl").write_bytes(longer)
    files = sorted(p.relative_to(two.directory) for p in (two.directory / session).rglob("*.*"))
    assert files
    assert fix(state, "--yes").exit == 0
    assert not (two.directory / f"{session}.jsonl").exists()
    assert (one.directory / f"{session}.jsonl").read_bytes() == longer
    assert all((one.directory / file).exists() for file in files)


def test_a_nested_directory_whose_file_would_be_overwritten_is_refused(
    state: StateBuilder,
) -> None:
    outer = state.project("outer", memory={"MEMORY.md": "outer"}, make_folder=True)
    inner = outer.directory / "-gone-inner"
    state.add_session("inner", directory=inner)
    (inner / "memory").mkdir()
    (inner / "memory" / "MEMORY.md").write_text("inner")
    before = snapshot(state.home)
    done = fix(state, "--yes")
    assert done.exit == 4
    assert "MEMORY.md" in done.err
    assert diff(before, snapshot(state.home), ignore=OURS) == []


def test_a_nested_directory_whose_own_folder_exists_goes_beside(
    state: StateBuilder, examine: Examine
) -> None:
    outer = state.project("outer")
    inside = state.project("inside", make_folder=True)
    inside.directory.rename(outer.directory / inside.name)
    finding = examine("nested-directory")[0]
    assert finding.unambiguous
    assert fix(state, "--yes", finding.subject).exit == 0
    assert all(transcript.exists() for transcript in inside.transcripts)


def test_what_a_move_changes_as_well_waits_for_the_next_run(
    state: StateBuilder, examine: Examine
) -> None:
    moved_repo(state, "old", "new")
    directory = state.projects / encoded_name(f"{state.code}/old")
    next(directory.glob("*.jsonl")).unlink()
    done = fix(state, "--yes")
    assert "waits for the next run" in done.out
    assert done.exit == 1
    assert [finding.kind for finding in examine()] == ["index"]
    assert fix(state, "--yes").exit == 0
    assert examine() == []


def test_an_interrupted_run_is_taken_back_first(state: StateBuilder) -> None:
    moved_repo(state, "old", "new")
    own = state.config_dir / "ccmove"
    (own / "backups").mkdir(mode=0o700, parents=True)
    (own / "journal.json").write_text(
        '{"schema":1,"id":"20261116T004112Z-3f9c","mark":1,"locks":[],"staged":[],"manifest":null}'
    )
    done = fix(state, "--yes", "--json").json()
    assert "20261116T004112Z-3f9c" in done["recovered"]
    assert done["status"] == "moved"
    assert not (own / "journal.json").exists()


def test_a_running_session_is_a_reason_to_refuse(state: StateBuilder) -> None:
    moved_repo(state, "old", "new")
    started = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    state.session_file(os.getpid(), f"{state.code}/new", started, "some-session")
    done = fix(state, "--yes")
    assert done.exit == 4
    assert str(os.getpid()) in done.err
    assert fix(state, "--yes", "--allow-live").exit == 0


@pytest.mark.parametrize("option", ["--yes", "--fix"])
def test_nothing_to_mend_is_exit_0(state: StateBuilder, option: str) -> None:
    state.project("here", make_folder=True)
    done = fix(state, option)
    assert (done.exit, done.out) == (0, "Nothing was changed.\n")


def test_a_directory_that_came_back_since_gets_its_files_back(state: StateBuilder) -> None:
    handle = state.project("app", index=True, subagents=False, make_folder=True)
    index = handle.index.read_bytes()
    for transcript in handle.transcripts:
        transcript.unlink()
    assert fix(state, answers="1\n").exit == 0
    assert not handle.directory.exists()
    session = state.add_session("app")
    undone(state)
    assert handle.index.read_bytes() == index
    assert (handle.directory / f"{session}.jsonl").exists()


def test_what_a_removed_worktree_had_can_be_given_to_its_project(
    state: StateBuilder, examine: Examine
) -> None:
    app = state.project("app", make_folder=True)
    tree = state.project("app/.claude/worktrees/try")
    before = snapshot(state.home)
    assert fix(state, answers="1\n").exit == 0
    for transcript in tree.transcripts:
        assert (app.directory / transcript.name).exists()
    assert examine() == []
    undone(state)
    assert diff(before, snapshot(state.home), ignore=OURS) == []
