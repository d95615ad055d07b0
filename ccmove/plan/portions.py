"""What of each project directory moves, and the operations that bring it to its new
place.

Several moves happen as if at one moment, so swaps and chains need no special case. Of a
directory that is shared only what is the moving project's goes; memory, which can't be
told apart, is copied.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from ccmove.claude.naming import names_of_downloads
from ccmove.claude.owners import BY_TRANSCRIPTS, Holding, session_of
from ccmove.claude.reading import is_there
from ccmove.claude.state import (
    ALIASES,
    HEAD,
    INDEX,
    MEMORY,
    Item,
    State,
    notes_among,
)
from ccmove.plan.meeting import last_part
from ccmove.plan.model import LeftAlone, ProjectMove
from ccmove.plan.placing import Placer, in_order, mode_of
from ccmove.rewrite import index, lines
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.rewrite.pathmap import NameMap, PathMap
from ccmove.rewrite.splice import at_places
from ccmove.text import plural


@dataclass(slots=True, eq=False)
class Portion:
    """What of a directory goes to one place: all of it, or the share of one path."""

    holding: Holding
    source: Path
    target: Path
    kind: str  # rename (a merge, if the target turns out to be taken), same, split
    shares: dict[str, list[Item]]  # what is whose
    listed: index.Entries = field(
        default_factory=list
    )  # what it takes out of a shared index

    @property
    def items(self) -> list[Item]:
        return [item for share in self.shares.values() for item in share]

    @property
    def entries(self) -> list[str]:
        return [item.name for item in self.items]

    @property
    def origin(self) -> str:
        """What the moved one of two different files is named after."""
        return last_part(next(iter(self.shares)))

    def moves(self) -> Iterator[ProjectMove]:
        source, target = self.source.name, self.target.name
        for path, items in self.shares.items():
            new_path = self.holding.new_path(path)
            sizes = [item.size for item in items if item.size is not None]
            yield ProjectMove(
                path=path,
                new_path=new_path,
                source=source,
                target=target,
                kind=self.kind,
                entries=tuple(item.name for item in items),
                notes=tuple(notes_among(self.source, items)),
                transcripts=len(sizes),
                size=sum(sizes),
            )


def portions_of(holding: Holding) -> list[Portion]:
    """All of the directory where everybody goes to one place,
    else a part for each path.
    """
    if not holding.moving:
        return []
    if holding.stays_together:
        return [_portion(holding, [*holding.moving, *holding.along], "rename")]
    return [_portion(holding, [path], "split") for path in holding.moving]


def _portion(holding: Holding, paths: list[str], kind: str) -> Portion:
    """What is these paths'. With one that takes others along goes what is nobody's."""
    source = holding.directory.path
    target = source.with_name(holding.target(paths[0]))
    shares: dict[str, list[Item]] = {path: [] for path in paths}
    heir = paths[0] if holding.along else None
    for item in holding.directory.items:
        owner = holding.owner(item) or heir
        if owner in shares:
            shares[owner].append(item)
    kind = "same" if source == target else kind
    return Portion(holding, source, target, kind, shares)


def left_behind(holding: Holding) -> Iterator[LeftAlone]:
    """What stays although it may be the move's,
    and how to bring it along or look at it.
    """
    directory = holding.directory.path
    if not holding.claims:
        for item in holding.directory.transcripts:
            if item.path is None and (item.size or 0) > HEAD:
                what = (
                    "a session, perhaps of a folder in the old path: its first 8 MB "
                    "name none"
                )
                yield _to_look_at(directory / item.name, what)
    if not holding.moving or holding.stays_together:
        return
    others = ", ".join(holding.staying) or "several paths of this move"
    for item in holding.nobodys:
        what = f"in a directory shared with {others}; nothing shows whose it is"
        yield _to_look_at(directory / item.name, what)
    new_paths = {holding.new_path(path) for path in holding.moving}
    for path in holding.staying:
        if holding.claims[path] == BY_TRANSCRIPTS and holding.is_gone(path):
            number = len(holding.sessions_of(path))
            what = f"{plural(number, 'session')} of {path}, whose folder is gone"
            bring = (
                ("ccmove", path, *new_paths)
                if len(new_paths) == 1
                else ("ccmove", "doctor")
            )
            yield LeftAlone(str(directory), what, bring)


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


def new_names(portions: list[Portion], paths: PathMap) -> NameMap:
    """The names of directories that change,
    and of single sessions that get another one.
    """
    whole = [(p.source.name, p.target.name) for p in portions if p.kind == "rename"]
    sessions = {
        (p.source.name, session_of(name)): p.target.name
        for p in portions
        if p.kind == "split"
        for name in p.entries
    }
    return NameMap(tuple(whole), paths, sessions)


def relocate(
    placer: Placer, portions: list[Portion], downloads: list[tuple[Path, Path]]
) -> None:
    """Plan the way of each portion; one that turns out to be empty leaves the list."""
    whole = [portion for portion in portions if portion.kind == "rename"]
    for portion in whole:
        placer.came_from[portion.source] = portion.origin
    parked = placer.layout.run / "parked"
    moves = [*((p.source, p.target) for p in whole), *downloads]
    for path, final in in_order(moves, lambda _, number: parked / str(number)):
        placer.bring(path, final)
    for portion in whole:
        if placer.tree.now(portion.target) != portion.source:
            portion.kind = "merge"
    # What is split off comes last: it then finds every directory in its place.
    portions[:] = [p for p in portions if p.kind != "split" or _split_off(placer, p)]


def downloads_of(
    placer: Placer, state: State, paths: PathMap, portions: list[Portion]
) -> Iterator[tuple[Path, Path]]:
    """What connectors have saved,
    in directories that are named for a path of the move.
    """
    known = {old for old, _ in paths.moves}.union(
        *(portion.shares for portion in portions)
    )
    known |= {str(above) for path in known for above in PurePath(path).parents}
    moving = {
        path: new for path in sorted(known) if (new := paths.map(path)) is not None
    }
    names: dict[str, str] = {}
    for path, new in moving.items():
        names |= dict.fromkeys(names_of_downloads(path), names_of_downloads(new)[0])
        for name in names_of_downloads(path):
            placer.came_from[state.layout.projects / name] = last_part(path)
    for name in names.keys() & set(state.directory_names):
        yield state.layout.projects / name, state.layout.projects / names[name]


def _split_off(placer: Placer, portion: Portion) -> bool:
    """Part of a shared directory: sessions,
    their entries of the index, a copy of memory.
    """
    source, target = portion.source, portion.target
    if not (portion.entries or portion.listed or is_there(source / MEMORY)):
        return False
    if not placer.tree.has(target):
        placer.tree.make_directory(target, mode_of(source))
    placer.came_from[source] = portion.origin
    for name in portion.entries:
        placer.bring(source / name, target / name)
    _copy(placer, source / MEMORY, target / MEMORY)
    if portion.listed:
        made = index.made(portion.listed, next(portion.moves()).new_path)
        placer.add(made, source / INDEX, target / INDEX, 0o600)
    return True


def _copy(placer: Placer, source: Path, target: Path) -> None:
    """The project that moves gets a copy of what both have;
    nothing is taken from the other.
    """
    if os.path.islink(source):
        placer.leave(source, "a link, not copied")
    elif os.path.isdir(source):
        if not placer.tree.has(target):
            placer.tree.make_directory(target, mode_of(source))
        for name in sorted(os.listdir(source)):
            _copy(placer, source / name, target / name)
    elif os.path.isfile(source):
        placer.add(placer.needed(source).text, source, target, mode_of(source))


def rewrite_aliases(
    placer: Placer, state: State, portions: list[Portion], names: NameMap
) -> None:
    """Lines of any project's aliases that name a directory which gets another name."""
    files = [state.layout.projects / name / ALIASES for name in state.directory_names]
    for file in filter(
        os.path.lexists, files
    ):  # one that is closed to us stops nobody's move
        aliases = placer.draft(file)
        had = aliases.text.split("\n")
        aliases.text = lines.aliases(aliases.text, names)
        for (
            portion
        ) in portions:  # the sessions of one that is split are in two places then
            if portion.kind == "split" and str(portion.source) in had:
                aliases.text = lines.appended(aliases.text, f"{portion.target}\n")


def rewrite_indexes(
    placer: Placer, portions: list[Portion], paths: PathMap, names: NameMap
) -> None:
    """Plan the new paths in the index of each directory;
    entries that leave it come first.
    """
    for portion in sorted(portions, key=lambda portion: portion.kind != "split"):
        file = portion.source / INDEX
        if not is_there(file):
            continue
        draft = placer.draft(file)
        try:
            if portion.kind == "split":
                draft.text = _split_index(draft.text, portion)
            else:
                draft.text = index.rewritten(draft.text, paths, names)
        except NotJsonError as error:
            ends = str(file if portion.kind == "split" else portion.target / INDEX)
            what = (
                f"not valid JSON ({error}), and stays as it is; Claude Code needs no "
                "index"
            )
            placer.leave(Path(ends), what, "mv", "-n", ends, f"{ends}.old")


def _split_index(text: str, portion: Portion) -> str:
    """Take the entries of the sessions that leave; the rest is the other project's."""
    paths, olds = portion.holding.paths, set(portion.shares)
    transcripts = portion.holding.directory.transcripts
    present = {session_of(item.name) for item in transcripts}
    wanted = {session_of(entry) for entry in portion.entries}
    wanted |= index.sessions_of(text, olds) - present
    names = NameMap(((portion.source.name, portion.target.name),), paths)
    moving = {"projectPath": paths.map, "fullPath": names.map}
    portion.listed = [
        (key, at_places(raw, moving))
        for key, raw in index.entries(text)
        if key in wanted
    ]
    for heir in portion.holding.remaining[
        :1
    ]:  # the index is the heir's where it was of one that left
        text = at_places(
            text, dict.fromkeys(index.OWNERS, dict.fromkeys(olds, heir).get)
        )
    return index.without(text, wanted)
