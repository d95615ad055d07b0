"""A session that was in a worktree, after the repository was moved."""

import json
import subprocess
from pathlib import Path

from tests.client import CLIENT_TEST, with_clients
from tests.client.driver import Desk, new_prompt
from tests.inspect.conftest import git, make_repo

pytestmark = CLIENT_TEST

HAS_WORKTREES = with_clients(lambda client: not client.is_of_the_older_form)


def begun_in_worktree(desk: Desk) -> tuple[str, Path, Path]:
    """A session in a worktree of a repository that was moved then: its ID, the
    repository and the worktree of now.
    """
    old, new = desk.folder("old"), desk.code / "new"
    make_repo(old, commit=True)
    desk.trust(old)
    session = desk.ask(old, new_prompt("begin"), "--worktree", "fix").session
    inside = Path(".claude", "worktrees", "fix")
    old.rename(new)
    done = desk.ccmove("--json", old, new)
    assert done.exit == 0, (done.out, done.err)
    commands = [row["command"] for row in done.json()["to_do"]]
    repair, resume = commands
    assert repair == f"git -C {new} worktree repair {new / inside}"
    assert resume == f"cd {new / inside} && claude --resume {session}"
    subprocess.run(repair.split(), check=True, capture_output=True)
    assert git(new / inside, "rev-parse", "--show-toplevel") == str(new / inside)
    return session, new, new / inside


def last_folder(desk: Desk, session: str) -> str:
    """Where the session was, by the last line that says so."""
    (transcript,) = (path for path in desk.transcripts() if path.stem == session)
    lines = transcript.read_text().splitlines()
    folders = [json.loads(line).get("cwd") for line in lines]
    return str([folder for folder in folders if folder][-1])


@HAS_WORKTREES
def test_resumed_from_inside_as_the_move_says_it_is_in_its_worktree(
    desk: Desk,
) -> None:
    session, _, worktree = begun_in_worktree(desk)
    again = desk.ask(worktree, new_prompt("and then"), "--resume", session)
    assert again.session == session
    assert last_folder(desk, session) == str(worktree)


@HAS_WORKTREES
def test_resumed_from_the_main_checkout_it_goes_on_without_its_worktree(
    desk: Desk,
) -> None:
    """The control."""
    session, main, _ = begun_in_worktree(desk)
    desk.ask(main, new_prompt("and then"), "--resume", session)
    assert last_folder(desk, session) == str(main)
