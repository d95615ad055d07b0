"""A project that was moved before: its transcripts still name paths of long ago."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.shapes.bench import Bench, Expected, directory_of, files_of
from tests.support import seams
from tests.support.oddlines import stringify
from tests.support.state import ProjectHandle, StateBuilder, encoded_name


def test_a_chain_of_moves_one_after_the_other_and_all_the_way_back(
    bench: Bench,
) -> None:
    state = bench.state
    first = state.project("a", index=True, memory={"MEMORY.md": "x\n"})
    trees = [bench.tree()]
    runs = []
    for old, new in (("a", "b"), ("b", "c"), ("c", "a2"), ("a2", "a")):
        (state.code / new).mkdir(exist_ok=True)
        if (state.code / old).exists():
            (state.code / old).rmdir()
        expected = Expected(bench)
        expected.move(state, state.code / old, state.code / new)
        runs.append(bench.ok(state.code / old, state.code / new)["backup"])
        bench.expect(expected)
        trees.append(bench.tree())
    assert os.listdir(state.projects) == [first.name]
    (state.code / "a").rmdir()
    for tree, run in zip(reversed(trees[:-1]), reversed(runs), strict=True):
        bench.restore(run)
        then, now = (
            {
                name: entry.sha256
                for name, entry in found.items()
                if name.startswith("home")
            }
            for found in (tree, bench.tree())
        )
        assert now == then
    bench.refused("restore", code=3)


@pytest.mark.parametrize(
    "lists", [{}, {"config": None, "prompts": 0}], ids=["listed", "the name"]
)
def test_transcripts_of_long_ago_go_with_their_directory_without_any_record_of_ours(
    bench: Bench, lists: dict[str, Any]
) -> None:
    """Some other tool, or a plain `mv`, renamed the directory before; its name may be
    all there is to go by.
    """
    old = bench.state.project("b", sessions=2, cwd="/somewhere/else", **lists)
    bench.plain_cycle(old.path, bench.folder("c"))


def test_a_nested_name_without_evidence_is_not_taken_for_a_nested_project(
    bench: Bench,
) -> None:
    """`-code-b-2` may be `b/2` or `b-2`: nothing says that it is below `b`."""
    state = bench.state
    old = state.project("b", sessions=1)
    state.project("b/2", sessions=1, cwd="/somewhere/else", config=None, prompts=0)
    bench.plain_cycle(old.path, bench.folder("c"))


def test_a_nested_project_is_known_by_any_list_naming_it(
    bench: Bench, state: StateBuilder
) -> None:
    lists = {
        "history": {"config": None, "prompts": 1},
        "config": {"prompts": 0},
        "index": {"config": None, "prompts": 0, "index": True},
    }
    state.project("b", sessions=1)
    for name, options in lists.items():
        state.project(f"b/{name}", sessions=1, cwd="/somewhere/else", **options)  # type: ignore[arg-type]
    (state.code / "c").mkdir()
    bench.ok(state.code / "b", state.code / "c")
    names = {
        encoded_name(f"{state.code}/c{tail}")
        for tail in ("", *(f"/{n}" for n in lists))
    }
    assert set(os.listdir(state.projects)) == names


@pytest.mark.parametrize("pruned", [False, True])
def test_after_a_move_within_a_shared_directory_our_own_records_tell_them_apart(
    bench: Bench, pruned: bool, state: StateBuilder
) -> None:
    """They do so for ever: what is known of whose a session is outlives the backups."""
    one = state.project("my_app", sessions=2)
    two = state.project("my.app", sessions=1, make_folder=True)
    (state.code / "my-app").mkdir()
    bench.ok(one.path, state.code / "my-app")
    if pruned:
        bench.ok("prune", "--keep", "0")
        assert seams.backup_ids(state) == []
    (state.code / "my-app").rmdir()
    new = bench.folder("new")
    expected = Expected(bench)
    target = directory_of(state, new)
    expected.make_directory(target)
    for path in files_of(one.directory):
        if path.name[:36] in one.sessions:
            expected.rename(path, target / path.name)
    expected.rewrite_lists(state, (state.code / "my-app", new))
    moved = bench.cycle(expected, state.code / "my-app", new)
    assert [(p["kind"], p["transcripts"]) for p in moved["projects"]] == [("split", 2)]
    assert [p.stem for p in two.directory.glob("*.jsonl")].count(two.sessions[0]) == 1


@pytest.mark.parametrize("pruned", [False, True])
def test_sessions_that_came_into_a_shared_directory_leave_it_again(
    bench: Bench, pruned: bool, state: StateBuilder
) -> None:
    far = state.project("far", sessions=2)
    other = state.project("my.app", sessions=1)
    (state.code / "my-app").mkdir()
    bench.ok(far.path, state.code / "my-app")
    if pruned:
        bench.ok("prune", "--keep", "0")
        bench.ok("prune", "--keep", "0")  # which forgets nothing
    (
        state.code / "my.app"
    ).mkdir()  # while it was there the move would have been refused
    session = state.add_session("my-app")
    (state.code / "my-app").rmdir()
    new = bench.folder("new")
    bench.ok(state.code / "my-app", new)
    found = {p.stem for p in directory_of(state, new).glob("*.jsonl")}
    assert found == {*far.sessions, session}
    assert [p.stem for p in other.directory.glob("*.jsonl")] == other.sessions


def shared_and_pruned(bench: Bench) -> tuple[ProjectHandle, Path]:
    """my_app became my-app beside a living my.app, and the backup was pruned."""
    state = bench.state
    one = state.project("my_app", sessions=1)
    state.project("my.app", sessions=1, make_folder=True)
    (state.code / "my-app").mkdir()
    bench.ok(one.path, state.code / "my-app")
    bench.ok("prune", "--keep", "0")
    (state.code / "my-app").rmdir()
    (state.code / "new").mkdir()
    return one, seams.ledger(state)


def test_what_is_kept_of_pruned_backups_is_readable_by_the_owner_only(
    bench: Bench,
) -> None:
    _, ledger = shared_and_pruned(bench)
    assert stat.S_IMODE(ledger.stat().st_mode) == 0o600
    assert b"message" not in ledger.read_bytes()


def forged(record: dict[str, Any]) -> bytes:
    record.pop("checksum")
    return json.dumps({**record, "checksum": seams.checksum(record)}).encode()


def with_value(record: dict[str, Any], key: str, value: str) -> dict[str, Any]:
    record["runs"][0][1][0][key] = value
    return record


DAMAGED: dict[str, Callable[[dict[str, Any]], bytes]] = {
    "empty": lambda _: b"",
    "not JSON": lambda _: b'{"schema": 2,',
    "deep": lambda _: b"[" * 100_000,
    "of an unknown version": lambda record: forged({**record, "schema": 99}),
    "without its list": lambda record: forged(
        {k: record[k] for k in record if k != "runs"}
    ),
    "changed by hand": lambda record: json.dumps(
        with_value(record, "new_path", "/x")
    ).encode(),
    "forged": lambda record: forged(with_value(record, "target", "../../../etc")),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_ledger_that_is_damaged_is_ignored_and_said_so(
    bench: Bench, damage: str
) -> None:
    one, ledger = shared_and_pruned(bench)
    schema = json.loads(ledger.read_bytes())["schema"]
    ledger.write_bytes(DAMAGED[damage](json.loads(ledger.read_bytes())))
    moved = bench.ok(bench.state.code / "my-app", bench.state.code / "new")
    assert any(str(ledger) in warning for warning in moved["warnings"])
    assert one.transcripts[0].exists()
    bench.ok("prune", "--keep", "0")  # writes it again
    assert json.loads(ledger.read_bytes())["schema"] == schema


def test_a_link_in_the_place_of_the_ledger_leads_nowhere(bench: Bench) -> None:
    _, ledger = shared_and_pruned(bench)
    outside = bench.state.root / "outside.json"
    ledger.rename(outside)
    before = outside.read_bytes()
    ledger.symlink_to(outside)
    moved = bench.ok(bench.state.code / "my-app", bench.state.code / "new")
    assert any(str(ledger) in warning for warning in moved["warnings"])
    bench.ok("prune", "--keep", "0")
    assert outside.read_bytes() == before
    assert not ledger.is_symlink()


def test_a_session_set_aside_by_the_client_goes_with_its_session(bench: Bench) -> None:
    state = bench.state
    two = state.project("my_app", sessions=1)
    state.project("my.app", sessions=1, make_folder=True)
    aside = two.directory / f"{two.sessions[0]}.jsonl.superseded-1780000000000"
    aside.write_text("{}\n")
    new = bench.folder("new")
    bench.ok(two.path, new)
    assert (directory_of(state, new) / aside.name).exists()


def test_a_relocated_session_belongs_to_where_it_was_relocated_to(bench: Bench) -> None:
    state = bench.state
    one = state.project("my.app", sessions=1, make_folder=True)
    two = state.project("my_app", sessions=1)
    transcript = one.transcripts[0]
    record = {
        "type": "relocated",
        "sessionId": one.sessions[0],
        "relocatedCwd": two.path,
    }
    times = transcript.stat().st_mtime_ns
    with transcript.open("ab") as file:
        file.write(
            b"x" * 99_999 + b"\n" + stringify(record) + b"\n{}\n"
        )  # only near the end
    os.utime(transcript, ns=(times, times))
    new = bench.folder("new")
    bench.ok(two.path, new)
    found = {p.stem for p in directory_of(state, new).glob("*.jsonl")}
    assert found == {*one.sessions, *two.sessions}


def test_sessions_of_a_folder_that_is_gone_move_with_the_only_other_claimant(
    bench: Bench,
) -> None:
    """`my_app` became `my-app` by a plain `mv`; then `my-app` was moved with ccmove."""
    state = bench.state
    before = state.project(
        "my_app", sessions=2, memory={"MEMORY.md": "x\n"}, index=True
    )
    now = state.project("my-app", sessions=1, index=True)
    new = bench.folder("new")
    moved = bench.ok(now.path, new)
    assert [
        row["what"] for row in moved["left_alone"] if "is gone" in row["what"]
    ] == []
    found = {p.stem for p in directory_of(state, new).glob("*.jsonl")}
    assert found == {*before.sessions, *now.sessions}
    assert not before.directory.exists()
    assert before.path not in state.config()["projects"]
    index = json.loads((directory_of(state, new) / "sessions-index.json").read_text())
    assert {entry["projectPath"] for entry in index["entries"]} == {str(new)}
    assert index["originalPath"] == str(new)


def test_sessions_of_a_gone_folder_that_came_along_are_its_again_after_an_undo(
    bench: Bench, state: StateBuilder
) -> None:
    other, ours = (state.project(name, sessions=1) for name in ("my-app", "my_app"))
    (state.code / "new").mkdir()
    bench.ok(ours.path, state.code / "new")
    bench.restore()
    Path(other.path).mkdir()
    bench.ok(ours.path, state.code / "new")
    assert {path.stem for path in other.directory.glob("*.jsonl")} == set(
        other.sessions
    )


def test_sessions_of_a_gone_folder_stay_where_two_others_have_a_claim(
    bench: Bench, state: StateBuilder
) -> None:
    gone = state.project("my_app", sessions=2)
    state.project("my/app", sessions=1, make_folder=True)
    now = state.project("my-app", sessions=1)
    new = bench.folder("new")
    moved = bench.ok(now.path, new)
    (hint,) = [row["hint"] for row in moved["left_alone"] if "is gone" in row["what"]]
    assert hint == f"ccmove {gone.path} {new}"
    assert {p.stem for p in directory_of(state, new).glob("*.jsonl")} == {*now.sessions}
    assert all(transcript.exists() for transcript in gone.transcripts)
