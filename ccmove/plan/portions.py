"""What of each project directory goes where, as frozen data, and the way there.

Several moves happen as if at one moment, so swaps and chains need no special case. Of a
directory that is shared only what is the moving project's goes; memory, which can't be
told apart, is copied.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePath

from ccmove.claude.naming import names_of_downloads
from ccmove.claude.owners import BY_TRANSCRIPTS, Holding, session_of
from ccmove.claude.reading import is_there
from ccmove.claude.state import HEAD, INDEX, MEMORY, Item, State, notes_among
from ccmove.plan.meeting import is_file, name_of_both
from ccmove.plan.model import MovedNote, ProjectMove
from ccmove.plan.placing import Placer, mode_of
from ccmove.plan.tree import Tree, ends_of
from ccmove.rewrite import index
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.rewrite.pathmap import Move, NameMap, PathMap
from ccmove.text import plural

Way = tuple[Path, Path, str]  # of a directory: from where to where, and whose it is


@dataclass(frozen=True)
class Portion:
    """What of a directory is one path's and goes to another one."""

    holding: Holding
    # A rename (whether it becomes a merge the tree tells), same or split:
    move: ProjectMove
    items: tuple[Item, ...]

    @property
    def source(self) -> Path:
        return self.holding.directory.path

    @property
    def target(self) -> Path:
        return self.source.with_name(self.move.target)

    def is_something(self) -> bool:
        """Whether a part takes anything along; memory is copied."""
        if self.move.kind != "split" or self.items or self.index_entries:
            return True
        return is_there(self.source / MEMORY)

    @property
    def remembering(self) -> int:
        return sum(item.remembers for item in self.items)

    @cached_property
    def index_entries(self) -> index.Entries:
        """The entries of the sessions that leave a shared directory, also of those
        whose transcript is gone.
        """
        directory = self.holding.directory
        if self.move.kind != "split" or directory.index_file is None:
            return []
        text = directory.index_file.text
        leaving = set(map(session_of, self.move.entries))
        present = {session_of(item.name) for item in directory.transcripts}
        try:
            of_path = index.sessions_of(text, {self.move.path})
            entries = index.entries(text)
        except NotJsonError:
            return []
        leaving |= of_path - present
        return [entry for entry in entries if entry[0] in leaving]


# -- what goes where


def portions_of(holding: Holding) -> list[Portion]:
    """All of the directory where everybody goes to one other, else a part for each
    path that has something in it.
    """
    portions: list[Portion] = []
    if holding.moving and holding.stays_together:
        paths = [*holding.moving, *holding.along]
        portions += _portions(holding, paths, "rename")
        return portions
    for path in holding.moving:
        parts = _portions(holding, [path], "split")
        portions += filter(Portion.is_something, parts)
    return portions


def _portions(holding: Holding, paths: list[str], kind: str) -> Iterator[Portion]:
    """What is each path's. Of several that go together the first has nobody's."""
    directory = holding.directory
    first, *others = paths
    target = holding.target(first)
    if target == directory.name:
        kind = "same"
    names = directory.name, target
    heir = first if others else None
    items: dict[str | None, list[Item]] = defaultdict(list)
    for item in directory.items:
        owner = holding.owner(item) or heir
        items[owner].append(item)
    for path in paths:
        own = tuple(items[path])
        notes = notes_among(directory.path, own)
        new_path = holding.new_path(path)
        pair = path, new_path
        move = project_move(pair, names, kind, own, notes)
        yield Portion(holding, move, own)


def project_move(
    pair: Move,
    names: tuple[str, str],
    kind: str,
    items: Iterable[Item],
    notes: Iterable[str],
) -> ProjectMove:
    """These items go from one path to another, as counted for people."""
    entries = []
    size = 0
    transcripts = 0
    for item in items:
        entries.append(item.name)
        if item.size is not None:
            size += item.size
            transcripts += item.is_conversation
    return ProjectMove(
        *pair,
        *names,
        kind=kind,
        entries=tuple(entries),
        notes=tuple(notes),
        transcripts=transcripts,
        size=size,
    )


def downloads_of(
    state: State, paths: PathMap, portions: Iterable[Portion]
) -> Iterator[Way]:
    """What connectors have saved, in directories that are named for a path of the
    move: of a project in it, or of a folder around that.
    """
    folders = {old for old, _ in paths.moves}
    folders.update(portion.move.path for portion in portions)
    for path in tuple(folders):
        above = PurePath(path).parents
        folders.update(map(str, above))
    there = set(state.directory_names)
    for folder in sorted(folders):
        new = paths.map(folder)
        if new is None:
            continue
        target, *_ = names_of_downloads(new)
        for name in there.intersection(names_of_downloads(folder)):
            source = state.layout.projects / name
            yield source, source.with_name(target), folder


def new_names(portions: Iterable[Portion], paths: PathMap) -> NameMap:
    """The names of directories that change, and of single sessions that get another
    one.
    """
    directories = []
    sessions = {}
    for portion in portions:
        move = portion.move
        if move.kind == "rename":
            directories.append((move.source, move.target))
        if move.kind == "split":
            for session in map(session_of, move.entries):
                sessions[move.source, session] = move.target
    return NameMap(tuple(directories), paths, sessions)


# -- the way there


def relocate(
    placer: Placer, portions: Iterable[Portion], downloads: Iterable[Way]
) -> None:
    """Plan the way of each portion.

    What is split off comes last: it then finds every directory where it belongs.
    """
    ways = list(downloads)
    parts = []
    for portion in portions:
        if portion.move.kind == "rename":
            ways.append((portion.source, portion.target, portion.move.path))
        elif portion.move.kind == "split":
            parts.append(portion)
    moves = {}
    for source, target, path in ways:
        moves[source] = target
        placer.came_from.setdefault(source, path)
    placer.bring_all(moves.items())
    for part in parts:
        _split_off(placer, part)


def _split_off(placer: Placer, part: Portion) -> None:
    """Part of a shared directory: sessions, their entries of the index, a copy of
    memory.
    """
    source = part.source
    target = part.target
    path = part.move.path
    paths = part.holding.paths
    placer.came_from[source] = path
    placer.make_directory(target, source)
    for name in part.move.entries:
        file = source / name
        placer.bring(file, target / name)
    _copy(placer, source / MEMORY, target / MEMORY)
    if part.index_entries:
        directories = source.name, target.name
        names = NameMap((directories,), paths)
        text = index.made(part.index_entries, path)
        text = index.rewritten(text, paths.map, names)
        final = target / INDEX
        placer.add(text, source / INDEX, final, 0o600)


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
        move = portion.move
        is_merged = tree.now(portion.target) != portion.source
        if move.kind == "rename" and is_merged:
            move = replace(move, kind="merge")
        yield move


def moved_notes(placer: Placer, moves: list[ProjectMove]) -> Iterator[MovedNote]:
    """Every note that comes to a directory with others, as it is now; not what is
    retired, or saved as a document.
    """
    merging: set[str] = set()
    for move in moves:
        if move.kind != "rename":
            merging.add(move.target)
    moved = placer.tree.moved()
    written = {write.path for write in placer.writes()}
    for move in moves:
        comes_whole = move.kind in ("rename", "merge")
        if not comes_whole or move.target not in merging:
            continue
        for file in _notes_in_memory(placer.projects, move):
            ends = ends_of(file, moved)
            stays = ends.is_relative_to(placer.projects)
            if not stays or file in written:
                continue
            mode = mode_of(file)
            document = placer.needed(file)
            date = document.seen.mtime_ns
            yield MovedNote(file, ends, document.data, mode, date)


def _notes_in_memory(projects: Path, move: ProjectMove) -> Iterator[Path]:
    """The files in a project's memory, and in what was kept beside it."""
    for note in move.notes:
        first, *_ = PurePath(note).parts
        file = projects / move.source / note
        if name_of_both(first) == MEMORY and is_file(file):
            yield file


# -- what is told


def leave_behind(
    placer: Placer, holdings: Iterable[Holding], portions: Iterable[Portion]
) -> None:
    """Name what of project directories stays as it is."""
    number = sum(portion.move.transcripts for portion in portions)
    if number:
        verb = "mention"
        if number == 1:
            verb = "mentions"
        what = f"{plural(number, 'transcript')} still {verb} the old path: "
        what += "harmless, Claude Code goes by the directory"
        placer.leave(placer.projects, what)
    for holding in holdings:
        if not holding.claims:
            _leave_unreadable_sessions(placer, holding)
        if holding.moving and not holding.stays_together:
            _leave_what_is_shared(placer, holding)
    for path in placer.state.closed:
        what = "can't be read, so nobody knows whether it belongs to the move"
        placer.leave(path, what, "ls", "-ld", str(path))


def _leave_unreadable_sessions(placer: Placer, holding: Holding) -> None:
    """Sessions whose path comes after what is read of them."""
    for item in holding.directory.transcripts:
        if item.path is None and (item.size or 0) > HEAD:
            path = holding.directory.path / item.name
            what = "a session, perhaps of a folder in the old path: its first 8 MB "
            what += "name none"
            placer.leave(path, what, "ls", "-l", str(path))


def _leave_what_is_shared(placer: Placer, holding: Holding) -> None:
    """What may be the move's, and how to bring it along or look at it."""
    directory = holding.directory.path
    others = ", ".join(holding.staying) or "several paths of this move"
    for item in holding.nobodys:
        path = directory / item.name
        what = f"in a directory shared with {others}; nothing shows whose it is"
        placer.leave(path, what, "ls", "-l", str(path))
    new_paths = {holding.new_path(path) for path in holding.moving}
    for old in holding.staying:
        has_sessions = holding.claims[old] == BY_TRANSCRIPTS
        if not has_sessions or not holding.is_gone(old):
            continue
        number = len(holding.sessions_of(old))
        sessions = plural(number, "session")
        what = f"{sessions} of {old}, whose folder is gone"
        words = ["doctor"]
        if len(new_paths) == 1:
            words = [old, *new_paths]
        placer.leave(directory, what, "ccmove", *words)


def reasons(holdings: Iterable[Holding], downloads: Iterable[Way]) -> Iterator[str]:
    """Why each directory is moved or left alone."""
    for holding in holdings:
        name = holding.directory.name
        if not holding.claims:
            yield f"{name}: left alone, nothing shows that it belongs to the move"
        elif not holding.moving:
            yield f"{name}: left alone, it belongs to {', '.join(holding.staying)}"
        for path in holding.moving:
            evidence = holding.claims[path]
            yield f"{name}: moved, it belongs to {path} (evidence: {evidence})"
    for source, _, _ in downloads:
        yield f"{source.name}: connector downloads of a folder that is moved"
