"""What of each project directory goes where, as frozen data, and the way there.

Several moves happen as if at one moment, so swaps and chains need no special case. Of a
directory that is shared only what is the moving project's goes; memory, which can't be
told apart, is copied.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from ccmove.claude.naming import names_of_downloads
from ccmove.claude.owners import BY_TRANSCRIPTS, Holding, session_of
from ccmove.claude.reading import is_there
from ccmove.claude.state import (
    HEAD,
    INDEX,
    MEMORY,
    Item,
    ProjectDirectory,
    State,
    notes_among,
)
from ccmove.plan.meeting import last_part, name_of_both
from ccmove.plan.model import LeftAlone, MovedNote, ProjectMove
from ccmove.plan.placing import Placer, is_file, mode_of
from ccmove.plan.tree import Tree, ends_of
from ccmove.rewrite import index
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.rewrite.pathmap import NameMap, PathMap
from ccmove.text import plural


@dataclass(frozen=True, slots=True)
class Share:
    """What of a directory is one path's."""

    path: str
    new_path: str
    items: tuple[Item, ...]

    @property
    def pair(self) -> tuple[str, str]:
        return self.path, self.new_path


@dataclass(frozen=True, slots=True)
class Portion:
    """What of a directory goes to one other: all of it, or the share of one path."""

    holding: Holding
    target: Path
    kind: str  # rename (whether it becomes a merge the tree tells), same or split
    shares: tuple[Share, ...]
    # What a split takes out of the index:
    index_entries: tuple[tuple[str, str], ...] = ()

    @property
    def source(self) -> Path:
        return self.holding.directory.path

    @property
    def names(self) -> tuple[str, str]:
        """Of the directory, before and after."""
        return self.source.name, self.target.name

    @property
    def path(self) -> str:
        """The one whose part this is, or the first of several."""
        return self.shares[0].path

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Each path, and where it is after the move."""
        return [share.pair for share in self.shares]

    @property
    def items(self) -> list[Item]:
        items: list[Item] = []
        for share in self.shares:
            items += share.items
        return items

    @property
    def entries(self) -> list[str]:
        return [item.name for item in self.items]

    @property
    def is_something(self) -> bool:
        """Whether a part takes anything along; memory is copied."""
        if self.entries or self.index_entries:
            return True
        return is_there(self.source / MEMORY)

    @property
    def origin(self) -> str:
        """What the moved one of two different files is named after."""
        return last_part(self.path)


@dataclass(frozen=True, slots=True)
class Downloads:
    """A directory of what connectors have saved for a folder of the move."""

    source: Path
    target: Path
    origin: str


# -- what goes where


def portions_of(holding: Holding) -> list[Portion]:
    """All of the directory where everybody goes to one other, else a part for each
    path that has something in it.
    """
    if not holding.moving:
        return []
    if holding.stays_together:
        return [_portion(holding, [*holding.moving, *holding.along], "rename")]
    parts = []
    for path in holding.moving:
        part = _portion(holding, [path], "split")
        if part.kind == "split":
            part = replace(part, index_entries=tuple(_index_entries(part)))
        if part.kind == "same" or part.is_something:
            parts.append(part)
    return parts


def _portion(holding: Holding, paths: list[str], kind: str) -> Portion:
    source = holding.directory.path
    target = source.with_name(holding.target(paths[0]))
    if source == target:
        kind = "same"
    shares = _shares(holding, paths)
    return Portion(holding, target, kind, tuple(shares))


def _shares(holding: Holding, paths: list[str]) -> Iterator[Share]:
    """What is each path's. Of several that go together the first has nobody's."""
    heir = paths[0] if len(paths) > 1 else None
    items = holding.directory.items
    owners = [holding.owner(item) or heir for item in items]
    for path in paths:
        own = [item for item, owner in zip(items, owners, strict=True) if owner == path]
        yield Share(path, holding.new_path(path), tuple(own))


def _index_entries(part: Portion) -> Iterator[tuple[str, str]]:
    """The entries of the sessions that leave a shared directory, also of those whose
    transcript is gone.
    """
    directory = part.holding.directory
    if directory.index_file is None:
        return
    text = directory.index_file.text
    leaving = set(map(session_of, part.entries))
    present = {session_of(item.name) for item in directory.transcripts}
    try:
        of_path = index.sessions_of(text, {part.path})
        entries = index.entries(text)
    except NotJsonError:
        return
    leaving |= of_path - present
    for entry in entries:
        if entry[0] in leaving:
            yield entry


def downloads_of(
    state: State, paths: PathMap, portions: Iterable[Portion]
) -> Iterator[Downloads]:
    """What connectors have saved, in directories that are named for a path of the
    move: of a project in it, or of a folder around that.
    """
    folders = {old for old, _ in paths.moves}
    for portion in portions:
        folders.update(path for path, _ in portion.pairs)
    for folder in tuple(folders):
        folders.update(map(str, PurePath(folder).parents))
    projects = state.layout.projects
    there = set(state.directory_names)
    for folder in sorted(folders):
        new = paths.map(folder)
        if new is None:
            continue
        target, *_ = names_of_downloads(new)
        origin = last_part(folder)
        for name in there.intersection(names_of_downloads(folder)):
            yield Downloads(projects / name, projects / target, origin)


def new_names(portions: Iterable[Portion], paths: PathMap) -> NameMap:
    """The names of directories that change, and of single sessions that get another
    one.
    """
    directories = []
    sessions = {}
    for portion in portions:
        if portion.kind == "rename":
            directories.append(portion.names)
        if portion.kind == "split":
            source, target = portion.names
            for name in portion.entries:
                sessions[source, session_of(name)] = target
    return NameMap(tuple(directories), paths, sessions)


# -- the way there


def relocate(
    placer: Placer, portions: Iterable[Portion], downloads: Iterable[Downloads]
) -> None:
    """Plan the way of each portion.

    What is split off comes last: it then finds every directory where it belongs.
    """
    whole = [portion for portion in portions if portion.kind == "rename"]
    directories: list[Portion | Downloads] = [*whole, *downloads]
    moves = []
    for directory in directories:
        placer.came_from[directory.source] = directory.origin
        moves.append((directory.source, directory.target))
    placer.bring_all(moves)
    for portion in portions:
        if portion.kind == "split":
            _split_off(placer, portion)


def _split_off(placer: Placer, part: Portion) -> None:
    """Part of a shared directory: sessions, their entries of the index, a copy of
    memory.
    """
    source = part.source
    target = part.target
    placer.came_from[source] = part.origin
    placer.make_directory(target, source)
    for name in part.entries:
        placer.bring(source / name, target / name)
    _copy(placer, source / MEMORY, target / MEMORY)
    if part.index_entries:
        text = _index_of(part)
        final = target / INDEX
        placer.add(text, source / INDEX, final, 0o600)


def _index_of(part: Portion) -> str:
    """A new index with what a part takes out of the shared one."""
    paths = part.holding.paths
    names = NameMap((part.names,), paths)
    text = index.made(list(part.index_entries), part.path)
    return index.rewritten(text, paths.map, names)


def _copy(placer: Placer, source: Path, target: Path) -> None:
    """The project that moves gets a copy of what both have; nothing is taken from the
    other.
    """
    if source.is_symlink():
        placer.leave(source, "a link, not copied")
    elif source.is_dir():
        placer.make_directory(target, source)
        names = sorted(os.listdir(source))
        for name in names:
            below = source / name
            _copy(placer, below, target / name)
    elif source.is_file():
        text = placer.needed(source).text
        mode = mode_of(source)
        placer.add(text, source, target, mode)


def project_moves(portions: Iterable[Portion], tree: Tree) -> Iterator[ProjectMove]:
    """A row for each path, told from the tree in which everything is in place."""
    for portion in portions:
        kind = portion.kind
        source = portion.source
        if kind == "rename" and tree.now(portion.target) != source:
            kind = "merge"
        for share in portion.shares:
            pair = share.pair
            items = share.items
            notes = notes_among(source, items)
            yield project_move(pair, portion.names, kind, items, notes)


def project_move(
    pair: tuple[str, str],
    names: tuple[str, str],
    kind: str,
    items: Iterable[Item],
    notes: Iterable[str],
) -> ProjectMove:
    """These items go from one path to another, as counted for people."""
    entries = []
    sizes = []
    transcripts = 0
    for item in items:
        entries.append(item.name)
        if item.size is not None:
            sizes.append(item.size)
            transcripts += item.is_conversation
    return ProjectMove(
        *pair,
        *names,
        kind=kind,
        entries=tuple(entries),
        notes=tuple(notes),
        transcripts=transcripts,
        size=sum(sizes),
    )


def moved_notes(
    placer: Placer, portions: Iterable[Portion], projects: Iterable[ProjectMove]
) -> Iterator[MovedNote]:
    """Every note that comes to a directory with others, as it is now; not what is
    retired, or saved as a document.
    """
    merging = {move.target for move in projects if move.kind != "rename"}
    moved = placer.tree.moved()
    for portion in portions:
        _, target = portion.names
        if portion.kind != "rename" or target not in merging:
            continue
        for file in _notes_in_memory(portion.holding.directory):
            ends = ends_of(file, moved)
            if not ends.is_relative_to(placer.projects):
                continue
            if placer.changes(file):
                continue
            document = placer.needed(file)
            seen = placer.seen.setdefault(file, document.seen)
            mode = mode_of(file)
            yield MovedNote(file, ends, document.data, mode, seen.mtime_ns)


def _notes_in_memory(directory: ProjectDirectory) -> Iterator[Path]:
    """The files in a project's memory, and in what was kept beside it."""
    for name in notes_among(directory.path, directory.items):
        first, *_ = PurePath(name).parts
        file = directory.path / name
        if name_of_both(first) == MEMORY and is_file(file):
            yield file


# -- what is told


def left_behind(holding: Holding) -> Iterator[LeftAlone]:
    """What stays although it may be the move's, and how to bring it along or look at
    it.
    """
    if not holding.claims:
        yield from _unreadable_sessions(holding)
    if not holding.moving or holding.stays_together:
        return
    directory = holding.directory.path
    others = ", ".join(holding.staying) or "several paths of this move"
    for item in holding.nobodys:
        what = f"in a directory shared with {others}; nothing shows whose it is"
        yield _to_look_at(directory / item.name, what)
    new_paths = {holding.new_path(path) for path in holding.moving}
    for path in holding.staying:
        if holding.claims[path] != BY_TRANSCRIPTS or not holding.is_gone(path):
            continue
        number = len(holding.sessions_of(path))
        what = f"{plural(number, 'session')} of {path}, whose folder is gone"
        if len(new_paths) == 1:
            yield LeftAlone(str(directory), what, ("ccmove", path, *new_paths))
        else:
            yield LeftAlone(str(directory), what, ("ccmove", "doctor"))


def _unreadable_sessions(holding: Holding) -> Iterator[LeftAlone]:
    """Sessions whose path comes after what is read of them."""
    for item in holding.directory.transcripts:
        if item.path is None and (item.size or 0) > HEAD:
            what = (
                "a session, perhaps of a folder in the old path: its first 8 MB name "
                "none"
            )
            yield _to_look_at(holding.directory.path / item.name, what)


def _to_look_at(path: Path, what: str) -> LeftAlone:
    return LeftAlone(str(path), what, ("ls", "-l", str(path)))


def reasons(holding: Holding) -> Iterator[str]:
    """Why the directory is moved or left alone."""
    name = holding.directory.name
    if not holding.claims:
        yield f"{name}: left alone, nothing shows that it belongs to the move"
    elif not holding.moving:
        yield f"{name}: left alone, it belongs to {', '.join(holding.staying)}"
    for path in holding.moving:
        yield f"{name}: moved, it belongs to {path} (evidence: {holding.claims[path]})"
