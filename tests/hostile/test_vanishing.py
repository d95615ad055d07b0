"""Files that vanish, grow or are replaced between a look and the use of what was seen.

Each thing of the state in turn, before and after every call of the run that names it,
and at some more places. What another process does to it is not lost, the rest is as
before the run or as after it, and the exit code says which.
"""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.crash.bench import Bench
from tests.crash.conftest import Record
from tests.crash.fork import Ended
from tests.crash.sample import at_least
from tests.crash.sweep import UNFINISHED, Tally
from tests.crash.verdict import Verdict, expected_after, judge
from tests.hostile.gaps import Gap, around, gaps_of, plain, spread, sweep
from tests.support.state import encoded_name
from tests.support.tree import Tree, snapshot, with_content

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

NEAR, ELSEWHERE = 20, 5  # at most so many gaps around the uses of a thing, and others


def moved(bench: Bench, path: str) -> tuple[str, str]:
    """Where a thing of the project directory is before and after the move, below the
    root.
    """
    base = "home/.claude/projects"
    old, new = (encoded_name(str(bench.state.code / name)) for name in ("app", "neu"))
    return f"{base}/{old}{path}", f"{base}/{new}{path}"


def transcript(bench: Bench) -> str:
    [first, *_] = sorted((bench.template / moved(bench, "")[0]).glob("*.jsonl"))
    return f"/{first.name}"


def disturbed_gaps(
    bench: Bench, places: Sequence[str], sabotage: Sequence[str] = ()
) -> list[Gap]:
    every = gaps_of(bench, sabotage)
    near = {gap for place in places for gap in around(every, Path(place).name)}
    return sorted({*spread(sorted(near), NEAR), *spread(every, ELSEWHERE)})


def as_promised(
    ended: Ended, verdict: Verdict, problems: list[str]
) -> tuple[str, list[str]]:
    if verdict.outcome != ("after" if ended.exit == 0 else "before"):
        problems += [f"it is as {verdict.outcome}", *verdict.problems]
    return f"exit {ended.exit}, {verdict.outcome}", problems


VANISHING: dict[str, Callable[[Bench], tuple[str, ...]]] = {
    "the history": lambda _: ("home/.claude/history.jsonl",),
    "the config file": lambda _: ("home/.claude.json",),
    "projects": lambda _: ("home/.claude/projects",),
    "the project directory": lambda bench: moved(bench, ""),
    "the index": lambda bench: moved(bench, "/sessions-index.json"),
    "a transcript": lambda bench: moved(bench, transcript(bench)),
    "memory": lambda bench: moved(bench, "/memory"),
    "the list of plugins": lambda _: ("home/.claude/plugins/installed_plugins.json",),
    "a job": lambda _: ("home/.claude/jobs/1",),
    "our backups": lambda _: ("home/.claude/ccmove/backups",),
    "ours, all of it": lambda _: ("home/.claude/ccmove",),
}


def heal(bench: Bench, places: Sequence[str]) -> None:
    """What vanished comes back: to its place, or to where its directory is by now.

    If something has taken that place, what is in a directory comes back beside it; of a
    file whoever took it away keeps it: it is not lost.
    """
    away, note = bench.live.parent / "vanished", bench.live.parent / "vanished-from"
    if not note.exists():
        return
    spots = [Path(note.read_text()), *(bench.live / place for place in places)]
    if spots[0].is_dir() and not list(spots[0].iterdir()):
        spots[0].rmdir()
    free = [spot for spot in spots if spot.parent.is_dir() and not spot.exists()]
    note.unlink()
    if free and not spots[0].exists():
        away.rename(free[0])
    elif away.is_dir():
        for entry in away.iterdir() if spots[0].is_dir() else ():
            if not (spots[0] / entry.name).exists():
                entry.rename(spots[0] / entry.name)
        shutil.rmtree(away)
    else:
        away.unlink()


def vanished(bench: Bench, what: str, sabotage: Sequence[str] = ()) -> Tally:
    places = VANISHING[what](bench)
    if what.startswith("our"):
        for made in [
            bench.template / "home/.claude/ccmove",
            bench.template / places[0],
        ]:
            made.mkdir(0o700, exist_ok=True)
    gaps = disturbed_gaps(bench, places, sabotage)

    def hook(number: int) -> list[str]:
        away = bench.live.parent / "vanished"
        return [
            "vanish",
            str(number),
            str(away),
            *(str(bench.live / place) for place in places),
        ]

    at_first = bench.reset()
    replace(bench.job(), hook=hook(1)).run()
    heal(bench, places)
    never_there = at_first, snapshot(bench.live)

    def judged(bench: Bench, before: Tree, ended: Ended) -> tuple[str, list[str]]:
        """Done may also mean: as if the thing had never been there."""
        heal(bench, places)
        # What is ours may come back with something in it that the next command removes.
        problems = (
            roll_back(bench)
            if ended.exit == UNFINISHED or what.startswith("our")
            else []
        )
        verdict = bench.judge(before)
        if verdict.outcome == "neither" and ended.exit == 0:
            verdict = judge(
                before, expected_after(never_there, before), snapshot(bench.live)
            )
        return as_promised(ended, verdict, problems)

    return sweep(bench, gaps, hook, judged, sabotage)


def roll_back(bench: Bench) -> list[str]:
    recovered = bench.recovery.run()
    return [] if recovered.exit == 0 else [f"recover: {recovered}"]


def test_memory_that_vanishes_while_it_is_copied_is_not_a_bug(in_memory: Path) -> None:
    """Of a directory that two projects share, memory is copied; here it goes just
    before that.
    """
    bench = Bench(in_memory, "split")
    for gap in around(gaps_of(bench), "MEMORY.md"):
        before = bench.reset()
        [memory] = (bench.live / "home/.claude/projects").glob("*/memory/MEMORY.md")
        away = bench.live.parent / "vanished"
        hook = ["vanish", str(gap.number), str(away), str(memory)]
        ended = replace(bench.job(), hook=hook).run()
        assert plain(ended) == []
        away.rename(memory)
        if ended.exit:
            assert bench.judge(before).outcome == "before"


REST = pytest.mark.exhaustive
ALWAYS = ("the history", "the project directory", "our backups")
IN_A_RESTORE = ("the history", "the project directory", "the index", "our backups")


@pytest.mark.parametrize(
    ("command", "what"),
    [
        *(("move", what) for what in ALWAYS),
        *(
            pytest.param("move", what, marks=REST)
            for what in VANISHING
            if what not in ALWAYS
        ),
        *(pytest.param("restore", what, marks=REST) for what in IN_A_RESTORE),
    ],
)
def test_nothing_else_is_lost_when_this_vanishes(
    command: str, what: str, in_memory: Path, proven: Record
) -> None:
    tally = vanished(Bench(in_memory, "move", command), what)
    proven(f"vanishing in a {command}: {what}", tally)
    assert tally.tried > at_least(5)


def test_the_sweep_sees_what_could_be_lost(in_memory: Path) -> None:
    """The control: without a journal nothing is rolled back when the directory
    vanishes.
    """
    tally = vanished(
        Bench(in_memory, "move"), "the project directory", ["without_journal"]
    )
    assert len(tally.bad) > at_least(3)


LINE = '\n{"display":"and one more","project":"/elsewhere"}\n'


@dataclass(frozen=True)
class Written:
    """What another process writes, and where: a file by its name before and after the
    run.
    """

    hook: str
    words: tuple[str, ...]
    places: tuple[str, ...]
    lock: str = ""  # of the client, which waits for it

    def with_gap(self, bench: Bench, number: int) -> list[str]:
        lock = str(bench.live / self.lock) if self.lock else ""
        paths = [str(bench.live / place) for place in self.places]
        return [self.hook, str(number), lock, *self.words, *paths]

    def added_to(self, tree: Tree) -> Tree:
        """The tree with what was written in it."""
        [place] = [place for place in set(self.places) if place in tree]
        was = tree[place].content
        assert was is not None
        if self.hook == "append":
            return with_content(tree, place, was + self.words[0].encode())
        return with_content(
            tree, place, was.replace(*(word.encode() for word in self.words))
        )


WRITTEN: dict[str, Callable[[Bench], Written]] = {
    "the history grows": lambda _: Written(
        "append", (LINE,), ("home/.claude/history.jsonl",), "home/.claude/history.jsonl.lock"
    ),
    "a transcript grows": lambda bench: Written(
        "append", (LINE,), moved(bench, transcript(bench))
    ),
    "the config file is replaced": lambda _: Written(
        "edit", ('"numStartups": 4', '"numStartups": 5'), ("home/.claude.json",),
        "home/.claude.json.lock",
    ),
    "the index is replaced": lambda bench: Written(
        "edit", ("The café menu", "The new menu"), moved(bench, "/sessions-index.json")
    ),
    "memory grows": lambda bench: Written("append", (LINE,), moved(bench, "/memory/notes.md")),
}  # fmt: skip


def written(bench: Bench, what: str, sabotage: Sequence[str] = ()) -> Tally:
    wrote = WRITTEN[what](bench)
    gaps = disturbed_gaps(bench, wrote.places, sabotage)
    if (
        not wrote.lock
    ):  # SAFETY.md: without a lock, the moment of our rename itself can't be guarded
        gaps = [gap for gap in gaps if gap.call != "os.rename"]

    def judged(bench: Bench, before: Tree, ended: Ended) -> tuple[str, list[str]]:
        """As before or as after, and what was written is there as well, once."""
        problems = roll_back(bench) if ended.exit == UNFINISHED else []
        now = snapshot(bench.live)
        after = expected_after(bench.reference, before)
        verdict = judge(*(_undated(wrote, tree) for tree in (
            wrote.added_to(before), wrote.added_to(after), now)))  # fmt: skip
        return as_promised(ended, verdict, problems)

    return sweep(
        bench, gaps, lambda number: wrote.with_gap(bench, number), judged, sabotage
    )


def _undated(wrote: Written, tree: Tree) -> Tree:
    """The file that was written to has another time since, and a new version another
    inode.
    """
    theirs = {place for place in wrote.places if place in tree}
    backups = {name for name in tree if "/ccmove/backups/" in name}
    return {
        name: replace(entry, mtime_ns=0, inode=0) if name in theirs else entry
        for name, entry in tree.items()
        if name not in backups
    }


@pytest.mark.parametrize("what", WRITTEN)
def test_nothing_of_it_is_lost_when(what: str, in_memory: Path, proven: Record) -> None:
    tally = written(Bench(in_memory, "move"), what)
    proven(f"written meanwhile: {what}", tally)
    assert tally.ends["exit 0, after"] >= at_least(4)


def test_the_sweep_sees_a_line_that_is_lost(in_memory: Path) -> None:
    """The control: without the client's lock a line can come when the history is copied
    already.
    """
    assert written(
        Bench(in_memory, "move"), "the history grows", ["without_client_locks"]
    ).bad
