"""The other places that know a project's path."""

import hashlib
import json
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.shapes.bench import Bench, Expected, directory_of, in_json, in_rule
from tests.support.oddlines import stringify
from tests.support.state import ProjectHandle, StateBuilder, encoded_name


def ready(bench: Bench) -> tuple[StateBuilder, ProjectHandle, Path]:
    new = bench.folder("new")
    return bench.state, bench.state.project("old", sessions=1), new


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


def test_aliases_on_both_sides_are_joined(bench: Bench) -> None:
    state, old, new = ready(bench)
    native = state.project("new", sessions=0, config=None, prompts=0)
    one, two = state.project("one", sessions=1), state.project("two", sessions=1)
    written(
        old.directory / ".session-aliases",
        f"{one.directory}\n{two.directory}\n".encode(),
    )
    theirs = written(
        native.directory / ".session-aliases", f"{two.directory}\n".encode()
    )
    with bench.moved(old.path, new):
        assert theirs.read_text() == f"{two.directory}\n{one.directory}\n"


def test_plugins_installed_for_the_project_follow(bench: Bench) -> None:
    state, old, new = ready(bench)
    rows = [
        {"scope": "project", "installPath": f"{old.path}/x", "projectPath": old.path},
        {"scope": "user", "resolvedVersion": old.path},
        {"scope": "local", "projectPath": f"{old.path}/sub", "version": 1.10},
        {"scope": "local", "projectPath": f"{old.path}-2"},
        {"scope": "user", "installPath": "/elsewhere"},
    ]
    file = written(state.config_dir / "plugins" / "installed_plugins.json", {
        "version": 2, "plugins": {"lint@market": rows, "other@market": rows[2:]},
    })  # fmt: skip
    expected = plain(bench, old, new)
    expected.replace(
        file,
        (f'"projectPath": "{old.path}"', f'"projectPath": "{new}"'),
        (f'"projectPath": "{old.path}/sub"', f'"projectPath": "{new}/sub"'),
        (f'"installPath": "{old.path}/x"', f'"installPath": "{new}/x"'),
    )
    moved = bench.cycle(expected, old.path, new)
    (left,) = [row for row in moved["left_alone"] if row["file"] == str(file)]
    assert "setting plugins.lint@market.1.resolvedVersion; edit" in left["what"]


def job(state: StateBuilder, handle: ProjectHandle) -> Path:
    return written(state.config_dir / "jobs" / "ab12" / "state.json", {
        "cwd": handle.path,
        "originCwd": f"{handle.path}/sub",
        "worktreePath": f"{handle.path}/.claude/worktrees/fix",
        "linkScanPath": str(handle.transcripts[0]),
        "respawnFlags": [
            "--add-dir", f"{handle.path}/docs", "--mcp-config", f"{handle.path}/.mcp.json",
            "--resume", str(handle.transcripts[0]), "--model", "old", f"{handle.path}-2",
        ],
        "sessionPermissionRules": {
            "allow": [f"Read({in_rule(handle.path)}/**)", f"Bash({handle.path}/run.sh:*)"],
            "deny": [f"Edit({in_rule(handle.path)}/secret)", "Read(//elsewhere/**)"],
            "addDirs": [handle.path, "/elsewhere"],
        },
        "intent": f"look at {handle.path}",
    })  # fmt: skip


def test_jobs_follow_while_the_daemon_is_not_running(bench: Bench) -> None:
    state, old, new = ready(bench)
    file = job(state, old)
    written(state.config_dir / "daemon.lock", {"pid": 2**22 + 1, "procStart": "1"})
    expected = plain(bench, old, new)
    target = directory_of(state, new) / old.transcripts[0].name
    expected.replace(
        file,
        (f'"{old.path}"', f'"{new}"'),
        (f'"{old.path}/', f'"{new}/'),
        (f"({in_rule(old.path)}/", f"({in_rule(new)}/"),
        (f"({old.path}/", f"({new}/"),
        (str(old.transcripts[0]), str(target)),
    )
    bench.cycle(expected, old.path, new)


def test_marketplaces_in_the_folder_follow(bench: Bench) -> None:
    state, old, new = ready(bench)
    file = written(state.config_dir / "plugins" / "known_marketplaces.json", {
        "mine": {
            "source": {"source": "directory", "path": f"{old.path}/market"},
            "installLocation": f"{old.path}/market", "version": 1.10,
        },
        "theirs": {"source": {"source": "github", "repo": "a/b"}, "installLocation": "/else"},
    })  # fmt: skip
    expected = plain(bench, old, new)
    expected.replace(file, (f"{old.path}/market", f"{new}/market"))
    bench.cycle(expected, old.path, new)


def test_the_daemons_and_the_bridges_folders_follow(bench: Bench) -> None:
    state, old, new = ready(bench)
    root = state.config_dir
    record = {
        "dir": old.path,
        "workers": [{"directory": f"{old.path}/x", "name": old.path}],
    }
    daemon = written(root / "daemon.json", record)
    pointers = [root / "bridge-pointer.json", old.directory / "bridge-pointer.json"]
    for pointer in pointers:
        written(pointer, {"sessionId": "s", "dir": old.path})
    expected = Expected(bench)
    expected.replace(
        daemon,
        (f'"dir": "{old.path}"', f'"dir": "{new}"'),
        (f"{old.path}/x", f"{new}/x"),
    )
    for pointer in pointers:
        expected.replace(pointer, (old.path, str(new)))
    expected.move(state, old.path, new)
    bench.cycle(expected, old.path, new)
    with running("sleep") as process:
        written(root / "daemon.lock", {"pid": process.pid})
        moved = bench.ok(old.path, new)
    (row,) = [row for row in moved["left_alone"] if row["file"] == str(daemon)]
    assert row["what"].startswith("the background daemon's, stop it first")
    bench.ok(*row["hint"].split()[1:])
    assert json.loads(daemon.read_text())["dir"] == str(new)


def downloads(state: StateBuilder, path: Path | str) -> Path:
    """Where the client keeps what connectors saved for a git root."""
    root = unicodedata.normalize("NFC", str(path))
    suffix = hashlib.sha256(root.encode()).hexdigest()[:16]
    return state.projects / f"{encoded_name(str(path))}.{suffix}"


@pytest.mark.parametrize("name", ["new", "old_", "ne\u0301w"])
def test_connector_downloads_follow(bench: Bench, name: str) -> None:
    state, old, new = ready(bench)
    new = new.rename(state.code / name)
    sub = state.project("old/sub", sessions=1)
    for path in (old.path, sub.path):
        written(downloads(state, path) / "connector-downloads" / "x.bin", path.encode())
    stays = written(
        downloads(state, f"{old.path}-2") / "connector-downloads" / "x.bin", b"x"
    )
    expected = Expected(bench)
    for path, target in ((old.path, new), (sub.path, new / "sub")):
        expected.move(state, path, target)
        expected.rename(downloads(state, path), downloads(state, target))
    assert stays.exists()
    bench.cycle(expected, old.path, new)


def test_connector_downloads_on_both_sides_are_merged(bench: Bench) -> None:
    state, old, new = ready(bench)
    one = downloads(state, old.path) / "connector-downloads"
    two = downloads(state, new) / "connector-downloads"
    written(one / "a.bin", b"a")
    written(two / "b.bin", b"b")
    with bench.moved(old.path, new):
        assert sorted(path.name for path in two.iterdir()) == ["a.bin", "b.bin"]
        assert not one.parent.exists()


def test_jobs_are_reported_while_the_daemon_runs(bench: Bench) -> None:
    state, old, new = ready(bench)
    file = job(state, old)
    roster = written(
        state.config_dir / "daemon" / "roster.json", {"workers": {"a": old.path}}
    )
    with running("sleep") as process:
        written(state.config_dir / "daemon.lock", {"pid": process.pid})
        moved = bench.cycle(plain(bench, old, new), old.path, new)
        bench.ok(old.path, new)
    hints = {row["file"]: row["hint"] for row in moved["left_alone"]}
    for path in (file, roster):
        assert hints[str(path)] == f"ccmove {old.path} {new}"
    assert json.loads(file.read_text())["cwd"] == old.path
    moved = bench.ok(old.path, new)  # as the hint says: the jobs follow alone
    assert str(roster) in {row["file"] for row in moved["left_alone"]}
    assert json.loads(file.read_text())["cwd"] == str(new)


@contextmanager
def running(name: str, folder: Path | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A process of this name; the kernel calls it so when its program does."""
    program = [sys.executable, "-c", "import time; time.sleep(60)"]
    if sleep := shutil.which("sleep"):
        program = [
            sleep if folder is None else str(shutil.copy(sleep, folder / name)),
            "60",
        ]
    process = subprocess.Popen(program)
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
    "allow": ["Read(//OLD/**)", "Bash(OLD/run.sh:*)", "Edit(//OLD)", "Read(//OLD-2/**)"],
    "additionalDirectories": ["OLD/lib", "OLD", "/elsewhere"]
  },
  "env": {"ROOT": "OLD", "URL": "http://host/OLD", "N": 1.10},
  "mcpServers": {"s": {"command": "OLD/bin/s", "args": ["--root", "OLD", "OLD.bak"]}}
}
"""


def named(text: str, word: str, path: str | Path) -> str:
    """The text with a path for `word`, and for `//word` as rules have it."""
    return text.replace(f"//{word}", in_rule(path)).replace(word, in_json(str(path)))


def test_project_files_follow_when_asked_to(bench: Bench) -> None:
    _, old, new = ready(bench)
    files = settings(new, named(SETTINGS, "OLD", old.path))
    expected = plain(bench, old, new)
    bench.cycle(expected, old.path, new)
    text = SETTINGS.replace("OLD-2", "KEPT-2").replace("OLD.bak", "KEPT.bak")
    text = text.replace("http://host/OLD", "http://host/KEPT")
    text = named(named(text, "OLD", new), "KEPT", old.path)
    for file in files:
        expected.write(file, text.encode())
    bench.cycle(expected, "--settings", old.path, new)


TILDE = """{
  "permissions": {
    "allow": ["Read(~/OLD/**)", "Bash(~/OLD/run.sh:*)", "Bash(sh $HOME/OLD/x)", "Edit(~/OLD-2/**)"],
    "additionalDirectories": ["~/OLD/lib", "~/OLD", "~/elsewhere", "~"]
  },
  "hooks": {
    "Stop": [{"hooks": [{"command": "$HOME/OLD/stop.sh"}, {"command": "${HOME}/OLD/x"}]}]
  },
  "env": {"A": "${HOME}/OLD", "B": "$HOMER/OLD", "C": "~root/OLD"}
}
"""


@pytest.mark.parametrize("in_home", [True, False])
def test_paths_with_a_tilde_or_home_follow_in_the_same_spelling(
    bench: Bench, in_home: bool, state: StateBuilder
) -> None:
    old = state.project(state.home / "work" / "old", sessions=1)
    new = (state.home / "work" if in_home else state.code) / "new"
    new.mkdir(parents=True)
    files = settings(new, TILDE.replace("OLD", "work/old"))
    expected = plain(bench, old, new)
    text = TILDE.replace("OLD-2", "work/old-2")
    for other in ("$HOMER/OLD", "~root/OLD"):
        text = text.replace(other, other.replace("OLD", "work/old"))
    if in_home:
        text = text.replace("OLD", "work/new")
    else:
        text = text.replace(
            "(~/OLD/**", f"({in_rule(new)}/**"
        )  # a rule's own way to write it
        for home in ("~", "$HOME", "${HOME}"):
            text = text.replace(f"{home}/OLD", new.as_posix())
    for file in files:
        expected.write(file, text.encode())
    bench.cycle(expected, "--settings", old.path, new)


def test_project_files_of_nested_projects_follow_too(
    bench: Bench, state: StateBuilder
) -> None:
    state.project("code/app", sessions=1)
    folder = state.code / "src" / "app"
    (file, *_) = settings(folder, json.dumps({"a": f"{state.code / 'code' / 'app'}/x"}))
    expected = Expected(bench)
    expected.move(state, state.code / "code" / "app", folder)
    for path in (file, file.with_name("settings.local.json"), folder / ".mcp.json"):
        expected.replace(path, (f"{state.code / 'code' / 'app'}/x", f"{folder}/x"))
    bench.cycle(expected, "--settings", state.code / "code", state.code / "src")


@pytest.mark.parametrize("options", [["--settings"], ["--settings", "--move-folder"]])
def test_project_files_of_a_project_inside_the_state_follow_and_come_back(
    bench: Bench, options: list[str], state: StateBuilder
) -> None:
    """Someone works on a plugin or a skill where the client keeps it."""
    old, new = state.config_dir / "skills" / "old", state.config_dir / "skills" / "new"
    state.project(old, sessions=1)
    settings(old if "--move-folder" in options else new, json.dumps({"a": f"{old}/x"}))
    with bench.moved(*options, old, new):
        assert json.loads((new / ".mcp.json").read_text()) == {"a": f"{new}/x"}


def test_a_settings_file_that_is_not_json_is_left_and_named(bench: Bench) -> None:
    _, old, new = ready(bench)
    file = written(
        new / ".claude" / "settings.json", f'{{ // {old.path}\n"a": 1}}'.encode()
    )
    moved = bench.cycle(plain(bench, old, new), "--settings", old.path, new)
    assert str(file) in {row["file"] for row in moved["left_alone"]}


# -- the desktop app ---------------------------------------------------------------------------


def desktop(state: StateBuilder, handle: ProjectHandle) -> Path:
    assert sys.platform.startswith("linux")
    folder = state.home / ".config" / "Claude" / "claude-code-sessions" / "a" / "b"
    record = {
        "cwd": handle.path,
        "originCwd": f"{handle.path}/sub",
        "title": handle.path,
    }
    return written(folder / "local_1.json", record)


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the place differs elsewhere"
)
def test_the_desktop_apps_sessions_follow_when_asked_to_and_it_does_not_run(
    bench: Bench, tmp_path: Path
) -> None:
    """In one test: the app that runs here would be seen by another one at the same
    time.
    """
    state, old, new = ready(bench)
    file = desktop(state, old)
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
        assert "desktop app" in bench.refused("--desktop", old.path, new)["error"]
        bench.ok(old.path, new)
