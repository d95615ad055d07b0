"""What people and the client do between a crash and the recovery: each was seen to go
wrong.
"""

import json
import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crash.bench import Bench, age_locks, bench_of
from tests.crash.conftest import Record
from tests.crash.fork import Ended, Job
from tests.crash.interruptions import interruptions
from tests.crash.scenarios import SCENARIOS, Scenario
from tests.crash.sweep import KILL, KILLED, break_off, happen, kill, sweep
from tests.crash.world import world_bench
from tests.support import seams
from tests.support.packed import handle_at
from tests.support.state import StateBuilder, encoded_name
from tests.support.tree import diff, snapshot

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.timeout(900)]


def _two_folders(state: StateBuilder) -> None:
    for name in ("one", "two"):
        folder = state.project(name, sessions=1, make_folder=True).path
        Path(folder, "menu.txt").write_text(f"{name}\n")


def _session_twice(state: StateBuilder) -> None:
    """One session in two directories: somebody copied it, and it went on in one."""
    (state.code / "neu").mkdir()
    session = state.project("app", sessions=2).sessions[0]
    state.add_session("neu", session_id=session)
    transcript, copy = (
        state.projects / encoded_name(str(state.code / name)) / f"{session}.jsonl"
        for name in ("app", "neu")
    )
    went_on = b'{"type":"user","message":"gone on here"}\n'
    copy.write_bytes(transcript.read_bytes() + went_on)


def _two_config_files(state: StateBuilder) -> None:
    SCENARIOS["move"].build(state)
    shutil.copy(state.config_file, state.config_dir / ".claude.json")


PAIRS = (("one", "eins"), ("two", "zwei"))
TWO = Scenario("two folders", _two_folders, ("--from-file", "-", "-m"), PAIRS)
TWICE = Scenario("twice", _session_twice, ("app", "neu"))
CONFIG_DIR = ("--config-dir", "../.claude")  # it has a config file of its own
OTHER_CONFIG = Scenario(
    "two config files", _two_config_files, (*CONFIG_DIR, "app", "neu")
)


def directory(bench: Bench, name: str) -> Path:
    return bench.state.projects / encoded_name(str(bench.state.code / name))


def rename_project(bench: Bench) -> None:
    directory(bench, "neu").rename(directory(bench, "app"))


def rename_folder(old: str, new: str) -> Callable[[Bench], object]:
    return lambda bench: (bench.state.code / old).rename(bench.state.code / new)


@pytest.mark.parametrize(
    ("scenario", "command", "change"),
    [
        ("folder", "restore", rename_folder("app", "neu")),
        (TWO, "move", rename_folder("eins", "one")),
        ("move", "move", rename_project),
        ("merge", "move", lambda bench: directory(bench, "app").mkdir(mode=0o755)),
    ],
)
def test_what_was_done_since_is_no_reason_to_leave_the_rest(
    scenario: str | Scenario, command: str, change: Callable[[Bench], object]
) -> None:
    bench = world_bench(scenario, command)
    before = break_off(bench, "all changed")
    change(bench)
    ended = bench.recovery.run()
    assert ended.exit == 0, ended
    assert bench.judge(before).outcome == "before", bench.judge(before)


def test_an_empty_directory_of_the_client_stays_and_gives_its_mode_to_nobody() -> None:
    """It came to NEW before the run had renamed anything to there: we did not make it."""
    bench = world_bench("move")
    point = next(point for point in bench.points if point.name == "renameat2")
    before = bench.reset()
    assert happen(bench.job(), point, KILL).exit == KILLED
    age_locks(bench.state)
    directory(bench, "neu").mkdir(mode=0o755)
    assert bench.recovery.run().exit == 0
    assert list(directory(bench, "neu").iterdir()) == []
    assert directory(bench, "neu").stat().st_mode & 0o777 == 0o755
    directory(bench, "neu").rmdir()
    assert bench.judge(before).outcome == "before", bench.judge(before)


def sweep_all_sessions(bench: Bench) -> None:
    for name in ("neu", "neu/pkg"):
        for file in directory(bench, name).glob("*.jsonl"):
            file.unlink()
            shutil.rmtree(file.with_suffix(""), ignore_errors=True)


def sweep_one_session(bench: Bench) -> None:
    file = min(directory(bench, "neu").glob("*.jsonl"), key=os.path.getmtime)
    file.unlink()
    shutil.rmtree(file.with_suffix(""))


def shorten_a_session(bench: Bench) -> None:
    for file in directory(bench, "neu").glob("*.jsonl"):
        os.truncate(file, 50)


def remove_a_job(bench: Bench) -> None:
    shutil.rmtree(bench.state.config_dir / "jobs/1")


@pytest.mark.parametrize(
    ("scenario", "change"),
    [
        ("move", sweep_all_sessions),
        ("merge", sweep_one_session),
        ("move", shorten_a_session),
        ("move", remove_a_job),
    ],
)
def test_what_the_client_deletes_is_not_missed(
    scenario: str, change: Callable[[Bench], None]
) -> None:
    bench = world_bench(scenario)
    before = break_off(bench, "all changed")
    change(bench)
    ended = bench.recovery.run()
    assert ended.exit == 0, ended
    now = snapshot(bench.live)
    for name in ("home/.claude.json", "home/.claude/history.jsonl"):
        assert now[name].content == before[name].content
    notes = [
        name for name in before if "/memory/" in name and before[name].kind == "file"
    ]
    assert notes
    assert [now[name].content for name in notes] == [
        before[name].content for name in notes
    ]
    assert seams.left_over(bench.state) == []


def test_a_note_that_came_out_of_a_backup_and_was_edited_stays_live() -> None:
    bench = world_bench("merge", "restore")
    break_off(bench, "all changed")
    note = directory(bench, "neu") / "memory/notes.md"
    note.write_text(note.read_text().replace("new notes", "NEW notes"))
    os.utime(note, (time.time() + 60,) * 2)
    assert bench.recovery.run().exit == 0
    live = [file.read_text() for file in bench.state.projects.rglob("*.md")]
    assert live.count("NEW notes\n") == 1, live


def test_a_later_note_of_the_same_size_is_not_taken_for_ours() -> None:
    """It came to NEW when the run had not renamed ours yet."""
    bench = world_bench(Scenario("note", _only_old_has_a_note, ("app", "neu")))
    point = next(point for point in bench.points if point.where.endswith("plan.md"))
    bench.reset()
    assert happen(bench.job(), point, KILL).exit == KILLED
    age_locks(bench.state)
    notes = [directory(bench, name) / "memory/plan.md" for name in ("app", "neu")]
    notes[1].write_text("text of neu")
    assert bench.recovery.run().exit == 0
    assert [note.read_text() for note in notes] == ["text of app", "text of neu"]


def _only_old_has_a_note(state: StateBuilder) -> None:
    (state.code / "neu").mkdir()
    state.project("app", sessions=1, memory={"plan.md": "text of app"})
    state.project("neu", sessions=1, memory={"other.md": "x"})


def test_another_config_file_than_the_run_changed_is_not_taken_for_it() -> None:
    """Where $CLAUDE_CONFIG_DIR is set Claude Code has another one, in the same
    directory.
    """
    bench = world_bench(OTHER_CONFIG)
    before = break_off(bench, "locked files replaced")
    refused = bench.recovery.run()
    assert refused.exit == 5, refused
    assert ".claude.json" in refused.err
    age_locks(bench.state)
    os.utime(
        bench.state.config_dir / ".claude.json.lock", (0, 0)
    )  # beside the other one
    assert Job(bench.state, [*CONFIG_DIR, "recover"]).run().exit == 0
    assert bench.judge(before).outcome == "before"
    assert bench.job().run().exit == 0
    assert Job(bench.state, ["restore"]).run().exit == 4
    assert Job(bench.state, [*CONFIG_DIR, "restore"]).run().exit == 0


def test_a_restore_after_an_interrupted_move_undoes_that_one_and_no_other() -> None:
    bench = world_bench("move")
    number = (
        interruptions(bench.points)["all changed"].ordinal - 8
    )  # our directory is there now
    bench.reset()
    state = bench.state
    state.add_session("earlier")
    (state.code / "later").mkdir()
    assert Job(state, ["earlier", "later"]).run().exit == 0
    before = snapshot(bench.live)
    assert bench.job([f"die_at={number}"]).run().exit == KILLED
    assert seams.under_way(state)
    age_locks(state)
    ended = bench._job(["restore"]).run()
    assert ended.exit == 0, ended
    assert "Rolled back the interrupted run" in ended.out
    assert not [
        n
        for n, e in before.items()
        if e.content and snapshot(bench.live).get(n) is None
    ]


def test_setting_aside_that_is_killed_leaves_a_run_that_is_rolled_back_or_kept() -> (
    None
):
    bench = world_bench("move")
    outcomes = set()
    for number in range(1, 12):
        before = break_off(bench, "all changed")
        taken = directory(bench, "neu").rename(
            bench.state.home / "taken"
        )  # else it goes back
        bench._job(["recover", "--set-aside"], [f"die_at={number}"]).run()
        taken.rename(directory(bench, "neu"))
        assert bench.recovery.run().exit == 0
        is_back = not diff(before, snapshot(bench.live), ignore=[f"home/{seams.OWN}"])
        assert is_back != bool(seams.unfinished(bench.state)), number
        outcomes.add(is_back)
    assert outcomes == {True, False}
    before = break_off(bench, "all changed")
    assert bench._job(["recover", "--set-aside"]).run().exit == 0
    assert bench.judge(before).outcome == "before", bench.judge(before)


def test_what_a_recovery_names_is_there() -> None:
    bench = world_bench(TWICE)
    break_off(bench, "all changed")
    (session,) = (
        file.stem
        for file in directory(bench, "neu").glob("*.jsonl")
        if b"gone on here" in file.read_bytes()
    )
    bench.state.add_session("app", session_id=session, text="since")
    ended: Ended = bench.recovery.run()
    assert ended.exit == 0, ended
    (named,) = re.findall(r"the earlier one is (\S+?);? ", ended.out.replace("\n", " "))
    assert Path(named.replace("~", str(bench.state.home))).is_file(), ended.out


@pytest.mark.parametrize("number", [0, *range(5, 12)])
def test_a_move_that_was_undone_is_no_evidence_also_where_pruning_was_killed(
    number: int, tmp_path: Path
) -> None:
    state = StateBuilder(tmp_path)
    state.project("my_app", sessions=1, make_folder=True)
    assert Job(state, ["-m", "my_app", "my-app"]).run().exit == 0
    if number:
        prune = ["prune", "--keep", "0"]
        Job(state, prune, sabotage=[f"die_at={number}"]).run()
    if Job(state, ["restore"]).run().exit == 0:  # else its backup is gone
        (state.code / "my-app").mkdir()
        assert Job(state, ["-m", "my_app", "third"]).run().exit == 0
        (session,) = state.projects.glob("*/*.jsonl")
        assert session.parent.name == encoded_name(str(state.code / "third"))


def _only_notes(state: StateBuilder) -> None:
    """Sessions are swept when they are old; what is left are notes of one name, and of
    one size.
    """
    for name in ("one", "two"):
        memory = {"MEMORY.md": f"- {name}\n"}
        state.project(name, sessions=0, memory=memory, make_folder=True)


SWAPPED = (("one", "two"), ("two", "one"))
NOTES = Scenario(
    "notes", _only_notes, ("--from-file", "-", "--skip-path-check"), SWAPPED
)


@pytest.mark.parametrize("command", ["move", "restore"])
def test_notes_of_projects_that_change_places_are_not_mixed_up(
    command: str, proven: Record
) -> None:
    bench = world_bench(NOTES, command)
    tally = sweep(bench.points, lambda point: kill(bench, point))
    proven(f"killed: {command} (swap of notes)", tally)


def test_a_note_that_came_since_goes_back_with_those_that_changed_places() -> None:
    bench = world_bench(NOTES)
    break_off(bench, "all changed")
    for name, other in SWAPPED:
        (directory(bench, name) / "memory/later.md").write_text(f"about {other}\n")
    assert bench.recovery.run().exit == 0
    for name, _ in SWAPPED:
        notes = sorted((directory(bench, name) / "memory").iterdir())
        assert [note.read_text() for note in notes] == [
            f"- {name}\n",
            f"about {name}\n",
        ]


def test_what_its_owner_did_before_the_run_came_to_it_stays() -> None:
    bench = world_bench(TWO)
    break_off(bench, "committed")
    rename_folder("one", "eins")(bench)
    assert bench.recovery.run().exit == 0
    assert (bench.state.code / "eins/menu.txt").is_file()


def test_a_directory_that_is_another_one_by_now_is_not_taken_for_ours() -> None:
    bench = world_bench("move")
    break_off(bench, "all changed")
    directory(bench, "neu").rename(bench.state.home / "taken away")
    session = bench.state.add_session("neu")
    os.utime(directory(bench, "neu") / f"{session}.jsonl", (time.time() + 60,) * 2)
    assert bench.recovery.run().exit == 5
    shutil.rmtree(directory(bench, "neu"))
    (bench.state.home / "taken away").rename(directory(bench, "neu"))
    assert bench.recovery.run().exit == 0


def test_a_session_that_went_on_after_a_killed_unpack_stays_with_all_that_is_its() -> (
    None
):
    bench = bench_of("unpack")
    break_off(bench, "all changed")
    project = handle_at(bench.state, "neu")
    stays = project.sessions[-1]
    with (project.directory / f"{stays}.jsonl").open("ab") as file:
        file.write(b'{"turn": "since"}\n')
    bench.state.add_prompt("neu", "since", stays)
    recovered = bench.recovery.run()
    assert recovered.exit == 0, recovered
    assert f"{stays}.jsonl went on since, so it stays" in recovered.out
    assert "turn" in (project.directory / f"{stays}.jsonl").read_text()
    assert (project.directory / stays / "subagents").is_dir()
    lines = bench.state.history.read_text(encoding="utf-8").splitlines()
    assert sum(stays in line for line in lines) == 2  # one that came, one since


def test_what_others_wrote_into_a_config_file_that_an_unpack_made_stays() -> None:
    bench = bench_of("unpack-empty")
    reports = [p for p in bench.points if p.where.endswith("run/report.json")]
    bench.reset()
    happen(bench.job(), reports[-1], KILL)
    path = str(bench.state.code / "neu")
    entries = bench.state.config()["projects"]
    assert path in entries
    theirs = {"/elsewhere": {"hasTrustDialogAccepted": True}}
    config = {"numStartups": 1, "projects": entries | theirs}
    bench.state.config_file.write_text(json.dumps(config))
    done = bench.recovery.run()
    assert done.exit == 0, done
    assert "Rolled back" in done.out
    assert bench.state.config() == {"numStartups": 1, "projects": theirs}
    assert sorted(os.listdir(bench.state.home)) == [".claude", ".claude.json"]


def after_a_killed_unpack(scenario: str) -> Bench:
    """The last change is made, and the run is not done."""
    bench = bench_of(scenario)
    reports = [p for p in bench.points if p.where.endswith("run/report.json")]
    bench.reset()
    happen(bench.job(), reports[-1], KILL)
    return bench


def test_sessions_that_left_after_a_killed_unpack_stay_with_all_that_is_theirs() -> (
    None
):
    """`/cd` takes a transcript to another project, and nothing else. One of the two
    took the place of its own beginning, which may not come back beside it.
    """
    bench = after_a_killed_unpack("unpack")
    state = bench.state
    project = handle_at(state, "neu")
    elsewhere = directory(bench, "elsewhere")
    elsewhere.mkdir()
    came = [f for f in project.transcripts if b"since" not in f.read_bytes()]
    left = {file.stem for file in came if (project.directory / file.stem).is_dir()}
    assert len(left) == 2
    for session in left:
        with (project.directory / f"{session}.jsonl").open("ab") as file:
            file.write(b'{"type":"relocated"}\n')
        (project.directory / f"{session}.jsonl").rename(elsewhere / f"{session}.jsonl")
    tasks = {path.name for path in (state.config_dir / "tasks").iterdir()}
    prompts = [sum(s in line for line in lines_of(state)) for s in left]
    assert all(prompts)
    recovered = bench.recovery.run()
    assert recovered.exit == 0, recovered
    for session in left:
        assert f"session {session} left for {elsewhere.name} since" in recovered.out
        assert (project.directory / session / "subagents").is_dir()
        found = list(state.projects.rglob(f"{session}.jsonl"))
        assert found == [elsewhere / f"{session}.jsonl"]
    assert {path.name for path in (state.config_dir / "tasks").iterdir()} == tasks
    assert [sum(s in line for line in lines_of(state)) for s in left] == prompts


def lines_of(state: StateBuilder) -> list[str]:
    return state.history.read_text(encoding="utf-8").splitlines()


def test_of_an_index_that_an_unpack_made_only_what_is_ours_is_taken_out() -> None:
    bench = after_a_killed_unpack("unpack-empty")
    index = handle_at(bench.state, "neu").index
    session = bench.state.add_session("neu")
    document = json.loads(index.read_bytes())
    entry = {**document["entries"][0], "sessionId": session}
    document["entries"].append(entry)
    index.write_text(json.dumps(document, indent=2))
    done = bench.recovery.run()
    assert done.exit == 0, done
    entries = json.loads(index.read_bytes())["entries"]
    assert [entry["sessionId"] for entry in entries] == [session]
    assert handle_at(bench.state, "neu").sessions == [session]


def test_a_memory_that_an_unpack_brought_and_that_was_changed_stays_whole() -> None:
    bench = after_a_killed_unpack("unpack-empty")
    memory = handle_at(bench.state, "neu").memory / "MEMORY.md"
    text = memory.read_text() + "- since\n"
    memory.write_text(text)
    done = bench.recovery.run()
    assert done.exit == 0, done
    assert f"{memory} has changed since, so it stays" in done.out
    assert memory.read_text() == text
    assert os.listdir(memory.parent) == ["MEMORY.md"]


def test_a_home_that_was_copied_to_where_times_are_coarser_is_as_before() -> None:
    bench = after_a_killed_unpack("unpack-empty")
    for file in bench.state.projects.rglob("*"):
        date = file.stat().st_mtime_ns // 10**9 * 10**9
        os.utime(file, ns=(date, date))
    done = bench.recovery.run()
    assert done.exit == 0, done
    assert "Everything is as it was before" in done.out
    assert not bench.state.projects.exists()
