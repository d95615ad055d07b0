"""No gap between looking and using: someone who swaps a directory for a link gains nothing.

The swap happens before and after every single use of the directory, in turn. Afterwards nothing
outside has changed; and when the swap is undone, `recover` leaves the state as before the run or
as after it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.attack import EXIT_CODES, Target, checked, make_target
from tests.hostile.surroundings import ROOT, hooked
from tests.support.run import run_child
from tests.support.state import StateBuilder, encoded_name


def swept(
    target: Target, swapped: str, *args: str | os.PathLike[str], follow: str = ""
) -> list[dict[str, Any]]:
    """What came of every run; first the state before and after an undisturbed one."""
    live, template = target.state.root, target.state.root.parent / "template"
    live.rename(template)
    argv = [sys.executable, "-m", "tests.hostile.sweep", str(template), str(live), swapped, "--"]
    argv += [os.fspath(arg) for arg in args]
    child = StateBuilder(live.parent / "unused")
    env = {"PYTHONPATH": str(ROOT), "FOLLOW_LINKS": follow}
    done = run_child(argv, state=child, env=env, timeout=600)
    assert done.exit == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def judge(undisturbed: dict[str, Any], *runs: dict[str, Any]) -> None:
    """Nothing outside was touched, and the state is whole: as it was before, or as after."""
    assert undisturbed["before"] != undisturbed["after"]
    assert len(runs) > 10
    for run in runs:
        said = run["said"] + run["said then"]
        assert run["touched"] == [], run["number"]
        assert run["exit"] in EXIT_CODES, run
        assert "bug in ccmove" not in said, run
        assert "Traceback" not in said, run
        assert run["recovered"] == 0, run
        assert run["left"] in undisturbed.values(), run["number"]
    assert {run["exit"] for run in runs} & {1, 4, 5}, "at some calls the swap was in the way"


@pytest.fixture
def deep(place: Path) -> Target:
    """A target whose root can be put aside as a template."""
    return make_target(StateBuilder(place / "live"))


STATE = "home/.claude"
SWAPS = [
    ("move", STATE),
    ("move", f"{STATE}/projects"),
    ("move", f"{STATE}/ccmove"),
    ("restore", f"{STATE}/projects"),
    ("restore", f"{STATE}/ccmove/backups"),
]


@pytest.mark.exhaustive  # `make test` has the one below
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("command", "swapped"), SWAPS)
def test_a_directory_swapped_for_a_link_around_any_use(
    deep: Target, command: str, swapped: str
) -> None:
    (deep.own / "backups").mkdir(parents=True, mode=0o700)
    args: list[str | Path] = [deep.old, deep.new]
    if command == "restore":
        assert deep.move().exit == 0
        args = ["restore"]
    judge(*swept(deep, swapped, *args))


def test_the_project_directory_swapped_for_a_link_around_any_use(deep: Target) -> None:
    path = f"{STATE}/projects/{encoded_name(str(deep.old))}"
    judge(*swept(deep, path, deep.old, deep.new))


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_sweep_sees_what_following_links_would_do(deep: Target) -> None:
    """The control: without O_NOFOLLOW the very same swaps do reach outside."""
    runs = swept(deep, f"{STATE}/projects", deep.old, deep.new, follow="1")[1:]
    assert any(run["touched"] for run in runs)


TEMPORARY: dict[str, Callable[[Target], Path]] = {
    "history.jsonl.lock": lambda t: t.state.config_dir,
    ".claude.json.lock": lambda t: t.state.home,
    "journal.json.new": lambda t: t.own,
    "run": lambda t: t.own,
    ".ccmove-": lambda t: t.handle.directory,
}


@pytest.mark.parametrize("name", TEMPORARY)
def test_a_link_planted_at_a_temporary_name_is_not_written_through(
    target: Target, name: str
) -> None:
    """The names carry a random part, but someone could watch and be quick."""
    victim = target.outside / "victim"
    victim.write_text("precious")
    target.own.mkdir(mode=0o700)
    target.remember()
    directory, fired = TEMPORARY[name](target), target.state.root / "fired"
    plan = [name, str(directory), str(victim), str(fired)]
    done = checked(hooked(target.state, "plant", plan, target.old, target.new))
    target.outside_is_untouched()
    planted = Path(fired.read_text())
    assert planted.parent == directory
    if done.exit:
        planted.unlink(missing_ok=True)
        assert target.run("recover").exit == 0
        target.nothing_changed()
    else:
        assert target.target.is_dir()
