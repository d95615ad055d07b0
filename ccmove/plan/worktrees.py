"""Git's worktrees: absolute paths both ways, which break when a folder is renamed.

A repository has the place of each worktree in `.git/worktrees/<name>/gitdir`, and a worktree has
that of its repository in its file `.git`. `git worktree repair` mends both.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from ccmove.plan.model import Plan
from ccmove.rewrite.pathmap import PathMap
from ccmove.text import command_line


def repair_command(folder: Path, paths: PathMap) -> list[str] | None:
    """What mends the worktrees of the folder after this move; None when nothing is broken."""
    if (folder / ".git").is_file():
        return _repair_of_worktree(folder, paths)
    trees = list(_worktrees(folder))
    moved = [new for tree in trees if (new := paths.map(str(tree))) is not None]
    if not moved and not any(_names(tree / ".git", paths) for tree in trees):
        return None
    there = [path for path in moved if os.path.isdir(path)]
    return ["git", "-C", str(folder), "worktree", "repair", *there]


def _repair_of_worktree(folder: Path, paths: PathMap) -> list[str] | None:
    """For a folder that is itself a worktree: its repository still knows the old place."""
    record = _pointed_at(folder / ".git", "gitdir: ")
    if record is None or not _names(record / "gitdir", paths):
        return None
    return ["git", "-C", str(record.parents[2]), "worktree", "repair", str(folder)]


def _worktrees(folder: Path) -> Iterator[Path]:
    """The worktrees of the repository in `folder`, where it believes them to be."""
    for known in sorted(folder.glob(".git/worktrees/*/gitdir")):
        dot_git = _pointed_at(known, "")
        if dot_git is not None:
            yield dot_git.parent


def _pointed_at(path: Path, prefix: str) -> Path | None:
    text = _text(path).strip()
    return Path(path.parent, text.removeprefix(prefix)) if text.startswith(prefix or "/") else None


def _names(path: Path, paths: PathMap) -> bool:
    return paths.is_named_in(_text(path))


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="surrogateescape")
    except (OSError, UnicodeError):
        return ""


def repair(plan: Plan) -> list[str]:
    """Mend the worktrees of every folder that was renamed; what could not be mended, in words."""
    paths = PathMap(tuple((str(old), str(new)) for old, new in plan.folders))
    inside = [move.new_path for move in plan.projects if paths.reversed().covers(move.new_path)]
    folders = dict.fromkeys([*(new for _, new in paths.moves), *inside])
    return [failure for folder in folders for failure in _repaired(Path(folder), paths)]


def _repaired(folder: Path, paths: PathMap) -> list[str]:
    """Mend one folder. The move is done by now, so that no failure here may say otherwise."""
    try:
        command = repair_command(folder, paths)
    except OSError:
        command = ["git", "-C", str(folder), "worktree", "repair"]
        return [f"git's worktrees could not be looked at; run: {command_line(command)}"]
    return list(_failures([command])) if command is not None else []


def _failures(commands: Iterable[list[str]]) -> Iterator[str]:
    for command in commands:
        try:
            failed = subprocess.run(command, capture_output=True, check=False).returncode != 0
        except OSError:
            failed = True
        if failed:
            yield f"git's worktrees could not be repaired; run: {command_line(command)}"
