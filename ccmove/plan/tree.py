"""The directory tree as it will be after the steps planned so far; the disk is only looked at.

Planning asks again and again "what will be there then?": a place may be free because its tenant
moves away, or taken because another move has filled it. Here each name knows where its content
is now, so that the answer is a lookup.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ccmove.claude.reading import is_there
from ccmove.plan.model import Step


class Spot:
    """One name: where its content is on disk now, and the names below it that will differ.

    `now` is None for what is not on disk: nothing at all, or something that the run makes.
    """

    def __init__(self, now: Path | None, made: str = "") -> None:
        self.now = now
        self.made = made  # "directory" or "file"
        self.below: dict[str, Spot] = {}

    @property
    def is_there(self) -> bool:
        return self.now is not None or bool(self.made)


class Future:
    """Collects steps, and answers what will be where when they are done."""

    def __init__(self, *, ignores_case: bool = False) -> None:
        self.steps: list[Step] = []
        self._ignores_case = ignores_case
        self._root = Spot(Path("/"))

    # -- what will be there ------------------------------------------------------------

    def has(self, path: Path) -> bool:
        return self._find(path).is_there

    def now(self, path: Path) -> Path | None:
        """Where what will be at `path` is now; None when that is nowhere on disk."""
        return self._find(path).now

    def is_directory(self, path: Path) -> bool:
        """Whether a real directory will be there; a link to one is none."""
        spot = self._find(path)
        if spot.now is None:
            return spot.made == "directory"
        return stat.S_ISDIR(os.lstat(spot.now).st_mode)

    def names(self, path: Path) -> list[str]:
        """What will be in the directory at `path`, sorted."""
        spot = self._find(path)
        names = set(os.listdir(spot.now)) if spot.now is not None else set()
        for name, child in spot.below.items():
            (names.add if child.is_there else names.discard)(name)
        return sorted(names)

    # -- steps ---------------------------------------------------------------------------

    def rename(self, path: Path, target: Path) -> None:
        """Plan a rename of what will be at `path` to a name that will be free."""
        spot = self._find(path)
        self._put(path, Spot(None))
        self._put(target, spot)
        self.steps.append(Step("rename", path, target))

    def make_directory(self, path: Path, mode: int) -> None:
        self._put(path, Spot(None, "directory"))
        self.steps.append(Step("mkdir", path, mode=mode))

    def remove_directory(self, path: Path, mode: int) -> None:
        """Plan to remove a directory that will be empty; `mode` is the one it has."""
        self._put(path, Spot(None))
        self.steps.append(Step("rmdir", path, mode=mode))

    def add_file(self, path: Path) -> None:
        """A file that the run writes; that takes no step."""
        self._put(path, Spot(None, "file"))

    # -- the tree --------------------------------------------------------------------------

    def _find(self, path: Path) -> Spot:
        spot = self._root
        for part in path.parts[1:]:
            spot = self._child(spot, part)
        return spot

    def _put(self, path: Path, new: Spot) -> None:
        spot = self._root
        for part in path.parts[1:-1]:
            spot = spot.below.setdefault(part, self._child(spot, part))
        spot.below[path.name] = new

    def _child(self, spot: Spot, name: str) -> Spot:
        if name in spot.below:
            return spot.below[name]
        if spot.now is None or not is_there(spot.now / name):
            return Spot(None)
        if self._ignores_case:
            name = _spelled(spot.now, name)
            if name in spot.below:
                return spot.below[name]
        return Spot(spot.now / name)


def _spelled(directory: Path, name: str) -> str:
    """`name` as the directory lists it, where the file system takes any case for the same."""
    names = os.listdir(directory)
    if name in names:
        return name
    wanted = os.lstat(directory / name)
    for listed in names:
        if listed.lower() == name.lower():
            found = os.lstat(directory / listed)
            if (found.st_ino, found.st_dev) == (wanted.st_ino, wanted.st_dev):
                return listed
    return name
