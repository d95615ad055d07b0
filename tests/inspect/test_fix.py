"""`ccmove doctor --fix`: what is chosen is moved in one run, and one restore undoes it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.inspect.conftest import Examine, interrupted_move, make_repo, run_ccmove
from tests.support.run import Completed
from tests.support.state import StateBuilder, encoded_name
from tests.support.tree import diff, snapshot

OURS = (".claude/ccmove",)


def fix(state: StateBuilder, *options: str, answers: str = "") -> Completed:
    return run_ccmove("doctor", "--fix", *options, state=state, answers=answers)


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


def test_a_dry_run_changes_nothing_and_says_what_it_would(state: StateBuilder) -> None:
    moved_repo(state, "old", "new")
    before = snapshot(state.home)
    done = fix(state, "--yes", "--dry-run")
    assert f"Would move  {state.code}/old" in done.out
    assert diff(before, snapshot(state.home), mtimes="all", inodes="all") == []


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
    assert done.err.count("number [1]:") == 3


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


def test_yes_leaves_a_clone_that_was_made_afterwards(state: StateBuilder) -> None:
    state.project("deleted", repo="acme/app")
    clone = make_repo(state.code / "review", "acme/app")
    os.utime(clone / ".git" / "description")
    assert left_by_yes(state) == ["orphan"]


def test_yes_leaves_what_other_tools_left_and_says_how_to_fix_it(state: StateBuilder) -> None:
    outer = state.project("outer", index=True, subagents=False, make_folder=True)
    state.add_session("inner", directory=outer.directory / "-gone-inner")
    outer.transcripts[0].unlink()
    two = state.project("two", subagents=False, make_folder=True)
    shutil.copy2(outer.transcripts[1], two.directory)
    (state.projects / "-left-over" / "memory").mkdir(parents=True)
    state.add_session("x", cwd="/home/dev/my.app", directory=state.projects / "-home-dev-my.app")
    assert left_by_yes(state) == [
        "unknown-name",
        "nested-directory",
        "duplicate-session",
        "index",
        "leftover-directory",
    ]


def test_a_move_that_is_refused_does_not_stop_the_others(state: StateBuilder) -> None:
    moved_repo(state, "old", "new")
    stuck = state.project("stuck", subagents=False, repo="acme/stuck")
    here = state.project("here", subagents=False)
    make_repo(state.code / "here", "acme/stuck")
    state.add_session("here", session_id=stuck.sessions[0], directory=here.directory, text="other")
    done = fix(state, "--yes", "--json").json()
    assert [row["subject"] for row in done["fixed"]] == [str(state.code / "old")]
    assert any(f"ccmove {stuck.path} {here.path}" in note for note in done["warnings"])


def test_yes_leaves_a_clone_that_was_in_use_at_the_same_time(state: StateBuilder) -> None:
    clone = state.project("clone", repo="acme/app")
    make_repo(Path(clone.path), "acme/app")
    state.project("deleted", repo="acme/app")
    assert left_by_yes(state) == ["orphan"]


# -- the rest --------------------------------------------------------------------------------------


def test_an_interrupted_run_is_taken_back_first(state: StateBuilder) -> None:
    moved_repo(state, "old", "new")
    identifier = interrupted_move(state, "old", "new")
    done = fix(state, "--yes", "--json").json()
    assert identifier in done["recovered"]
    assert done["status"] == "moved"
    assert not (state.config_dir / "ccmove" / "journal.json").exists()


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
