"""What git's own small files say of a folder, read without running git.

A `.git` that is a file names the directory where git keeps what it knows of this
checkout: that is so in a worktree and in a submodule.
"""

import os
import re
import stat
from pathlib import Path

from ccmove.text import as_text

MODULES = f"{os.sep}.git{os.sep}modules{os.sep}"
LARGEST = 4 << 20  # bytes: more is no file of git's that names a path
# Of `git@host:owner/name.git`, `https://host/owner/name` and their like.
OWNER_AND_NAME = re.compile(r"[/:]([^/:\s]+)/([^/\s]+?)(?:\.git)?/?$")


def superproject(folder: str) -> str | None:
    """The repository that a folder is a submodule of, None when it is none.

    Both of them name the other by a path, which only `git mv` keeps right.
    """
    directory = gitdir(Path(folder))
    above, modules, _ = str(directory).partition(MODULES)
    if modules:
        return above
    return None


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
    """What git wrote into a small file; nothing where it can't be read, or is none: a
    pipe would be waited for, for ever.
    """
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
            return ""
        with open(path, "rb") as file:
            return as_text(file.read()).strip()
    except (OSError, ValueError):
        return ""


def owner_and_name(url: str) -> str | None:
    """Which repository an address is of, in lower case: hosts don't tell case apart."""
    match = OWNER_AND_NAME.search(url)
    if match:
        return f"{match[1]}/{match[2]}".lower()
    return None
