"""The Python API does what its documentation shows."""

import pytest

from ccmove.api import apply, plan_move, restore
from ccmove.errors import CcmoveError, RefusedError
from tests.support.state import StateBuilder
from tests.support.tree import snapshot


@pytest.fixture
def known(state: StateBuilder, monkeypatch: pytest.MonkeyPatch) -> StateBuilder:
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(state.home))
    state.project("old", index=True)
    (state.code / "new").mkdir()
    return state


def test_plan_apply_and_restore(known: StateBuilder) -> None:
    before = contents(known)
    move = plan_move(str(known.code / "old"), str(known.code / "new"))
    planned = move.preview.to_json()
    assert planned["status"] == "planned"
    assert contents(known) == before
    done = apply(move)
    assert done.status == "moved"
    assert done.to_json()["changes"] == planned["changes"]
    assert contents(known) != before
    assert restore(done.backup).status == "restored"
    assert contents(known) == before


def contents(state: StateBuilder) -> dict[str, bytes | None]:
    tree = snapshot(state.home)
    return {
        name: entry.content
        for name, entry in tree.items()
        if ".claude/ccmove" not in name
    }


def test_options_are_those_of_the_command_line(known: StateBuilder) -> None:
    old, new, gone = (str(known.code / name) for name in ("old", "new", "gone"))
    with pytest.raises(RefusedError) as refused:
        plan_move(old, gone)
    assert refused.value.exit_code == 4
    assert plan_move(old, gone, skip_path_check=True).preview.status == "planned"
    with pytest.raises(CcmoveError) as nothing:
        plan_move(old, new, config_dir=str(known.root / "other"))
    assert nothing.value.exit_code == 3
