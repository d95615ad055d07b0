"""Where two files of one name meet in a merge nothing loses.

Each row of MEETINGS is what OLD has, what NEW has, and what NEW has afterwards. A text
is a file, None an empty directory, what begins with -> a link to the rest of it.
"""

import json
import os
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.shapes.bench import Bench, directory_of
from tests.support import seams, tree
from tests.support.run import run_child
from tests.support.state import StateBuilder

Files = dict[str, str | None]
SESSION = "11111111-2222-3333-4444-555555555555"
TURNS = '{"type":"user","n":1}\n{"type":"user","n":2}\n'
MORE = TURNS + '{"type":"user","n":3}\n'
LONG = "x" * 252 + ".md"
WIDE = "é" * 126 + ".md"


@dataclass(frozen=True)
class Meeting:
    """What of one name is on both sides, and what NEW has after the move."""

    old: Files
    new: Files
    after: Files
    kept: str = ""  # what the moved one is called, if both stay


def both_stay(name: str, beside: str, **more: Any) -> Meeting:
    old, new = more.get("old", "of old\n"), more.get("new", "of new\n")
    return Meeting({name: old}, {name: new}, {name: new, beside: old}, beside)


NOTE = "memory/plan.md"
IN_A_FOLDER = "a file in a session's folder"
MEETINGS = {
    "equal notes": Meeting({NOTE: "a\n"}, {NOTE: "a\n"}, {NOTE: "a\n"}),
    "a note that goes on in OLD": Meeting(
        {NOTE: "a\nb\n"}, {NOTE: "a\n"}, {NOTE: "a\nb\n"}
    ),
    "a note that goes on in NEW": Meeting(
        {NOTE: "a\n"}, {NOTE: "a\nb\n"}, {NOTE: "a\nb\n"}
    ),
    "an empty note": Meeting({NOTE: ""}, {NOTE: "a\n"}, {NOTE: "a\n"}),
    "different notes": both_stay(NOTE, "memory/plan (from old).md"),
    "a deeper note": both_stay("memory/a/b.md", "memory/a/b (from old).md"),
    "without a suffix": both_stay("memory/plan", "memory/plan (from old)"),
    "a hidden file": both_stay("memory/.plan", "memory/.plan (from old)"),
    "two suffixes": both_stay("a.tar.gz", "a.tar (from old).gz"),
    "a file beside sessions": both_stay("agent-1.jsonl", "agent-1 (from old).jsonl"),
    "a file of a session": both_stay(
        f"{SESSION}.precompact.json", f"{SESSION}.precompact (from old).json"
    ),
    IN_A_FOLDER: both_stay(
        f"{SESSION}/tool-results/a.txt", f"{SESSION}/tool-results/a (from old).txt"
    ),
    "a name that fills the limit": both_stay(
        LONG, "x" * (252 - len(" (from old)")) + " (from old).md"
    ),
    "a multibyte name at the limit": both_stay(
        WIDE, "é" * ((252 - len(" (from old)")) // 2) + " (from old).md"
    ),
    "the name is taken": Meeting(
        {NOTE: "old\n"},
        {NOTE: "new\n", "memory/plan (from old).md": "another\n"},
        {
            NOTE: "new\n",
            "memory/plan (from old).md": "another\n",
            "memory/plan (from old 2).md": "old\n",
        },
        "memory/plan (from old 2).md",
    ),
    "an equal one is beside it": Meeting(
        {NOTE: "old\n"},
        {NOTE: "new\n", "memory/plan (from old).md": "old\n"},
        {NOTE: "new\n", "memory/plan (from old).md": "old\n"},
    ),
    "a file against a directory": Meeting(
        {"memory/notes": "a file\n"},
        {"memory/notes/deep.md": "deep\n"},
        {"memory/notes/deep.md": "deep\n", "memory/notes (from old)": "a file\n"},
        "memory/notes (from old)",
    ),
    "a directory against a file": Meeting(
        {"memory/v1.2/deep.md": "deep\n"},
        {"memory/v1.2": "a file\n"},
        {"memory/v1.2": "a file\n", "memory/v1.2 (from old)/deep.md": "deep\n"},
        "memory/v1.2 (from old)",
    ),
    "an empty directory in OLD": Meeting(
        {"memory": None}, {"memory": "->shared"}, {"memory": "->shared"}
    ),
    "an empty directory in NEW": Meeting(
        {"memory": "->shared"}, {"memory": None}, {"memory": "->shared"}
    ),
    "an empty directory against a file": Meeting(
        {"memory/x": "text\n"}, {"memory/x": None}, {"memory/x": "text\n"}
    ),
    "links to one place": Meeting(
        {"memory": "->shared"}, {"memory": "->shared"}, {"memory": "->shared"}
    ),
    "links to two places": both_stay(
        "memory", "memory (from old)", old="->shared", new="->other"
    ),
    "a link against a directory": Meeting(
        {"memory": "->shared"},
        {"memory/a.md": "a\n"},
        {"memory/a.md": "a\n", "memory (from old)": "->shared"},
        "memory (from old)",
    ),
    "a directory against a link": Meeting(
        {"memory/a.md": "a\n"},
        {"memory": "->shared"},
        {"memory": "->shared", "memory (from old)/a.md": "a\n"},
        "memory (from old)",
    ),
    "equal transcripts": Meeting(
        {f"{SESSION}.jsonl": TURNS},
        {f"{SESSION}.jsonl": TURNS},
        {f"{SESSION}.jsonl": TURNS},
    ),
    "a session that went on in OLD": Meeting(
        {f"{SESSION}.jsonl": MORE},
        {f"{SESSION}.jsonl": TURNS},
        {f"{SESSION}.jsonl": MORE},
    ),
    "a session that went on in NEW": Meeting(
        {f"{SESSION}.jsonl": TURNS},
        {f"{SESSION}.jsonl": MORE},
        {f"{SESSION}.jsonl": MORE},
    ),
    "an index that is not JSON": both_stay(
        "sessions-index.json",
        "sessions-index (from old).json",
        old="{ not",
        new="{ nor",
    ),
    "two pointers": both_stay(
        "bridge-pointer.json",
        "bridge-pointer (from old).json",
        old='{"dir":"/a"}',
        new='{"dir":"/b"}',
    ),
}


def merging(bench: Bench, shape: str, name: str = "old") -> tuple[str, Path]:
    """OLD and NEW, each with a session of its own, with what meets there."""
    state = bench.state
    for place, files in ((name, MEETINGS[shape].old), ("new", MEETINGS[shape].new)):
        project = state.project(place, sessions=1, subagents=False)
        put(project.directory, files, state)
    return str(state.code / name), bench.folder("new")


def put(directory: Path, files: Files, state: StateBuilder) -> None:
    for name, text in files.items():
        path = directory / name
        if text is None:
            path.mkdir(parents=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("->"):
            (state.root / text[2:]).mkdir(exist_ok=True)
            path.symlink_to(state.root / text[2:])
        else:
            path.write_text(text)


def present(directory: Path, state: StateBuilder) -> Files:
    """What is there, but for the sessions that merely are there, in the words of rows."""
    files: Files = {}
    for path in directory.rglob("*"):
        name = path.relative_to(directory).as_posix()
        if path.is_symlink():
            files[name] = f"->{Path(os.readlink(path)).relative_to(state.root)}"
        elif path.is_file():
            files[name] = path.read_text()
    return files


@pytest.mark.parametrize("shape", sorted(MEETINGS.keys() - {IN_A_FOLDER}))
def test_what_meets_becomes_one_or_both_stay(bench: Bench, shape: str) -> None:
    meeting = MEETINGS[shape]
    old, new = merging(bench, shape)
    sessions = {
        path.name: path.read_text()
        for path in bench.state.projects.rglob("*.jsonl")
        if path.name not in {**meeting.old, **meeting.new}
    }
    directory = directory_of(bench.state, new)
    planned = bench.ok("-n", old, new)
    with bench.moved(old, new) as moved:
        assert present(directory, bench.state) == {**sessions, **meeting.after}
        assert not directory_of(bench.state, old).exists()
        assert all(len(os.fsencode(path.name)) <= 255 for path in directory.rglob("*"))
    said = [text for text in moved["warnings"] if text.startswith("both have ")]
    (met,) = meeting.new if len(meeting.new) == 1 else [NOTE]
    if shape == "a file against a directory":
        met = "memory/notes"
    elif meeting.kept == "memory (from old)":
        met = "memory"
    expected = (
        f"both have a different {met}; both are kept, the moved one as {meeting.kept}"
    )
    assert said == ([expected] if meeting.kept else [])
    assert moved["warnings"] == planned["warnings"]


def test_both_stay_in_a_sessions_folder(bench: Bench) -> None:
    """The folder itself gets another date: something came into it."""
    old, new = merging(bench, IN_A_FOLDER)
    places = [directory_of(bench.state, path) for path in (old, new)]
    before = [present(place, bench.state) for place in places]
    bench.ok(old, new)
    after = present(places[1], bench.state)
    assert {**after, **MEETINGS[IN_A_FOLDER].after} == after
    bench.restore()
    assert [present(place, bench.state) for place in places] == before


@pytest.mark.parametrize("shape", ["different notes", "a directory against a file"])
def test_the_same_merge_twice_adds_nothing_the_second_time(
    bench: Bench, shape: str
) -> None:
    old, new = merging(bench, shape)
    bench.ok(old, new)
    directory = directory_of(bench.state, new)
    before = present(directory, bench.state)
    put(directory_of(bench.state, old), MEETINGS[shape].old, bench.state)
    bench.state.add_prompt("old", "once more")
    session = bench.state.add_session("old")
    again = bench.ok(old, new)
    after = present(directory, bench.state)
    assert after.pop(f"{session}.jsonl")
    assert after == before
    assert not any(text.startswith("both have ") for text in again["warnings"])


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("[red] \x1b[1m", "[red] _[1m"),
        ("a\nb", "a_b"),
        ("ünï (from x)", "ünï (from x)"),
        ("y" * 250, "y" * (255 - len("plan (from ).md"))),
        ("日" * 80, "日" * ((255 - len("plan (from ).md")) // 3)),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="no folder there can have such a name")
def test_an_odd_name_of_a_folder_still_makes_a_name(
    bench: Bench, name: str, shown: str
) -> None:
    old, new = merging(bench, "different notes", name)
    with bench.moved(old, new):
        beside = directory_of(bench.state, new) / f"memory/plan (from {shown}).md"
        assert beside.read_text() == "of old\n"


def test_two_olds_of_one_last_name_both_keep_theirs(bench: Bench) -> None:
    state = bench.state
    for number, name in enumerate(("a/app", "b/app", "new")):
        state.project(name, sessions=1, memory={"plan.md": f"{number}\n"})
    new = bench.folder("new")
    lines = "".join(f"{state.code / name}\t{new}\n" for name in ("a/app", "b/app"))
    with bench.moved("--from-file", "-", input=lines):
        memory = directory_of(state, new) / "memory"
        texts = {path.name: path.read_text() for path in memory.iterdir()}
        assert texts.pop("plan.md") == "2\n"
        assert sorted(texts) == ["plan (from app 2).md", "plan (from app).md"]
        assert sorted(texts.values()) == ["0\n", "1\n"]


@pytest.mark.parametrize("longer", ["old", "new"])
def test_a_transcript_is_only_renamed_and_the_shorter_one_is_in_the_backup(
    bench: Bench, longer: str
) -> None:
    """More than one block long, and it differs from the other only in its end."""
    old, new = bench.state.code / "old", bench.folder("new")
    name, line = f"{SESSION}.jsonl", b'{"type":"user"}\n' * 200_000
    files = {}
    for path in (old, new):
        bench.state.project(path, sessions=1, subagents=False)
        files[path.name] = directory_of(bench.state, path) / name
        files[path.name].write_bytes(line + line[:64] * (path.name == longer))
    inodes = {key: path.stat().st_ino for key, path in files.items()}
    moved = bench.ok(old, new)
    live = directory_of(bench.state, new) / name
    assert live.stat().st_ino == inodes[longer]
    backup = seams.backups(bench.state) / moved["backup"]
    kept = [path.stat().st_ino for path in (backup / "retired").iterdir()]
    assert inodes["old" if longer == "new" else "new"] in kept
    bench.restore()
    assert {key: path.stat().st_ino for key, path in files.items()} == inodes


def test_transcripts_that_differ_after_the_first_block_are_refused(
    bench: Bench,
) -> None:
    line = b'{"type":"user"}\n' * 200_000
    for name, ending in (("old", b"old\n"), ("new", b"new and longer\n")):
        bench.state.project(name, sessions=1, subagents=False)
        directory = directory_of(bench.state, bench.state.code / name)
        (directory / f"{SESSION}.jsonl").write_bytes(line + ending)
    report = bench.refused(bench.state.code / "old", bench.folder("new"))
    assert f"{SESSION}.jsonl" in report["error"]
    assert f"ccmove doctor {SESSION}" in report["hint"]


def saved_notes(bench: Bench, run: str) -> dict[str, str]:
    """Where each saved note ended, and what was saved of it, checked by its hash."""
    backup = seams.backups(bench.state) / run
    record = json.loads((backup / "manifest.json").read_text())
    notes = {}
    for note in record["notes_saved"]:
        file = seams.saved(backup, note["number"], "note")
        assert file.stat().st_mode & 0o777 == 0o600 or os.name == "nt"
        assert seams.sha256(file.read_bytes()) == note["content"]["sha256"]
        _, _, memory, *names = note["ends"]
        notes["/".join((memory.removeprefix("memory"), *names))] = file.read_text()
    return notes


def test_a_merge_saves_each_note_that_it_moves(bench: Bench) -> None:
    notes = {"MEMORY.md": "- old\n", "a/deep.md": "deep\n", "same.md": "x\n"}
    bench.state.project("old", sessions=1, memory={**notes, "plan.md": "old\n"})
    new = {"MEMORY.md": "- new\n", "same.md": "x\n", "plan.md": "new\n"}
    bench.state.project("new", sessions=1, memory=new)
    moved = bench.ok(bench.state.code / "old", bench.folder("new"))
    assert saved_notes(bench, moved["backup"]) == {
        "/a/deep.md": "deep\n",
        "/plan (from old).md": "old\n",
    }


def test_a_saved_note_that_was_changed_is_not_read(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = merging(bench, "different notes")
    backup = seams.backups(bench.state) / bench.ok(old, new)["backup"]
    backups, saved = seams.module("backups"), seams.module("saved")
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(bench.state.home))
    layout = seams.module("layout").find_layout(None, {})
    (note,) = backups.read_manifest(backup / "manifest.json", layout).notes_saved
    assert saved.read_note(backup, note) == b"of old\n"
    assert note.path == directory_of(bench.state, old) / NOTE
    seams.saved(backup, note.number, "note").write_text("forged\n")
    with pytest.raises(seams.module("errors").RefusedError, match="changed since"):
        saved.read_note(backup, note)


ENDING = f"""{seams.PROLOGUE}
step = Work.STEP
def and_the_end(self):
    step(self)
    os._exit(9)
Work.STEP = and_the_end
main(sys.argv[1:])
"""


@pytest.mark.parametrize("step", ["save_notes", "stage", "commit"])
def test_the_notes_that_an_interrupted_merge_saved_are_swept_up(
    bench: Bench, step: str
) -> None:
    old, new = merging(bench, "different notes")
    before = bench.tree()
    script = ENDING.replace("STEP", step)
    command = [sys.executable, "-c", script, old, str(new)]
    assert run_child(command, state=bench.state).exit == 9
    assert [*seams.own(bench.state).rglob("*.note")] != []
    bench.ok("recover")
    assert seams.left_over(bench.state) == []
    assert [*seams.own(bench.state).rglob("*.note")] == []
    assert tree.diff(before, bench.tree()) == []


def test_a_merge_saves_notes_also_where_new_has_no_memory_yet(bench: Bench) -> None:
    notes = {"MEMORY.md": "- old\n", "a.md": "a\n"}
    bench.state.project("old", sessions=1, memory=notes)
    bench.state.project("new", sessions=1)
    moved = bench.ok(bench.state.code / "old", bench.folder("new"))
    saved = saved_notes(bench, moved["backup"])
    assert saved == {f"/{name}": text for name, text in notes.items()}


def test_a_plain_rename_saves_no_note(bench: Bench) -> None:
    bench.state.project("old", sessions=1, memory={"a.md": "a\n"})
    moved = bench.ok(bench.state.code / "old", bench.folder("new"))
    assert saved_notes(bench, moved["backup"]) == {}


CHANGING = f"""{seams.PROLOGUE}
step, path = Work.STEP, sys.argv.pop(1)
changed = []
def and_something_is_written(self):
    result = step(self)
    if not changed:
        changed.append(True)
        with open(path, os.environ.get("HOW", "a")) as file:
            file.write("came since\\n")
    return result
Work.STEP = and_something_is_written
main(sys.argv[1:])
"""


@pytest.mark.parametrize("step", ["begin", "stage", "snapshot", "commit"])
@pytest.mark.parametrize("changed", ["old", "new"])
@pytest.mark.parametrize("shape", ["equal notes", "a session that went on in NEW"])
def test_what_is_written_after_the_look_is_live_and_seen(
    bench: Bench, shape: str, changed: str, step: str
) -> None:
    """Both files that were compared are watched, also the one that stays live."""
    old, new = merging(bench, shape)
    (name,) = MEETINGS[shape].new
    place = directory_of(bench.state, bench.state.code / changed) / name
    script = CHANGING.replace("STEP", step)
    command = [sys.executable, "-c", script, str(place), old, str(new)]
    done = run_child(command, state=bench.state)
    is_split = shape != "equal notes" and changed == "old"
    assert done.exit == (4 if is_split else 0), done
    live = [path for path in bench.state.projects.rglob("*") if path.is_file()]
    holding = [path for path in live if "came since" in path.read_text()]
    ends = place if is_split else directory_of(bench.state, new) / name
    assert holding == [ends]
    assert seams.left_over(bench.state) == []


@pytest.mark.parametrize("step", ["begin", "stage", "snapshot", "commit"])
@pytest.mark.parametrize("changed", ["old", "new"])
def test_a_note_that_is_another_one_since_the_look_is_kept_beside(
    bench: Bench, changed: str, step: str
) -> None:
    """Else what was equal to it by then would be in the backup alone."""
    old, new = merging(bench, "equal notes")
    place = directory_of(bench.state, bench.state.code / changed) / NOTE
    script = CHANGING.replace("STEP", step)
    command = [sys.executable, "-c", script, str(place), old, str(new)]
    assert run_child(command, state=bench.state, env={"HOW": "w"}).exit == 0
    memory = directory_of(bench.state, new) / "memory"
    texts = {path.name: path.read_text() for path in memory.iterdir()}
    if changed == "old":
        assert texts == {"plan.md": "a\n", "plan (from old).md": "came since\n"}
    else:
        assert texts == {"plan.md": "came since\n", "plan (from old).md": "a\n"}


def test_a_note_that_changes_after_it_was_saved_is_saved_again(bench: Bench) -> None:
    old, new = merging(bench, "different notes")
    place = directory_of(bench.state, old) / NOTE
    script = CHANGING.replace("STEP", "commit")
    command = [sys.executable, "-c", script, str(place), old, str(new)]
    assert run_child(command, state=bench.state).exit == 0
    (run,) = seams.backup_ids(bench.state)
    saved = {"/plan (from old).md": "of old\ncame since\n"}
    assert saved_notes(bench, run) == saved


def test_a_session_that_was_copied_by_hand_and_went_on_is_moved_by_doctors_command(
    bench: Bench,
) -> None:
    state = bench.state
    old = state.project("old", sessions=3, subagents=False)
    new = state.project("new", sessions=0, make_folder=True)
    new.directory.mkdir()
    for transcript in old.transcripts:
        shutil.copy2(transcript, new.directory)
    with (new.directory / old.transcripts[0].name).open("a") as longer:
        longer.write('{"type":"user"}\n')
    kept = (new.directory / old.transcripts[0].name).read_text()
    report = bench.run("--json", "doctor", old.sessions[0]).json()
    (finding,) = (f for f in report["findings"] if f["subject"] == old.sessions[0])
    words = shlex.split(finding["command"])
    assert words == ["ccmove", old.path, new.path]
    bench.ok(*words[1:])
    assert not old.directory.exists()
    assert (new.directory / old.transcripts[0].name).read_text() == kept
    assert bench.run("doctor").exit == 0


def test_doctor_offers_no_move_between_two_folders_that_are_there(bench: Bench) -> None:
    old = bench.state.project("old", sessions=1, subagents=False, make_folder=True)
    new = bench.state.project("new", sessions=1, subagents=False, make_folder=True)
    shutil.copy2(old.transcripts[0], new.directory)
    report = bench.run("--json", "doctor").json()
    (finding,) = report["findings"]
    assert finding["command"].startswith(("ls -l ", "dir "))


def test_a_link_in_the_place_of_a_transcript_is_refused(
    bench: Bench,
) -> None:
    old, new = merging(bench, "equal transcripts")
    place = directory_of(bench.state, new) / f"{SESSION}.jsonl"
    place.unlink()
    place.symlink_to(directory_of(bench.state, old) / f"{SESSION}.jsonl")
    assert f"{SESSION}.jsonl" in bench.refused(old, new)["error"]
