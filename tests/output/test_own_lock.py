"""Our lock is the one that the package filelock takes, so that others can take it too."""

from __future__ import annotations

from pathlib import Path

import pytest
from filelock import FileLock, Timeout

from ccmove.claude.layout import Layout
from ccmove.errors import RefusedError
from ccmove.run.locks import own_lock


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    config_dir = tmp_path / ".claude"
    config_dir.mkdir()
    return Layout(config_dir, tmp_path / ".claude.json", tmp_path)


def test_who_holds_it_by_filelock_keeps_us_out(layout: Layout) -> None:
    with own_lock(layout):
        pass  # which makes the file
    held = FileLock(layout.lock)
    with held, pytest.raises(RefusedError, match="another ccmove is at work"), own_lock(layout):
        pass
    with own_lock(layout):
        pass


def test_while_we_hold_it_filelock_waits(layout: Layout) -> None:
    theirs = FileLock(layout.lock, timeout=0)
    with own_lock(layout), pytest.raises(Timeout):
        theirs.acquire()
    with theirs:
        assert theirs.is_locked


def test_a_run_that_ends_badly_gives_it_back(layout: Layout) -> None:
    with pytest.raises(ZeroDivisionError), own_lock(layout):
        raise ZeroDivisionError
    with own_lock(layout):
        pass
