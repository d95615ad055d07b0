"""What git's own small files say of a folder, read without running git.

A `.git` that is a file names the directory where git keeps what it knows of this
checkout: that is so in a worktree and in a submodule.
"""

import os
import re
from pathlib import Path

MODULES = f"{os.sep}.git{os.sep}modules{os.sep}"
USUAL_REMOTE = "origin"
# Of `git@host:owner/name.git`, `https://host/owner/name` and their like.
OWNER_AND_NAME = re.compile(r"[/:]([^/:\s]+)/([^/\s]+?)(?:\.git)?/?$")
_REMOTE = re.compile(r'\[\s*remote\s+"(.+)"\s*\]', re.IGNORECASE)
_URL = re.compile(r'url\s*=\s*"?([^"]*)', re.IGNORECASE)


def superproject(folder: str) -> str | None:
    """The repository that a folder is a submodule of, None when it is none.

    Both of them name the other by a path, which only `git mv` keeps right.
    """
    directory = gitdir(Path(folder))
    above, modules, _ = str(directory).partition(MODULES)
    return above if modules else None


def main_checkout(path: str) -> str:
    """The main checkout of the repository that a path is in; without one the path."""
    folder = Path(path)
    for above in (folder, *folder.parents):
        if not os.path.lexists(above / ".git"):
            continue
        record = gitdir(above)
        if record is not None and record.parent.name == "worktrees":
            return str(record.parent.parent.parent)
        return str(above)
    return path


def gitdir(folder: Path) -> Path | None:
    """Where a `.git` that is a file points to; None where it is a directory."""
    text = small_text(folder / ".git")
    if not text.startswith("gitdir:"):
        return None
    gitdir = folder / text.removeprefix("gitdir:").strip()
    return Path(os.path.normpath(gitdir))


def small_text(path: Path | str) -> str:
    """What git wrote into a small file; nothing where it can't be read."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read().strip()
    except (OSError, ValueError):
        return ""


def owner_and_name(url: str) -> str | None:
    """Which repository an address is of, in lower case: hosts don't tell case apart."""
    match = OWNER_AND_NAME.search(url)
    return f"{match[1]}/{match[2]}".lower() if match else None


def linked_as(folder: str) -> str | None:
    """As which repository Claude Code links a checkout in its config file.

    That is the remote `origin`, else the first by name (seen with 2.1.327). Another
    remote says less: a fork has the original as one.
    """
    config = small_text(f"{folder}/.git/config")  # there may be thousands to ask
    directory = None
    if not config:
        directory = gitdir(Path(folder))
    if directory is not None:
        common = small_text(directory / "commondir")  # of a worktree
        config = small_text(directory / common / "config")
    urls = _urls_of_remotes(config)
    if not urls:
        return None
    name = USUAL_REMOTE if USUAL_REMOTE in urls else min(urls)
    return owner_and_name(urls[name])


def _urls_of_remotes(config: str) -> dict[str, str]:
    """The first address of each remote in the text of a `.git/config`."""
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
