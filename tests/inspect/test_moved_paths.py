"""A path from which we moved a project is answered with where that is now."""

import pytest

from tests.inspect.conftest import run_ccmove
from tests.support.state import StateBuilder


@pytest.mark.parametrize("command", ["list", "doctor", "verify", "where", "pack"])
def test_every_command_names_where_it_was_moved(
    state: StateBuilder, command: str
) -> None:
    """Also after two moves, and where another name is more alike."""
    old, between, new = (state.code / name for name in ("store-api", "b", "shop"))
    state.project(old)
    state.project("store-api-docker", make_folder=True)
    between.mkdir()
    assert run_ccmove(old, between, state=state).exit == 0
    between.rename(new)
    assert run_ccmove(between, new, state=state).exit == 0
    for path in (old, between):
        told = run_ccmove(command, path, state=state)
        assert told.exit == 3
        assert f"no data for {path}; it was moved to {new}\n" in told.err
        assert told.err.endswith(f"\n  -> ccmove {command} {new}\n")


def test_after_an_undo_the_new_path_is_one_that_nobody_knows(
    state: StateBuilder,
) -> None:
    state.project("old")
    (state.code / "new").mkdir()
    assert run_ccmove(state.code / "old", state.code / "new", state=state).exit == 0
    assert run_ccmove("undo", state=state).exit == 0
    told = run_ccmove("list", state.code / "new", state=state)
    assert "was moved" not in told.err
