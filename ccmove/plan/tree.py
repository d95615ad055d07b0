"""The directory tree as it will be after the operations planned so far; the disk is
only read.

Planning asks again and again "what will be there then?": a place may be free because
its tenant moves away, or taken because another move has filled it. Here each name knows
where its content is now, so that the answer is a lookup.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from unicodedata import normalize

from ccmove.claude.reading import is_there
from ccmove.plan.model import (
    Arrival,
    Arrived,
    FileHolds,
    FolderHolds,
    Holds,
    Mkdir,
    Rename,
)


@dataclass(slots=True)
class Node:
    """One name: where its content is on disk now, and the names below it that will
    differ, as they are compared.
    """

    # None for what is not on disk: nothing at all, or what the run makes.
    now: Path | None = None
    name: str = ""  # as it is spelled
    made: str = ""  # "directory" or "file"
    arrival: Arrival | None = None  # of a file that comes in an archive
    below: dict[str, Node] = field(default_factory=dict)

    @property
    def is_there(self) -> bool:
        return self.now is not None or bool(self.made)


class Tree:
    """Collects operations, and answers what will be where when they are done."""

    def __init__(self, *, ignores_case: bool = False) -> None:
        self.operations: list[Rename | Mkdir] = []
        self._ignores_case = ignores_case
        self._roots: dict[str, Node] = {}  # Windows has one a drive

    def has(self, path: Path) -> bool:
        return self._find(path).is_there

    def now(self, path: Path) -> Path | None:
        """Where what will be at `path` is now; None when that is nowhere on disk."""
        return self._find(path).now

    def is_directory(self, path: Path) -> bool:
        """Whether a real directory will be there; a link to one is not."""
        node = self._find(path)
        if node.now is None:
            return node.made == "directory"
        return stat.S_ISDIR(os.lstat(node.now).st_mode)

    def is_same(self, path: Path, other: Path) -> bool:
        """Whether they are one name: in another case,
        where the file system ignores that.
        """
        if path.parent != other.parent:
            return False
        return self._key(path.name) == self._key(other.name)

    def names(self, path: Path) -> list[str]:
        """What will be in a directory: what is there now, but for what differs then."""
        node = self._find(path)
        names = [child.name for child in node.below.values() if child.is_there]
        if node.now is not None:
            there = os.listdir(node.now)
            names += [name for name in there if self._key(name) not in node.below]
        return sorted(names)

    def moved(self) -> dict[Path, Path]:
        """Where each thing that is renamed is now -> where it ends."""
        return moved_by(self.operations)

    def rename(
        self, path: Path, target: Path, holds: FolderHolds | None = None
    ) -> None:
        """Plan a rename of what will be at `path` to a name that will be free."""
        self.operations.append(Rename(path, target, holds or self._holds(path)))
        node = self._find(path)
        self._put(path, Node())
        self._put(target, node)

    def _holds(self, path: Path) -> Holds | FileHolds | Arrived:
        """What will be at `path` by then, as far as it is needed to recognise it."""
        node = self._find(path)
        arrivals = tuple(_arrivals(node))
        if arrivals:
            return Arrived(arrivals)
        if not self.is_directory(path):
            return self._file_holds(path)
        return self._directory_holds(path)

    def _directory_holds(self, path: Path) -> Holds:
        transcripts = [name for name in self.names(path) if name.endswith(".jsonl")]
        return Holds(tuple(transcripts or self.files_below(path)))

    def _file_holds(self, path: Path) -> FileHolds:
        now = self.now(path)
        if now is None:  # the run makes it
            return FileHolds(0, 0)
        status = os.lstat(now)
        return FileHolds(status.st_size, status.st_mtime_ns)

    def files_below(self, path: Path, prefix: str = "") -> Iterator[str]:
        for name in self.names(path):
            if self.is_directory(path / name):
                yield from self.files_below(path / name, f"{prefix}{name}/")
            else:
                yield prefix + name

    def make_directory(self, path: Path, mode: int) -> None:
        self.make_room(path)
        self.operations.append(Mkdir(path, mode))

    def add_file(self, path: Path) -> None:
        self._put(path, Node(made="file"))

    def make_room(self, directory: Path) -> None:
        """For what arrives; whatever is there by then does not count."""
        self._put(directory, Node(made="directory"))

    def arrive(self, path: Path, arrival: Arrival) -> None:
        """A file that is there once its archive was read, with its directories."""
        for parent in reversed(path.parents):
            if not self.has(parent):
                self.make_room(parent)
        self._put(path, Node(made="file", arrival=arrival))

    def _find(self, path: Path) -> Node:
        """What differs is known by now; of all else the disk is asked once."""
        node = self._root_of(path)
        names = path.parts[1:]
        for depth, name in enumerate(names):
            key = self._key(name)
            if key not in node.below:
                return _on_disk(node, names[depth:])
            node = node.below[key]
        return node

    def _root_of(self, path: Path) -> Node:
        return self._roots.setdefault(path.anchor, Node(Path(path.anchor)))

    def _put(self, path: Path, new: Node) -> None:
        new.name = path.name
        node = self._root_of(path)
        for name in path.parts[1:-1]:
            node = self._kept(node, name)
        key = self._key(path.name)
        node.below[key] = new

    def _kept(self, node: Node, name: str) -> Node:
        """The one below, from now on in the tree: something in it will differ."""
        key = self._key(name)
        if key not in node.below:
            node.below[key] = _on_disk(node, (name,))
        return node.below[key]

    def _key(self, name: str) -> str:
        return normalize("NFD", name).lower() if self._ignores_case else name


def _on_disk(node: Node, names: tuple[str, ...]) -> Node:
    """What is below a node by these names, none of which will differ."""
    *_, name = names
    if node.now is None:
        return Node(name=name)
    now = node.now.joinpath(*names)
    return Node(now if is_there(now) else None, name)


def _arrivals(node: Node, prefix: str = "") -> Iterator[Arrival]:
    """Every file at or below a node that comes in an archive, by its name there.

    Where something else is as well nothing counts as come.
    """
    if node.now is not None:
        return
    if node.arrival is not None:
        yield replace(node.arrival, name=prefix.removesuffix("/"))
    for child in node.below.values():
        yield from _arrivals(child, f"{prefix}{child.name}/")


def moved_by(operations: Iterable[object]) -> dict[Path, Path]:
    """Where each thing was that these operations rename -> where it ends."""
    origin: dict[Path, Path] = {}
    for operation in operations:
        if isinstance(operation, Rename):
            origin[operation.target] = ends_of(operation.path, origin)
            origin.pop(operation.path, None)
    return {was: final for final, was in origin.items()}


def ends_of(path: Path, moved: dict[Path, Path]) -> Path:
    """Where something that is at `path` now will be, by the table of `Tree.moved`."""
    for above in (path, *path.parents):
        if above in moved:
            return moved[above] / path.relative_to(above)
    return path


def folder_holds(folder: Path, written: Iterable[Path] = ()) -> FolderHolds:
    """What a project folder is recognised by: not by what a run itself writes in it."""
    ours: set[str] = set()
    for file in written:
        if file.is_relative_to(folder):
            ours.add(file.relative_to(folder).parts[0])
    entries = []
    with os.scandir(folder) as there:
        for entry in there:
            if entry.name in ours:
                continue
            status = entry.stat(follow_symlinks=False)
            kind = "file"
            size = status.st_size
            if stat.S_ISDIR(status.st_mode):
                kind = "directory"
                size = 0
            entries.append((entry.name, kind, size, status.st_mtime_ns))
    status = os.lstat(folder)
    return FolderHolds(status.st_dev, status.st_ino, tuple(sorted(entries)))
