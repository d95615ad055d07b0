"""Git's worktrees: absolute paths both ways, which break when a folder is renamed.

A repository has the place of each worktree in `.git/worktrees/<name>/gitdir`, and a worktree has
that of its repository in its file `.git`. `git worktree repair` fixes both.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from ccmove.claude import git
from ccmove.errors import Hint, run
from ccmove.plan.model import Plan
from ccmove.rewrite.pathmap import PathMap

TIMEOUT = 60.0


def repair_command(folder: Path, paths: PathMap) -> list[str] | None:
    """What fixes the worktrees of the folder after this move; None when nothing is broken."""
    if (folder / ".git").is_file():  # it is itself a worktree: its repository knows the old place
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


def repair(plan: Plan) -> Iterator[Hint]:
    """Repair the worktrees of every folder that was renamed; for what can't be, the command."""
    paths = PathMap(tuple((str(old), str(new)) for old, new in plan.folders))
    inside = [move.new_path for move in plan.projects if paths.reversed().covers(move.new_path)]
    for folder in dict.fromkeys([*(new for _, new in paths.moves), *inside]):
        try:
            command = repair_command(Path(folder), paths)
        except OSError:  # the move is done by now: no failure here may say otherwise
            command = _command(Path(folder))
        if command and git.ask(command[2], *command[3:], timeout=TIMEOUT) is None:
            yield run(*command, text="git's worktrees could not be repaired; run")
