"""Wrong paths are refused before the state is looked at, each with the next command to type."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.support.run import ccmove_command, run_ccmove, run_child
from tests.support.state import StateBuilder
from tests.support.tree import diff, snapshot


@pytest.fixture
def known(state: StateBuilder) -> StateBuilder:
    state.project("my-app")
    state.code.mkdir(exist_ok=True)
    return state


def folders(state: StateBuilder, *names: str) -> tuple[Path, Path]:
    for name in names:
        (state.code / name).mkdir(exist_ok=True)
    return state.code / "my-app", state.code / "new"


def test_old_still_there_and_new_not(known: StateBuilder) -> None:
    old, new = folders(known, "my-app")
    done = run_ccmove(old, new, state=known)
    assert done.exit == 4
    assert f"ccmove --move-folder {old} {new}" in done.err
    assert f"ccmove {new} {old}" in done.err


def test_both_there(known: StateBuilder) -> None:
    old, new = folders(known, "my-app", "new")
    done = run_ccmove(old, new, state=known)
    assert done.exit == 4
    assert f"ccmove --skip-path-check {old} {new}" in done.err


def test_neither_there(known: StateBuilder) -> None:
    old, new = folders(known)
    assert run_ccmove(old, new, state=known).exit == 4
    assert run_ccmove("--skip-path-check", old, new, state=known).exit == 0


def test_the_same_path_twice(known: StateBuilder) -> None:
    old, _ = folders(known)
    assert run_ccmove(old, f"{old}/", state=known).exit == 4
    assert run_ccmove("--skip-path-check", old, old, state=known).exit == 4


def test_a_folder_can_not_move_into_itself(known: StateBuilder) -> None:
    old, _ = folders(known, "my-app")
    done = run_ccmove("--move-folder", old, old / "inner", state=known)
    assert done.exit == 4
    assert "itself" in done.err


@pytest.mark.parametrize("root", ["/", "C:\\", "c:/", "\\\\"])
def test_a_root_is_not_a_project(known: StateBuilder, root: str) -> None:
    _, new = folders(known, "new")
    for pair in ((root, new), (new, root)):
        done = run_ccmove("--skip-path-check", *pair, state=known)
        assert done.exit == 4
        assert "is not a project" in done.err


def test_an_unknown_old_names_the_nearest_known_path(known: StateBuilder) -> None:
    _, new = folders(known, "new")
    done = run_ccmove(known.code / "my-ap", new, state=known)
    assert done.exit == 3
    assert f"ccmove {known.code / 'my-app'} {new}" in done.err


def test_did_you_mean_names_no_living_project_as_old(known: StateBuilder) -> None:
    """A long common beginning makes no path near; the last component does."""
    _, new = folders(known, "new")
    known.project("billing", make_folder=True)
    known.project("websites", make_folder=True)
    lost = known.project("deep/down/web-site").path
    done = run_ccmove(known.code / "website", new, state=known)
    assert done.exit == 3
    assert f"did you mean: ccmove {lost} {new}" in done.err
    assert f"known: {known.code / 'websites'}" in done.err
    assert "billing" not in done.err
    done = run_ccmove(known.code / "billin", new, state=known)
    assert "did you mean" not in done.err


def test_one_unknown_old_in_a_list_refuses_all_and_names_the_line(known: StateBuilder) -> None:
    old, new = folders(known, "new", "other")
    listed = known.project("listed", sessions=0, prompts=0)
    text = f"# moves\n{old}\t{new}\n{listed.path}\t{known.code / 'other'}\n"
    typo = f"{known.code / 'my-ap'}\t{known.code / 'other'}\n"
    before = snapshot(known.home)
    done = run_ccmove("--from-file", "-", state=known, input=text + typo)
    assert done.exit == 3
    assert "-, line 4" in done.err
    assert f"known: {old}" in done.err
    assert diff(before, snapshot(known.home)) == []
    assert run_ccmove("--from-file", "-", state=known, input=text).exit == 0


def test_a_refused_line_of_a_list_is_named(known: StateBuilder) -> None:
    old, new = folders(known, "my-app")
    done = run_ccmove("--from-file", "-", state=known, input=f"\n{old}\t{new}\n")
    assert done.exit == 4
    assert f"-, line 2: OLD should be gone and NEW should exist: {old} exists" in done.err
    assert "ccmove --move-folder --from-file -" in done.err


def test_a_link_is_not_renamed_with_the_folder_behind_it(known: StateBuilder) -> None:
    real = known.root / "disk" / "app"
    known.project(real, make_folder=True)
    link, new = known.code / "link", known.code / "new"
    link.symlink_to(real)
    done = run_ccmove("-m", "--only", f"{link}/", new, state=known)
    assert done.exit == 4
    assert f"mv {link} {new}" in done.err
    assert f"ccmove -m --only {real} {new}" in done.err
    assert run_ccmove("-m", real, new, state=known).exit == 0
    assert new.is_dir()


def test_a_link_that_was_left_behind_for_new_is_not_a_folder_to_rename(known: StateBuilder) -> None:
    old, new = folders(known, "new")
    old.symlink_to(new)
    done = run_ccmove("-m", old, new, state=known)
    assert done.exit == 4
    assert f"leave --move-folder out: ccmove {old} {new}" in done.err
    assert run_ccmove(old, new, state=known).exit == 0
    assert old.is_symlink()


@pytest.mark.parametrize(
    "arguments", [(".", "/new"), ("/old", "../new"), ("verify", "."), ("doctor", "sub")]
)
def test_in_a_folder_that_was_deleted_the_message_says_so(
    known: StateBuilder, arguments: tuple[str, ...]
) -> None:
    gone = known.root / "gone"
    gone.mkdir()
    command = shlex.join(ccmove_command(*arguments))
    importable = {"PYTHONPATH": str(Path(__file__).parents[2])}
    words = ["bash", "-c", f"cd {gone} && rmdir {gone} && {command}"]
    done = run_child(words, state=known, env=importable)
    assert done.exit == 1
    assert f"the current folder, {gone}, does not exist any more" in done.err
    assert "Traceback" not in done.err


def test_in_a_folder_that_was_deleted_whole_paths_work(known: StateBuilder) -> None:
    old, new = folders(known, "new")
    gone = known.root / "gone"
    gone.mkdir()
    command = shlex.join(ccmove_command(old, new))
    importable = {"PYTHONPATH": str(Path(__file__).parents[2])}
    words = ["bash", "-c", f"cd {gone} && rmdir {gone} && {command}"]
    done = run_child(words, state=known, env=importable)
    assert done.exit == 0, done.err


def test_yes_changes_nothing_with_two_paths(known: StateBuilder) -> None:
    old, new = folders(known, "my-app", "new")
    assert run_ccmove("-y", old, new, state=known).exit == 4
    old.rmdir()
    assert run_ccmove("--yes", old, new, state=known).exit == 0


def test_a_move_that_was_done_already_says_so(known: StateBuilder) -> None:
    old, new = folders(known, "new")
    assert run_ccmove(old, new, state=known).exit == 0
    done = run_ccmove(old, new, state=known)
    assert done.exit == 3
    assert "already" in done.err


def test_a_typo_in_old_is_answered_with_the_right_one_also_if_new_has_data(
    known: StateBuilder,
) -> None:
    old, new = folders(known, "new")
    known.project("new")
    done = run_ccmove(known.code / "my-ap", new, state=known)
    assert (done.exit, "already" in done.err) == (3, False)
    assert f"did you mean: ccmove {old} {new}" in done.err
    done = run_ccmove(known.code / "quite-different", new, state=known)
    assert (done.exit, "already" in done.err) == (3, True)


def test_no_state_at_all(state: StateBuilder) -> None:
    (state.code / "new").mkdir(parents=True)
    missing = state.root / "nowhere"
    done = run_ccmove("--config-dir", missing, state.code / "a", state.code / "new", state=state)
    assert done.exit == 3
    assert str(missing) in done.err
    assert not missing.exists()


@pytest.mark.parametrize(
    "arguments",
    [("a", "b", "c"), ("--no-such-option", "a", "b"), ("--verify", "x", "a", "b")],
)
def test_wrong_usage_is_exit_2(known: StateBuilder, arguments: tuple[str, ...]) -> None:
    done = run_ccmove(*arguments, state=known)
    assert done.exit == 2
    assert "-> " in done.err


@pytest.mark.parametrize(
    "text", ["", "\n# only a comment\n", "no tab here\n", "/a\t/b\t/c\n", "\t/b\n", "/a\t\n"]
)
def test_a_list_of_moves_that_makes_no_sense_is_exit_2(known: StateBuilder, text: str) -> None:
    assert run_ccmove("--from-file", "-", state=known, input=text).exit == 2


def test_a_list_that_moves_one_path_twice_is_exit_2(known: StateBuilder) -> None:
    old, new = folders(known, "new")
    text = f"{old}\t{new}\n{old}\t{new}2\n"
    assert run_ccmove("--from-file", "-", state=known, input=text).exit == 2


def test_every_refusal_is_one_json_object(known: StateBuilder) -> None:
    old, new = folders(known, "my-app")
    record = run_ccmove("--json", old, new, state=known).json()
    assert record["status"] == "refused"
    assert str(old) in record["error"]
    assert record["changes"] == []
    record = run_ccmove("--json", known.code / "x", known.code / "my-app", state=known).json()
    assert record["status"] == "nothing"
