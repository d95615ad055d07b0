"""Packing to a FILE that is there: killed or failing at any call, it is the old one or
the new one, and nothing else is left.
"""

import atexit
import functools
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crash import places
from tests.crash.calls import TRACE_MUTATING, Point, points
from tests.crash.conftest import Record
from tests.crash.fork import Job
from tests.crash.sweep import KILL, KILLED, Tally, happen
from tests.support.state import StateBuilder
from tests.support.tree import Tree, diff, snapshot

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.timeout(900)]

OLD = b"the archive of last week"


class Packing:
    """A home that packs to a file; nothing else ever changes in it."""

    def __init__(self, root: Path) -> None:
        self.state = StateBuilder(root)
        memory = {"MEMORY.md": "- short\n"}
        memory["large.md"] = os.urandom(400_000).hex()
        app = self.state.project("app", index=True, memory=memory, make_folder=True)
        self.file = self.state.root / "out" / "it.tar.gz"
        self.file.parent.mkdir()
        self.job = Job(self.state, ["pack", "-o", str(self.file), app.path])
        (self.state.root / "tmp").mkdir(exist_ok=True)
        assert self.job.run().exit == 0
        self.new = self.file.read_bytes()
        self.reset()
        self.before = self.others()
        trace = self.job.run(["-y", "-e", TRACE_MUTATING]).trace
        self.points = [point for point in points(trace) if point.ordinal]

    def reset(self) -> None:
        shutil.rmtree(self.file.parent)
        self.file.parent.mkdir()
        self.file.write_bytes(OLD)

    def others(self) -> Tree:
        """All but the archive."""
        tree = snapshot(self.state.root)
        return {
            name: entry for name, entry in tree.items() if not name.startswith("out")
        }

    def left(self) -> set[str]:
        return {path.name for path in self.file.parent.iterdir()} - {self.file.name}

    def judge(self) -> tuple[str, list[str]]:
        """Is the file the old one or the new one, and all else as it was?"""
        problems = diff(self.before, self.others())
        found = self.file.read_bytes() if self.file.exists() else None
        if found == OLD:
            return "before", problems
        if found == self.new:
            return "after", problems
        return "neither", [*problems, f"{self.file} is something else"]


@functools.cache
def packing() -> Packing:
    place = places.in_memory()
    atexit.register(place.cleanup)
    return Packing(Path(place.name).resolve())


def every_point(try_one: Callable[[Point], tuple[str, list[str]]]) -> Tally:
    """They are so few that none is left out."""
    tally = Tally()
    for point in packing().points:
        tally.add(point.where, *try_one(point))
    return tally


def kill(point: Point) -> tuple[str, list[str]]:
    """Killed there; the next one to the same file removes what is left of it."""
    bench = packing()
    bench.reset()
    ended = happen(bench.job, point, KILL)
    end, problems = bench.judge()
    if ended.exit != KILLED:
        problems.append(f"it was not killed: {ended}")
    again = bench.job.run()
    if again.exit != 0 or bench.judge() != ("after", []) or bench.left():
        problems.append(f"packed again: {again}, left: {bench.left()}")
    return end, problems


def fail(point: Point, error: str) -> tuple[str, list[str]]:
    """That call fails: exit 1 with the old file, or 0 with the new one."""
    bench = packing()
    bench.reset()
    ended = happen(bench.job, point, error)
    end, problems = bench.judge()
    promised = {"before": (1,), "after": (0, 1)}.get(end, ())
    if ended.exit not in promised or "Traceback" in ended.err:
        problems.append(f"ended with {ended}")
    if bench.left() and point.name not in ("unlink", "unlinkat"):
        problems.append(f"left: {bench.left()}")
    return f"exit {ended.exit}, {end}", problems


def test_killed_at_any_call_the_file_is_the_old_or_the_new_one(proven: Record) -> None:
    tally = every_point(kill)
    proven("killed: pack", tally)
    assert tally.ends["before"] >= 6


@pytest.mark.parametrize("error", ["EIO", "ENOSPC", "EACCES", "EROFS"])
def test_a_call_that_fails_leaves_the_old_file_and_nothing_else(
    error: str, proven: Record
) -> None:
    tally = every_point(lambda point: fail(point, error))
    proven(f"failed with {error}: pack", tally)
    assert tally.ends["exit 1, before"] >= 6
