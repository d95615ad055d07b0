"""Which repository is a checkout of, told from git's own files: the hook has no time to
run git.
"""

import re
from pathlib import Path

from ccmove.claude.gitfiles import gitdir, owner_and_name, small_text

USUAL_REMOTE = "origin"
_AT_GITHUB = re.compile(
    r"(?:\w+://(?:[^/@]*@)?|[^/@:]+@)(?:www\.)?github\.com(?::\d+)?[/:]", re.IGNORECASE
)
_COMMIT = re.compile("(?!0+$)[0-9a-f]{40,64}")  # before the first one are zeros
_REMOTE = re.compile(r'\[\s*remote\s+"(.+)"\s*\]', re.IGNORECASE)
_URL = re.compile(r'url\s*=\s*"?([^"]*)', re.IGNORECASE)


def linked_as(folder: str) -> str | None:
    """As which repository Claude Code links a checkout in its config file.

    That is the remote `origin`, else the first by name, if it is at GitHub (seen with
    2.1.327). Another remote says less: a fork has the original as one.
    """
    urls = remotes(folder)
    if not urls:
        return None
    name = USUAL_REMOTE if USUAL_REMOTE in urls else min(urls)
    url = urls[name]
    if _AT_GITHUB.match(url):
        return owner_and_name(url)
    return None


def heads(folder: str) -> set[str]:
    """The commits that HEAD was at in this very checkout, as far as that is noted."""
    commits: set[str] = set()
    for line in small_text(f"{folder}/.git/logs/HEAD").splitlines():
        before, _, rest = line.partition(" ")
        after, _, _ = rest.partition(" ")
        commits |= {before, after}
    return {commit for commit in commits if _COMMIT.fullmatch(commit)}


def remotes(folder: str) -> dict[str, str]:
    """The first address of each remote of a checkout."""
    config = small_text(f"{folder}/.git/config")  # there may be thousands to ask
    directory = None
    if not config:
        directory = gitdir(Path(folder))
    if directory is not None:
        common = small_text(directory / "commondir")  # of a worktree
        config = small_text(directory / common / "config")
    urls: dict[str, str] = {}
    section = None
    lines = config.splitlines()
    for line in map(str.strip, lines):
        if line.startswith("["):
            section = _REMOTE.fullmatch(line)
            continue
        if section is None:
            continue
        address = _URL.match(line)
        if address is not None:
            remote = section[1]
            urls.setdefault(remote, address[1])
    return urls
