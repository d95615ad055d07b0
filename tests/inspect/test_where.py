"""`ccmove where`: the one line that other programs would else compute, and get wrong."""

import os
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from tests.inspect.conftest import (
    git,
    interrupted_move,
    make_repo,
    nothing_changes,
    run_ccmove,
)
from tests.output.terminal import run_on_terminal
from tests.support.state import StateBuilder, encoded_name

KEYS = {
    "schema", "status", "path", "directory", "exists", "sessions", "bytes", "memory", "config_key",
    "trusted", "former_paths",
}  # fmt: skip


def where(
    state: StateBuilder, path: Path | str, *options: str, known: bool = True
) -> dict[str, Any]:
    done = run_ccmove("where", "--json", *options, path, state=state)
    assert done.exit == (0 if known else 3), done
    record: dict[str, Any] = done.json()
    assert record.keys() >= KEYS
    assert record["status"] == ("ok" if known else "nothing")
    return record


def move(state: StateBuilder, old: str, new: str, *options: str) -> None:
    old, new = str(state.code / old), str(state.code / new)
    done = run_ccmove(*options, "--skip-path-check", old, new, state=state)
    assert done.exit == 0, done


def test_one_line_is_printed_and_nothing_else(state: StateBuilder) -> None:
    handle = state.project("app", make_folder=True)
    with nothing_changes(state):
        done = run_ccmove("where", handle.path, state=state)
    assert (done.exit, done.out, done.err) == (0, f"{handle.directory}\n", "")


def test_without_a_path_it_is_the_current_folder(state: StateBuilder) -> None:
    handle = state.project("app", make_folder=True)
    for words in ((), (".",), ("../app",)):
        done = run_ccmove("where", *words, state=state, cwd=Path(handle.path))
        assert (done.exit, done.out) == (0, f"{handle.directory}\n")


def test_the_object_says_what_is_there(state: StateBuilder) -> None:
    notes = {"MEMORY.md": "- short\n"}
    handle = state.project("app", memory=notes, make_folder=True)
    (handle.directory / "agent-12ab34cd.jsonl").write_text("{}\n")
    record = where(state, handle.path)
    files = handle.directory.glob("*.jsonl")
    expected = {
        "schema": 1,
        "status": "ok",
        "path": handle.path,
        "directory": str(handle.directory),
        "exists": True,
        "sessions": 2,
        "bytes": sum(file.stat().st_size for file in files),
        "memory": str(handle.memory),
        "config_key": Path(handle.path).as_posix(),  # on Windows, too
        "trusted": True,
        "former_paths": [],
        "warnings": [],
    }
    assert {key: record[key] for key in expected} == expected


def test_of_a_path_that_nobody_knows_it_is_what_claude_code_would_use(
    state: StateBuilder,
) -> None:
    state.project("my-app")
    path = state.code / "my-ap"
    directory = state.projects / encoded_name(str(path))
    done = run_ccmove("where", path, state=state)
    assert (done.exit, done.out) == (3, f"{directory}\n")
    assert f"did you mean: ccmove where {state.code / 'my-app'}\n" in done.err
    record = where(state, path, known=False)
    assert record["directory"] == str(directory)
    assert (record["exists"], record["sessions"], record["memory"]) == (False, 0, None)
    assert "my-ap" in record["error"]
    assert "did you mean" in record["hint"]


def test_there_need_not_be_any_state(state: StateBuilder) -> None:
    other = state.root / "nowhere"
    directory = other / "projects" / encoded_name(str(state.code))
    done = run_ccmove("where", "--config-dir", str(other), state.code, state=state)
    assert (done.exit, done.out) == (3, f"{directory}\n")
    assert not other.exists()


def test_what_only_a_list_names_is_known(state: StateBuilder) -> None:
    state.project("entry", sessions=0, prompts=0)
    state.add_prompt("prompts", "hello")
    for name in ("entry", "prompts"):
        record = where(state, state.code / name)
        assert not record["exists"]
        assert record["directory"].endswith(encoded_name(str(state.code / name)))
        assert record["trusted"] is (name == "entry")


def test_who_shares_a_directory_gets_only_what_is_his(state: StateBuilder) -> None:
    state.project("my-app", sessions=2, make_folder=True)
    state.project("my_app", sessions=3, make_folder=True)
    one, two = (where(state, state.code / name) for name in ("my-app", "my_app"))
    assert one["directory"] == two["directory"]
    assert (one["sessions"], two["sessions"]) == (2, 3)
    assert one["bytes"] < two["bytes"]
    stranger = where(state, state.code / "my.app", known=False)
    assert (stranger["exists"], stranger["sessions"]) == (True, 0)


def long_path(state: StateBuilder) -> str:
    """One whose whole name is over the cut, and still a name that a disk can hold."""
    start = str(state.code / "a-long-name")
    return start + f"{os.sep}x" * ((230 - len(start)) // 2)


def uncut(path: str) -> str:
    return "".join(char if char.isalnum() else "-" for char in path)


@pytest.mark.parametrize("rule", ["cut", "uncut", "unknown"])
def test_a_long_path_is_where_some_client_has_put_it(
    state: StateBuilder, rule: str
) -> None:
    path = long_path(state)
    cut = encoded_name(path)
    names = {
        "cut": cut,
        "uncut": uncut(path),
        "unknown": f"{cut[:200]}-0unknown0",
    }
    assert len(cut) > 200
    handle = state.project(path, name=names[rule])
    assert where(state, path)["directory"] == str(handle.directory)


def test_of_two_directories_the_current_clients_counts(state: StateBuilder) -> None:
    path = long_path(state)
    state.project(path, name=uncut(path), sessions=3)
    assert where(state, path)["directory"].endswith(uncut(path))
    handle = state.project(path, sessions=1)
    record = where(state, path)
    assert (record["directory"], record["sessions"]) == (str(handle.directory), 1)


def test_a_link_leads_to_the_real_folder(state: StateBuilder) -> None:
    handle = state.project("app", make_folder=True)
    link = state.code / "link"
    link.symlink_to(handle.path)
    record = where(state, link)
    assert (record["path"], record["directory"]) == (handle.path, str(handle.directory))


def test_what_is_known_only_as_typed_is_found(state: StateBuilder) -> None:
    """A client once ran where the link was a folder."""
    (state.code / "real").mkdir()
    handle = state.project("link")
    (state.code / "link").symlink_to("real")
    assert where(state, handle.path)["path"] == handle.path


def test_another_unicode_form_is_another_folder_unless_the_disk_says_so(
    state: StateBuilder,
) -> None:
    composed = state.project("café", make_folder=True)
    other = unicodedata.normalize("NFD", composed.path)
    same = os.path.exists(other)
    record = where(state, other, known=same)
    assert (record["path"] == composed.path) is same


def test_a_path_of_windows_is_understood_here(state: StateBuilder) -> None:
    data = state.config()
    data["projects"]["C:/Work/App"] = {"hasTrustDialogAccepted": True}
    state.write_config(data)
    for typed in ("C:\\Work\\App", "C:/Work/App", "c:\\work\\app\\"):
        record = where(state, typed)
        assert record["path"] == "C:\\Work\\App"
        assert record["directory"] == str(state.projects / "C--Work-App")
        assert (record["config_key"], record["trusted"]) == ("C:/Work/App", True)
    assert where(state, "D:\\x", known=False)["config_key"] == "D:/x"


def test_another_state_can_be_asked(state: StateBuilder, tmp_path: Path) -> None:
    other = StateBuilder(tmp_path / "other")
    handle = other.project("app")
    (other.config_dir / ".claude.json").write_bytes(other.config_file.read_bytes())
    option = ("--config-dir", str(other.config_dir))
    assert where(state, handle.path, *option)["directory"] == str(handle.directory)


def test_memory_and_entry_are_those_of_the_main_checkout(state: StateBuilder) -> None:
    """As tests/client/test_where.py sees the client do it."""
    repo = make_repo(state.code / "repo", commit=True)
    main = state.project("repo", memory={"MEMORY.md": "- x\n"})
    git(repo, "worktree", "add", "-q", str(state.code / "wt"))
    for name in ("repo/sub", "wt"):
        handle = state.project(name, config=None, make_folder=True)
        record = where(state, handle.path)
        assert record["directory"] == str(handle.directory)
        assert record["memory"] == str(main.memory)
        assert (record["config_key"], record["trusted"]) == (main.path, True)


def test_who_trusts_a_folder_trusts_what_is_in_it(state: StateBuilder) -> None:
    state.project(".", sessions=0, prompts=0)
    data = state.config()
    key = str(state.code)
    assert key in data["projects"]
    state.project("app", config={"hasTrustDialogAccepted": False})
    assert where(state, state.code / "app")["trusted"] is True
    data = state.config()
    del data["projects"][key]
    state.write_config(data)
    assert where(state, state.code / "app")["trusted"] is False


def test_former_paths_are_those_of_our_own_moves(state: StateBuilder) -> None:
    state.project("one")
    state.project("other")
    move(state, "one", "two")
    move(state, "two", "three")
    move(state, "other", "two")
    one, two, other = (str(state.code / name) for name in ("one", "two", "other"))
    assert where(state, state.code / "three")["former_paths"] == [two, one]
    assert where(state, two)["former_paths"] == [other]
    assert run_ccmove("prune", "--keep", "0", state=state).exit == 0
    assert where(state, state.code / "three")["former_paths"] == [two, one]
    assert where(state, two)["former_paths"] == [other]


def test_what_was_undone_is_no_former_path(state: StateBuilder) -> None:
    state.project("one")
    move(state, "one", "two")
    assert run_ccmove("undo", state=state).exit == 0
    assert where(state, state.code / "one")["former_paths"] == []
    state.project("two")
    assert where(state, state.code / "two")["former_paths"] == []


def test_of_two_that_changed_places_each_was_where_the_other_is(
    state: StateBuilder,
) -> None:
    for name in ("one", "two"):
        state.project(name, make_folder=True)
    one, two = str(state.code / "one"), str(state.code / "two")
    listed = f"{one}\t{two}\n{two}\t{one}\n"
    options = ("--skip-path-check", "--from-file", "-")
    done = run_ccmove(*options, state=state, answers=listed)
    assert done.exit == 0, done
    assert where(state, one)["former_paths"] == [two]
    assert where(state, two)["former_paths"] == [one]


@pytest.mark.parametrize("broken", ["config", "history"])
def test_what_is_broken_is_named_and_hides_nothing(
    state: StateBuilder, broken: str
) -> None:
    handle = state.project("app", make_folder=True)
    if broken == "config":
        state.config_file.write_text("{ not json")
    else:
        state.history.unlink()
        state.history.mkdir()
    record = where(state, handle.path)
    assert record["directory"] == str(handle.directory)
    assert len(record["warnings"]) == 1
    done = run_ccmove("where", handle.path, state=state)
    assert done.out == f"{handle.directory}\n"
    assert done.err.startswith("Note: ")


@pytest.mark.parametrize("path", ["", " ", "a\0b"])
def test_what_is_no_path_is_wrong_usage(state: StateBuilder, path: str) -> None:
    done = run_ccmove("where", path, state=state)
    assert (done.exit, done.out) == (2, "")
    assert "PATH" in done.err


def test_on_a_terminal_it_is_one_line_that_can_be_typed(state: StateBuilder) -> None:
    handle = state.project("app", make_folder=True)
    shown = run_on_terminal(["where", handle.path], state=state)
    assert shown.lines == [f"~/.claude/projects/{handle.name}"]


def test_while_a_run_is_half_done_the_next_step_is_to_roll_it_back(
    state: StateBuilder,
) -> None:
    state.project("old")
    interrupted_move(state, "old", "new")
    done = run_ccmove("where", state.code / "elsewhere", state=state)
    assert done.exit == 3
    assert "a run was interrupted; roll it back: ccmove recover\n" in done.err
