"""Taking a change out of a document: what the run did goes, what came since stays.

The run is undone with `ccmove restore` after somebody has changed the document it had
rewritten. More of this is in tests/shapes: documents that are as the run left them, a
history that only grew or was swept, keys and files that vanished.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.shapes.bench import Bench, directory_of
from tests.support.state import DEFAULT_CONFIG_ENTRY, StateBuilder

OLD_ENTRY = {
    **DEFAULT_CONFIG_ENTRY,
    "allowedTools": ["Bash(make)", "Read"],
    "mcpServers": {"db": {"command": "node", "args": ["--port", "1", "--quiet"]}},
}
Entry = dict[str, Any]


@pytest.fixture
def old(state: StateBuilder) -> str:
    entry = json.loads(json.dumps(OLD_ENTRY))
    entry["mcpServers"]["db"]["args"].append(f"{state.code / 'old'}/db")
    state.project(
        "old", index=True, memory={"MEMORY.md": "- a\n- b\n"}, config=entry, repo="me/o"
    )
    (state.code / "new").mkdir()
    return str(state.code / "old")


@pytest.fixture
def new(state: StateBuilder) -> str:
    return str(state.code / "new")


@pytest.fixture
def merged(bench: Bench, old: str, new: str) -> str:
    """NEW had things of its own before the run."""
    entry = {
        "allowedTools": ["Read", "Write"],
        "hasTrustDialogAccepted": False,
        "lastCost": 1,
    }
    memory = {"MEMORY.md": "- b\n- c\n"}
    bench.state.project("new", index=True, memory=memory, config=entry, prompts=1)
    return new


def change(state: StateBuilder, how: Callable[[dict[str, Any]], object]) -> None:
    config = state.config()
    how(config)
    state.write_config(config)


def undo(bench: Bench, *args: str) -> str:
    """Undo a run; all that it says, so that one can look for what it names."""
    done = bench.run("restore", *args)
    assert done.exit == 0, done
    return done.out + done.err


def prompts(state: StateBuilder) -> dict[str, str]:
    lines = [json.loads(line) for line in state.history.read_bytes().splitlines()]
    return {line["display"]: line["project"] for line in lines}


# -- the config file, NEW had nothing of its own --------------------------------------------------


def test_values_go_back_one_by_one_where_they_are_still_what_the_run_wrote(
    bench: Bench, old: str, new: str
) -> None:
    before = bench.state.config()
    bench.ok(old, new)

    def use(config: dict[str, Any]) -> None:
        config["numStartups"] = 99
        entry = config["projects"][new]
        entry.update(lastCost=7, exampleFiles=[f"{new}/x.py", "/elsewhere"])
        entry["allowedTools"].append(f"Read({new}/**)")
        config["projects"]["/third"] = {"hasTrustDialogAccepted": True}
        config["githubRepoPaths"]["me/o"].append("/third")

    change(bench.state, use)
    undo(bench)
    expected = before
    expected["numStartups"] = 99
    expected["projects"][old].update(
        lastCost=7, exampleFiles=[f"{old}/x.py", "/elsewhere"]
    )
    expected["projects"]["/third"] = {"hasTrustDialogAccepted": True}
    expected["githubRepoPaths"]["me/o"] = [old, "/third"]
    tools = bench.state.config()["projects"][old]["allowedTools"]
    assert (tools[:2], len(tools)) == (expected["projects"][old]["allowedTools"], 3)
    expected["projects"][old]["allowedTools"] = tools
    assert bench.state.config_file.read_bytes() == bench.state.config_bytes(expected)


def test_an_ordered_list_changed_since_stays_and_is_named(
    bench: Bench, old: str, new: str
) -> None:
    bench.ok(old, new)
    theirs = ["--verbose", f"{new}/db"]
    change(
        bench.state,
        lambda c: c["projects"][new]["mcpServers"]["db"].update(args=theirs),
    )
    said = undo(bench)
    first, second = bench.state.config()["projects"][old]["mcpServers"]["db"]["args"]
    assert first == "--verbose"
    assert second in (f"{new}/db", f"{old}/db")
    assert "args" in said


def test_an_old_project_used_again_keeps_later_values(
    bench: Bench, old: str, new: str
) -> None:
    before = bench.state.config()["projects"][old]
    bench.ok(old, new)
    later: Entry = {"lastCost": 42, "allowedTools": ["Bash(new)"], "later": True}
    change(bench.state, lambda config: config["projects"].__setitem__(old, dict(later)))
    said = undo(bench)
    now = bench.state.config()["projects"]
    tools = {"allowedTools": [*later["allowedTools"], *before["allowedTools"]]}
    assert now[old] == before | later | tools
    assert new not in now
    assert old in said


def test_in_a_chain_what_stays_and_what_comes_back_are_one_entry(bench: Bench) -> None:
    """The first folder is there again, and the last one had sessions of its own: what
    was set since stays in the middle.
    """
    state = bench.state
    first, middle, last = (str(state.code / name) for name in ("a", "b", "c"))
    for name in ("a", "b", "c"):
        state.project(name, config={**DEFAULT_CONFIG_ENTRY, "was": name})
        bench.folder(name)
    moves = f"{first}\t{middle}\n{middle}\t{last}\n"
    bench.ok("--skip-path-check", "--merge", "--from-file", "-", input=moves)
    change(state, lambda config: config["projects"][middle].update(since=1))
    said = undo(bench)
    text = state.config_file.read_text()
    assert text.count(f'"{middle}"') == 1
    projects = state.config()["projects"]
    assert (projects[middle]["was"], projects[middle]["since"]) == ("b", 1)
    assert [projects[path]["was"] for path in (first, last)] == ["a", "c"]
    assert middle in said


# -- NEW had things of its own ------------------------------------------------------------------


def test_what_came_since_a_merge_stays_with_new(
    bench: Bench, old: str, merged: str
) -> None:
    state = bench.state
    before = state.config()["projects"]
    bench.ok(old, merged)

    def use(config: dict[str, Any]) -> None:
        config["projects"][merged]["exampleFiles"] = [f"{merged}/x.py"]
        config["projects"][merged]["allowedTools"].append("Bash(late)")
        config["projects"][merged]["mcpServers"]["late"] = {"command": "late"}

    change(state, use)
    state.add_prompt(merged, "since")
    undo(bench)
    now = state.config()["projects"]
    assert now[old] == before[old]
    tools = [*before[merged]["allowedTools"], "Bash(late)"]
    assert sorted(now[merged].pop("allowedTools")) == sorted(tools)
    before[merged].pop("allowedTools")
    assert now[merged] == {
        **before[merged],
        "exampleFiles": [f"{merged}/x.py"],
        "mcpServers": {"late": {"command": "late"}},
    }
    assert prompts(state)["since"] == merged


def test_lists_without_order_are_undone_as_sets(
    bench: Bench, old: str, merged: str
) -> None:
    bench.ok(old, merged)
    tools = [
        "Write",
        "Bash(late)",
        "Bash(make)",
        "Read",
    ]  # turned round by the client, one added
    change(
        bench.state, lambda c: c["projects"][merged].__setitem__("allowedTools", tools)
    )
    undo(bench)
    now = bench.state.config()["projects"]
    assert sorted(now[merged]["allowedTools"]) == ["Bash(late)", "Read", "Write"]
    assert now[old]["allowedTools"] == ["Bash(make)", "Read"]


def test_a_line_of_ours_that_was_changed_stays(
    bench: Bench, old: str, merged: str
) -> None:
    memory = directory_of(bench.state, merged) / "memory/MEMORY.md"
    bench.ok(old, merged)
    memory.write_text("- b\n- c\n- a, but only on Mondays\n")
    undo(bench)
    assert memory.read_text() == "- b\n- c\n- a, but only on Mondays\n"
    assert (
        directory_of(bench.state, old) / "memory/MEMORY.md"
    ).read_text() == "- a\n- b\n"


# -- the history --------------------------------------------------------------------------------


def test_two_olds_in_one_new_go_back_each_to_its_own(
    bench: Bench, state: StateBuilder
) -> None:
    for name in ("one", "two"):
        state.project(name, sessions=1, prompts=0)
        state.add_prompt(name, f"of {name}")
    (state.code / "new").mkdir()
    before = state.config()["projects"]
    one, two, new = (str(state.code / name) for name in ("one", "two", "new"))
    bench.ok("--from-file", "-", input=f"{one}\t{new}\n{two}\t{new}\n")
    state.add_prompt(new, "since")
    change(
        state,
        lambda config: config["projects"][new].update(exampleFiles=[f"{new}/x.py"]),
    )
    undo(bench)
    assert prompts(state) == {"of one": one, "of two": two, "since": new}
    now = state.config()["projects"]
    assert {name: now[name] for name in (one, two)} == before
    assert now[new]["exampleFiles"] == [f"{new}/x.py"]
