"""The record of a rollback: it says that the way goes back before anything is undone."""

import pytest

from ccmove.api import apply, plan_move
from ccmove.run import progress, rollback, transaction
from ccmove.run.journal import read_run
from ccmove.run.rollback import Rollback
from ccmove.run.transaction import Work
from tests.support.life import Life
from tests.support.state import StateBuilder


class Killed(BaseException):
    """Nothing catches it on its way out."""


def die(*_: object) -> None:
    raise Killed


def test_the_first_line_comes_before_anything_is_undone(
    state: StateBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = Life(state)
    life.begin("old", "first")
    life.folder("new").mkdir(parents=True)
    old, new = life.path("old"), life.path("new")
    move = plan_move(old, new, config_dir=state.config_dir)
    with monkeypatch.context() as patched:
        patched.setattr(Work, "verify", die)
        patched.setattr(transaction, "_roll_back", lambda *_: None)
        with pytest.raises(Killed):
            apply(move)
    layout = move.state
    manifest = read_run(layout)
    assert manifest is not None
    number = len(manifest.operations)
    before = progress.read(layout.run_dir, number)
    assert (before.done, before.goes_back) == (number, False)
    monkeypatch.setattr(Rollback, "_undo", die)
    with pytest.raises(Killed):
        rollback.recover(layout)
    after = progress.read(layout.run_dir, number)
    assert (after.done, after.goes_back) == (number, True)
