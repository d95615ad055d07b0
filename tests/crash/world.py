"""The world changes between a crash and the recovery: what must be true all the same.

A trial kills a command at one point, changes the world, runs `ccmove recover` and
looks: what was there is as before the command, or as after it; what came since the
crash is live; nothing of ours is left but backups. Only where something that is needed
is gone, or its place is used for something else, may the recovery end with 5, and then
nothing is lost.

The project folders are in the home here, so that they go with it when it is copied or
moved.
"""

import atexit
import copy
import functools
import itertools
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.crash import places
from tests.crash.bench import Bench, age_locks
from tests.crash.calls import OPENING, Point
from tests.crash.fork import Ended, Job
from tests.crash.scenarios import Scenario
from tests.crash.sweep import (
    KILL,
    UNFINISHED,
    Tally,
    happen,
    not_killed_there,
    plain,
    sweep,
)
from tests.support import seams
from tests.support.state import encoded_name
from tests.support.tree import Entry, Tree, is_transcript, snapshot

# is in everything that comes after the crash, and in nothing else
MARK = "since-the-crash"
BY_HAND = re.compile(rf"\b(rm|rmdir|mkdir|touch)\s+\S*/|\b(mv|cp)\s[^\n]*{seams.OWN}")
HISTORY, CONFIG = ".claude/history.jsonl", ".claude.json"

# Killed as any other call begins, the names on disk are those of an earlier point.
_NAMING = ("rename", "renameat", "renameat2", "link", "linkat", "mkdir", "mkdirat", "rmdir",
           "unlink", "unlinkat", *OPENING)  # fmt: skip


class World:
    """What a command that was killed has left, where it is by now, and what came since."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.state = copy.copy(bench.state)  # another home is this trial's own
        names = (
            bench.scenario.moves[0]
            if bench.scenario.moves
            else bench.scenario.args[-2:]
        )
        # The old and the new folder; of an unpack there is a new one alone.
        self.places = tuple(name for name in names if not name.endswith(".tar.gz"))
        self.came: dict[str, str] = {}  # each mark, and what kind of thing carries it
        self.needed_is_gone = False
        self.backups_gone = False

    def mark(self, kind: str) -> str:
        """Text for a thing of this kind that is told from all others."""
        text = f"{MARK}-{len(self.came):03}"
        self.came[text] = kind
        return text

    def directory(self, name: str) -> Path:
        return self.state.projects / encoded_name(str(self.state.code / name))

    def move_home(self, home: Path) -> None:
        state = self.state
        state.root, state.home, state.code = home.parent, home, home / "code"
        state.config_dir, state.config_file = home / ".claude", home / CONFIG
        state.history, state.projects = home / HISTORY, home / ".claude/projects"


# -- changes of the world -------------------------------------------------------------------


def _copied(world: World) -> None:
    """Restored from a backup, or synced: the same bytes and times, other inodes."""
    home = world.state.home
    other = home.with_name("copy")
    subprocess.run(["cp", "-a", home, other], check=True)
    shutil.rmtree(home)
    other.rename(home)


def _on_another_file_system(world: World) -> None:
    """And so at another path."""
    home = (world.bench.live.parent / "disk").resolve() / "home"
    subprocess.run(["cp", "-a", world.state.home, home], check=True)
    shutil.rmtree(world.state.home)
    world.move_home(home)


def _at_another_path(world: World) -> None:
    world.move_home(world.state.home.rename(world.state.home.with_name("maison")))


def write_config(world: World, change: Callable[[dict[str, Any]], None]) -> None:
    """As the client does it: a new file beside it, and a rename."""
    file = world.state.config_file
    config = json.loads(file.read_bytes()) if file.exists() else {}
    config.setdefault("projects", {})
    change(config)
    fresh = file.with_name(f"{file.name}.tmp.1.ab")
    fresh.write_text(json.dumps(config, indent=2, ensure_ascii=False))
    fresh.chmod(0o600)
    fresh.rename(file)


def _config_written_once(world: World) -> None:
    """As at every start of the client, wherever it is."""
    text = world.mark("setting")
    write_config(world, lambda config: config.update(tip=text))


def _config_written_twice(world: World) -> None:
    """The second file has the inode that ours had; both projects get a setting each
    time.
    """
    for turn in ("first", "second"):

        def use(config: dict[str, Any], key: str = f"{turn}Tip") -> None:
            config["numStartups"] = config.get("numStartups", 0) + 1
            for name in world.places:
                entry = config["projects"].setdefault(str(world.state.code / name), {})
                entry[key] = world.mark("setting")

        write_config(world, use)


def _prompts(world: World) -> None:
    for name in world.places:
        world.state.add_prompt(name, world.mark("prompt"))


def _sessions(world: World) -> None:
    for name in world.places:
        world.state.add_session(name, text=world.mark("session"))


def _notes(world: World) -> None:
    """A line in every memory file of both places; where there is none one is begun."""
    for name in world.places:
        memory = world.directory(name) / "memory"
        for file in sorted(memory.rglob("*.md")) or [memory / "MEMORY.md"]:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with file.open("a") as text:
                text.write(f"- {world.mark('note')}\n")


def _something_else_in_the_folders(world: World) -> None:
    """A new file in a folder that is there, another repository where none is."""
    renamed = world.bench.scenario.name == "folder"
    source = 0 if world.bench.command == "move" else 1
    for number, name in enumerate(world.places):
        folder = world.state.code / name
        if renamed and number == source and not folder.exists():
            world.needed_is_gone = True
        folder.mkdir(exist_ok=True)
        (folder / "else.txt").write_text(world.mark("folder"))


def _backups_gone(world: World) -> None:
    world.backups_gone = True
    shutil.rmtree(seams.backups(world.state), ignore_errors=True)


CHANGES: dict[str, Callable[[World], None]] = {
    "home copied": _copied,
    "home on another file system": _on_another_file_system,
    "home at another path": _at_another_path,
    "config written once": _config_written_once,
    "config written twice": _config_written_twice,
    "prompts added": _prompts,
    "sessions added": _sessions,
    "notes added": _notes,
    "something else in the folders": _something_else_in_the_folders,
    "backups gone": _backups_gone,
}


# -- one trial ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """How the recovery ended and what is wrong with it."""

    ended: Ended
    needed_is_gone: bool
    problems: list[str]

    @property
    def needless(self) -> bool:
        """Not rolled back, although nothing that is needed was missing."""
        return self.ended.exit == UNFINISHED and not self.needed_is_gone


@functools.cache
def world_bench(
    scenario: str | Scenario, command: str = "move", *, on_disk: bool = False
) -> Bench:
    """A bench in memory (or where inodes are soon used again), another file system
    beside it.

    Tests share it: each resets it, and none changes its template.
    """
    memory, disk = places.in_memory(), places.on_disk()
    here, there = (disk, memory) if on_disk else (memory, disk)
    for place in (memory, disk):
        atexit.register(place.cleanup)
    Path(here.name, "disk").symlink_to(there.name)
    return Bench(Path(here.name).resolve(), scenario, command, code="home/code")


def lasting(points: Iterable[Point]) -> list[Point]:
    """Those points between which the names on disk change."""
    return [point for point in points if point.name in _NAMING]


def killed(bench: Bench, point: Point) -> tuple[World, list[str]]:
    """Kill the command there; what it left, and whether it was not killed there."""
    for left in (bench.live.parent / "disk").glob("*"):
        shutil.rmtree(left)
    bench.reset()
    ended = happen(bench.job(), point, KILL)
    return World(bench), not_killed_there(ended, point)


def trial(
    bench: Bench, point: Point, changes: Sequence[str], death: int = 0
) -> Outcome:
    """Kill, change the world, recover, judge; a first recovery dies at its `death`-th
    change.
    """
    world, problems = killed(bench, point)
    for name in changes:
        CHANGES[name](world)
    age_locks(world.state)
    there, folders = lines(world.state.home), sorted(world.state.code.rglob("*"))
    if death:
        Job(world.state, ["recover"], sabotage=[f"die_at={death}"]).run()
        age_locks(world.state)
    ended = Job(world.state, ["recover"]).run()
    problems += plain(ended)
    if ended.exit == 0:
        problems += not_rolled_back(world)
    elif ended.exit == UNFINISHED:
        problems += lost(world, there)
        if world.needed_is_gone and sorted(world.state.code.rglob("*")) != folders:
            problems.append("the project folders are not as they were")
        if str(world.state.home) not in ended.err and "~/" not in ended.err:
            problems.append(f"no path is named: {ended.err}")
        if BY_HAND.search(ended.err):
            problems.append(f"something of ours is to be done by hand: {ended.err}")
    else:
        problems.append(f"recover: {ended}")
    return Outcome(ended, world.needed_is_gone, problems)


def try_all(
    bench: Bench, *changes: str, share: int = 1, deaths: Sequence[int] = (0,)
) -> Tally:
    """A trial at every lasting point, or a sample; ending with 5 without need is bad,
    too.

    Of each `share` points one is tried, in turn with the commits, and all that rename.
    One of `deaths` is that of a first recovery, in turn with the points.
    """
    turns = itertools.cycle(deaths)

    def try_one(point: Point) -> tuple[str, list[str]]:
        outcome = trial(bench, point, changes, next(turns))
        needless = [f"without need: {outcome.ended}"] if outcome.needless else []
        return f"exit {outcome.ended.exit}", [*needless, *outcome.problems]

    return sweep(lasting(bench.points), try_one, close=0, share=share)


# -- what must be so ------------------------------------------------------------------------


def not_rolled_back(world: World) -> list[str]:
    """What is wrong when the recovery says that all is well."""
    now = users(snapshot(world.state.home))
    ends = [
        [*differences(users(below_home(end)), now)] for end in world.bench.reference
    ]
    wrong = [f"not as {end}: {line}" for end, found in zip(("before", "after"), ends, strict=True)
             for line in found[:4]] if all(ends) else []  # fmt: skip
    wrong += [f"is not live, or not once: {text} ({kind})" for text, kind in world.came.items()
              if not is_live(world, text, kind)]  # fmt: skip
    left = seams.left_over(world.state)
    if world.backups_gone:  # what had been taken out of one goes back there
        left = [name for name in left if not name.startswith(f"{seams.OWN}/backups/")]
    return wrong + [f"left over: {name}" for name in left]


def lost(world: World, there: set[bytes]) -> list[str]:
    """Lines of the user's files, and of what came since, that were there and are not
    any more.
    """
    before = users(below_home(world.bench.reference[0]))
    valued = {
        line
        for entry in before.values()
        for line in (entry.content or b"").split(b"\n")
    }
    valued |= {line for line in there if MARK.encode() in line}
    return [
        f"lost: {line[:200]!r}" for line in (valued & there) - lines(world.state.home)
    ]


def lines(root: Path) -> set[bytes]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {line for file in files for line in file.read_bytes().split(b"\n")}


def below_home(tree: Tree) -> Tree:
    return {
        n.removeprefix("home/"): entry
        for n, entry in tree.items()
        if n.startswith("home/")
    }


def users(tree: Tree) -> Tree:
    """Without what is ours, and without locks: law 11 looks at them."""
    return {
        name: entry
        for name, entry in tree.items()
        if not (name + "/").startswith(seams.OWN + "/")
        and name not in seams.CLIENT_LOCKS
    }


def differences(expected: Tree, now: Tree) -> Iterator[str]:
    """Everything is as expected but for what carries a mark; nothing else came."""
    for name, entry in expected.items():
        found = now.get(name)
        if found is None:
            yield f"{name} is gone"
        elif (entry.kind, entry.mode) != (found.kind, found.mode):
            yield f"{name} is a {found.kind}, {found.mode:o}"
        elif entry.kind == "file" and not is_as_expected(name, entry, found):
            was, is_now = ((e.content or b"")[-300:] for e in (entry, found))
            yield f"{name}: {was!r}, now {is_now!r}"
    marked = [
        name for name, entry in now.items() if MARK.encode() in (entry.content or b"")
    ]
    for name in now.keys() - expected.keys():
        if not any(file == name or file.startswith(name + "/") for file in marked):
            yield f"{name} is new"


def is_as_expected(name: str, entry: Entry, found: Entry) -> bool:
    """Where something came since, the rest must still be there."""
    was, now = entry.content or b"", found.content or b""
    if MARK.encode() not in now:
        return was == now and (
            entry.mtime_ns == found.mtime_ns or not is_transcript(name)
        )
    if name == HISTORY:
        since = now[len(was) :].strip(b"\n").split(b"\n")
        return now.startswith(was) and all(MARK.encode() in line for line in since)
    if name == CONFIG:
        return includes(json.loads(now), json.loads(was))
    return set(was.split(b"\n")) <= set(now.split(b"\n"))


def includes(now: Any, was: Any) -> bool:
    """Whether every original setting is there; the client counts its starts up
    meanwhile.
    """
    if isinstance(was, list) and isinstance(now, list):
        return all(value in now for value in was)
    if not isinstance(was, dict):
        return bool(now == was)
    return isinstance(now, dict) and all(
        key == "numStartups" or (key in now and includes(now[key], value))
        for key, value in was.items()
    )


def is_live(world: World, text: str, kind: str) -> bool:
    """Whether a thing that came since the crash is where the client, or the user, finds
    it.
    """
    state, mark = world.state, text.encode()
    if kind == "prompt":
        return state.history.read_bytes().count(mark) == 1
    if kind == "setting":
        return mark in state.config_file.read_bytes()
    patterns = {
        "session": "*/*.jsonl",
        "note": "*/memory/**/*.md",
        "folder": "*/else.txt",
    }
    root = state.code if kind == "folder" else state.projects
    found = [file for file in root.glob(patterns[kind]) if mark in file.read_bytes()]
    return len(found) == 1 if kind == "session" else bool(found)
