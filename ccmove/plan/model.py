"""What a run is going to do, as frozen data: the planner makes it, the transaction does it.

A plan is one ordered list of operations. Documents are replaced first, where they are; then
directories and files are renamed, made and removed; files that are made come last. A dry run
prints the list, a run does it, and a manifest is the same list with what recognises each.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ccmove.claude.reading import Fingerprint
from ccmove.rewrite.history import Scan
from ccmove.rewrite.pathmap import PathMap

PARKED = ".ccmove-parked-"  # begins the name of a project folder that steps aside for another


@dataclass(frozen=True, slots=True)
class Request:
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


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """Something that names OLD and stays as it is."""

    file: str
    what: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class ProjectMove:
    """One project directory (or part of one) and where it goes."""

    path: str  # the project's folder before
    new_path: str
    source: str  # names of directories under `projects`
    target: str
    kind: str  # rename, merge, same or split
    entries: tuple[str, ...]  # what of the directory moves; for a rename all of it
    transcripts: int = 0
    size: int = 0


# -- operations ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Write:
    """New content for one file. `before` is None for a file that is made."""

    path: Path  # where it is replaced or made
    ends: Path  # where it is when all operations are done
    place: str  # index, config or other: how it is counted
    before: bytes | None
    after: bytes
    seen: Fingerprint | None = None
    mode: int = 0o600  # of a file that is made
    mtime_ns: int | None = None  # of a file that is as before again


@dataclass(frozen=True, slots=True)
class WriteHistory:
    """New values in the history, which is too large for memory: written by streaming."""

    path: Path
    scan: Scan  # what changes in it
    seen: Fingerprint  # what it grows by after this is carried over
    mtime_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Holds:
    """What a file or directory of the state is recognised by: names and sizes, no inode numbers.

    Of a directory the transcripts in it or, where it has none, the files at any depth; of a file
    its own size, under an empty name.
    """

    is_directory: bool
    entries: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class FolderHolds:
    """What a project folder is recognised by; after a copy only its entries still tell."""

    device: int
    inode: int
    entries: tuple[tuple[str, str, int, int], ...]  # name, kind, size, mtime


@dataclass(frozen=True, slots=True)
class Rename:
    """A file or directory gets another name, which is free by then."""

    path: Path
    target: Path
    holds: Holds | FolderHolds


@dataclass(frozen=True, slots=True)
class Mkdir:
    path: Path
    mode: int


@dataclass(frozen=True, slots=True)
class Rmdir:
    """A directory that is empty by then goes; `mode` is the one it has."""

    path: Path
    mode: int


Operation = Write | WriteHistory | Rename | Mkdir | Rmdir


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a run will change, what it leaves alone, and what it was decided from."""

    kind: str  # move or restore
    paths: PathMap
    operations: tuple[Operation, ...] = ()
    moved: tuple[tuple[Path, Path], ...] = ()  # what is renamed: where it is, where it ends
    projects: tuple[ProjectMove, ...] = ()
    folders: tuple[tuple[str, str], ...] = ()  # project folders that are renamed as well
    places: tuple[Path, ...] = ()  # project folders in which settings may be rewritten
    fresh: tuple[tuple[str, str], ...] = ()  # paths that move to where nothing was known before
    own: tuple[str, ...] = ()  # paths at or below a NEW that were known before
    only_copies: tuple[Path, ...] = ()  # what loses a conflict and is kept in the backup alone
    left_alone: tuple[LeftAlone, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # why each directory is taken or left, for -v
    undoes: str | None = None  # the backup that a restore undoes

    @property
    def writes(self) -> tuple[Write, ...]:
        return tuple(op for op in self.operations if isinstance(op, Write))

    @property
    def history(self) -> WriteHistory | None:
        return next((op for op in self.operations if isinstance(op, WriteHistory)), None)

    @property
    def changes_anything(self) -> bool:
        return bool(self.operations)
