"""A project that was moved before: its transcripts still name paths of long ago."""

from __future__ import annotations

import os

from tests.shapes.bench import Bench, Expected, directory_of, files_of
from tests.support.state import encoded_name


def test_a_chain_of_moves_one_after_the_other_and_all_the_way_back(bench: Bench) -> None:
    state = bench.state
    first = state.project("a", index=True, memory={"MEMORY.md": "x\n"})
    trees = [bench.tree()]
    for old, new in (("a", "b"), ("b", "c"), ("c", "a2"), ("a2", "a")):
        (state.code / new).mkdir(exist_ok=True)
        if (state.code / old).exists():
            (state.code / old).rmdir()
        expected = Expected(bench)
        expected.move(state, state.code / old, state.code / new)
        bench.ok(state.code / old, state.code / new)
        bench.expect(expected)
        trees.append(bench.tree())
    assert os.listdir(state.projects) == [first.name]
    (state.code / "a").rmdir()
    for tree in reversed(trees[:-1]):
        bench.restore()
        state_only = {n: e for n, e in tree.items() if n.startswith("home")}
        now = {n: e for n, e in bench.tree().items() if n.startswith("home")}
        assert {n: e.sha256 for n, e in now.items()} == {n: e.sha256 for n, e in state_only.items()}


def test_transcripts_of_long_ago_go_with_their_directory_without_any_record_of_ours(
    bench: Bench,
) -> None:
    """Some other tool, or a plain `mv`, renamed the directory before."""
    state = bench.state
    old = state.project("b", sessions=2, cwd=str(state.code / "a"))
    new = state.code / "c"
    new.mkdir()
    expected = Expected(bench)
    expected.move(state, old.path, new)
    bench.cycle(expected, old.path, new)


def test_even_with_nothing_but_the_name_to_go_by(bench: Bench) -> None:
    state = bench.state
    old = state.project("b", sessions=1, cwd="/somewhere/else", config=None, prompts=0)
    new = state.code / "c"
    new.mkdir()
    expected = Expected(bench)
    expected.move(state, old.path, new)
    bench.cycle(expected, old.path, new)


def test_a_nested_name_without_evidence_is_not_taken_for_a_nested_project(bench: Bench) -> None:
    """`-code-b-2` may be `b/2` or `b-2`: nothing says that it is below `b`."""
    state = bench.state
    old = state.project("b", sessions=1)
    state.project("b/2", sessions=1, cwd="/somewhere/else", config=None, prompts=0)
    new = state.code / "c"
    new.mkdir()
    expected = Expected(bench)
    expected.move(state, old.path, new)
    bench.cycle(expected, old.path, new)


def test_a_nested_project_is_known_by_any_list_that_names_it(bench: Bench) -> None:
    state = bench.state
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
    names = {encoded_name(f"{state.code}/c{tail}") for tail in ("", *(f"/{n}" for n in lists))}
    assert set(os.listdir(state.projects)) == names


def test_after_a_move_within_a_shared_directory_our_own_records_tell_them_apart(
    bench: Bench,
) -> None:
    state = bench.state
    one = state.project("my_app", sessions=2)
    two = state.project("my.app", sessions=1, make_folder=True)
    (state.code / "my-app").mkdir()
    bench.ok(one.path, state.code / "my-app")
    (state.code / "my-app").rmdir()
    new = state.code / "new"
    new.mkdir()
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


def test_sessions_that_came_into_a_shared_directory_leave_it_again(bench: Bench) -> None:
    state = bench.state
    far = state.project("far", sessions=2)
    other = state.project("my.app", sessions=1)
    (state.code / "my-app").mkdir()
    bench.ok(far.path, state.code / "my-app")
    (state.code / "my.app").mkdir()  # while it was there the move would have been refused
    session = state.add_session("my-app")
    (state.code / "my-app").rmdir()
    new = state.code / "new"
    new.mkdir()
    bench.ok(state.code / "my-app", new)
    found = {p.stem for p in directory_of(state, new).glob("*.jsonl")}
    assert found == {*far.sessions, session}
    assert [p.stem for p in other.directory.glob("*.jsonl")] == other.sessions


def test_a_session_set_aside_by_the_client_goes_with_its_session(bench: Bench) -> None:
    state = bench.state
    two = state.project("my_app", sessions=1)
    state.project("my.app", sessions=1, make_folder=True)
    aside = two.directory / f"{two.sessions[0]}.jsonl.superseded-1780000000000"
    aside.write_text("{}\n")
    new = state.code / "new"
    new.mkdir()
    bench.ok(two.path, new)
    assert (directory_of(state, new) / aside.name).exists()


def test_a_relocated_session_belongs_to_where_it_was_relocated_to(bench: Bench) -> None:
    state = bench.state
    one = state.project("my.app", sessions=1, make_folder=True)
    two = state.project("my_app", sessions=1)
    transcript = one.transcripts[0]
    record = f'{{"type":"relocated","sessionId":"{one.sessions[0]}","relocatedCwd":"{two.path}"}}\n'
    times = transcript.stat().st_mtime_ns
    with transcript.open("a") as file:
        file.write(record)
    os.utime(transcript, ns=(times, times))
    new = state.code / "new"
    new.mkdir()
    bench.ok(two.path, new)
    found = {p.stem for p in directory_of(state, new).glob("*.jsonl")}
    assert found == {*one.sessions, *two.sessions}


def test_sessions_of_a_folder_that_is_gone_move_with_the_only_other_claimant(bench: Bench) -> None:
    """`my_app` became `my-app` by a plain `mv`; then `my-app` was moved with ccmove."""
    state = bench.state
    before = state.project("my_app", sessions=2, memory={"MEMORY.md": "x\n"})
    now = state.project("my-app", sessions=1)
    new = state.code / "new"
    new.mkdir()
    moved = bench.ok(now.path, new)
    assert [row["what"] for row in moved["left_alone"] if "is gone" in row["what"]] == []
    found = {p.stem for p in directory_of(state, new).glob("*.jsonl")}
    assert found == {*before.sessions, *now.sessions}
    assert not before.directory.exists()
    assert before.path in state.config()["projects"]


def test_they_stay_where_somebody_else_has_a_claim_too(bench: Bench) -> None:
    state = bench.state
    gone = state.project("my_app", sessions=2)
    state.project("my/app", sessions=1, make_folder=True)
    now = state.project("my-app", sessions=1)
    new = state.code / "new"
    new.mkdir()
    moved = bench.ok(now.path, new)
    (hint,) = [row["hint"] for row in moved["left_alone"] if "is gone" in row["what"]]
    assert hint == f"ccmove {gone.path} {new}"
    assert {p.stem for p in directory_of(state, new).glob("*.jsonl")} == {*now.sessions}
    assert all(transcript.exists() for transcript in gone.transcripts)
