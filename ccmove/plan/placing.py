"""Put things where they belong, merging with what is already there.

Directories are merged. The index, the aliases and MEMORY.md are joined. Of two
identical files one is retired to the backup, and so is one that is the beginning of
the other; two different ones both stay, the moved one under a name of its own. Only a
session that went on in two files is refused. Everything happens by renaming: a
directory that was emptied is retired as well, so that it can come back as the very
same one.
"""

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from ccmove.claude.reading import (
    Document,
    Fingerprint,
    ignores_case,
)
from ccmove.claude.state import ALIASES, INDEX, MEMORY, SESSION_ID, State
from ccmove.errors import RefusedError, StaleLookError
from ccmove.hints import again, look_at, to_type
from ccmove.plan.meeting import Relation, names_beside, relation, relation_of_texts
from ccmove.plan.model import LeftAlone, Operation, Write, WriteHistory
from ccmove.plan.tree import Tree, ends_of, folder_holds
from ccmove.rewrite import index, lines
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.text import as_bytes

MEMORY_FILE = "MEMORY.md"
PathMove = tuple[Path, Path]  # where it is, where it goes


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
        return as_bytes(self.text)

    @property
    def changes_something(self) -> bool:
        return self.document is not None and self.after != self.document.data


@dataclass(eq=False)
class Placer:
    """Plans the operations that bring things together;
    a session that went on in two files is a conflict.
    """

    state: State
    conflicts: list[PathMove] = field(default_factory=list)
    left_alone: list[LeftAlone] = field(default_factory=list)
    # Project directory on disk -> last part of the path whose data is in it.
    came_from: dict[Path, str] = field(default_factory=dict)
    # Where both stay: the name that they had, and the one of the moved one.
    kept_beside: list[PathMove] = field(default_factory=list)
    # Files that were compared or read.
    seen: dict[Path, Fingerprint] = field(default_factory=dict)
    _drafts: dict[Path, Draft] = field(default_factory=dict)  # by where each is now
    _made: dict[Path, Draft] = field(default_factory=dict)  # by where each will be
    _numbers: Iterator[int] = field(default_factory=count)  # of what is retired

    def __post_init__(self) -> None:
        self.layout = self.state.layout
        self.projects = self.layout.projects
        self.tree = Tree(ignores_case=ignores_case(self.projects))

    def leave(self, path: Path, what: str, *command: str) -> None:
        """It stays as it is, and is named."""
        self.left_alone.append(LeftAlone(str(path), what, command))

    # -- documents

    def draft(self, path: Path) -> Draft:
        """The text that is planned for the document that is at `path` now."""
        if path not in self._drafts:
            document = self.needed(path)
            self._drafts[path] = Draft(document.text, document)
        return self._drafts[path]

    def needed(self, path: Path) -> Document:
        document = self.state.document(path)
        if document is None:
            raise StaleLookError(f"{path} is gone", again("try again"))
        return document

    def draft_at(self, path: Path) -> Draft | None:
        """The draft of the file that will be at `path`; None when that is not a
        regular file.
        """
        now = self.tree.now(path)
        if now is None:
            return self._made.get(path)
        return self.draft(now) if is_file(now) else None

    def changes(self, path: Path) -> bool:
        """Whether the file that is at `path` now gets other content."""
        draft = self._drafts.get(path)
        return draft is not None and draft.changes_something

    def add(self, text: str, source: Path, final: Path, mode: int) -> None:
        """A text from `source` is made a file at `final`, or joins the one that will be
        there; where that is another one, both stay.
        """
        if self._add_lacking(text, final):
            return
        if self._has_text(text, final):
            return
        file = final
        names = self._names_beside(source, final)
        while self.tree.has(file):
            file = next(names)
            if self._has_text(text, file):
                return
        self.tree.add_file(file)
        self._made[file] = Draft(text, mode=mode)
        if file != final:
            self.kept_beside.append((final, file))

    def _has_text(self, text: str, file: Path) -> bool:
        """Whether what will be at `file` has all of the text; what is the beginning of
        it gets the rest.
        """
        if self._is_empty(file):
            self.retire(file)
        there = self.draft_at(file) if self.tree.has(file) else None
        if there is None:
            return False
        if text.startswith(there.text):
            there.text = text
        return there.text.startswith(text)

    def operations(self, prompts: WriteHistory | None) -> tuple[Operation, ...]:
        """All of it in order: what the client has locks for comes first, files that are
        made come last, with their directories there.
        """
        locked: list[Operation] = []
        others: list[Operation] = []
        made: list[Operation] = []
        for write in self.writes():
            row = others
            if write.is_locked:
                row = locked
            row.append(write)
        made += self._files_made()
        if prompts is not None and prompts.scan.lines:
            row = made if prompts.is_made else locked
            row.append(prompts)
        return (*locked, *others, *self.tree.operations, *made)

    def _files_made(self) -> Iterator[Write]:
        for path, draft in self._made.items():
            form = self._form(path)
            yield Write(path, path, form, None, draft.after, mode=draft.mode)

    def writes(self) -> Iterator[Write]:
        """What all this changes in documents that are on disk."""
        moved = self.tree.moved()
        for path, draft in self._drafts.items():
            document = draft.document
            if document is None or not draft.changes_something:
                continue
            ends = ends_of(path, moved)
            yield Write(
                path,
                ends,
                self._form(path, ends),
                document.data,
                draft.after,
                document.seen,
                mtime_ns=draft.mtime_ns,
            )

    def _form(self, *paths: Path) -> str:
        """What the document at these paths is; the name of an index that is
        kept beside another begins like that.
        """
        if self.layout.real_config_file in paths:
            return "config"
        stem = Path(INDEX).stem
        for path in paths:
            if path.name.startswith(stem) and path.parent.parent == self.projects:
                return "index"
        return "other"

    # -- files and directories

    def bring_all(self, moves: Iterable[PathMove]) -> None:
        """Bring project directories to others, as if at one moment."""
        parked = self.layout.run_dir / "parked"
        for path, final in in_order(moves, lambda _, number: parked / str(number)):
            self.bring(path, final)

    def make_directory(self, path: Path, model: Path) -> None:
        """One with the mode of `model`, unless there will be one."""
        if not self.tree.has(path):
            self.tree.make_directory(path, mode_of(model))

    def bring(self, path: Path, final: Path) -> None:
        """Bring what will be at `path` to `final`, whatever will be there."""
        tree = self.tree
        if not tree.has(final) or tree.is_same(path, final):
            tree.rename(path, final)
            return
        if self._are_directories(path, final):
            for name in tree.names(path):
                self.bring(path / name, final / name)
            self.retire(path)
            return
        if final.parent == self.projects:
            what = f"{final} is not a directory"
            raise RefusedError(what, look_at(final))
        if not self._became_one(path, final):
            self._keep_both(path, final)

    def bring_again(self, path: Path, final: Path) -> None:
        """To a directory that its owner or the client may have removed since."""
        self.make_parents(final)
        self.bring(path, final)

    def make_parents(self, path: Path) -> None:
        """The directories above it that are gone."""
        for parent in reversed(path.parents):
            is_ours = parent.is_relative_to(self.layout.run_dir)
            if not self.tree.has(parent) and not is_ours:
                self.tree.make_directory(parent, 0o700)

    def _are_directories(self, path: Path, final: Path) -> bool:
        return self.tree.is_directory(path) and self.tree.is_directory(final)

    def retire(self, path: Path) -> Path:
        """Into the backup with it, as it is; where it is kept."""
        now = self.tree.now(path)
        is_directory = self.tree.is_directory(path)
        if now is not None and not is_directory:
            self._look_at(now)
        self._drafts.pop(now or path, None)
        backup = self.layout.run_dir / "retired"
        number = next(self._numbers)
        retired = backup / str(number)
        self.tree.rename(path, retired)
        return retired

    def _look_at(self, file: Path) -> None:
        """What is decided from this file holds only as long as it stays as it is; to be
        called before it is read, or with its draft at hand.
        """
        draft = self._drafts.get(file)
        if file in self.seen:
            return
        if draft is not None and draft.document is not None:
            self.seen[file] = draft.document.seen
        else:
            status = os.lstat(file)
            self.seen[file] = Fingerprint.of(status)

    def _is_joined(self, final: Path) -> bool:
        """Whether two documents of this name become one."""
        if not final.is_relative_to(self.projects):
            return False
        inside = final.relative_to(self.projects).parts[1:]
        return inside in ((INDEX,), (ALIASES,), (MEMORY, MEMORY_FILE))

    def _add_lacking(self, text: str, final: Path) -> bool:
        """Add to the document at `final` what only the text has;
        False if that can't be.
        """
        if not self._is_joined(final):
            return False
        there = self.draft_at(final)
        if there is None:
            return False
        try:
            if final.name == INDEX:
                there.text = index.with_entries(there.text, index.entries(text))
            else:
                there.text = lines.appended(there.text, text)
        except NotJsonError:
            return False
        return True

    def _became_one(self, path: Path, final: Path) -> bool:
        """Make one of two that are joined or equal, or of which one is the beginning
        of the other; False where they differ.
        """
        if self._is_joined(final):
            ours = self.draft_at(path)
            if ours is not None and self._add_lacking(ours.text, final):
                self.retire(path)
                return True
        moved = self._relation(path, final)
        if moved is Relation.DIFFERENT:
            return False
        if moved is Relation.LONGER:
            self.retire(final)
            self.tree.rename(path, final)
        else:
            self.retire(path)
        return True

    def _relation(self, path: Path, final: Path) -> Relation:
        """What the moved one will be to the other; an empty directory is nothing."""
        if self._is_empty(path):
            return Relation.BEGINNING
        if self._is_empty(final):
            return Relation.LONGER
        if self.tree.is_directory(path) or self.tree.is_directory(final):
            return Relation.DIFFERENT
        moved = self.tree.now(path)
        there = self.tree.now(final)
        if moved is None or there is None:
            return self._relation_of_drafts(path, final)
        if moved in self._drafts or there in self._drafts:
            return self._relation_of_drafts(path, final)
        self._look_at(moved)
        self._look_at(there)
        return relation(moved, there)

    def _relation_of_drafts(self, path: Path, final: Path) -> Relation:
        """Where what is on disk is not what will be."""
        ours = self.draft_at(path)
        theirs = self.draft_at(final)
        if ours is None or theirs is None:
            return Relation.DIFFERENT
        return relation_of_texts(ours.after, theirs.after)

    def _is_empty(self, path: Path) -> bool:
        """Whether it will be a directory without a file in it, at any depth."""
        if not self.tree.is_directory(path):
            return False
        return next(self.tree.files_below(path), None) is None

    def _keep_both(self, path: Path, final: Path) -> None:
        """Two different things of one name: the moved one gets another.

        Not so a session, which is its name: that is a conflict.
        """
        if self._is_session(final):
            moved = self.tree.now(path) or path
            self.conflicts.append((moved, final))
            return
        for beside in self._names_beside(path, final):
            if not self.tree.has(beside):
                self.tree.rename(path, beside)
                self.kept_beside.append((final, beside))
                return
            # An earlier merge may have kept it there.
            if self._are_directories(path, beside):
                self.bring(path, beside)
                return
            if self._became_one(path, beside):
                return

    def _is_session(self, final: Path) -> bool:
        is_transcript = final.suffix == ".jsonl" and SESSION_ID.fullmatch(final.stem)
        return bool(is_transcript) and final.parent.parent == self.projects

    def _names_beside(self, source: Path, final: Path) -> Iterator[Path]:
        """The names for the moved one, the best first;
        that of a directory has no suffix.
        """
        origin = self._origin(self.tree.now(source) or source)
        has_suffix = not self.tree.is_directory(source)
        for name in names_beside(final.name, origin, has_suffix=has_suffix):
            yield final.with_name(name)

    def _origin(self, now: Path) -> str:
        """The last part of the path whose data this is."""
        for above in now.parents:
            if above in self.came_from:
                return self.came_from[above]
        return "elsewhere"

    def rename_folder(self, path: Path, target: Path) -> None:
        """A project's own folder, which is never merged with anything."""
        now = self.tree.now(path) or path
        occupant = self.tree.now(target)
        is_taken = occupant is not None and not os.path.samefile(occupant, now)
        if is_taken:
            raise RefusedError(
                f"{target} exists, so {path} can't be renamed to it",
                again("move one of the two away, then try again"),
            )
        written = [write.path for write in self.writes()]
        holds = folder_holds(now, written)
        self.tree.rename(path, target, holds)


def refuse_conflicts(placer: Placer) -> None:
    """A session that went on in two files: all turns of both are needed."""
    conflicts = placer.conflicts
    if not conflicts:
        return
    first = conflicts[0][0]
    what = f"one session went on in two files: {first}"
    if len(conflicts) > 1:
        what += f" and {len(conflicts) - 1} more"
    raise RefusedError(
        what,
        to_type("ccmove", "doctor", first.stem, text="which turns are where"),
        details=[f"{moved}  differs from  {there}" for moved, there in conflicts],
    )


def in_order(
    moves: Iterable[PathMove], parked: Callable[[Path, int], Path]
) -> Iterator[PathMove]:
    """The renames that do all of them: a chain, a swap, or one inside another.

    In a swap one is parked for a while, where `parked` says.
    """
    waiting = list(moves)
    numbers = count()
    spaces: set[Path] = set()
    while waiting:
        ready = _ready(waiting)
        yield from ready
        waiting = [move for move in waiting if move not in ready]
        if ready:
            continue
        # All wait for each other.
        around = _around(waiting)
        still = [move for move in waiting if move[0] not in spaces]
        first = next(move for move in still if not around[move[0]])
        path, target = first
        space = parked(path, next(numbers))
        spaces.add(space)
        yield path, space
        waiting[waiting.index(first)] = (space, target)


def _ready(waiting: list[PathMove]) -> dict[PathMove, None]:
    """Those that nothing is to leave any more, and whose target is free and there.

    Nothing is to leave a target either that is there: the two would be one by then.
    """
    sources = {path for path, _ in waiting}
    targets = {target for _, target in waiting}
    around = _around(waiting)
    ready: dict[PathMove, None] = {}  # in order, and quick to look up
    for path, target in waiting:
        is_inside = target in path.parents
        if around[path] or around[target] > is_inside:
            continue
        if not targets.isdisjoint(target.parents):
            continue
        on_the_way = {target, *target.parents} - {path}
        if sources.isdisjoint(on_the_way):
            ready[path, target] = None
    return ready


def _around(waiting: list[PathMove]) -> Counter[Path]:
    """The directories in which something is that waits, and how much."""
    around: Counter[Path] = Counter()
    for path, _ in waiting:
        around.update(path.parents)
    return around


def mode_of(path: Path) -> int:
    return stat.S_IMODE(os.lstat(path).st_mode)


def is_file(path: Path) -> bool:
    """Whether it is a regular file itself; a link to one is not."""
    return stat.S_ISREG(os.lstat(path).st_mode)
