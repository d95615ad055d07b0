"""`ccmove hook --install` and `--remove`: killed or failing at any call, the settings
are as before or as after, and the next one leaves nothing else.
"""

from __future__ import annotations

import atexit
import functools
import json
from dataclasses import dataclass, field
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

THEIRS = json.dumps({"model": "x", "hooks": {"SessionStart": []}}, indent=4)


@dataclass
class Setting:
    """A home whose settings are changed; nothing else in it ever does, but for the lock
    that is kept.
    """

    option: str
    text: str | None  # of the settings, to which --remove adds the entry first
    is_link: bool
    state: StateBuilder
    before: bytes | None = None
    after: bytes | None = None
    points: list[Point] = field(default_factory=list)
    rest: Tree = field(default_factory=dict)

    def __post_init__(self) -> None:
        (self.state.root / "tmp").mkdir()
        self.named = self.state.config_dir / "settings.json"
        self.file = self.named
        if self.is_link:
            self.file = self.state.home / "dotfiles" / "claude.json"
            self.file.parent.mkdir()
            self.named.symlink_to(self.file)
        self.put(None if self.text is None else self.text.encode())
        assert Job(self.state, ["hook", "--install"]).run().exit == 0
        if self.option == "--install":
            self.put(None if self.text is None else self.text.encode())
        self.before = self.found()
        self.job = Job(self.state, ["hook", self.option])
        trace = self.job.run(["-y", "-e", TRACE_MUTATING]).trace
        self.after = self.found()
        self.points = [point for point in points(trace) if point.ordinal]
        self.rest = self.others()

    def put(self, data: bytes | None) -> None:
        if data is None:
            self.file.unlink(missing_ok=True)
        else:
            self.file.write_bytes(data)

    def found(self) -> bytes | None:
        return self.file.read_bytes() if self.file.exists() else None

    def staged(self) -> Path:
        return self.file.with_name(".ccmove-hook")

    def others(self) -> Tree:
        """All but the settings, what is staged for them, and the folders they are in."""
        own = {
            str(path.relative_to(self.state.root))
            for path in (self.file, self.staged(), self.file.parent)
        }
        tree = snapshot(self.state.root)
        return {name: entry for name, entry in tree.items() if name not in own}

    def judge(self) -> tuple[str, list[str]]:
        problems = diff(self.rest, self.others())
        if self.is_link and not self.named.is_symlink():
            problems.append("the link is none any more")
        if self.found() == self.before:
            return "before", problems
        if self.found() == self.after:
            return "after", problems
        return "neither", [*problems, f"{self.file} is something else"]

    def kill(self, point: Point) -> tuple[str, list[str]]:
        """Killed there; the next one ends it, and removes what is left."""
        self.put(self.before)
        ended = happen(self.job, point, KILL)
        end, problems = self.judge()
        if ended.exit != KILLED:
            problems.append(f"it was not killed: {ended}")
        again = self.job.run()
        is_done = again.exit == 0 and self.judge() == ("after", [])
        if not is_done or self.staged().exists():
            problems.append(f"once more: {again}, left: {self.staged().exists()}")
        return end, problems

    def fail(self, point: Point, error: str) -> tuple[str, list[str]]:
        """That call fails: the exit code tells which settings are there."""
        self.put(self.before)
        ended = happen(self.job, point, error)
        end, problems = self.judge()
        promised = {"before": 1, "after": 0}.get(end)
        if ended.exit != promised or "Traceback" in ended.err:
            problems.append(f"ended with {ended}")
        if self.staged().exists() and point.name not in ("unlink", "unlinkat"):
            problems.append("something is left")
        self.staged().unlink(missing_ok=True)
        return f"exit {ended.exit}, {end}", problems


SETTINGS = {
    "theirs": (THEIRS, False),
    "none": (None, False),
    "link": (THEIRS, True),
}


@functools.cache
def setting(option: str, shape: str) -> Setting:
    place = places.in_memory()
    atexit.register(place.cleanup)
    text, is_link = SETTINGS[shape]
    return Setting(option, text, is_link, StateBuilder(Path(place.name).resolve()))


@pytest.mark.parametrize("shape", SETTINGS)
@pytest.mark.parametrize("option", ["--install", "--remove"])
def test_killed_at_any_call_the_settings_are_as_before_or_as_after(
    option: str, shape: str, proven: Record
) -> None:
    bench = setting(option, shape)
    assert bench.before != bench.after
    tally = Tally()
    for point in bench.points:
        tally.add(point.where, *bench.kill(point))
    proven(f"killed: hook {option}, {shape}", tally)
    assert tally.ends["before"] >= 1


@pytest.mark.parametrize("error", ["EIO", "ENOSPC", "EACCES", "EROFS"])
@pytest.mark.parametrize("option", ["--install", "--remove"])
def test_a_call_that_fails_leaves_the_settings_as_they_were(
    option: str, error: str, proven: Record
) -> None:
    bench = setting(option, "theirs")
    tally = Tally()
    for point in bench.points:
        tally.add(point.where, *bench.fail(point, error))
    proven(f"failed with {error}: hook {option}", tally)
    assert tally.ends["exit 1, before"] >= 3


def test_settings_that_are_neither_would_be_seen() -> None:
    """The control."""
    bench = setting("--install", "theirs")
    bench.put(b"{")
    assert bench.judge()[0] == "neither"
    bench.put(bench.before)
    bench.staged().with_name("left").touch()
    end, problems = bench.judge()
    assert (end, len(problems)) == ("before", 1)
    bench.staged().with_name("left").unlink()
    assert bench.judge() == ("before", [])
