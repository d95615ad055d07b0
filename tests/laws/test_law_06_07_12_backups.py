"""Laws 6, 7 and 12: what a backup must be good for, what it alone holds, what a hard
link is.
"""

import json
import os

import pytest

from tests.crash.conftest import Record
from tests.crash.fork import Job
from tests.crash.scenarios import SCENARIOS, Scenario
from tests.crash.world import try_all, world_bench
from tests.shapes.bench import Bench, directory_of
from tests.shapes.test_both_stay import MEETINGS, merging
from tests.support import seams
from tests.support.contents import live_contents, lost
from tests.support.state import StateBuilder

# -- law 6: what could not be undone later is refused now ---------------------------------------


def _new_home(state: StateBuilder) -> None:
    """The state comes from another machine, where the home had another path."""
    for name in ("/Users/me/code/app", "/Users/me"):
        state.project(name, sessions=1, prompts=1)
    text = json.dumps({"permissions": {"allow": ["Read(/Users/me/**)"]}})
    (state.home / ".claude/settings.json").write_text(text)
    (state.home / "code/app").mkdir(parents=True)
    (state.home / "code/app/.mcp.json").write_text(
        json.dumps({"args": ["/Users/me/code/app"]})
    )


NEW_HOME = Scenario("new home", _new_home, ("--settings", "/Users/me", ".."))


def test_a_home_that_moved_with_project_files_can_be_undone(bench: Bench) -> None:
    _new_home(bench.state)
    with bench.moved("--settings", "/Users/me", bench.state.home):
        server = json.loads((bench.state.home / "code/app/.mcp.json").read_text())
        assert server == {"args": [str(bench.state.home / "code" / "app")]}


def test_a_home_that_is_old_can_be_moved_and_undone(
    bench: Bench, state: StateBuilder
) -> None:
    """The state is inside OLD: it stays where it is, and is no project's own."""
    for folder in (state.home, state.home / "app"):
        state.project(folder, sessions=1)
    (state.home / ".claude/settings.json").write_text(
        json.dumps({"a": str(state.home / "x")})
    )
    with bench.moved(
        "--skip-path-check", "--settings", state.home, state.root / "elsewhere"
    ):
        assert directory_of(state, state.root / "elsewhere/app").is_dir()


@pytest.mark.crash
@pytest.mark.slow
def test_a_crash_in_a_home_that_moved_is_rolled_back(proven: Record) -> None:
    proven("killed: move (new home)", try_all(world_bench(NEW_HOME)))


# -- law 7: a backup never holds the only copy --------------------------------------------------


@pytest.mark.parametrize("shape", MEETINGS)
def test_pruning_after_a_merge_loses_nothing(bench: Bench, shape: str) -> None:
    pair = merging(bench, shape)
    before = live_contents(bench.state)
    bench.ok(*pair)
    bench.ok("prune", "--keep", "0")
    assert seams.backup_ids(bench.state) == []
    assert lost(before, live_contents(bench.state)) == []


def test_pruning_after_merges_in_one_run_and_of_a_shared_directory_loses_nothing(
    bench: Bench,
) -> None:
    """Two into one, and a part of a shared directory into a third that is there."""
    for number, name in enumerate(("one/app", "two/app", "new", "my-app", "more")):
        notes = {
            "plan.md": f"{name}\n",
            "MEMORY.md": f"- {name}\n",
            "a.md": "a" * number,
        }
        bench.state.project(name, sessions=1, index=True, memory=notes)
    bench.state.project("my_app", sessions=1, index=True)
    for name in ("new", "more", "my-app"):
        bench.folder(name)
    before = live_contents(bench.state)
    moves = (("one/app", "new"), ("two/app", "new"), ("my_app", "more"))
    code = bench.state.code
    lines = "".join(f"{code / old}\t{code / new}\n" for old, new in moves)
    bench.ok("--from-file", "-", input=lines)
    bench.ok("prune", "--keep", "0")
    assert lost(before, live_contents(bench.state)) == []


def test_what_looks_for_losses_sees_them(bench: Bench) -> None:
    """A note that is gone, a transcript that was cut, a line or an entry that is gone."""
    notes = {"MEMORY.md": "- one\n- two\n", "a.md": "a note\n"}
    project = bench.state.project("old", sessions=1, index=True, memory=notes)
    before = live_contents(bench.state)
    assert lost(before, before) == []
    (project.memory / "a.md").unlink()
    (project.memory / "MEMORY.md").write_text("- one\n")
    (transcript,) = project.transcripts
    transcript.write_bytes(transcript.read_bytes()[:-1])
    gone = {path.name for path in lost(before, live_contents(bench.state))}
    assert gone == {"a.md", "MEMORY.md", transcript.name}
    index = {project.index: before[project.index]}
    assert lost(index, {project.index: b"{}"}) == [project.index]
    rewritten = index[project.index].replace(b"/old", b"/new")
    assert lost(index, {project.index: rewritten}) == []


def test_a_backup_of_former_versions_only_is_pruned(
    bench: Bench, state: StateBuilder
) -> None:
    state.project("old", index=True, memory={"MEMORY.md": "x\n"})
    (state.code / "new").mkdir()
    bench.ok(state.code / "old", state.code / "new")
    bench.ok("prune", "--keep", "0")
    assert seams.backup_ids(state) == []


# -- law 12: a hard link is not a frozen copy -----------------------------------------------------


def shared_inodes(state: StateBuilder) -> list[str]:
    """Files of the user that a backup holds under a second name: what is written
    reaches it.
    """
    files = [path for path in state.home.rglob("*") if path.is_file()]
    ours = {
        path.stat().st_ino for path in files if path.is_relative_to(seams.own(state))
    }
    theirs = [path for path in files if not path.is_relative_to(seams.own(state))]
    return [str(path) for path in theirs if path.stat().st_ino in ours]


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_putting_back_writes_fresh_bytes(scenario: str) -> None:
    bench = world_bench(scenario)
    bench.reset()
    for job in (bench.job(), *(Job(bench.state, ["restore"]) for _ in range(2))):
        job.run()
        assert shared_inodes(bench.state) == [], job.args


def test_an_append_through_a_file_that_was_open_does_not_spoil_the_backup(
    bench: Bench,
) -> None:
    """The client had the history open: its line lands in the file that we only linked."""
    state = bench.state
    old = state.project("old", index=True)
    (state.code / "new").mkdir()
    before = state.history.read_bytes()
    client = os.open(state.history, os.O_WRONLY | os.O_APPEND)
    bench.ok(old.path, state.code / "new")
    os.write(client, b'{"display":"late","project":"/elsewhere"}\n')
    os.close(client)
    done = bench.run("restore")
    assert done.exit == 0, done
    assert state.history.read_bytes().startswith(before)
    assert directory_of(state, old.path).is_dir()
