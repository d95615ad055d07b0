"""The other places that know a project's path."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.shapes.bench import Bench, Expected, directory_of
from tests.support.oddlines import stringify
from tests.support.state import ProjectHandle, StateBuilder


@pytest.fixture
def old(state: StateBuilder) -> ProjectHandle:
    (state.code / "new").mkdir()
    return state.project("old", sessions=1)


@pytest.fixture
def new(state: StateBuilder) -> Path:
    return state.code / "new"


def written(path: Path, content: Any) -> Path:
    """A file as the client writes it, with the directories above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else stringify(content, 2))
    path.chmod(0o600)
    return path


def plain(bench: Bench, old: ProjectHandle, new: Path) -> Expected:
    expected = Expected(bench)
    expected.move(bench.state, old.path, new)
    return expected


# -- in the state ------------------------------------------------------------------------------


def test_aliases_of_every_project_follow(bench: Bench, old: ProjectHandle, new: Path) -> None:
    state = bench.state
    other = state.project("other", sessions=1)
    text = f"{old.directory}\n{other.directory}\n/no/such/projects/x\r\n\n{old.directory}-2"
    theirs = written(other.directory / ".session-aliases", text.encode())
    ours = written(old.directory / ".session-aliases", f"{other.directory}\n".encode())
    expected = plain(bench, old, new)
    target = directory_of(state, new)
    changed = text.replace(f"{old.directory}\n", f"{target}\n")
    expected.write(theirs, changed.encode())
    assert ours.parent == old.directory
    bench.cycle(expected, old.path, new)


def test_aliases_on_both_sides_are_joined(bench: Bench, old: ProjectHandle, new: Path) -> None:
    state = bench.state
    native = state.project("new", sessions=0, config=None, prompts=0)
    one, two = state.project("one", sessions=1), state.project("two", sessions=1)
    written(old.directory / ".session-aliases", f"{one.directory}\n{two.directory}\n".encode())
    theirs = written(native.directory / ".session-aliases", f"{two.directory}\n".encode())
    before = bench.tree()
    bench.ok(old.path, new)
    assert theirs.read_text() == f"{two.directory}\n{one.directory}\n"
    bench.restore()
    bench.expect(before)


def test_plugins_installed_for_the_project_follow(
    bench: Bench, old: ProjectHandle, new: Path
) -> None:
    rows = [
        {"scope": "project", "installPath": f"{old.path}/x", "projectPath": old.path},
        {"scope": "local", "projectPath": f"{old.path}/sub", "version": 1.10},
        {"scope": "local", "projectPath": f"{old.path}-2"},
        {"scope": "user", "installPath": "/elsewhere"},
    ]
    file = written(bench.state.config_dir / "plugins" / "installed_plugins.json", {
        "version": 2, "plugins": {"lint@market": rows, "other@market": rows[2:]},
    })  # fmt: skip
    expected = plain(bench, old, new)
    expected.replace(
        file,
        (f'"projectPath": "{old.path}"', f'"projectPath": "{new}"'),
        (f'"projectPath": "{old.path}/sub"', f'"projectPath": "{new}/sub"'),
    )
    moved = bench.cycle(expected, old.path, new)
    (left,) = [row for row in moved["left_alone"] if row["file"] == str(file)]
    assert "plugins.lint@market.0.installPath" in left["what"]


def job(state: StateBuilder, handle: ProjectHandle) -> Path:
    return written(state.config_dir / "jobs" / "ab12" / "state.json", {
        "cwd": handle.path,
        "originCwd": f"{handle.path}/sub",
        "worktreePath": f"{handle.path}/.claude/worktrees/fix",
        "linkScanPath": str(handle.transcripts[0]),
        "sessionPermissionRules": {"addDirs": [handle.path, "/elsewhere"]},
        "intent": f"look at {handle.path}",
    })  # fmt: skip


def test_jobs_follow_while_the_daemon_is_not_running(
    bench: Bench, old: ProjectHandle, new: Path
) -> None:
    state = bench.state
    file = job(state, old)
    written(state.config_dir / "daemon.lock", {"pid": 2**22 + 1, "procStart": "1"})
    expected = plain(bench, old, new)
    target = directory_of(state, new) / old.transcripts[0].name
    expected.replace(
        file,
        (f'"{old.path}"', f'"{new}"'),
        (f'"{old.path}/', f'"{new}/'),
        (str(old.transcripts[0]), str(target)),
    )
    moved = bench.cycle(expected, old.path, new)
    (left,) = [row for row in moved["left_alone"] if row["file"] == str(file)]
    assert ": intent still" in left["what"]


def test_jobs_are_reported_while_the_daemon_runs(
    bench: Bench, old: ProjectHandle, new: Path
) -> None:
    state = bench.state
    file = job(state, old)
    roster = written(state.config_dir / "daemon" / "roster.json", {"workers": {"a": old.path}})
    with running("sleep") as process:
        written(state.config_dir / "daemon.lock", {"pid": process.pid})
        expected = plain(bench, old, new)
        moved = bench.cycle(expected, old.path, new)
        bench.ok(old.path, new)
    hints = {row["file"]: row["hint"] for row in moved["left_alone"]}
    for path in (file, roster):
        assert hints[str(path)] == f"stop the daemon, then: ccmove {old.path} {new}"
    assert json.loads(file.read_text())["cwd"] == old.path
    bench.ok(old.path, new)  # as the hint says: the jobs follow alone
    assert json.loads(file.read_text())["cwd"] == str(new)


@contextmanager
def running(name: str, folder: Path | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A process of this name; the kernel calls it so when its program does."""
    program = shutil.which("sleep")
    assert program is not None
    if folder is not None:
        program = str(shutil.copy(program, folder / name))
    process = subprocess.Popen([program, "60"])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


# -- in the projects' folders ------------------------------------------------------------------


def settings(folder: Path, text: str) -> list[Path]:
    files = [".claude/settings.json", ".claude/settings.local.json", ".mcp.json"]
    return [written(folder / name, text.encode()) for name in files]


SETTINGS = """{
  "permissions": {
    "allow": ["Read(/OLD/**)", "Bash(OLD/run.sh:*)", "Edit(/OLD)", "Read(/OLD-2/**)"],
    "additionalDirectories": ["OLD/lib", "OLD", "/elsewhere"]
  },
  "env": {"ROOT": "OLD", "URL": "http://host/OLD", "N": 1.10},
  "mcpServers": {"s": {"command": "OLD/bin/s", "args": ["--root", "OLD", "OLD.bak"]}}
}
"""


def test_project_files_follow_when_asked_to(bench: Bench, old: ProjectHandle, new: Path) -> None:
    files = settings(new, SETTINGS.replace("OLD", old.path))
    expected = plain(bench, old, new)
    bench.cycle(expected, old.path, new)
    text = SETTINGS.replace("OLD-2", "KEPT-2").replace("OLD.bak", "KEPT.bak")
    text = text.replace("http://host/OLD", "http://host/KEPT")
    text = text.replace("OLD", str(new)).replace("KEPT", old.path)
    for file in files:
        expected.write(file, text.encode())
    bench.cycle(expected, "--project-files", old.path, new)


def test_project_files_of_nested_projects_follow_too(bench: Bench) -> None:
    state = bench.state
    state.project("code/app", sessions=1)
    folder = state.code / "src" / "app"
    (file, *_) = settings(folder, f'{{"a": "{state.code}/code/app/x"}}')
    expected = Expected(bench)
    expected.move(state, state.code / "code" / "app", folder)
    for path in (file, file.with_name("settings.local.json"), folder / ".mcp.json"):
        expected.replace(path, (f"{state.code}/code/app/x", f"{folder}/x"))
    bench.cycle(expected, "--project-files", state.code / "code", state.code / "src")


@pytest.mark.parametrize("options", [["--project-files"], ["--project-files", "--move-folder"]])
def test_project_files_of_a_project_inside_the_state_follow_and_come_back(
    bench: Bench, options: list[str]
) -> None:
    """Someone works on a plugin or a skill where the client keeps it."""
    state = bench.state
    old, new = state.config_dir / "skills" / "old", state.config_dir / "skills" / "new"
    state.project(old, sessions=1)
    settings(old if "--move-folder" in options else new, f'{{"a": "{old}/x"}}')
    before = bench.tree()
    bench.ok(*options, old, new)
    assert json.loads((new / ".mcp.json").read_text()) == {"a": f"{new}/x"}
    bench.restore()
    bench.expect(before)


def test_project_files_alone_can_follow_later(bench: Bench, old: ProjectHandle, new: Path) -> None:
    files = settings(new, SETTINGS.replace("OLD", old.path))
    moved = bench.ok(old.path, new)
    hints = {row["file"]: row["hint"] for row in moved["left_alone"]}
    command = hints[str(files[0])]
    assert command == f"ccmove --project-files {old.path} {new}"
    bench.ok(*command.split()[1:])
    assert f'"ROOT": "{new}"' in files[0].read_text()


def test_a_settings_file_that_is_no_json_is_left_and_named(
    bench: Bench, old: ProjectHandle, new: Path
) -> None:
    file = written(new / ".claude" / "settings.json", f'{{ // {old.path}\n"a": 1}}'.encode())
    expected = plain(bench, old, new)
    moved = bench.cycle(expected, "--project-files", old.path, new)
    assert str(file) in {row["file"] for row in moved["left_alone"]}


# -- the desktop app ---------------------------------------------------------------------------


def desktop(state: StateBuilder, handle: ProjectHandle) -> Path:
    assert sys.platform.startswith("linux")
    folder = state.home / ".config" / "Claude" / "claude-code-sessions" / "a" / "b"
    record = {"cwd": handle.path, "originCwd": f"{handle.path}/sub", "title": handle.path}
    return written(folder / "local_1.json", record)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the place differs elsewhere")
def test_the_desktop_apps_sessions_follow_when_asked_to_and_it_does_not_run(
    bench: Bench, old: ProjectHandle, new: Path, tmp_path: Path
) -> None:
    """In one test: the app that runs here would be seen by another one at the same time."""
    file = desktop(bench.state, old)
    expected = plain(bench, old, new)
    moved = bench.cycle(expected, old.path, new)
    hints = {row["file"]: row["hint"] for row in moved["left_alone"]}
    assert hints[str(file)] == f"ccmove --desktop {old.path} {new}"
    expected.replace(
        file,
        (f'"cwd": "{old.path}"', f'"cwd": "{new}"'),
        (f'"originCwd": "{old.path}/sub"', f'"originCwd": "{new}/sub"'),
    )
    bench.cycle(expected, "--desktop", old.path, new)
    with running("claude-desktop", tmp_path):
        report = bench.refused("--desktop", old.path, new)
        assert "desktop app" in report["error"]
        bench.ok(old.path, new)
