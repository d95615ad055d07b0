"""Paths that are refused. What each refusal says, word for word:
tests/output/situations.py.
"""

import shlex
from pathlib import Path

import pytest

from tests.support.run import ccmove_command, run_ccmove, run_child
from tests.support.state import StateBuilder


@pytest.fixture
def known(state: StateBuilder) -> StateBuilder:
    state.project("my-app")
    return state


def folders(state: StateBuilder, *names: str) -> tuple[Path, Path]:
    for name in names:
        (state.code / name).mkdir(exist_ok=True)
    return state.code / "my-app", state.code / "new"


@pytest.mark.parametrize("root", ["/", "C:\\", "c:/", "\\\\"])
def test_neither_a_root_is_a_project_nor_new_its_own_old(
    known: StateBuilder, root: str
) -> None:
    _, new = folders(known, "new")
    for pair in ((root, new), (new, root)):
        done = run_ccmove("--skip-path-check", *pair, state=known)
        assert done.exit == 4
        assert "is not a project" in done.err
    assert run_ccmove("--skip-path-check", new, new, state=known).exit == 4


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


def test_a_parent_that_mv_brought_into_new_is_not_taken_for_new(
    state: StateBuilder,
) -> None:
    """Sessions would be stored for folders that do not exist."""
    for name in ("acme/alpha", "acme/beta"):
        state.project(name)
    old, new = state.code / "acme", state.code / "customers"
    (new / "acme" / "alpha").mkdir(parents=True)
    done = run_ccmove(old, new, state=state)
    assert done.exit == 4
    assert f"are not in {new}, but in {new / 'acme'}: mv probably moved" in done.err
    assert f"if so: ccmove {old} {new / 'acme'}\n" in done.err
    assert run_ccmove("-n", "--skip-path-check", old, new, state=state).exit == 0
    (new / "beta").mkdir()
    assert run_ccmove("-n", old, new, state=state).exit == 0


def test_a_folder_whose_data_is_at_new_is_renamed_alone(known: StateBuilder) -> None:
    """Back, for example, after an undo; the other path was offered as its own new one."""
    old, new = known.code / "my-app-2", known.code / "my-app"
    old.mkdir()
    done = run_ccmove("-m", old, new, state=known)
    assert done.exit == 3
    assert f"it already has data for {new}" in done.err
    assert f"to rename the folder alone: mv {old} {new}\n" in done.err
    assert "did you mean" not in done.err
    old.rename(new)
    done = run_ccmove(old, new, state=known)
    assert done.exit == 3
    assert f"it already has data for {new}" in done.err
    assert "did you mean" not in done.err


def test_a_refused_line_of_a_list_is_named(known: StateBuilder) -> None:
    old, new = folders(known, "my-app")
    done = run_ccmove("--from-file", "-", state=known, input=f"\n{old}\t{new}\n")
    assert done.exit == 4
    assert (
        f"standard input, line 2: {old} still exists, and {new} does not exist"
        in done.err
    )
    assert "ccmove --move-folder --from-file -" in done.err


def test_a_link_is_not_renamed_with_the_folder_behind_it(known: StateBuilder) -> None:
    real = known.root / "disk" / "app"
    known.project(real, make_folder=True)
    link, new = known.code / "link", known.code / "new"
    link.symlink_to(real)
    done = run_ccmove("-m", "--only", f"{link}/", new, state=known)
    assert done.exit == 4
    assert f"mv {link} {new}" in done.err
    assert f"ccmove --move-folder --only {real} {new}" in done.err
    assert run_ccmove("-m", real, new, state=known).exit == 0
    assert new.is_dir()


def test_a_folder_is_not_offered_a_place_in_another_project(
    known: StateBuilder,
) -> None:
    old, new = folders(known, "my-app", "new")
    plain = run_ccmove("-m", old, new, state=known)
    assert f"to move it into that folder: ccmove --move-folder {old}" in plain.err
    (new / ".git").mkdir()
    repository = run_ccmove("-m", old, new, state=known)
    known.project("used", make_folder=True)
    used = run_ccmove("-m", old, known.code / "used", state=known)
    for done in (repository, used):
        assert done.exit == 4
        assert "already exists" in done.err
        assert "--move-folder" not in done.err


def test_a_folder_that_is_not_there_may_be_swapped_with_new(
    known: StateBuilder,
) -> None:
    old, new = folders(known, "my-app")
    done = run_ccmove("-m", new, old, state=known)
    assert done.exit == 4
    assert f"if the two are swapped: ccmove --move-folder {old} {new}\n" in done.err
    assert run_ccmove("-m", old, new, state=known).exit == 0


def test_a_folder_is_not_offered_a_place_in_itself(known: StateBuilder) -> None:
    old, _ = folders(known, "my-app")
    done = run_ccmove(old, old / "sub", state=known)
    assert done.exit == 4
    assert "--move-folder" not in done.err


def test_a_link_that_was_left_behind_for_new_is_not_a_folder_to_rename(
    known: StateBuilder,
) -> None:
    old, new = folders(known, "new")
    old.symlink_to(new)
    done = run_ccmove("-m", old, new, state=known)
    assert done.exit == 4
    assert f"leave --move-folder out: ccmove {old} {new}" in done.err
    assert run_ccmove(old, new, state=known).exit == 0
    assert old.is_symlink()


@pytest.mark.parametrize(
    "typed", [". /new", "/old ../new", "verify .", "doctor sub", "CODE/my-app CODE/new"]
)
def test_in_a_folder_that_was_deleted_only_whole_paths_work(
    known: StateBuilder, typed: str
) -> None:
    folders(known, "new")
    gone = known.root / "gone"
    gone.mkdir()
    command = shlex.join(
        ccmove_command(*typed.replace("CODE", str(known.code)).split())
    )
    importable = {"PYTHONPATH": str(Path(__file__).parents[2])}
    words = ["bash", "-c", f"cd {gone} && rmdir {gone} && {command}"]
    done = run_child(words, state=known, env=importable)
    said = f"the current folder, {gone}, does not exist any more" in done.err
    assert (done.exit, said) == ((0, False) if "CODE" in typed else (1, True)), done.err
    assert "Traceback" not in done.err


def test_yes_changes_nothing_with_two_paths(known: StateBuilder) -> None:
    old, new = folders(known, "my-app", "new")
    assert run_ccmove("-y", old, new, state=known).exit == 4
    old.rmdir()
    assert run_ccmove("--yes", old, new, state=known).exit == 0


def test_a_typo_in_old_is_answered_also_if_new_has_data(known: StateBuilder) -> None:
    old, new = folders(known, "new")
    known.project("new")
    done = run_ccmove(known.code / "my-ap", new, state=known)
    assert (done.exit, "already" in done.err) == (3, False)
    assert f"did you mean: ccmove {old} {new}" in done.err
    done = run_ccmove(known.code / "quite-different", new, state=known)
    assert (done.exit, "already" in done.err) == (3, True)


@pytest.mark.parametrize(
    "text", ["", "no tab here\n", "/a\t/b\t/c\n", "\t/b\n", "/a\t\n"]
)
def test_a_list_of_moves_that_makes_no_sense_is_exit_2(
    known: StateBuilder, text: str
) -> None:
    assert run_ccmove("--from-file", "-", state=known, input=text).exit == 2
