"""What of each directory at NEW goes back, and which sessions are not there any more.

`run.since` decides about each session; here that becomes a portion of each project
directory at NEW.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ccmove.claude.naming import encode
from ccmove.claude.owners import Holding, Owners, session_of
from ccmove.claude.reading import is_there, names_in
from ccmove.claude.state import Item, ProjectDirectory, State, is_of_session
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
            verb = "stays" if len(self.elsewhere) == 1 else "stay"
            where = ", ".join(sorted(set(self.elsewhere.values())))
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
    more = f" and {len(shown) - MOST_LISTED} more" if len(shown) > MOST_LISTED else ""
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
        """Whether there is something that goes back."""
        return self.follows or bool(self.items)

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


def portions_of_run(owners: Owners, since: Since) -> Iterator[PortionBack]:
    """A portion for each move of the run whose directory is still there."""
    there = set(owners.state.directory_names)
    by_target: dict[str, list[ProjectMove]] = defaultdict(list)
    for move in since.manifest.projects:
        by_target[move.target].append(move)
    for name, moves in by_target.items():
        if name in there:
            yield from _portions(owners.of(name), moves, since)


def portions_begun(owners: Owners, since: Since) -> Iterator[PortionBack]:
    """A portion for each path that was begun below NEW after the run, in a directory to
    which that brought nothing.

    What came since follows where all who have a claim on the directory go to one other.
    Else their sessions go, and notes stay: nothing shows whose they are.
    """
    filled = {move.target for move in since.manifest.projects}
    news = topmost(new for _, new in since.manifest.moves)
    starts = tuple(encode(new)[:200] for new in news)
    state = owners.state
    names = [name for name in state.directory_names if name.startswith(starts)]
    for directory in state.readable(name for name in names if name not in filled):
        holding = owners.of(directory.name)
        portions = list(_portions(holding, _moves_of_begun(holding, since), since))
        following = {portion.target for portion in portions if portion.follows}
        all_go = len(portions) == len(holding.claims) and len(following) == 1
        for portion in portions:
            yield replace(portion, follows=all_go and portion.follows)


def _moves_of_begun(holding: Holding, since: Since) -> list[ProjectMove]:
    """Of each path below a NEW, as if a run had brought it."""
    all_back = PathMap(tuple((new, old) for old, new in since.manifest.moves))
    moves = []
    for new in sorted(holding.claims.keys() - since.own_paths):
        old = since.following.map(new) or all_back.map(new)
        if old is not None:
            names = encode(old), holding.directory.name
            moves.append(ProjectMove(old, new, *names, kind="rename", entries=()))
    return moves


def _portions(
    holding: Holding, moves: list[ProjectMove], since: Since
) -> Iterator[PortionBack]:
    """What of one directory goes back by each of the moves that came to it."""
    taking = [move for move in moves if since.takes_back(move.pair)]
    sources = {move.source for move in taking}  # two paths may have had one directory
    rows = []
    for item in holding.directory.items:
        if is_of_session(item.name):
            rows.append((item, _move_back(item, holding, taking, since)))
    for move in moves:
        staying = []
        for item, back in rows:
            is_here = back is None and holding.owner(item) in (None, move.new_path)
            if is_here and not since.stays(session_of(item.name)):
                staying.append(item)
        yield PortionBack(
            move,
            holding.directory,
            items=tuple(item for item, back in rows if back is move),
            staying=tuple(staying),
            follows=move.source in sources,
        )


def _move_back(
    item: Item, holding: Holding, taking: list[ProjectMove], since: Since
) -> ProjectMove | None:
    """The move by whose undo a session goes back; None: it stays.

    What was brought goes by its ID. What came since goes by its owner: with the move of
    that path or, where it was begun below NEW, with one whose directory it shares.
    """
    session = session_of(item.name)
    brought = since.brought.get(session)
    if brought is not None and brought.target == holding.directory.name:
        return brought
    owner = holding.owner(item)
    if owner is None or session in since.own_sessions:
        return None
    for move in taking:
        if move.new_path == owner:
            return move
    old = since.following.map(owner)
    for move in taking:
        if old is not None and encode(old) == move.source:
            return move
    return None
