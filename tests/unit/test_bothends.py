"""A large history is looked at by two processes, and what they find is what one would find."""

from __future__ import annotations

import fcntl
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

from ccmove import halves, history, otherprocess
from ccmove.halves import scan_file
from ccmove.history import Scan, scan
from ccmove.pathmap import PathMap
from ccmove.state import reader
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
    """Every size is worth a process; the processes that were made."""
    monkeypatch.setattr(halves, "WORTH_A_PROCESS", 1)
    return forks


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
    spans = zip(found.starts, found.ends, found.which, strict=True)
    replaced = [(start, end, found.replacements[place]) for start, end, place in spans]
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
def test_two_find_what_one_finds(
    data: bytes, forks: list[int], opened: Callable[[bytes], int]
) -> None:
    agrees(data, opened(data))
    assert len(forks) == 1


@pytest.mark.parametrize("data", [b"", b"x", line(OLD)[:-1], line(OLD), b"x\n" + line(OLD)])
def test_where_no_line_begins_in_the_second_half_one_does_it(
    data: bytes, forks: list[int], opened: Callable[[bytes], int]
) -> None:
    agrees(data, opened(data))
    assert forks == []


def test_a_line_that_is_too_long_may_stand_in_the_middle(
    forks: list[int], opened: Callable[[bytes], int], monkeypatch: pytest.MonkeyPatch
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
    opened: Callable[[bytes], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(halves, "scan", in_the_other_process(TROUBLES[what]))
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
    opened: Callable[[bytes], int],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """It shares all that this one has begun, and would end that."""
    came: list[int] = []

    def interrupted() -> None:
        signal.raise_signal(number)
        (tmp_path / "came").write_bytes(bytes(came))

    if not blocked:
        monkeypatch.setattr(otherprocess, "_INTERRUPTIONS", set())
    monkeypatch.setattr(halves, "scan", in_the_other_process(interrupted))
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
from ccmove import halves
from ccmove.pathmap import PathMap
halves.WORTH_A_PROCESS = 1
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
halves.scan_file(fd, os.fstat(fd).st_size, paths, lambda _: time.sleep(60))
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


@pytest.mark.parametrize("length", [0, 1, 30, 90, 200])
def test_half_an_answer_is_none(
    length: int,
    forks: list[int],
    opened: Callable[[bytes], int],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    dump = Scan.dump

    def cut(self: Scan, file: IO[bytes]) -> None:
        with (tmp_path / "answer").open("w+b") as whole:
            dump(self, whole)
            whole.seek(0)
            file.write(whole.read()[:length])

    monkeypatch.setattr(Scan, "dump", cut)
    data = FIRST + SECOND
    agrees(data, opened(data))
    assert len(forks) == 1


def test_an_answer_about_a_file_that_has_shrunk_is_none(
    forks: list[int], opened: Callable[[bytes], int]
) -> None:
    """As when one process does it: whoever compares sizes will notice."""
    data = FIRST + SECOND
    fd = opened(data)
    assert scan_file(fd, len(data) + 50, PATHS).size == len(data)
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
    monkeypatch.setattr(halves, "WORTH_A_PROCESS", len(data) + 1)
    agrees(data, fd)
    assert forks == []
    monkeypatch.setattr(halves, "WORTH_A_PROCESS", len(data))
    agrees(data, fd)
    assert len(forks) == 1


def test_progress_counts_the_whole_file(
    forks: list[int], opened: Callable[[bytes], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "BLOCK", 64)
    data = FIRST + SECOND
    seen: list[int] = []
    scan_file(opened(data), len(data), PATHS, seen.append)
    assert seen == sorted(seen)
    assert len(seen) > 5
    assert seen[-1] == len(data)
    assert len(forks) == 1


FRESH_PAGES = """
import resource, sys
from ccmove import halves
if sys.argv[1] == "kept":
    halves.keep_freed_memory()
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
