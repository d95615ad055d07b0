"""What of each project directory moves, and the operations that bring it to its new place.

Several moves happen as if at one moment, so swaps and chains need no special case. Of a directory
that is shared only what is the moving project's goes; memory, which can't be told apart, is
copied.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

from ccmove.claude.naming import is_of_downloads, names_of_downloads, possible_names
from ccmove.claude.ownership import BY_TRANSCRIPTS, Case, session_of
from ccmove.claude.reading import is_there
from ccmove.claude.state import HEAD, INDEX, MEMORY, POINTER, Item, State
from ccmove.plan.documents import rewrite_others
from ccmove.plan.model import LeftAlone, ProjectMove
from ccmove.plan.place import Draft, Placer, mode_of, needed
from ccmove.rewrite import index, other
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.rewrite.pathmap import NameMap, PathMap
from ccmove.text import plural


@dataclass(slots=True, eq=False)
class Portion:
    """What of a directory goes to one place: the whole of it, or the shares of some paths."""

    case: Case
    shares: list[ProjectMove]
    listed: index.Entries = field(default_factory=list)  # what it takes out of a shared index

    @property
    def whole(self) -> bool:
        return self.case.stays_together

    @property
    def source(self) -> Path:
        return self.case.directory.path

    @property
    def target(self) -> Path:
        return self.source.with_name(self.shares[0].target)

    @property
    def stays(self) -> bool:
        return self.source == self.target

    @property
    def entries(self) -> list[str]:
        return [entry for share in self.shares for entry in share.entries]


def portions_of(case: Case) -> list[Portion]:
    """All of the directory where everybody goes to one place, else a part for each place."""
    going: dict[str, list[ProjectMove]] = defaultdict(list)
    for path in case.moving:
        going[case.evidence.fold(case.target(path))].append(_share(case, path))
    return [Portion(case, shares) for shares in going.values()]


def _share(case: Case, path: str) -> ProjectMove:
    """What is this path's; a path without others beside it has everything."""
    new_path = case.paths.map(path)
    assert new_path is not None  # only paths of the move have shares
    alone = len(case.claims) - len(case.along) == 1
    items = [item for item in case.directory.items if alone or case.owner(item) == path]
    sizes = [item.size for item in items if item.size is not None]
    names = tuple(item.name for item in items)
    source, target = case.directory.name, case.target(path)
    return ProjectMove(path, new_path, source, target, "", names, len(sizes), sum(sizes))


def left_behind(case: Case) -> Iterator[LeftAlone]:
    """What stays although it may be the move's, and how to bring it along or look at it."""
    directory = case.directory.path
    if not case.claims:
        for item in case.directory.transcripts:
            if item.path is None and (item.size or 0) > HEAD:
                what = "a session, perhaps of a folder in the old path: its first 8 MB name none"
                yield LeftAlone(str(directory / item.name), what, _look_at(directory, item))
    if not case.moving or case.stays_together:
        return
    others = ", ".join(case.staying) or "several paths of this move"
    for item in case.directory.items:
        if item.name not in (INDEX, MEMORY) and not case.owner(item):
            what = f"in a directory shared with {others}; nothing shows whose it is"
            yield LeftAlone(str(directory / item.name), what, _look_at(directory, item))
    new_paths = {case.paths.map(path) or path for path in case.moving}
    for path in case.staying:
        if case.claims[path] == BY_TRANSCRIPTS and not os.path.lexists(path):
            number = sum(owner == path for owner in case.owner_of.values())
            what = f"{plural(number, 'session')} of {path}, whose folder is gone"
            bring = ("ccmove", path, *new_paths) if len(new_paths) == 1 else ("ccmove", "doctor")
            yield LeftAlone(str(directory), what, bring)


def _look_at(directory: Path, item: Item) -> tuple[str, ...]:
    """How its beginning is seen, which tells people more than it tells us."""
    return (*(("ls", "-l") if item.is_dir else ("head", "-c", "2000")), str(directory / item.name))


def reasons(case: Case) -> Iterator[str]:
    """Why the directory is taken or left."""
    name = case.directory.name
    if not case.claims:
        yield f"{name}: left alone, nothing shows that it belongs to the move"
    elif not case.moving:
        yield f"{name}: left alone, it belongs to {', '.join(case.staying)}"
    yield from (f"{name}: {path} by {case.claims[path]}" for path in case.moving)
    yield from (f"{name}: also the sessions of {p}, whose folder is gone" for p in case.along)


class Relocator:
    """Plans the way of all portions of one run."""

    def __init__(self, placer: Placer, paths: PathMap, portions: list[Portion]) -> None:
        self.placer = placer
        self.tree = placer.tree
        self.paths = paths
        self.portions = portions
        self.moves: list[ProjectMove] = []
        self.left_alone: list[LeftAlone] = []
        self.notes: list[str] = []
        self.whole = [p for p in portions if p.whole and not p.stays]
        self.parts = [p for p in portions if not p.whole and not p.stays]
        # The names of directories that change, and of single sessions that get another one.
        names = tuple((p.source.name, p.target.name) for p in self.whole)
        keys = [(p, (p.source.name, session_of(name))) for p in self.parts for name in p.entries]
        self.names = NameMap(names, paths, {key: p.target.name for p, key in keys})

    def relocate(self, state: State) -> None:
        """Plan the way of each portion, and the new names in the files that name a directory."""
        for portion in self.portions:
            self._rewrite_index(portion)
        self._rewrite_aliases(state.alias_files())
        together = [p for p in self.portions if p not in self.parts]
        pointers = [(p.source / POINTER, other.folders) for p in together]
        self.left_alone += rewrite_others(self.placer, pointers, self.paths, self.names)
        moves = [*((p.source, p.target) for p in self.whole), *self._downloads(state)]
        self.placer.bring_all(moves)
        for portion in self.whole:
            is_renamed = self.tree.now(portion.target) == portion.source
            self._note(portion, "rename" if is_renamed else "merge")
        # What is split off comes last: it then finds every directory in its place.
        for portion in self.portions:
            if portion.stays:
                self._note(portion, "same")
            elif portion in self.parts:
                self._split_off(portion)

    def _downloads(self, state: State) -> Iterator[tuple[Path, Path]]:
        """What connectors have saved, in directories that are named for a path of the move."""
        known = {old for old, _ in self.paths.moves}
        known |= {share.path for portion in self.portions for share in portion.shares}
        known |= {str(above) for path in known for above in PurePath(path).parents}
        moving = {path: new for path in known if (new := self.paths.map(path)) is not None}
        projects = {name for path in moving for name in possible_names(path)}
        new_names: dict[str, str] = {}
        for path, new in sorted(moving.items()):
            new_names |= dict.fromkeys(names_of_downloads(path), names_of_downloads(new)[0])
        for name in filter(is_of_downloads, state.directory_names):
            place, new_name = state.layout.projects / name, new_names.get(name)
            if new_name is None and name.rpartition(".")[0] in projects:
                what = "connector downloads, named for another folder"
                self.left_alone.append(LeftAlone(str(place), what))
            elif new_name not in (None, name):
                self.notes.append(f"{name}: connector downloads of a folder that is moved")
                yield place, place.with_name(new_names[name])

    def _note(self, portion: Portion, kind: str) -> None:
        self.moves += [replace(share, kind=kind) for share in portion.shares]

    def _split_off(self, portion: Portion) -> None:
        """Part of a shared directory: sessions, their entries of the index, a copy of memory."""
        source, target = portion.source, portion.target
        if not (portion.entries or portion.listed or is_there(source / MEMORY)):
            return
        if not self.tree.has(target):
            self.tree.make_directory(target, mode_of(source))
        for name in portion.entries:
            self.placer.bring(source / name, target / name)
        self._copy(source / MEMORY, target / MEMORY)
        if portion.listed:
            made = index.made(portion.listed, portion.shares[0].new_path)
            self.placer.add(made, source / INDEX, target / INDEX, 0o600)
        self._note(portion, "split")

    def _copy(self, source: Path, target: Path) -> None:
        """The project that moves gets a copy of what both have; nothing is taken from the other."""
        if os.path.isdir(source) and not os.path.islink(source):
            if not self.tree.has(target):
                self.tree.make_directory(target, mode_of(source))
            for name in sorted(os.listdir(source)):
                self._copy(source / name, target / name)
        elif os.path.isfile(source) and not os.path.islink(source):
            self.placer.add(needed(source).text, source, target, mode_of(source))
        elif os.path.lexists(source):
            self.left_alone.append(LeftAlone(str(source), "a link, not copied"))

    def _rewrite_aliases(self, files: Iterable[Path]) -> None:
        """Lines of any project's aliases that name a directory which gets another name."""
        for file in files:
            aliases = self.placer.draft(file)
            had = aliases.text.split("\n")
            aliases.text = other.aliases(aliases.text, self.names)
            for portion in self.parts:
                if str(portion.source) in had:  # its sessions are in two places then: name both
                    aliases.text = other.appended(aliases.text, f"{portion.target}\n")

    def _rewrite_index(self, portion: Portion) -> None:
        """Plan the new paths in the index of a directory, and who gets which entries."""
        file = portion.source / INDEX
        if not is_there(file):
            return
        draft = self.placer.draft(file, portion.case.directory.index_file)
        try:
            if portion.whole:
                along = [(path, portion.shares[0].new_path) for path in portion.case.along]
                paths = PathMap((*self.paths.moves, *along), self.paths.kept)
                draft.text = index.rewritten(draft.text, paths, self.names)
            elif portion.stays:
                ours = PathMap(tuple((share.path, share.new_path) for share in portion.shares))
                draft.text = index.rewritten(draft.text, ours, NameMap(()))
            else:
                self._split_index(draft, portion)
        except NotJsonError as error:
            what = f"not a readable index ({error}); left unchanged"
            self.left_alone.append(LeftAlone(str(file), what))

    def _split_index(self, draft: Draft, portion: Portion) -> None:
        """Take the entries of the sessions that leave; the rest is the other project's."""
        wanted = {session_of(entry) for entry in portion.entries}
        present = {session_of(item.name) for item in portion.case.directory.transcripts}
        olds = {share.path for share in portion.shares}
        wanted |= index.sessions_of(draft.text, olds) - present
        names = NameMap(((portion.source.name, portion.target.name),), self.paths)
        portion.listed = [
            (key, index.entry_rewritten(raw, self.paths, names))
            for key, raw in index.entries(draft.text)
            if key in wanted
        ]
        draft.text = index.without(draft.text, wanted)
        heirs = portion.case.remaining
        if len(heirs) == 1:
            draft.text = index.owned_by(draft.text, olds, heirs[0])
