"""Bring things to their places, into what is there already.

Directories are united. The index, the aliases and MEMORY.md are joined; of two identical files
one is set aside in the backup, and so is what loses where two different ones meet. Everything
happens by renaming: a directory that was emptied is set aside as well, so that it can come back
as the very same one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from ccmove.claude.state import ALIASES, INDEX, MEMORY
from ccmove.plan.drafts import Drafts, add_entries, entries_of
from ccmove.plan.model import FileChange, landing_of, landings
from ccmove.plan.tree import Future
from ccmove.rewrite import rewriter
from ccmove.rewrite.jsonspan import NotJsonError

MEMORY_FILE = "MEMORY.md"
CHUNK = 1 << 20


class Placer:
    """Plans the steps for bringing things together; what can't be decided is a conflict."""

    def __init__(
        self,
        projects: Path,
        displaced: Path,  # where the run sets aside what loses
        on_conflict: str = "refuse",
        *,
        future: Future,
    ) -> None:
        self.projects = projects
        self.displaced = displaced
        self.on_conflict = on_conflict
        self.future = future
        self.drafts = Drafts()
        self.conflicts: list[tuple[Path, Path]] = []
        self._set_aside = 0
        self._replaced: set[str] = set()  # sessions whose transcript was replaced

    def bring(self, path: Path, final: Path) -> None:
        """Bring what will be at `path` to `final`, whatever will be there."""
        future = self.future
        occupant = future.now(final)
        if not future.has(final) or (occupant is not None and occupant == future.now(path)):
            future.rename(path, final)
        elif future.is_directory(path) and future.is_directory(final):
            self._unite(path, final)
        elif self._is_joined(final) and self._join(path, final):
            pass
        else:
            self._resolve(path, final)

    def set_aside(self, path: Path) -> None:
        """Into the backup with it."""
        self.future.rename(path, self.displaced / str(self._set_aside))
        self._set_aside += 1

    def changes(self) -> Iterator[FileChange]:
        """The changes of files that all this comes to."""
        landed = landings(self.future.steps)
        for path, draft in self.drafts.all():
            change = draft.change(landing_of(path, landed))
            if change is not None:
                yield change

    # -- uniting ---------------------------------------------------------------------------

    def _unite(self, path: Path, final: Path) -> None:
        # The index comes last: which entries it gets depends on which transcripts won.
        for name in sorted(self.future.names(path), key=lambda name: (name == INDEX, name)):
            self.bring(path / name, final / name)
        self.set_aside(path)

    def _is_joined(self, final: Path) -> bool:
        inside = final.relative_to(self.projects).parts[1:]
        return inside in ((INDEX,), (ALIASES,), (MEMORY, MEMORY_FILE))

    def _join(self, path: Path, final: Path) -> bool:
        """Give the document that is there what only the other has; False when that can't be."""
        ours_now, theirs_now = self.future.now(path), self.future.now(final)
        if ours_now is None or theirs_now is None or not both_files(ours_now, theirs_now):
            return False
        ours, theirs = self.drafts.needed(ours_now), self.drafts.needed(theirs_now)
        if final.name == INDEX:
            try:
                add_entries(theirs, entries_of(ours), self._replaced)
            except NotJsonError:
                return False
        else:
            theirs.appended += rewriter.appendix(theirs.content(), ours.content())
        ours.forget()
        self.set_aside(path)
        return True

    def _resolve(self, path: Path, final: Path) -> None:
        """Two things of one name meet: the same bytes are no conflict."""
        source, occupant = self.future.now(path), self.future.now(final)
        same = source is not None and occupant is not None and same_bytes(source, occupant)
        if same or self.on_conflict == "keep-new":
            self._forget(source)
            self.set_aside(path)
        elif self.on_conflict == "keep-old":
            self._forget(occupant)
            self.set_aside(final)
            self.future.rename(path, final)
            self._replaced.add(final.name.removesuffix(".jsonl"))
        else:
            self.conflicts.append((source or path, final))

    def _forget(self, now: Path | None) -> None:
        """What goes into the backup goes there as it is."""
        if now is not None:
            self.drafts.forget(now)


# -- comparing -------------------------------------------------------------------------


def mode_of(path: Path) -> int:
    return stat.S_IMODE(os.lstat(path).st_mode)


def both_files(one: Path, other: Path) -> bool:
    return all(stat.S_ISREG(os.lstat(path).st_mode) for path in (one, other))


def same_bytes(one: Path, other: Path) -> bool:
    """Whether both are regular files of the same content, or links to the same place."""
    first, second = os.lstat(one), os.lstat(other)
    if stat.S_ISLNK(first.st_mode) and stat.S_ISLNK(second.st_mode):
        return os.readlink(one) == os.readlink(other)
    if not both_files(one, other) or first.st_size != second.st_size:
        return False
    return all(a == b for a, b in zip_longest(_blocks(one), _blocks(other)))


def _blocks(path: Path) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while block := file.read(CHUNK):
            yield block
