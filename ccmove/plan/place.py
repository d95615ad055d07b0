"""Bring things to their places, into what is there already.

Directories are merged. The index, the aliases and MEMORY.md are joined; of two identical files
one is set aside in the backup, and so is what loses where two different ones meet. Everything
happens by renaming: a directory that was emptied is set aside as well, so that it can come back
as the very same one.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.reading import Document, ignores_case, read_document
from ccmove.claude.state import ALIASES, INDEX, MEMORY, SESSION_ID
from ccmove.errors import RefusedError, StaleLookError, again, run
from ccmove.plan.model import PARKED, Write
from ccmove.plan.tree import Tree, ends_of
from ccmove.rewrite import index, other
from ccmove.rewrite.jsonspan import NotJsonError

MEMORY_FILE = "MEMORY.md"
CHUNK = 1 << 20
Move = tuple[Path, Path]  # where it is, where it goes


class Draft:
    """A document that is on disk now, and the text that is planned for it."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.text = document.text
        self.mtime_ns: int | None = None

    def forget(self) -> None:
        """It is set aside: the backup gets it as it is."""
        self.text, self.mtime_ns = self.document.text, None

    def write(self, ends: Path) -> Write | None:
        """The operation that this comes to; None when the bytes stay the same."""
        after = self.text.encode("utf-8", "surrogateescape")
        if after == self.document.data:
            return None
        path = self.document.path
        place = "index" if INDEX in (path.name, ends.name) else "other"
        before, seen = self.document.data, self.document.seen
        return Write(path, ends, place, before, after, seen, mtime_ns=self.mtime_ns)


class Placer:
    """Plans the operations that bring things together; what can't be decided is a conflict."""

    def __init__(self, layout: Layout, on_conflict: str = "refuse") -> None:
        self.projects = layout.projects
        self.run = layout.run
        self.on_conflict = on_conflict
        self.tree = Tree(ignores_case=ignores_case(layout.projects))
        self.conflicts: list[tuple[Path, Path]] = []
        self.only_copies: list[Path] = []
        self._drafts: dict[Path, Draft] = {}  # by where each document is now
        self._set_aside = 0
        self._parked = 0
        self._replaced: set[str] = set()  # sessions whose transcript was replaced

    # -- documents -------------------------------------------------------------------------

    def draft(self, path: Path, known: Document | None = None) -> Draft | None:
        """The draft of the document that is at `path` now, None when there is no such file."""
        if path not in self._drafts:
            document = known or read_document(path)
            if document is None:
                return None
            self._drafts[path] = Draft(document)
        return self._drafts[path]

    def needed(self, path: Path) -> Draft:
        """The draft of a document that was seen to be there a moment ago."""
        draft = self.draft(path)
        if draft is None:
            raise StaleLookError(f"{path} is gone", again("run it again"))
        return draft

    def writes(self) -> Iterator[Write]:
        """What all this changes in documents."""
        moved = self.tree.moved()
        for path, draft in self._drafts.items():
            write = draft.write(ends_of(path, moved))
            if write is not None:
                yield write

    # -- places ----------------------------------------------------------------------------

    def bring(self, path: Path, final: Path) -> None:
        """Bring what will be at `path` to `final`, whatever will be there."""
        tree = self.tree
        occupant = tree.now(final)
        if not tree.has(final) or (occupant is not None and occupant == tree.now(path)):
            tree.rename(path, final)
        elif tree.is_directory(path) and tree.is_directory(final):
            self._merge(path, final)
        elif not (self._is_joined(final) and self._join(path, final)):
            self._resolve(path, final)

    def set_aside(self, path: Path, *, only_copy: bool = False) -> None:
        """Into the backup with it; the only copy of something is kept when others are pruned."""
        aside = self.run / "aside" / str(self._set_aside)
        self._set_aside += 1
        self.tree.rename(path, aside)
        if only_copy:
            self.only_copies.append(aside)

    def park(self, path: Path) -> Path:
        """Out of the way for a while; where it is meanwhile."""
        parked = self.run / "parked" / str(self._parked)
        self._parked += 1
        self.tree.rename(path, parked)
        return parked

    def _merge(self, path: Path, final: Path) -> None:
        # The index comes last: which entries it gets depends on which transcripts won.
        for name in sorted(self.tree.names(path), key=lambda name: (name == INDEX, name)):
            self.bring(path / name, final / name)
        self.set_aside(path)

    def _is_joined(self, final: Path) -> bool:
        if not final.is_relative_to(self.projects):
            return False
        inside = final.relative_to(self.projects).parts[1:]
        return inside in ((INDEX,), (ALIASES,), (MEMORY, MEMORY_FILE))

    def _join(self, path: Path, final: Path) -> bool:
        """Give the document that is there what only the other has; False when that can't be."""
        ours_now, theirs_now = self.tree.now(path), self.tree.now(final)
        if ours_now is None or theirs_now is None or not both_files(ours_now, theirs_now):
            return False
        ours, theirs = self.needed(ours_now), self.needed(theirs_now)
        if final.name == INDEX:
            try:
                coming = index.entries(ours.text)
                theirs.text = index.with_entries(theirs.text, coming, self._replaced)
            except NotJsonError:
                return False
        else:
            theirs.text = other.appended(theirs.text, ours.text)
        ours.forget()
        self.set_aside(path)
        return True

    def _resolve(self, path: Path, final: Path) -> None:
        """Two things of one name meet: the same bytes are no conflict."""
        source, occupant = self.tree.now(path), self.tree.now(final)
        same = source is not None and occupant is not None and same_bytes(source, occupant)
        if same or self.on_conflict == "keep-new":
            self._forget(source)
            self.set_aside(path, only_copy=not same)
        elif self.on_conflict == "keep-old":
            self._forget(occupant)
            self.set_aside(final, only_copy=True)
            self.tree.rename(path, final)
            self._replaced.add(final.name.removesuffix(".jsonl"))
        else:
            self.conflicts.append((source or path, final))

    def _forget(self, now: Path | None) -> None:
        if now in self._drafts:
            self._drafts[now].forget()

    # -- project folders ---------------------------------------------------------------------

    def rename_folders(self, moves: Iterable[Move], written: Iterable[Path] = ()) -> None:
        """Rename the projects' own folders, which are never merged with anything."""

        def park(path: Path) -> Path:
            aside = path.with_name(f"{PARKED}{self._parked}")
            self._parked += 1
            self.tree.rename_folder(path, aside, written)
            return aside

        def rename(path: Path, target: Path) -> None:
            occupant = self.tree.now(target)
            if occupant is not None and not os.path.samefile(occupant, self.tree.now(path) or path):
                raise RefusedError(
                    f"{target} exists, so {path} can't be renamed to it",
                    again("move one of the two away, then run it again"),
                )
            self.tree.rename_folder(path, target, written)

        arrange(moves, rename, park)


def refuse_conflicts(placer: Placer) -> None:
    if not placer.conflicts:
        return
    listed = [f"{source}  differs from  {target}" for source, target in placer.conflicts]
    more = f" and {len(listed) - 1} more" if len(listed) > 1 else ""
    first = placer.conflicts[0][0]
    for source, _ in placer.conflicts:
        if SESSION_ID.fullmatch(source.stem):  # to keep one of the two would discard turns
            see = run("ccmove", "doctor", source.stem, text="see which turns are in which")
            raise RefusedError(f"one conversation is in two files: {source}", see, details=listed)
    raise RefusedError(
        f"files of the same name differ: {first}{more}; what loses would stay in the backup",
        again("to keep those of the new path", ["--on-conflict", "keep-new"]),
        again("to keep those of the old path", ["--on-conflict", "keep-old"]),
        details=listed,
    )


# -- the order in which nothing is in another's way ----------------------------------------------


def arrange(
    moves: Iterable[Move], bring: Callable[[Path, Path], None], park: Callable[[Path], Path]
) -> None:
    """Bring everything to its place: a chain, a swap, or one inside another.

    Each move waits until its place is free and there; where all wait for each other, one is
    parked first.
    """
    waiting = list(moves)
    while waiting:
        places = Counter(path for path, _ in waiting)
        targets = Counter(target for _, target in waiting)
        inside = Counter(above for path, _ in waiting for above in path.parents)

        def is_ready(
            move: Move,
            places: Counter[Path] = places,
            targets: Counter[Path] = targets,
            inside: Counter[Path] = inside,
        ) -> bool:
            path, target = move
            taken = any(places[p] - (p == path) for p in (target, *target.parents))
            missing = any(targets[p] for p in target.parents)
            return not (taken or missing or inside[path])

        ready = [move for move in waiting if is_ready(move)]
        for path, target in ready:
            bring(path, target)
        waiting = [move for move in waiting if move not in ready]
        if not ready:
            first = next(i for i, (path, _) in enumerate(waiting) if not inside[path])
            waiting[first] = (park(waiting[first][0]), waiting[first][1])


# -- comparing -------------------------------------------------------------------------


def mode_of(path: Path) -> int:
    return stat.S_IMODE(os.lstat(path).st_mode)


def both_files(one: Path, another: Path) -> bool:
    return all(stat.S_ISREG(os.lstat(path).st_mode) for path in (one, another))


def same_bytes(one: Path, another: Path) -> bool:
    """Whether both are regular files of the same content, or links to the same place."""
    first, second = os.lstat(one), os.lstat(another)
    if stat.S_ISLNK(first.st_mode) and stat.S_ISLNK(second.st_mode):
        return os.readlink(one) == os.readlink(another)
    if not both_files(one, another) or first.st_size != second.st_size:
        return False
    return all(a == b for a, b in zip_longest(_blocks(one), _blocks(another)))


def _blocks(path: Path) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while block := file.read(CHUNK):
            yield block
