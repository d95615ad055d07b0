"""What a run is going to do, as frozen data: the planner makes it, the transaction does it.

Named tuples, because a frozen dataclass takes five times as long to define, at every start.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from ccmove.claude.ownership import LeftAlone as LeftAlone
from ccmove.claude.reading import Fingerprint
from ccmove.rewrite.history import Scan
from ccmove.rewrite.jsonspan import Node
from ccmove.rewrite.pathmap import PathMap
from ccmove.rewrite.splice import Edit

PARKED = ".ccmove-parked-"  # begins the name of a folder that steps aside for another


class Request(NamedTuple):
    """What the user asked for: absolute paths, spelled as the client does."""

    moves: tuple[tuple[str, str], ...]
    only: bool = False
    on_conflict: str = "refuse"
    project_files: bool = False
    desktop: bool = False
    move_folder: bool = False
    folders: tuple[tuple[str, str], ...] = ()  # the same paths as the system spells them

    @property
    def on_disk(self) -> tuple[tuple[str, str], ...]:
        """The moves as paths to open: a name that is not UTF-8 is spelled otherwise there."""
        return self.folders or self.moves


class ProjectMove(NamedTuple):
    """One project directory (or part of one) and where it goes."""

    path: str  # the project's folder before
    new_path: str
    source: str  # names of directories under `projects`
    target: str
    kind: str  # rename, merge, same or split
    entries: tuple[str, ...]  # what of the directory moves; for a rename all of it
    transcripts: int = 0
    size: int = 0


class Step(NamedTuple):
    """One change of the directory tree; each has an opposite and can be recognised as done."""

    kind: str  # rename, mkdir or rmdir
    path: Path
    target: Path | None = None  # of a rename
    mode: int = 0o700  # of the directory that mkdir makes, or that rmdir had

    def opposite(self) -> Step:
        if self.kind == "rename":
            assert self.target is not None
            return Step("rename", self.target, self.path)
        return Step("rmdir" if self.kind == "mkdir" else "mkdir", self.path, mode=self.mode)


class FileChange(NamedTuple):
    """New content for one file. `before` is None for a file that is made, and for the history."""

    path: Path  # where it is before the steps
    ends: Path  # where it is after them
    place: str  # index, history, config or other: how it is counted
    before: bytes | None = None
    after: bytes | None = None
    edits: Sequence[Edit] = ()
    lines: tuple[tuple[int, str, str], ...] = ()  # of a file of plain lines
    appended: str = ""  # text put after a plain file
    seen: Fingerprint | None = None
    mode: int | None = None  # for a file that is made
    keep_times: int | None = None  # mtime that a restored file gets back
    outline: Node | None = None  # where values stand in `before`, if that was looked for

    @property
    def is_new(self) -> bool:
        return self.seen is None


class HistoryPart(NamedTuple):
    """The bytes of `file` from `start` on, with the spans of `scan` replaced."""

    file: Path
    scan: Scan
    start: int = 0


class HistoryChange(NamedTuple):
    """The history is too large for memory: it is staged from parts, by streaming."""

    path: Path
    parts: tuple[HistoryPart, ...]
    seen: Fingerprint  # of the history itself; what it grows by afterwards is carried over
    keep_times: int | None = None

    @property
    def lines(self) -> int:
        return sum(part.scan.lines for part in self.parts)


class Plan(NamedTuple):
    """Everything that a run will change, what it leaves alone, and what it was decided from."""

    kind: str  # move or restore
    paths: PathMap
    projects: tuple[ProjectMove, ...] = ()
    steps: tuple[Step, ...] = ()
    files: tuple[FileChange, ...] = ()
    history: HistoryChange | None = None
    left_alone: tuple[LeftAlone, ...] = ()
    warnings: tuple[str, ...] = ()
    undoes: str | None = None  # the backup that a restore takes back
    notes: tuple[str, ...] = ()  # why each directory is taken or left, for -v
    folders: tuple[tuple[str, str], ...] = ()  # folders that are renamed as well
    native: tuple[str, ...] = ()  # paths at NEW in a history with nothing to change in it

    @property
    def changes_anything(self) -> bool:
        return bool(self.steps or self.files or self.history)


def landings(steps: Iterable[Step]) -> dict[Path, Path]:
    """Where each thing that the steps rename is before them -> where it is after them all."""
    origin: dict[Path, Path] = {}
    for step in steps:
        if step.target is not None:
            origin[step.target] = origin_of(step.path, origin)
            origin.pop(step.path, None)
    return {now: final for final, now in origin.items()}


def origin_of(path: Path, origin: dict[Path, Path]) -> Path:
    """Where something at `path` in the middle of the steps was before them."""
    for place in (path, *path.parents):
        if place in origin:
            return origin[place] / path.relative_to(place)
    return path


def landing_of(path: Path, landed: dict[Path, Path]) -> Path:
    """Where something that is at `path` before the steps is after them."""
    for place in (path, *path.parents):
        if place in landed:
            return landed[place] / path.relative_to(place)
    return path
