"""No gap between looking and using: someone who swaps a directory for a link gains
nothing.

The swap happens before and after every single use of the directory, in turn. Afterwards
nothing outside has changed; and when the swap is undone, `recover` leaves the state as
before the run or as after it.
"""

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.crash.bench import Bench, age_locks
from tests.crash.fork import Ended, Job
from tests.crash.sample import EXHAUSTIVE
from tests.crash.scenarios import Scenario
from tests.crash.sweep import Tally
from tests.hostile import gaps
from tests.hostile.attack import Target, checked, make_target
from tests.support.state import StateBuilder, encoded_name
from tests.support.tree import Tree, diff, snapshot


def build(state: StateBuilder) -> None:
    target = make_target(state)
    (target.own / "backups").mkdir(parents=True, mode=0o700)


DEEP = Scenario("deep", build, ("my-app", "new"))
STATE = "home/.claude"


def swept(
    in_memory: Path, command: str, swapped: str, sabotage: Sequence[str] = ()
) -> Tally:
    """Swap the directory for a link to its copy outside, around every use that is made
    of it.
    """
    bench = Bench(in_memory, DEEP, command)
    copy, path = bench.live / "outside/copy", bench.live / swapped
    subprocess.run(
        ["cp", "-a", bench.template / swapped, bench.template / "outside/copy"]
    )

    def judge(bench: Bench, before: Tree, ended: Ended) -> tuple[str, list[str]]:
        problems = diff(
            *map(outside, (before, snapshot(bench.live))), mtimes="all", inodes="all"
        )
        heal(bench, path, copy)
        age_locks(
            bench.state
        )  # one that could not be reached when it was to be removed
        recovered = bench.recovery.run()
        if recovered.exit != 0 or gaps.plain(recovered):
            problems.append(f"recover: {recovered}")
        if users(snapshot(bench.live)) not in map(users, bench.reference):
            problems.append("neither before nor after")
        return f"exit {ended.exit}", problems

    around = gaps.around(gaps.gaps_of(bench), path.name)
    return gaps.sweep(
        bench,
        around,
        lambda n: ["swap", str(n), str(path), str(copy)],
        judge,
        sabotage,
        try_all=True,
    )


def outside(tree: Tree) -> Tree:
    return {name: entry for name, entry in tree.items() if name.startswith("outside")}


def users(tree: Tree) -> dict[str, str]:
    """What the state holds: every file by its name, but ours."""
    return {
        name: entry.sha256 or entry.kind
        for name, entry in tree.items()
        if name.startswith("home/") and not name.startswith(f"{STATE}/ccmove")
    }


def heal(bench: Bench, path: Path, copy: Path) -> None:
    """The link goes, wherever it is now, and the directory comes back."""
    for found in (bench.live / "home").rglob("*"):
        if found.is_symlink() and os.readlink(found) == str(copy):
            found.unlink()
    away = Path(f"{path}.away")
    if away.exists() and not path.exists():
        away.rename(path)


REST = pytest.mark.exhaustive


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("command", "swapped"),
    [
        ("move", f"{STATE}/projects/OLD"),
        pytest.param("move", STATE, marks=REST),
        pytest.param("move", f"{STATE}/projects", marks=REST),
        pytest.param("move", f"{STATE}/ccmove", marks=REST),
        pytest.param("restore", f"{STATE}/projects", marks=REST),
        pytest.param("restore", f"{STATE}/ccmove/backups", marks=REST),
    ],
)
def test_a_directory_swapped_for_a_link_around_any_use(
    in_memory: Path, command: str, swapped: str
) -> None:
    old = encoded_name(str(in_memory / "live/code/my-app"))
    tally = swept(in_memory, command, swapped.replace("OLD", old))
    assert not tally.bad, tally.report()
    assert tally.tried > 10
    assert tally.ends.keys() & {"exit 1", "exit 4", "exit 5"}, (
        "the swap was never in the way"
    )


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_sweep_sees_what_following_links_would_do(in_memory: Path) -> None:
    """The control: without O_NOFOLLOW the very same swaps do reach outside."""
    tally = swept(in_memory, "move", f"{STATE}/projects", ["follow_links"])
    assert any("outside/" in bad for bad in tally.bad)


TEMPORARY: dict[str, Callable[[Target], Path]] = {
    "history.jsonl.lock": lambda t: t.state.config_dir,
    ".claude.json.lock": lambda t: t.state.home,
    "manifest.json": lambda t: t.own / "run",
    "manifest.json.new": lambda t: t.own / "run",
    "run": lambda t: t.own,
    ".ccmove-": lambda t: t.handle.directory,
}


@pytest.mark.parametrize("name", TEMPORARY)
def test_a_link_planted_at_a_temporary_name_is_not_written_to(
    target: Target, name: str
) -> None:
    """The names carry a random part, but someone could watch and be quick."""
    victim = target.outside / "victim"
    victim.write_text("precious")
    target.own.mkdir(mode=0o700)
    target.remember()
    directory, fired = TEMPORARY[name](target), target.state.root / "fired"
    plan = [name, str(directory), str(victim), str(fired)]
    words, patience = (
        [str(target.old), str(target.new)],
        () if EXHAUSTIVE else ("patience=1",),
    )
    done = checked(
        Job(target.state, words, sabotage=patience, hook=["plant", *plan]).run()
    )
    target.outside_is_untouched()
    planted = Path(fired.read_text())
    assert planted.parent == directory
    if done.exit:
        planted.unlink(missing_ok=True)
        assert target.run("recover").exit == 0
        target.nothing_changed()
    else:
        assert target.target.is_dir()
