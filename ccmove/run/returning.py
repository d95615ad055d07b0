"""What of each directory at NEW goes back, and which sessions are not there any more.

`run.since` decides about each session; here that becomes a portion of each project
directory at NEW.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ccmove.claude.naming import encode
from ccmove.claude.owners import Holding, Owners, session_of
from ccmove.claude.reading import is_there, names_in, sha256_of
from ccmove.claude.state import (
    MEMORY,
    Item,
    ProjectDirectory,
    State,
    is_of_session,
    notes_among,
)
from ccmove.plan.model import ProjectMove
from ccmove.plan.portions import project_move
from ccmove.rewrite.pathmap import PathMap
from ccmove.run.manifest import Manifest
from ccmove.run.since import Since, topmost
from ccmove.text import plural

MOST_LISTED = 10  # sessions, by their IDs

# -- which sessions of the run are gone


@dataclass(frozen=True)
class Absent:
    """Sessions that a run brought and that are not where it brought them any more."""

    elsewhere: tuple[tuple[str, str], ...]  # session, another project's directory
    followed: frozenset[str]  # in a directory at or below NEW, which may go back
    deleted: frozenset[str]

    @property
    def sessions_elsewhere(self) -> frozenset[str]:
        return frozenset(session for session, _ in self.elsewhere)

    @property
    def sessions(self) -> frozenset[str]:
        return self.sessions_elsewhere | self.followed | self.deleted

    def told(self) -> Iterator[str]:
        """What is said of them, each with the IDs."""
        sessions = self.sessions_elsewhere
        if sessions:
            number = plural(len(sessions), "session")
            verb = "stays" if len(sessions) == 1 else "stay"
            directories = {name for _, name in self.elsewhere}
            where = ", ".join(sorted(directories))
            what = f"{number} left for another project since and {verb} there"
            yield f"{what}, in {where}: {listed(sessions)}"
        if self.deleted:
            number = plural(len(self.deleted), "session")
            verb = "exist: they were"
            if len(self.deleted) == 1:
                verb = "exists: it was"
            what = f"{number} of this run no longer {verb} deleted since"
            yield f"{what}: {listed(self.deleted)}"


def listed(sessions: Iterable[str]) -> str:
    """Their IDs, as many as can be read."""
    shown = sorted(sessions)
    more = f" and {len(shown) - MOST_LISTED} more" if len(shown) > MOST_LISTED else ""
    return ", ".join(shown[:MOST_LISTED]) + more


def absent_sessions(
    state: State, manifest: Manifest, begun: "Iterable[PortionBack]"
) -> Absent:
    """Look for the transcripts that the run brought.

    Other directories are listed only if one is missing where it should be. What went
    by `/cd` to another project of the run, or to one begun below NEW, came there since.
    """
    missing = set(_missing_transcripts(state, manifest))
    at_new = {move.target for move in manifest.projects}
    at_new.update(portion.source.name for portion in begun)
    elsewhere: list[tuple[str, str]] = []
    followed: set[str] = set()
    for name in state.directory_names:
        if not missing:
            break
        there = missing.intersection(names_in(state.layout.projects / name))
        missing -= there
        sessions = [session_of(entry) for entry in sorted(there)]
        if name in at_new:
            followed.update(sessions)
        else:
            elsewhere += [(session, name) for session in sessions]
    deleted = frozenset(map(session_of, missing))
    return Absent(tuple(elsewhere), frozenset(followed), deleted)


def _missing_transcripts(state: State, manifest: Manifest) -> Iterator[str]:
    """Transcripts that the run brought and that are neither at NEW nor at OLD."""
    for move in manifest.projects:
        entries = {name for name in move.entries if name.endswith(".jsonl")}
        for name in (move.target, move.source):
            entries.difference_update(names_in(state.layout.projects / name))
        yield from entries


# -- what of each directory goes back


@dataclass(frozen=True)
class PortionBack:
    """What of one directory at NEW goes back to one at OLD."""

    move: ProjectMove  # of the run; of a project begun since one that never was
    directory: ProjectDirectory
    items: tuple[Item, ...]  # of sessions
    staying: tuple[Item, ...] = ()  # of sessions that came since
    follows: bool = False  # what came since goes back
    is_whole: bool = False  # the directory itself goes back, with all that is in it

    @property
    def source(self) -> Path:
        return self.directory.path

    @property
    def target(self) -> Path:
        return self.source.with_name(self.move.source)

    @property
    def goes(self) -> bool:
        """Whether there is something that goes back."""
        return self.is_whole or bool(self.items)

    @property
    def is_in_place(self) -> bool:
        """Whether OLD and NEW have one directory."""
        return self.source == self.target

    def back(self, kind: str = "merge") -> ProjectMove:
        """As a move NEW -> OLD, with what really goes."""
        move = self.move
        pair = move.new_path, move.path
        names = move.target, move.source
        notes = [note for note in move.notes if is_there(self.source / note)]
        return project_move(pair, names, kind, self.items, notes)


def portions_back(owners: Owners, since: Since) -> Iterator[PortionBack]:
    """A portion for each move of the run whose directory is still there."""
    there = set(owners.state.directory_names)
    projects = owners.state.layout.projects
    changed = set(_with_changed_notes(projects, since.manifest))
    for name, moves in _by_target(since.manifest).items():
        if name in there:
            yield from _portions_of(owners.of(name), moves, since, changed)


def _by_target(manifest: Manifest) -> dict[str, list[ProjectMove]]:
    by_target: dict[str, list[ProjectMove]] = defaultdict(list)
    for move in manifest.projects:
        by_target[move.target].append(move)
    return by_target


def _portions_of(
    holding: Holding, moves: list[ProjectMove], since: Since, changed: set[str]
) -> Iterator[PortionBack]:
    """What of one directory goes back by each of the moves that came to it."""
    directory = holding.directory
    items = _of_sessions(directory)
    backs = list(_moves_back(holding, items, moves, since))
    rows = list(zip(items, backs, strict=True))
    own = since.own_sessions
    rest = [item for item, back in rows if back is None]
    staying = [item for item in rest if session_of(item.name) not in own]
    # Two paths may have had one directory at OLD.
    taking_back = {move.source for move in moves if since.takes_back(move.pair)}
    has_new_notes = _has_new_notes(directory, moves, changed)
    for move in moves:
        follows = move.source in taking_back
        all_goes = follows or not has_new_notes
        came_whole = move.kind == "rename"  # the directory itself, with this move
        going = [item for item, back in rows if back is move]
        yield PortionBack(
            move,
            directory,
            items=tuple(going),
            staying=tuple(staying),
            follows=follows,
            is_whole=came_whole and all_goes and not staying,
        )


def _of_sessions(directory: ProjectDirectory) -> tuple[Item, ...]:
    return tuple(item for item in directory.items if is_of_session(item.name))


def _moves_back(
    holding: Holding, items: Iterable[Item], moves: list[ProjectMove], since: Since
) -> Iterator[ProjectMove | None]:
    """Of each item the move by whose undo it goes back; None: it stays.

    What was brought goes by its ID, what came since by its owner.
    """
    following = [move for move in moves if since.takes_back(move.pair)]
    for item in items:
        session = session_of(item.name)
        if session in since.brought:
            yield since.brought[session]
        elif since.stays(session):
            yield None
        else:
            owner = holding.owner(item)
            yield _move_of_since(owner, following, since)


def _move_of_since(
    owner: str | None, following: list[ProjectMove], since: Since
) -> ProjectMove | None:
    """The move by whose undo it goes back: its owner's, or the one with which its
    owner, who was begun below NEW, shares the directory.
    """
    for move in following:
        if move.new_path == owner:
            return move
    old = since.following.map(owner) if owner else None
    for move in following:
        if old is not None and encode(old) == move.source:
            return move
    return None


def _has_new_notes(
    directory: ProjectDirectory, moves: list[ProjectMove], changed: set[str]
) -> bool:
    """Whether there are notes that none of the moves brought, or new lines in one."""
    notes = set(notes_among(directory.path, directory.items))
    for move in moves:
        notes.difference_update(move.notes)
    return bool(notes) or directory.name in changed


def _with_changed_notes(projects: Path, manifest: Manifest) -> Iterator[str]:
    """The directories in whose memory a note that a merge has saved or written is
    there, and has new lines.
    """
    known: dict[Path, str] = {}
    for saved in manifest.notes_saved:
        known[saved.ends] = saved.content.sha256
    for wrote in manifest.writes:
        known[wrote.ends] = wrote.after.sha256
    for note, content in known.items():
        if not note.is_relative_to(projects):
            continue
        below = note.relative_to(projects)
        name, *inside = below.parts
        if MEMORY not in inside[:1]:
            continue
        if is_there(note) and sha256_of(note) != content:
            yield name


def begun_below(owners: Owners, since: Since) -> Iterator[PortionBack]:
    """Directories of projects that were begun below NEW after the run: what goes back
    of each, and what stays.
    """
    names = _names_of_begun(owners.state, since)
    for directory in owners.state.readable(names):
        yield from _portions_of_begun(owners.of(directory.name), since)


def _names_of_begun(state: State, since: Since) -> Iterator[str]:
    """Directories to which the run brought nothing, by names that may be below NEW."""
    filled = {move.target for move in since.manifest.projects}
    news = topmost(new for _, new in since.manifest.moves)
    starts = tuple(encode(new)[:200] for new in news)
    for name in state.directory_names:
        if name.startswith(starts) and name not in filled:
            yield name


def _portions_of_begun(holding: Holding, since: Since) -> Iterator[PortionBack]:
    """One for each path that was begun since.

    The directory goes whole where all who have a claim on it go to one other. Else
    their sessions go, and notes stay: nothing shows whose they are.
    """
    going: list[ProjectMove] = []
    staying: list[ProjectMove] = []
    for move in _moves_of_begun(holding, since):
        row = going if since.takes_back(move.pair) else staying
        row.append(move)
    directory = holding.directory
    is_whole = _all_go(holding, going)
    for move in going:
        items = _items_of(holding, move)
        yield PortionBack(
            move,
            directory,
            items,
            follows=is_whole,
            is_whole=is_whole,
        )
    for move in staying:
        items = _items_of(holding, move)
        yield PortionBack(move, directory, (), items)


def _all_go(holding: Holding, going: list[ProjectMove]) -> bool:
    """Whether these are all who have a claim on it, and go to one other directory."""
    targets = {move.source for move in going}
    return len(going) == len(holding.claims) and len(targets) == 1


def _items_of(holding: Holding, move: ProjectMove) -> tuple[Item, ...]:
    items = _of_sessions(holding.directory)
    return tuple(item for item in items if holding.owner(item) == move.new_path)


def _moves_of_begun(holding: Holding, since: Since) -> Iterator[ProjectMove]:
    """Of each path below a NEW, as if a run had brought it."""
    moves = [(there, here) for here, there in since.manifest.moves]
    all_back = PathMap(tuple(moves))
    for new in sorted(holding.claims.keys() - since.own_paths):
        old = since.following.map(new) or all_back.map(new)
        if old is None:
            continue
        yield ProjectMove(
            path=old,
            new_path=new,
            source=encode(old),
            target=holding.directory.name,
            kind="rename",
            entries=(),
        )


def sessions_of(items: Iterable[Item]) -> set[str]:
    return {session_of(item.name) for item in items}
