"""What of each project directory goes where, as frozen data, and the way there.

Several moves happen as if at one moment, so swaps and chains need no special case. Of a
directory that is shared only what is the moving project's goes; memory, which can't be
told apart, is copied.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from ccmove.claude.naming import encode, names_of_downloads
from ccmove.claude.owners import BY_TRANSCRIPTS, Holding, session_of
from ccmove.claude.reading import is_there
from ccmove.claude.state import ALIASES, HEAD, INDEX, MEMORY, Item, State, notes_among
from ccmove.plan.meeting import last_part, name_of_both
from ccmove.plan.model import LeftAlone, MovedNote, ProjectMove
from ccmove.plan.placing import Placer, is_file, mode_of
from ccmove.plan.tree import Tree, ends_of
from ccmove.rewrite import index, lines
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.rewrite.pathmap import NameMap, PathMap
from ccmove.rewrite.splice import at_places
from ccmove.text import plural


@dataclass(frozen=True, slots=True)
class Share:
    """What of a directory is one path's."""

    path: str
    new_path: str
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Portion:
    """What of a directory goes to one other: all of it, or the share of one path."""

    holding: Holding
    target: Path
    kind: str  # rename (whether it becomes a merge the tree tells), same or split
    shares: tuple[Share, ...]
    # What a split takes out of the index, with its new paths:
    index_entries: tuple[tuple[str, str], ...] = ()

    @property
    def source(self) -> Path:
        return self.holding.directory.path

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Each path, and where it is after the move."""
        return [(share.path, share.new_path) for share in self.shares]

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
        return last_part(self.shares[0].path)


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
    """What is these paths'. With one that takes others along goes what is nobody's."""
    source = holding.directory.path
    target = source.with_name(holding.target(paths[0]))
    heir = paths[0] if holding.along else None
    items: dict[str, list[Item]] = {path: [] for path in paths}
    for item in holding.directory.items:
        owner = holding.owner(item) or heir
        if owner in items:
            items[owner].append(item)
    shares = []
    for path in paths:
        share = Share(path, holding.new_path(path), tuple(items[path]))
        shares.append(share)
    if source == target:
        kind = "same"
    return Portion(holding, target, kind, tuple(shares))


def _index_entries(part: Portion) -> index.Entries:
    """The entries of the sessions that leave a shared directory, with their new paths;
    also of sessions that are not there any more.
    """
    directory = part.holding.directory
    document = directory.index_file
    if document is None:
        return []
    paths = part.holding.paths
    names = NameMap(((part.source.name, part.target.name),), paths)
    moving = {"projectPath": paths.map, "fullPath": names.map}
    present = {session_of(item.name) for item in directory.transcripts}
    leaving = {session_of(name) for name in part.entries}
    try:
        leaving |= index.sessions_of(document.text, {part.shares[0].path}) - present
        entries = index.entries(document.text)
    except NotJsonError:
        return []
    return [(key, at_places(raw, moving)) for key, raw in entries if key in leaving]


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
        target = projects / names_of_downloads(new)[0]
        for name in there.intersection(names_of_downloads(folder)):
            yield Downloads(projects / name, target, last_part(folder))


def new_names(portions: Iterable[Portion], paths: PathMap) -> NameMap:
    """The names of directories that change, and of single sessions that get another
    one.
    """
    whole: list[tuple[str, str]] = []
    sessions: dict[tuple[str, str], str] = {}
    for portion in portions:
        source = portion.source.name
        target = portion.target.name
        if portion.kind == "rename":
            whole.append((source, target))
        if portion.kind == "split":
            for name in portion.entries:
                sessions[source, session_of(name)] = target
    return NameMap(tuple(whole), paths, sessions)


# -- the way there


def relocate(
    placer: Placer, portions: Iterable[Portion], downloads: Iterable[Downloads]
) -> None:
    """Plan the way of each portion.

    What is split off comes last: it then finds every directory where it belongs.
    """
    whole: list[Portion | Downloads] = []
    parts: list[Portion] = []
    for portion in portions:
        if portion.kind == "rename":
            whole.append(portion)
        if portion.kind == "split":
            parts.append(portion)
    whole += downloads
    for directory in whole:
        placer.came_from[directory.source] = directory.origin
    placer.bring_all((directory.source, directory.target) for directory in whole)
    for part in parts:
        _split_off(placer, part)


def _split_off(placer: Placer, part: Portion) -> None:
    """Part of a shared directory: sessions, their entries of the index, a copy of
    memory.
    """
    source = part.source
    target = part.target
    if not placer.tree.has(target):
        placer.tree.make_directory(target, mode_of(source))
    placer.came_from[source] = part.origin
    for name in part.entries:
        placer.bring(source / name, target / name)
    _copy(placer, source / MEMORY, target / MEMORY)
    if part.index_entries:
        new_path = part.shares[0].new_path
        text = index.made(list(part.index_entries), new_path)
        placer.add(text, source / INDEX, target / INDEX, 0o600)


def _copy(placer: Placer, source: Path, target: Path) -> None:
    """The project that moves gets a copy of what both have; nothing is taken from the
    other.
    """
    if os.path.islink(source):
        placer.leave(source, "a link, not copied")
    elif os.path.isdir(source):
        if not placer.tree.has(target):
            placer.tree.make_directory(target, mode_of(source))
        for name in sorted(os.listdir(source)):
            _copy(placer, source / name, target / name)
    elif os.path.isfile(source):
        text = placer.needed(source).text
        placer.add(text, source, target, mode_of(source))


def project_moves(portions: Iterable[Portion], tree: Tree) -> Iterator[ProjectMove]:
    """A row for each path, told from the tree in which everything is in place."""
    for portion in portions:
        kind = portion.kind
        if kind == "rename" and tree.now(portion.target) != portion.source:
            kind = "merge"
        for share in portion.shares:
            sizes = [item.size for item in share.items if item.size is not None]
            yield ProjectMove(
                path=share.path,
                new_path=share.new_path,
                source=portion.source.name,
                target=portion.target.name,
                kind=kind,
                entries=tuple(item.name for item in share.items),
                notes=tuple(notes_among(portion.source, share.items)),
                transcripts=len(sizes),
                size=sum(sizes),
            )


def moved_notes(
    placer: Placer, portions: Iterable[Portion], projects: Iterable[ProjectMove]
) -> Iterator[MovedNote]:
    """Every note in a directory to which more than one comes, as it is now; not what is
    saved as a document, or set aside.
    """
    merging = {move.target for move in projects if move.kind != "rename"}
    moved = placer.tree.moved()
    for portion in portions:
        if portion.kind != "rename" or portion.target.name not in merging:
            continue
        directory = portion.holding.directory
        for name in notes_among(directory.path, directory.items):
            file = directory.path / name
            if not _is_in_memory(name) or not is_file(file) or placer.changes(file):
                continue
            ends = ends_of(file, moved)
            if not ends.is_relative_to(placer.projects):
                continue
            document = placer.needed(file)
            seen = placer.seen.setdefault(file, document.seen)
            mode = mode_of(file)
            yield MovedNote(file, ends, document.data, mode, seen.mtime_ns)


def _is_in_memory(name: str) -> bool:
    """Whether a note is in a project's memory, or in one that was kept beside it."""
    return name_of_both(PurePath(name).parts[0]) == MEMORY


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


# -- documents in which directories are named


def rewrite_aliases(
    placer: Placer, state: State, portions: Iterable[Portion], names: NameMap
) -> None:
    """Lines of any project's aliases that name a directory which gets another name.

    The sessions of one that is split are in two directories then: both are named.
    """
    for name in state.directory_names:
        file = state.layout.projects / name / ALIASES
        if not os.path.lexists(file):  # one that is closed to us stops nobody's move
            continue
        draft = placer.draft(file)
        directories = draft.text.split("\n")
        draft.text = lines.aliases(draft.text, names)
        for portion in portions:
            if portion.kind == "split" and str(portion.source) in directories:
                draft.text = lines.appended(draft.text, f"{portion.target}\n")


def rewrite_indexes(
    placer: Placer, portions: Iterable[Portion], paths: PathMap, names: NameMap
) -> None:
    """The new paths in each index, without the entries of what leaves it."""
    by_source: dict[Path, list[Portion]] = {}
    for portion in portions:
        by_source.setdefault(portion.source, []).append(portion)
    for source, parts in by_source.items():
        file = source / INDEX
        if not is_there(file):
            continue
        draft = placer.draft(file)
        try:
            draft.text = _rewritten_index(draft.text, parts, paths, names)
        except NotJsonError as error:
            goes = [part.target for part in parts if part.kind != "split"]
            ends = [*goes, source][0] / INDEX
            what = f"not valid JSON ({error}), and stays as it is"
            what += "; Claude Code needs no index"
            placer.leave(ends, what, "mv", "-n", str(ends), f"{ends}.old")


def _rewritten_index(
    text: str, parts: list[Portion], paths: PathMap, names: NameMap
) -> str:
    """An index says whose it is, and whose each session: of one who is there then.

    It may name another path of the same encoded name, whose own sessions are gone.
    """
    holding = parts[0].holding
    residents = holding.remaining
    for part in parts:
        if part.kind == "split":
            text = index.without(text, {session for session, _ in part.index_entries})
        elif part.kind == "rename":
            residents = [new_path for _, new_path in part.pairs]

    def resident(path: str) -> str | None:
        new_path = paths.map(path)
        is_at_home = (new_path or path) in residents
        if is_at_home or encode(path) != holding.directory.name:
            return new_path
        return next(iter(residents), new_path)

    if all(part.kind == "split" for part in parts):
        return index.with_owner(text, resident)
    return index.rewritten(text, resident, names)
