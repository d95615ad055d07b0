"""Which repository is a folder? git is asked, with everything off that could run
another program.

No git, no answer in time, or a folder that git does not trust: no identity.

A repository has the place of each worktree in `.git/worktrees/<name>/gitdir`, and a
worktree has that of its repository in its file `.git`; after a rename `git worktree
repair` fixes both.
"""

import contextlib
import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ccmove.errors import Hint, run
from ccmove.rewrite.pathmap import PathMap

TIMEOUT = 2.0
REPAIRING = 60.0
MODULES = f"{os.sep}.git{os.sep}modules{os.sep}"
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
_OWNER_AND_NAME = re.compile(r"[/:]([^/:]+)/([^/]+?)(?:\.git)?/?$")


def superproject(folder: str) -> str | None:
    """The repository that a folder is a submodule of, None when it is none.

    Both of them name the other by a path, which only `git mv` keeps right.
    """
    gitdir = os.path.normpath(os.path.join(folder, _gitdir(folder)))
    above, modules, _ = gitdir.partition(MODULES)
    return above if modules else None


def _gitdir(folder: str) -> str:
    """What a `.git` that is a file points to; nothing where it is a directory."""
    with contextlib.suppress(OSError, ValueError):
        text = Path(folder, ".git").read_text(encoding="utf-8")
        return text.removeprefix("gitdir:").strip()
    return ""


@dataclass(frozen=True, slots=True)
class Identity:
    """What two checkouts of one repository have in common."""

    remotes: frozenset[str] = (
        frozenset()
    )  # owner/name in lower case: hosts do not tell case apart
    roots: frozenset[str] = frozenset()  # the first commits of its history

    def __str__(self) -> str:
        commits = [f"root commit {commit[:9]}" for commit in sorted(self.roots)]
        return ", ".join(sorted(self.remotes) or commits)


def identity(folder: str) -> Identity:
    """The repository whose checkout the folder is; empty when it is none."""
    if not os.path.lexists(os.path.join(folder, ".git")):
        return Identity()  # a subfolder is not the repository that it is in
    urls = ask(folder, "config", "--get-regexp", r"^remote\..*\.url$") or ""
    found = [_OWNER_AND_NAME.search(url.partition(" ")[2]) for url in urls.split("\n")]
    remotes = frozenset(f"{parts[1]}/{parts[2]}".lower() for parts in found if parts)
    if ask(folder, "rev-parse", "--is-shallow-repository") != "false\n":
        return Identity(remotes)  # its oldest commit is not the first
    roots = ask(folder, "rev-list", "--max-parents=0", "HEAD") or ""
    return Identity(remotes, frozenset(roots.split()))


def reflog(folder: str) -> list[tuple[int, str]]:
    """What HEAD went through in this very checkout,
    the oldest first: when, in ns, and what.
    """
    log = (ask(folder, "reflog", "--date=unix", "--format=%gd %gs") or "").splitlines()
    found = [re.match(r"HEAD@\{(\d+)\} (.*)", line) for line in reversed(log)]
    return [(int(entry[1]) * 1_000_000_000, entry[2]) for entry in found if entry]


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
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None


def repair_command(folder: Path, paths: PathMap) -> list[str] | None:
    """What fixes the worktrees of the folder after this move;
    None when nothing is broken.
    """
    if (
        folder / ".git"
    ).is_file():  # it is itself a worktree: its repository knows the old place
        record = folder / _text(folder / ".git").removeprefix("gitdir: ")
        if not paths.named_in(_text(record / "gitdir")):
            return None
        return _command(record.parent.parent.parent, str(folder))
    records = sorted(folder.glob(".git/worktrees/*/gitdir"))
    trees = [Path(record.parent, _text(record)).parent for record in records]
    moved = [new for tree in trees if (new := paths.map(str(tree))) is not None]
    if not moved and not any(paths.named_in(_text(tree / ".git")) for tree in trees):
        return None
    return _command(folder, *filter(os.path.isdir, moved))


def _command(repository: Path, *worktrees: str) -> list[str]:
    return ["git", "-C", str(repository), "worktree", "repair", *worktrees]


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="surrogateescape").strip()
    except (OSError, ValueError):
        return ""


def repair(paths: PathMap, projects: Iterable[str]) -> Iterator[Hint]:
    """Repair the worktrees of every folder that was renamed;
    for what can't be, the command.
    """
    inside = [path for path in projects if paths.reversed().covers(path)]
    for folder in dict.fromkeys([*(new for _, new in paths.moves), *inside]):
        try:
            command = repair_command(Path(folder), paths)
        except OSError:  # the move is done by now: no failure here may say otherwise
            command = _command(Path(folder))
        if command and ask(command[2], *command[3:], timeout=REPAIRING) is None:
            yield run(*command, text="git's worktrees could not be repaired; run")
