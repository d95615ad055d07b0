"""Which repository is a folder? git is asked, with everything off that could run another program.

No git, no answer in time, or a folder that git does not trust: no identity.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass

TIMEOUT = 2.0
_HARMLESS = ("--no-pager", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
}
_OWNER_AND_NAME = re.compile(r"[/:]([^/:]+)/([^/]+?)(?:\.git)?/?$")


@dataclass(frozen=True, slots=True)
class Identity:
    """What two checkouts of one repository have in common."""

    remotes: frozenset[str] = frozenset()  # owner/name in lower case: hosts do not tell case apart
    roots: frozenset[str] = frozenset()  # the first commits of its history


def identity(folder: str) -> Identity:
    """The repository whose checkout the folder is; empty when it is none."""
    if not os.path.lexists(os.path.join(folder, ".git")):
        return Identity()  # a subfolder is not the repository that it is in
    urls = ask(folder, "config", "--get-regexp", r"^remote\..*\.url$").split("\n")
    found = [_OWNER_AND_NAME.search(url.partition(" ")[2]) for url in urls]
    remotes = frozenset(f"{parts[1]}/{parts[2]}".lower() for parts in found if parts)
    if ask(folder, "rev-parse", "--is-shallow-repository").strip() != "false":
        return Identity(remotes)  # its oldest commit is not the first
    return Identity(remotes, frozenset(ask(folder, "rev-list", "--max-parents=0", "HEAD").split()))


def reflog(folder: str) -> list[tuple[int, str]]:
    """What HEAD went through in this very checkout, the oldest first: when, in ns, and what."""
    lines = ask(folder, "reflog", "--date=unix", "--format=%gd %gs").splitlines()
    found = [re.match(r"HEAD@\{(\d+)\} (.*)", line) for line in reversed(lines)]
    return [(int(entry[1]) * 1_000_000_000, entry[2]) for entry in found if entry]


def ask(folder: str, *arguments: str) -> str:
    """What git prints; nothing when it can't tell."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    try:
        done = subprocess.run(
            ["git", "-C", folder, *_HARMLESS, *arguments],
            env={**kept, **_ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""
