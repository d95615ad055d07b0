"""From a read-only look at the state to a frozen plan. This is also the whole of a dry run."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.naming import encode, sieve
from ccmove.claude.ownership import Ledger, find_portions
from ccmove.claude.reading import Fingerprint, history_file, open_regular, reader
from ccmove.claude.state import ALIASES, State
from ccmove.errors import RefusedError
from ccmove.plan.documents import moved_folders, other_documents
from ccmove.plan.left_alone import Search
from ccmove.plan.model import (
    LeftAlone,
    Operation,
    Plan,
    ProjectMove,
    Request,
    Write,
    WriteHistory,
)
from ccmove.plan.place import Placer, refuse_conflicts
from ccmove.plan.shares import Relocator
from ccmove.plan.tree import ends_of
from ccmove.rewrite import config, history
from ccmove.rewrite.pathmap import PathMap, tail_below
from ccmove.text import plural

Tick = Callable[[int], None]


def plan_move(layout: Layout, request: Request, ledger: Ledger, tick: Tick | None = None) -> Plan:
    """The plan for these moves; RefusedError when files are in each other's way."""
    state = State(layout)
    paths = PathMap(request.moves)
    if request.only:
        paths = PathMap(request.moves, _nested(state, paths, ledger))
    prompts = _history(layout, paths, tick)
    prompt_paths = [before for before, _ in prompts.scan.counts] if prompts is not None else []
    found = find_portions(state, paths, prompt_paths, ledger)

    placer = Placer(layout, request.on_conflict)
    relocator = Relocator(placer, paths)
    relocator.relocate(found.portions, state.directories_with(ALIASES))
    refuse_conflicts(placer)

    left = [*found.left_alone, *relocator.left_alone]
    places = moved_folders(request, relocator.moves)
    writes = [*placer.writes(), *_config(state, paths, left)]
    writes += other_documents(layout, request, places, paths, relocator.names, left)
    folders = _folders(layout, request)
    written = [write.path for write in writes]
    placer.rename_folders(folders, written)

    watched = prompts.scan.watched if prompts is not None else ()
    own = own_paths(state, paths, (*state.config_paths, *watched))
    moved = placer.tree.moved()
    operations: list[Operation] = [
        replace(write, ends=ends_of(write.path, moved)) for write in writes
    ]
    if prompts is not None and prompts.scan.lines:
        operations.append(prompts)
    operations += [*placer.tree.operations, *relocator.made.values()]
    planned = {write.path: write.after for write in (*writes, *relocator.made.values())}
    left += Search(state, paths, request, places, planned, moved).everything()
    return Plan(
        kind="move",
        moves=paths.moves,
        kept=tuple(sorted(paths.kept)),
        operations=tuple(operations),
        moved=tuple(moved.items()),
        projects=tuple(relocator.moves),
        folders=folders,
        places=_places(request, relocator.moves),
        fresh=fresh_pairs(paths, _known(state, prompts, relocator.moves), own),
        own=own,
        only_copies=tuple(placer.only_copies),
        left_alone=(*_transcripts_left(layout, relocator.moves), *left),
        warnings=tuple(_warnings(prompts)),
        notes=tuple(found.notes),
    )


def _nested(state: State, paths: PathMap, ledger: Ledger) -> frozenset[str]:
    """Known projects strictly below an OLD, which `--only` leaves where they are."""
    known = {*state.config_paths, *state.history_paths()}
    known.update(path for owners in ledger.owners.values() for path in owners)
    for name in state.directory_names:
        directory = state.directory(name)
        known.update(directory.named_paths(), directory.index_paths)
    return frozenset(path for path in known if any(tail_below(path, old) for old, _ in paths.moves))


def _places(request: Request, projects: Iterable[ProjectMove]) -> tuple[Path, ...]:
    """Project folders, before and after, in which the run may rewrite settings."""
    if not request.project_files:
        return ()
    pairs = [*request.on_disk, *((move.path, move.new_path) for move in projects)]
    return tuple(dict.fromkeys(Path(path) for pair in pairs for path in pair))


# -- history -----------------------------------------------------------------------------------


def _history(layout: Layout, paths: PathMap, tick: Tick | None) -> WriteHistory | None:
    """What changes in the history; its scan also knows which prompts NEW has already."""
    path = history_file(layout)
    fd = open_regular(path)
    if fd is None:
        return None
    try:
        seen = Fingerprint.of(os.fstat(fd))
        own = PathMap(tuple((new, new) for _, new in paths.moves))
        scan = history.scan(reader(fd), seen.size, paths, tick=tick, watch=own)
    finally:
        os.close(fd)
    return WriteHistory(path, scan, seen)


def _warnings(prompts: WriteHistory | None) -> Iterator[str]:
    if prompts is None:
        return
    if prompts.scan.unreadable:
        yield (
            f"{prompts.path}: {plural(prompts.scan.unreadable, 'line')} with the old path, but not "
            "valid JSON, left as found"
        )
    if prompts.scan.too_long:
        number = plural(prompts.scan.too_long, "line")
        yield f"{prompts.path}: {number} longer than 64 MiB, left as found"


def _known(
    state: State, prompts: WriteHistory | None, projects: Iterable[ProjectMove]
) -> Iterator[str]:
    """Paths that something names and that may be in the move."""
    yield from state.config_paths
    yield from (before for before, _ in prompts.scan.counts) if prompts is not None else ()
    yield from (move.path for move in projects)


# -- what NEW had before ---------------------------------------------------------------------


def own_paths(state: State, paths: PathMap, listed: Iterable[str]) -> tuple[str, ...]:
    """Known paths at or below a NEW: what is added to those later is not OLD's."""
    known = set(listed)
    for name in state.directory_names:
        for _, new in paths.moves:
            if sieve(new)(name):
                directory = state.directory(name)
                known.update(directory.named_paths(), directory.index_paths)
                known.update([new] if name == encode(new) else [])
    news = [new for _, new in paths.moves]
    return tuple(sorted(p for p in known if any(tail_below(p, new) is not None for new in news)))


def fresh_pairs(
    paths: PathMap, known: Iterable[str], own: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    """Known paths that move to where nothing was known before, each with its new place.

    Only what is added to those later may be pointed at OLD again when the move is undone.
    """
    moving = {old: new for old in known if (new := paths.map(old)) is not None}
    empty = [new for _, new in paths.moves if all(tail_below(path, new) is None for path in own)]
    moving.update({old: new for old, new in paths.moves if new in empty or not moving})
    coming = Counter(moving.values())  # where two come together there is no way back
    had = set(own)
    return tuple((o, n) for o, n in sorted(moving.items()) if n not in had and coming[n] == 1)


# -- the config file ---------------------------------------------------------------------------


def _config(state: State, paths: PathMap, left: list[LeftAlone]) -> Iterator[Write]:
    """The config file's new text; `left` gets what in it names a path of the move and stays."""
    document = state.config
    if document is None:
        return
    text = config.rewritten(document.text, paths)
    for pointer, value in config.mentions(text, paths):
        what = f"{pointer}: {value!r} contains the path but is not one"
        hint = "edit it by hand if it should follow"
        left.append(LeftAlone(str(state.layout.config_file), what, hint))
    after = text.encode("utf-8", "surrogateescape")
    if after != document.data:
        path = document.path
        yield Write(path, path, "config", document.data, after, document.seen)


# -- the rest ----------------------------------------------------------------------------------


def _folders(layout: Layout, request: Request) -> tuple[tuple[Path, Path], ...]:
    if not request.move_folder:
        return ()
    for old, _ in request.on_disk:
        if layout.config_dir.is_relative_to(old) or layout.real_config_file.is_relative_to(old):
            raise RefusedError(
                f"{layout.config_dir} lies in {old}, which is to be renamed",
                f"rename the folder yourself, then: ccmove --config-dir DIR {old} …",
            )
    return tuple((Path(old), Path(new)) for old, new in request.on_disk)


def _transcripts_left(layout: Layout, projects: Iterable[ProjectMove]) -> Iterator[LeftAlone]:
    number = sum(move.transcripts for move in projects)
    if number:
        what = f"the old path stays inside {plural(number, 'transcript')}; "
        yield LeftAlone(str(layout.projects), what + "Claude Code goes by the directory")
