"""What is said about a preview, a move, a restore and the backups, word for word."""

import json
import shutil
import subprocess

import pytest

from tests.crash.bench import age_locks
from tests.inspect.conftest import git, interrupted_move, make_repo, moved_repo
from tests.output.golden import check_golden, transcript
from tests.output.inprocess import Run
from tests.output.situations import Stage, folder, project, typed
from tests.shapes.bench import in_rule
from tests.support.run import run_ccmove
from tests.support.state import StateBuilder
from tests.support.tree import snapshot

MEMORY = {"MEMORY.md": "- the menu is in menu.txt\n"}
# Two nested projects with index and memory, and a neighbour whose name begins the same.
PLAIN = (
    project("my-app", sessions=3, index=True, memory=MEMORY, repo="acme/my-app"),
    project("my-app/packages/core", sessions=1, prompts=1),
    project("my-app-docker", sessions=1),
    folder("NEW"),
)
# The client was started in the new folder already.
MERGE = (
    project(
        "my-app", sessions=2, index=True, memory={"MEMORY.md": "- from the old one\n"}
    ),
    project(
        "new-app", sessions=1, index=True, memory={"MEMORY.md": "- from the new one\n"}
    ),
    folder("NEW"),
)
BOTH_STAY = (
    *MERGE,
    project("my-app", sessions=1, memory={"style.md": "old style\n"}),
    project("new-app", sessions=1, memory={"style.md": "new style\n"}),
)
# `my-app` and `my_app` have one directory; only `my-app` moves.
SHARED = (
    project("my-app", sessions=2, index=True),
    project("my_app", sessions=1, index=True, make_folder=True),
    folder("NEW"),
)
# OLD and NEW have the same encoded name.
SAME_NAME = (project("my_app", sessions=1, index=True), folder("OLD"))
# Twelve projects in one folder that is moved.
PARENT = (
    *(project(f"my-app/part-{number:02}", sessions=1) for number in range(12)),
    folder("NEW"),
)
# Its sessions are older than any that Claude Code keeps.
EMPTY = (project("my-app", sessions=0, make_folder=True),)
OLD_SESSIONS = (project("my-app", sessions=2, make_folder=True),)
WITH_FOLDER = (project("my-app", sessions=1, make_folder=True),)


def with_leftovers(stage: Stage) -> None:
    """Settings of the project name the old path."""
    stage.state.project("my-app", sessions=1)
    settings = stage.new / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True)
    rules = {"permissions": {"allow": [f"Read({in_rule(stage.old)}/**)"]}}
    settings.write_text(json.dumps(rules, indent=2))


def with_worktree(stage: Stage) -> None:
    """The repository was renamed by hand; a session was in its worktree."""
    handle = stage.state.project("my-app", sessions=1)
    tree = stage.old / ".claude" / "worktrees" / "fix"
    make_repo(stage.old, commit=True)
    git(stage.old, "worktree", "add", "-q", str(tree))
    record = {"type": "worktree-state", "worktreeSession": {"worktreePath": str(tree)}}
    with handle.transcripts[0].open("a") as transcript:
        transcript.write(json.dumps(record) + "\n")
    stage.old.rename(stage.new)


def with_user_settings(stage: Stage) -> None:
    """Those of the user name the old path, too."""
    with_leftovers(stage)
    hook = {"type": "command", "command": f"{stage.old}/hook.sh"}
    settings = {
        "permissions": {
            "deny": [f"Edit({in_rule(stage.old)}/secret/**)"],
            "additionalDirectories": [str(stage.old)],
        },
        "hooks": {"Stop": [{"hooks": [hook]}]},
        "extraKnownMarketplaces": {
            "mine": {"source": {"source": "directory", "path": str(stage.old)}}
        },
    }
    file = stage.state.config_dir / "settings.json"
    file.write_text(json.dumps(settings, indent=2))


def rewrote_settings(stage: Stage) -> None:
    stage.run("--settings", stage.old, stage.new)


def with_belongings(stage: Stage) -> None:
    """Everything that people would miss, and another project that knows the path."""
    tools = ["Bash(make:*)", f"Read({in_rule(stage.old)}/**)"]
    servers = {"db": {"command": "db", "args": [f"--root={stage.old}"]}}
    stage.state.project(
        "my-app",
        sessions=2,
        memory={"MEMORY.md": "- one\n", "style.md": "short\n"},
        repo="acme/my-app",
        config={
            "hasTrustDialogAccepted": True,
            "allowedTools": tools,
            "mcpServers": servers,
        },
    )
    other = {"allowedTools": [], "mcpServers": servers}
    stage.state.project("other", sessions=1, config=other, make_folder=True)
    stage.new.mkdir()


def with_broken_lines(stage: Stage) -> None:
    with stage.state.history.open("a") as file:
        file.write(f'{{"display":"torn","project":"{stage.old}\n')


def moved(stage: Stage) -> None:
    stage.run(stage.old, stage.new)


def undone(stage: Stage) -> None:
    stage.run("restore")


def used(stage: Stage) -> None:
    """Life went on after the move: a new session, a new prompt, a changed setting."""
    stage.state.project("new-app", sessions=1, prompts=1, config=None)
    config = stage.state.config()
    config["projects"][str(stage.new)]["lastCost"] = 1.5
    stage.state.write_config(config)


def packed(stage: Stage) -> None:
    """The archive of a project, of which nothing is here any more."""
    with_belongings(stage)
    archive = stage.state.root / "it.tar.gz"
    stage.run("pack", stage.old, "-o", archive)
    shutil.rmtree(stage.state.projects)
    stage.state.projects.mkdir()
    stage.state.history.write_text("")
    stage.state.write_config({"projects": {}})


def unpacked(stage: Stage) -> None:
    stage.run("unpack", stage.state.root / "it.tar.gz", stage.new)


def interrupted(stage: Stage) -> None:
    interrupted_move(stage.state, "my-app", "new-app")
    age_locks(stage.state)


def with_lost(stage: Stage) -> None:
    """One that is a certain folder now, one that nothing tells of, and an entry."""
    moved_repo(stage.state, "store-api", "shop-api")
    stage.state.project("nowhere", sessions=2, memory=MEMORY)
    stage.state.project("entry", sessions=0, prompts=0)


def with_hook(stage: Stage) -> None:
    stage.run("hook", "--install")


MOVED = (*PLAIN, moved)
AND_BACK = (*MOVED, undone)
CASES = {
    "preview": typed("--dry-run OLD NEW", *PLAIN),
    "preview_verbose": typed("--dry-run --verbose OLD NEW", *PLAIN),
    "preview_merge": typed("--dry-run OLD NEW", *MERGE),
    "preview_shared": typed("--dry-run -v OLD NEW", *SHARED),
    "preview_same_name": typed("--dry-run ROOT/code/my_app OLD", *SAME_NAME),
    "preview_leftovers": typed("--dry-run OLD NEW", with_leftovers),
    "preview_project_files": typed("--dry-run --settings OLD NEW", with_leftovers),
    "preview_move_folder": typed("--dry-run --move-folder OLD NEW", *WITH_FOLDER),
    "preview_restore": typed("restore --dry-run", *MOVED),
    "preview_restore_after_use": typed("restore --dry-run", *MOVED, used),
    "move": typed("OLD NEW", *PLAIN),
    "move_verbose": typed("-v OLD NEW", *PLAIN),
    "move_parent": typed("OLD NEW", *PARENT),
    "move_belongings": typed("OLD NEW", with_belongings),
    "preview_belongings": typed("-n OLD NEW", with_belongings),
    "preview_user_settings": typed("--dry-run OLD NEW", with_user_settings),
    "move_with_settings": typed("--settings OLD NEW", with_user_settings),
    "settings_alone": typed("--settings OLD NEW", with_user_settings, moved),
    "undo_settings": typed("undo", with_user_settings, moved, rewrote_settings),
    "backups_settings": typed("backups", with_user_settings, moved, rewrote_settings),
    "move_quiet": typed("-q OLD NEW", *PLAIN),
    "move_merge": typed("OLD NEW", *MERGE),
    "move_both_stay": typed("OLD NEW", *BOTH_STAY),
    "move_shared": typed("OLD NEW", *SHARED),
    "move_folder": typed("--move-folder OLD NEW", *WITH_FOLDER),
    "move_broken_lines": typed("OLD NEW", *PLAIN, with_broken_lines),
    "restore": typed("restore", *MOVED),
    "restore_after_use": typed("restore", *MOVED, used),
    "move_leftovers": typed("OLD NEW", with_leftovers),
    "preview_worktree": typed("--dry-run OLD NEW", with_worktree),
    "move_worktree": typed("OLD NEW", with_worktree),
    "show": typed("show", with_leftovers, moved),
    "show_restore": typed("show", *AND_BACK),
    "backups": typed("backups", *AND_BACK),
    "backups_prune": typed("prune --keep 1", *AND_BACK, moved),
    "backups_prune_preview": typed("prune --keep 0 --dry-run", *AND_BACK),
    "backups_none": typed("backups"),
    "recover_nothing": typed("recover"),
    "recover": typed("recover", *PLAIN, interrupted),
    "undo_interrupted": typed("undo", *PLAIN, interrupted),
    "doctor_old_sessions": typed("doctor", *OLD_SESSIONS),
    "doctor_nothing": typed("doctor", *EMPTY),
    "verify": typed("verify", *PLAIN),
    "verify_verbose": typed("verify -v OLD", *PLAIN),
    "list": typed("list", *PLAIN),
    "list_verbose": typed("list -v OLD", *PLAIN),
    "list_missing_none": typed("list --missing", *OLD_SESSIONS),
    "where": typed("where OLD", *PLAIN),
    "pack": typed("pack OLD -o ROOT/it.tar.gz", with_belongings),
    "pack_preview": typed("pack -n OLD", with_belongings),
    "pack_all": typed("pack --all -o ROOT/it.tar.gz", *PLAIN),
    "unpack": typed("unpack ROOT/it.tar.gz NEW", packed),
    "unpack_preview": typed("unpack -n ROOT/it.tar.gz NEW", packed),
    "unpack_with_config": typed("unpack --with-config ROOT/it.tar.gz NEW", packed),
    "unpack_twice": typed("unpack ROOT/it.tar.gz NEW", packed, unpacked),
    "undo_unpack": typed("undo", packed, unpacked),
    "hook_install": typed("hook --install"),
    "hook_install_twice": typed("hook --install", with_hook),
    "hook_remove": typed("hook --remove", with_hook),
    "hook_remove_twice": typed("hook --remove"),
}
FOUND = {  # something is wrong
    "doctor_lost": typed("doctor", with_lost),
    "doctor_still_to_do": typed("doctor", with_leftovers, moved),
    "doctor_interrupted": typed("doctor", *PLAIN, interrupted),
    "doctor_fix": typed("doctor --fix --yes", with_lost),
    "verify_interrupted": typed("verify", *PLAIN, interrupted),
}


@pytest.mark.parametrize("name", CASES)
def test_a_result_reads_as_the_golden_file_has_it(
    name: str, stage: Stage, run: Run
) -> None:
    arguments, before = CASES[name](stage), snapshot(stage.state.root)
    done = run(*arguments)
    assert done.exit == 0
    check_golden(f"result/{name}", transcript(arguments, done, stage.state))
    if "--dry-run" in arguments:  # nothing at all has changed
        assert snapshot(stage.state.root) == before


@pytest.mark.parametrize("name", FOUND)
def test_what_is_wrong_reads_as_the_golden_file_has_it(
    name: str, stage: Stage, run: Run
) -> None:
    arguments = FOUND[name](stage)
    done = run(*arguments)
    assert done.exit == 1
    check_golden(f"result/{name}", transcript(arguments, done, stage.state))


def test_a_preview_names_every_value_that_the_move_then_changes(
    stage: Stage, run: Run
) -> None:
    arguments = typed("--json OLD NEW", *PLAIN)(stage)
    planned, done = run("--dry-run", *arguments).json(), run(*arguments).json()
    assert (planned["status"], done["status"]) == ("planned", "moved")
    assert planned["changes"] == done["changes"]
    assert planned["counts"] == done["counts"] != {}


def test_list_and_a_move_count_the_same(stage: Stage, run: Run) -> None:
    steps = (project("my-app", sessions=3, index=True, memory=MEMORY), folder("NEW"))
    words = typed("--json OLD NEW", *steps)(stage)
    (row,) = run("list", "--json").json()["projects"]
    (moved_project,) = run(*words).json()["projects"]
    assert row["bytes"] == moved_project["bytes"]
    assert row["sessions"] == moved_project["transcripts"]


def test_a_restore_counts_what_the_move_counted(stage: Stage, run: Run) -> None:
    done = run(*typed("--json OLD NEW", *PLAIN)(stage)).json()
    back = run("--json", "restore").json()
    assert back["counts"] == done["counts"]
    assert back["counts"]["history"] == 4
    pairs = {(row["before"], row["after"]) for row in done["changes"]}
    assert {(row["after"], row["before"]) for row in back["changes"]} == pairs


def test_with_v_every_difference_is_shown_with_whole_paths(
    stage: Stage, run: Run
) -> None:
    steps = project("my-app", sessions=40, index=True, subagents=False), folder("NEW")
    done = run(*typed("--dry-run -v OLD NEW", *steps)(stage))
    added = f"+ {stage.state.projects}"
    named = [line for line in done.out.splitlines() if line.strip().startswith(added)]
    assert len(named) == 40
    assert "…" not in done.out
    assert "\x1b" not in done.out


def test_an_undo_gives_the_mv_for_every_folder_in_an_order_that_works(
    stage: Stage, run: Run
) -> None:
    """A chain, and two folders whose parent was removed since."""
    code = stage.state.code
    pairs = [("b", "c"), ("a", "b"), ("sub/x", "x"), ("sub/y", "y")]
    lines = ""
    for old, new in pairs:
        stage.state.project(old, sessions=1)
        lines += f"{code / old}\t{code / new}\n"
        (code / new).mkdir(exist_ok=True)
    moves = stage.state.root / "moves.txt"
    moves.write_text(lines)
    assert run("--from-file", str(moves)).exit == 0
    told = run("undo").out.splitlines()
    commands = [line.split() for line in told if line.startswith("    m")]
    for command in commands:
        subprocess.run(command, check=True)
    assert [words[0] for words in commands].count("mv") == len(pairs)
    assert all((code / old).is_dir() for old, _ in pairs)
    assert not (code / "c").exists()


def test_what_was_piped_into_a_preview_has_to_be_piped_again(
    state: StateBuilder,
) -> None:
    state.project("old", sessions=1)
    (state.code / "new").mkdir()
    line = f"{state.code / 'old'}\t{state.code / 'new'}\n"
    done = run_ccmove("-n", "--from-file", "-", state=state, input=line)
    last = done.out.splitlines()[-1]
    how = "To apply, pipe the same lines into: ccmove --from-file -"
    assert last == f"Nothing was changed. {how}"


def test_what_was_piped_in_has_to_be_piped_again_for_its_settings_too(
    state: StateBuilder,
) -> None:
    """After the move the lines are in its backup."""
    old, new = state.code / "old", state.code / "new"
    state.project(old, sessions=1)
    new.mkdir()
    servers = {"mcpServers": {"db": {"command": f"{old}/db"}}}
    (new / ".mcp.json").write_text(json.dumps(servers))
    line = f"{old}\t{new}\n"
    preview = run_ccmove("-n", "--from-file", "-", state=state, input=line)
    how = "add --settings, and pipe the same lines into: "
    assert f"    {how}ccmove --settings --from-file -\n" in preview.out
    done = run_ccmove("--from-file", "-", state=state, input=line)
    (command,) = (row for row in done.out.splitlines() if "ccmove --settings" in row)
    assert run_ccmove(*command.split()[1:], state=state).exit == 0
    assert str(old) not in (new / ".mcp.json").read_text()
