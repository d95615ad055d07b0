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
from dataclasses import dataclass, field
from pathlib import Path
from unicodedata import normalize

from ccmove.claude.reading import Document, is_there
from ccmove.plan.model import Arrived, FileHolds, FolderHolds, Holds, Mkdir, Rename
from ccmove.text import as_bytes


@dataclass(slots=True)
class Draft:
    """A text that is planned, for a document on disk or for a file that is made."""

    text: str
    document: Document | None = None
    mode: int = 0o600  # of one that is made
    mtime_ns: int | None = None

    @property
    def after(self) -> bytes:
        return as_bytes(self.text)


@dataclass(slots=True)
class Node:
    """One name: where its content is on disk now, and the names below it that will
    differ, as they are compared.
    """

    # None for what is not on disk: nothing at all, or what the run makes.
    now: Path | None = None
    name: str = ""  # as it is spelled
    made: str = ""  # "directory" or "file"
    draft: Draft | None = None  # of a file of which the text is planned
    below: dict[str, Node] = field(default_factory=dict)

    @property
    def is_there(self) -> bool:
        return self.now is not None or bool(self.made)

    def drafts(self, path: Path) -> Iterator[tuple[Path, Draft]]:
        """Of every file that is made at or below this node, which is at `path`."""
        if self.draft is not None:
            yield path, self.draft
        for child in self.below.values():
            yield from child.drafts(path / child.name)


class Tree:
    """Collects operations, and answers what will be where when they are done."""

    def __init__(self, *, ignores_case: bool = False) -> None:
        self.operations: list[Rename | Mkdir] = []
        self._ignores_case = ignores_case
        self._root = Node(Path())  # below it is "/", on Windows each drive

    def has(self, path: Path) -> bool:
        return self._find(path).is_there

    def now(self, path: Path) -> Path | None:
        """Where what will be at `path` is now; None when that is nowhere on disk."""
        return self._find(path).now

    def draft(self, path: Path) -> Draft | None:
        """The text of the file that is made at `path`, if one is."""
        return self._find(path).draft

    def drafts(self) -> Iterator[tuple[Path, Draft]]:
        """Every text of which a file is made, by where that will be."""
        return self._root.drafts(Path())

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

    def files_below(self, path: Path, prefix: str = "") -> Iterator[str]:
        for name in self.names(path):
            if self.is_directory(path / name):
                yield from self.files_below(path / name, f"{prefix}{name}/")
            else:
                yield prefix + name

    def moved(self) -> dict[Path, Path]:
        """Where each thing that is renamed is now -> where it ends."""
        return moved_by(self.operations)

    def rename(
        self, path: Path, target: Path, holds: FolderHolds | Arrived | None = None
    ) -> None:
        """Plan a rename of what will be at `path` to a name that will be free; a file
        of which only the text is planned is made there.
        """
        node = self._find(path)
        if node.draft is None:
            rename = Rename(path, target, holds or self._holds(path))
            self.operations.append(rename)
        self.remove(path)
        self._put(target, node)

    def _holds(self, path: Path) -> Holds | FileHolds:
        """What will be at `path` by then, as far as it is needed to recognise it."""
        now = self.now(path)
        if now is None or self.is_directory(path):
            names = [name for name in self.names(path) if name.endswith(".jsonl")]
            return Holds(tuple(names or self.files_below(path)))
        status = os.lstat(now)
        return FileHolds(status.st_size, status.st_mtime_ns)

    def make_directory(self, path: Path, mode: int) -> None:
        self.make_room(path)
        self.operations.append(Mkdir(path, mode))

    def make_room(self, directory: Path) -> None:
        """For what arrives; whatever is there by then does not count."""
        self._put(directory, Node(made="directory"))

    def add_file(self, path: Path, draft: Draft | None = None) -> None:
        """One that is made, or that arrives, with the directories that it is in."""
        for parent in reversed(path.parents):
            if not self.has(parent):
                self.make_room(parent)
        self._put(path, Node(made="file", draft=draft))

    def remove(self, path: Path) -> None:
        self._put(path, Node())

    def _find(self, path: Path) -> Node:
        """What differs is known by now; of all else the disk is asked once."""
        node = self._root
        names = path.parts
        for depth, name in enumerate(names):
            child = node.below.get(self._key(name))
            if child is None:
                return _on_disk(node, names[depth:])
            node = child
        return node

    def _put(self, path: Path, new: Node) -> None:
        """What it is in is in the tree from now on: something there will differ."""
        node = self._root
        *above, last = path.parts
        for name in above:
            key = self._key(name)
            child = node.below.get(key)
            if child is None:
                child = _on_disk(node, (name,))
                node.below[key] = child
            node = child
        new.name = last
        key = self._key(last)
        node.below[key] = new

    def _key(self, name: str) -> str:
        if self._ignores_case:
            return normalize("NFD", name).lower()
        return name


def _on_disk(node: Node, names: tuple[str, ...]) -> Node:
    """What is below a node by these names, none of which will differ."""
    name = names[-1]
    if node.now is None:
        return Node(name=name)
    now = node.now.joinpath(*names)
    if not is_there(now):
        return Node(name=name)
    return Node(now, name)


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


def folder_holds(folder: Path, documents: Iterable[Path] = ()) -> FolderHolds:
    """What a project folder is recognised by: not by what a run may write in it."""
    ours: set[str] = set()
    for file in documents:
        if file.is_relative_to(folder):
            first, *_ = file.relative_to(folder).parts
            ours.add(first)
    entries = []
    for name in sorted(os.listdir(folder)):
        if name in ours:
            continue
        status = os.lstat(folder / name)
        kind = "file"
        size = status.st_size
        if stat.S_ISDIR(status.st_mode):
            kind = "directory"
            size = 0
        entries.append((name, kind, size, status.st_mtime_ns))
    status = os.lstat(folder)
    return FolderHolds(status.st_dev, status.st_ino, tuple(entries))
