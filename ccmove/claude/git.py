"""Which repository is a folder? git is asked, with everything off that could run
another program.

No git, no answer in time, or a folder that git does not trust: no identity.

A repository has the place of each worktree in `.git/worktrees/<name>/gitdir`, and a
worktree has that of its repository in its file `.git`; after a rename `git worktree
repair` fixes both.
"""

import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ccmove.claude.gitfiles import gitdir, owner_and_name, small_text
from ccmove.hints import Hint, to_type
from ccmove.rewrite.pathmap import PathMap

TIMEOUT = 2.0
REPAIRING = 60.0
_HARMLESS = (
    "--no-pager",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
)
_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
}


@dataclass(frozen=True, slots=True)
class Identity:
    """What two checkouts of one repository have in common."""

    # owner/name in lower case: hosts do not tell case apart.
    remotes: frozenset[str] = frozenset()
    roots: frozenset[str] = frozenset()  # the first commits of its history

    def __str__(self) -> str:
        commits = [f"root commit {commit[:9]}" for commit in sorted(self.roots)]
        return ", ".join(sorted(self.remotes) or commits)


def identity(folder: str) -> Identity:
    """The repository whose checkout the folder is; empty when it is none."""
    if not os.path.lexists(f"{folder}/.git"):
        return Identity()  # a subfolder is not the repository that it is in
    urls = ask(folder, "config", "--get-regexp", r"^remote\..*\.url$") or ""
    lines = urls.splitlines()  # `remote.<name>.url <url>`
    names = filter(None, map(owner_and_name, lines))
    remotes = frozenset(names)
    shallow = ask(folder, "rev-parse", "--is-shallow-repository")
    if shallow != "false\n":
        return Identity(remotes)  # its oldest commit is not the first
    commits = ask(folder, "rev-list", "--max-parents=0", "HEAD") or ""
    roots = commits.split()
    return Identity(remotes, frozenset(roots))


def reflog(folder: str) -> list[tuple[int, str]]:
    """What HEAD went through in this very checkout, the oldest first:
    when, in ns, and what.
    """
    log = ask(folder, "reflog", "--date=unix", "--format=%gd %gs") or ""
    entries = re.findall(r"^HEAD@\{(\d+)\} (.*)$", log, re.MULTILINE)
    return [(int(when) * 1_000_000_000, what) for when, what in reversed(entries)]


def ask(folder: str, *arguments: str, timeout: float = TIMEOUT) -> str | None:
    """What git prints; None when it can't tell, or can't do it."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    try:
        done = subprocess.run(
            ["git", *_HARMLESS, *arguments],
            cwd=folder,  # not -C: git fails where the current folder was deleted
            env={**kept, **_ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    if done.returncode == 0:
        return done.stdout.decode("utf-8", "replace")
    return None


def find_repair(folder: Path, paths: PathMap) -> Hint | None:
    """What this move broke between the folder and its worktrees, or its repository, and
    git's command for it; None when nothing is broken.
    """
    record = gitdir(folder)
    if record is None:
        return _repair_of_repository(folder, paths)
    # It is itself a worktree: its repository knows the old place.
    if not paths.named_in(small_text(record / "gitdir")):
        return None
    repository = record.parent.parent.parent
    what = f"the repository {repository} still points to this worktree at its old path"
    return _repair(repository, what, folder)


def _repair_of_repository(folder: Path, paths: PathMap) -> Hint | None:
    """The same for the repository: its worktrees moved along, or are elsewhere, and
    know its old place.
    """
    moved: list[Path] = []
    elsewhere: list[Path] = []
    for record in sorted(folder.glob(".git/worktrees/*/gitdir")):
        file = record.parent / small_text(record)  # the worktree's .git
        new = paths.map(str(file.parent))
        if new is None:
            if paths.named_in(small_text(file)):
                elsewhere.append(file.parent)
            continue
        there = gitdir(Path(new))
        if there is not None and there.name == record.parent.name:
            moved.append(Path(new))  # else it was removed, its sessions went elsewhere
    worktrees = moved + elsewhere
    if not worktrees:
        return None
    what = f"{len(worktrees)} worktrees still point"
    if len(worktrees) == 1:
        what = f"the worktree {worktrees[0]} still points"
    what = f"{what} to the repository at its old path"
    return _repair(folder, what, *moved)


def _repair(repository: Path, what: str, *worktrees: Path) -> Hint:
    return to_type("git", "-C", repository, "worktree", "repair", *worktrees, text=what)


def repair(paths: PathMap, projects: Iterable[str]) -> Iterator[Hint]:
    """Repair the worktrees of every folder that was renamed;
    for what can't be, the command.
    """
    folders = [new for _, new in paths.moves]
    folders += filter(paths.reversed().covers, projects)
    for folder in dict.fromkeys(folders):
        try:
            needed = find_repair(Path(folder), paths)
        except OSError:  # the move is done by now: no failure here may say otherwise
            needed = _repair(Path(folder), "")
        if needed is None:
            continue
        _, *arguments = needed.command
        answer = ask(folder, *arguments, timeout=REPAIRING)
        if answer is None:
            text = "git's worktrees could not be repaired; run"
            yield to_type(*needed.command, text=text)
