"""`ccmove hook`: one line in a folder that was renamed, and nothing anywhere else.

Each row of SILENT is the renamed folder with one fact more or less. Without that fact
it speaks: `test_it_names_the_sessions_and_the_command`.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.inspect.conftest import git, make_repo, nothing_changes
from tests.support.run import (
    Completed,
    ccmove_command,
    clean_environment,
    run_ccmove,
    run_child,
)
from tests.support.state import StateBuilder, encoded_name

SESSION = "11111111-2222-4333-8444-555555555555"
OTHER_SESSION = "66666666-7777-4888-9999-000000000000"


@dataclass
class Start:
    """Claude Code starts a session in `new`, which was `old` when it had sessions."""

    state: StateBuilder
    event: dict[str, Any] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()

    @property
    def old(self) -> Path:
        return self.state.code / "old"

    @property
    def new(self) -> Path:
        return self.state.code / "new"

    @property
    def directory(self) -> Path:
        """The project directory of `new`, which does not exist at its first start."""
        return self.state.projects / encoded_name(str(self.new))

    def hook(self) -> Completed:
        argv = ccmove_command("hook", *self.arguments)
        event = json.dumps(self.event)
        return run_child(argv, state=self.state, env=self.env, input=event)

    def message(self) -> str | None:
        """What is said, once it was seen that nothing else happens."""
        with nothing_changes(self.state):
            done = self.hook()
        assert (done.exit, done.err) == (0, "")
        return said(done.out)


def said(output: str) -> str | None:
    """The message of a hook's output, which is one line of JSON or nothing at all."""
    if not output:
        return None
    assert output.endswith("\n")
    assert output.count("\n") == 1
    (item,) = json.loads(output).items()
    key, message = item
    assert key == "systemMessage"
    assert message.isprintable()
    return str(message)


@pytest.fixture
def start(state: StateBuilder) -> Start:
    """A repository with three sessions was renamed from `old` to `new`."""
    state.project("old", sessions=3, repo="acme/app")
    make_repo(state.code / "new", "acme/app", commit=True)
    start = Start(state)
    start.event = {
        "session_id": SESSION,
        "transcript_path": str(start.directory / f"{SESSION}.jsonl"),
        "cwd": str(start.new),
        "hook_event_name": "SessionStart",
        "source": "startup",
    }
    return start


def test_it_names_the_sessions_and_the_command(start: Start) -> None:
    assert start.message() == (
        f"3 sessions of this repository are under {start.old}, which is gone. "
        f"Exit Claude Code and run: ccmove {start.old} {start.new}"
    )


def test_the_command_does_it_and_then_nothing_is_said(start: Start) -> None:
    message = start.message()
    assert message is not None
    command = message.partition("run: ccmove ")[2].split()
    assert run_ccmove(*command, state=start.state).exit == 0
    assert len(list(start.directory.glob("*.jsonl"))) == 3
    assert start.message() is None


# -- where nothing is said


def source(name: str) -> Callable[[Start], None]:
    def change(start: Start) -> None:
        start.event["source"] = name

    return change


def nobody_is_there(start: Start) -> None:
    start.env["CLAUDE_CODE_SESSION_ATTENDED"] = "0"


def the_folder_has_a_session(start: Start) -> None:
    start.state.add_session("new", session_id=OTHER_SESSION)


def the_session_is_kept_under_the_name_of_a_twin(start: Start) -> None:
    """The client itself shows such a session, or it is a living project's."""
    twin = start.state.code / "new_"
    shutil.move(start.new, start.state.code / "new-")
    start.event["cwd"] = str(start.state.code / "new-")
    start.event["transcript_path"] = ""
    start.state.project(twin)


def the_old_folder_is_there(start: Start) -> None:
    start.old.mkdir()


def another_linked_checkout_is_alive(start: Start) -> None:
    start.state.project("clone", sessions=0, repo="acme/app", make_folder=True)


def another_known_checkout_is_alive(start: Start) -> None:
    start.state.project("clone", sessions=0)
    make_repo(start.state.code / "clone", "acme/app")


def a_worktree_elsewhere_is_alive(start: Start) -> None:
    start.state.project("tree", sessions=0)
    git = ["git", "-C", str(start.new), "worktree", "add", "-q"]
    subprocess.run([*git, str(start.state.code / "tree")], check=True)


def another_gone_project_is_of_it(start: Start) -> None:
    start.state.project("older", repo="acme/app")


def it_is_a_fork(start: Start) -> None:
    """It has the original as a remote as well, and its commits."""
    git = ["git", "-C", str(start.new), "remote"]
    subprocess.run([*git, "rename", "origin", "upstream"], check=True)
    subprocess.run([*git, "add", "origin", "git@github.com:me/app"], check=True)


def it_is_another_repository(start: Start) -> None:
    git = ["git", "-C", str(start.new), "remote", "set-url", "origin"]
    subprocess.run([*git, "git@github.com:acme/other.git"], check=True)


def it_is_kept_by_another_host(start: Start) -> None:
    """What is called the same there need not be the same; Claude Code links none."""
    git = ["git", "-C", str(start.new), "remote", "set-url", "origin"]
    subprocess.run([*git, "git@gitlab.com:acme/app.git"], check=True)


def its_git_is_a_pipe(start: Start) -> None:
    """Whoever opened it would wait for ever."""
    shutil.rmtree(start.new / ".git")
    os.mkfifo(start.new / ".git")


def the_config_of_its_git_is_a_pipe(start: Start) -> None:
    (start.new / ".git" / "config").unlink()
    os.mkfifo(start.new / ".git" / "config")


def the_config_of_its_git_is_huge(start: Start) -> None:
    with (start.new / ".git" / "config").open("ab") as file:
        file.truncate(1 << 30)  # of which the disk has nothing


def its_git_leads_back_to_itself(start: Start) -> None:
    shutil.rmtree(start.new / ".git")
    (start.new / ".git").symlink_to(".git")


def its_git_leads_to_garbage(start: Start) -> None:
    shutil.rmtree(start.new / ".git")
    (start.new / ".git").write_bytes(b"gitdir: \xff\x00/" + b"../" * 4096)


def it_has_no_remote(start: Start) -> None:
    git = ["git", "-C", str(start.new), "remote", "remove", "origin"]
    subprocess.run(git, check=True)


def it_is_no_repository(start: Start) -> None:
    shutil.rmtree(start.new / ".git")


def it_is_a_folder_inside(start: Start) -> None:
    inside = start.new / "src"
    inside.mkdir()
    start.event["cwd"] = str(inside)
    start.event["transcript_path"] = ""


def it_is_the_home(start: Start) -> None:
    """As with settings that are kept in git."""
    home = start.state.home
    shutil.move(start.new / ".git", home)
    start.event["cwd"] = str(home)
    start.event["transcript_path"] = ""


def the_old_path_is_inside(start: Start) -> None:
    """A worktree that was removed."""
    state = start.state
    shutil.rmtree(state.projects / encoded_name(str(start.old)))
    data = state.config()
    data["githubRepoPaths"] = {}
    state.write_config(data)
    state.project(start.new / "tree", repo="acme/app")


def it_has_no_sessions(start: Start) -> None:
    for file in start.state.projects.glob("*/*.jsonl"):
        file.unlink()


def its_sessions_are_of_a_twin(start: Start) -> None:
    """`my-app` is gone; what is in the directory of that name is of `my_app`."""
    state = start.state
    shutil.rmtree(state.projects / encoded_name(str(start.old)))
    data = state.config()
    data["githubRepoPaths"] = {"acme/app": [str(state.code / "my-app")]}
    state.write_config(data)
    state.project("my_app", make_folder=True)


def we_have_moved_it_elsewhere(start: Start) -> None:
    """What is left at the old path came later."""
    state = start.state
    (state.code / "third").mkdir()
    moved = run_ccmove(start.old, state.code / "third", state=state)
    assert moved.exit == 0
    data = state.config()
    data["githubRepoPaths"] = {"acme/app": [str(start.old)]}
    state.write_config(data)
    state.add_session("old", session_id=OTHER_SESSION)


def a_run_of_ours_was_interrupted(start: Start) -> None:
    (start.state.config_dir / "ccmove" / "run").mkdir(parents=True)


def the_directory_has_another_name(start: Start) -> None:
    start.env["CLAUDE_CODE_PROJECT_DIR_NAME"] = "work"


def the_config_file_is_broken(start: Start) -> None:
    start.state.config_file.write_bytes(b'{"projects": {')


def the_config_file_is_a_directory(start: Start) -> None:
    start.state.config_file.unlink()
    start.state.config_file.mkdir()


def the_projects_are_a_file(start: Start) -> None:
    shutil.rmtree(start.state.projects)
    start.state.projects.write_text("")


def the_folder_is_gone(start: Start) -> None:
    start.event["cwd"] = str(start.state.code / "nowhere")


def a_backup_is_broken(start: Start) -> None:
    backup = start.state.config_dir / "ccmove" / "backups" / "20261116T004112Z-3f9c"
    backup.mkdir(parents=True)
    (backup / "manifest.json").write_text("[")


def the_config_file_is_nested_too_deeply(start: Start) -> None:
    start.state.config_file.write_bytes(b'{"projects":' * 10_000)


def there_is_no_cwd(start: Start) -> None:
    del start.event["cwd"]


def the_cwd_is_not_a_whole_path(start: Start) -> None:
    """It would be taken for a path below the folder that the hook happens to be in."""
    start.event["cwd"] = os.path.relpath(start.new, start.state.home)


def there_is_no_home(start: Start) -> None:
    start.env["HOME"] = str(start.state.root / "nowhere")


def the_session_is_a_number(start: Start) -> None:
    start.event["session_id"] = 7


def a_state_is_named_by_a_variable_that_is_not_set(start: Start) -> None:
    start.arguments = ("--config-dir", "")


def another_state_is_named(start: Start) -> None:
    other = start.state.root / "other"
    other.mkdir()
    start.arguments = ("--config-dir", str(other))


SILENT = [
    source("resume"),
    source("clear"),
    source("compact"),
    nobody_is_there,
    the_folder_has_a_session,
    the_session_is_kept_under_the_name_of_a_twin,
    the_old_folder_is_there,
    another_linked_checkout_is_alive,
    another_known_checkout_is_alive,
    a_worktree_elsewhere_is_alive,
    another_gone_project_is_of_it,
    it_is_a_fork,
    it_is_another_repository,
    it_is_kept_by_another_host,
    its_git_is_a_pipe,
    the_config_of_its_git_is_a_pipe,
    the_config_of_its_git_is_huge,
    its_git_leads_back_to_itself,
    its_git_leads_to_garbage,
    it_has_no_remote,
    it_is_no_repository,
    it_is_a_folder_inside,
    it_is_the_home,
    the_old_path_is_inside,
    it_has_no_sessions,
    its_sessions_are_of_a_twin,
    we_have_moved_it_elsewhere,
    a_run_of_ours_was_interrupted,
    the_directory_has_another_name,
    the_config_file_is_broken,
    the_config_file_is_nested_too_deeply,
    the_config_file_is_a_directory,
    the_projects_are_a_file,
    the_folder_is_gone,
    a_backup_is_broken,
    there_is_no_cwd,
    the_cwd_is_not_a_whole_path,
    there_is_no_home,
    a_state_is_named_by_a_variable_that_is_not_set,
    the_session_is_a_number,
    another_state_is_named,
]


@pytest.mark.parametrize("fact", SILENT, ids=lambda fact: fact.__name__)
def test_in_any_doubt_nothing_is_said(
    start: Start, fact: Callable[[Start], None]
) -> None:
    fact(start)
    assert start.message() is None


FOLDERS = {"/", "\\", "/home", "/home/me", "/Volumes", "/mnt", "/media", "/media/me"}


@pytest.mark.parametrize(
    ("path", "is_doubt"),
    [
        ("/home/me/code/app", False),
        ("/code/app", False),
        ("/Volumes/Work/app", True),
        ("/mnt/work", True),
        ("/media/me/stick/app", True),
        ("D:\\code\\app", True),
    ],
)
def test_what_may_be_on_a_disk_that_is_not_mounted_is_not_called_gone(
    path: str, is_doubt: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No test can mount there."""
    from ccmove.inside import renamed

    monkeypatch.setattr("os.path.isdir", FOLDERS.__contains__)
    assert renamed._may_be_unmounted(path) is is_doubt


# -- what makes no difference


def it_is_not_told_whether_anybody_is_there(start: Start) -> None:
    start.env.pop("CLAUDE_CODE_SESSION_ATTENDED", None)


def somebody_is_there(start: Start) -> None:
    start.env["CLAUDE_CODE_SESSION_ATTENDED"] = "1"


def its_own_transcript_is_there(start: Start) -> None:
    start.state.add_session("new", session_id=SESSION)


def its_directory_is_empty(start: Start) -> None:
    """The client makes an empty `memory` at every start."""
    (start.directory / "memory").mkdir(parents=True)


def it_is_linked_by_now(start: Start) -> None:
    start.state.project("new", sessions=0, repo="acme/app")


def a_worktree_inside_is_known(start: Start) -> None:
    tree = start.new / ".claude" / "worktrees" / "x"
    git = ["git", "-C", str(start.new), "worktree", "add", "-q", str(tree)]
    subprocess.run(git, check=True)
    start.state.project(tree, sessions=0, repo="acme/app")


def another_repository_is_alive(start: Start) -> None:
    start.state.project("else", repo="acme/else", make_folder=True)
    make_repo(start.state.code / "else", "acme/else")


def a_gone_checkout_has_no_sessions(start: Start) -> None:
    start.state.project("older", sessions=0, repo="acme/app")


def another_project_begins_with_its_name(start: Start) -> None:
    start.state.project("old-docker")


def the_remote_is_spelled_otherwise(start: Start) -> None:
    git = ["git", "-C", str(start.new), "remote", "set-url", "origin"]
    subprocess.run([*git, "https://github.com/Acme/App/"], check=True)


def the_config_file_is_a_link(start: Start) -> None:
    file = start.state.config_file
    file.rename(start.state.root / "config.json")
    file.symlink_to(start.state.root / "config.json")


def the_event_has_more_in_it(start: Start) -> None:
    start.event["model"] = {"name": "sample"}


def there_is_no_transcript_path(start: Start) -> None:
    del start.event["transcript_path"]


STILL_SAID = [
    it_is_not_told_whether_anybody_is_there,
    somebody_is_there,
    its_own_transcript_is_there,
    its_directory_is_empty,
    it_is_linked_by_now,
    a_worktree_inside_is_known,
    another_repository_is_alive,
    a_gone_checkout_has_no_sessions,
    another_project_begins_with_its_name,
    the_remote_is_spelled_otherwise,
    the_config_file_is_a_link,
    the_event_has_more_in_it,
    there_is_no_transcript_path,
]


@pytest.mark.parametrize("fact", STILL_SAID, ids=lambda fact: fact.__name__)
def test_facts_that_leave_no_doubt_change_nothing_of_the_message(
    start: Start, fact: Callable[[Start], None]
) -> None:
    fact(start)
    message = start.message()
    assert message is not None
    assert message.startswith(f"3 sessions of this repository are under {start.old},")


# -- how it is said


def test_sessions_of_its_subfolders_and_worktrees_count(start: Start) -> None:
    start.state.project("old/src", sessions=1)
    start.state.project("old/.claude/worktrees/x", sessions=1, repo="acme/app")
    message = start.message()
    assert message is not None
    assert message.startswith(f"5 sessions of this repository are under {start.old},")


def test_a_single_session_is_named_in_the_singular(
    state: StateBuilder, start: Start
) -> None:
    directory = state.projects / encoded_name(str(start.old))
    for transcript in sorted(directory.glob("*.jsonl"))[1:]:
        transcript.unlink()
    message = start.message()
    assert message is not None
    assert message.startswith(f"1 session of this repository is under {start.old},")


def test_paths_in_the_home_begin_with_a_tilde(tmp_path: Path) -> None:
    state = StateBuilder(tmp_path)
    state.code = state.home / "code"
    state.project("old app", sessions=1, repo="acme/app")
    make_repo(state.code / "new", "acme/app")
    start = Start(state)
    start.event = {"session_id": SESSION, "source": "startup", "cwd": str(start.new)}
    assert start.message() == (
        "1 session of this repository is under ~/code/old app, which is gone. "
        f"Exit Claude Code and run: ccmove '{state.home}/code/old app' ~/code/new"
    )


def test_a_name_that_a_terminal_would_act_on_is_printable(start: Start) -> None:
    state = start.state
    odd = state.code / "n\x1b[2Jew\u202e\n"
    start.new.rename(odd)
    start.event |= {"cwd": str(odd), "transcript_path": ""}
    message = start.message()
    assert message is not None
    assert r"n\x1b[2Jew\xe2\x80\xae\x0a'" in message


def test_another_config_directory_is_named_in_the_command(start: Start) -> None:
    """Whoever starts the client with one of its own need not have it in the shell."""
    state = start.state
    other = state.home / "other"
    state.config_dir.rename(other)
    state.config_file.rename(other / ".claude.json")
    start.event["transcript_path"] = ""
    start.env["CLAUDE_CONFIG_DIR"] = str(other)
    by_variable = start.message()
    start.env = {}
    start.arguments = ("--config-dir", str(other))
    assert by_variable == start.message()
    assert by_variable is not None
    assert by_variable.endswith(f"ccmove {start.old} {start.new} --config-dir ~/other")


# -- a repository without a remote


@pytest.fixture
def plain(start: Start) -> Start:
    """The repository never had a remote; its sessions note the commits that it had."""
    git(start.new, "remote", "remove", "origin")
    data = start.state.config()
    data["githubRepoPaths"] = {}
    start.state.write_config(data)
    begins_at(start, start.old, git(start.new, "rev-parse", "HEAD"))
    return start


def begins_at(start: Start, path: Path, *commits: str, cwd: Path | None = None) -> None:
    """As 2.1.326 and 2.1.327 note it in each transcript of a path."""
    listed = "\n".join(f"{commit[:7]} a subject" for commit in commits)
    status = f"Current branch: main\n\nStatus:\n(clean)\n\nRecent commits:\n{listed}"
    context = {"type": "session_context", "context": {"gitStatus": status}}
    add_to_transcripts(
        start,
        path,
        {"type": "attachment", "attachment": context, "cwd": str(cwd or path)},
    )


def add_to_transcripts(start: Start, path: Path, record: dict[str, Any]) -> None:
    directory = start.state.projects / encoded_name(str(path))
    for transcript in directory.glob("*.jsonl"):
        with transcript.open("a") as file:
            file.write(json.dumps(record) + "\n")


def test_a_repository_without_a_remote_is_known_by_its_commits(plain: Start) -> None:
    assert plain.message() == (
        f"3 sessions of this repository are under {plain.old}, which is gone. "
        f"Exit Claude Code and run: ccmove {plain.old} {plain.new}"
    )


def its_sessions_note_no_commit(start: Start) -> None:
    """As those of older clients."""
    without_notes(start)


def without_notes(start: Start) -> None:
    for transcript in start.state.projects.glob("*/*.jsonl"):
        lines = transcript.read_text().splitlines(keepends=True)
        kept = [line for line in lines if "session_context" not in line]
        transcript.write_text("".join(kept))


def it_has_a_remote_by_now(start: Start) -> None:
    """It may be a fork."""
    git(start.new, "remote", "add", "origin", "git@example.com:me/app.git")


def it_had_a_remote(start: Start) -> None:
    data = start.state.config()
    data["githubRepoPaths"] = {"acme/app": [str(start.old)]}
    start.state.write_config(data)


def it_is_another_repository_of_the_same_name(start: Start) -> None:
    shutil.rmtree(start.new / ".git")
    make_repo(start.new)
    git(start.new, "commit", "-q", "--allow-empty", "-m", "another one")


def what_it_was_at_is_forgotten(start: Start) -> None:
    shutil.rmtree(start.new / ".git" / "logs")


def it_is_a_worktree(start: Start) -> None:
    """The repository itself is elsewhere, and there."""
    git(start.new, "worktree", "add", "-q", str(start.state.code / "tree"))
    start.event["cwd"] = str(start.state.code / "tree")
    start.event["transcript_path"] = ""


def a_known_clone_of_it_is_alive(start: Start) -> None:
    start.state.project("clone", sessions=0)
    git(start.state.code, "clone", "-q", str(start.new), "clone")


def another_gone_project_had_that_commit(start: Start) -> None:
    start.state.project("older")
    head = git(start.new, "rev-parse", "HEAD")
    begins_at(start, start.state.code / "older", head)


def somebody_wrote_of_the_commit(start: Start) -> None:
    """In a prompt, or a tool printed it."""
    without_notes(start)
    head = git(start.new, "rev-parse", "HEAD")
    text = json.dumps({"type": "session_context", "Recent commits": head})
    message = {"role": "user", "content": f"Recent commits:\n{head[:7]} {text}"}
    record = {"type": "user", "message": message, "cwd": str(start.old)}
    add_to_transcripts(start, start.old, record)


def another_record_names_the_commit(start: Start) -> None:
    """It looks alike, and is of another kind."""
    without_notes(start)
    status = f"Recent commits:\n{git(start.new, 'rev-parse', 'HEAD')[:7]} a subject"
    note = {"type": "not session_context", "context": {"gitStatus": status}}
    record = {"type": "attachment", "attachment": note, "cwd": str(start.old)}
    add_to_transcripts(start, start.old, record)


def the_sessions_were_in_another_folder(start: Start) -> None:
    without_notes(start)
    head = git(start.new, "rev-parse", "HEAD")
    begins_at(start, start.old, head, cwd=start.state.code / "elsewhere")


def the_commit_is_not_the_first(start: Start) -> None:
    """Its history has that commit, as has whatever else was begun from it."""
    without_notes(start)
    begins_at(start, start.old, "0123456789", git(start.new, "rev-parse", "HEAD"))


def its_name_is_cut_too_short(start: Start) -> None:
    without_notes(start)
    begins_at(start, start.old, git(start.new, "rev-parse", "HEAD")[:5])


def the_folder_around_it_is_a_project_too(start: Start) -> None:
    """Then that may be the repository: a session is in a folder of one as well."""
    start.state.project(start.old.parent / "around", sessions=0)
    directory = start.state.projects
    inside = start.state.code / "around" / "old"
    (directory / encoded_name(str(start.old))).rename(
        directory / encoded_name(str(inside))
    )
    data = start.state.config()
    data["projects"][str(inside)] = data["projects"].pop(str(start.old))
    start.state.write_config(data)
    without_notes(start)
    begins_at(start, inside, git(start.new, "rev-parse", "HEAD"))


@pytest.mark.parametrize(
    "fact",
    [
        its_sessions_note_no_commit,
        it_has_a_remote_by_now,
        it_had_a_remote,
        it_is_another_repository_of_the_same_name,
        what_it_was_at_is_forgotten,
        it_is_a_worktree,
        a_known_clone_of_it_is_alive,
        another_gone_project_had_that_commit,
        somebody_wrote_of_the_commit,
        another_record_names_the_commit,
        the_sessions_were_in_another_folder,
        the_commit_is_not_the_first,
        its_name_is_cut_too_short,
        the_folder_around_it_is_a_project_too,
        the_old_folder_is_there,
        a_run_of_ours_was_interrupted,
    ],
    ids=lambda fact: fact.__name__,
)
def test_without_a_remote_any_doubt_is_silence(
    plain: Start, fact: Callable[[Start], None]
) -> None:
    fact(plain)
    assert plain.message() is None


def work_went_on(start: Start) -> None:
    git(start.new, "commit", "-q", "--allow-empty", "-m", "later")


def the_newest_session_notes_nothing(start: Start) -> None:
    start.state.add_session("old", session_id=OTHER_SESSION)


def another_repository_without_a_remote_is_gone(start: Start) -> None:
    start.state.project("older")
    begins_at(start, start.state.code / "older", "f" * 40)


def its_sessions_are_long(start: Start) -> None:
    add_to_transcripts(start, start.old, {"type": "user", "message": "x" * 500_000})


@pytest.mark.parametrize(
    "fact",
    [
        work_went_on,
        the_newest_session_notes_nothing,
        another_repository_without_a_remote_is_gone,
        its_sessions_are_long,
    ],
    ids=lambda fact: fact.__name__,
)
def test_without_a_remote_it_is_still_said(
    plain: Start, fact: Callable[[Start], None]
) -> None:
    fact(plain)
    message = plain.message()
    assert message is not None
    assert f"sessions of this repository are under {plain.old}," in message


# -- our own record


@pytest.fixture
def recorded(start: Start) -> Start:
    """`old` was moved to `new` by us; a session went on at the old path, and what was
    at the new one is gone. There is no repository.
    """
    state = start.state
    shutil.rmtree(start.new / ".git")
    assert run_ccmove(start.old, start.new, state=state).exit == 0
    shutil.rmtree(start.directory)
    state.add_session("old", session_id=OTHER_SESSION)
    return start


def test_our_own_record_names_a_folder_that_is_no_repository(recorded: Start) -> None:
    message = recorded.message()
    assert message is not None
    assert message.startswith(f"1 session of this folder is under {recorded.old},")


def test_a_folder_that_is_there_again_is_not_gone(recorded: Start) -> None:
    recorded.old.mkdir()
    assert recorded.message() is None


def test_a_move_that_was_undone_names_nothing(recorded: Start) -> None:
    assert run_ccmove("undo", state=recorded.state).exit == 0
    assert recorded.message() is None


def test_a_later_move_to_elsewhere_is_doubt(recorded: Start) -> None:
    state = recorded.state
    (state.code / "third").mkdir()
    assert run_ccmove(recorded.old, state.code / "third", state=state).exit == 0
    state.add_session("old", session_id=SESSION)
    assert recorded.message() is None


# -- whatever comes in


def run_hook(state: StateBuilder, data: bytes) -> Completed:
    return run_child(ccmove_command("hook"), state=state, input=data)


EVENT = {"session_id": SESSION, "source": "startup", "cwd": "/"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*EVENT, "transcript_path"]), inner, max_size=4
        )
    ),
    max_leaves=8,
)


@given(data=st.binary(max_size=200) | JSON.map(json.dumps).map(str.encode))
def test_whatever_comes_in_it_ends_well_and_says_one_line_or_nothing(
    data: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    state = StateBuilder(tmp_path_factory.mktemp("any"))
    done = run_hook(state, data)
    assert (done.exit, done.err) == (0, "")
    said(done.out)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"cwd": "\\ud800", "source": "startup", "session_id": ""}',
        b'{"cwd": "/\\u0000", "source": "startup", "session_id": "x"}',
        b" " * (2 << 20),
        b'{"a":' * 10_000,
        b"9" * 100_000,
    ],
)
def test_what_is_not_an_event_is_answered_with_silence(
    state: StateBuilder, data: bytes
) -> None:
    done = run_hook(state, data)
    assert (done.exit, done.out, done.err) == (0, "", "")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", ">/dev/full"])
def test_streams_that_are_closed_or_full_are_met_with_silence(
    start: Start, closed: str
) -> None:
    event = start.state.root / "event"
    event.write_text(json.dumps(start.event))
    stdin = "" if "<&-" in closed else f"< {event}"
    words = " ".join(ccmove_command("hook"))
    done = run_child(["sh", "-c", f"{words} {stdin} {closed}"], state=start.state)
    assert done.exit == 0
    assert done.err == ""
    if closed == "2>&-":
        assert said(done.out) is not None


def test_an_answer_that_nobody_reads_is_no_error(start: Start) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        ccmove_command("hook"),
        input=json.dumps(start.event).encode(),
        stdout=writing,
        stderr=subprocess.PIPE,
        env=clean_environment(start.state),
        cwd=start.state.home,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_without_any_state_nothing_is_said(tmp_path: Path) -> None:
    state = StateBuilder(tmp_path)
    shutil.rmtree(state.home)
    state.home.mkdir()
    event = {**EVENT, "cwd": str(state.code)}
    done = run_hook(state, json.dumps(event).encode())
    assert (done.exit, done.out, done.err) == (0, "", "")
    assert list(state.home.iterdir()) == []


def test_typed_at_a_terminal_it_says_what_it_is_for(state: StateBuilder) -> None:
    import pty

    leader, terminal = pty.openpty()
    done = subprocess.run(
        ccmove_command("hook"),
        stdin=terminal,
        capture_output=True,
        text=True,
        env=clean_environment(state),
        timeout=60,
    )
    for fd in (leader, terminal):
        with contextlib.suppress(OSError):
            os.close(fd)
    assert (done.returncode, done.stdout) == (0, "")
    assert "ccmove hook --install" in done.stderr


# -- what it loads

OURS_FOR_MOST_FOLDERS = {"ccmove", "ccmove.inside", "ccmove.inside.hook"}
NEVER = {"click", "rich", "deepdiff", "filelock", "psutil", "subprocess"}


def loaded(start: Start) -> set[str]:
    """The modules that one answer of the hook has loaded."""
    script = (
        "import sys\nbefore = set(sys.modules)\n"
        "sys.argv = ['ccmove', 'hook']\nfrom ccmove.__main__ import main\nmain()\n"
        "print(*(set(sys.modules) - before), file=sys.stderr)"
    )
    root = Path(__file__).parents[2]
    done = run_child(
        [sys.executable, "-c", script],
        state=start.state,
        input=json.dumps(start.event),
        env={"PYTHONPATH": str(root)},
    )
    assert done.exit == 0
    return set(done.err.split())


def test_where_there_are_sessions_it_loads_next_to_nothing(start: Start) -> None:
    the_folder_has_a_session(start)
    modules = loaded(start)
    ours = {name for name in modules if name.startswith("ccmove")}
    assert ours == OURS_FOR_MOST_FOLDERS | {"ccmove.__main__"}
    assert not modules & (NEVER | {"dataclasses", "hashlib", "pathlib", "typing"})


def test_it_never_loads_a_library_nor_runs_a_program(start: Start) -> None:
    modules = loaded(start)
    assert "ccmove.inside.renamed" in modules
    assert not modules & NEVER
    standard = {*sys.stdlib_module_names, "ccmove"}
    assert {name.partition(".")[0] for name in modules} <= standard
