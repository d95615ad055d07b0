"""Ways to put a project directory right, as changes that a transaction does and can take back.

Each mend looks at the disk again when it is planned. What has to go is never deleted: it is set
aside in the backup, and `ccmove restore` brings it back. Transcripts move by rename alone.
"""

from __future__ import annotations

import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from ccmove.claude.state import INDEX, read_document
from ccmove.errors import RefusedError, again
from ccmove.inspect.indexcheck import Truth, index_faults
from ccmove.plan.model import FileChange, Plan, ProjectMove, Step
from ccmove.rewrite.splice import apply


@dataclass
class Changes:
    """What the mends of one run add to its plan."""

    displaced: Path
    steps: list[Step] = field(default_factory=list)
    files: list[FileChange] = field(default_factory=list)
    projects: list[ProjectMove] = field(default_factory=list)
    _set_aside: int = 0

    def set_aside(self, path: Path) -> None:
        """Move a file into the backup of the run."""
        target = self.displaced / f"mend-{self._set_aside}"
        self._set_aside += 1
        self.steps.append(Step("rename", path, target))

    def rename(self, path: Path, target: Path) -> None:
        self.steps.append(Step("rename", path, target))

    def remove_directory(self, path: Path) -> None:
        self.steps.append(Step("rmdir", path, mode=stat.S_IMODE(os.lstat(path).st_mode)))


class Mend(ABC):
    """One thing put right."""

    @property
    @abstractmethod
    def directories(self) -> frozenset[str]:
        """Names under `projects` that it touches."""

    @abstractmethod
    def add_to(self, changes: Changes) -> None:
        """Add what has to be done; RefusedError when that would lose something."""


@dataclass(frozen=True)
class SetAside(Mend):
    """A project directory that holds nothing of worth goes; its files are kept in the backup."""

    directory: Path

    @property
    def directories(self) -> frozenset[str]:
        return frozenset((self.directory.name,))

    def add_to(self, changes: Changes) -> None:
        set_tree_aside(self.directory, changes)


@dataclass(frozen=True)
class TrueIndex(Mend):
    """An index gets true paths and loses the entries that point nowhere."""

    directory: Path
    truth: Truth

    @property
    def directories(self) -> frozenset[str]:
        return frozenset((self.directory.name,))

    def add_to(self, changes: Changes) -> None:
        path = self.directory / INDEX
        document = read_document(path)
        if document is None:
            return
        names = os.listdir(self.directory)
        now = {name.removesuffix(".jsonl") for name in names if name.endswith(".jsonl")}
        edits = index_faults(document.text, replace(self.truth, sessions=now)).edits
        after = apply(document.text, edits).encode("utf-8", "surrogateescape")
        if after != document.data:
            change = FileChange(path, path, "index", document.data, after, edits)
            changes.files.append(change._replace(seen=document.seen))


@dataclass(frozen=True)
class Unite(Mend):
    """What lies in `source` goes to `target`, where it belongs; the empty source goes."""

    source: Path
    target: Path
    owner: str | None  # whose it is, for later moves to know

    @property
    def directories(self) -> frozenset[str]:
        nested = {self.source.parent.name} if self.source.parent != self.target.parent else set()
        return frozenset({self.source.name, self.target.name} | nested)

    def add_to(self, changes: Changes) -> None:
        names = tuple(sorted(os.listdir(self.source)))
        if self.owner is not None and self.source.parent == self.target.parent:
            kind = "merge" if os.path.lexists(self.target) else "rename"
            changes.projects.append(self._record(names, kind))
        if os.path.lexists(self.target):
            _unite(self.source, self.target, changes)
        else:
            changes.rename(self.source, self.target)

    def _record(self, names: tuple[str, ...], kind: str) -> ProjectMove:
        assert self.owner is not None
        transcripts = [self.source / name for name in names if name.endswith(".jsonl")]
        size = sum(os.lstat(path).st_size for path in transcripts)
        source, target = self.source.name, self.target.name
        return ProjectMove(
            self.owner, self.owner, source, target, kind, names, len(transcripts), size
        )


@dataclass(frozen=True)
class KeepOne(Mend):
    """Of two transcripts of one session one stays; the other is set aside."""

    session: str
    kept: Path  # project directories
    dropped: Path

    @property
    def directories(self) -> frozenset[str]:
        return frozenset((self.kept.name, self.dropped.name))

    def add_to(self, changes: Changes) -> None:
        changes.set_aside(self.dropped / f"{self.session}.jsonl")
        folder = self.dropped / self.session
        if not folder.is_dir():
            return
        if os.path.lexists(self.kept / self.session):
            set_tree_aside(folder, changes)
        else:
            changes.rename(folder, self.kept / self.session)


def set_tree_aside(directory: Path, changes: Changes) -> None:
    """Every file goes into the backup, and the directories with them."""
    for entry in sorted(os.scandir(directory), key=lambda entry: entry.name):
        if entry.is_dir(follow_symlinks=False):
            set_tree_aside(Path(entry.path), changes)
        else:
            changes.set_aside(Path(entry.path))
    changes.remove_directory(directory)


def _unite(source: Path, target: Path, changes: Changes) -> None:
    for name in sorted(os.listdir(source)):
        ours, theirs = source / name, target / name
        if not os.path.lexists(theirs):
            changes.rename(ours, theirs)
        elif _is_dir(ours) and _is_dir(theirs):
            _unite(ours, theirs, changes)
        elif name == INDEX or same_content(ours, theirs):
            changes.set_aside(ours)  # the client adds to an index what it lacks
        else:
            raise RefusedError(
                f"{ours} and {theirs} are different files of one name",
                again("look at both, move one away, then run it again"),
            )
    changes.remove_directory(source)


def _is_dir(path: Path) -> bool:
    return stat.S_ISDIR(os.lstat(path).st_mode)


def same_content(one: Path, other: Path) -> bool:
    """Whether two regular files hold the same bytes."""
    return os.lstat(one).st_size == os.lstat(other).st_size and is_start_of(one, other)


def is_start_of(one: Path, other: Path) -> bool:
    """Whether the regular file `other` begins with all the bytes of `one`."""
    if not all(stat.S_ISREG(os.lstat(path).st_mode) for path in (one, other)):
        return False
    with open(one, "rb") as first, open(other, "rb") as second:
        while block := first.read(1 << 20):
            if second.read(len(block)) != block:
                return False
    return True


def with_mends(plan: Plan, mends: Iterable[Mend], displaced: Path) -> tuple[Plan, tuple[Mend, ...]]:
    """The plan with the mends added, and those left out: two runs must not touch one directory."""
    changes = Changes(displaced)
    taken = {name for move in plan.projects for name in (move.source, move.target)}
    left_out = []
    for mend in mends:
        if taken & mend.directories:
            left_out.append(mend)
            continue
        taken |= mend.directories
        mend.add_to(changes)
    plan = plan._replace(
        projects=(*plan.projects, *changes.projects),
        steps=(*plan.steps, *changes.steps),
        files=(*plan.files, *changes.files),
    )
    return plan, tuple(left_out)
