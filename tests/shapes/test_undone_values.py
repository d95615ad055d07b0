"""A move is undone after the documents were changed: value by value, and what came
later stays.

Each case is a project of its own below the folder that moves, so that one run tries
them all.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.shapes.bench import Bench, directory_of
from tests.support.state import StateBuilder

Value = Any
# The entry of OLD before the move; what becomes of it in NEW; what OLD has after the
# undoing.
CASES: dict[str, tuple[Value, Callable[[Value], Value], Value]] = {
    "nothing-happens": ({"cwd": "A"}, lambda v: v, {"cwd": "A"}),
    "another-path": ({"cwd": "A", "x": "A/x"}, lambda v: v | {"x": "/y"}, {"cwd": "A", "x": "/y"}),
    "a-number-in-its-place": ({"p": "A", "q": "A"}, lambda v: v | {"p": 7}, {"p": 7, "q": "A"}),
    "a-list-in-its-place": ({"p": "A"}, lambda _: {"p": [1], "n": 2}, {"p": [1], "n": 2}),
    "the-parent-is-a-list": ({"m": {"p": "A"}}, lambda _: {"m": []}, {"m": []}),
    "the-parent-is-gone": ({"m": {"p": "A"}, "q": "A"}, lambda v: {"q": v["q"]}, {"q": "A"}),
    "more-came": ({"m": {"p": "A"}}, lambda v: {"m": v["m"] | {"z": 1}}, {"m": {"p": "A", "z": 1}}),
    "a-value-came-that-is-a-path": ({}, lambda _: {"p": "B/x"}, {"p": "A/x"}),
}  # fmt: skip


def with_paths(value: Value, state: StateBuilder, case: str) -> Value:
    if isinstance(value, dict):
        return {key: with_paths(item, state, case) for key, item in value.items()}
    if isinstance(value, str) and value[:1] in ("A", "B"):
        return f"{state.code / ('old' if value[0] == 'A' else 'new') / case}{value[1:]}"
    return value


@pytest.mark.parametrize("indent", [2, 4, None])
def test_each_value_goes_back_where_it_is_still_the_moves(
    bench: Bench, indent: int | None
) -> None:
    """Also when the client has written the file in another spelling."""
    state = bench.state
    (state.code / "new").mkdir()
    config = state.config()
    config["projects"] = {
        str(state.code / "old" / case): with_paths(before, state, case)
        for case, (before, _, _) in CASES.items()
    }
    config["githubRepoPaths"] = {"a/b": [f"{state.code}/old/x", "/srv"]}
    state.write_config(config)
    bench.ok(state.code / "old", state.code / "new")
    config = state.config()
    for case, (_, change, _) in CASES.items():
        key = str(state.code / "new" / case)
        config["projects"][key] = with_paths(
            change(config["projects"][key]), state, case
        )
    config["githubRepoPaths"]["a/b"].insert(0, "/fresh")
    text = json.dumps(
        json.loads(state.config_bytes({"fresh": 1, **config})), indent=indent
    )
    state.config_file.write_text(text if indent == 2 else text.replace("/", "\\/"))
    bench.ok("restore")
    found = state.config()
    assert found["fresh"] == 1
    wanted = {
        case: with_paths(after, state, case) for case, (_, _, after) in CASES.items()
    }
    assert {
        case: found["projects"].get(str(state.code / "old" / case)) for case in CASES
    } == wanted
    assert not [
        path for path in found["projects"] if path.startswith(str(state.code / "new"))
    ]
    assert set(found["githubRepoPaths"]["a/b"]) == {
        "/fresh",
        f"{state.code}/old/x",
        "/srv",
    }


def test_a_repository_that_was_at_the_new_path_before_stays_listed_there(
    bench: Bench,
) -> None:
    state = bench.state
    old, new = state.project("old", repo="a/b").path, str(state.code / "new")
    config = state.config()
    config["githubRepoPaths"]["a/b"].append(new)
    state.write_config(config)
    (state.code / "new").mkdir()
    bench.ok(old, new)
    config = state.config()
    config["githubRepoPaths"]["a/b"].append("/fresh")
    state.write_config(config)
    bench.ok("restore")
    assert set(state.config()["githubRepoPaths"]["a/b"]) == {old, new, "/fresh"}


def test_aliases_that_stand_elsewhere_by_now_or_are_gone(
    bench: Bench, state: StateBuilder
) -> None:
    (state.code / "new").mkdir()
    old = state.project("old", sessions=1)
    files = [
        state.project(n, sessions=1).directory / ".session-aliases"
        for n in ("one", "two")
    ]
    for file in files:
        file.write_text(f"{old.directory}\n/x/projects/y\n")
    bench.ok(old.path, state.code / "new")
    there = directory_of(state, state.code / "new")
    files[0].write_text(f"/x/projects/fresh\n/x/projects/y\n{there}\n")
    files[1].write_text("/x/projects/y\n")
    bench.ok("restore")
    assert (
        files[0].read_text() == f"/x/projects/fresh\n/x/projects/y\n{old.directory}\n"
    )
    assert files[1].read_text() == "/x/projects/y\n"


def test_what_came_since_to_an_entry_that_new_had_follows_the_folder(
    bench: Bench,
) -> None:
    """NEW was only trusted before. OLD had no entry, but a project below it had."""
    state = bench.state
    old, new = state.project("old", config=None).path, str(bench.folder("new"))
    state.project("old/sub")
    config = state.config()
    config["projects"][new] = {"allowedTools": ["a"]}
    state.write_config(config)
    bench.ok(old, new)
    config = state.config()
    config["projects"][new]["allowedTools"].append("since")
    state.write_config(config)
    bench.ok("undo")
    projects = state.config()["projects"]
    assert projects[old] == {"allowedTools": ["since"]}
    assert projects[new] == {"allowedTools": ["a"]}


def test_what_was_below_a_long_new_path_before_stays_there(bench: Bench) -> None:
    """Names of more than 200 characters are cut: that of NEW begins none below it."""
    state = bench.state
    long = f"{'x' * 100}/{'y' * 100}"
    old, new = state.project("old").path, str(bench.folder(long))
    below = state.project(f"{long}/sub", config=None, prompts=0)
    bench.ok(old, new)
    bench.ok("undo")
    assert below.transcripts[0].exists()
