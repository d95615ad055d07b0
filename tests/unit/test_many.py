"""Of many project directories, or sessions in one, another process looks at some."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from ccmove.claude import state as look
from ccmove.claude.layout import Layout, find_layout
from ccmove.claude.ownership import Ledger
from ccmove.claude.state import State, read_directory
from ccmove.plan.model import Request
from ccmove.plan.planner import plan_move
from tests.support.state import StateBuilder, encoded_name

HERE = os.getpid()

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere one process does it")


@pytest.fixture
def layout(state: StateBuilder, monkeypatch: pytest.MonkeyPatch) -> Layout:
    monkeypatch.setenv("HOME", str(state.home))
    for number in range(8):
        notes = {"MEMORY.md": f"as in {state.code / 'app'}\n"}
        state.project(f"other-{number}", memory=notes if number % 2 else None)
    project = state.project("app", sessions=9, index=True)
    directory = state.projects / encoded_name(project.path)
    (directory / "empty.jsonl").touch()
    (directory / "folder.jsonl").mkdir()
    (directory / "torn.jsonl").write_bytes(b'{"cwd":"/x')
    (directory / "link.jsonl").symlink_to(directory / "empty.jsonl")
    os.mkfifo(directory / "pipe.jsonl")
    (directory / "caf\udce9.txt").touch()
    return find_layout(None, {})


@pytest.fixture
def directory(state: StateBuilder, layout: Layout) -> Path:
    return layout.projects / encoded_name(str(state.code / "app"))


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(look, "MANY_ENTRIES", 1)
    monkeypatch.setattr(look, "MANY_DIRECTORIES", 1)


def test_a_directory_is_looked_into_by_two(
    directory: Path, forks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = read_directory(directory)
    assert forks == []
    assert len(alone.items) > 14
    assert sum(item.path is not None for item in alone.items) == 9
    monkeypatch.setattr(look, "MANY_ENTRIES", len(alone.items))
    together = read_directory(directory)
    assert len(forks) == 1
    assert together[:4] == alone[:4]
    assert all(type(item) is look.Item for item in together.items)


def test_what_can_t_be_read_in_either_half_is_told(
    directory: Path, many: None, forks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [item.name for item in read_directory(directory).items if item.path is not None]
    open_in = look._open_in

    for bad in (names[0], names[-1]):

        def closed(fd: int, name: str, bad: str = bad) -> int | None:
            if name == bad:
                raise PermissionError(13, "closed", name)
            return open_in(fd, name)

        monkeypatch.setattr(look, "_open_in", closed)
        with pytest.raises(PermissionError) as caught:
            read_directory(directory)
        assert caught.value.filename == str(directory / bad)


def test_directories_are_listed_by_another_one(
    layout: Layout, many: None, forks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = State(layout).beside_sessions
    assert forks == []
    assert any("caf\udce9.txt" in entries for entries in alone.values())
    state = State(layout)
    with state.listing():
        assert len(forks) == 1
        monkeypatch.setattr(state, "_beside_sessions", None)  # it is not asked here
        assert state.beside_sessions == alone
    with pytest.raises(ChildProcessError):
        os.waitpid(forks[0], os.WNOHANG)


def test_when_nobody_asks_nobody_is_left(layout: Layout, many: None, forks: list[int]) -> None:
    state = State(layout)
    with state.listing():
        pass
    with pytest.raises(ChildProcessError):
        os.waitpid(forks[0], os.WNOHANG)
    assert state.beside_sessions == State(layout).beside_sessions


def test_what_can_t_be_listed_is_told_from_here(
    layout: Layout, many: None, forks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    listdir = os.listdir
    closed = str(layout.projects / State(layout).directory_names[3])

    def refused(path: object = ".") -> list[str]:
        if path == closed:
            raise PermissionError(13, "closed", closed)
        return listdir(path)  # type: ignore[arg-type,return-value]

    monkeypatch.setattr(os, "listdir", refused)
    state = State(layout)
    with state.listing(), pytest.raises(PermissionError):
        _ = state.beside_sessions
    assert len(forks) == 1


def test_few_directories_are_listed_here(
    layout: Layout, forks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    state = State(layout)
    number = len(state.directory_names)
    monkeypatch.setattr(look, "MANY_DIRECTORIES", number + 1)
    with state.listing():
        assert state.beside_sessions
    assert forks == []
    monkeypatch.setattr(look, "MANY_DIRECTORIES", number)
    with State(layout).listing():
        pass
    assert len(forks) == 1


def test_a_plan_is_the_same_with_and_without(
    layout: Layout, state: StateBuilder, forks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    request = Request(((str(state.code / "app"), str(state.code / "new")),))
    alone = plan_move(layout, request, Ledger())
    assert forks == []
    monkeypatch.setattr(look, "MANY_ENTRIES", 1)
    monkeypatch.setattr(look, "MANY_DIRECTORIES", 1)
    together = plan_move(layout, request, Ledger())
    assert len(forks) > 1
    assert (together.projects, together.steps, together.left_alone) == (
        alone.projects,
        alone.steps,
        alone.left_alone,
    )
    assert sum("Claude's notes" in left.what for left in together.left_alone) == 4
