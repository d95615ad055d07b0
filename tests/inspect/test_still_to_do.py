"""What still names a moved path is found again, as long as it is there."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.inspect.conftest import Finding, examine, git, make_repo, run_ccmove
from tests.support.state import StateBuilder

KIND = "still-to-do"


@pytest.fixture
def renamed(state: StateBuilder) -> tuple[Path, Path]:
    """A project that was renamed by hand and moved: nothing is left to do."""
    old, new = state.code / "old", state.code / "new"
    state.project("old", index=True)
    new.mkdir()
    assert run_ccmove(old, new, state=state).exit == 0
    assert examine(state) == []
    return old, new


def in_servers(state: StateBuilder, old: Path, new: Path) -> None:
    servers = {"mcpServers": {"db": {"command": f"{old}/db"}}}
    (new / ".mcp.json").write_text(json.dumps(servers))


def in_settings(state: StateBuilder, old: Path, new: Path) -> None:
    (new / ".claude").mkdir()
    settings = {"permissions": {"additionalDirectories": [str(old / "docs")]}}
    (new / ".claude" / "settings.json").write_text(json.dumps(settings))


def in_worktree(state: StateBuilder, old: Path, new: Path) -> None:
    new.rename(old)
    make_repo(old, commit=True)
    git(old, "worktree", "add", "-q", str(old / "tree"), "-b", "tree")
    old.rename(new)


def type_command(state: StateBuilder, finding: Finding) -> None:
    program, *words = finding.command.split()
    if program == "ccmove":
        assert run_ccmove(*words, state=state).exit == 0
    else:
        subprocess.run([program, *words], check=True, capture_output=True)


@pytest.mark.parametrize("pruned", [False, True])
@pytest.mark.parametrize("leave", [in_servers, in_settings, in_worktree])
def test_it_is_found_until_its_command_was_typed(
    state: StateBuilder,
    renamed: tuple[Path, Path],
    leave: Callable[[StateBuilder, Path, Path], None],
    pruned: bool,
) -> None:
    leave(state, *renamed)
    if pruned:
        assert run_ccmove("prune", "--keep", "0", state=state).exit == 0
    (finding,) = examine(state)
    assert finding.kind == KIND
    told = run_ccmove("verify", "-v", state=state)
    assert told.exit == 0
    assert finding.subject in told.out
    type_command(state, finding)
    assert "Nothing is wrong" in run_ccmove("doctor", state=state).out
    assert finding.subject not in run_ccmove("verify", "-v", state=state).out


def test_after_a_second_move_the_command_is_for_where_the_project_is_now(
    state: StateBuilder, renamed: tuple[Path, Path]
) -> None:
    old, new = renamed
    in_servers(state, old, new)
    newer = state.code / "newer"
    new.rename(newer)
    assert run_ccmove(new, newer, state=state).exit == 0
    (finding,) = examine(state)
    assert finding.command == f"ccmove --settings {old} {newer}"
    type_command(state, finding)
    assert examine(state) == []


def test_when_its_backup_is_pruned_a_path_still_tells_where_it_was_moved(
    state: StateBuilder, renamed: tuple[Path, Path]
) -> None:
    old, new = renamed
    assert run_ccmove("prune", "--keep", "0", state=state).exit == 0
    told = run_ccmove(old, state=state)
    assert told.exit == 3
    assert f"{old} was moved to {new}: its data is in place" in told.err


def test_an_undo_that_was_pruned_with_its_move_leaves_nothing_to_do(
    state: StateBuilder, renamed: tuple[Path, Path]
) -> None:
    old, new = renamed
    assert run_ccmove("undo", state=state).exit == 0
    new.rename(old)
    in_servers(state, old, old)
    assert run_ccmove("prune", "--keep", "0", state=state).exit == 0
    assert examine(state) == []


def test_an_old_path_that_is_in_use_again_is_named_rightly(
    state: StateBuilder, renamed: tuple[Path, Path]
) -> None:
    in_servers(state, *renamed)
    renamed[0].mkdir()
    assert examine(state, KIND) == []


def test_after_an_undo_the_old_path_is_the_right_one(
    state: StateBuilder, renamed: tuple[Path, Path]
) -> None:
    old, new = renamed
    in_servers(state, old, new)
    assert run_ccmove("undo", state=state).exit == 0
    new.rename(old)
    assert examine(state) == []


@pytest.mark.parametrize(
    ("moves", "stays"),
    [
        ({"one": "two", "two": "one"}, None),
        ({"one": "two", "two": "three"}, "one"),
    ],
    ids=["swap", "chain"],
)
def test_what_another_project_has_come_to_may_be_named(
    state: StateBuilder, moves: dict[str, str], stays: str | None
) -> None:
    """Its command would have merged the two, and set right values back."""
    for name in ("one", "two"):
        state.project(name)
        (state.code / name).mkdir(exist_ok=True)
    folders = [str(state.code / name) for name in ("one", "two")]
    rules = {"permissions": {"additionalDirectories": folders}}
    (state.config_dir / "settings.json").write_text(json.dumps(rules))
    listed = state.root / "moves.txt"
    lines = [f"{state.code / old}\t{state.code / new}\n" for old, new in moves.items()]
    listed.write_text("".join(lines))
    command = ("--skip-path-check", "--from-file", listed)
    rewritten = run_ccmove("--settings", *command, "--json", state=state).json()
    assert rewritten["to_do"] == []
    assert run_ccmove("undo", state=state).exit == 0
    left = run_ccmove(*command, "--json", state=state).json()["to_do"]
    named = [row["command"].split()[-2:] for row in left]
    wanted = [] if stays is None else [[stays, moves[stays]]]
    assert [[Path(word).name for word in pair] for pair in named] == wanted
