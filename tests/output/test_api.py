"""The Python API does what its documentation shows, and the command line goes through it."""

from __future__ import annotations

import subprocess
import sys

import pytest

import ccmove
from ccmove import CcmoveError, RefusedError, apply, find_state, plan_move, restore
from tests.output.inprocess import Run, run
from tests.support.state import StateBuilder
from tests.support.tree import snapshot

__all__ = ["run"]  # a fixture


@pytest.fixture
def known(state: StateBuilder, monkeypatch: pytest.MonkeyPatch) -> StateBuilder:
    monkeypatch.setenv("HOME", str(state.home))
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
    return {name: entry.content for name, entry in tree.items() if ".claude/ccmove" not in name}


def test_options_are_those_of_the_command_line(known: StateBuilder) -> None:
    old, gone = str(known.code / "old"), str(known.code / "gone")
    with pytest.raises(RefusedError) as refused:
        plan_move(old, gone)
    assert refused.value.exit_code == 4
    assert plan_move(old, gone, skip_path_check=True).preview.status == "planned"


def test_a_state_elsewhere_is_named_by_its_directory(known: StateBuilder) -> None:
    assert find_state(str(known.root / "other")).config_dir == known.root / "other"
    old, new = str(known.code / "old"), str(known.code / "new")
    with pytest.raises(CcmoveError) as nothing:
        plan_move(old, new, config_dir=str(known.root / "other"))
    assert nothing.value.exit_code == 3


@pytest.mark.parametrize("name", ["apply", "restore"])
def test_the_command_line_goes_through_the_api(
    name: str, known: StateBuilder, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = []
    real = getattr(ccmove.api, name)

    def watched(*arguments: object, **options: object) -> object:
        called.append(name)
        return real(*arguments, **options)

    monkeypatch.setattr(ccmove.api, name, watched)
    run("-q", known.code / "old", known.code / "new")
    run("-q", "restore")
    assert called == [name]


def test_everything_that_is_exported_is_there() -> None:
    for name in ccmove.__all__:
        assert getattr(ccmove, name) is not None
    with pytest.raises(AttributeError):
        _ = ccmove.no_such_thing


def test_importing_the_package_loads_nothing_of_it() -> None:
    script = "import ccmove, sys; print(*(m for m in sys.modules if m.startswith('ccmove')))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["ccmove"]
