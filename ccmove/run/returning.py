"""What of each directory at NEW goes back, and where to.

`run.since` decides about each session; here that becomes a portion of each project
directory at NEW, and one table for sessions, notes and directories.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.naming import encode
from ccmove.claude.owners import Holding, Owners, session_of
from ccmove.claude.reading import is_there, names_in
from ccmove.claude.state import Item, ProjectDirectory, State, is_of_session
from ccmove.plan.model import ProjectMove
from ccmove.plan.portions import project_move
from ccmove.plan.tree import ends_of, moved_by
from ccmove.run.manifest import Manifest, Wrote
from ccmove.run.since import Since, topmost
from ccmove.text import plural

MOST_LISTED = 10  # sessions, by their IDs

# -- which sessions of the run are gone


@dataclass(frozen=True)
class Absent:
    """Sessions that a run brought and that are not where it brought them any more."""

    elsewhere: dict[str, str]  # each with another project's directory
    followed: frozenset[str]  # in a directory at or below NEW, which may go back
    deleted: frozenset[str]

    @property
    def sessions(self) -> frozenset[str]:
        return self.followed | self.deleted | self.elsewhere.keys()

    def told(self) -> Iterator[str]:
        """What is said of them, each with the IDs."""
        if self.elsewhere:
            number = plural(len(self.elsewhere), "session")
            verb = "stay"
            if len(self.elsewhere) == 1:
                verb = "stays"
            projects = set(self.elsewhere.values())
            where = ", ".join(sorted(projects))
            what = f"{number} left for another project since and {verb} there"
            yield f"{what}, in {where}: {listed(self.elsewhere)}"
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
    more = ""
    if len(shown) > MOST_LISTED:
        more = f" and {len(shown) - MOST_LISTED} more"
    return ", ".join(shown[:MOST_LISTED]) + more


def absent_sessions(
    state: State, manifest: Manifest, begun: Iterable[str] = ()
) -> Absent:
    """Look for the transcripts that the run brought, at NEW and at OLD.

    Other directories are listed only if one is missing there. What went by `/cd` to
    another project of the run, or to a directory that was `begun` below NEW and goes
    back, came there since.
    """
    projects = state.layout.projects
    missing: set[str] = set()
    for move in manifest.projects:
        transcripts = {name for name in move.entries if name.endswith(".jsonl")}
        for name in (move.target, move.source):
            transcripts.difference_update(names_in(projects / name))
        missing |= transcripts
    at_new = {*begun, *(move.target for move in manifest.projects)}
    elsewhere: dict[str, str] = {}
    followed: set[str] = set()
    for name in state.directory_names:
        if not missing:
            break
        there = missing.intersection(names_in(projects / name))
        missing -= there
        sessions = map(session_of, there)
        if name in at_new:
            followed.update(sessions)
        else:
            elsewhere.update(dict.fromkeys(sessions, name))
    deleted = frozenset(map(session_of, missing))
    return Absent(elsewhere, frozenset(followed), deleted)


# -- what of each directory goes back


@dataclass(frozen=True, eq=False)
class PortionBack:
    """What of one directory at NEW goes back to one at OLD."""

    move: ProjectMove  # of the run; of a project begun since one that never was
    directory: ProjectDirectory
    items: tuple[Item, ...]  # of sessions
    staying: tuple[Item, ...]  # of sessions that came since
    follows: bool  # what came since goes back

    @property
    def source(self) -> Path:
        return self.directory.path

    @property
    def target(self) -> Path:
        return self.source.with_name(self.move.source)

    @property
    def goes(self) -> bool:
        """Whether there is something that goes back, or was brought."""
        move = self.move
        if self.follows:
            return True
        return bool(self.items or move.entries or move.notes)

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
    """A portion for each move of the run whose directory is still there, and for each
    path that was begun since at or below a NEW.
    """
    state = owners.state
    there = set(state.directory_names)
    begun = _may_be_below_new(there, since)
    begun -= since.moves_to.keys()
    readable = state.readable(sorted(begun))
    names = [directory.name for directory in readable]
    for name in [*since.moves_to, *names]:
        if name not in there:
            continue
        holding = owners.of(name)
        yield from _portions(holding, since)


def _may_be_below_new(names: Iterable[str], since: Since) -> set[str]:
    news = topmost(new for _, new in since.manifest.moves)
    starts = tuple(encode(new)[:200] for new in news)
    return {name for name in names if name.startswith(starts)}


def _moves_to(holding: Holding, since: Since) -> Iterator[ProjectMove]:
    """The moves that came to a directory; of each other path in it that is at or below
    a NEW one as if the run had brought it.
    """
    others = holding.claims.keys() - since.own.keys()
    for move in since.moves_to.get(holding.directory.name, ()):
        yield move
        others.discard(move.new_path)
    for new in sorted(others):
        old = since.following.map(new) or since.all_back.map(new)
        if old is None:
            continue
        yield ProjectMove(
            old,
            new,
            source=encode(old),
            target=holding.directory.name,
            kind="rename",
            entries=(),
        )


def _portions(holding: Holding, since: Since) -> Iterator[PortionBack]:
    """What of one directory goes back by each of the moves that came to it.

    What is no session's follows where all who have a claim on the directory go to one
    other: else nothing shows whose it is.
    """
    moves = list(_moves_to(holding, since))
    taking: dict[str, ProjectMove] = {}
    for move in moves:
        if since.takes_back(move.pair):
            taking[move.new_path] = move
    targets = {move.source for move in taking.values()}
    all_go = len(targets) == 1 and holding.claims.keys() <= taking.keys()
    rows = list(_moves_back(holding, taking, since))
    for move in moves:
        going = []
        staying = []
        for item, back in rows:
            if back is move:
                going.append(item)
            elif back is None and holding.owner(item) in (None, move.new_path):
                staying.append(item)
        yield PortionBack(
            move,
            holding.directory,
            items=tuple(going),
            staying=tuple(staying),
            follows=all_go and move.source in targets,
        )


def _moves_back(
    holding: Holding, taking: dict[str, ProjectMove], since: Since
) -> Iterator[tuple[Item, ProjectMove | None]]:
    """Each item of a session that NEW has not had before, and the move by whose undo it
    goes back; None: it stays.

    What was brought goes by its ID, what came since by its owner.
    """
    for item in holding.directory.items:
        session = session_of(item.name)
        if not is_of_session(item.name):
            continue
        if session in since.own_sessions:
            continue
        move = since.brought.get(session)
        if move is None or move.target != holding.directory.name:
            owner = holding.owner(item) or ""
            move = taking.get(owner)
        yield item, move


# -- where each thing goes


@dataclass(frozen=True)
class PastRun:
    """A run that is to be undone, and the portions that go back."""

    layout: Layout
    since: Since
    portions: tuple[PortionBack, ...]
    absent: frozenset[str]  # sessions that left, or were deleted

    # -- what it did

    @property
    def manifest(self) -> Manifest:
        return self.since.manifest

    @property
    def backup(self) -> Path:
        return self.layout.backups / self.manifest.id

    @cached_property
    def writes(self) -> dict[Path, Wrote]:
        return {wrote.ends: wrote for wrote in self.manifest.writes}

    @cached_property
    def starts(self) -> dict[Path, Path]:
        """Where things in project directories ended that were renamed -> and began.

        A directory that was begun since, and follows, is as one that was brought.
        """
        projects = self.layout.projects
        came_from = {
            end: start
            for start, end in moved_by(self.manifest.operations).items()
            if start.is_relative_to(projects) and end.is_relative_to(projects)
        }
        filled = {move.target for move in self.manifest.projects}
        for source, portion in self.at_new.items():
            if portion.follows and source.name not in filled:
                came_from[source] = portion.target
        return came_from

    def made(self, file: Path) -> bool:
        """Whether there was no such document before."""
        wrote = self.writes.get(file)
        return wrote is not None and wrote.before is None

    # -- what goes back, and where to

    @cached_property
    def at_new(self) -> dict[Path, PortionBack]:
        """The portion of each directory at NEW; the first of several."""
        return {part.source: part for part in reversed(self.moving)}

    @cached_property
    def at_old(self) -> dict[Path, PortionBack]:
        """The portion that goes to each directory at OLD; the first of several."""
        return {part.target: part for part in reversed(self.moving)}

    @cached_property
    def moving(self) -> tuple[PortionBack, ...]:
        """Nothing is renamed where OLD and NEW have one directory."""
        return tuple(part for part in self.portions if not part.is_in_place)

    @cached_property
    def portion_of_session(self) -> dict[tuple[Path, str], PortionBack]:
        """By directory and session the portion with which it goes back, if it does."""
        portion_of: dict[tuple[Path, str], PortionBack] = {}
        for portion in self.moving:
            for item in portion.items:
                session = session_of(item.name)
                portion_of[portion.source, session] = portion
        return portion_of

    def project_directory(self, path: Path) -> Path:
        """The one that this path is in."""
        projects = self.layout.projects
        return projects / path.relative_to(projects).parts[0]

    def goes_with_session(self, path: Path) -> bool:
        """Whether it is a session's, at NEW, that did not come by itself; not where OLD
        and NEW both had something of the session.
        """
        if path.parent not in self.at_new:
            return False
        if path in self.starts:
            return False
        session = session_of(path.name)
        is_of_both = session in self.since.had and session in self.since.brought
        return is_of_session(path.name) and not is_of_both

    def destination(self, path: Path) -> Path:
        """Where what is at `path` goes, a file or all of a session; `path` if it stays.

        A session goes with its portion. Of all else what the run brought goes to where
        it was, and what came since follows the folder.
        """
        if self.goes_with_session(path):
            key = path.parent, session_of(path.name)
            own = self.portion_of_session.get(key)
            if own is None:
                return path
            return own.target / path.name
        start = ends_of(path, self.starts)
        if start == path:
            return self._destination_of_since(path)
        old = self.project_directory(start)
        portion = self.at_old.get(old)
        if portion is None or portion.follows:
            return start
        # It is in a directory that came, and may have come there since.
        name = start.relative_to(old)
        if name.as_posix() in portion.move.notes:
            return start
        if is_of_session(name.parts[0]):
            return start
        return path

    def _destination_of_since(self, path: Path) -> Path:
        """Of what came to a directory that NEW had, or was there before."""
        portion = self.at_new.get(self.project_directory(path))
        if portion is None or not portion.follows:
            return path
        inside = path.relative_to(portion.source)
        name = inside.as_posix()
        new = portion.move.new_path
        own = self.since.own.get(new)
        if own is not None and name in own.notes:
            return path
        return portion.target / inside
