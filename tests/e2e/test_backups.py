"""Backups that are named, pruned and undone; commands that name the state they are
about.
"""

import pytest

from tests.support.run import run_ccmove
from tests.support.state import StateBuilder


@pytest.fixture
def three(state: StateBuilder) -> StateBuilder:
    state.project("one")
    for old, new in (("one", "two"), ("two", "three"), ("three", "four")):
        (state.code / new).mkdir(parents=True)
        if old != "one":
            (state.code / old).rmdir()
        assert run_ccmove(state.code / old, state.code / new, state=state).exit == 0
    return state


def identifiers(state: StateBuilder, *words: str) -> list[str]:
    rows = run_ccmove("backups", "--json", *words, state=state).json()["backups"]
    return [row["id"] for row in rows]


def pruned(state: StateBuilder, *words: str) -> list[str]:
    """The IDs that are left."""
    rows = run_ccmove("prune", "--json", *words, state=state).json()["backups"]
    return [row["id"] for row in rows]


def test_a_backup_that_is_named_goes_and_no_other(three: StateBuilder) -> None:
    newest, middle, oldest = identifiers(three)
    assert identifiers(three, middle) == [middle]
    assert pruned(three, middle) == [newest, oldest]


def test_what_is_named_goes_beside_what_is_beyond_the_newest(
    three: StateBuilder,
) -> None:
    newest, middle, _ = identifiers(three)
    assert pruned(three, "--keep", "2", newest) == [middle]


def test_a_name_that_nobody_knows_removes_nothing(three: StateBuilder) -> None:
    before = identifiers(three)
    words = ("prune", "--keep", "0", before[0], "20200101T000000Z-0000")
    done = run_ccmove(*words, state=three)
    assert done.exit == 3
    assert "20200101T000000Z-0000" in done.err
    assert identifiers(three) == before


def test_nothing_is_set_aside_where_nothing_was_interrupted(
    state: StateBuilder,
) -> None:
    done = run_ccmove("recover", "--set-aside", "--json", state=state)
    assert (done.exit, done.json()["status"]) == (0, "recovered")  # as `recover`
    assert not (state.config_dir / "ccmove").exists()


def test_the_command_to_undo_acts_on_the_same_state(state: StateBuilder) -> None:
    state.project("one")
    (state.code / "two").mkdir()
    chosen = ("--config-dir", str(state.config_dir))
    done = run_ccmove(*chosen, state.code / "one", state.code / "two", state=state)
    undo = done.out.splitlines()[-1].partition("To undo: ")[2].split()
    assert undo[:4] == ["ccmove", *chosen, "undo"]
    assert run_ccmove(*undo[1:], state=state).exit == 0


@pytest.mark.parametrize(
    "identifier",
    [
        "../x",
        "20261116T004112Z",
        "x",
        "-x",
        "20261116T004112Z-zzzz",
        "20200101T000000Z-0000",
    ],
)
def test_an_id_that_nobody_knows_is_exit_3_everywhere(
    three: StateBuilder, identifier: str
) -> None:
    for command in (["restore"], ["show"], ["backups"], ["prune"]):
        done = run_ccmove(*command, "--", identifier, state=three)
        assert (done.exit, done.err) == (
            3, f"ccmove: there is no backup {identifier}\n  -> past moves: ccmove backups\n"
        )  # fmt: skip


def test_pruning_keeps_the_newest(three: StateBuilder) -> None:

    assert len(pruned(three, "--older-than", "1d")) == 3
    newest = identifiers(three)[0]
    assert pruned(three, "--keep", "1") == [newest]
    assert run_ccmove("restore", state=three).exit == 0


def test_a_preview_of_a_pruning_that_would_remove_nothing_offers_nothing(
    state: StateBuilder,
) -> None:
    state.project("old")
    (state.code / "new").mkdir()
    assert run_ccmove(state.code / "old", state.code / "new", state=state).exit == 0
    told = run_ccmove("prune", "-n", state=state)
    assert told.out.splitlines()[-1] == "Nothing to remove: 1 kept."
    assert "To apply" in run_ccmove("prune", "--keep", "0", "-n", state=state).out


def test_of_what_is_pruned_only_that_is_listed(three: StateBuilder) -> None:
    nothing = run_ccmove("prune", state=three)
    assert nothing.out == "Nothing to remove: 3 kept.\n"
    newest, _, oldest = identifiers(three)
    told = run_ccmove("prune", "--keep", "2", state=three)
    assert oldest in told.out
    assert newest not in told.out
    assert "; 2 kept." in told.out


def test_where_nothing_can_be_undone_no_way_to_is_offered(state: StateBuilder) -> None:
    assert run_ccmove("prune", state=state).out == "There are no backups.\n"
    state.project("old")
    old, new = state.code / "old", state.code / "new"
    new.mkdir()
    assert run_ccmove(old, new, state=state).exit == 0
    assert "To undo one: ccmove undo ID" in run_ccmove("backups", state=state).out
    assert run_ccmove("undo", state=state).exit == 0
    assert "None of them can be undone." in run_ccmove("backups", state=state).out
    again = run_ccmove("undo", state=state)
    assert again.exit == 3
    assert "is itself an undo, and an undo can't be undone" in again.err


def test_once_all_is_pruned_the_way_back_is_another_move(state: StateBuilder) -> None:
    state.project("old")
    old, new = state.code / "old", state.code / "new"
    new.mkdir()
    assert run_ccmove(old, new, state=state).exit == 0
    assert run_ccmove("prune", "--keep", "0", state=state).exit == 0
    done = run_ccmove("undo", state=state)
    assert done.exit == 3
    assert "-> rename the folder back, then: ccmove NEW OLD\n" in done.err
    new.rename(old)
    assert run_ccmove(new, old, state=state).exit == 0
