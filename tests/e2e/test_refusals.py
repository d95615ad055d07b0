"""Wrong paths are refused before the state is looked at, each with the next command to type."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.run import run_ccmove
from tests.support.state import StateBuilder


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


def test_a_move_that_was_done_already_says_so(known: StateBuilder) -> None:
    old, new = folders(known, "new")
    assert run_ccmove(old, new, state=known).exit == 0
    done = run_ccmove(old, new, state=known)
    assert done.exit == 3
    assert "already" in done.err


def test_no_state_at_all(state: StateBuilder) -> None:
    (state.code / "new").mkdir(parents=True)
    missing = state.root / "nowhere"
    done = run_ccmove("--config-dir", missing, state.code / "a", state.code / "new", state=state)
    assert done.exit == 3
    assert str(missing) in done.err
    assert not missing.exists()


@pytest.mark.parametrize(
    "arguments",
    [("one",), ("a", "b", "c"), ("--no-such-option", "a", "b"), ("--verify", "x", "a", "b")],
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
