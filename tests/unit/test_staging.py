"""Staging a history: both hashes are right, and whatever fails, no thread stays behind."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path

import pytest

from ccmove.claude.layout import Layout
from ccmove.plan.model import Request
from ccmove.plan.planner import Ledger, plan_move
from ccmove.run import disk as files
from ccmove.run.disk import Attributes
from ccmove.run.stage import StagedHistory
from tests.support import threads
from tests.support.state import StateBuilder


@pytest.fixture
def threads_before() -> int:
    return threading.active_count()


@pytest.fixture
def staged(state: StateBuilder) -> StagedHistory:
    """A history of some megabytes that is to be staged."""
    project = state.project("my-app", sessions=1, prompts=5)
    line = state.history.read_bytes()
    state.history.write_bytes(line * (3_000_000 // len(line)))
    new = state.code / "new-app"
    new.mkdir(parents=True)
    moves = ((project.path, str(new)),)
    layout = Layout(state.config_dir, state.config_file, state.home)
    plan = plan_move(layout, Request(moves, moves), Ledger())
    assert plan.history is not None
    return StagedHistory(plan.history, state.config_dir / "staged", plan.paths)


def hashes(staged: StagedHistory) -> tuple[str, str]:
    before, after = staged.contents()
    return before.sha256, after.sha256


def of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_both_hashes_are_those_of_the_files_also_when_the_history_grows(
    staged: StagedHistory, state: StateBuilder
) -> None:
    staged.write(Attributes(), None)
    assert hashes(staged) == (of(state.history), of(staged.staged))
    with state.history.open("ab") as history:
        history.write(state.history.read_bytes()[: state.history.read_bytes().index(b"\n") + 1])
    assert staged.carry_over(None)
    assert hashes(staged) == (of(state.history), of(staged.staged))


def test_what_was_not_written_as_planned_is_noticed_and_no_thread_stays(
    threads_before: int, staged: StagedHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_all = files.write_all

    def spoiled(fd: int, data: bytes) -> None:
        write_all(fd, data)
        os.pwrite(fd, b"?", 2_000_000)

    monkeypatch.setattr(files, "write_all", spoiled)
    with pytest.raises(Exception, match="it differs after byte"):
        staged.write(Attributes(), None)
    assert threads.come_down_to(threads_before)


@pytest.mark.parametrize("when", ["before it is copied", "while it is copied", "afterwards"])
def test_a_copied_backup_gets_what_it_lacks_of_a_grown_history_and_no_more(
    when: str, staged: StagedHistory, state: StateBuilder
) -> None:
    """Where there are no hard links the backup is a copy, of the history as it was by then."""
    before = state.history.read_bytes()
    line = before[: before.index(b"\n") + 1]
    copied = {"before it is copied": before + line, "while it is copied": before + line[:20]}
    saved = state.config_dir / "saved"
    saved.write_bytes(copied.get(when, before))
    staged.write(Attributes(), None)
    state.history.write_bytes(before + line)  # the same file, and longer
    assert staged.carry_over(saved)
    assert saved.read_bytes() == before + line
    assert hashes(staged) == (of(saved), of(staged.staged))
