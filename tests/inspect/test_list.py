"""`ccmove list`: every known project, from all evidence, for people and for scripts."""

import json
import os
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from ccmove.inspect.survey import Amount, measured
from tests.inspect.conftest import run_ccmove
from tests.output.terminal import run_on_terminal
from tests.support.state import StateBuilder, encoded_name


def listed(state: StateBuilder, *options: str) -> list[dict[str, Any]]:
    done = run_ccmove("list", "--json", *options, state=state)
    assert done.exit == 0
    record = done.json()
    assert record["schema"] == 1
    projects = record["projects"]
    assert isinstance(projects, list)
    return projects


def by_path(state: StateBuilder, path: str) -> dict[str, Any]:
    return next(row for row in listed(state) if row["path"] == str(state.code / path))


def test_a_project_is_listed_with_all_that_is_kept_for_it(state: StateBuilder) -> None:
    memory = {"MEMORY.md": "- short\n", "style.md": "- plain\n"}
    handle = state.project(
        "app", index=True, memory=memory, repo="acme/app", make_folder=True
    )
    row = by_path(state, "app")
    size = sum(file.stat().st_size for file in handle.transcripts)
    kept = {"note": 2, "config entry": 1, "GitHub link": 1, "prompt": 3}
    expected = {
        "sessions": 2,
        "bytes": size,
        "exists": True,
        "directories": [handle.name],
    }
    assert {key: row[key] for key in (*expected, "kept")} == {**expected, "kept": kept}


def test_last_used_is_the_newest_transcript_or_prompt(state: StateBuilder) -> None:
    handle = state.project("app", prompts=0, subagents=False)
    os.utime(handle.transcripts[0], (1_790_000_000, 1_790_000_000))
    assert by_path(state, "app")["last_used"] == "2026-09-21T14:13:20Z"
    prompt = {"display": "x", "timestamp": 1790086400000, "project": handle.path}
    with state.history.open("a") as history:
        history.write(json.dumps(prompt) + "\n")
    assert by_path(state, "app")["last_used"] == "2026-09-22T14:13:20Z"


def test_projects_known_only_from_one_place_are_listed(state: StateBuilder) -> None:
    state.project("only-transcripts", config=None, prompts=0)
    state.project("only-config", sessions=0, prompts=0)
    state.add_prompt("only-history", "hello")
    data = state.config()
    data["githubRepoPaths"]["acme/x"] = [str(state.code / "only-repository")]
    state.write_config(data)
    plugins = state.config_dir / "plugins" / "installed_plugins.json"
    plugins.parent.mkdir()
    installed = {"scope": "project", "projectPath": str(state.code / "only-plugin")}
    plugins.write_text(json.dumps({"plugins": {"a@b": [installed]}}))
    job = state.config_dir / "jobs" / "x" / "state.json"
    job.parent.mkdir(parents=True)
    job.write_text(json.dumps({"cwd": str(state.code / "only-job")}))
    names = {Path(row["path"]).name for row in listed(state)}
    assert names == {
        "only-transcripts", "only-config", "only-history", "only-repository", "only-plugin",
        "only-job",
    }  # fmt: skip


def test_a_directory_that_nothing_names_is_its_folders(state: StateBuilder) -> None:
    folder = state.code / "here"
    folder.mkdir()
    directory = state.projects / encoded_name(str(folder))
    state.add_session("x", cwd="/elsewhere", directory=directory)
    assert [row["path"] for row in listed(state)] == [str(folder)]


def test_paths_that_share_a_directory_are_counted_apart(state: StateBuilder) -> None:
    state.project("my-app", sessions=2, make_folder=True)
    state.project("my_app", sessions=3, make_folder=True)
    assert by_path(state, "my-app")["sessions"] == 2
    assert by_path(state, "my_app")["sessions"] == 3
    assert (
        by_path(state, "my-app")["directories"]
        == by_path(state, "my_app")["directories"]
    )


def test_parts_of_sessions_are_not_sessions(state: StateBuilder) -> None:
    handle = state.project("app", sessions=1)
    (handle.directory / "agent-12ab34cd.jsonl").write_text(
        json.dumps({"cwd": handle.path})
    )
    assert by_path(state, "app")["sessions"] == 1


def test_missing_shows_only_projects_without_folder_or_says_none_is(
    state: StateBuilder,
) -> None:
    here = state.project("here", make_folder=True)
    for path in ((), (here.path,)):
        done = run_ccmove("list", "--missing", *path, state=state)
        assert (done.exit, done.err) == (0, "No folder is missing.\n")
        state.project("gone")  # but not in that path
    assert [Path(row["path"]).name for row in listed(state, "--missing")] == ["gone"]


def test_whether_a_windows_folder_exists_can_not_be_told_here(
    state: StateBuilder,
) -> None:
    data = state.config()
    data["projects"]["C:\\code\\app"] = {}
    state.write_config(data)
    (row,) = listed(state)
    assert (row["path"], row["exists"]) == ("C:\\code\\app", None)


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("path", ["a", "b", "c"]),
        ("sessions", ["b", "c", "a"]),
        ("used", ["c", "b", "a"]),
        ("size", ["a", "b", "c"]),
    ],
)
def test_the_list_is_sorted_as_asked(
    state: StateBuilder, sort: str, order: list[str]
) -> None:
    state.project("a", sessions=0)
    state.add_session("a", text="x" * 99_999)
    state.project("b", sessions=3)
    state.project("c", sessions=2)
    assert [Path(row["path"]).name for row in listed(state, "--sort", sort)] == order


def test_a_path_limits_the_list_to_itself_and_what_is_below(
    state: StateBuilder,
) -> None:
    state.project("app")
    state.project("app/packages/core")
    state.project("app-docker")
    paths = [str(state.code / name) for name in ("app", "app/packages/core")]
    assert [row["path"] for row in listed(state, paths[0])] == paths


def test_a_pipe_gets_one_row_a_project_with_the_whole_path_last(
    state: StateBuilder,
) -> None:
    state.project("with blank", sessions=1, prompts=1)
    state.project("with blank/inside", sessions=1, prompts=1)
    done = run_ccmove("list", state=state)
    head, *rows = done.out.splitlines()
    assert head.split() == ["FOLDER", "SESSIONS", "SIZE", "LAST", "USED", "PATH"]
    root = Path(state.code.anchor)
    assert [row[row.index(str(root)) :] for row in rows] == [
        str(state.code / "with blank"), str(state.code / "with blank" / "inside"),
    ]  # fmt: skip
    assert rows[0].split()[:2] == ["GONE", "1"]
    assert "\x1b" not in done.out


@pytest.mark.parametrize("width", [60, 80, 140])
def test_a_terminal_of_any_width_gets_rows_that_fit(
    state: StateBuilder, width: int
) -> None:
    state.project(
        "a-project-with-a-long-name", memory={"MEMORY.md": "x"}, repo="acme/a"
    )
    state.project("日本語のとても長いプロジェクト名", make_folder=True)
    rows = run_on_terminal(["list"], state=state, columns=width).lines
    assert max(map(cells, rows)) <= width
    assert any("GONE" in row for row in rows)
    assert "PATH" in rows[0]


def cells(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def test_no_projects_is_an_empty_list(state: StateBuilder) -> None:
    assert listed(state) == []
    done = run_ccmove("list", state=state)
    assert (done.exit, done.err) == (0, "Claude Code knows no projects.\n")
    assert done.out == ""


def test_no_state_at_all_is_exit_3(state: StateBuilder) -> None:
    done = run_ccmove("--config-dir", str(state.root / "nowhere"), "list", state=state)
    assert done.exit == 3
    assert str(state.root / "nowhere") in done.err
    assert not (state.root / "nowhere").exists()


def test_one_thing_that_can_not_be_read_does_not_hide_the_rest(
    state: StateBuilder,
) -> None:
    state.project("app", config=None)
    state.config_file.write_text("{ not json")
    done = run_ccmove("list", state=state)
    assert done.exit == 0
    assert str(state.code / "app") in done.out
    assert str(state.config_file) in done.err


def test_files_that_vanish_during_the_look_are_not_an_error(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("four")
    assert measured(tmp_path).size == 4
    assert measured(tmp_path / "gone") == Amount(0, 0, 0)


def test_who_sees_what_else_is_kept_is_not_told_how_to(state: StateBuilder) -> None:
    state.project("app", make_folder=True)
    hint = "What else is kept: ccmove list --verbose"
    app = str(state.code / "app")
    words = ["list", "--sort", "size", app]
    shown = run_on_terminal(words, state=state, columns=200).lines
    assert any(f"{hint} --sort size {app}" in line for line in shown)
    assert hint in "\n".join(run_on_terminal(["list"], state=state).lines)
    assert hint not in "\n".join(run_on_terminal(["list", "-v"], state=state).lines)
