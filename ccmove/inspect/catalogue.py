"""Folders that a lost project may have become: what lies around its old place, and where asked.

The walk is bounded in depth and number, follows no links, and stays on one file system. What
stands inside a repository is a part of it, so the walk ends there.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ccmove.inspect.gitfolder import Checkout, read_start

MOST_FOLDERS = 20_000  # of one walk
SEARCH_DEPTH = 6
NEAR_DEPTH = 3
_SKIPPED = frozenset(
    (
        "node_modules", "__pycache__", "venv", "site-packages", "target", "dist", "build",
        "vendor", "Library",
    )
)  # fmt: skip
_OWN_WORKTREE = re.compile(r"(/.*)/\.claude/worktrees/[^/]+/\.git\s*")
_ENVIRONMENT = re.compile(r"""(?:VIRTUAL_ENV=|-m venv )["']?(/[^"'\n]*)/\.?venv(?:["'\s]|$)""")


@dataclass
class Folder:
    """One existing folder, with what it says of itself."""

    path: str
    names: frozenset[str]  # its entries

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    @cached_property
    def checkout(self) -> Checkout | None:
        return Checkout(self.path) if ".git" in self.names else None

    @cached_property
    def former_places(self) -> dict[str, str]:
        """Where the folder itself says it once was, each with the file that says so."""
        found: dict[str, str] = {}
        for name in (".venv/bin/activate", ".venv/pyvenv.cfg", "venv/bin/activate"):
            if name.partition("/")[0] in self.names:
                for place in _ENVIRONMENT.findall(self._text(Path(self.path, name))):
                    found.setdefault(place, name)
        if self.checkout is not None and self.checkout.git_directory is not None:
            self._add_places_of_git(self.checkout.git_directory, found)
        found.pop(self.path, None)
        return found

    def _add_places_of_git(self, directory: Path, found: dict[str, str]) -> None:
        """Git keeps absolute paths, and a plain rename leaves them as they were."""
        own = self._text(directory / "gitdir").strip()  # of a worktree: where git thinks it is
        if own.endswith("/.git"):
            found.setdefault(own.removesuffix("/.git"), "git's own note")
        for path in sorted((directory / "worktrees").glob("*/gitdir")):
            place = _OWN_WORKTREE.fullmatch(self._text(path))
            if place:
                found.setdefault(place[1], os.path.relpath(path, self.path))

    @staticmethod
    def _text(path: Path) -> str:
        return read_start(path, 1 << 16).decode("utf-8", "replace")

    @cached_property
    def moved_at(self) -> int:
        """When the folder itself was last touched, in ns: a rename is never later."""
        try:
            return os.stat(self.path).st_ctime_ns
        except OSError:
            return 0


@dataclass
class Catalogue:
    """Every folder that was looked at, by path."""

    folders: dict[str, Folder] = field(default_factory=dict)
    cut_short: list[str] = field(default_factory=list)  # roots with more folders than we look at
    _walked: dict[str, int] = field(default_factory=dict)

    def add(self, path: str) -> None:
        """One folder that is known otherwise."""
        if path not in self.folders:
            names = _names_in(path)
            if names is not None:
                self.folders[path] = Folder(path, frozenset(names))

    def add_tree(self, root: str, depth: int) -> None:
        """`root` and what lies below it, as deep as that."""
        if self._walked.get(root, -1) >= depth:
            return
        self._walked[root] = depth
        for number, folder in enumerate(_walk(root, depth)):
            self.folders.setdefault(folder.path, folder)
            if number >= MOST_FOLDERS:
                self.cut_short.append(root)
                return

    def add_neighbourhood(self, path: str) -> None:
        """What lies around a folder that is gone: below the nearest that is left, and beside it."""
        near = nearest_folder(path)
        depth = NEAR_DEPTH if near.count("/") > 1 else 2
        if near != "/":
            self.add_tree(near, depth)
            above = os.path.dirname(near)
            if above.count("/") > 1:
                self.add_tree(above, NEAR_DEPTH - 1)

    @cached_property
    def by_name(self) -> dict[str, list[Folder]]:
        return _grouped((folder.name.lower(), folder) for folder in self.folders.values())

    @cached_property
    def by_remote(self) -> dict[str, list[Folder]]:
        return _grouped((remote, f) for f in self.checkouts for remote in _checkout(f).remotes)

    @cached_property
    def by_commit(self) -> dict[str, list[Folder]]:
        """By the first seven digits of every commit that was made there."""
        return _grouped(
            (commit[:7], f) for f in self.checkouts for commit in _checkout(f).commits_made_here
        )

    @cached_property
    def by_entry(self) -> dict[str, list[Folder]]:
        return _grouped((name, folder) for folder in self.folders.values() for name in folder.names)

    @cached_property
    def checkouts(self) -> list[Folder]:
        return [folder for folder in self.folders.values() if folder.checkout is not None]

    @cached_property
    def by_former_place(self) -> dict[str, list[Folder]]:
        return _grouped((place, f) for f in self.folders.values() for place in f.former_places)


def _checkout(folder: Folder) -> Checkout:
    assert folder.checkout is not None
    return folder.checkout


def _grouped(pairs: Iterable[tuple[str, Folder]]) -> dict[str, list[Folder]]:
    groups: dict[str, list[Folder]] = defaultdict(list)
    for key, folder in pairs:
        groups[key].append(folder)
    return groups


def nearest_folder(path: str) -> str:
    """The deepest folder above `path` that exists."""
    while not os.path.isdir(path):
        above = os.path.dirname(path)
        if above == path:
            return "/"
        path = above
    return path


def _walk(root: str, depth: int) -> Iterator[Folder]:
    waiting = deque([(root, 0)])
    device = _device(root)
    while waiting:
        path, level = waiting.popleft()
        names = _names_in(path)
        if names is None:
            continue
        yield Folder(path, frozenset(names))
        if level >= depth or (level and ".git" in names):
            continue
        for name, is_folder in names.items():
            below = os.path.join(path, name)
            if is_folder and _is_entered(name) and _device(below) == device:
                waiting.append((below, level + 1))


def _is_entered(name: str) -> bool:
    return not name.startswith(".") and name not in _SKIPPED


def _names_in(path: str) -> dict[str, bool] | None:
    """The entries of a folder and whether each is a folder; None when it can't be listed."""
    try:
        with os.scandir(path) as entries:
            return {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
    except OSError:
        return None


def _device(path: str) -> int:
    try:
        return os.lstat(path).st_dev
    except OSError:
        return -1
