"""Who is at the path that sessions are brought to? A twin, or another project, refuses.

One check for everything that brings sessions to a path. What is known there before a
run is noted: an undo leaves that where it is.
"""

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ccmove.claude.git import Identity, identity, reflog
from ccmove.claude.naming import possible_names, sieve
from ccmove.claude.owners import Holding, Owners, session_of
from ccmove.claude.state import Item, State, is_of_session, notes_among
from ccmove.errors import RefusedError
from ccmove.hints import Hint, again, to_type
from ccmove.plan.model import Own, ProjectMove
from ccmove.rewrite.pathmap import PathMap, at_or_below
from ccmove.text import plural


@dataclass(frozen=True, slots=True)
class Coming:
    """Whose sessions come to a path, and when the last of them was used."""

    path: str
    identity: Identity
    newest: int | None = None  # mtime in ns


def who_is_at_new(
    owners: Owners, moves: Iterable[ProjectMove], *, merge: bool
) -> tuple[tuple[str, int], ...]:
    """Each NEW with sessions of its own, and how many;
    a twin or another project is refused.
    """
    directories = set(owners.state.directory_names)
    numbers: dict[str, int] = {}
    for move in moves:
        new = move.new_path
        is_in_place = move.source == move.target
        # One folder in two cases has had one directory all along: nothing in it is
        # NEW's alone.
        is_respelled = is_in_place and owners.is_respelled(move.path, new)
        if is_respelled:
            continue
        if move.target not in directories:
            continue
        holding = owners.of(move.target)
        if not is_in_place:
            refuse_twin(holding, new)
        own = holding.sessions_of(new)
        if not own or new in holding.moving:  # what is there leaves
            continue
        numbers[new] = len(own)
        if not merge:
            refuse_another_project(owners, move, own)
    return tuple(numbers.items())


def refuse_another_project(owners: Owners, move: ProjectMove, own: list[Item]) -> None:
    """Refuse if NEW, which has these sessions of its own, is another project."""
    state = owners.state
    projects = state.layout.projects
    newest = max(ages(projects / move.source, move.entries), default=None)
    coming = Coming(move.path, identity_of(state, move.path), newest)
    names = [item.name for item in own]
    refuse_another(state, coming, move.new_path, projects / move.target, names)


def ages(directory: Path, names: Iterable[str]) -> list[int]:
    """The mtimes in ns of what of it are transcripts; one may just have vanished."""
    times = []
    for name in names:
        if not name.endswith(".jsonl"):
            continue
        with contextlib.suppress(FileNotFoundError):
            times.append(os.lstat(directory / name).st_mtime_ns)
    return times


def refuse_twin(holding: Holding, new: str, then: Hint | None = None) -> None:
    """Two folders that are there and have one encoded name may not share a directory:
    each would open the other's conversations. Seen with the client itself.

    `then` is what to type when one of them has another name.
    """
    for twin in holding.staying:
        number = len(holding.sessions_of(twin))
        if not number:
            continue
        if not holding.owners.exists(twin):
            continue
        if os.path.realpath(twin) == os.path.realpath(new):
            continue
        rename = ("ccmove", "-m", twin, f"{twin}-2")
        raise RefusedError(
            f"{new} and {twin} are both {holding.directory.name} to Claude Code, which "
            f"could not tell them apart; {twin} has {plural(number, 'session')} there",
            to_type(*rename, text="rename one of them, for example"),
            then or again("then"),
        )


def refuse_another(
    state: State, coming: Coming, new: str, directory: Path, own: Collection[str]
) -> None:
    """Refuse to bring sessions to a `new` that is another project than theirs, and has
    these entries of a project directory of its own.
    """
    was = coming.identity
    now = identity_of(state, new)
    oldest = min(ages(directory, own), default=None)
    if not is_another(was, now, new, oldest, coming.newest):
        return
    raise RefusedError(
        f"{new} is another project: it has {plural(len(own), 'session')} of its "
        f"own, and its repository is {now}, while that of {coming.path} is {was}",
        to_type("ccmove", "list", new, text="what is there"),
        again("to merge them all the same", merge=True),
    )


def is_another(
    was: Identity,
    now: Identity,
    new: str,
    oldest_there: int | None,
    newest_coming: int | None,
) -> bool:
    """A folder is another project if it has no root commit in common with what `was`
    there or, where commits can't be compared, no remote; unless it went on.

    A repository can be renamed together with its folder. Comes from a report: folder
    and repository had new names, and the move was refused as one to another project.
    """
    if was.roots and now.roots:
        return not was.roots & now.roots
    if not was.remotes or not now.remotes:
        return False
    if was.remotes & now.remotes:
        return False
    return not went_on(new, oldest_there, newest_coming)


def went_on(new: str, oldest_there: int | None, newest_coming: int | None) -> bool:
    """A checkout went on if its reflog begins before the last session of the old path
    and none of its own sessions does: its repository was renamed, too.

    From the same report as `is_another`.
    """
    if newest_coming is None:
        return False
    if oldest_there is not None and oldest_there < newest_coming:
        return False
    log = reflog(new)
    if not log:
        return False
    return log[0][0] <= newest_coming


def identity_of(state: State, path: str) -> Identity:
    """What git says of the folder; of one that is gone, what the config file links."""
    folder = identity(path)
    if folder.remotes or folder.roots:
        return folder
    remotes = set()
    for name, paths in state.repositories.items():
        if path in paths:
            remotes.add(name.lower())
    return Identity(frozenset(remotes))


# -- what NEW has before


def what_new_has(
    state: State, paths: PathMap, prompts: Iterable[str], projects: list[ProjectMove]
) -> Iterator[Own]:
    """A row for each path that is known at or below a NEW and does not leave it.

    `prompts` are the paths at NEW that the history names.
    """
    known_paths = _known_at_new(state, paths, prompts)
    candidates = set(known_paths)
    leaving: set[tuple[str, str]] = set()  # a project directory, and a name in it
    for move in projects:
        candidates.add(move.new_path)
        for name in move.entries:
            leaving.add((move.source, name))
    there = set(state.directory_names)
    for path in sorted(candidates):
        if paths.covers(path):
            continue  # it leaves
        sessions: dict[str, None] = {}
        notes: list[str] = []
        names = there.intersection(possible_names(path))
        for name in sorted(names):
            directory = state.directory(name)
            staying = []
            for item in directory.items:
                if (name, item.name) in leaving:
                    continue
                staying.append(item)
                if is_of_session(item.name):
                    sessions[session_of(item.name)] = None
            notes += notes_among(directory.path, staying)
        if sessions or notes or path in known_paths:
            entry = state.config_entries.get(path, "")
            yield Own(path, tuple(sessions), tuple(notes), entry)


def _known_at_new(state: State, paths: PathMap, prompts: Iterable[str]) -> set[str]:
    """Paths at or below a NEW that config file, history or a directory names."""
    news = [new for _, new in paths.moves]
    at_new = at_or_below(news)
    passes = sieve(*news)
    candidates = set(prompts)
    candidates.update(state.config_paths)
    names = filter(passes, state.directory_names)
    for directory in state.readable(names):
        candidates |= directory.named_paths()
    known_paths: set[str] = set()
    for path in candidates:
        if at_new.covers(path):
            known_paths.add(path)
    return known_paths
