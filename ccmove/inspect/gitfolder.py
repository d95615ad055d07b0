"""What a git checkout says of itself, read from its files; no hook, filter or pager ever runs.

Only the root commit needs git itself: it is asked with everything switched off that could start
another program, and not for long.
"""

from __future__ import annotations

import os
import re
import subprocess
from functools import cached_property
from pathlib import Path

MOST_READ = 4 << 20
TIMEOUT = 5.0

_REMOTE = re.compile(r'^\s*\[remote\s+"[^"]*"\]\s*$', re.IGNORECASE)
_SECTION = re.compile(r"^\s*\[")
_URL = re.compile(r"^\s*url\s*=\s*(\S+)", re.IGNORECASE)
_OWNER_AND_NAME = re.compile(r"[/:]([^/:]+)/([^/]+?)(?:\.git)?/?$")
_MADE_HERE = re.compile(rb"^[0-9a-f]{40,64} ([0-9a-f]{40,64}) [^\t\n]*\tcommit\b", re.MULTILINE)


class Checkout:
    """One folder with a `.git` in it; everything is read when first asked for, and only once."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    @cached_property
    def git_directory(self) -> Path | None:
        """`.git`, or where the file `.git` of a worktree points to."""
        path = Path(self.folder, ".git")
        if path.is_dir():
            return path
        text = read_start(path, 4096).decode("utf-8", "surrogateescape")
        if not text.startswith("gitdir:"):
            return None
        target = Path(self.folder, text.removeprefix("gitdir:").strip())
        return target if target.is_dir() else None

    @cached_property
    def common_directory(self) -> Path | None:
        """Where config and branches are: for a worktree, in the main checkout."""
        directory = self.git_directory
        if directory is None:
            return None
        text = read_start(directory / "commondir", 4096).decode("utf-8", "surrogateescape").strip()
        return Path(os.path.normpath(directory / text)) if text else directory

    @cached_property
    def remotes(self) -> frozenset[str]:
        """`owner/name` of every remote, in lower case: hosts do not tell case apart."""
        if self.common_directory is None:
            return frozenset()
        text = read_start(self.common_directory / "config").decode("utf-8", "replace")
        return frozenset(_remotes(text))

    @cached_property
    def commits_made_here(self) -> frozenset[str]:
        """Commits that were made in this very checkout, as its own log of HEAD says."""
        if self.git_directory is None:
            return frozenset()
        log = read_start(self.git_directory / "logs" / "HEAD")
        return frozenset(found.decode() for found in _MADE_HERE.findall(log))

    @cached_property
    def branches(self) -> frozenset[str]:
        common = self.common_directory
        if common is None:
            return frozenset()
        heads = common / "refs" / "heads"
        loose = {
            os.path.relpath(os.path.join(base, name), heads)
            for base, _, names in os.walk(heads)
            for name in names
        }
        packed = read_start(common / "packed-refs").decode("utf-8", "replace")
        return frozenset(loose | set(re.findall(r"^\S+ refs/heads/(.+)$", packed, re.MULTILINE)))

    @cached_property
    def root_commits(self) -> frozenset[str]:
        """The first commits of its history; none when git can't tell."""
        common = self.common_directory
        if common is None or (common / "shallow").exists():
            return frozenset()
        command = ["git", "-C", self.folder, *_HARMLESS, "rev-list", "--max-parents=0", "HEAD"]
        try:
            done = subprocess.run(
                command,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TIMEOUT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return frozenset()
        return frozenset(done.stdout.decode().split()) if done.returncode == 0 else frozenset()


_HARMLESS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-pager")


def _environment() -> dict[str, str]:
    """Nothing of the caller's git settings but where git itself is and whose home it is."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {
        **kept,
        "LC_ALL": "C",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
    }


def _remotes(config: str) -> list[str]:
    found = []
    in_remote = False
    for line in config.splitlines():
        if _SECTION.match(line):
            in_remote = _REMOTE.match(line) is not None
        elif in_remote and (url := _URL.match(line)):
            parts = _OWNER_AND_NAME.search(url[1])
            if parts:
                found.append(f"{parts[1]}/{parts[2]}".lower())
    return found


def read_start(path: Path, most: int = MOST_READ) -> bytes:
    """The first bytes of a regular file; nothing when there is none or it can't be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return b""
    try:
        return os.read(fd, most)
    except OSError:
        return b""
    finally:
        os.close(fd)
