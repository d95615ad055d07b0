"""`ccmove PATH`: the other path is found, asked about on a terminal, and never guessed."""

import os
from pathlib import Path

import pytest

from tests.inspect.conftest import (
    clone,
    has_state,
    interrupted_move,
    make_repo,
    nothing_changes,
    run_ccmove,
)
from tests.output.terminal import CTRL_C, CTRL_D, Screen, run_on_terminal
from tests.support.processes import started
from tests.support.run import Completed
from tests.support.state import StateBuilder, encoded_name


@pytest.fixture
def state(tmp_path: Path) -> StateBuilder:
    """Three folders deep, so that the neighbourhood of one test is not that of another."""
    return StateBuilder(tmp_path / "a" / "b" / "c")


@pytest.fixture
def renamed(state: StateBuilder) -> Path:
    """A repository that was renamed: its new folder."""
    state.project("cafe-menu", sessions=4, repo="me/cafe-menu")
    return make_repo(state.code / "bistro", "me/cafe-menu")


def here(folder: Path, state: StateBuilder, *options: str) -> Completed:
    """What `ccmove .` does in a folder where nobody can be asked."""
    return run_ccmove(*options, ".", state=state, cwd=folder)


def asked(folder: Path, state: StateBuilder, *answers: str) -> Screen:
    return run_on_terminal(["."], state=state, cwd=folder, columns=400, answers=answers)


def two_lost(state: StateBuilder) -> Path:
    """A repository that may be either of two projects: its folder."""
    for name in ("first", "second"):
        state.project(name, repo="acme/app")
    return make_repo(state.code / "new", "acme/app")


@pytest.mark.parametrize("answer", ["\n", "y\n"])
def test_what_was_found_is_asked_about_once_with_the_reason(
    state: StateBuilder, renamed: Path, answer: str
) -> None:
    screen = asked(renamed, state, answer)
    old = state.code / "cafe-menu"
    question = f"Move 4 sessions from {old} (same remote, me/cafe-menu)? [Y/n]:"
    assert [line.startswith(question) for line in screen.lines].count(True) == 1
    assert screen.exit == 0
    assert has_state(state, renamed)


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_a_question_breaks_between_words(
    state: StateBuilder, renamed: Path, columns: int
) -> None:
    screen = run_on_terminal(
        ["."], state=state, cwd=renamed, columns=columns, answers=["n\n"]
    )
    question = screen.lines[
        : 1 + next(i for i, row in enumerate(screen.lines) if "[Y/n]" in row)
    ]
    assert all(len(row) <= columns for row in question)
    assert "(same remote, me/cafe-menu)? [Y/n]:" in " ".join(" ".join(question).split())


@pytest.mark.parametrize(
    ("answer", "code"),
    [("n\n", 4), (CTRL_D, 4), (CTRL_C, 130)],
    ids=["n", "Ctrl-D", "Ctrl-C"],
)
def test_without_a_yes_nothing_is_changed(
    state: StateBuilder, renamed: Path, answer: str, code: int
) -> None:
    with nothing_changes(state):
        assert asked(renamed, state, answer).exit == code


def test_a_running_client_is_named_before_any_question(
    state: StateBuilder, renamed: Path
) -> None:
    state.session_file(os.getpid(), str(renamed), started(os.getpid()), "sample")
    screen = asked(renamed, state)
    assert screen.exit == 4
    assert any("Claude Code is running in" in line for line in screen.lines)
    assert not any("?" in line for line in screen.lines)


def test_what_would_refuse_the_move_refuses_before_the_question(
    state: StateBuilder, renamed: Path
) -> None:
    old = state.code / "cafe-menu"
    (transcript, *_) = (state.projects / encoded_name(str(old))).glob("*.jsonl")
    state.add_session(renamed, session_id=transcript.stem, text="went on here")
    with nothing_changes(state):
        screen = asked(renamed, state, "n\n")
    assert screen.exit == 4
    assert any(transcript.stem in line for line in screen.lines)
    assert not any("?" in line for line in screen.lines)


def test_the_old_path_is_enough_too(state: StateBuilder, renamed: Path) -> None:
    screen = run_on_terminal(
        [state.code / "cafe-menu"], state=state, columns=400, answers=["y\n"]
    )
    assert (
        f"Move 4 sessions to {renamed} (same remote, me/cafe-menu)? [Y/n]:"
        in screen.raw
    )
    assert (screen.exit, has_state(state, renamed)) == (0, True)


def test_a_rename_without_git_is_found_and_an_empty_answer_leaves_it(
    state: StateBuilder,
) -> None:
    state.project("cafe")
    state.project("other", make_folder=True)
    new = state.code / "bistro"
    new.mkdir()
    screen = asked(new, state, "\n")
    reason = "possible: the only folder there that Claude Code does not know"
    assert (
        f"Move 2 sessions from {state.code / 'cafe'} ({reason})? [y/N]:" in screen.raw
    )
    assert (screen.exit, has_state(state, new)) == (4, False)
    assert asked(new, state, "y\n").exit == 0
    assert has_state(state, new)


def test_a_new_clone_that_is_named_is_taken_and_its_age_is_said(
    state: StateBuilder,
) -> None:
    state.project("cafe-menu", repo="acme/app")
    made = clone(state, "clone")
    screen = asked(made, state, "\n")
    why = "same remote, acme/app, but it was cloned after the project was last used"
    assert (
        f"Move 2 sessions from {state.code / 'cafe-menu'} ({why})? [Y/n]:" in screen.raw
    )
    assert (screen.exit, has_state(state, made)) == (0, True)


def test_without_another_sign_all_gone_from_the_same_place_is_offered(
    state: StateBuilder,
) -> None:
    state.project("cafe")
    state.project("invoices")
    for name in ("zzz", "qqq"):
        (state.code / name).mkdir()
    done = here(state.code / "zzz", state)
    assert done.exit == 4
    for name in ("cafe", "invoices"):
        command = f"ccmove {state.code / name} {state.code / 'zzz'}"
        assert f"-> possible: its folder was in the same place: {command}\n" in done.err


def test_several_are_a_numbered_list(state: StateBuilder) -> None:
    new = two_lost(state)
    assert asked(new, state, "0\n").exit == 4
    screen = asked(new, state, "7\n", "2\n")
    for number, name in enumerate(("first", "second"), 1):
        row = f"  {number}  {state.code / name} (2 sessions; "
        assert any(line.startswith(row) for line in screen.lines)
    assert screen.exit == 0
    assert [has_state(state, state.code / name) for name in ("first", "second")] == [
        True,
        False,
    ]


def test_without_a_terminal_the_command_is_printed(
    state: StateBuilder, renamed: Path
) -> None:
    with nothing_changes(state):
        done = here(renamed, state)
        hint = here(renamed, state, "--json").json()["hint"]
    command = f"ccmove {state.code / 'cafe-menu'} {renamed}"
    assert done.exit == 4
    assert f"-> same remote, me/cafe-menu: {command}\n" in done.err
    assert hint.endswith(command.replace("ccmove", "ccmove --json"))
    assert run_ccmove(*command.split()[1:], state=state).exit == 0


def test_of_several_every_one_has_its_command_with_the_options_typed(
    state: StateBuilder,
) -> None:
    new = two_lost(state)
    done = here(new, state, "--settings")
    assert done.exit == 4
    for name in ("first", "second"):
        assert f": ccmove --settings {state.code / name} {new}\n" in done.err


def test_yes_takes_the_one_by_git_or_by_an_earlier_move(
    state: StateBuilder, renamed: Path
) -> None:
    done = here(renamed, state, "-y")
    assert done.exit == 0
    assert f"Found {state.code / 'cafe-menu'} (same remote, me/cafe-menu)" in done.err
    assert has_state(state, renamed)
    state.add_prompt("cafe-menu", "from a session that went on")
    assert here(renamed, state, "-y").exit == 0
    assert "cafe-menu" not in state.history.read_text()


def test_yes_takes_neither_one_by_name_nor_one_of_several(state: StateBuilder) -> None:
    one_of_several, by_name = two_lost(state), state.code / "archive" / "app"
    state.project("app")
    by_name.mkdir(parents=True)
    with nothing_changes(state):
        for new in (one_of_several, by_name):
            assert here(new, state, "-y").exit == 4


def test_a_preview_needs_no_answer(state: StateBuilder, renamed: Path) -> None:
    with nothing_changes(state):
        done = here(renamed, state, "-n", "--json")
    assert (done.exit, done.json()["status"]) == (0, "planned")
    assert done.json()["moves"] == [
        {"old": str(state.code / "cafe-menu"), "new": str(renamed)}
    ]


def test_renaming_the_folder_needs_both_paths(
    state: StateBuilder, renamed: Path
) -> None:
    assert here(renamed, state, "-m").exit == 2
    assert run_ccmove("", state=state).exit == 2


def test_sessions_started_at_the_new_path_do_not_hide_the_old_ones(
    state: StateBuilder,
) -> None:
    state.project("cafe-menu", repo="me/cafe-menu")
    new = state.project("bistro", repo="me/cafe-menu")
    make_repo(Path(new.path), "me/cafe-menu")
    assert here(Path(new.path), state, "-y").exit == 0
    assert len(list(new.directory.glob("*.jsonl"))) == 4


def test_a_new_parent_is_found_for_all_that_was_in_the_old_one(
    state: StateBuilder,
) -> None:
    for name in ("app", "lib"):
        state.project(f"team/{name}")
        (state.code / "squad" / name).mkdir(parents=True)
    done = here(state.code / "squad", state)
    assert f": ccmove {state.code / 'team'} {state.code / 'squad'}\n" in done.err
    done = run_ccmove(state.code / "team", state=state)
    assert f": ccmove {state.code / 'team'} {state.code / 'squad'}\n" in done.err


def lost_inside(state: StateBuilder, repo: str | None = None) -> Path:
    """A folder that has `sub` of a lost project in it, beside one with a similar name:
    the folder.
    """
    state.project("old/sub", repo=repo)
    state.project("bistr")
    new = state.code / "bistro"
    (new / "sub").mkdir(parents=True)
    return new


@pytest.mark.parametrize("with_data", [False, True])
def test_what_is_inside_says_more_than_a_similar_name(
    state: StateBuilder, with_data: bool
) -> None:
    new = lost_inside(state)
    if with_data:
        state.project("old")
    done = here(new, state)
    assert done.exit == 4
    command = f"ccmove {state.code / 'old'} {new}"
    assert f"-> possible: sub is in {new}: {command}\n" in done.err
    assert "similar name" not in done.err
    with nothing_changes(state):
        assert here(new, state, "-y").exit == 4


def test_a_repository_inside_says_which_parent_was_moved(
    state: StateBuilder, tmp_path: Path
) -> None:
    state.project("old/sub", repo="me/sub")
    state.project("old/other")
    state.project("away")
    new = tmp_path / "far" / "away"
    make_repo(new / "sub", "me/sub")
    (new / "other").mkdir()
    done = here(new, state, "-y")
    assert done.exit == 0
    why = f"same remote in {new / 'sub'}, me/sub"
    assert f"Found {state.code / 'old'} ({why})" in done.err
    assert has_state(state, new / "sub")
    assert has_state(state, new / "other")


def test_another_repository_inside_is_no_sign(state: StateBuilder) -> None:
    new = lost_inside(state, "me/sub")
    make_repo(new / "sub", "you/sub")
    done = here(new, state)
    assert f": ccmove {state.code / 'bistr'} {new}\n" in done.err
    assert str(state.code / "old") not in done.err


def test_what_of_a_lost_parent_is_not_inside_stays(state: StateBuilder) -> None:
    new = lost_inside(state)
    state.project("old/deleted")
    done = here(new, state)
    command = f"ccmove {state.code / 'old' / 'sub'} {new / 'sub'}"
    assert f"-> possible: sub is in {new}: {command}\n" in done.err
    assert [line.count("ccmove /") for line in done.err.splitlines()].count(1) == 1
    screen = asked(new, state, "y\n")
    question = f"Move 2 sessions from {state.code / 'old' / 'sub'} to {new / 'sub'} ("
    assert question in screen.raw
    assert (screen.exit, has_state(state, new / "sub")) == (0, True)
    assert has_state(state, "old/deleted")


def test_a_project_that_is_surely_elsewhere_is_not_offered(state: StateBuilder) -> None:
    state.project("cafe-menu", repo="me/cafe-menu")
    make_repo(state.code / "bistro", "me/cafe-menu")
    (state.code / "cafe-menus").mkdir()
    assert here(state.code / "cafe-menus", state).exit == 3


def test_a_folder_moved_far_is_found_by_its_repository(
    state: StateBuilder, tmp_path: Path
) -> None:
    state.project("cafe-menu", repo="me/cafe-menu")
    new = make_repo(tmp_path / "far" / "away" / "menu", "me/cafe-menu")
    assert here(new, state, "-y").exit == 0


def test_a_folder_whose_state_is_in_place_is_exit_3_and_says_so(
    state: StateBuilder,
) -> None:
    state.project("deleted")
    app = state.project("app", make_folder=True)
    done = here(Path(app.path), state)
    assert done.exit == 3
    assert f"{app.path} is in place: Claude Code has 2 sessions for it" in done.err


def test_an_old_path_moved_before_is_exit_3_and_said(
    state: StateBuilder, renamed: Path
) -> None:
    assert here(renamed, state, "-y").exit == 0
    done = run_ccmove(state.code / "cafe-menu", state=state)
    assert done.exit == 3
    assert f"was moved to {renamed}: its data is in place" in done.err


def test_nothing_found_is_exit_3_and_where_it_looked(
    state: StateBuilder, tmp_path: Path
) -> None:
    done = run_ccmove(state.project("gone").path, state=state)
    assert done.exit == 3
    assert f"looked in {state.code}\n" in done.err
    assert "to look further: ccmove doctor --search" in done.err
    (tmp_path / "unrelated").mkdir()
    done = here(tmp_path / "unrelated", state)
    assert done.exit == 3
    assert "compared it with 1 project\n" in done.err
    assert f"ccmove doctor --search {tmp_path / 'unrelated'}\n" in done.err


def test_an_interrupted_run_does_not_hinder_the_search(
    state: StateBuilder, renamed: Path
) -> None:
    interrupted_move(state, "cafe-menu", "bistro")
    assert here(renamed, state, "-y").exit == 0
    assert has_state(state, renamed)


def test_looking_is_bounded_to_what_is_there(state: StateBuilder) -> None:
    """A loop of links and a closed folder beside the old place do no harm."""
    state.project("cafe")
    (state.code / "loop").symlink_to(state.code)
    (state.code / "closed").mkdir(mode=0)
    (state.code / "bistro").mkdir()
    assert here(state.code / "bistro", state).exit == 4
    os.chmod(state.code / "closed", 0o700)


def test_a_folder_around_what_was_moved_before_is_answered_with_that(
    state: StateBuilder,
) -> None:
    old, new = state.code / "team" / "app", state.code / "squad" / "app"
    state.project("team/app")
    new.mkdir(parents=True)
    assert run_ccmove(old, new, state=state).exit == 0
    done = run_ccmove(state.code / "team", state=state)
    assert done.exit == 3
    assert f"{old} was moved to {new}: its data is in place" in done.err
