"""A history of a gigabyte, and a line that alone is longer than any prompt."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.sample import some
from tests.hostile.attack import Target, make_target
from tests.support.run import ccmove_command, peak_memory
from tests.support.state import StateBuilder

MIB = 1 << 20
LONGEST_LINE = 64 * MIB
MOST_MEMORY = 64 * MIB
MOST_FOR_A_LINE = 6 * LONGEST_LINE  # a line is looked at as a whole, or not at all
GIGABYTE = 1_000_000_000

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def target(on_disk: Path) -> Target:
    """Not in memory, which may be short of gigabytes; and removed at once."""
    free = os.statvfs(on_disk)
    assert free.f_bavail * free.f_frsize > 4 * GIGABYTE, "needs 4 GB of disk"
    return make_target(StateBuilder(on_disk / "root"))


def line(project: Path, text: str) -> bytes:
    return json.dumps({"display": text, "project": str(project)}).encode() + b"\n"


def huge(target: Target, project: Path, size: int) -> Iterator[bytes]:
    """One line in about a thousand is the project's."""
    other = line(target.state.code / "other", "x" * 200)
    block = other * 1_000 + line(project, "a prompt")
    block *= max(1, 4 * MIB // len(block))
    for _ in range(size // len(block) + 1):
        yield block


def holds(path: Path, pieces: Iterator[bytes]) -> bool:
    """Whether the file is just these pieces."""
    with path.open("rb") as file:
        return all(
            file.read(len(piece)) == piece for piece in pieces
        ) and not file.read(1)


def peak_of(target: Target, *args: str | Path) -> int:
    """Run ccmove as a program of its own, which must end well; the most memory that it
    had.
    """
    return peak_memory(ccmove_command(*args), state=target.state)


@pytest.mark.parametrize(
    "size",
    [
        pytest.param(GIGABYTE, marks=[pytest.mark.limits, pytest.mark.exhaustive]),
        2 * MOST_MEMORY,  # more than may be used
    ],
)
def test_a_large_history_moves_and_comes_back_in_little_memory(
    target: Target, size: int
) -> None:
    with target.state.history.open("wb") as file:
        file.writelines(huge(target, target.old, size))
    assert peak_of(target, target.old, target.new) < MOST_MEMORY
    assert holds(target.state.history, huge(target, target.new, size))
    assert peak_of(target, "restore") < MOST_MEMORY
    assert holds(target.state.history, huge(target, target.old, size))


def test_the_measure_sees_a_program_that_reads_it_whole_and_not_the_tests(
    target: Target,
) -> None:
    """The control of the limit above."""
    ours = b"x" * MOST_MEMORY
    target.state.history.write_bytes(ours)
    reads_it = f"open({str(target.state.history)!r}, 'rb').read()"
    for code, is_large in ((reads_it, True), ("", False)):
        peak = peak_memory([sys.executable, "-c", code], state=target.state)
        assert peak > MOST_MEMORY if is_large else peak < len(ours) / 2


@pytest.mark.parametrize(
    "last", some(["", "\n"], "\n"), ids=["at the end", "in the middle"]
)
def test_a_line_that_is_too_long_to_be_a_prompt_stays_as_it_is(
    target: Target, last: str
) -> None:
    """Even though it names the project; what stands before and after it moves."""
    small = line(target.old, "a prompt")
    long = line(target.old, "y" * (LONGEST_LINE + MIB))[:-1] + last.encode()
    after = line(target.old, "one more") if last else b""
    target.state.history.write_bytes(small + long + after)
    peak = peak_of(target, target.old, target.new)
    old, new = str(target.old).encode(), str(target.new).encode()
    moved = small.replace(old, new) + long + after.replace(old, new)
    assert target.state.history.read_bytes() == moved
    assert peak < MOST_FOR_A_LINE
    assert peak_of(target, "restore") < MOST_FOR_A_LINE
    assert target.state.history.read_bytes() == small + long + after
