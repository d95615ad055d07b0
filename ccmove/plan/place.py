"""Put things where they belong, merging with what is already there.

Directories are merged. The index, the aliases and MEMORY.md are joined; of two
identical files one is set aside in the backup, and so is what loses where two different
ones meet. Everything happens by renaming: a directory that was emptied is set aside as
well, so that it can come back as the very same one.
"""

import filecmp
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.reading import Document, Fingerprint, ignores_case, read_document
from ccmove.claude.state import ALIASES, INDEX, MEMORY, SESSION_ID
from ccmove.errors import Hint, RefusedError, StaleLookError, again, look_at, run
from ccmove.plan.model import LeftAlone, Operation, Write, WriteHistory
from ccmove.plan.tree import Tree, ends_of, folder_holds
from ccmove.rewrite import index, other
from ccmove.rewrite.jsonspan import NotJsonError

MEMORY_FILE = "MEMORY.md"
Move = tuple[Path, Path]  # where it is, where it goes


@dataclass(slots=True)
class Draft:
    """A text that is planned,
    for a document that is on disk now or for one that is made.
    """

    text: str
    document: Document | None = None
    mode: int = 0o600  # of one that is made
    mtime_ns: int | None = None

    @property
    def after(self) -> bytes:
        return self.text.encode("utf-8", "surrogateescape")


class Placer:
    """Plans the operations that bring things together;
    what can't be decided is a conflict.
    """

    def __init__(self, layout: Layout, on_conflict: str = "refuse") -> None:
        self.layout = layout
        self.projects = layout.projects
        self.on_conflict = on_conflict
        self.tree = Tree(ignores_case=ignores_case(layout.projects))
        self.conflicts: list[tuple[Path, Path]] = []
        self.left_alone: list[LeftAlone] = []
        self.losers: dict[Path, Path] = {}  # where each is kept, and where it was
        self._drafts: dict[Path, Draft] = {}  # by where each document is now
        self._made: dict[Path, Draft] = {}  # by where each will be
        self.seen: dict[Path, Fingerprint] = {}  # files that are set aside
        self._set_aside = count()

    def leave(self, path: Path, what: str, *command: str) -> None:
        """It stays as it is, and is named."""
        self.left_alone.append(LeftAlone(str(path), what, command))

    def draft(self, path: Path, known: Document | None = None) -> Draft:
        if path not in self._drafts:
            document = known or needed(path)
            self._drafts[path] = Draft(document.text, document)
        return self._drafts[path]

    def draft_at(self, path: Path) -> Draft | None:
        """The draft of the file that will be at `path`;
        None when that is not a regular file.
        """
        now = self.tree.now(path)
        if now is None:
            return self._made.get(path)
        return self.draft(now) if is_file(now) else None

    def add(self, text: str, source: Path, final: Path, mode: int) -> None:
        """A text from `source` is made a file at `final`,
        or joins the one that will be there.
        """
        there = self.draft_at(final)
        is_in = self._add_lacking(text, final) or (
            there is not None and there.text == text
        )
        if not is_in and self._takes(source, final):
            self.tree.add_file(final)
            self._made[final] = Draft(text, mode=mode)

    def operations(self, prompts: WriteHistory | None) -> tuple[Operation, ...]:
        """All of it in order: what the client has locks for comes first, files that are
        made come last, with their directories there.
        """
        replaced: list[Write | WriteHistory] = [*self.writes()]
        if prompts and prompts.scan.lines:
            replaced.append(prompts)
        replaced.sort(key=lambda op: isinstance(op, Write) and not op.is_locked)
        made = [
            Write(path, path, self._place(path), None, draft.after, mode=draft.mode)
            for path, draft in self._made.items()
        ]
        return (*replaced, *self.tree.operations, *made)

    def writes(self) -> Iterator[Write]:
        """What all this changes in documents that are on disk."""
        moved = self.tree.moved()
        for path, draft in self._drafts.items():
            document, after, ends = draft.document, draft.after, ends_of(path, moved)
            if document is not None and after != document.data:
                place, before, seen = (
                    self._place(path, ends),
                    document.data,
                    document.seen,
                )
                yield Write(
                    path, ends, place, before, after, seen, mtime_ns=draft.mtime_ns
                )

    def _place(self, *paths: Path) -> str:
        if self.layout.real_config_file in paths:
            return "config"
        is_index = any(
            p.name == INDEX and p.parent.parent == self.projects for p in paths
        )
        return "index" if is_index else "other"

    def bring(self, path: Path, final: Path) -> None:
        """Bring what will be at `path` to `final`, whatever will be there."""
        tree = self.tree
        if not tree.has(final) or tree.is_same(path, final):
            tree.rename(path, final)
        elif tree.is_directory(path) and tree.is_directory(final):
            for name in tree.names(path):
                self.bring(path / name, final / name)
            self.set_aside(path)
        elif final.parent == self.projects:
            raise RefusedError(f"{final} is not a directory", look_at(final))
        else:
            ours = self.draft_at(path) if self.is_joined(final) else None
            if ours is not None and self._add_lacking(ours.text, final):
                self.set_aside(path)
            else:
                self._resolve(path, final)

    def set_aside(self, path: Path) -> Path:
        """Into the backup with it, as it is; where it is kept."""
        now = self.tree.now(path)
        draft = self._drafts.pop(now or path, None)
        if now is not None and not self.tree.is_directory(path):
            read = draft.document if draft is not None else None
            self.seen[now] = (
                read.seen if read is not None else Fingerprint.of(os.lstat(now))
            )
        aside = self.layout.run / "aside" / str(next(self._set_aside))
        self.tree.rename(path, aside)
        return aside

    def _lose(self, path: Path) -> None:
        """Set aside what is kept nowhere else:
        that backup is not pruned with the others.
        """
        now = self.tree.now(path) or path
        self.losers[self.set_aside(path)] = now

    def is_joined(self, final: Path) -> bool:
        """Whether two documents of this name become one."""
        if not final.is_relative_to(self.projects):
            return False
        inside = final.relative_to(self.projects).parts[1:]
        return inside in ((INDEX,), (ALIASES,), (MEMORY, MEMORY_FILE))

    def _add_lacking(self, text: str, final: Path) -> bool:
        """Add to the document at `final` what only the text has;
        False if that can't be.
        """
        there = self.draft_at(final) if self.is_joined(final) else None
        if there is None:
            return False
        try:
            if final.name == INDEX:
                there.text = index.with_entries(there.text, index.entries(text))
            else:
                there.text = other.appended(there.text, text)
        except NotJsonError:
            return False
        return True

    def _resolve(self, path: Path, final: Path) -> None:
        """Two things of one name meet: the same bytes are not a conflict."""
        source, occupant = self.tree.now(path), self.tree.now(final)
        are_files = source and occupant and is_file(source) and is_file(occupant)
        if (
            source
            and occupant
            and are_files
            and filecmp.cmp(source, occupant, shallow=False)
        ):
            self.set_aside(path)
        elif self.on_conflict == "keep-new":
            self._lose(path)
        elif self._takes(source or path, final):
            self.tree.rename(path, final)

    def _takes(self, source: Path, final: Path) -> bool:
        """Whether something can get this place; what is there loses it,
        or that is a conflict.
        """
        if not self.tree.has(final):
            return True
        if self.on_conflict == "refuse":
            self.conflicts.append((source, final))
        elif self.on_conflict == "keep-old" and self.tree.now(final) is not None:
            self._lose(final)
        return self.on_conflict == "keep-old"

    def rename_folder(self, path: Path, target: Path) -> None:
        """A project's own folder, which is never merged with anything."""
        now, occupant = self.tree.now(path) or path, self.tree.now(target)
        if occupant is not None and not os.path.samefile(occupant, now):
            raise RefusedError(
                f"{target} exists, so {path} can't be renamed to it",
                again("move one of the two away, then try again"),
            )
        self.tree.rename(
            path, target, folder_holds(now, [write.path for write in self.writes()])
        )


def refuse_conflicts(placer: Placer, *hints: Hint) -> None:
    """The hints are for files of which one can be chosen;
    of a conversation both are needed.
    """
    if not placer.conflicts:
        return
    listed = [
        f"{source}  differs from  {target}" for source, target in placer.conflicts
    ]
    more = f" and {len(listed) - 1} more" if len(listed) > 1 else ""
    split = [
        path.stem for path, _ in placer.conflicts if SESSION_ID.fullmatch(path.stem)
    ]
    if split:
        see = "one conversation in two files: see it with"
        hints = (run("ccmove", "doctor", split[0], text=see),)
    what = f"files of the same name differ: {placer.conflicts[0][0]}{more}"
    raise RefusedError(what, *hints, details=listed)


def in_order(
    moves: Iterable[Move], parked: Callable[[Path, int], Path]
) -> Iterator[Move]:
    """The renames that do all of them: a chain, a swap, or one inside another.

    In a swap one steps aside for a while, to where `parked` says.
    """
    waiting = list(moves)  # each until its place is free and there
    numbers = count()
    while waiting:
        sources = {path for path, _ in waiting}
        targets = {target for _, target in waiting}
        around = {
            above for path in sources for above in path.parents
        }  # something is to leave it
        ready = [
            (path, target)
            for path, target in waiting
            if path not in around
            and targets.isdisjoint(target.parents)
            and sources.isdisjoint({target, *target.parents} - {path})
        ]
        yield from ready
        waiting = [move for move in waiting if move not in ready]
        if not ready:  # all wait for each other
            first = next(i for i, (path, _) in enumerate(waiting) if path not in around)
            path, target = waiting[first]
            aside = parked(path, next(numbers))
            yield path, aside
            waiting[first] = (aside, target)


def needed(path: Path) -> Document:
    document = read_document(path)
    if document is None:
        raise StaleLookError(f"{path} is gone", again("try again"))
    return document


def mode_of(path: Path) -> int:
    return stat.S_IMODE(os.lstat(path).st_mode)


def is_file(path: Path) -> bool:
    """Whether it is a regular file itself; a link to one is not."""
    return stat.S_ISREG(os.lstat(path).st_mode)
