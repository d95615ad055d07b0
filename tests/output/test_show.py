"""What is still to do is always said; what a run did can be asked for later, whole."""

import json
from pathlib import Path

import pytest

from tests.inspect.conftest import git, make_repo
from tests.support import seams
from tests.support.run import run_ccmove
from tests.support.state import StateBuilder, encoded_name

Renamed = tuple[Path, Path]


@pytest.fixture
def renamed(state: StateBuilder) -> Renamed:
    """A repository with a worktree and with settings that name the old path, renamed by
    hand.
    """
    old, new = state.code / "old", state.code / "new"
    state.project("old", sessions=2, index=True)
    make_repo(old, commit=True)
    git(old, "worktree", "add", "-q", str(old / ".claude/worktrees/feat"), "-b", "feat")
    (old / ".mcp.json").write_text(
        json.dumps({"mcpServers": {"db": {"command": f"{old}/db"}}})
    )
    for number in range(12):
        notes = state.config_dir / "agents" / f"a{number:02}.md"
        notes.parent.mkdir(exist_ok=True)
        notes.write_text(f"look into {old}\n")
    old.rename(new)
    return old, new


def test_what_needs_a_hand_is_said_without_v_and_each_command_works_as_it_stands(
    state: StateBuilder, renamed: Renamed
) -> None:
    old, new = renamed
    done = run_ccmove(old, new, state=state)
    lines = [line.strip() for line in done.out.splitlines()]
    at = lines.index("Still to do")
    assert f"ccmove --settings {old} {new}" in lines[at:]
    assert ".mcp.json names the old path in MCP server db, command" in lines[at:]
    assert f"grep -rnF {old} {state.config_dir / 'agents'}" in lines[at:]
    (repair,) = [line for line in lines[at:] if line.startswith("git -C ")]
    git(new, *repair.split()[3:])
    assert git(new / ".claude/worktrees/feat", "status", "--short") == ""
    assert run_ccmove("--settings", old, new, state=state).exit == 0
    assert str(old) not in (new / ".mcp.json").read_text()


def test_json_has_what_is_to_do_with_its_command(
    state: StateBuilder, renamed: Renamed
) -> None:
    record = run_ccmove("--json", *renamed, state=state).json()
    assert [row["command"].split()[0] for row in record["to_do"]] == [
        "grep",
        "ccmove",
        "git",
    ]
    assert all(row.keys() == {"what", "command"} for row in record["to_do"])
    assert len(record["left_alone"]) > len(record["to_do"])


def test_commands_name_the_config_directory_given(
    state: StateBuilder, renamed: Renamed
) -> None:
    given = ("--config-dir", state.config_dir)
    done = run_ccmove(*given, *renamed, state=state)
    assert f"ccmove --config-dir {state.config_dir} --settings " in done.out
    last = done.out.splitlines()[-1]
    assert last.startswith("Done and verified. To undo: ccmove --config-dir ")


def test_the_harmless_is_listed_with_v_alone(
    state: StateBuilder, renamed: Renamed
) -> None:
    plain = run_ccmove("-n", *renamed, state=state).out
    assert "still mention" not in plain
    assert "(-v" not in plain
    told = run_ccmove("-v", *renamed, state=state).out.splitlines()
    at = told.index("Left alone")
    assert told[at + 1] == f"  {state.projects}"
    assert told[at + 2].startswith("    2 transcripts still mention the old path")


def test_all_that_is_left_alone_is_listed_with_v_and_by_show(
    state: StateBuilder,
) -> None:
    old, twin = state.project("my-app"), state.project("my_app", make_folder=True)
    links = [twin.memory / f"link-{number:02}.md" for number in range(12)]
    twin.memory.mkdir()
    for link in links:
        link.symlink_to("MEMORY.md")
    new = state.code / "new-app"
    new.mkdir()
    rows = [f"  {link}\n    a link, not copied\n" for link in links]
    for words in (["-v", old.path, new], ["show"]):
        told = run_ccmove(*words, state=state).out
        assert "".join(rows) in told


def test_show_tells_a_past_run_whole(state: StateBuilder, renamed: Renamed) -> None:
    old, new = renamed
    done = run_ccmove("--json", old, new, state=state).json()
    for words in ((), (done["backup"],)):
        assert run_ccmove("show", "--json", *words, state=state).json() == done
    told = run_ccmove("show", state=state).out
    for part in (
        "Still to do",
        "Left alone",
        "Differences",
        f"      + {new}",
        "originalPath",
    ):
        assert part in told
    assert (
        f"Why each directory is moved or left alone\n  {encoded_name(str(old))}\n"
        in told
    )
    assert told.splitlines()[-1] == "Done and verified. To undo: ccmove undo"


def test_show_says_that_a_run_was_undone_and_tells_the_newest_without_an_id(
    state: StateBuilder, renamed: Renamed
) -> None:
    first = run_ccmove("--json", *renamed, state=state).json()["backup"]
    run_ccmove("restore", state=state)
    assert run_ccmove("show", state=state).out.startswith("Moved back  ")
    assert (
        run_ccmove("show", first, state=state)
        .out.splitlines()[-1]
        .startswith("Undone since.")
    )


def test_show_of_nothing_is_exit_3(state: StateBuilder) -> None:
    assert run_ccmove("show", state=state).exit == 3


def test_a_backup_that_can_not_be_read_is_refused(
    state: StateBuilder, renamed: Renamed
) -> None:
    run_ccmove(*renamed, state=state)
    (identifier,) = seams.backup_ids(state)
    seams.manifest(state, identifier).write_text("{}")
    done = run_ccmove("show", state=state)
    assert (done.exit, done.out) == (4, "")
