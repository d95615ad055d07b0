"""Of much work another process does one half, and nobody can tell from what comes out."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence

import pytest

from ccmove import otherprocess
from ccmove.otherprocess import OtherProcess, in_halves, send

HERE = os.getpid()

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere one process does it")

TROUBLES: dict[str, Callable[[], object]] = {
    "it fails": lambda: 1 // 0,
    "it is killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "it ends": lambda: os._exit(0),
}


def described(items: Sequence[int]) -> list[tuple[int, str | None]]:
    return [(item, "odd\udcff" if item % 2 else None) for item in items]


@pytest.mark.parametrize("number", [0, 1, 2, 3, 10, 5000])
def test_all_is_done_in_order(number: int, forks: list[int]) -> None:
    assert in_halves(range(number), described, 3) == described(range(number))
    assert len(forks) == (number >= 3)


def test_the_other_one_does_a_half_of_its_own(forks: list[int]) -> None:
    def where(items: Sequence[int]) -> list[bool]:
        return [os.getpid() == HERE for _ in items]

    assert in_halves(range(5), where, 1) == [True] * 2 + [False] * 3


@pytest.mark.parametrize("what", TROUBLES)
def test_whatever_happens_to_the_other_one(what: str, forks: list[int]) -> None:
    def troubled(items: Sequence[int]) -> list[tuple[int, str | None]]:
        if os.getpid() != HERE:
            TROUBLES[what]()
        return described(items)

    assert in_halves(range(10), troubled, 1) == described(range(10))
    with pytest.raises(ChildProcessError):
        os.waitpid(forks[0], os.WNOHANG)


def test_one_that_stands_still_is_not_waited_for(
    forks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otherprocess, "_LONGEST_WAIT", 50)

    def stopped(items: Sequence[int]) -> list[tuple[int, str | None]]:
        if os.getpid() != HERE:
            os.kill(os.getpid(), signal.SIGSTOP)
        return described(items)

    assert in_halves(range(10), stopped, 1) == described(range(10))
    with pytest.raises(ChildProcessError):
        os.waitpid(forks[0], os.WNOHANG)


def test_what_fails_in_either_half_fails(forks: list[int]) -> None:
    for bad in (0, 9):

        def fail(items: Sequence[int], bad: int = bad) -> list[int]:
            if bad in items:
                raise PermissionError(bad)
            return list(items)

        with pytest.raises(PermissionError):
            in_halves(range(10), fail, 1)
        with pytest.raises(ChildProcessError):
            os.waitpid(forks[-1], os.WNOHANG)
    assert len(forks) == 2


def test_a_descriptor_that_is_kept_can_be_used(
    forks: list[int], tmp_path: os.PathLike[str]
) -> None:
    fd = os.open(tmp_path, os.O_RDONLY)

    def inodes(items: Sequence[int]) -> list[int]:
        return [os.fstat(fd).st_ino if os.getpid() != HERE else 0 for _ in items]

    try:
        assert in_halves(range(2), inodes, 1, fd) == [0, os.stat(tmp_path).st_ino]
    finally:
        os.close(fd)


def test_several_things_come_in_order_and_then_nothing(forks: list[int]) -> None:
    things = ["a", 1, (2, b"x" * 200_000), None, {"k": ["\udcff"]}]

    def look(pipe: object) -> None:
        for thing in things:
            send(pipe, thing)  # type: ignore[arg-type]

    with OtherProcess() as other:
        other.begin(look)
        assert [other.receive() for _ in things] == things
        assert other.is_there
        assert other.receive() is None
        assert not other.is_there
        assert other.receive(0) is None


def test_who_is_not_waited_for_may_still_send_something(forks: list[int]) -> None:
    reading, writing = os.pipe()

    def look(pipe: object) -> None:
        os.read(reading, 1)
        send(pipe, "late")  # type: ignore[arg-type]

    with OtherProcess() as other:
        other.begin(look, reading)
        assert other.receive(0) is None
        assert other.receive(5) is None
        assert other.is_there
        os.write(writing, b"x")
        assert other.receive(60_000) == "late"
    os.close(reading)
    os.close(writing)
