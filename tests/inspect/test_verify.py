"""`ccmove verify`: is the state of a project, or of all, consistent?"""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.inspect.conftest import run_ccmove
from tests.output.inprocess import Run, run
from tests.shapes.bench import in_json
from tests.support.state import StateBuilder

__all__ = ["run"]  # a fixture


def verdict(state: StateBuilder, *arguments: str) -> int:
    return run_ccmove("verify", *arguments, state=state).exit


def test_a_consistent_state_is_exit_0(state: StateBuilder) -> None:
    state.project(
        "app", index=True, memory={"MEMORY.md": "x"}, repo="a/b", make_folder=True
    )
    state.project("other", make_folder=True)
    assert verdict(state) == 0
    assert verdict(state, str(state.code / "app")) == 0


def test_a_moved_project_is_consistent_and_so_is_one_restored(
    state: StateBuilder,
) -> None:
    old = state.project("old", index=True, memory={"MEMORY.md": "x"}, repo="acme/old")
    state.project("old/packages/core")
    new = state.code / "new"
    (new / "packages" / "core").mkdir(parents=True)
    assert run_ccmove(old.path, str(new), state=state).exit == 0
    assert verdict(state, str(new)) == 0
    assert verdict(state) == 0
    assert run_ccmove("restore", state=state).exit == 0
    new.rename(old.path)
    assert verdict(state) == 0


def test_a_project_whose_folder_is_gone_is_a_note(state: StateBuilder) -> None:
    state.project("here", make_folder=True)
    state.project("gone")
    state.project("here/.claude/worktrees/removed")
    state.project("only-listed", sessions=0, prompts=0)
    assert verdict(state) == 0
    assert verdict(state, str(state.code / "gone")) == 0
    notes = run_ccmove("verify", "--json", state=state).json()["notes"]
    assert [note["kind"] for note in notes] == ["orphan", "orphan", "stale-entries"]
    # One command for all that were not found.
    assert {note["command"] for note in notes} == {"ccmove doctor"}


def test_a_closed_directory_of_another_project_is_named(
    state: StateBuilder, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    handle = state.project("app", make_folder=True)
    closed = state.projects / "-etc-nginx"
    closed.mkdir()
    opened = os.open

    def refusing(path: str | Path, flags: int, mode: int = 0o777, **more: int) -> int:
        if path == closed.name:
            raise PermissionError(13, "Permission denied", path)
        return opened(path, flags, mode, **more)

    monkeypatch.setattr(os, "open", refusing)
    one, everything = run("verify", "--json", handle.path), run("verify", "--json")
    assert [note["subject"] for note in one.json()["notes"]] == [str(closed)]
    assert everything.json()["findings"][0]["subject"] == str(closed)
    assert (one.exit, everything.exit) == (0, 1)


def moved_by_hand(state: StateBuilder) -> str:
    """A project whose directory someone renamed, and nothing else: its new path."""
    moved = state.project("new", cwd=str(state.code / "old"), config=None, prompts=0)
    Path(moved.path).mkdir()
    assert in_json(str(state.code / "old")) in moved.transcripts[0].read_text()
    assert (
        verdict(state, moved.path) == verdict(state) == 0
    )  # that alone is no inconsistency
    return moved.path


def leave_link(state: StateBuilder) -> None:
    data = state.config()
    data["githubRepoPaths"]["acme/app"] = [
        str(state.code / "new"),
        str(state.code / "old"),
    ]
    state.write_config(data)


def leave(state: StateBuilder, file: str, value: object) -> None:
    path = state.config_dir / file
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(value))


LEFT_BEHIND: dict[str, Callable[[StateBuilder], object]] = {
    "a prompt": lambda s: s.add_prompt("old", "left behind"),
    "a config entry": lambda s: s.project("old", sessions=0, prompts=0),
    "a GitHub repo link": leave_link,
    "a plugin": lambda s: leave(
        s,
        "plugins/installed_plugins.json",
        {"plugins": {"a@b": [{"projectPath": str(s.code / "old")}]}},
    ),
    "a job": lambda s: leave(s, "jobs/x/state.json", {"cwd": str(s.code / "old")}),
}


@pytest.mark.parametrize("what", LEFT_BEHIND)
def test_what_was_left_at_the_old_path_fails(state: StateBuilder, what: str) -> None:
    new = moved_by_hand(state)
    LEFT_BEHIND[what](state)
    done = run_ccmove("verify", new, state=state)
    assert done.exit == 1
    assert f"-> ccmove {state.code / 'old'} {new}" in done.out


def test_what_fails_elsewhere_does_not_fail_this_project(state: StateBuilder) -> None:
    state.project("here", index=True, make_folder=True)
    broken = state.project("broken", index=True, make_folder=True)
    broken.transcripts[0].unlink()
    assert verdict(state, str(state.code / "here")) == 0
    assert verdict(state, broken.path) == 1
    record = run_ccmove("verify", "--json", state=state).json()
    assert (record["schema"], record["status"]) == (1, "findings")
    assert [failure["kind"] for failure in record["findings"]] == ["index"]


def test_a_path_may_be_relative_or_lead_through_a_link(state: StateBuilder) -> None:
    state.project("app", make_folder=True)
    (state.root / "link").symlink_to(state.code)
    assert run_ccmove("verify", "app", state=state, cwd=state.code).exit == 0
    assert verdict(state, str(Path(state.root, "link", "app"))) == 0


def test_prompts_of_who_came_in_a_swap_are_not_left_over_of_who_went(
    state: StateBuilder,
) -> None:
    """Found by random lives: the one who came has only prompts, and its folder is gone."""
    one = state.project("one", sessions=0, prompts=2, make_folder=True)
    two = state.project("two", sessions=1, prompts=1, make_folder=True)
    moves = f"{one.path}\t{two.path}\n{two.path}\t{one.path}\n"
    words = ("--from-file", "-", "--skip-path-check")
    assert run_ccmove(*words, state=state, answers=moves).exit == 0
    Path(two.path).rmdir()
    assert run_ccmove("verify", state=state).exit == 0
