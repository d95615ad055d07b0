"""Which sessions of a run are where now, and what of each directory goes back.

`run.since` decides about each session; here that becomes a portion of each project
directory at NEW.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ccmove.claude.naming import encode, may_be_name_of
from ccmove.claude.owners import session_of
from ccmove.claude.reading import names_in
from ccmove.claude.state import (
    Item,
    ProjectDirectory,
    State,
    is_of_session,
    notes_among,
)
from ccmove.plan.model import ProjectMove
from ccmove.run.manifest import Manifest
from ccmove.run.since import Since
from ccmove.text import plural

MOST_LISTED = 10  # sessions, by their IDs

# -- which sessions of the run are where now


@dataclass(frozen=True)
class Whereabouts:
    """Sessions that a run brought and that are not in NEW's directory any more."""

    directories: tuple[tuple[str, str], ...]  # session -> another project's directory
    deleted: frozenset[str]

    @property
    def elsewhere(self) -> frozenset[str]:
        return frozenset(session for session, _ in self.directories)

    def without(self, names: set[str]) -> "Whereabouts":
        """These directories do not count as another project's."""
        rows = tuple(row for row in self.directories if row[1] not in names)
        return Whereabouts(rows, self.deleted)

    def told(self) -> Iterator[str]:
        """What is said of them, each with the IDs."""
        if self.elsewhere:
            number = plural(len(self.elsewhere), "session")
            verb = "stays" if len(self.elsewhere) == 1 else "stay"
            names = {name for _, name in self.directories}
            where = ", ".join(sorted(names))
            what = f"{number} left for another project since and {verb} there"
            yield f"{what}, in {where}: {_listed(self.elsewhere)}"
        if self.deleted:
            number = plural(len(self.deleted), "session")
            verb = "exist: they were"
            if len(self.deleted) == 1:
                verb = "exists: it was"
            what = f"{number} of this move no longer {verb} deleted since"
            yield f"{what}: {_listed(self.deleted)}"


def _listed(sessions: Iterable[str]) -> str:
    listed = sorted(sessions)
    more = f" and {len(listed) - MOST_LISTED} more" if len(listed) > MOST_LISTED else ""
    return ", ".join(listed[:MOST_LISTED]) + more


def find_sessions(state: State, manifest: Manifest) -> Whereabouts:
    """Look for the transcripts that the run brought; other directories are listed only
    if one is missing where it should be."""
    missing = set(_missing_transcripts(state, manifest))
    homes: set[str] = set()
    for move in manifest.projects:
        homes.add(move.source)
        homes.add(move.target)
    directories: list[tuple[str, str]] = []
    for name in state.directory_names:
        if not missing:
            break
        if name in homes:
            continue
        names = names_in(state.layout.projects / name)
        there = missing.intersection(names)
        missing -= there
        for transcript in sorted(there):
            session = session_of(transcript)
            directories.append((session, name))
    deleted = frozenset(map(session_of, missing))
    return Whereabouts(tuple(directories), deleted)


def _missing_transcripts(state: State, manifest: Manifest) -> Iterator[str]:
    """Transcripts that the run brought and that are neither at NEW nor at OLD."""
    directories = set(state.directory_names)
    for move in manifest.projects:
        there: set[str] = set()
        for directory in directories.intersection((move.target, move.source)):
            there.update(item.name for item in state.directory(directory).items)
        for name in move.entries:
            if name.endswith(".jsonl") and name not in there:
                yield name


# -- what of each directory goes back


@dataclass(frozen=True)
class Portion:
    """What of one directory at NEW goes back to one at OLD."""

    move: ProjectMove  # of the run; of a project begun since one that never was
    directory: ProjectDirectory
    items: tuple[Item, ...]  # of sessions
    staying: tuple[Item, ...]  # of sessions that came since
    follows: bool  # what came since goes back
    is_whole: bool  # the directory itself goes back, with all that is in it

    @property
    def source(self) -> Path:
        return self.directory.path

    @property
    def target(self) -> Path:
        return self.source.with_name(self.move.source)

    def back(self, kind: str) -> ProjectMove:
        """As a move NEW -> OLD, with what really goes."""
        sizes = [item.size for item in self.items if item.size is not None]
        return replace(
            self.move,
            path=self.move.new_path,
            new_path=self.move.path,
            source=self.move.target,
            target=self.move.source,
            kind=kind,
            entries=tuple(item.name for item in self.items),
            notes=(),
            transcripts=len(sizes),
            size=sum(sizes),
        )


def portions_back(state: State, since: Since) -> Iterator[Portion]:
    """A portion for each move of the run, and each project begun below NEW since."""
    by_target = _by_target(since.manifest.projects)
    there = set(state.directory_names)
    for name, moves in by_target.items():
        if name in there:
            yield from _portions_of(state.directory(name), moves, since)
    yield from _begun_since(state, since, set(by_target))


def _by_target(projects: Iterable[ProjectMove]) -> dict[str, list[ProjectMove]]:
    by_target: dict[str, list[ProjectMove]] = defaultdict(list)
    for move in projects:
        by_target[move.target].append(move)
    return by_target


def _portions_of(
    directory: ProjectDirectory, moves: list[ProjectMove], since: Since
) -> Iterator[Portion]:
    """What of one directory goes back by each of the moves that came to it."""
    shares: dict[ProjectMove, list[Item]] = {move: [] for move in moves}
    staying: list[Item] = []
    for item in directory.items:
        if not is_of_session(item.name):
            continue
        move = _goes_with(item, directory, moves, since)
        if move is not None:
            shares[move].append(item)
        elif session_of(item.name) not in since.own_sessions:
            staying.append(item)
    has_new_notes = _has_new_notes(directory, moves)
    for move, items in shares.items():
        follows = since.takes_back(move.new_path, move.path)
        is_whole = move.kind == "rename"  # the directory itself came with this move
        if staying:
            is_whole = False
        if has_new_notes and not follows:
            is_whole = False
        yield Portion(
            move,
            directory,
            items=tuple(items),
            staying=tuple(staying),
            follows=follows,
            is_whole=is_whole,
        )


def _has_new_notes(directory: ProjectDirectory, moves: list[ProjectMove]) -> bool:
    """Whether there are notes that none of the moves brought."""
    notes = set(notes_among(directory.path, directory.items))
    for move in moves:
        notes.difference_update(move.notes)
    return bool(notes)


def _goes_with(
    item: Item, directory: ProjectDirectory, moves: list[ProjectMove], since: Since
) -> ProjectMove | None:
    """The move by whose undo an entry of a session goes back; None: it stays."""
    session = session_of(item.name)
    brought = since.brought.get(session)
    if brought is not None:
        return brought if brought in moves else None
    if session in since.own_sessions:
        return None
    if session in since.elsewhere:
        return None
    move = _move_to_path_of(item, directory, moves)
    if move is None:
        return None
    if since.takes_back(move.new_path, move.path):
        return move
    return None


def _move_to_path_of(
    item: Item, directory: ProjectDirectory, moves: list[ProjectMove]
) -> ProjectMove | None:
    """Of the moves to one directory the one to the path that a session names."""
    path = _path_of_session(item, directory)
    by_path: dict[str | None, ProjectMove] = {}
    for move in moves:
        by_path.setdefault(move.new_path, move)
    if path in by_path:
        return by_path[path]
    if len(by_path) > 1:
        return None
    if path is not None and may_be_name_of(directory.name, path):
        return None  # the directory is that path's as well
    return moves[0]


def _path_of_session(item: Item, directory: ProjectDirectory) -> str | None:
    """The path that its transcript names: a session's folder goes with it."""
    session = session_of(item.name)
    for transcript in directory.transcripts:
        if session_of(transcript.name) == session:
            return transcript.path
    return item.path


def _begun_since(state: State, since: Since, targets: set[str]) -> Iterator[Portion]:
    """Directories of projects that were begun below NEW after the run."""
    starts = tuple(encode(new)[:200] for new, _ in since.following.moves)
    names: list[str] = []
    for name in state.directory_names:
        is_target = name in targets
        if name.startswith(starts) and not is_target:
            names.append(name)
    for directory in state.readable(names):
        move = _move_of_begun(directory, since)
        if move is None:
            continue
        items = [item for item in directory.items if is_of_session(item.name)]
        yield Portion(
            move,
            directory,
            items=tuple(items),
            staying=(),
            follows=True,
            is_whole=True,
        )


def _move_of_begun(directory: ProjectDirectory, since: Since) -> ProjectMove | None:
    """As if a run had brought it. None unless it is of one path, and that follows."""
    paths = directory.named_paths() - since.own_paths
    if len(paths) != 1:
        return None
    (new,) = paths
    old = since.following.map(new)
    if old is None:
        return None
    return ProjectMove(
        path=old,
        new_path=new,
        source=encode(old),
        target=directory.name,
        kind="rename",
        entries=(),
    )


def sessions_of(items: Iterable[Item]) -> set[str]:
    return {session_of(item.name) for item in items}
