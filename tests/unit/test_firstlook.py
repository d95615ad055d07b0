"""What another process finds in advance is what this one would find, or it does not count."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from ccmove import ahead, bothends
from ccmove.claude.layout import Layout, find_layout
from ccmove.claude.ownership import Ledger
from ccmove.claude.reading import Fingerprint, reader
from ccmove.firstlook import look, scan_history
from ccmove.otherprocess import OtherProcess
from ccmove.plan.model import Plan, Request
from ccmove.plan.planner import plan_move
from ccmove.rewrite import history
from ccmove.rewrite.pathmap import PathMap
from tests.support.state import StateBuilder
from tests.unit.test_bothends import MEETINGS, everything, meet

HERE = os.getpid()
LINE_FROM = bothends.line_from
RECEIVE = OtherProcess.receive

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no other one")


@pytest.fixture
def layout(state: StateBuilder, monkeypatch: pytest.MonkeyPatch) -> Layout:
    """A state with all that a first look may find, and few of each."""
    monkeypatch.setenv("HOME", str(state.home))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    state.project("app", prompts=40)
    state.project("other", prompts=40, memory={"MEMORY.md": f"as in {state.code / 'app'}\n"})
    state.odd_history("app", 60)
    return find_layout(None, {})


@pytest.fixture
def forks(forks: list[int], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Everything is worth a look in advance; the processes that were made."""
    monkeypatch.setattr(ahead, "LARGE", 1)
    monkeypatch.setattr(bothends, "PART", 500)
    meet(monkeypatch, MEETINGS["in turns"])
    return forks


@pytest.fixture
def move(state: StateBuilder) -> tuple[str, str]:
    return str(state.code / "app"), str(state.code / "new")


@pytest.fixture
def looked(layout: Layout, move: tuple[str, str], forks: list[int]) -> Iterator[Layout]:
    """Another process has begun to look."""
    with ahead.looking(lambda: lambda pipe: look(layout, move, pipe)):
        assert len(forks) == 1
        yield layout
    with pytest.raises(ChildProcessError):  # nobody is left to be waited for
        os.waitpid(forks[0], os.WNOHANG)


def scanned(layout: Layout, paths: PathMap, **more: Any) -> history.Scan:
    fd = os.open(layout.history, os.O_RDONLY)
    try:
        return scan_history(fd, Fingerprint.of(os.fstat(fd)), paths, **more)
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

    monkeypatch.setattr(bothends, "scan", noted)
    return parts


@pytest.mark.parametrize("way", MEETINGS)
def test_both_together_find_what_one_finds(
    way: str,
    layout: Layout,
    move: tuple[str, str],
    forks: list[int],
    own_scans: list[tuple[int, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    meet(monkeypatch, MEETINGS[way])
    size = layout.history.stat().st_size
    with ahead.looking(lambda: lambda pipe: look(layout, move, pipe)):
        found = scanned(layout, PathMap((move,)))
    own = sum(end - start for start, end in own_scans)
    assert everything(found) == everything(alone(layout, PathMap((move,))))
    assert found.lines > 40
    assert len(forks) == 1
    if way == "this one first":
        assert own == size
    else:
        assert own < size


def test_nobody_waits_for_one_that_has_not_begun(
    layout: Layout, move: tuple[str, str], forks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OtherProcess, "receive", RECEIVE)
    with ahead.looking(lambda: lambda _: time.sleep(600)):
        found = scanned(layout, PathMap((move,)))
    with pytest.raises(ChildProcessError):
        os.waitpid(forks[0], os.WNOHANG)
    assert everything(found) == everything(alone(layout, PathMap((move,))))


@pytest.mark.parametrize("what", ["grown", "replaced", "rewritten", "touched", "gone"])
def test_a_history_that_is_another_one_now_is_searched_again(
    what: str,
    layout: Layout,
    looked: Layout,
    move: tuple[str, str],
    own_scans: list[tuple[int, int]],
) -> None:
    (other,) = ahead._under_way
    assert select.select([other._ends[0]], [], [], 60)[0], "it has answered"
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
    found = scanned(looked, paths)
    assert everything(found) == everything(alone(looked, paths))
    size = file.stat().st_size
    assert sum(end - start for start, end in own_scans) == size


def test_what_was_searched_for_another_move_does_not_count(
    layout: Layout, looked: Layout, state: StateBuilder, own_scans: list[tuple[int, int]]
) -> None:
    """As when nothing is known about the real path, and the path as typed is tried."""
    paths = PathMap(((str(state.code / "other"), str(state.code / "x")),))
    found = scanned(looked, paths)
    assert everything(found) == everything(alone(looked, paths))
    assert found.lines == 40
    assert sum(end - start for start, end in own_scans) == looked.history.stat().st_size


def test_projects_that_stay_are_not_known_in_advance(
    layout: Layout, looked: Layout, state: StateBuilder, move: tuple[str, str]
) -> None:
    state.project("app/inside", prompts=9)
    paths = PathMap((move,), frozenset({str(state.code / "app/inside")}))
    assert everything(scanned(looked, paths)) == everything(alone(looked, paths))


def in_the_other_process(trouble: Callable[[], object]) -> Callable[..., Any]:
    def line_from(fd: int, position: int, size: int) -> int:
        if os.getpid() != HERE:
            trouble()
        return LINE_FROM(fd, position, size)

    return line_from


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
    monkeypatch.setattr(bothends, "line_from", in_the_other_process(TROUBLES[what]))
    with ahead.looking(lambda: lambda pipe: look(layout, move, pipe)):
        assert shown(plan(layout, move)) == expected
    assert len(forks) == 1


def test_a_plan_is_the_same_with_and_without_a_first_look(
    looked: Layout, move: tuple[str, str], own_scans: list[tuple[int, int]]
) -> None:
    with_it = shown(plan(looked, move))
    assert own_scans
    assert own_scans[-1][0] > 0  # the control: the beginning came from the other process
    without = shown(plan(looked, move))
    assert own_scans[-1][0] == 0
    assert with_it == without
    assert any(left.what.startswith("Claude's notes") for left in plan(looked, move).left_alone)


def test_a_history_that_is_gone_when_it_is_to_be_searched(
    layout: Layout, move: tuple[str, str], forks: list[int]
) -> None:
    def look_too_late(pipe: IO[bytes]) -> None:
        layout.history.unlink()
        look(layout, move, pipe)

    with ahead.looking(lambda: look_too_late):
        (other,) = ahead._under_way
        os.close(other._ends[1])  # so that its end can be seen
        other._ends = (other._ends[0], os.open(os.devnull, os.O_RDONLY))
        assert select.select([other._ends[0]], [], [], 60)[0], "it has ended"
        assert plan(layout, move).history is None
    assert len(forks) == 1


def nothing(pipe: IO[bytes]) -> None:
    """A look that finds nothing."""


def begins(forks: list[int]) -> bool:
    before = len(forks)
    with ahead.looking(lambda: nothing):
        pass
    assert ahead.taken() is None
    return len(forks) > before


def test_only_a_large_history_is_searched_in_advance(
    layout: Layout, forks: list[int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    size = layout.history.stat().st_size
    monkeypatch.setattr(ahead, "LARGE", size)
    assert begins(forks)
    monkeypatch.setattr(ahead, "LARGE", size + 1)
    assert not begins(forks)
    monkeypatch.setattr(ahead, "LARGE", 1)
    for strange in (tmp_path / "none", "\0"):
        monkeypatch.setattr(os, "environ", {"CLAUDE_CONFIG_DIR": str(strange)})
        assert not begins(forks)
    monkeypatch.setattr(os, "environ", {"CLAUDE_CONFIG_DIR": str(layout.config_dir)})
    assert begins(forks)


def test_without_another_core_or_beside_threads_there_is_no_other_process(
    layout: Layout, forks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert not begins(forks)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    assert not begins(forks)
    monkeypatch.delitem(sys.modules, "threading")  # then nobody can have any
    assert begins(forks)


def test_progress_counts_the_whole_history(
    layout: Layout, looked: Layout, move: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "BLOCK", 256)
    seen: list[int] = []
    scanned(looked, PathMap((move,)), tick=seen.append)
    assert seen == sorted(seen)
    assert len(seen) > 5
    assert seen[-1] == looked.history.stat().st_size
