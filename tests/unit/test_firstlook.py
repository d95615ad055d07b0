"""What another process finds in advance is what this one would find, or it does not count."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from ccmove import ahead, firstlook, history
from ccmove.firstlook import FirstLook, look
from ccmove.layout import Layout, find_layout
from ccmove.ownership import Ledger
from ccmove.pathmap import PathMap
from ccmove.plan import Plan, Request
from ccmove.planner import plan_move
from ccmove.state import Fingerprint, State, reader
from tests.support.state import StateBuilder, encoded_name
from tests.unit.test_halves import everything

HERE = os.getpid()

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no other one")


@pytest.fixture
def layout(state: StateBuilder, monkeypatch: pytest.MonkeyPatch) -> Layout:
    """A state with all that a first look may find, and few of each."""
    monkeypatch.setenv("HOME", str(state.home))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    state.project("app", prompts=40)
    state.project("other", prompts=40, memory={"MEMORY.md": f"as in {state.code / 'app'}\n"})
    state.odd_history("app", 60)
    aliases = state.project("third").directory / ".session-aliases"
    aliases.write_text(f"x={state.code / 'app'}\n")
    for directory in state.projects.iterdir():
        os.utime(directory, (1_700_000_000, 1_700_000_000))
    return find_layout(None, {})


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Everything is worth a look in advance; the processes that were made."""
    made: list[int] = []
    fork = os.fork

    def counted() -> int:
        child = fork()
        if child:
            made.append(child)
        return child

    monkeypatch.setattr(os, "fork", counted)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.setattr(ahead, "LARGE", 1)
    monkeypatch.setattr(ahead, "MANY", 1)
    monkeypatch.setattr(firstlook, "HEAD_START", 0)
    return made


@pytest.fixture
def move(state: StateBuilder) -> tuple[str, str]:
    return str(state.code / "app"), str(state.code / "new")


@pytest.fixture
def looked(layout: Layout, move: tuple[str, str], forks: list[int]) -> Iterator[Layout]:
    """Another process has begun to look."""
    with ahead.looking(lambda pipe: look(layout, move, pipe)):
        assert len(forks) == 1
        yield layout
    with pytest.raises(ChildProcessError):  # nobody is left to be waited for
        os.waitpid(forks[0], os.WNOHANG)


def scanned(layout: Layout, first_look: FirstLook, paths: PathMap, **more: Any) -> history.Scan:
    fd = os.open(layout.history, os.O_RDONLY)
    try:
        return first_look.scan(fd, Fingerprint.of(os.fstat(fd)), paths, **more)
    finally:
        os.close(fd)


def alone(layout: Layout, paths: PathMap) -> history.Scan:
    fd = os.open(layout.history, os.O_RDONLY)
    try:
        return history.scan(reader(fd), os.fstat(fd).st_size, paths)
    finally:
        os.close(fd)


@pytest.fixture
def own_scans(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The parts of a history that this process searches itself."""
    parts: list[tuple[int, int]] = []
    scan = history.scan

    def noted(read: Any, size: int, paths: PathMap, start: int = 0, tick: Any = None) -> Any:
        if os.getpid() == HERE and size > start:
            parts.append((start, size))
        return scan(read, size, paths, start, tick)

    monkeypatch.setattr(firstlook, "scan", noted)
    monkeypatch.setattr("ccmove.halves.scan", noted)
    return parts


@pytest.mark.parametrize("head_start", [0, 500, 1 << 30])
def test_both_together_find_what_one_finds(
    head_start: int,
    layout: Layout,
    move: tuple[str, str],
    forks: list[int],
    own_scans: list[tuple[int, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(firstlook, "HEAD_START", head_start)
    size = layout.history.stat().st_size
    with ahead.looking(lambda pipe: look(layout, move, pipe)):
        found = scanned(layout, FirstLook(layout), PathMap((move,)))
    assert everything(found) == everything(alone(layout, PathMap((move,))))
    assert found.lines > 40
    assert len(forks) == 1
    if head_start > size:
        assert own_scans == []
    else:
        ((start, end),) = own_scans
        assert (size + head_start) // 2 <= start < end == size


@pytest.mark.parametrize("what", ["grown", "replaced", "rewritten", "touched", "gone"])
def test_a_history_that_is_another_one_now_is_searched_again(
    what: str,
    layout: Layout,
    looked: Layout,
    move: tuple[str, str],
    own_scans: list[tuple[int, int]],
) -> None:
    first_look = FirstLook(layout)
    assert first_look.names()  # so it has answered
    file = looked.history
    data = file.read_bytes()
    if what == "grown":
        file.write_bytes(data + data[: data.index(b"\n") + 1])
    elif what == "replaced":
        file.rename(file.with_name("saved"))
        file.write_bytes(data)
    elif what == "rewritten":
        file.write_bytes(data.replace(move[0].encode(), move[1].encode(), 1))
    elif what == "touched":
        os.utime(file)
    else:
        file.unlink()
        file.write_bytes(b"")
    paths = PathMap((move,))
    assert everything(scanned(looked, first_look, paths)) == everything(alone(looked, paths))
    size = file.stat().st_size
    assert sum(end - start for start, end in own_scans) == size


def test_what_was_searched_for_another_move_does_not_count(
    layout: Layout, looked: Layout, state: StateBuilder, own_scans: list[tuple[int, int]]
) -> None:
    """As when nothing is known about the real path, and the path as typed is tried."""
    paths = PathMap(((str(state.code / "other"), str(state.code / "x")),))
    found = scanned(looked, FirstLook(layout), paths)
    assert everything(found) == everything(alone(looked, paths))
    assert found.lines == 40
    assert sum(end - start for start, end in own_scans) == looked.history.stat().st_size


def test_projects_that_stay_are_not_known_in_advance(
    layout: Layout, looked: Layout, state: StateBuilder, move: tuple[str, str]
) -> None:
    state.project("app/inside", prompts=9)
    paths = PathMap((move,), frozenset({str(state.code / "app/inside")}))
    assert everything(scanned(looked, FirstLook(layout), paths)) == everything(alone(looked, paths))


def test_the_answer_counts_once(layout: Layout, looked: Layout) -> None:
    """Who plans again wants to know what has changed."""
    assert FirstLook(layout).names() == State(looked).beside_sessions
    assert FirstLook(layout).names() == {}


def test_directories_that_came_later_are_listed_and_those_that_went_are_not(
    layout: Layout, looked: Layout, state: StateBuilder
) -> None:
    first_look = FirstLook(layout)
    before = first_look.names()
    later = state.project("later", memory={"MEMORY.md": "x"}).name
    gone = state.projects / encoded_name(str(state.code / "other"))
    gone.rename(state.root / "elsewhere")
    assert gone.name in before
    assert first_look.names() == {name: before[name] for name in before if name != gone.name}
    listed = State(looked, first_look.names).beside_sessions
    assert listed == State(looked).beside_sessions
    assert listed[later] == ["memory"]
    assert gone.name not in listed


@pytest.mark.parametrize("what", ["came", "went", "replaced", "touched"])
def test_a_directory_that_has_changed_since_is_listed_again(
    what: str, layout: Layout, looked: Layout, move: tuple[str, str], state: StateBuilder
) -> None:
    """As when an interrupted run is taken back first, and files are where they were again."""
    first_look = FirstLook(layout)
    scanned(looked, first_look, PathMap((move,)))  # so it has answered
    directory = state.projects / encoded_name(str(state.code / "third"))
    if what == "came":
        (directory / "notes.md").write_text("x")
    elif what == "went":
        (directory / ".session-aliases").unlink()
    elif what == "replaced":
        directory.rename(state.root / "elsewhere")
        directory.mkdir()
        os.utime(directory, (1_700_000_000, 1_700_000_000))
    else:
        os.utime(directory)
    names = first_look.names()
    assert directory.name not in names
    assert len(names) == 2
    assert State(looked, lambda: names).beside_sessions == State(looked).beside_sessions


def test_a_directory_that_may_still_be_changing_is_not_known_in_advance(
    layout: Layout, move: tuple[str, str], forks: list[int], state: StateBuilder
) -> None:
    """What comes a moment later may leave it with the very same date."""
    os.utime(state.projects / encoded_name(str(state.code / "third")))
    with ahead.looking(lambda pipe: look(layout, move, pipe)):
        assert len(FirstLook(layout).names()) == 2
    assert len(forks) == 1


def test_without_the_directories_nothing_is_known(layout: Layout, looked: Layout) -> None:
    first_look = FirstLook(layout)
    assert first_look.names()
    looked.projects.rename(looked.config_dir / "elsewhere")
    assert first_look.names() == {}


def test_what_was_listed_is_not_listed_again(
    layout: Layout, looked: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = FirstLook(layout).names()
    listed: list[object] = []
    monkeypatch.setattr(os, "listdir", listed.append)
    assert State(looked, lambda: names).beside_sessions == names
    assert listed == []


def in_the_other_process(trouble: Callable[[], object]) -> Callable[..., Any]:
    def beginning(fd: int, size: int) -> int:
        if os.getpid() != HERE:
            trouble()
        return size // 2

    return beginning


TROUBLES: dict[str, Callable[[], object]] = {
    "it fails": lambda: 1 // 0,
    "it is killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "it ends": lambda: os._exit(0),
}


def plan(layout: Layout, move: tuple[str, str]) -> Plan:
    return plan_move(layout, Request((move,)), Ledger())


def shown(made: Plan) -> tuple[object, ...]:
    """All that a plan is, in a form that can be compared."""
    prompts = made.history
    return (
        made.steps,
        [(file.path, file.after) for file in made.files],
        prompts and [everything(part.scan) for part in prompts.parts],
        made.left_alone,
        made.warnings,
        made.notes,
    )


@pytest.mark.parametrize("what", TROUBLES)
def test_whatever_happens_to_the_other_one(
    what: str,
    layout: Layout,
    move: tuple[str, str],
    forks: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = shown(plan(layout, move))
    monkeypatch.setattr(firstlook, "_beginning", in_the_other_process(TROUBLES[what]))
    with ahead.looking(lambda pipe: look(layout, move, pipe)):
        assert shown(plan(layout, move)) == expected
    assert len(forks) == 1


def test_a_plan_is_the_same_with_and_without_a_first_look(
    looked: Layout, move: tuple[str, str], own_scans: list[tuple[int, int]]
) -> None:
    with_it = shown(plan(looked, move))
    assert own_scans
    assert own_scans[0][0] > 0  # the control: the beginning came from the other process
    without = shown(plan(looked, move))
    assert own_scans[-1][0] == 0
    assert with_it == without
    assert any(left.what.startswith("Claude's notes") for left in plan(looked, move).left_alone)


def test_a_plan_lists_no_directory_that_was_listed_ahead(
    looked: Layout, move: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    listdir = os.listdir
    listed: list[str] = []

    def noted(path: Any = ".") -> list[str]:
        listed.append(str(path))
        return listdir(path)

    monkeypatch.setattr(os, "listdir", noted)
    inside = f"{looked.projects}/"
    plan(looked, move)
    assert [path for path in listed if path.startswith(inside)] == []
    plan(looked, move)
    assert len([path for path in listed if path.startswith(inside)]) == 3  # the control


def test_a_state_without_a_history(layout: Layout, move: tuple[str, str], forks: list[int]) -> None:
    layout.history.unlink()
    with ahead.looking(lambda pipe: look(layout, move, pipe)):
        first_look = FirstLook(layout)
        assert first_look.names() == State(layout).beside_sessions
        assert shown(plan(layout, move))[2] is None
    assert len(forks) == 1


def nothing(pipe: IO[bytes]) -> None:
    """A look that finds nothing."""


def begins(monkeypatch: pytest.MonkeyPatch, forks: list[int]) -> bool:
    before = len(forks)
    with ahead.looking(nothing):
        pass
    assert ahead.taken() is None
    return len(forks) > before


def test_only_much_is_looked_at_in_advance(
    layout: Layout, forks: list[int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    size, directories = layout.history.stat().st_size, len(os.listdir(layout.projects))
    assert begins(monkeypatch, forks)
    monkeypatch.setattr(ahead, "MANY", 100)
    monkeypatch.setattr(ahead, "LARGE", size)
    assert begins(monkeypatch, forks)
    monkeypatch.setattr(ahead, "LARGE", size + 1)
    assert not begins(monkeypatch, forks)
    if layout.projects.stat().st_nlink == directories + 2:  # as most file systems have it
        monkeypatch.setattr(ahead, "MANY", directories + 1)
        assert begins(monkeypatch, forks)
        monkeypatch.setattr(ahead, "MANY", directories + 2)
        assert not begins(monkeypatch, forks)
    monkeypatch.setattr(ahead, "LARGE", 1)
    for strange in (tmp_path / "none", "\0"):
        monkeypatch.setattr(os, "environ", {"CLAUDE_CONFIG_DIR": str(strange)})
        assert not begins(monkeypatch, forks)
    monkeypatch.setattr(os, "environ", {"CLAUDE_CONFIG_DIR": str(layout.config_dir)})
    assert begins(monkeypatch, forks)


def test_without_another_core_or_beside_threads_there_is_no_other_process(
    layout: Layout, forks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert not begins(monkeypatch, forks)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    assert not begins(monkeypatch, forks)
    monkeypatch.delitem(sys.modules, "threading")  # then nobody can have any
    assert begins(monkeypatch, forks)


def test_few_directories_are_not_listed_in_advance(
    layout: Layout, move: tuple[str, str], forks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "MANY", 1000)
    with ahead.looking(lambda pipe: look(layout, move, pipe)):
        assert FirstLook(layout).names() == {}
    assert len(forks) == 1


def test_progress_counts_the_whole_history(
    layout: Layout, looked: Layout, move: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "BLOCK", 256)
    seen: list[int] = []
    scanned(looked, FirstLook(layout), PathMap((move,)), tick=seen.append)
    assert seen == sorted(seen)
    assert len(seen) > 5
    assert seen[-1] == looked.history.stat().st_size
