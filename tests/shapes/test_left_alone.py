"""What names the old path and stays as it is: each with its place, its reason, what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.shapes.bench import Bench, Expected
from tests.support.oddlines import stringify
from tests.support.state import ProjectHandle, StateBuilder, encoded_name


@pytest.fixture
def old(state: StateBuilder) -> ProjectHandle:
    (state.code / "new").mkdir()
    return state.project("old", sessions=2, memory={"MEMORY.md": "# Notes\nsee /OLD\n"})


@pytest.fixture
def new(state: StateBuilder) -> Path:
    return state.code / "new"


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def left(bench: Bench, *args: Any) -> dict[str, dict[str, str]]:
    """The rows by file; the move itself must not touch a byte of them."""
    report = bench.ok("--dry-run", *args)
    rows: dict[str, dict[str, str]] = {row["file"]: row for row in report["left_alone"]}
    assert len(rows) == len(report["left_alone"])
    return rows


def test_transcripts_are_one_line(bench: Bench, old: ProjectHandle, new: Path) -> None:
    rows = left(bench, old.path, new)
    assert list(rows) == [str(bench.state.projects)]
    assert "2 transcripts" in rows[str(bench.state.projects)]["what"]


def test_files_of_the_user_in_the_state(bench: Bench, old: ProjectHandle, new: Path) -> None:
    root = bench.state.config_dir
    hooks = {"hooks": {"Stop": [{"command": f"{old.path}/stop.sh --now"}]}, "x": [old.path]}
    files = {
        root / "settings.json": (stringify(hooks, 2).decode(), "/hooks/Stop/0/command, /x/0"),
        root / "CLAUDE.md": (f"# Me\n\nsee {old.path}.\n", "line 3"),
        root / "agents" / "a.md": (f"{old.path}/x\n" * 5, "line 1, line 2, line 3, and 2 more"),
        root / "hooks" / "run.sh": (f"cd '{old.path}'\n", "line 1"),
        root / "plugins" / "known_marketplaces.json": (f'{{"a": "{old.path}/m"}}', "/a"),
    }
    for path, (text, _) in files.items():
        written(path, text)
    for name in ("old-2", "old.bak", "older"):
        written(root / "commands" / f"{name}.md", f"{bench.state.code}/{name}\n/x{old.path}\n")
    expected = Expected(bench)
    expected.move(bench.state, old.path, new)
    rows = left(bench, old.path, new)
    bench.cycle(expected, old.path, new)
    assert set(rows) == {str(bench.state.projects), *map(str, files)}
    for path, (_, places) in files.items():
        assert f", {places}: " in rows[str(path)]["what"]
        assert rows[str(path)]["hint"] == f"edit {path}"


def test_what_is_kept_by_session_is_counted_in_one_line(
    bench: Bench, old: ProjectHandle, new: Path
) -> None:
    root = bench.state.config_dir
    for name in ("file-history", "todos", "debug", "backups"):
        for number in range(3):
            written(root / name / f"s{number}" / "x.txt", f"{old.path}\n" if number else "no\n")
    rows = left(bench, old.path, new)
    assert set(rows) == {str(root), str(bench.state.projects)}
    assert rows[str(root)]["what"].startswith("12 other files in it")
    assert "nothing to do" in rows[str(root)]["what"]
    assert not rows[str(root)]["hint"]


def test_notes_of_the_moved_project_are_named_where_they_will_be(
    bench: Bench, old: ProjectHandle, new: Path
) -> None:
    (old.memory / "MEMORY.md").write_text(f"# Notes\nsee {old.path}/x\n")
    other = bench.state.project("other", sessions=1, memory={"a.md": f"like {old.path}\n"})
    rows = left(bench, old.path, new)
    there = bench.state.projects / encoded_name(str(new)) / "memory" / "MEMORY.md"
    assert "line 2" in rows[str(there)]["what"]
    assert rows[str(there)]["hint"] == f"edit {there}"
    assert str(other.memory / "a.md") in rows


def test_connector_downloads(bench: Bench, old: ProjectHandle, new: Path) -> None:
    beside = old.directory.with_name(f"{old.name}.0123456789abcdef")
    written(beside / "connector-downloads" / "x.bin", "x")
    expected = Expected(bench)
    expected.move(bench.state, old.path, new)
    rows = left(bench, old.path, new)
    assert "connector downloads" in rows[str(beside)]["what"]
    bench.cycle(expected, old.path, new)


def test_values_of_other_projects_in_the_config_file(
    bench: Bench, old: ProjectHandle, new: Path
) -> None:
    state = bench.state
    other = state.project("other", sessions=1)
    config = state.config()
    config["projects"][other.path]["mcpServers"] = {"s": {"args": [f"--root={old.path}"]}}
    config["projects"][other.path]["additionalDirectories"] = [old.path]
    state.write_config(config)
    report = bench.ok("--dry-run", old.path, new)
    rows = [row for row in report["left_alone"] if row["file"] == str(state.config_file)]
    assert len(rows) == 2
    assert any("mcpServers" in row["what"] for row in rows)
    assert all(row["hint"] for row in rows)


def test_files_of_the_project_itself(bench: Bench, old: ProjectHandle, new: Path) -> None:
    by_us = [".claude/settings.json", ".claude/settings.local.json", ".mcp.json"]
    by_hand = ["CLAUDE.md", ".claude/commands/x.md", ".claude/hooks/run.sh"]
    for name in (*by_us, *by_hand):
        written(new / name, f'{{"command": "bash {old.path}/x"}}\n')
    written(new / ".claude" / "worktrees" / "fix" / "CLAUDE.md", old.path)
    written(new / "src" / "notes.md", old.path)
    rows = left(bench, old.path, new)
    command = f"ccmove --project-files {old.path} {new}"
    assert {str(new / name): rows[str(new / name)]["hint"] for name in by_us} == dict.fromkeys(
        (str(new / name) for name in by_us), command
    )
    for name in by_hand:
        assert rows[str(new / name)]["hint"] == f"edit {new / name}"
    assert len(rows) == 1 + len(by_us) + len(by_hand)


def test_what_project_files_can_not_rewrite_is_still_named(
    bench: Bench, old: ProjectHandle, new: Path
) -> None:
    text = f'{{"a": "{old.path}/x", "b": "see {old.path}"}}'
    file = written(new / ".claude" / "settings.json", text)
    rows = left(bench, "--project-files", old.path, new)
    assert ", /b: " in rows[str(file)]["what"]
    assert rows[str(file)]["hint"] == f"edit {file}"


def test_what_is_too_large_to_look_at_is_counted(
    bench: Bench, old: ProjectHandle, new: Path
) -> None:
    root = bench.state.config_dir
    written(root / "big.log", "x" * (5 << 20))
    written(root / "commands" / "long.md", old.path * (1 << 17))
    rows = left(bench, old.path, new)
    assert "2 other files" in rows[str(root)]["what"]


def test_a_link_in_the_state_leads_nowhere(bench: Bench, old: ProjectHandle, new: Path) -> None:
    outside = written(bench.state.root / "outside" / "x.md", old.path)
    (bench.state.config_dir / "agents").symlink_to(outside.parent)
    (bench.state.config_dir / "linked.md").symlink_to(outside)
    rows = left(bench, old.path, new)
    assert list(rows) == [str(bench.state.projects)]
