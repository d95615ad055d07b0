"""A rollback: what it says of itself before anything is undone, and when it fails."""

import pytest

from ccmove.api import apply, plan_move
from ccmove.claude.layout import Layout
from ccmove.errors import CcmoveError, UnfinishedRunError
from ccmove.run import progress, rollback, transaction
from ccmove.run.journal import read_run
from ccmove.run.manifest import Manifest
from ccmove.run.rollback import Rollback
from ccmove.run.stage import StagedHistory
from ccmove.run.transaction import Work
from tests.support.life import Life
from tests.support.state import StateBuilder


class Killed(BaseException):
    """Nothing catches it on its way out."""


def die(*_: object) -> None:
    raise Killed


@pytest.fixture
def killed(
    state: StateBuilder, monkeypatch: pytest.MonkeyPatch
) -> tuple[Layout, Manifest]:
    """A move that died when all was changed and nothing verified."""
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
    manifest = read_run(move.state)
    assert manifest is not None
    return move.state, manifest


def test_the_first_line_comes_before_anything_is_undone(
    killed: tuple[Layout, Manifest], monkeypatch: pytest.MonkeyPatch
) -> None:
    layout, manifest = killed
    number = len(manifest.operations)
    before = progress.read(layout.run_dir, number)
    assert (before.done, before.goes_back) == (number, False)
    monkeypatch.setattr(Rollback, "_undo", die)
    with pytest.raises(Killed):
        rollback.recover(layout)
    after = progress.read(layout.run_dir, number)
    assert (after.done, after.goes_back) == (number, True)


def test_whatever_stops_it_the_run_is_said_to_be_unfinished(
    killed: tuple[Layout, Manifest], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any other error would say that everything is as it was."""
    layout, _ = killed

    def fail(*_: object) -> None:
        raise CcmoveError("the new history is not as planned")

    with monkeypatch.context() as patched:
        patched.setattr(StagedHistory, "stage", fail)
        with pytest.raises(UnfinishedRunError, match="not as planned"):
            rollback.recover(layout)
    assert "Everything is as it was" in str(rollback.recover(layout))
