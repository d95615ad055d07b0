"""Everything that holds the path follows: rules, servers, lists, addresses; and back."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.shapes.bench import Bench, in_json
from tests.support.state import StateBuilder

SERVER: dict[str, Any] = {
    "command": "OLD/bin/serve",
    "args": ["--root=OLD", "-IOLD/include", "OLD", "sqlite:///OLD/db", "OLD-docker"],
    "env": {"PYTHONPATH": "OLD/src:OLD/lib", "BOTH": "/usr/lib:OLD/lib", "N": "OLD.bak"},
    "url": "file://OLD/socket",
    "headers": {"X-Root": "root OLD"},
}  # fmt: skip
ENTRY: dict[str, Any] = {
    "allowedTools": [
        "Read(/OLD/**)", "Edit(/OLD/src/**)", "Bash(OLD/run.sh:*)", "Bash(ls)",
    ],
    "deniedTools": ["Read(/OLD/secrets/**)"],
    "mcpServers": {"db": SERVER},
    "additionalDirectories": ["OLD/docs", "OLD2"],
    "activeWorktreeSession": {"originalCwd": "OLD", "worktreePath": "OLD/.claude/w"},
    "hooks": {"Stop": [{"hooks": [{"command": "OLD/hook.sh --in OLD"}]}]},
}  # fmt: skip
WRITTEN = {
    "history": [{"display": "look into OLD please"}],
    "lastSessionFirstPrompt": "OLD",
}


def with_path(value: Any, path: str | Path) -> Any:
    """The value with `path` for OLD, but for near misses of another name."""
    return json.loads(json.dumps(value).replace("OLD", in_json(str(path))))


def moved(value: Any, old: str | Path, new: str | Path) -> Any:
    """What the contract makes of the sample: near misses stay."""
    text = json.dumps(value)
    for tail in ("-docker", ".bak", "2"):
        text = text.replace(f"OLD{tail}", f"{in_json(str(old))}{tail}")
    return json.loads(text.replace("OLD", in_json(str(new))))


@pytest.fixture
def config(state: StateBuilder) -> Path:
    return state.config_file


def test_all_values_of_this_project_of_others_and_of_the_user_follow_and_go_back(
    bench: Bench, state: StateBuilder, config: Path
) -> None:
    old, new = state.project("old", sessions=1).path, bench.folder("new")
    entry = with_path(ENTRY | WRITTEN, old)
    before = {
        "projects": {old: entry, "/srv/other": with_path(ENTRY | WRITTEN, old)},
        "mcpServers": {"mine": with_path(SERVER, old)},
        "tip": old,
    }
    config.write_text(json.dumps(before, indent=2))
    text = config.read_bytes()
    bench.ok(old, new)
    after = json.loads(config.read_bytes())
    expected = moved(ENTRY, old, new) | with_path(WRITTEN, old)
    assert after["projects"] == {str(new): expected, "/srv/other": expected}
    assert after["mcpServers"] == {"mine": moved(SERVER, old, new)}
    assert after["tip"] == old
    bench.restore()
    assert config.read_bytes() == text


def test_after_something_came_since_each_value_goes_back_by_itself(
    bench: Bench, state: StateBuilder, config: Path
) -> None:
    old, new = state.project("old", sessions=1).path, bench.folder("new")
    before = {"projects": {old: with_path(ENTRY, old), "/x": with_path(ENTRY, old)}}
    config.write_text(json.dumps(before))
    bench.ok(old, new)
    since = json.loads(config.read_bytes()) | {"numStartups": 7}
    since["projects"]["/x"]["allowedTools"].append("Bash(date)")
    config.write_text(json.dumps(since))
    bench.ok("undo")
    expected = before | {"numStartups": 7}
    expected["projects"]["/x"]["allowedTools"].append("Bash(date)")
    assert json.loads(config.read_bytes()) == expected


def test_others_values_stay_while_the_old_folder_exists(
    bench: Bench, state: StateBuilder, config: Path
) -> None:
    old, new = state.project("old", sessions=1).path, bench.folder("new")
    Path(old).mkdir(parents=True, exist_ok=True)
    values = {"allowedTools": [f"Read(/{old}/**)"]}
    server = {"mine": {"command": f"{old}/serve"}}
    config.write_text(
        json.dumps({"projects": {old: values, "/srv/x": values}, "mcpServers": server})
    )
    bench.ok("--skip-path-check", old, new)
    after = json.loads(config.read_bytes())
    assert after["projects"] == {
        str(new): {"allowedTools": [f"Read(/{new}/**)"]}, "/srv/x": values,
    }  # fmt: skip
    assert after["mcpServers"] == server


def test_with_the_folder_itself_others_values_follow(
    bench: Bench, state: StateBuilder, config: Path
) -> None:
    old, new = state.project("old", sessions=1).path, state.code / "new"
    Path(old).mkdir(parents=True, exist_ok=True)
    config.write_text(
        json.dumps({"projects": {"/srv/x": {"additionalDirectories": [f"{old}/x"]}}})
    )
    bench.ok("--move-folder", old, new)
    after = json.loads(config.read_bytes())
    assert after["projects"]["/srv/x"] == {"additionalDirectories": [f"{new}/x"]}


def test_what_only_keeps_stays_in_values(
    bench: Bench, state: StateBuilder, config: Path
) -> None:
    old, new = state.project("old", sessions=1).path, bench.folder("new")
    web = state.project("old/web", sessions=1).path
    env = {"P": f"{web}/lib:{old}/lib"}
    config.write_text(
        json.dumps({"projects": {old: {"mcpServers": {"a": {"env": env}}}, web: {}}})
    )
    bench.ok("--only", old, new)
    after = json.loads(config.read_bytes())["projects"][str(new)]
    assert after["mcpServers"]["a"]["env"] == {"P": f"{web}/lib:{new}/lib"}


def test_a_spelling_of_the_home_follows_in_kind(
    bench: Bench, state: StateBuilder, config: Path
) -> None:
    home = config.parent
    old, new = home / "code-a", home / "code-b"
    state.project(old, sessions=1)
    new.mkdir(exist_ok=True)
    tools = ["Read(~/code-a/**)", "Bash($HOME/code-a/run:*)", "Bash(ls ~/code-a-2)"]
    config.write_text(json.dumps({"projects": {str(old): {"allowedTools": tools}}}))
    bench.ok(old, new)
    after = json.loads(config.read_bytes())["projects"][str(new)]
    assert after["allowedTools"] == [
        "Read(~/code-b/**)", "Bash($HOME/code-b/run:*)", "Bash(ls ~/code-a-2)",
    ]  # fmt: skip


def test_a_value_with_an_unclear_occurrence_stays_whole_and_is_named(
    bench: Bench, state: StateBuilder, config: Path
) -> None:
    old, new = state.project("old", sessions=1).path, bench.folder("new")
    env = {"P": f"{old}/lib:{old}/../x", "Q": f"{old}/lib"}
    config.write_text(
        json.dumps({"projects": {old: {"mcpServers": {"a": {"env": env}}}}}, indent=1)
    )
    report = bench.ok(old, new)
    after = json.loads(config.read_bytes())["projects"][str(new)]
    assert after["mcpServers"]["a"]["env"] == {"P": env["P"], "Q": f"{new}/lib"}
    named = [row for row in report["left_alone"] if row["file"] == str(config)]
    (row,) = (row["what"] for row in named if "edit by hand" in row["what"])
    assert f"MCP server a, env P of {new}" in row
    assert "env Q" not in row


def test_a_rule_of_since_goes_back_with_the_folder(
    bench: Bench, state: StateBuilder, config: Path
) -> None:
    old, new = state.project("old", sessions=1).path, bench.folder("new")
    config.write_text(json.dumps({"projects": {old: {"allowedTools": []}}}))
    bench.ok(old, new)
    since = json.loads(config.read_bytes())
    entry = since["projects"][str(new)]
    entry["allowedTools"] = [f"Read(/{new}/x/**)", f"Bash({new}-2/run:*)"]
    entry["lastSessionFirstPrompt"] = f"look into {new}"
    config.write_text(json.dumps(since))
    bench.ok("undo")
    assert json.loads(config.read_bytes())["projects"][old] == {
        "allowedTools": [f"Read(/{old}/x/**)", f"Bash({new}-2/run:*)"],
        "lastSessionFirstPrompt": f"look into {new}",
    }
