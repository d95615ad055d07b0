"""What is said about a preview, a move, a restore and the backups, word for word."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.output.golden import check_golden, transcript
from tests.output.inprocess import Run, run
from tests.output.situations import Stage, stage
from tests.shapes.bench import in_rule
from tests.support.tree import snapshot

__all__ = ["run", "stage"]  # fixtures


def plain(stage: Stage) -> None:
    """Two nested projects with index and memory, and a neighbour whose name begins the same."""
    memory = {"MEMORY.md": "- the menu is in menu.txt\n"}
    stage.state.project("my-app", sessions=3, index=True, memory=memory, repo="acme/my-app")
    stage.state.project("my-app/packages/core", sessions=1, prompts=1)
    stage.state.project("my-app-docker", sessions=1)
    stage.new.mkdir()


def merge(stage: Stage) -> None:
    """The client was started in the new folder already."""
    old = {"MEMORY.md": "- from the old one\n"}
    new = {"MEMORY.md": "- from the new one\n"}
    stage.state.project("my-app", sessions=2, index=True, memory=old)
    stage.state.project("new-app", sessions=1, index=True, memory=new)
    stage.new.mkdir()


def shared(stage: Stage) -> None:
    """`my-app` and `my_app` have one directory; only `my-app` moves."""
    stage.state.project("my-app", sessions=2, index=True)
    stage.state.project("my_app", sessions=1, index=True, make_folder=True)
    stage.new.mkdir()


def same_name(stage: Stage) -> None:
    """OLD and NEW have the same encoded name."""
    stage.state.project("my_app", sessions=1, index=True)
    stage.old.mkdir()


def with_leftovers(stage: Stage) -> None:
    """Settings of the project name the old path."""
    stage.state.project("my-app", sessions=1)
    settings = stage.new / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True)
    rules = {"permissions": {"allow": [f"Read({in_rule(stage.old)}/**)"]}}
    settings.write_text(json.dumps(rules, indent=2))


def with_folder(stage: Stage) -> None:
    stage.state.project("my-app", sessions=1, make_folder=True)


def with_broken_lines(stage: Stage) -> None:
    plain(stage)
    with stage.state.history.open("a") as file:
        file.write(f'{{"display":"torn","project":"{stage.old}\n')


def empty(_: Stage) -> None:
    """Nothing was ever moved."""


def moved(stage: Stage) -> None:
    plain(stage)
    stage.run(stage.old, stage.new)


def moved_then_used(stage: Stage) -> None:
    """Life went on after the move: a new session, a new prompt, a changed setting."""
    moved(stage)
    stage.state.project("new-app", sessions=1, prompts=1, config=None)
    config = stage.state.config()
    config["projects"][str(stage.new)]["lastCost"] = 1.5
    stage.state.write_config(config)


def moved_and_back(stage: Stage) -> None:
    moved(stage)
    stage.run("restore")


def moved_with_leftovers(stage: Stage) -> None:
    with_leftovers(stage)
    stage.run(stage.old, stage.new)


OLD, NEW, SAME = "OLD", "NEW", "SAME"
CASES: dict[str, tuple[Callable[[Stage], None], tuple[str, ...]]] = {
    "preview": (plain, ("--dry-run", OLD, NEW)),
    "preview_verbose": (plain, ("--dry-run", "--verbose", OLD, NEW)),
    "preview_merge": (merge, ("--dry-run", OLD, NEW)),
    "preview_shared": (shared, ("--dry-run", "-v", OLD, NEW)),
    "preview_same_name": (same_name, ("--dry-run", SAME, OLD)),
    "preview_leftovers": (with_leftovers, ("--dry-run", OLD, NEW)),
    "preview_project_files": (with_leftovers, ("--dry-run", "--project-files", OLD, NEW)),
    "preview_move_folder": (with_folder, ("--dry-run", "--move-folder", OLD, NEW)),
    "preview_restore": (moved, ("restore", "--dry-run")),
    "preview_restore_after_use": (moved_then_used, ("restore", "--dry-run")),
    "move": (plain, (OLD, NEW)),
    "move_verbose": (plain, ("-v", OLD, NEW)),
    "move_quiet": (plain, ("-q", OLD, NEW)),
    "move_merge": (merge, (OLD, NEW)),
    "move_shared": (shared, (OLD, NEW)),
    "move_folder": (with_folder, ("--move-folder", OLD, NEW)),
    "move_broken_lines": (with_broken_lines, (OLD, NEW)),
    "restore": (moved, ("restore",)),
    "restore_after_use": (moved_then_used, ("restore",)),
    "move_leftovers": (with_leftovers, (OLD, NEW)),
    "show": (moved_with_leftovers, ("show",)),
    "show_restore": (moved_and_back, ("show",)),
    "backups": (moved_and_back, ("backups",)),
    "backups_prune": (moved_and_back, ("backups", "--prune", "--keep", "1")),
    "backups_prune_preview": (moved_and_back, ("backups", "--prune", "--keep", "0", "--dry-run")),
    "backups_none": (empty, ("backups",)),
    "recover_nothing": (empty, ("recover",)),
}


def typed(stage: Stage, words: tuple[str, ...]) -> list[str]:
    same = stage.state.code / "my_app"
    place = {OLD: str(stage.old), NEW: str(stage.new), SAME: str(same)}
    return [place.get(word, word) for word in words]


@pytest.mark.parametrize("name", CASES)
def test_a_result_reads_as_the_golden_file_has_it(name: str, stage: Stage, run: Run) -> None:
    prepare, words = CASES[name]
    prepare(stage)
    arguments, before = typed(stage, words), snapshot(stage.state.root)
    done = run(*arguments)
    assert done.exit == 0
    check_golden(f"result/{name}", transcript(arguments, done, stage.state))
    if "--dry-run" in words:  # nothing at all has changed
        assert snapshot(stage.state.root) == before


def test_a_preview_names_every_value_that_the_move_then_changes(stage: Stage, run: Run) -> None:
    plain(stage)
    arguments = typed(stage, ("--json", OLD, NEW))
    planned = run("--dry-run", *arguments).json()
    done = run(*arguments).json()
    assert planned["status"] == "planned"
    assert done["status"] == "moved"
    assert planned["changes"] == done["changes"]
    assert planned["counts"] == done["counts"] != {}


def test_a_restore_counts_what_the_move_counted(stage: Stage, run: Run) -> None:
    plain(stage)
    done = run("--json", *typed(stage, (OLD, NEW))).json()
    back = run("--json", "restore").json()
    assert back["counts"] == done["counts"]
    assert back["counts"]["history"] == 4
    pairs = {(row["before"], row["after"]) for row in done["changes"]}
    assert {(row["after"], row["before"]) for row in back["changes"]} == pairs


def test_with_v_every_difference_is_shown_with_whole_paths(stage: Stage, run: Run) -> None:
    stage.state.project("my-app", sessions=40, index=True, subagents=False)
    stage.new.mkdir()
    done = run(*typed(stage, ("--dry-run", "-v", OLD, NEW)))
    directory = Path(stage.state.projects)
    named = [line for line in done.out.splitlines() if line.strip().startswith(f"+ {directory}")]
    assert len(named) == 40
    assert "…" not in done.out
    assert "\x1b" not in done.out
