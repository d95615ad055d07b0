"""While planning the state, each manifest and the history are read once.

A run does that before it has the lock; under the lock it looks again at what it
replaces, and only if something has changed meanwhile it plans, and reads, once more.
"""

from collections import Counter
from pathlib import Path

import pytest

from ccmove import api
from ccmove.system import Folder
from tests.support.life import Life
from tests.support.state import StateBuilder


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[Path]:
    """How often each file was opened to be read: all reading goes through `Folder`."""
    times: Counter[Path] = Counter()
    open_in = Folder.open

    def counting(folder: Folder, name: str) -> int:
        times[folder.path / name] += 1
        return open_in(folder, name)

    monkeypatch.setattr(Folder, "open", counting)
    return times


@pytest.fixture
def life(state: StateBuilder) -> Life:
    """Two earlier moves, of which one was undone; `old` is renamed to `new` by hand,
    which has sessions, notes and an index of its own.
    """
    life = Life(state)
    for name in ("other", "undone", "old", "new"):
        session = life.begin(name, f"begun in {name}")
        life.list_in_index(name, session, create=True)
        life.remember(name, f"- {name} remembers")
        life.write_note(name, "topic.md", f"topic of {name}")
    for name in ("moved", "back", "new"):
        life.folder(name).mkdir(parents=True)
    move(life, "undone", "back")
    api.undo(config_dir=state.config_dir)
    move(life, "other", "moved")
    return life


def move(life: Life, old: str, new: str) -> None:
    planned = api.plan_move(
        life.path(old), life.path(new), config_dir=life.state.config_dir
    )
    api.apply(planned)


def test_a_preview_of_a_move(life: Life, opened: Counter[Path]) -> None:
    config_dir = life.state.config_dir
    opened.clear()
    api.plan_move(life.path("old"), life.path("new"), config_dir=config_dir)
    assert several(opened) == {}


def test_a_preview_of_an_undo(life: Life, opened: Counter[Path]) -> None:
    config_dir = life.state.config_dir
    move(life, "old", "new")
    life.begin("new", "begun since")
    opened.clear()
    api.undo(config_dir=config_dir, dry_run=True)
    assert several(opened) == {}


def several(opened: Counter[Path]) -> dict[Path, int]:
    """What was opened more than once.

    Not notes, of which two are compared and those that move are saved; not transcripts
    that move, which are looked at again for a worktree once the plan is made; nor what
    tells whether the daemon is running.
    """
    more: dict[Path, int] = {}
    for path, times in opened.items():
        is_note = path.parent.name == "memory"
        is_transcript = path.suffix == ".jsonl" and path.name != "history.jsonl"
        limit = 2 if is_transcript else 1
        if times > limit and not is_note and path.name != "daemon.lock":
            more[path] = times
    return more
