"""What must be where, by the promises of SAFETY.md alone: nothing here asks ccmove or its records.

The model remembers what people wrote and what each run was told to do. From that it
says where every session must be after a move and after an undo, or that it can't tell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.support.state import encoded_name

Pair = tuple[str, str]
Exists = Callable[[str], bool]  # whether a project's folder is there


class BrokenError(Exception):
    """A promise that was not kept: its short name, and what was seen."""

    def __init__(self, kind: str, seen: str) -> None:
        super().__init__(f"{kind}: {seen}")
        self.kind = kind
        self.seen = seen


@dataclass
class Thing:
    """What belongs to a project: a session, an allowed tool, a line of a note."""

    id: str
    path: str
    label: str
    kind: str
    is_lost_sight_of: bool = False  # the model can't tell any more where it must be
    has_left: bool = False  # by /cd
    is_swept: bool = False
    is_listed: bool = False  # in an index


@dataclass
class Run:
    """A run that was finished: what it was told, and what it found."""

    number: int
    born: int
    id: str
    moves: tuple[Pair, ...]
    moves_folder: bool = False
    is_undo: bool = False
    was_undone: bool = False
    was_pruned: bool = False
    brought: dict[str, Pair] = field(default_factory=dict)  # by session ID
    before: set[str] = field(default_factory=set)  # the IDs of all sessions
    owners: set[str] = field(default_factory=set)  # paths whose sessions stayed
    note_owners: set[str] = field(default_factory=set)  # paths whose notes stayed

    @property
    def projects(self) -> set[Pair]:
        return set(self.brought.values()) | set(self.moves)

    @property
    def paths(self) -> set[str]:
        return {path for pair in self.projects for path in pair}


def is_within(path: str, parent: str) -> bool:
    return path == parent or path.startswith(f"{parent}/")


def has_twin(path: str) -> bool:
    """Whether another path of these lives may have the same encoded name."""
    return "my-app" in encoded_name(path)


class Model:
    """The sessions and the runs of one life."""

    def __init__(self) -> None:
        self.sessions: dict[str, Thing] = {}
        self.runs: list[Run] = []
        self.prompts: dict[str, str] = {}  # text -> session ID
        self.notes: dict[str, Thing] = {}
        self.tools: dict[str, Thing] = {}
        self.now = 0

    @property
    def alive(self) -> list[Thing]:
        return [session for session in self.sessions.values() if not session.is_swept]

    @property
    def things(self) -> list[Thing]:
        """All that has a place."""
        return [*self.alive, *self.notes.values(), *self.tools.values()]

    # -- a move ----------------------------------------------------------------

    def moved(self, path: str, moves: tuple[Pair, ...], *, only: bool) -> str:
        """Where a run with these moves takes what is at `path`."""
        fitting = [
            (old, new)
            for old, new in moves
            if path == old or (not only and is_within(path, old))
        ]
        if not fitting:
            return path
        old, new = max(fitting, key=lambda pair: len(pair[0]))
        return new + path[len(old) :]

    def after_move(self, moves: tuple[Pair, ...], *, only: bool) -> dict[str, str]:
        """Where each thing must be, by its ID."""
        return {
            thing.id: self.moved(thing.path, moves, only=only) for thing in self.things
        }

    def note_move(
        self, run_id: str, moves: tuple[Pair, ...], *, only: bool, folder: bool
    ) -> None:
        """A run was made; all things still have the paths of before it."""
        run = Run(len(self.runs) + 1, self.now, run_id, moves, folder)
        for thing in self.things:
            run.before.add(thing.id)
            place = self.moved(thing.path, moves, only=only)
            if place != thing.path:
                run.brought[thing.id] = (thing.path, place)
            elif thing.kind == "session":
                run.owners.add(thing.path)
            elif thing.kind == "note":
                run.note_owners.add(thing.path)
        self.runs.append(run)

    # -- an undo ---------------------------------------------------------------

    def newest(self) -> Run | None:
        """What `ccmove undo` without an ID is about; None: there must be nothing."""
        if not self.runs:
            return None
        run = self.runs[-1]
        if run.is_undo or run.was_undone or run.was_pruned:
            return None
        return run

    def later(self, run: Run) -> list[Run]:
        """The moves after this one that stand and have a path in common with it."""
        return [
            other
            for other in self.runs[run.number :]
            if not other.is_undo and not other.was_undone and other.paths & run.paths
        ]

    def is_built_on(self, run: Run) -> bool:
        """Whether a later run has taken something of what this one brought.

        A session that left for another project blocks nothing.
        """
        here = [thing for thing in self.things if not thing.has_left]
        sure = {thing.id for thing in here if not thing.is_lost_sight_of}
        brought = run.brought.keys() & sure
        return any(
            other.brought.keys() & brought and not other.was_pruned
            for other in self.later(run)
        )

    def is_in_use(self, run: Run, exists: Exists) -> bool:
        """Whether an OLD is used again while its NEW is there, too."""
        news = {new for _, new in run.projects}
        for old, new in run.projects:
            begun = any(
                session.path == old
                and session.id not in run.before
                and not session.has_left
                for session in self.alive
            )
            if begun and old not in news and exists(old) and exists(new):
                return True
        return False

    def after_undo(self, run: Run, exists: Exists) -> dict[str, str | None]:
        """Where each thing must be; None where this model can't tell."""
        if self.later(run):
            return {thing.id: None for thing in self.things}
        return {thing.id: self._after_undo(run, thing, exists) for thing in self.things}

    def _after_undo(self, run: Run, thing: Thing, exists: Exists) -> str | None:
        if thing.id in run.brought:
            old, new = run.brought[thing.id]
            if thing.path == new:
                return old
            # By /cd, it may be into another project of the run: it came there since.
            return self._of_since(run, thing, exists)
        if any(has_twin(path) for pair in run.moves for path in pair):
            return None  # a gone twin's things came along, and go back to it
        if thing.id in run.before and not thing.has_left:
            return thing.path
        if thing.has_left and self._pair_of(run, thing.path):  # it came by /cd
            return None
        return self._of_since(run, thing, exists)

    def _of_since(self, run: Run, thing: Thing, exists: Exists) -> str | None:
        """What came since follows the folder."""
        pair = self._pair_of(run, thing.path)
        if pair is None:
            return thing.path
        follows = self._follows(run, pair, thing.path, exists)
        if follows is None:
            return None
        if follows and thing.kind == "note" and pair[1] in run.note_owners:
            return None  # it may be a line of a note that stays
        if follows:
            return pair[0] + thing.path[len(pair[1]) :]
        was_merged = pair[1] in run.owners or self._sources(run, pair) > 1
        if thing.kind == "note" and not was_merged:
            return None  # a rename saves no notes: a changed one may go whole
        return thing.path

    def _sources(self, run: Run, pair: Pair) -> int:
        """How many projects the run brought to this one's NEW."""
        return len({old for old, new in run.projects if new == pair[1]})

    def _pair_of(self, run: Run, path: str) -> Pair | None:
        """The project, else the move, at or below whose NEW this path is."""
        exact = [pair for pair in run.projects if pair[1] == path]
        above = [pair for pair in run.moves if is_within(path, pair[1])]
        pairs = exact or above
        return max(pairs, key=lambda pair: len(pair[1])) if pairs else None

    def _follows(self, run: Run, pair: Pair, path: str, exists: Exists) -> bool | None:
        """Whether what came since at `path` goes back to OLD with this undo."""
        news = {new for _, new in run.projects}
        if self._sources(run, pair) > 1:
            return False
        if run.moves_folder:
            return None if exists(pair[0]) and exists(pair[1]) else True
        answers = set()
        for old, new in {pair, *self._moves_above(run, path)}:
            is_free = old in news or not exists(old)
            is_fresh = pair[1] not in run.owners
            answers.add(not exists(new) or (is_free and is_fresh))
        return answers.pop() if len(answers) == 1 else None

    def _moves_above(self, run: Run, path: str) -> list[Pair]:
        return [pair for pair in run.moves if is_within(path, pair[1])]

    def note_undo(self, run: Run, run_id: str) -> None:
        run.was_undone = True
        number = len(self.runs) + 1
        self.runs.append(Run(number, self.now, run_id, (), is_undo=True))
