"""Where paths belong after a move is undone: what the move brought goes back, the rest stays.

NEW may have had sessions, prompts and settings of its own before the move (a merge). Those, and
what was added to them since, are NEW's and stay. So a path goes back only if the move brought
it, or if it lies below one that was brought; where NEW was nobody's before, all of it goes back.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.reading import read_document
from ccmove.plan.model import landings
from ccmove.plan.planner import paths_in
from ccmove.rewrite.jsonspan import NotJsonError, parse
from ccmove.rewrite.pathmap import PathMap
from ccmove.run.manifest import Manifest


class WayBack(PathMap):
    """The opposite of a run's paths, except for what was there before it.

    `native` are paths in NEW that the run did not bring, `brought` those that it did.
    """

    def __init__(
        self,
        moves: tuple[tuple[str, str], ...],
        native: frozenset[str] = frozenset(),
        brought: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(moves)
        self.native = native
        self.brought = brought

    def map(self, path: str) -> str | None:
        back = super().map(path)
        if back is None or not self.native:
            return back
        for place in _upwards(path):
            if place in self.native:
                return None
            if place in self.brought:
                return back
        return None


def _upwards(path: str) -> Iterator[str]:
    """`path` and every path above it; on Windows there are two separators."""
    yield path
    while (cut := max(path.rfind("/"), path.rfind("\\"))) > 0:
        path = path[:cut]
        yield path


def way_back(layout: Layout, manifest: Manifest) -> WayBack:
    """The way back for this run, from what it saved."""
    forward, backward = manifest.paths, manifest.paths.reversed()
    known = {*_saved_paths(layout, manifest), *manifest.native}
    known |= {move.path for move in manifest.projects}
    native = {path for path in known if backward.covers(path) and not forward.covers(path)}
    native |= _joined(layout, manifest)
    brought = {new for path in known if (new := forward.map(path)) is not None}
    brought = brought or {new for _, new in forward.moves}  # known from some other file
    return WayBack(backward.moves, frozenset(native), frozenset(brought))


def _joined(layout: Layout, manifest: Manifest) -> set[str]:
    """New paths whose directory was there before a move, so that sessions only joined others."""
    if manifest.undoes is not None:
        return set()  # what comes back joins nobody
    came = {*landings(manifest.steps).values()}
    came |= {step.path for step in manifest.steps if step.kind == "mkdir"}
    return {
        move.new_path
        for move in manifest.projects
        if move.source != move.target and layout.projects / move.target not in came
    }


def _saved_paths(layout: Layout, manifest: Manifest) -> Iterator[str]:
    """Every path of OLD and NEW that the saved history and the saved config file name."""
    both = PathMap((*manifest.moves, *manifest.paths.reversed().moves))
    for file in manifest.files:
        saved = layout.backups / manifest.id / (file.saved or "")
        if file.saved is not None and file.is_history:
            yield from paths_in(saved, both)
        elif file.saved is not None and file.place == "config":
            yield from _paths_of_config(saved)


def _paths_of_config(saved: Path) -> Iterator[str]:
    document = read_document(saved)
    try:
        root = parse(document.text, lambda at: at in ((), ("projects",))) if document else None
    except NotJsonError:
        return
    projects = root.get("projects") if root is not None and root.opened == "{" else None
    yield from (key.value for key in projects.keys) if projects is not None else ()
