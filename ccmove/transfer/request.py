"""Where each project of an archive goes, and so each of its files: the place is made of
what a file is, never of its name in the archive.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.naming import encode
from ccmove.claude.state import INDEX, MEMORY
from ccmove.plan.meeting import last_part, names_beside
from ccmove.plan.placing import MEMORY_FILE
from ccmove.rewrite.pathmap import Move, PathMap
from ccmove.transfer.roles import Part


@dataclass(frozen=True, slots=True)
class UnpackRequest:
    """The path of each project there and here, in the order of the archive."""

    pairs: tuple[Move, ...]
    with_config: bool = False
    merge: bool = False

    @property
    def paths(self) -> PathMap:
        return PathMap(tuple(dict.fromkeys(self.pairs)))

    @property
    def tops(self) -> tuple[Move, ...]:
        """Those pairs from which the others follow."""
        tops: list[Move] = []
        for pair in self.paths.moves:
            old, new = pair
            if PathMap(tuple(tops)).map(old) != new:
                tops.append(pair)
        return tuple(tops)

    @property
    def numbers(self) -> range:
        """Of the projects; what is beside them has the number 0."""
        return range(1, len(self.pairs) + 1)

    def old(self, project: int) -> str:
        old, _ = self.pairs[project - 1]
        return old

    def new(self, project: int) -> str:
        _, new = self.pairs[project - 1]
        return new

    def target(self, project: int) -> str:
        """The name of the project's directory here."""
        return encode(self.new(project))

    def origin(self, project: int) -> str:
        """What the one of two different files that came is named after."""
        return last_part(self.old(max(project, 1)))


def place_among_incoming(part: Part) -> Path:
    """Where a file is among what came in: as it will be here, below the number of its
    project, or beside the projects.
    """
    match part.role:
        case "file-history" | "tasks":
            return Path(part.role, part.id, *part.below)
        case "plan":
            return Path("plans", f"{part.id}.md")
        case "paste":
            return Path("paste-cache", f"{part.id}.txt")
    return Path(str(part.project), _place_in_project(part))


def _place_in_project(part: Part) -> Path:
    """Below its project's directory."""
    match part.role:
        case "transcript":
            return Path(f"{part.id}.jsonl")
        case "session-folder":
            return Path(part.id, *part.below)
        case "session-note":
            return Path(f"{part.id}.{part.word}.json")
        case "agent":
            return Path(f"agent-{part.id}.jsonl")
        case "memory":
            return Path(MEMORY, *part.below)
        case "index":
            return Path(INDEX)
    raise AssertionError(part.role)


def is_memory_file(part: Part) -> bool:
    """Whether it is the MEMORY.md of a project, which is merged line by line."""
    return part.role == "memory" and part.below == (MEMORY_FILE,)


def place_here(layout: Layout, request: UnpackRequest, part: Part) -> Path:
    """Where a file goes that meets nothing."""
    if not part.project:
        return layout.config_dir / place_among_incoming(part)
    directory = layout.projects / request.target(part.project)
    return directory / _place_in_project(part)


def candidates(layout: Layout, request: UnpackRequest, part: Part) -> Iterator[Path]:
    """What a file may meet here: of its own name, or kept beside that."""
    final = place_here(layout, request, part)
    names = names_beside(final.name, request.origin(part.project), has_suffix=True)
    while os.path.lexists(final):
        yield final
        final = final.with_name(next(names))
