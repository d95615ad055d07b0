"""What is known at or below NEW before a run: an undo leaves that where it is."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ccmove.claude.naming import possible_names
from ccmove.claude.owners import session_of
from ccmove.claude.state import (
    Item,
    ProjectDirectory,
    State,
    is_of_session,
    notes_among,
)
from ccmove.plan.model import Own, ProjectMove
from ccmove.rewrite import config
from ccmove.rewrite.pathmap import PathMap
from ccmove.rewrite.windows import native

Entry = tuple[str, str]  # the name of a project directory, and a name in it


def what_new_has(
    state: State, paths: PathMap, prompts: Iterable[str], projects: list[ProjectMove]
) -> Iterator[Own]:
    """A row for each path that is known at or below a NEW and does not leave it.

    `prompts` are the paths at NEW that the history names.
    """
    at_new = _map_of_new(paths)
    named = set(state.config_paths)
    named.update(prompts)
    named.update(_paths_of_directories(state, at_new))
    candidates = {move.new_path for move in projects}
    candidates.update(filter(at_new.covers, named))
    leaving = set(_entries_of(projects))
    there = set(state.directory_names)
    settings = _settings(state)
    for path in sorted(candidates):
        if paths.covers(path):
            continue  # it leaves
        names = there.intersection(possible_names(path))
        own = _own_at(path, map(state.directory, sorted(names)), leaving)
        is_known = path in named or bool(own.sessions)
        if is_known or own.notes:
            entry = settings.get(path, "")
            yield replace(own, config=entry)


def _settings(state: State) -> dict[str, str]:
    """The JSON text of each entry of the config file, by its path."""
    if state.config is None:
        return {}
    entries = config.entries(state.config.text)
    return {native(path): entry for path, entry in entries.items()}


def _map_of_new(paths: PathMap) -> PathMap:
    """Covers what is at or below a NEW."""
    return PathMap(tuple((new, new) for _, new in paths.moves))


def _paths_of_directories(state: State, at_new: PathMap) -> Iterator[str]:
    """Paths at or below NEW that only a project directory names."""
    starts: tuple[str, ...] = ()
    for new, _ in at_new.moves:
        starts += possible_names(new)
    names = (name for name in state.directory_names if name.startswith(starts))
    for directory in state.readable(names):
        yield from directory.named_paths()


def _entries_of(projects: list[ProjectMove]) -> Iterator[Entry]:
    """What the run takes out of project directories."""
    for move in projects:
        for name in move.entries:
            yield move.source, name


def _own_at(
    path: str, directories: Iterable[ProjectDirectory], leaving: set[Entry]
) -> Own:
    """The sessions and notes that stay in the directories of one path."""
    sessions: list[str] = []
    notes: list[str] = []
    for directory in directories:
        staying: list[Item] = []
        for item in directory.items:
            entry = directory.name, item.name
            if entry not in leaving:
                staying.append(item)
        for item in staying:
            if is_of_session(item.name):
                session = session_of(item.name)
                sessions.append(session)
        notes += notes_among(directory.path, staying)
    each_once = dict.fromkeys(sessions)
    return Own(path, tuple(each_once), tuple(notes))
