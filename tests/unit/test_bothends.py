"""A large history is searched by two processes, and what they find is what one would find."""

from __future__ import annotations

import fcntl
import io
import itertools
import os
import platform
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from ccmove import bothends, otherprocess
from ccmove.bothends import scan_file
from ccmove.claude.reading import reader
from ccmove.otherprocess import OtherProcess, send
from ccmove.rewrite import history
from ccmove.rewrite.history import Scan, scan
from ccmove.rewrite.pathmap import PathMap
from tests.support.oddlines import stringify

OLD, NEW = "/code/app", "/code/new"
PATHS = PathMap(((OLD, NEW),))
HERE = os.getpid()

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere one process does it")


def line(project: str, **more: Any) -> bytes:
    return stringify({"display": "x", "project": project, **more}) + b"\n"


FIRST = line(OLD) * 5 + line("/other") + line(f"{OLD}/a") + line(OLD)[:-9] + b"\n"
SECOND = line(f"{OLD}/b") + line(OLD) * 7 + line(f"{OLD}/a") + line(OLD)[:-5] + b"\n"


@pytest.fixture
def forks(forks: list[int], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every size is worth a process, and few lines a part; the processes that were made."""
    monkeypatch.setattr(bothends, "WORTH_A_PROCESS", 1)
    monkeypatch.setattr(bothends, "PART", 100)
    return forks


MEETINGS: dict[str, Callable[[int], bool]] = {
    "the other one first": lambda _: True,
    "this one first": lambda _: False,
    "in turns": lambda turn: turn % 2 == 0,
    "the other one twice": lambda turn: turn % 3 > 0,
    "at the end": lambda turn: turn > 4,
}


def meet(monkeypatch: pytest.MonkeyPatch, is_waited_for: Callable[[int], bool]) -> None:
    """Where the two meet does not depend on who is faster: in these turns one waits for a part."""
    receive = OtherProcess.receive
    turns = itertools.count()

    def in_turn(self: OtherProcess, patience: int | None = None) -> Any:
        if patience == 0:
            return receive(self) if is_waited_for(next(turns)) else None
        return receive(self, patience)

    monkeypatch.setattr(OtherProcess, "receive", in_turn)


@pytest.fixture(params=MEETINGS)
def meeting(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    meet(monkeypatch, MEETINGS[request.param])
    return str(request.param)


@pytest.fixture
def other_first(monkeypatch: pytest.MonkeyPatch) -> None:
    meet(monkeypatch, MEETINGS["the other one first"])


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[bytes], int]]:
    fds: list[int] = []

    def open_it(data: bytes) -> int:
        (tmp_path / "history").write_bytes(data)
        fds.append(os.open(tmp_path / "history", os.O_RDONLY))
        return fds[-1]

    yield open_it
    for fd in fds:
        os.close(fd)


def everything(found: Scan) -> tuple[object, ...]:
    """Each span with its replacement, and all the counts."""
    replaced = list(found.spans())
    counts = sorted(found.counts.items())
    return replaced, counts, found.size, found.unreadable, found.too_long, found.grown_by()


def agrees(data: bytes, fd: int) -> None:
    alone = scan(reader(fd), len(data), PATHS)
    assert everything(scan_file(fd, len(data), PATHS)) == everything(alone)


@pytest.mark.parametrize(
    "data",
    [
        FIRST + SECOND,
        FIRST * 3 + SECOND,  # the middle is in the first
        SECOND + FIRST * 3,
        FIRST + SECOND[:-1],  # without the last newline
        line("/other") * 9 + line(OLD),
        line(OLD) + line("/other") * 9,
        b"\n" * 50,
    ],
)
@pytest.mark.parametrize("part", [1, 60, 100, 1000, 1 << 20])
def test_two_find_what_one_finds(
    data: bytes,
    part: int,
    forks: list[int],
    meeting: str,
    opened: Callable[[bytes], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bothends, "PART", part)
    agrees(data, opened(data))
    assert len(forks) == 1


@pytest.mark.parametrize("data", [b"x", line(OLD)[:-1], line(OLD), b"x\n" + line(OLD)])
def test_there_may_be_less_than_one_part(
    data: bytes, forks: list[int], meeting: str, opened: Callable[[bytes], int]
) -> None:
    agrees(data, opened(data))


def parts_searched(
    monkeypatch: pytest.MonkeyPatch, forks: list[int], fd: int, size: int
) -> list[tuple[int, int]]:
    """The parts of the file that this process searches itself."""
    parts: list[tuple[int, int]] = []

    def noted(read: Any, size: int, paths: PathMap, start: int = 0, **more: Any) -> Scan:
        if os.getpid() == HERE:
            parts.append((start, size))
        return scan(read, size, paths, start, **more)

    monkeypatch.setattr(bothends, "scan", noted)
    scan_file(fd, size, PATHS)
    assert len(forks) == 1
    return parts


def test_nobody_searches_what_the_other_has_searched(
    forks: list[int], opened: Callable[[bytes], int], monkeypatch: pytest.MonkeyPatch, meeting: str
) -> None:
    data = FIRST + SECOND
    parts = parts_searched(monkeypatch, forks, opened(data), len(data))
    for (start, _), (_, end) in itertools.pairwise(parts):
        assert start == end  # from the end, without a gap
    searched = sum(end - start for start, end in parts)
    if meeting == "this one first":
        assert searched == len(data)
    elif meeting == "the other one first":
        assert searched == 0
    else:
        assert 0 < searched < len(data)
        assert parts[0][1] == len(data)


def test_what_the_other_one_sends_about_the_same_part_does_not_count(
    forks: list[int], opened: Callable[[bytes], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both search the part in which they meet; the last one is taken from here."""
    data = line(OLD) * 10
    monkeypatch.setattr(bothends, "PART", 6 * len(line(OLD)))
    meet(monkeypatch, lambda turn: turn > 0)
    parts = parts_searched(monkeypatch, forks, opened(data), len(data))
    assert [end - start for start, end in parts] == [6 * len(line(OLD)) - len(line(OLD))] * 2
    meet(monkeypatch, lambda turn: turn > 0)
    agrees(data, opened(data))


def test_a_line_that_is_too_long_may_stand_in_the_middle(
    forks: list[int], meeting: str, opened: Callable[[bytes], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "BLOCK", 64)
    monkeypatch.setattr(history, "LONGEST_LINE", 300)
    data = FIRST + line(OLD, long="y" * 200_000) + SECOND
    agrees(data, opened(data))
    assert len(forks) == 1


def in_the_other_process(trouble: Callable[[], object]) -> Callable[..., Any]:
    def look(*args: Any, **options: Any) -> Scan:
        if os.getpid() != HERE:
            trouble()
        return scan(*args, **options)

    return look


TROUBLES: dict[str, Callable[[], object]] = {
    "it fails": lambda: 1 // 0,
    "it is killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "it ends": lambda: os._exit(0),
}


@pytest.mark.parametrize("what", TROUBLES)
def test_whatever_happens_to_the_other_one(
    what: str,
    forks: list[int],
    meeting: str,
    opened: Callable[[bytes], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bothends, "scan", in_the_other_process(TROUBLES[what]))
    data = FIRST + SECOND
    agrees(data, opened(data))
    assert len(forks) == 1
    with pytest.raises(ChildProcessError):  # nobody is left to be waited for
        os.waitpid(forks[0], os.WNOHANG)


@pytest.mark.parametrize("blocked", [True, False], ids=["as it is", "control"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_other_one_is_not_interrupted_and_this_one_is(
    number: signal.Signals,
    blocked: bool,
    forks: list[int],
    other_first: None,
    opened: Callable[[bytes], int],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """It shares all that this one has begun, and would end that."""
    came: list[int] = []

    def interrupted() -> None:
        signal.raise_signal(number)
        (tmp_path / "came").write_bytes(bytes(came))

    monkeypatch.setattr(bothends, "PART", 1 << 20)
    if not blocked:
        monkeypatch.setattr(otherprocess, "_INTERRUPTIONS", set())
    monkeypatch.setattr(bothends, "scan", in_the_other_process(interrupted))
    before = signal.signal(number, lambda number, _: came.append(number))
    try:
        data = FIRST + SECOND
        agrees(data, opened(data))
        assert (tmp_path / "came").read_bytes() == (b"" if blocked else bytes([number]))
        signal.raise_signal(number)
        assert came == [number]
    finally:
        signal.signal(number, before)
    assert len(forks) == 1


BIG = line(OLD) * 20_000  # the answer about it is larger than a pipe holds


def test_when_this_one_is_interrupted_the_other_one_ends(
    forks: list[int], opened: Callable[[bytes], int]
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    fd = opened(BIG)
    before = os.listdir("/proc/self/fd")
    with pytest.raises(KeyboardInterrupt):
        scan_file(fd, len(BIG), PATHS, interrupt)
    assert os.listdir("/proc/self/fd") == before
    with pytest.raises(ProcessLookupError):
        os.kill(forks[0], 0)


def test_an_interrupt_at_the_very_fork_leaves_nothing(
    forks: list[int], opened: Callable[[bytes], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes when signals are let in again, behind the fork."""
    fork = os.fork

    def interrupted() -> int:
        child = fork()
        if child:
            signal.raise_signal(signal.SIGINT)
        return child

    monkeypatch.setattr(os, "fork", interrupted)
    fd = opened(BIG)
    before = os.listdir("/proc/self/fd")
    with pytest.raises(KeyboardInterrupt):
        scan_file(fd, len(BIG), PATHS)
    assert os.listdir("/proc/self/fd") == before
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with pytest.raises(ProcessLookupError):
        os.kill(forks[0], 0)


PARENT = """
import fcntl, os, sys, time
from ccmove import bothends
from ccmove.rewrite.pathmap import PathMap
bothends.WORTH_A_PROCESS = 1
bothends.PART = 100
os.sched_getaffinity = lambda _: {0, 1}
history, lock = sys.argv[1:]
held = os.open(lock, os.O_RDWR | os.O_CREAT)
fcntl.flock(held, fcntl.LOCK_EX)
fd = os.open(history, os.O_RDONLY)
fork = os.fork
def told():
    child = fork()
    if child:
        print(child, flush=True)
    return child
os.fork = told
paths = PathMap((("/code/app", "/code/new"),))
bothends.scan_file(fd, os.fstat(fd).st_size, paths, lambda _: time.sleep(60))
"""


def test_when_this_one_is_killed_the_other_one_ends_and_holds_no_lock(tmp_path: Path) -> None:
    """Nor the pipe that somebody waits at for the output to end."""
    (tmp_path / "history").write_bytes(BIG)
    argv = [sys.executable, "-c", PARENT, tmp_path / "history", tmp_path / "lock"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        other = int(parent.stdout.readline())
        parent.kill()
        assert parent.stdout.read() == ""  # only ends when nobody holds it
    assert comes_true(lambda: can_be_locked(tmp_path / "lock"))
    assert comes_true(lambda: not Path(f"/proc/{other}").exists())


def comes_true(what: Callable[[], bool]) -> bool:
    until = time.monotonic() + 60
    while not what() and time.monotonic() < until:
        time.sleep(0.05)
    return what()


def can_be_locked(path: Path) -> bool:
    lock = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True


def test_a_parent_that_does_not_care_for_its_children(
    forks: list[int], opened: Callable[[bytes], int]
) -> None:
    """Then there is nobody to wait for: whether the answer is whole tells enough."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        data = FIRST + SECOND
        agrees(data, opened(data))
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert len(forks) == 1


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 30, 90, 200])
@pytest.mark.parametrize("whole", [0, 1, 3])
def test_half_a_message_is_none(
    length: int,
    whole: int,
    forks: list[int],
    other_first: None,
    opened: Callable[[bytes], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After some whole ones."""
    sent = itertools.count()

    def cut(pipe: IO[bytes], value: Any) -> None:
        message = io.BytesIO()
        send(message, value)
        if next(sent) < whole:
            pipe.write(message.getvalue())
        else:
            pipe.write(message.getvalue()[:length])
            pipe.flush()
            os._exit(0)

    monkeypatch.setattr(bothends, "send", cut)
    data = FIRST + SECOND
    agrees(data, opened(data))
    assert len(forks) == 1


@pytest.mark.parametrize("lost", [0, 1, 2])
@pytest.mark.parametrize("instead", ["nothing", "None", "it comes twice"])
def test_what_comes_behind_a_gap_does_not_count(
    lost: int,
    instead: str,
    forks: list[int],
    other_first: None,
    opened: Callable[[bytes], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    numbers = itertools.count()

    def lossy(pipe: IO[bytes], value: Any) -> None:
        if next(numbers) != lost:
            send(pipe, value)
        elif instead == "None":
            send(pipe, None)
        elif instead == "it comes twice":
            send(pipe, value)
            send(pipe, value)

    monkeypatch.setattr(bothends, "send", lossy)
    data = FIRST + SECOND
    agrees(data, opened(data))
    assert len(forks) == 1


@pytest.mark.parametrize("missing", [1, 50, 100, 1000])
def test_a_file_that_has_shrunk_is_not_as_large_as_it_was(
    missing: int, forks: list[int], meeting: str, opened: Callable[[bytes], int]
) -> None:
    """As when one process does it: whoever compares sizes will notice."""
    data = FIRST + SECOND
    fd = opened(data)
    assert scan_file(fd, len(data) + missing, PATHS).size < len(data) + missing
    assert len(forks) == 1


@pytest.mark.parametrize("missing", ["pipe", "fork"])
def test_without_a_process_or_a_pipe_one_does_it(
    missing: str, forks: list[int], opened: Callable[[bytes], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> None:
        raise OSError("no more")

    monkeypatch.setattr(os, missing, none)
    data = FIRST + SECOND
    fd = opened(data)
    before = os.listdir("/proc/self/fd")
    agrees(data, fd)
    assert os.listdir("/proc/self/fd") == before
    assert forks == []


def test_who_has_threads_makes_no_process(
    forks: list[int], opened: Callable[[bytes], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = FIRST + SECOND
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    agrees(data, opened(data))
    assert forks == []


def test_one_core_or_a_small_file_needs_one(
    forks: list[int], opened: Callable[[bytes], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = FIRST + SECOND
    fd = opened(data)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    agrees(data, fd)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(bothends, "WORTH_A_PROCESS", len(data) + 1)
    agrees(data, fd)
    assert forks == []
    monkeypatch.setattr(bothends, "WORTH_A_PROCESS", len(data))
    agrees(data, fd)
    assert len(forks) == 1


def test_progress_counts_the_whole_file(
    forks: list[int], meeting: str, opened: Callable[[bytes], int]
) -> None:
    data = FIRST + SECOND
    seen: list[int] = []
    scan_file(opened(data), len(data), PATHS, seen.append)
    assert seen == sorted(seen)
    assert len(seen) > 5
    assert seen[-1] == len(data)
    assert len(forks) == 1


FRESH_PAGES = """
import resource, sys
from ccmove import bothends
if sys.argv[1] == "kept":
    bothends.keep_freed_memory()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    blocks = [b"x" * (512 << 10) for _ in range(8)]
    del blocks
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the GNU C library's way")
def test_freed_blocks_are_used_again() -> None:
    def fresh_pages(how: str) -> int:
        return int(subprocess.check_output([sys.executable, "-c", FRESH_PAGES, how]))

    assert fresh_pages("kept") * 4 < fresh_pages("not")
