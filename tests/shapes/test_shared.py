"""One directory for several paths: only what is OLD's moves."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.shapes.bench import Bench, Expected, directory_of, inside
from tests.support.oddlines import stringify
from tests.support.state import ProjectHandle, StateBuilder

MEMORY = {"MEMORY.md": "- one for both\n", "deep/er.md": "deeper\n"}


@pytest.fixture
def sharing(state: StateBuilder) -> tuple[ProjectHandle, ProjectHandle, ProjectHandle]:
    """`my-app`, `my_app` and `my/app` in one directory; the second one moves to `new`."""
    one = state.project("my-app", index=True, memory=MEMORY, make_folder=True)
    two = state.project("my_app", index=True)
    three = state.project("my/app", sessions=1, index=True, make_folder=True)
    assert one.directory == two.directory == three.directory
    (state.code / "new").mkdir()
    return one, two, three


def keep_the_rest(expected: Expected, two: ProjectHandle) -> list[dict[str, Any]]:
    """The entries of `two` leave the index that it shares; they are told."""
    document = json.loads(two.index.read_text())
    rest = [e for e in document["entries"] if e["sessionId"] not in two.sessions]
    expected.write(two.index, stringify({**document, "entries": rest}, 2))
    return [e for e in document["entries"] if e not in rest]


def split(bench: Bench, two: ProjectHandle) -> Expected:
    """The sessions of `two` with their folders, its entries of the index, and a copy of
    memory.
    """
    new = str(bench.state.code / "new")
    target = directory_of(bench.state, new)
    expected = Expected(bench)
    expected.make_directory(target)
    for session in two.sessions:
        expected.rename(two.directory / f"{session}.jsonl", target / f"{session}.jsonl")
        expected.rename(two.directory / session, target / session)
    entries = keep_the_rest(expected, two)
    for entry in entries:
        entry["projectPath"] = new
        entry["fullPath"] = entry["fullPath"].replace(
            inside(two.name), inside(target.name)
        )
    index = {"version": 1, "entries": entries, "originalPath": new}
    expected.make(target / "sessions-index.json", stringify(index, 2))
    if two.memory.exists():
        expected.make_directory(target / "memory")
        expected.make(target / "memory" / "MEMORY.md", b"- one for both\n")
        expected.make_directory(target / "memory" / "deep")
        expected.make(target / "memory" / "deep" / "er.md", b"deeper\n")
    expected.rewrite_lists(bench.state, (two.path, new))
    return expected


Three = tuple[ProjectHandle, ProjectHandle, ProjectHandle]


def test_only_the_moving_projects_sessions_move(bench: Bench, sharing: Three) -> None:
    _, two, _ = sharing
    new = str(bench.state.code / "new")
    moved = bench.cycle(split(bench, two), two.path, new)
    assert [(p["from"], p["kind"], p["transcripts"]) for p in moved["projects"]] == [
        (two.path, "split", 2)
    ]


def test_sessions_of_a_gone_folder_that_stay_are_named_with_a_hint(
    bench: Bench, sharing: Three
) -> None:
    one, two, _ = sharing
    Path(one.path).rmdir()
    new = str(bench.state.code / "new")
    moved = bench.cycle(split(bench, two), two.path, new)
    (left,) = [row for row in moved["left_alone"] if "is gone" in row["what"]]
    assert (left["file"], left["hint"]) == (
        str(one.directory),
        f"ccmove {one.path} {new}",
    )
    assert ("2 sessions" in left["what"], one.path in left["what"]) == (True, True)


def test_what_nobody_can_be_told_to_own_stays_and_is_named(
    bench: Bench, sharing: Three
) -> None:
    _, two, _ = sharing
    long_ago = bench.state.add_session("elsewhere", directory=two.directory)
    odd = two.directory / "notes.txt"
    odd.write_text("whose?\n")
    lonely = two.directory / "0b7c1c1e-0000-4000-8000-000000000000"
    lonely.mkdir()
    new = str(bench.state.code / "new")
    moved = bench.cycle(split(bench, two), two.path, new)
    named = {
        row["file"]
        for row in moved["left_alone"]
        if "nothing shows whose" in row["what"]
    }
    assert named == {str(two.directory / f"{long_ago}.jsonl"), str(odd), str(lonely)}


def test_an_index_parts_and_each_part_gets_its_own_path(
    bench: Bench, state: StateBuilder
) -> None:
    """Also one that was begun by the project that leaves, and entries without their
    transcripts.
    """
    two = state.project("my_app", sessions=2, index=True)
    one = state.project("my-app", sessions=2, index=True, make_folder=True)
    for handle in (one, two):
        handle.transcripts[0].unlink()
    new = bench.folder("new")
    with bench.moved(two.path, new):
        indexes = one.index, directory_of(state, new) / "sessions-index.json"
        left, moved = (json.loads(index.read_text()) for index in indexes)
        assert (left["originalPath"], moved["originalPath"]) == (one.path, str(new))
        assert [e["sessionId"] for e in left["entries"]] == one.sessions
        assert [e["sessionId"] for e in moved["entries"]] == two.sessions


def test_part_of_a_shared_directory_merges_into_what_is_there(
    bench: Bench, sharing: Three
) -> None:
    _, two, _ = sharing
    state = bench.state
    new = state.project("new", sessions=1, index=True, memory={"MEMORY.md": "- new\n"})
    expected = Expected(bench)
    expected.bring_sessions(two, new)
    keep_the_rest(expected, two)
    expected.write(new.memory / "MEMORY.md", b"- new\n- one for both\n")
    expected.make_directory(new.memory / "deep")
    expected.make(new.memory / "deep" / "er.md", b"deeper\n")
    expected.join_lists(state, (two.path, new.path))
    bench.cycle(expected, two.path, new.path)


def test_a_shared_note_that_differs_at_the_target_is_copied_beside_it(
    bench: Bench, state: StateBuilder
) -> None:
    one = state.project(
        "my-app", sessions=1, memory={"style.md": "shared\n"}, make_folder=True
    )
    two = state.project("my_app", sessions=1)
    new = state.project(
        "new", sessions=1, memory={"style.md": "of its own\n"}, make_folder=True
    )
    with bench.moved(two.path, new.path) as moved:
        beside = "memory/style (from my_app).md"
        assert (new.memory / "style.md").read_text() == "of its own\n"
        assert (new.directory / beside).read_text() == "shared\n"
        assert (one.memory / "style.md").read_text() == "shared\n"
        assert any(
            warning.endswith(f"both are kept, the moved one as {beside}")
            for warning in moved["warnings"]
        )


@pytest.mark.parametrize("longer", ["moved", "there", "neither"])
def test_a_shared_note_that_goes_on_at_the_target_is_one_with_it(
    bench: Bench, state: StateBuilder, longer: str
) -> None:
    moved = "- one\n- two\n" if longer == "moved" else "- one\n"
    there = "- one\n- two\n" if longer == "there" else "- one\n"
    state.project("my-app", sessions=1, memory={"style.md": moved}, make_folder=True)
    two = state.project("my_app", sessions=1)
    new = state.project("new", sessions=1, memory={"style.md": there}, make_folder=True)
    with bench.moved(two.path, new.path):
        texts = {file.name: file.read_text() for file in new.memory.iterdir()}
        assert texts == {"style.md": max(moved, there)}


def test_a_link_in_shared_memory_is_named_and_not_copied(
    bench: Bench, state: StateBuilder
) -> None:
    one = state.project("my-app", sessions=1, memory={"a.md": "a\n"}, make_folder=True)
    two = state.project("my_app", sessions=1)
    (one.memory / "b.md").symlink_to(state.home / "elsewhere.md")
    new = bench.folder("new")
    with bench.moved(two.path, new) as moved:
        assert [p.name for p in (directory_of(state, new) / "memory").iterdir()] == [
            "a.md"
        ]
        assert str(one.memory / "b.md") in {row["file"] for row in moved["left_alone"]}


def test_two_that_share_and_move_together_stay_together(
    bench: Bench, state: StateBuilder
) -> None:
    one = state.project("old/my-app", sessions=1, index=True, memory=MEMORY)
    two = state.project("old/my_app", sessions=1, index=True)
    (state.code / "new").mkdir()
    expected = Expected(bench)
    target = directory_of(state, state.code / "new" / "my-app")
    expected.rename(one.directory, target)
    new = [str(state.code / "new" / name) for name in ("my-app", "my_app")]
    pairs = [
        (f'"{handle.path}"', f'"{path}"')
        for handle, path in zip((one, two), new, strict=True)
    ]
    expected.replace(
        target / "sessions-index.json", *pairs, (inside(one.name), inside(target.name))
    )
    expected.rewrite_lists(state, (one.path, new[0]), (two.path, new[1]))
    moved = bench.cycle(expected, state.code / "old", state.code / "new")
    assert [(p["from"], p["to"], p["transcripts"]) for p in moved["projects"]] == [
        (one.path, new[0], 1),
        (two.path, new[1], 1),
    ]


def test_two_that_share_can_part_in_one_go(bench: Bench, state: StateBuilder) -> None:
    one = state.project("my-app", sessions=1, index=True, memory=MEMORY)
    two = state.project("my_app", sessions=1, index=True)
    for name in ("one", "two"):
        (state.code / name).mkdir()
    lines = f"{one.path}\t{state.code}/one\n{two.path}\t{state.code}/two\n"
    with bench.moved("--from-file", "-", input=lines):
        for handle, name in ((one, "one"), (two, "two")):
            directory = directory_of(state, state.code / name)
            assert [p.stem for p in directory.glob("*.jsonl")] == handle.sessions
            index = json.loads((directory / "sessions-index.json").read_text())
            assert [e["sessionId"] for e in index["entries"]] == handle.sessions
            assert (
                directory / "memory" / "MEMORY.md"
            ).read_text() == "- one for both\n"
        left = json.loads(one.index.read_text())
        assert left["entries"] == []
        # Found by random moves: it said that it was of the first one's new path.
        assert left["originalPath"] == one.path


def test_a_path_known_only_to_the_config_file_takes_no_sessions_from_others(
    bench: Bench,
) -> None:
    state = bench.state
    one = state.project("my-app", sessions=2, make_folder=True)
    two = state.project("my_app", sessions=0, prompts=2)
    new = bench.folder("new")
    expected = Expected(bench)
    expected.rewrite_lists(state, (two.path, new))
    assert bench.cycle(expected, two.path, new)["counts"]["transcripts"] == 0
    assert one.directory.is_dir()


def test_aliases_of_others_name_both_places_after_a_split(
    bench: Bench, sharing: Three
) -> None:
    one, two, _ = sharing
    state = bench.state
    other = state.project("other", sessions=1)
    aliases = other.directory / ".session-aliases"
    aliases.write_text(f"{one.directory}\n")
    aliases.chmod(0o600)
    new = str(state.code / "new")
    expected = split(bench, two)
    expected.write(aliases, f"{one.directory}\n{directory_of(state, new)}\n".encode())
    bench.cycle(expected, two.path, new)


def test_a_job_of_a_session_that_leaves_follows_it(
    bench: Bench, sharing: Three
) -> None:
    one, two, _ = sharing
    state = bench.state
    new = str(state.code / "new")
    target = directory_of(state, new)
    jobs = []
    for number, handle in enumerate((one, two)):
        job = state.config_dir / "jobs" / str(number) / "state.json"
        job.parent.mkdir(parents=True)
        job.write_bytes(
            stringify(
                {"cwd": handle.path, "linkScanPath": str(handle.transcripts[0])}, 2
            )
        )
        jobs.append(job)
    expected = split(bench, two)
    moved = target / two.transcripts[0].name
    expected.replace(jobs[1], (two.path, new), (str(two.transcripts[0]), str(moved)))
    bench.cycle(expected, two.path, new)


def gone_twin(state: StateBuilder) -> tuple[ProjectHandle, ProjectHandle]:
    """`my_app`, whose folder is gone, with tools of its own, and `my-app` beside it."""
    tools = {"allowedTools": ["Bash(make twin)"], "hasTrustDialogAccepted": True}
    twin = state.project("my_app", sessions=2, prompts=2, config=tools, index=True)
    ours = state.project("my-app", sessions=1, prompts=1, index=True)
    return twin, ours


def prompts_of(state: StateBuilder, path: Path | str) -> int:
    lines = state.history.read_text().splitlines()
    return sum(json.loads(line)["project"] == str(path) for line in lines)


def test_a_gone_twin_comes_along_with_its_prompts_and_settings(bench: Bench) -> None:
    state = bench.state
    twin, ours = gone_twin(state)
    new = bench.folder("web")
    planned = bench.ok("-n", ours.path, new)
    moved = bench.ok(ours.path, new)
    rows = [(row["from"], row["to"], row["transcripts"]) for row in moved["projects"]]
    assert rows == [(ours.path, str(new), 1), (twin.path, str(new), 2)]
    assert planned["projects"] == moved["projects"]
    assert (prompts_of(state, new), prompts_of(state, twin.path)) == (3, 0)
    projects = state.config()["projects"]
    assert twin.path not in projects
    tools = projects[str(new)]["allowedTools"]
    assert sorted(tools) == ["Bash(make test)", "Bash(make twin)"]
    assert bench.run("verify").exit == 0


def test_what_is_below_a_gone_twin_does_not_come_along(bench: Bench) -> None:
    """Nothing of it was ever shown in OLD's folder."""
    state = bench.state
    twin, ours = gone_twin(state)
    below = state.project("my_app/sub", sessions=1, prompts=2)
    bench.ok(ours.path, bench.folder("web"))
    assert below.directory.is_dir()
    assert prompts_of(state, below.path) == 2
    assert below.path in state.config()["projects"]
    assert prompts_of(state, twin.path) == 0


def test_a_gone_twin_beside_somebody_else_stays_with_its_prompts_and_is_named(
    bench: Bench,
) -> None:
    state = bench.state
    twin, ours = gone_twin(state)
    state.project("my/app", sessions=1, make_folder=True)
    moved = bench.ok(ours.path, bench.folder("web"))
    assert any(twin.path in row["what"] for row in moved["left_alone"])
    assert all(transcript.exists() for transcript in twin.transcripts)
    assert prompts_of(state, twin.path) == 2
    assert twin.path in state.config()["projects"]


def sessions_in_list(bench: Bench) -> dict[str | None, int]:
    rows = bench.ok("list")["projects"]
    return {row["path"]: row["sessions"] for row in rows}


@pytest.mark.parametrize("is_there", [True, False], ids=["there", "gone"])
def test_list_move_and_merge_agree_about_a_session_that_is_nobodys(
    bench: Bench, is_there: bool
) -> None:
    """It is counted for neither of the two that share the directory, does not leave
    with one of them, and is none of NEW's own.
    """
    state = bench.state
    one = state.project("my-app", sessions=1, make_folder=is_there)
    two = state.project("my_app", sessions=2)
    nobodys = state.add_session("far", directory=one.directory)
    assert sessions_in_list(bench) == {one.path: 1, two.path: 2, None: 1}

    old = state.project("old", sessions=1)
    if not is_there:  # else a twin that lives refuses that
        preview = bench.run("-n", old.path, two.path, "--skip-path-check").out
        assert "into a project that has 2 sessions of its own" in preview
    else:
        moved = bench.ok(two.path, bench.folder("new"))
        named = [row["file"] for row in moved["left_alone"]]
        assert str(one.directory / f"{nobodys}.jsonl") in named
        assert (one.directory / f"{nobodys}.jsonl").exists()
        assert sum(row["transcripts"] for row in moved["projects"]) == 2


def test_list_move_and_merge_agree_that_an_only_claimant_has_it(bench: Bench) -> None:
    state = bench.state
    one = state.project("my-app", sessions=1)
    state.add_session("far", directory=one.directory)
    assert sessions_in_list(bench) == {one.path: 2}
    old = state.project("old", sessions=1)
    preview = bench.run("-n", "--skip-path-check", old.path, one.path).out
    assert "into a project that has 2 sessions of its own" in preview
    moved = bench.ok(one.path, bench.folder("new"))
    assert [row["transcripts"] for row in moved["projects"]] == [2]


def test_an_index_never_says_that_it_is_of_a_twin_whose_sessions_are_gone(
    bench: Bench,
) -> None:
    """Found by random lives: the client had deleted the twin's sessions, and the index
    went along in its name.
    """
    state = bench.state
    twin = state.project("my-app", sessions=1, index=True, make_folder=True)
    moving = state.project("my_app", sessions=1, index=True)
    for session in twin.sessions:
        (twin.directory / f"{session}.jsonl").unlink()
    new = bench.folder("new")
    bench.ok(moving.path, new)
    index = json.loads((directory_of(state, new) / "sessions-index.json").read_text())
    assert index["originalPath"] == str(new)
    assert {entry["projectPath"] for entry in index["entries"]} == {str(new)}


def test_who_comes_to_the_name_of_one_who_leaves_has_the_index(bench: Bench) -> None:
    """Found by random lives: the index was given to NEW, then followed the other."""
    state = bench.state
    leaving = state.project("my-app", sessions=1, index=True)
    coming = state.project("my_app", sessions=1, index=True)
    new = bench.folder("new")
    Path(leaving.path).mkdir()
    moves = f"{leaving.path}\t{new}\n{coming.path}\t{leaving.path}\n"
    bench.ok("--from-file", "-", input=moves)
    for path in (new, leaving.path):
        index = directory_of(state, path) / "sessions-index.json"
        content = json.loads(index.read_text())
        assert content["originalPath"] == str(path)
        assert [e["projectPath"] for e in content["entries"]] == [str(path)]
    assert bench.run("verify").exit == 0


def test_a_memory_that_two_have_moves_with_both_and_comes_back(
    bench: Bench, state: StateBuilder
) -> None:
    """Found by random moves: the memory, which is nobody's, stayed at NEW."""
    for name in ("my-app", "my_app"):
        state.project(name, sessions=0, prompts=1, memory=MEMORY)
    new = bench.folder("new")
    lines = f"{state.code}/my-app\t{new}\n{state.code}/my_app\t{new}\n"
    with bench.moved("--from-file", "-", input=lines):
        assert (directory_of(state, new) / "memory" / "MEMORY.md").exists()
