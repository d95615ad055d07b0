"""`ccmove where` says what the client does: asked of the client itself."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.client import CLIENT_TEST, with_clients
from tests.client.driver import Desk, new_prompt
from tests.client.versions import Client

pytestmark = [*CLIENT_TEST, pytest.mark.usefixtures("terminal")]


def shares_with_worktrees(client: Client) -> bool:
    """Later ones have one memory, entry and trust for all of a repository."""
    return not client.is_of_the_index_era


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=dev", "-c", "user.email=dev@example.invalid")
    command = ["git", "-C", str(folder), *who, *arguments]
    subprocess.run(command, check=True, capture_output=True)


def repository(desk: Desk) -> tuple[Path, Path]:
    """A subfolder of a repository, and a worktree elsewhere."""
    repo, worktree = desk.folder("repo"), desk.code / "worktree"
    inside = desk.folder("repo/pkg/core")
    git(repo, "init", "-q")
    git(repo, "commit", "-q", "--allow-empty", "-m", "begin")
    git(repo, "worktree", "add", "-q", str(worktree))
    return inside, worktree


def where(desk: Desk, folder: Path) -> dict[str, Any]:
    done = desk.ccmove("where", folder, "--json")
    record: dict[str, Any] = done.json()
    assert done.exit == (3 if record["error"] else 0)
    return record


@with_clients(shares_with_worktrees)
def test_sessions_memory_and_entry_are_where_it_says(desk: Desk) -> None:
    for folder in (*repository(desk), desk.folder("plain")):
        expected = where(desk, folder)
        assert not expected["sessions"]
        prompt = new_prompt("where am I")
        with desk.screen(folder) as screen:
            assert screen.asks_for_trust is not expected["trusted"]
            if screen.asks_for_trust:
                screen.accept_trust()
            screen.say(prompt)
            screen.leave()
        (transcript,) = desk.transcripts_with(prompt)
        found = where(desk, folder)
        assert str(transcript.parent) == found["directory"] == expected["directory"]
        assert found["config_key"] == expected["config_key"]
        assert found["config_key"] in desk.config()["projects"]
        assert (found["trusted"], found["sessions"]) == (True, 1)
        sent = [json.loads(each) for each in desk.api.conversations_with(prompt)]
        assert f"{found['memory']}/" in json.dumps(sent[-1]["system"])


@with_clients(shares_with_worktrees)
def test_a_trusted_folder_is_trusted_with_all_that_is_in_it(desk: Desk) -> None:
    folder, elsewhere = desk.folder("above/inside"), desk.folder("elsewhere")
    desk.trust(folder.parent)
    for place in (folder, elsewhere):
        with desk.screen(place) as screen:
            assert screen.asks_for_trust is not where(desk, place)["trusted"]
    assert where(desk, folder)["trusted"]
    assert not where(desk, elsewhere)["trusted"]
