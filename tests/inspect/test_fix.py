"""`ccmove doctor --fix`: what is chosen is moved in one run, and one restore undoes it."""

import os
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.inspect.conftest import (
    clone,
    has_state,
    interrupted_move,
    make_repo,
    moved_repo,
    nothing_changes,
    run_ccmove,
)
from tests.support import run as support
from tests.support.processes import started
from tests.support.run import Completed
from tests.support.state import StateBuilder
from tests.support.tree import diff, snapshot

OURS = (".claude/ccmove",)


def fix(state: StateBuilder, *options: str, answers: str = "") -> Completed:
    return run_ccmove("doctor", "--fix", *options, state=state, answers=answers)


@pytest.mark.slow
def test_yes_moves_every_project_whose_evidence_leaves_no_doubt(
    state: StateBuilder,
) -> None:
    for number in range(20):
        moved_repo(state, f"old-{number}", f"new-{number}")
    before = snapshot(state.home)
    done = fix(state, "--yes", "--json").json()
    assert len(done["result"]["moves"]) == 20
    assert done["left"] == []
    assert all(has_state(state, f"new-{number}") for number in range(20))
    assert len(os.listdir(state.config_dir / "ccmove" / "backups")) == 1
    assert run_ccmove("doctor", state=state).exit == 0
    assert run_ccmove("restore", state=state).exit == 0
    assert diff(before, snapshot(state.home), ignore=OURS) == []


@pytest.mark.parametrize("sessions", [0, 1])
def test_what_came_to_an_old_path_of_ours_is_not_moved_unasked(
    state: StateBuilder, sessions: int
) -> None:
    """Found by a random life: another folder had the old name for a while, and its
    trust and tools would have become those of the project that was moved."""
    old, new = state.project("old").path, state.code / "new"
    new.mkdir()
    assert run_ccmove(old, str(new), state=state).exit == 0
    assert run_ccmove("verify", state=state).exit == 0
    state.project("old", sessions=sessions, prompts=sessions)
    assert run_ccmove("verify", state=state).exit == 0
    said = run_ccmove("doctor", state=state).out
    assert f"likely: {new}" in said
    assert f"-> ccmove {old} {new}" in said
    with nothing_changes(state):
        fix(state, "--yes")
    answered = fix(state, answers="1\ny\n")
    assert "Moved" in answered.out, answered


def unchanged(state: StateBuilder, answers: str) -> Completed:
    """What is said when these answers are to change nothing."""
    with nothing_changes(state):
        done = fix(state, answers=answers)
    assert done.exit == 1
    assert "Nothing was changed." in done.out
    return done


def test_a_question_a_finding_then_the_list_of_moves_is_confirmed(
    state: StateBuilder,
) -> None:
    moved_repo(state, "first", "first-new")
    moved_repo(state, "second", "second-new")
    done = fix(state, answers="n\n1\ny\n")
    question = done.err.splitlines()[0]
    assert question.startswith(f"[1/2] {state.code / 'first'} is gone: 2 sessions (")
    assert question.endswith("kB). Where is it now?")
    assert f"1  certain: {state.code / 'first-new'}" in done.err
    move = f"  {state.code / 'second'} -> {state.code / 'second-new'}"
    assert f"{move}\nApply 1 move? [Y/n]:" in done.err
    assert has_state(state, "first")
    assert has_state(state, "second-new")
    assert done.exit == 1
    assert "1 finding left." in done.out


def test_an_empty_answer_takes_the_best_place_and_leaves_one_by_name(
    state: StateBuilder,
) -> None:
    moved_repo(state, "sure", "sure-new")
    state.project("doubtful")
    (state.code / "archive" / "doubtful").mkdir(parents=True)
    fix(state, answers="\n\n\n")
    assert has_state(state, "sure-new")
    assert has_state(state, "doubtful")


def test_the_question_tells_the_answers_and_y_is_not_enough_in_doubt(
    state: StateBuilder,
) -> None:
    state.project("doubtful")
    (state.code / "archive" / "doubtful").mkdir(parents=True)
    done = fix(state, answers="y\n1\n\n")
    assert done.exit == 0, done
    assert "s: skip the rest, q: change nothing" in done.err
    assert "that is not certain: type a number or a path" in done.err
    assert has_state(state, "archive/doubtful"), done
    # What asks for ever ends.
    state.project("again")
    assert fix(state, answers="?\n" * 50).exit == 1


def test_another_path_can_be_typed_also_for_a_project_without_any_sign(
    state: StateBuilder,
) -> None:
    state.project("gone")
    target = state.root / "quite" / "elsewhere"
    target.mkdir(parents=True)
    done = fix(state, answers=f"/no/such/folder\n7\n{target}\n\n")
    assert done.exit == 0, done
    assert "/no/such/folder is neither a number above nor a folder" in done.err
    assert "7 is neither a number above nor a folder" in done.err
    assert has_state(state, target)


def test_s_skips_the_rest_and_keeps_what_was_answered(state: StateBuilder) -> None:
    for number in range(3):
        moved_repo(state, f"old-{number}", f"new-{number}")
    done = fix(state, answers="1\ns\ny\n")
    assert "[3/3]" not in done.err
    assert has_state(state, "new-0")
    assert "2 findings left." in done.out


@pytest.mark.parametrize(
    "answers",
    ["", "1\n", "1\nq\n", "q\n", "1\n1\n", "1\n1\nn\n", "n\nn\n"],
    ids=[
        "closed",
        "closed later",
        "q later",
        "q",
        "closed at the end",
        "no",
        "all left",
    ],
)
def test_who_quits_or_does_not_answer_changes_nothing(
    state: StateBuilder, answers: str
) -> None:
    moved_repo(state, "first", "first-new")
    moved_repo(state, "second", "second-new")
    unchanged(state, answers)


def test_without_any_input_nothing_is_changed(state: StateBuilder) -> None:
    """`<&-`: not even an empty one."""
    moved_repo(state, "first", "first-new")
    line = f"{shlex.join(support.ccmove_command('doctor', '--fix'))} <&-"
    with nothing_changes(state):
        done = support.run_child(["sh", "-c", line], state=state)
    assert (done.exit, done.out.splitlines()[-1]) == (1, "Nothing was changed.")


def test_who_answers_yes_to_everything_is_not_asked_for_ever(
    state: StateBuilder,
) -> None:
    state.project("old")
    done = fix(state, answers="y\n" * 1000)
    assert (done.exit, done.err.count("is neither a number above nor a folder")) == (
        1,
        3,
    )
    assert has_state(state, "old")


def test_y_takes_the_best_place(
    state: StateBuilder,
) -> None:
    state.project("a-lost-one")  # of which nothing is known: it is asked about last
    moved_repo(state, "old", "new")
    fix(state, answers="y\ns\n\n")
    assert has_state(state, "new")
    assert has_state(state, "a-lost-one")


def test_the_next_search_keeps_the_folders_that_were_named(
    state: StateBuilder,
) -> None:
    state.project("old")
    other = state.root / "other"
    other.mkdir()
    done = run_ccmove("doctor", "--search", other, state=state)
    searches = f"--search {other} --search {state.home}"
    assert f"ccmove doctor {searches} {state.code / 'old'}" in done.out


def test_equal_places_are_shown_as_such_and_an_empty_answer_takes_none(
    state: StateBuilder,
) -> None:
    state.project("old", repo="acme/app")
    make_repo(state.code / "one", "acme/app")
    make_repo(state.code / "two", "acme/app")
    done = unchanged(state, "\n")
    assert f"1  likely: {state.code / 'one'}" in done.err
    assert f"2  likely: {state.code / 'two'}" in done.err


def test_a_plan_is_a_list_of_moves_for_from_file(state: StateBuilder) -> None:
    moved_repo(state, "old", "new")
    state.project("cafe")
    (state.code / "archive" / "cafe").mkdir(parents=True)
    with nothing_changes(state):
        done = run_ccmove("doctor", "--plan", state=state)
    assert (done.exit, done.out) == (0, f"{state.code / 'old'}\t{state.code / 'new'}\n")
    (state.root / "moves.txt").write_text(done.out)
    assert run_ccmove("--from-file", state.root / "moves.txt", state=state).exit == 0
    assert has_state(state, "new")


def test_what_fits_in_no_line_is_not_planned(state: StateBuilder) -> None:
    moved_repo(state, "o\tld", "new")
    done = run_ccmove("doctor", "--plan", state=state)
    assert (done.exit, done.out) == (0, "")
    assert done.err == "No move is certain or likely. See: ccmove doctor\n"


@pytest.mark.parametrize(
    "options", [["--yes"], ["--plan", "--fix"], ["--plan", "--json"]]
)
def test_options_not_going_together_are_wrong_use(
    state: StateBuilder, options: list[str]
) -> None:
    assert run_ccmove("doctor", *options, state=state).exit == 2


def test_a_subject_limits_what_is_fixed(state: StateBuilder) -> None:
    moved_repo(state, "first", "first-new")
    moved_repo(state, "second", "second-new")
    assert fix(state, "--yes", str(state.code / "second")).exit == 0
    assert has_state(state, "first")
    assert has_state(state, "second-new")


def left_by_yes(state: StateBuilder) -> list[str]:
    with nothing_changes(state):
        done = fix(state, "--yes", "--json").json()
    assert done["result"] is None
    return [finding["kind"] for finding in done["left"]]


IN_DOUBT: dict[str, Callable[[StateBuilder], object]] = {
    "only the name": lambda s: (s.code / "archive" / "lost").mkdir(parents=True),
    "two clones": lambda s: [
        make_repo(s.code / name, "acme/app") for name in ("one", "two")
    ],
    "a clone without proof": lambda s: make_repo(s.code / "clone", "acme/app"),
    "a clone that was made afterwards": lambda s: clone(s, "review"),
}


@pytest.mark.parametrize("doubt", IN_DOUBT)
def test_yes_leaves_what_is_in_doubt(state: StateBuilder, doubt: str) -> None:
    state.project("lost", repo="acme/app")
    IN_DOUBT[doubt](state)
    assert left_by_yes(state) == ["orphan"]


def test_yes_leaves_a_clone_that_was_in_use_at_the_same_time(
    state: StateBuilder,
) -> None:
    make_repo(Path(state.project("clone", repo="acme/app").path), "acme/app")
    state.project("lost", repo="acme/app")
    assert left_by_yes(state) == ["orphan"]


def test_yes_leaves_it_open_which_of_two_projects_a_folder_is(
    state: StateBuilder,
) -> None:
    moved_repo(state, "first", "new")
    state.project("second", repo="acme/first")
    assert left_by_yes(state) == ["orphan", "orphan"]


def test_yes_leaves_what_other_tools_left_and_says_how_to_fix_it(
    state: StateBuilder,
) -> None:
    outer = state.project("outer", index=True, subagents=False, make_folder=True)
    state.add_session("inner", directory=outer.directory / "-gone-inner")
    outer.transcripts[0].unlink()
    two = state.project("two", subagents=False, make_folder=True)
    shutil.copy2(outer.transcripts[1], two.directory)
    state.add_session(
        "x", cwd="/home/dev/my.app", directory=state.projects / "-home-dev-my.app"
    )
    misplaced = "misplaced-directory"
    assert left_by_yes(state) == [misplaced, misplaced, "split-session", "index"]


def test_a_move_that_is_refused_does_not_stop_the_others(state: StateBuilder) -> None:
    moved_repo(state, "old", "new")
    stuck = state.project("stuck")
    here = state.project("here")
    state.add_session("here", session_id=stuck.sessions[0], text="went on here")
    make_repo(state.code / "here")
    done = fix(state, "--json", answers=f"\n{here.path}\ny\n").json()
    assert [row["old"] for row in done["result"]["moves"]] == [str(state.code / "old")]
    assert any(f"ccmove {stuck.path} {here.path}" in note for note in done["warnings"])


def test_an_interrupted_run_is_rolled_back_first_and_alone(state: StateBuilder) -> None:
    moved_repo(state, "old", "new")
    identifier = interrupted_move(state, "old", "new")
    under_way = state.config_dir / "ccmove" / "run"
    done = fix(state, answers="n\n")
    assert f"run {identifier} did not finish. Roll it back? [Y/n]:" in done.err
    assert "Nothing was changed." in done.out
    assert under_way.exists()
    done = fix(state, answers="y\n1\ny\n")
    assert "Where is it now?" not in done.err
    assert identifier in done.out
    assert not under_way.exists()
    assert has_state(state, "old")


def test_yes_rolls_back_an_interrupted_run_without_a_question(
    state: StateBuilder,
) -> None:
    moved_repo(state, "old", "new")
    identifier = interrupted_move(state, "old", "new")
    assert identifier in fix(state, "--yes", "--json").json()["recovered"]
    assert not (state.config_dir / "ccmove" / "run").exists()
    assert fix(state, "--yes", "--json").json()["status"] == "moved"


@pytest.mark.slow
def test_where_a_session_is_running_nothing_is_moved(state: StateBuilder) -> None:
    moved_repo(state, "old", "new")
    moved_repo(state, "other", "other-new")
    state.session_file(
        os.getpid(), str(state.code / "new"), started(os.getpid()), "some-session"
    )
    done = support.run_ccmove(
        "doctor", "--fix", "--yes", state=state, alone=True
    )  # sees others
    assert done.exit == 1
    assert f"(pid {os.getpid()}" in done.out
    assert has_state(state, "old")
    assert has_state(state, "other-new")


@pytest.mark.parametrize("option", ["--yes", "--fix"])
def test_nothing_to_fix_is_exit_0(state: StateBuilder, option: str) -> None:
    state.project("here", make_folder=True)
    done = fix(state, option)
    assert (done.exit, done.out) == (0, "Nothing was changed.\n")


def test_one_finding_is_not_called_them(state: StateBuilder) -> None:
    moved_repo(state, "first", "first-new")
    shown = run_ccmove("doctor", state=state).out
    assert shown.splitlines()[-1] == "Fix it: ccmove doctor --fix"
    moved_repo(state, "second", "second-new")
    shown = run_ccmove("doctor", state=state).out
    assert shown.splitlines()[-1] == "Fix them one by one: ccmove doctor --fix"
