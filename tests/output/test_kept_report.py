"""A backup keeps what its run said, and `ccmove show` prints that."""

import json
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.inspect.conftest import git, interrupted_move, make_repo
from tests.support import seams
from tests.support.run import Completed, run_ccmove
from tests.support.state import StateBuilder
from tests.systems import windows

pytestmark = pytest.mark.slow

Words = list[str | Path]


def one_project(state: StateBuilder) -> Words:
    state.project("old", sessions=2, index=True, memory={"MEMORY.md": "- a note\n"})
    (state.code / "new").mkdir()
    return [state.code / "old", state.code / "new"]


def merge(state: StateBuilder) -> Words:
    words = one_project(state)
    state.project("new", sessions=1, index=True, memory={"MEMORY.md": "- another\n"})
    return words


def with_folder(state: StateBuilder) -> Words:
    state.project("old", sessions=1, make_folder=True)
    return ["-m", state.code / "old", state.code / "new"]


def two_moves(state: StateBuilder) -> Words:
    lines = ""
    for name in ("a", "b"):
        state.project(f"old-{name}", sessions=1)
        (state.code / f"new-{name}").mkdir()
        lines += f"{state.code}/old-{name}\t{state.code}/new-{name}\n"
    moves = state.root / "moves.txt"
    moves.write_text(lines)
    return ["--from-file", moves]


def with_settings(state: StateBuilder) -> Words:
    old, new = one_project(state)
    servers = {"mcpServers": {"db": {"command": f"{old}/db"}}}
    Path(new, ".mcp.json").write_text(json.dumps(servers))
    return ["--settings", old, new]


def undo(state: StateBuilder) -> Words:
    assert run_ccmove(*merge(state), state=state).exit == 0
    return ["undo"]


SHAPES = [one_project, merge, with_folder, two_moves, with_settings, undo]


@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_the_object_that_the_run_printed_and_show_prints_it_again(
    state: StateBuilder, shape: Callable[[StateBuilder], Words]
) -> None:
    done = run_ccmove("--json", *shape(state), state=state)
    identifier = done.json()["backup"]
    file = seams.report(state, identifier)
    assert file.read_text() == done.out
    assert windows.HERE or stat.S_IMODE(file.stat().st_mode) == 0o600
    assert run_ccmove("show", "--json", state=state).out == done.out
    assert run_ccmove("show", identifier[-4:], "--json", state=state).out == done.out


@pytest.mark.parametrize("shape", SHAPES)
def test_in_words_it_is_what_the_run_said_with_v(
    state: StateBuilder, shape: Callable[[StateBuilder], Words]
) -> None:
    said = run_ccmove("-v", *shape(state), state=state)
    assert said.exit == 0
    assert run_ccmove("show", state=state).out == said.out


def test_later_runs_change_only_how_it_ends(state: StateBuilder) -> None:
    said = run_ccmove("-v", *one_project(state), state=state).out.splitlines()
    (identifier,) = seams.backup_ids(state)
    state.project("other", sessions=1)
    (state.code / "newer").mkdir()
    run_ccmove(state.code / "other", state.code / "newer", state=state)
    later = run_ccmove("show", identifier, state=state).out.splitlines()
    assert later[:-1] == said[:-1]
    assert later[-1] == f"Done and verified. To undo: ccmove undo {identifier}"
    assert run_ccmove("undo", identifier, state=state).exit == 0
    undone = run_ccmove("show", identifier, state=state).out.splitlines()
    assert undone[:-1] == said[:-1]
    assert undone[-1].startswith("Undone since. To move again: ccmove ")


def test_what_is_on_disk_by_now_does_not_count(state: StateBuilder) -> None:
    done = run_ccmove("--json", *one_project(state), state=state)
    for file in (seams.backups(state) / done.json()["backup"] / "files").iterdir():
        file.unlink()
    state.write_config({})
    assert run_ccmove("show", "--json", state=state).out == done.out


def test_it_travels_with_a_copied_home(state: StateBuilder) -> None:
    done = run_ccmove("--json", *one_project(state), state=state)
    elsewhere = StateBuilder(state.root / "elsewhere")
    shutil.rmtree(elsewhere.home)
    shutil.copytree(state.home, elsewhere.home)
    shutil.rmtree(state.home)
    assert run_ccmove("show", "--json", state=elsewhere).out == done.out


def test_commands_are_those_that_the_run_named(state: StateBuilder) -> None:
    _, old, new = with_settings(state)
    given = ("--config-dir", state.config_dir)
    done = run_ccmove("--json", *given, old, new, state=state)
    (row,) = done.json()["to_do"]
    assert row["command"].startswith("ccmove --config-dir ")
    shown = run_ccmove("show", *given, "--json", state=state)
    assert shown.out == done.out


def test_a_run_that_was_rolled_back_first_is_part_of_it(state: StateBuilder) -> None:
    words = one_project(state)
    interrupted_move(state, "old", "new")
    done = run_ccmove("--json", *words, state=state)
    assert done.json()["rolled_back"]
    assert run_ccmove("show", "--json", state=state).out == done.out
    first, _ = run_ccmove("show", state=state).out.split("\n", 1)
    assert first == done.json()["rolled_back"]


def test_what_git_could_not_repair_is_part_of_it(state: StateBuilder) -> None:
    old, new = state.code / "old", state.code / "new"
    state.project("old", sessions=1)
    make_repo(old, commit=True)
    git(old, "worktree", "add", "-q", str(old / "tree"), "-b", "feat")
    words = ["--json", "-m", old, new]
    done = run_ccmove(*words, state=state, env={"PATH": str(state.root)})
    (row,) = done.json()["to_do"]
    assert row["command"].startswith(f"git -C {new} worktree repair")
    assert run_ccmove("show", "--json", state=state).out == done.out
    assert not list(seams.backups(state).rglob("*.new"))


def test_a_move_with_nothing_to_change_keeps_nothing(state: StateBuilder) -> None:
    words = one_project(state)
    assert run_ccmove("-n", *words, state=state).exit == 0
    assert not seams.own(state).exists()


def reported(state: StateBuilder) -> tuple[Path, dict[str, Any]]:
    run_ccmove(*one_project(state), state=state)
    (identifier,) = seams.backup_ids(state)
    file = seams.report(state, identifier)
    return file, json.loads(file.read_text())


def refused(state: StateBuilder) -> Completed:
    """One clear line, and the way on; nothing else is affected."""
    assert run_ccmove("show", "--json", state=state).json()["status"] == "refused"
    shown = run_ccmove("show", state=state)
    assert (shown.exit, shown.out) == (4, "")
    what, hint = shown.err.splitlines()
    assert what.isprintable()
    assert hint.startswith("  -> ")
    assert run_ccmove("backups", state=state).exit == 0
    return shown


def test_without_it_the_manifest_tells_what_was_moved(state: StateBuilder) -> None:
    file, _ = reported(state)
    file.unlink()
    done = refused(state)
    assert f"{file} can't be used: it is missing" in done.err
    assert f"the run moved {state.code / 'old'} to {state.code / 'new'}" in done.err
    assert run_ccmove("undo", state=state).exit == 0


TEXTS = [
    "",
    "{",
    "null",
    "[]",
    "{}",
    '{"schema": 1}',
    '{"schema": NaN}',
    '{"schema": ' + "9" * 5000 + "}",
    "[" * 100_000,
    '"\x1b[31m"',
    "\xff",
]


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_not_a_report_is_refused(state: StateBuilder, text: str) -> None:
    file, _ = reported(state)
    file.write_bytes(text.encode("latin-1"))
    refused(state)


CHANGES: list[tuple[str, object]] = [
    ("schema", 2),
    ("schema", True),
    ("status", "planned"),
    ("status", None),
    ("backup", "20200101T000000Z-0000"),
    ("backup", "\x1b]0;owned\x07"),
    ("config_dir", None),
    ("moves", "x"),
    ("moves", [["a", "b"]]),
    ("moves", [{"old": "a"}]),
    ("projects", [{}]),
    ("changes", [{"place": "\x1b[31m"}]),
    ("changes", [{"place": "history", "file": "f", "count": 1, "paths": []}]),
    ("merged", [{"path": "a", "sessions": -1}]),
    ("merged", [{"path": "a", "sessions": 10**400}]),
    ("merged", [{"path": "a", "sessions": 1.5}]),
    ("left_alone", {}),
    ("warnings", [1]),
    ("remembering", "1"),
    ("reasons", [None]),
    ("rolled_back", 0),
]


@pytest.mark.parametrize(("member", "value"), CHANGES)
def test_a_member_of_another_kind_is_refused(
    state: StateBuilder, member: str, value: object
) -> None:
    file, report = reported(state)
    file.write_text(json.dumps(report | {member: value}))
    refused(state)


@pytest.mark.parametrize(
    "member", ["moves", "projects", "changes", "left_alone", "rolled_back", "folders"]
)
def test_a_member_that_is_missing_is_refused(state: StateBuilder, member: str) -> None:
    file, report = reported(state)
    del report[member]
    file.write_text(json.dumps(report))
    refused(state)


def test_members_that_a_later_version_added_are_passed_over(
    state: StateBuilder,
) -> None:
    file, report = reported(state)
    file.write_text(json.dumps(report | {"later": [1.5]}))
    assert run_ccmove("show", "--json", state=state).json() == report


def test_names_with_control_characters_are_shown_harmlessly(
    state: StateBuilder,
) -> None:
    file, report = reported(state)
    report["warnings"] = ["\x1b[31m red\n\u202e", "\ud800"]
    report["moves"] = [{"old": "/a\x07", "new": "/b\r"}]
    file.write_text(json.dumps(report))
    shown = run_ccmove("show", state=state)
    assert shown.exit == 0
    assert "\\x1b[31m red\\n\\u202e" in shown.out
    assert all(line.isprintable() for line in shown.out.splitlines())


@pytest.mark.skipif(windows.HERE, reason="sparse files and links are POSIX's")
def test_one_that_is_huge_or_not_a_file_is_refused(state: StateBuilder) -> None:
    file, _ = reported(state)
    with file.open("ab") as handle:
        handle.truncate(300 << 20)
    assert "is larger than" in refused(state).err
    file.unlink()
    file.symlink_to(seams.manifest(state, file.parent.name))
    assert run_ccmove("show", state=state).exit == 4
    file.unlink()
    os.mkfifo(file)
    assert run_ccmove("show", state=state).exit == 4
