"""Undoing a move after Claude Code was used: what was added stays, nothing is
overwritten.
"""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.shapes.bench import Bench, Expected, directory_of, files_of, in_json, in_rule
from tests.support.oddlines import stringify
from tests.support.state import ProjectHandle, StateBuilder, encoded_name


def ready(bench: Bench) -> tuple[StateBuilder, ProjectHandle, Path]:
    """A project that was renamed to `new`."""
    new = bench.folder("new")
    memory = {"MEMORY.md": "x\n"}
    return (
        bench.state,
        bench.state.project("old", index=True, memory=memory, repo="acme/old"),
        new,
    )


def moved(bench: Bench) -> tuple[StateBuilder, ProjectHandle, Path]:
    state, old, new = ready(bench)
    bench.ok(old.path, new)
    return state, old, new


def merged(bench: Bench) -> tuple[StateBuilder, ProjectHandle, ProjectHandle]:
    """NEW had sessions of its own when it was moved."""
    state, old, new = ready(bench)
    native = state.project("new", sessions=1, index=True, memory={"MEMORY.md": "new\n"})
    bench.ok(old.path, new)
    return state, old, native


def projects_of(state: StateBuilder) -> list[str]:
    return [
        json.loads(line)["project"] for line in state.history.read_bytes().splitlines()
    ]


def entries_of(index: Path) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(index.read_text())["entries"]
    return entries


def change_entries(
    index: Path, change: Callable[[list[dict[str, Any]]], object]
) -> None:
    """As the client does it, which writes the whole index again."""
    document = json.loads(index.read_text())
    change(document["entries"])
    index.write_bytes(stringify(document, 2))


def change_config(state: StateBuilder, change: Any) -> None:
    config = state.config()
    change(config)
    state.write_config(config)


# -- a plain move ------------------------------------------------------------------------------


def test_new_sessions_and_prompts_go_back_with_the_project(bench: Bench) -> None:
    state, old, new = ready(bench)
    expected = Expected(bench)
    bench.ok(old.path, new)
    session = state.add_session(new)
    state.add_prompt(new, "since", session)
    state.add_prompt(f"{new}/sub", "since, below", session)
    state.add_prompt("other", "elsewhere", session)
    added = directory_of(state, new) / f"{session}.jsonl"
    line = state.history.read_bytes().splitlines()[-3:]
    content = added.read_bytes()
    bench.restore()
    assert (old.directory / added.name).read_bytes() == content
    since = b"".join(text + b"\n" for text in line)
    since = since.replace(in_json(str(new)).encode(), in_json(old.path).encode())
    before = expected["home/.claude/history.jsonl"].content or b""
    assert state.history.read_bytes() == before + since
    (old.directory / added.name).unlink()
    state.history.write_bytes(before)
    bench.expect(expected)


@pytest.mark.parametrize("gone", ["the key", "the history", "the directory"])
def test_what_is_gone_is_named_and_the_rest_is_undone(bench: Bench, gone: str) -> None:
    state, old, new = ready(bench)
    config, history = state.config(), state.history.read_bytes()
    bench.ok(old.path, new)
    key = (
        f"{state.config_file}: projects > {Path(old.path).as_posix()} has changed since"
    )
    if gone == "the key":
        change_config(state, lambda config: config["projects"].pop(str(new)))
    elif gone == "the history":
        state.history.unlink()
    else:
        shutil.rmtree(directory_of(state, new))
    named = {
        "the key": key,
        # A backup does not keep its text.
        "the history": f"{state.history} is gone, so no prompts go back",
        "the directory": encoded_name(str(new)),
    }
    assert any(
        named[gone] in warning for warning in bench.restore(warned=True)["warnings"]
    )
    assert old.directory.is_dir() == (gone != "the directory")
    assert (state.config() == config) == (gone != "the key")
    assert state.history.exists() == (gone != "the history")
    assert gone == "the history" or state.history.read_bytes() == history


def test_while_the_config_file_is_broken_nothing_is_undone(bench: Bench) -> None:
    """As for a move: Claude Code repairs it when it starts."""
    state, _, _ = moved(bench)
    state.config_file.write_text("{ broken")
    assert "not valid JSON" in bench.refused("restore")["error"]


def test_the_history_after_the_clients_sweep_is_undone_line_by_line(
    bench: Bench,
) -> None:
    state, old, new = ready(bench)
    state.add_prompt("other", "not ours")
    odd = state.odd_history(old.path, 40)
    before = state.history.read_bytes().split(b"\n")
    bench.ok(old.path, new)
    lines = state.history.read_bytes().split(b"\n")
    kept = [number for number in range(len(lines)) if number % 3]
    state.history.write_bytes(b"\n".join(lines[number] for number in kept) + b"\n")
    state.add_prompt(new, "since")
    last = state.history.read_bytes().splitlines()[-1]
    bench.restore()
    expected = [before[number] for number in kept]
    there, back = (json.dumps(str(path)).encode() for path in (new, old.path))
    assert there in last
    expected.append(last.replace(there, back))
    assert state.history.read_bytes().split(b"\n") == [*expected, b""]
    assert len(odd) == 40


def test_index_entries_that_came_since_go_back_with_the_project(bench: Bench) -> None:
    state, old, new = ready(bench)
    before = json.loads(old.index.read_text())
    bench.ok(old.path, new)
    index = directory_of(state, new) / "sessions-index.json"
    entry = {**entries_of(index)[0], "sessionId": "since"}
    entry["fullPath"] = str(index.parent / "since.jsonl")
    change_entries(index, lambda entries: entries.append(entry))
    bench.restore()
    now = json.loads(old.index.read_text())
    back = {
        **entry,
        "projectPath": old.path,
        "fullPath": str(old.directory / "since.jsonl"),
    }
    assert now == {**before, "entries": [*before["entries"], back]}


def test_sessions_that_are_gone_stay_gone(bench: Bench) -> None:
    state, old, new = ready(bench)
    expected = Expected(bench)
    bench.ok(old.path, new)
    name = f"{old.sessions[0]}.jsonl"
    (directory_of(state, new) / name).unlink()
    shutil.rmtree(directory_of(state, new) / "memory")
    report = bench.restore(warned=True)
    what = "1 session of this run no longer exists: it was deleted since"
    assert report["warnings"] == [f"{what}: {old.sessions[0]}"]
    expected.remove(old.directory / name, old.memory)
    bench.expect(expected)


def test_an_old_directory_that_exists_again_is_merged_with_what_comes_back(
    bench: Bench,
) -> None:
    state, old, new = moved(bench)
    came = state.project(
        "old", sessions=1, index=True, memory={"MEMORY.md": "y\n", "z.md": "z\n"}
    )
    found = {p.name for p in directory_of(state, new).iterdir()}
    report = bench.restore(warned=True)  # what OLD has by now is named
    assert any(str(state.config_file) in warning for warning in report["warnings"])
    assert [project["kind"] for project in report["projects"]] == ["merge"]
    assert not directory_of(state, new).exists()
    assert {p.name for p in old.directory.iterdir()} == {
        *found,
        *(f"{s}.jsonl" for s in came.sessions),
        *came.sessions,
    }
    assert (old.memory / "MEMORY.md").read_text() == "y\nx\n"
    assert (old.memory / "z.md").read_text() == "z\n"
    entries = entries_of(old.index)
    assert {e["sessionId"] for e in entries} == {*old.sessions, *came.sessions}
    assert {e["projectPath"] for e in entries} == {old.path}
    assert all(Path(e["fullPath"]).exists() for e in entries)


def test_files_in_the_way_of_what_comes_back_are_refused_with_a_list(
    bench: Bench,
) -> None:
    state, old, _ = moved(bench)
    state.add_session("old", session_id=old.sessions[0], text="another one")
    assert any(old.sessions[0] in line for line in bench.refused("restore")["details"])


def test_a_later_move_must_be_undone_first(bench: Bench) -> None:
    state, old, new = ready(bench)
    before = bench.tree()
    first = bench.ok(old.path, new)["backup"]
    new.rmdir()
    (state.code / "newer").mkdir()
    bench.ok(new, state.code / "newer")
    bench.refused("restore", first)
    bench.restore()
    bench.restore(first)
    (state.code / "newer").rmdir()
    new.mkdir()
    bench.expect(before)


def test_a_run_that_a_later_one_builds_on_names_it(bench: Bench) -> None:
    """Somebody else has begun in NEW meanwhile: nothing of theirs goes anywhere."""
    state, old, new = ready(bench)
    first = bench.ok(old.path, new)["backup"]
    newer = state.code / "newer"
    new.rename(newer)
    later = bench.ok(new, newer)["backup"]
    state.project("new", sessions=1, make_folder=True)
    report = bench.refused("restore", first)
    assert later in report["error"]
    assert report["hint"] == f"undo that first: ccmove undo {later}"


def test_sessions_that_went_elsewhere_stay_there_and_block_nothing(
    bench: Bench,
) -> None:
    """Somebody renamed a directory by hand, and began again in its place."""
    state = bench.state
    one, two = (state.project(f"old/{name}", sessions=1) for name in ("one", "two"))
    bench.ok(state.code / "old", bench.folder("new"))
    moved = directory_of(state, state.code / "new" / "two")
    elsewhere = moved.rename(directory_of(state, state.code / "elsewhere"))
    since = state.project("new/two", sessions=1)
    report = bench.restore(warned=True)
    assert elsewhere.name in report["warnings"][0]
    assert (one.directory / f"{one.sessions[0]}.jsonl").exists()
    assert (elsewhere / f"{two.sessions[0]}.jsonl").exists()
    assert (two.directory / f"{since.sessions[0]}.jsonl").exists()


def test_a_session_begun_in_a_part_that_was_split_off_goes_back_with_it(
    bench: Bench,
) -> None:
    state = bench.state
    state.project("my-app", sessions=1, make_folder=True)
    part = state.project("my_app", sessions=1)
    shop = bench.folder("shop")
    bench.ok(part.path, shop)
    begun = state.add_session("shop")
    bench.restore()
    assert (directory_of(state, part.path) / f"{begun}.jsonl").is_file()
    assert not directory_of(state, shop).exists()


def test_the_first_of_two_moves_to_one_place_is_not_undone_before_the_second(
    bench: Bench,
) -> None:
    """It would take along what the second has brought."""
    state, old, new = ready(bench)
    other = state.project("other", sessions=1)
    before = bench.tree()
    first = bench.ok(old.path, new)["backup"]
    second = bench.ok(other.path, new)["backup"]
    assert second in bench.refused("restore", first)["error"]
    bench.restore()
    bench.restore(first)  # the undoing of the second blocks nobody
    bench.expect(before)


def test_what_was_undone_into_the_new_path_of_a_move_does_not_go_on_with_it(
    bench: Bench,
) -> None:
    """OLD was moved away, another project came in its place, and OLD came back."""
    state, old, new = ready(bench)
    first = bench.ok(old.path, new)["backup"]
    other = state.project("other", sessions=1)
    second = bench.ok("--skip-path-check", other.path, old.path)["backup"]
    undone = bench.restore(first, warned=True)["backup"]  # what OLD has by now is named
    report = bench.refused("restore", second)
    assert undone in report["error"]
    assert report["hint"] == f"move that again first: ccmove {old.path} {new}"


def test_a_run_is_not_undone_before_one_to_a_path_of_the_same_encoded_name(
    bench: Bench,
) -> None:
    runs = []
    for path, name in (("old", "my-app"), ("other", "my_app")):
        new = bench.folder(name)
        runs.append(bench.ok(bench.state.project(path).path, new)["backup"])
        new.rmdir()
    assert runs[1] in bench.refused("restore", runs[0])["error"]


def test_sessions_that_a_twin_of_new_began_since_are_not_taken_along(
    bench: Bench,
) -> None:
    state = bench.state
    old, new = state.project("old", sessions=1), state.code / "my-app"
    new.mkdir()
    bench.ok(old.path, new)
    twin = state.project("my_app", sessions=1, make_folder=True)
    bench.restore()
    assert {path.stem for path in twin.directory.glob("*.jsonl")} == set(twin.sessions)
    assert {path.stem for path in old.directory.glob("*.jsonl")} == set(old.sessions)


FOLDER = "the folder is still "


@pytest.mark.parametrize("is_another", [False, True])
def test_undoing_a_move_says_its_folder_can_be_renamed_too(
    bench: Bench, is_another: bool
) -> None:
    _, _, new = moved(bench)
    if is_another:
        new.rename(new.with_name("archive"))
        new.mkdir()
    commands = [row["command"] for row in bench.restore()["to_do"]]
    assert (f"mv {new} {new.with_name('old')}" in commands) == (not is_another)


def test_undoing_settings_alone_says_nothing_of_the_folder(bench: Bench) -> None:
    """The sessions still belong to NEW: who renamed the folder now would lose them from
    view.
    """
    _, old, new = ready(bench)
    (new / ".claude").mkdir()
    settings = new / ".claude" / "settings.json"
    settings.write_text(json.dumps({"additionalDirectories": [f"{old.path}/docs"]}))
    bench.ok(old.path, new)
    bench.ok("--settings", old.path, new)
    assert not any(w.startswith(FOLDER) for w in bench.restore()["warnings"])


# -- undoing the undoing -------------------------------------------------------------------------


# -- a merge -------------------------------------------------------------------------------------


def test_undoing_a_merge_takes_out_exactly_what_came_in(bench: Bench) -> None:
    state, old, native = merged(bench)
    new = native.path
    session = state.add_session(new)
    state.add_prompt(new, "since", session)
    change_config(state, lambda c: c["projects"][new].update(lastCost=7, fresh=[new]))
    (native.memory / "fresh.md").write_text("fresh\n")
    (native.memory / "MEMORY.md").write_text("new\nx\nmore\n")
    change_entries(native.index, lambda e: e.append({**e[0], "sessionId": session}))
    bench.restore()
    assert {p.stem for p in native.directory.glob("*.jsonl")} == {
        *native.sessions,
        session,
    }
    assert {p.stem for p in old.directory.glob("*.jsonl")} == {*old.sessions}
    assert (native.memory / "MEMORY.md").read_text() == "new\nmore\n"
    assert (old.memory / "MEMORY.md").read_text() == "x\n"
    assert [e["sessionId"] for e in entries_of(native.index)] == [
        *native.sessions,
        session,
    ]
    assert projects_of(state) == [old.path] * 3 + [new] * 4
    config = state.config()["projects"]
    assert (config[new]["lastCost"], config[new]["fresh"]) == (7, [new])
    assert config[old.path]["lastSessionId"] == old.sessions[-1]


def test_index_entries_that_the_client_rewrote_leave_with_their_sessions(
    bench: Bench,
) -> None:
    _, old, native = merged(bench)
    change_entries(
        native.index, lambda e: [entry.update(summary="another one") for entry in e]
    )
    bench.restore()
    found = [
        (entry["sessionId"], entry["summary"]) for entry in entries_of(native.index)
    ]
    assert found == [(native.sessions[0], "another one")]
    back = [
        (entry["sessionId"], entry["projectPath"]) for entry in entries_of(old.index)
    ]
    assert back == [(session, old.path) for session in old.sessions]


def test_index_entries_that_the_client_has_dropped_are_not_a_loss(bench: Bench) -> None:
    state, old, new = moved(bench)
    index = directory_of(state, new) / "sessions-index.json"
    change_entries(index, lambda entries: entries.pop(0))
    bench.restore()
    back = [
        (entry["sessionId"], entry["projectPath"]) for entry in entries_of(old.index)
    ]
    assert back == [(old.sessions[1], old.path)]


def test_a_session_that_got_a_folder_since_takes_it_back(
    bench: Bench, state: StateBuilder
) -> None:
    old = state.project("old", sessions=1, subagents=False)
    native = state.project("new", sessions=1, make_folder=True)
    bench.ok(old.path, native.path)
    folder = native.directory / old.sessions[0]
    (folder / "subagents").mkdir(parents=True)
    (folder / "subagents" / "agent-1.jsonl").write_text("{}\n")
    bench.restore()
    assert (old.directory / old.sessions[0] / "subagents" / "agent-1.jsonl").exists()
    assert not folder.exists()


def test_a_merge_into_a_parent_of_others_leaves_those(
    bench: Bench, state: StateBuilder
) -> None:
    """`src` had projects before `code` was moved into it; new prompts in those are
    theirs.
    """
    old = state.project("code/app", sessions=1)
    there = state.project("src/there", sessions=1, make_folder=True)
    bench.ok(state.code / "code", state.code / "src")
    moved = state.code / "src" / "app"
    for path in (
        there.path,
        f"{there.path}/sub",
        moved,
        f"{moved}/sub",
        state.code / "src/fresh",
    ):
        state.add_prompt(path, "since")
    bench.restore()
    assert projects_of(state) == [
        *[old.path] * 3,
        *[there.path] * 3,
        there.path,
        f"{there.path}/sub",
        old.path,
        f"{old.path}/sub",
        str(state.code / "code/fresh"),  # begun below NEW, it follows the folder
    ]


# -- a split -------------------------------------------------------------------------------------


def test_undoing_a_split_brings_back_what_was_added_to_a_note(
    bench: Bench, state: StateBuilder
) -> None:
    new = bench.folder("new")
    one = state.project(
        "my-app", sessions=1, memory={"MEMORY.md": "x\n"}, make_folder=True
    )
    two = state.project("my_app", sessions=1)
    bench.ok(two.path, new)
    session = state.add_session(new)
    (directory_of(state, new) / "memory" / "MEMORY.md").write_text("x\nmore\n")
    bench.restore()
    back = {p.stem for p in one.directory.glob("*.jsonl")}
    assert back == {*one.sessions, *two.sessions, session}
    assert not directory_of(state, new).exists()
    assert (one.memory / "MEMORY.md").read_text() == "x\nmore\n"


def test_undoing_a_split_makes_a_lost_directory_again(
    bench: Bench, state: StateBuilder
) -> None:
    new = bench.folder("new")
    one = state.project("my-app", sessions=1, config=None, prompts=0, make_folder=True)
    two = state.project("my_app", sessions=1, memory={"deep/notes.md": "x\n"})
    bench.ok(two.path, new)
    shutil.rmtree(one.directory)
    bench.restore()
    assert (one.memory / "deep/notes.md").read_text() == "x\n"
    assert {p.name for p in files_of(one.directory)} == {
        f"{two.sessions[0]}.jsonl",
        two.sessions[0],
    }
    assert not directory_of(state, new).exists()


def test_prompts_that_came_since_follow_without_earlier(
    bench: Bench, state: StateBuilder
) -> None:
    new = bench.folder("new")
    old = state.project("old", sessions=1, prompts=0)
    bench.ok(old.path, new)
    state.add_prompt(new, "since")
    bench.restore()
    assert projects_of(state) == [old.path]


def test_prompts_at_the_new_path_stay_if_none_moved(
    bench: Bench, state: StateBuilder
) -> None:
    """Such a history the run does not change; whose lines they are is known all the
    same.
    """
    new = bench.folder("new")
    old = state.project("old", prompts=0)
    state.add_prompt(new, "before")
    history, before = state.history.read_bytes(), bench.tree()
    bench.ok(old.path, new)
    assert state.history.read_bytes() == history
    bench.restore()
    bench.expect(before)
    bench.ok(old.path, new)
    assert state.history.read_bytes() == history
    state.add_prompt("other", "since")
    bench.restore()
    assert projects_of(state) == [str(new), str(state.code / "other")]


@pytest.mark.parametrize("since", ["another move", "a sweep"])
def test_prompts_that_new_had_stay_whatever_came_to_the_history_since(
    bench: Bench, state: StateBuilder, since: str
) -> None:
    new = bench.folder("new")
    old, other = state.project("old", prompts=0), state.project("other", prompts=1)
    state.add_prompt(new, "before")
    moved = bench.ok(old.path, new)
    if since == "another move":
        (state.code / "another").mkdir()
        bench.ok(other.path, state.code / "another")
    else:
        state.history.write_bytes(state.history.read_bytes().split(b"\n", 1)[1])
    history = state.history.read_bytes()
    bench.restore(moved["backup"])
    assert state.history.read_bytes() == history


def test_a_history_that_became_a_link_out_of_the_state_is_not_followed(
    bench: Bench, state: StateBuilder
) -> None:
    new = bench.folder("new")
    old = state.project("old", prompts=0)
    state.history.unlink(missing_ok=True)
    bench.ok(old.path, new)
    state.add_prompt(new, "since")
    outside = state.root / "history-elsewhere.jsonl"
    state.history.rename(outside)
    state.history.symlink_to(outside)
    bench.refused("restore")


def test_settings_are_undone_in_a_folder_renamed_back(
    bench: Bench, state: StateBuilder
) -> None:
    new = bench.folder("new")
    old = state.project("old", sessions=1)
    settings = new / ".claude" / "settings.json"
    settings.parent.mkdir()
    text = f'{{"permissions": {{"allow": ["Read({in_rule(old.path)}/**)"]}}}}'
    settings.write_text(text)
    bench.ok("--settings", old.path, new)
    assert settings.read_text() == text.replace(in_rule(old.path), in_rule(new))
    os.rename(new, old.path)
    bench.restore()
    assert (Path(old.path) / ".claude" / "settings.json").read_text() == text
