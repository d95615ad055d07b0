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

from ccmove.claude.reading import Document, Fingerprint, ignores_case
from ccmove.claude.state import ALIASES, INDEX, MEMORY, SESSION_ID, State
from ccmove.errors import RefusedError, StaleLookError
from ccmove.hints import again, look_at, to_type
from ccmove.plan.meeting import (
    Content,
    Relation,
    is_file,
    last_part,
    names_beside,
    relation,
)
from ccmove.plan.model import (
    LeftAlone,
    Mkdir,
    Operation,
    Rename,
    Write,
    WriteHistory,
)
from ccmove.plan.tree import Draft, Tree, ends_of, folder_holds
from ccmove.rewrite import index, lines
from ccmove.rewrite.jsonspan import NotJsonError

MEMORY_FILE = "MEMORY.md"
PathMove = tuple[Path, Path]  # where it is, where it goes

# Of which a project directory has one: how the text of one that comes joins it.
JOINED: dict[tuple[str, ...], Callable[[str, str], str]] = {
    (INDEX,): index.joined,
    (ALIASES,): lines.appended,
    (MEMORY, MEMORY_FILE): lines.appended,
}


@dataclass(eq=False)
class Placer:
    """Plans the operations that bring things together;
    a session that went on in two files is a conflict.
    """

    state: State
    conflicts: list[PathMove] = field(default_factory=list)
    left_alone: list[LeftAlone] = field(default_factory=list)
    # Where things are now -> the path whose data they are.
    came_from: dict[Path, str] = field(default_factory=dict)
    # Where both stay: the name that they had, and the one of the moved one.
    kept_beside: list[PathMove] = field(default_factory=list)
    # Files that were compared or read.
    seen: dict[Path, Fingerprint] = field(default_factory=dict)
    _drafts: dict[Path, Draft] = field(default_factory=dict)  # by where each is now
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
        """The document that is at `path` now, and has to be as it is until the run."""
        document = self.state.document(path)
        if document is None:
            raise StaleLookError(f"{path} is gone", again("try again"))
        self.seen.setdefault(path, document.seen)
        return document

    def draft_at(self, path: Path) -> Draft | None:
        """The draft of the file that will be at `path`; None when that is not a
        regular file.
        """
        now = self.tree.now(path)
        if now is not None and is_file(now):
            return self.draft(now)
        return self.tree.draft(path)

    def add(self, text: str, source: Path, final: Path, mode: int) -> None:
        """A text from `source` is brought to `final` as if it were a file."""
        file = self.layout.run_dir / "made" / str(next(self._numbers))
        self.came_from[file] = self._whose(source)
        self.tree.add_file(file, Draft(text, mode=mode))
        self.bring(file, final)

    def writes(self) -> Iterator[Write]:
        """What all this changes in documents that are on disk, and which it makes."""
        moved = self.tree.moved()
        for path, draft in self._drafts.items():
            document = draft.document
            if document is None or draft.after == document.data:
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
        for path, draft in self.tree.drafts():
            form = self._form(path)
            yield Write(path, path, form, None, draft.after, mode=draft.mode)

    def operations(self, prompts: WriteHistory | None) -> tuple[Operation, ...]:
        """All of it in order."""
        operations: list[Operation] = [*self.writes(), *self.tree.operations]
        if prompts is not None and prompts.scan.lines:
            operations.append(prompts)
        operations.sort(key=_turn)
        return tuple(operations)

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
        steps = in_order(moves, lambda _, number: parked / str(number))
        for path, final in steps:
            self.bring(path, final)

    def make_directory(self, path: Path, model: Path) -> None:
        """One with the mode of `model`, unless there will be one."""
        if not self.tree.has(path):
            self.tree.make_directory(path, mode_of(model))

    def make_directories(self, path: Path) -> None:
        """What is missing of a directory and of those that it is in, which its owner or
        the client may have removed; a run makes its own itself.
        """
        if not self.tree.has(path) and not path.is_relative_to(self.layout.run_dir):
            self.make_directories(path.parent)
            self.tree.make_directory(path, 0o700)

    def bring(self, path: Path, final: Path) -> None:
        """Bring what will be at `path` to `final`, whatever will be there.

        Two different things of one name both stay: the moved one gets another. Not so a
        session, which is its name: that is a conflict.
        """
        tree = self.tree
        if tree.is_same(path, final):
            tree.rename(path, final)
            return
        for place in self._places(path, final):
            if not tree.has(place):
                self.make_directories(place.parent)
                tree.rename(path, place)
                if place != final:
                    self.kept_beside.append((final, place))
                return
            if tree.is_directory(path) and tree.is_directory(place):
                for name in tree.names(path):
                    self.bring(path / name, place / name)
                self.retire(path)
                return
            if place.parent == self.projects:
                what = f"{place} is not a directory"
                raise RefusedError(what, look_at(place))
            if self._became_one(path, place):
                return
            if self._is_session(place):
                self.conflicts.append((tree.now(path) or path, place))
                return

    def _places(self, path: Path, final: Path) -> Iterator[Path]:
        """Where it may go, the best first: an earlier merge may have kept it there. A
        directory has no suffix.
        """
        yield final
        origin = last_part(self._whose(path))
        has_suffix = not self.tree.is_directory(path)
        for name in names_beside(final.name, origin, has_suffix=has_suffix):
            yield final.with_name(name)

    def _whose(self, path: Path) -> str:
        """The path whose data this is."""
        now = self.tree.now(path) or path
        for above in (now, *now.parents):
            if above in self.came_from:
                return self.came_from[above]
        return "elsewhere"

    def retire(self, path: Path) -> None:
        """Into the backup with it, as it is; what was only planned is dropped."""
        if self.tree.draft(path) is not None:
            self.tree.remove(path)
            return
        now = self.tree.now(path) or path
        if not self.tree.is_directory(path):
            self._look_at(now)
        self._drafts.pop(now, None)
        backup = self.layout.run_dir / "retired"
        number = next(self._numbers)
        kept = backup / str(number)
        self.tree.rename(path, kept)

    def _look_at(self, file: Path) -> None:
        """What is decided from this file holds only as long as it stays as it is; to be
        called before it is read.
        """
        if file not in self.seen:
            status = os.lstat(file)
            self.seen[file] = Fingerprint.of(status)

    def _became_one(self, path: Path, final: Path) -> bool:
        """Make one of two that are joined or equal, or of which one is the beginning
        of the other; False where they differ.
        """
        moved = Relation.BEGINNING
        if not self._is_joined(path, final):
            moved = self._relation(path, final)
        if moved is Relation.LONGER:
            self.retire(final)
            self.tree.rename(path, final)
        elif moved is Relation.BEGINNING:
            self.retire(path)
        return moved is not Relation.DIFFERENT

    def _is_joined(self, path: Path, final: Path) -> bool:
        """Join the document at `path` to the one at `final`; False if that can't be."""
        join = None
        if final.is_relative_to(self.projects):
            _, *inside = final.relative_to(self.projects).parts
            join = JOINED.get(tuple(inside))
        if join is None:
            return False
        ours = self.draft_at(path)
        theirs = self.draft_at(final)
        if ours is None or theirs is None:
            return False
        try:
            theirs.text = join(theirs.text, ours.text)
        except NotJsonError:
            return False
        return True

    def _relation(self, path: Path, final: Path) -> Relation:
        """What the moved one will be to the other; an empty directory is nothing."""
        if self._is_empty(path):
            return Relation.BEGINNING
        if self._is_empty(final):
            return Relation.LONGER
        moved = self._content(path)
        there = self._content(final)
        if moved is None or there is None:
            return Relation.DIFFERENT
        return relation(moved, there)

    def _is_empty(self, path: Path) -> bool:
        """Whether it will be a directory without a file in it, at any depth."""
        if not self.tree.is_directory(path):
            return False
        return next(self.tree.files_below(path), None) is None

    def _content(self, path: Path) -> Content | None:
        """What will be at `path`: a file or link that is on disk now, or the text that
        is planned; None for a directory.
        """
        now = self.tree.now(path)
        draft = self.tree.draft(path)
        if now is not None:
            draft = self._drafts.get(now)
        if draft is not None:
            return draft.after
        if now is None or self.tree.is_directory(path):
            return None
        self._look_at(now)
        return now

    def _is_session(self, final: Path) -> bool:
        if not SESSION_ID.fullmatch(final.stem):
            return False
        return final.suffix == ".jsonl" and final.parent.parent == self.projects

    def rename_folder(self, path: Path, target: Path) -> None:
        """A project's own folder, which is never merged with anything."""
        now = self.tree.now(path) or path
        occupant = self.tree.now(target)
        if occupant is not None and not os.path.samefile(occupant, now):
            raise RefusedError(
                f"{target} exists, so {path} can't be renamed to it",
                again("move one of the two away, then try again"),
            )
        holds = folder_holds(now, self._drafts)
        self.tree.rename(path, target, holds)


def _turn(operation: Operation) -> int:
    """What the client has locks for comes first, files that are made come last, with
    their directories there.
    """
    if isinstance(operation, Rename | Mkdir):
        return 2
    if operation.is_locked:
        return 0
    if operation.is_made:
        return 3
    return 1


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
