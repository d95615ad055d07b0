"""Which repository a checkout is of, told from git's own files."""

from pathlib import Path

import pytest

from ccmove.inside.checkouts import heads, linked_as
from tests.inspect.conftest import git, make_repo

# Seen with 2.1.327: which addresses it links in its config file.
LINKED = [
    "https://github.com/acme/app.git",
    "https://github.com/acme/app/",
    "http://www.github.com/acme/app",
    "https://GitHub.com/Acme/App",
    "https://me@github.com/acme/app.git",
    "https://x:token@github.com/acme/app",
    "git@github.com:acme/app.git",
    "ssh://git@github.com/acme/app",
    "ssh://git@github.com:22/acme/app.git",
    "git://github.com/acme/app",
]
NOT_LINKED = [
    "https://gitlab.com/acme/app.git",
    "git@github.example.com:acme/app.git",
    "git@github-work:acme/app.git",
    "ssh://git@ssh.github.com:443/acme/app.git",
    "github.com:acme/app.git",
    "https://example.com/github.com/acme/app",
    "/srv/github.com/acme/app.git",
]


@pytest.mark.parametrize("url", LINKED)
def test_a_checkout_of_github_is_linked_by_owner_and_name(
    url: str, tmp_path: Path
) -> None:
    make_repo(tmp_path)
    git(tmp_path, "remote", "add", "origin", url)
    assert linked_as(str(tmp_path)) == "acme/app"


@pytest.mark.parametrize("url", NOT_LINKED)
def test_a_checkout_of_another_host_is_not_linked(url: str, tmp_path: Path) -> None:
    make_repo(tmp_path)
    git(tmp_path, "remote", "add", "origin", url)
    assert linked_as(str(tmp_path)) is None


def test_the_commits_that_head_was_at(tmp_path: Path) -> None:
    make_repo(tmp_path)
    assert heads(str(tmp_path)) == set()
    for name in ("one", "two"):
        git(tmp_path, "commit", "-q", "--allow-empty", "-m", name)
    commits = set(git(tmp_path, "log", "--format=%H").split())
    assert len(commits) == 2
    git(tmp_path, "checkout", "-q", "--orphan", "other")
    assert heads(str(tmp_path)) == commits
