"""Laws 9 and 10: nothing of OLD stays behind unnamed, and the newest backup is the
newest.
"""

import json
from pathlib import Path

import pytest

from tests.crash.world import users
from tests.shapes.bench import Bench, directory_of
from tests.support import seams
from tests.support.state import StateBuilder
from tests.support.tree import diff, snapshot


def assert_moved_or_named(bench: Bench, transcript: Path, *args: str | Path) -> None:
    """It is among the new project's sessions, or the plain output says that it is not."""
    done = bench.run(*args)
    assert done.exit == 0, done
    if transcript.exists():
        said = done.out + done.err
        assert transcript.parent.name in said or transcript.stem in said, done


def test_a_nested_session_with_a_big_first_prompt_is_moved_or_named(
    bench: Bench,
) -> None:
    state = bench.state
    state.project("old")
    (state.code / "new/service").mkdir(parents=True)
    cwd = str(state.code / "old/service")
    file = directory_of(state, cwd) / "5a0d1d70-9f2b-4b5c-8c55-0f6b8ea5c0de.jsonl"
    file.parent.mkdir()
    first = {
        "type": "queue-operation",
        "sessionId": file.stem,
        "content": "log line\n" * 12_000,
    }
    records = [first, {"type": "user", "cwd": cwd, "sessionId": file.stem}]
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert_moved_or_named(bench, file, state.code / "old", state.code / "new")


@pytest.mark.parametrize("moved_by_hand", [True, False])
def test_sessions_begun_under_a_former_name_are_moved_or_named(
    bench: Bench, moved_by_hand: bool, state: StateBuilder
) -> None:
    """my_app became my-app, by hand or with us and the backup was pruned, and is
    webshop now.
    """
    first = state.project("my_app", sessions=1)
    if moved_by_hand:
        config = state.config()
        config["projects"][str(state.code / "my-app")] = config["projects"].pop(
            first.path
        )
        state.write_config(config)
        state.add_session("my-app")
    else:
        (state.code / "my-app").mkdir()
        bench.ok(first.path, state.code / "my-app")
        bench.ok("prune", "--keep", "0")
        (state.code / "my-app").rmdir()
    (state.code / "webshop").mkdir()
    args = (state.code / "my-app", state.code / "webshop")
    assert_moved_or_named(bench, first.transcripts[0], *args)


@pytest.mark.parametrize("only", [[], ["--only"]])
def test_sessions_begun_since_below_new_follow_the_folder(
    bench: Bench, only: list[str]
) -> None:
    state, new = bench.state, bench.folder("new")
    old = state.project("old").path
    bench.ok(*only, old, new)
    session = state.add_session(bench.folder("new/sub"))
    assert bench.run("undo").exit == 0
    moved = directory_of(state, Path(old) / "sub")
    assert [path.stem for path in moved.glob("*.jsonl")] == [session]


def test_an_undo_names_what_stays_at_new_and_what_brings_it_along(
    bench: Bench,
) -> None:
    state = bench.state
    old, new = state.project("old"), state.project("new", make_folder=True)
    bench.ok(old.path, new.path)
    session = state.add_session(new.path)
    preview, done = bench.run("undo", "-n"), bench.run("undo")
    typed = f"ccmove --skip-path-check {new.path} {old.path}"
    assert (done.exit, typed in preview.out, typed in done.out) == (0, True, True), done
    assert (new.directory / f"{session}.jsonl").exists()
    assert bench.run(*typed.split()[1:]).exit == 0
    assert (old.directory / f"{session}.jsonl").exists()


# -- law 10 -------------------------------------------------------------------------------------


DAMAGES = ("truncated", "empty", "gone", "of an unknown version", "a directory")


def spoil(manifest: Path, damage: str) -> None:
    data = manifest.read_bytes()
    manifest.unlink()
    match damage:
        case "truncated":
            manifest.write_bytes(data[:100])
        case "empty":
            manifest.touch()
        case "of an unknown version":
            number = dict.fromkeys(("version", "format", "schema"), 999)
            manifest.write_text(json.dumps({**json.loads(data), **number}))
        case "a directory":
            manifest.mkdir()


@pytest.fixture
def two_moves(bench: Bench) -> tuple[Bench, str, str]:
    state = bench.state
    runs = []
    for old, new in (("a", "a2"), ("b", "b2")):
        state.project(old, sessions=1)
        (state.code / new).mkdir()
        runs.append(bench.ok(state.code / old, state.code / new)["backup"])
    return bench, runs[0], runs[1]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_newest_backup_that_cant_be_read_stops_restore(
    damage: str, two_moves: tuple[Bench, str, str]
) -> None:
    bench, older, newest = two_moves
    spoil(seams.manifest(bench.state, newest), damage)
    before = users(snapshot(bench.state.home))
    done = bench.run("restore")
    assert done.exit == 4, done
    assert newest in done.err
    assert diff(before, users(snapshot(bench.state.home)), inodes="all") == []
    listed = bench.run("backups")
    assert older in listed.out
    assert newest in listed.out + listed.err
    assert bench.run("restore", older).exit == 0
