"""A move names the sessions that will ask for their worktree at its old path."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.inspect.conftest import git, make_repo, nothing_changes, run_ccmove
from tests.support.state import StateBuilder

HALF = 65536  # bytes at each end of a transcript that are read


def note(worktree: Path | str | None) -> str:
    """What the client writes into a transcript when a session enters or leaves one."""
    state = None
    if worktree is not None:
        state = {"worktreePath": str(worktree), "worktreeName": "fix"}
    record = {"type": "worktree-state", "worktreeSession": state}
    return json.dumps(record, separators=(",", ":")) + "\n"


def filler(size: int) -> str:
    return json.dumps({"type": "user", "text": "x" * size}) + "\n"


class Repository:
    """A repository with a worktree inside, and one session that was in it."""

    def __init__(self, state: StateBuilder) -> None:
        self.state = state
        self.old, self.new = state.code / "old", state.code / "new"
        self.handle = state.project("old", sessions=1)
        (self.transcript,) = self.handle.transcripts
        self.session = self.transcript.stem
        make_repo(self.old, commit=True)
        self.inside = Path(".claude", "worktrees", "fix")
        git(self.old, "worktree", "add", "-q", str(self.old / self.inside))

    @property
    def to_type(self) -> str:
        return f"cd {self.new / self.inside} && claude --resume {self.session}"

    def says(self, *texts: str) -> None:
        """The transcript goes on, or begins, with these."""
        first, rest = texts[0], "".join(texts[1:])
        text = self.transcript.read_text()
        self.transcript.write_text(first + text + rest)

    def commands(self, *options: str) -> list[str]:
        """What is still to do with Claude Code itself after a move."""
        done = run_ccmove(*options, "--json", self.old, self.new, state=self.state)
        assert done.exit == 0, done.err
        commands = [row["command"] for row in done.json()["to_do"]]
        return [command for command in commands if "claude --resume" in command]


@pytest.fixture
def repository(state: StateBuilder) -> Repository:
    return Repository(state)


def test_it_is_named_in_the_preview_and_after_the_move_with_what_to_type(
    repository: Repository,
) -> None:
    repository.says("", note(repository.old / repository.inside))
    repository.old.rename(repository.new)
    with nothing_changes(repository.state):
        assert repository.commands("-n") == [repository.to_type]
    assert repository.commands() == [repository.to_type]
    shown = run_ccmove("show", state=repository.state).out
    assert f"    {repository.to_type}\n" in shown
    assert "a session was in this worktree: resume it from there" in shown


def test_doctor_names_it_as_long_as_it_is_so(repository: Repository) -> None:
    repository.says("", note(repository.old / repository.inside))
    assert repository.commands("-m") == [repository.to_type]
    done = run_ccmove("doctor", state=repository.state)
    assert f"    -> {repository.to_type}\n" in done.out
    assert done.exit == 1
    (transcript,) = repository.state.projects.glob(f"*/{repository.session}.jsonl")
    with transcript.open("a") as file:  # as the client does when it is resumed there
        file.write(note(repository.new / repository.inside))
    assert "claude --resume" not in run_ccmove("doctor", state=repository.state).out


def test_a_worktree_session_is_named_also_where_the_folder_is_renamed_as_well(
    repository: Repository,
) -> None:
    repository.says("", note(repository.old / repository.inside))
    assert repository.commands("-n", "-m") == [repository.to_type]
    assert repository.commands("-m") == [repository.to_type]


def test_a_session_of_the_worktrees_own_project_is_named(
    repository: Repository,
) -> None:
    worktree = repository.old / repository.inside
    session = repository.state.add_session(worktree)
    (transcript,) = repository.state.projects.glob(f"*/{session}.jsonl")
    transcript.write_text(note(worktree) + transcript.read_text())
    repository.old.rename(repository.new)
    (command,) = repository.commands()
    assert command == repository.to_type.replace(repository.session, session)


def test_the_last_worktree_note_of_a_transcript_counts(repository: Repository) -> None:
    worktree = repository.old / repository.inside
    repository.says(note(worktree), note(None))
    repository.old.rename(repository.new)
    assert repository.commands("-n") == []  # it left the worktree
    repository.says("", note(worktree))
    assert repository.commands() == [repository.to_type]


@pytest.mark.parametrize(
    ("at_beginning", "between", "at_end", "is_seen"),
    [
        (True, 3 * HALF, False, True),
        (False, 3 * HALF, True, True),
        (True, HALF, False, True),  # all of it is read
        (False, 3 * HALF, False, False),
    ],
)
def test_both_ends_of_a_long_transcript_are_looked_at(
    repository: Repository,
    at_beginning: bool,
    between: int,
    at_end: bool,
    is_seen: bool,
) -> None:
    it_is = note(repository.old / repository.inside)
    middle = filler(between) + it_is + filler(between)
    if between == HALF:
        middle = filler(between // 2)
    repository.says(it_is * at_beginning, middle, it_is * at_end)
    repository.old.rename(repository.new)
    assert repository.commands("-n") == [repository.to_type] * is_seen


@pytest.mark.parametrize(
    "text",
    [
        note("/elsewhere/fix"),
        '{"type":"worktree-state"',
        '{"type":"worktree-state","worktreeSession":[]}\n',
        '{"type":"worktree-state","worktreeSession":{"worktreePath":7}}\n',
        '{"type":"user","text":"worktree-state"}\n',
        "worktree-state\n",
        "\x00\xff worktree-state\n",
    ],
)
def test_what_is_no_note_of_a_moved_worktree_names_nothing(
    repository: Repository, text: str
) -> None:
    repository.says("", text)
    repository.old.rename(repository.new)
    assert repository.commands("-n") == []


def test_a_worktree_that_is_gone_was_gone_before(repository: Repository) -> None:
    repository.says("", note(repository.old / ".claude" / "worktrees" / "gone"))
    repository.old.rename(repository.new)
    assert repository.commands("-n") == []


def test_a_worktree_that_stays_where_it_is_is_found_there(
    repository: Repository,
) -> None:
    repository.says("", note(repository.old / repository.inside))
    for options in (["-n"], []):
        assert repository.commands("--skip-path-check", *options) == []


def told(repository: Repository) -> dict[str, str]:
    """What is still to do with git, by its command."""
    words = ["-n", "--json", repository.old, repository.new]
    rows = run_ccmove(*words, state=repository.state).json()["left_alone"]
    return {row["hint"]: row["what"] for row in rows if row["hint"].startswith("git ")}


def test_the_worktree_is_what_points_to_the_old_path(repository: Repository) -> None:
    repository.old.rename(repository.new)
    worktree = repository.new / repository.inside
    command = f"git -C {repository.new} worktree repair {worktree}"
    pointing = "to the repository at its old path"
    assert told(repository) == {
        command: f"the worktree {worktree} still points {pointing}"
    }
    subprocess.run(command.split(), check=True, capture_output=True)
    assert told(repository) == {}


def test_several_worktrees_are_counted_and_one_that_is_gone_is_not(
    repository: Repository,
) -> None:
    old, new = repository.old, repository.new
    for name in ("beside", "gone"):
        git(old, "worktree", "add", "-q", str(repository.state.code / name))
    git(old, "worktree", "add", "-q", str(old / "inner"))
    subprocess.run(
        ["rm", "-r", repository.state.code / "gone", old / "inner"], check=True
    )
    old.rename(new)
    (what,) = told(repository).values()
    assert what == "2 worktrees still point to the repository at its old path"


def test_sessions_of_a_removed_worktree_that_come_home_leave_git_nothing_to_do(
    repository: Repository,
) -> None:
    main = repository.old
    repository.old, repository.new = repository.state.code / "beside", main
    repository.state.project("beside", sessions=1)
    git(main, "worktree", "add", "-q", str(repository.old))
    subprocess.run(["rm", "-r", repository.old], check=True)
    assert told(repository) == {}


def test_a_moved_worktree_is_what_its_repository_looks_for(
    repository: Repository,
) -> None:
    main = repository.old
    repository.old = repository.state.code / "beside"
    repository.state.project("beside", sessions=1)
    git(main, "worktree", "add", "-q", str(repository.old))
    repository.old.rename(repository.new)
    (what,) = told(repository).values()
    assert (
        what == f"the repository {main} still points to this worktree at its old path"
    )
