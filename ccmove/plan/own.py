"""What is known at or below NEW before a run: an undo leaves that where it is."""

from collections.abc import Iterable, Iterator

from ccmove.claude.naming import possible_names
from ccmove.claude.owners import session_of
from ccmove.claude.state import State, is_of_session, notes_among
from ccmove.plan.model import Own, ProjectMove
from ccmove.rewrite import config
from ccmove.rewrite.pathmap import PathMap, native


def what_new_has(
    state: State, paths: PathMap, prompts: Iterable[str], projects: list[ProjectMove]
) -> Iterator[Own]:
    """A row for each path that is known at or below a NEW and does not leave it.

    `prompts` are the paths at NEW that the history names.
    """
    at_new = PathMap(tuple((new, new) for _, new in paths.moves))
    known = {*state.config_paths, *prompts, *_paths_of_directories(state, at_new)}
    staying = {path for path in known if at_new.covers(path) and not paths.covers(path)}
    staying |= {move.new_path for move in projects if not paths.covers(move.new_path)}
    leaving = {(move.source, name) for move in projects for name in move.entries}
    there = set(state.directory_names)
    settings: dict[str, str] = {}
    if state.config is not None:
        entries = config.entries(state.config.text)
        settings = {native(path): entry for path, entry in entries.items()}
    for path in sorted(staying):
        sessions: list[str] = []
        notes: list[str] = []
        for name in possible_names(path):
            if name in there:
                directory = state.directory(name)
                items = [i for i in directory.items if (name, i.name) not in leaving]
                sessions += [session_of(i.name) for i in items if is_of_session(i.name)]
                notes += notes_among(directory.path, items)
        if path in known or sessions or notes:
            unique = tuple(dict.fromkeys(sessions))
            yield Own(path, unique, tuple(notes), settings.get(path, ""))


def _paths_of_directories(state: State, at_new: PathMap) -> set[str]:
    """Paths at or below NEW that only a project directory names."""
    starts = tuple(name for new, _ in at_new.moves for name in possible_names(new))
    names = [name for name in state.directory_names if name.startswith(starts)]
    named: set[str] = set()
    for directory in state.readable(names):
        named |= directory.named_paths()
    return named
