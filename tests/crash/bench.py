"""A command on a prepared state that can be put back to its start and judged as often
as needed.
"""

import atexit
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path

from tests.crash import places
from tests.crash.calls import TRACE_MUTATING, Point, points
from tests.crash.fork import Ended, Job
from tests.crash.scenarios import SCENARIOS, Scenario
from tests.crash.verdict import Verdict, expected_after, judge
from tests.support import seams
from tests.support.state import StateBuilder
from tests.support.tree import Tree, snapshot


class Bench:
    """`move` or `restore` in one scenario, from the same start again and again."""

    def __init__(
        self,
        root: Path,
        scenario: str | Scenario,
        command: str = "move",
        *,
        code: str = "code",
    ) -> None:
        self.scenario = SCENARIOS[scenario] if isinstance(scenario, str) else scenario
        self.command = command
        self.live = root / "live"
        self.template = root / "template"
        self.state = StateBuilder(self.live)
        self.state.code = self.live / code
        self.state.code.mkdir(exist_ok=True)
        (self.live / "tmp").mkdir()
        self.scenario.build(self.state)
        self._input = self.scenario.input(self.state)
        if command == "restore":
            must(self._job(self.scenario.args))
            if self.scenario.since is not None:
                self.scenario.since(self.state)
        self.live.rename(self.template)
        self.reference = self._run_without_trouble()

    def _job(self, args: Sequence[str], sabotage: Sequence[str] = ()) -> Job:
        return Job(self.state, args, self._input, sabotage)

    def job(self, sabotage: Sequence[str] = ()) -> Job:
        args = ["restore"] if self.command == "restore" else self.scenario.args
        return self._job(args, sabotage)

    @property
    def recovery(self) -> Job:
        return self._job(["recover"])

    def reset(self) -> Tree:
        """Everything as at the start, in new files; the tree that this is."""
        shutil.rmtree(self.live, ignore_errors=True)
        if os.name == "nt":
            shutil.copytree(self.template, self.live, symlinks=True)
        else:  # cp -a keeps hard links, modes and times
            subprocess.run(["cp", "-a", self.template, self.live], check=True)
        return snapshot(self.live)

    @cached_property
    def points(self) -> list[Point]:
        self.reset()
        return points_of(self.job())

    def _run_without_trouble(self) -> tuple[Tree, Tree]:
        before = self.reset()
        must(self.job())
        return before, snapshot(self.live)

    def judge(self, before: Tree) -> Verdict:
        """Is the tree now exactly as before the command, or exactly as after it?"""
        return judge(
            before, expected_after(self.reference, before), snapshot(self.live)
        )


@cache
def bench_of(scenario: str, command: str = "move", *, on_disk: bool = False) -> Bench:
    """A bench that tests share: each resets it, and none changes its template."""
    place = places.on_disk() if on_disk else places.in_memory()
    atexit.register(place.cleanup)
    return Bench(Path(place.name).resolve(), scenario, command)


def age_locks(state: StateBuilder, seconds: float = 60) -> None:
    """Locks of the client that a killed run has left are stale after a while: nobody
    waits here.
    """
    for lock in (state.home / name for name in seams.CLIENT_LOCKS):
        if lock.exists():
            os.utime(lock, (time.time() - seconds,) * 2)


def must(job: Job, strace: Sequence[str] = ()) -> Ended:
    ended = job.run(strace)
    assert ended.exit == 0, ended
    return ended


def points_of(job: Job) -> list[Point]:
    """Every call of a job that changes something; it is run, and must end well."""
    return points(must(job, ["-y", "-e", TRACE_MUTATING]).trace)
