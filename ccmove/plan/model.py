"""What a run is going to do, as frozen data: the planner makes it, the transaction does
it.

A plan is one ordered list of operations. Documents are replaced first, where they are,
and of those first the two for which the client has locks; then directories and files
are renamed, made and removed; files that are made come last. A dry run prints the list,
a run does it, and a manifest is the same list with what recognises each.
"""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Annotated

from ccmove.claude.reading import Fingerprint
from ccmove.rewrite.history import Scan
from ccmove.rewrite.pathmap import PathMap, is_root

# begins the name of a project folder that steps aside for another
PARKED = ".ccmove-parked-"


def is_name(text: str) -> bool:
    return PurePath(text).name == text and "\0" not in text and text not in ("", "..")


def is_inside(text: str) -> bool:
    return ".." not in PurePath(text).parts and not PurePath(text).anchor


# What is read back from a backup must satisfy these.
Movable = Annotated[str, lambda path: not is_root(path) and "\0" not in path]
Name = Annotated[str, is_name]
Mode = Annotated[int, range(0o10000).__contains__]
Inside = Annotated[str, is_inside]


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked for: absolute paths, spelled as the client does."""

    moves: tuple[tuple[str, str], ...]
    only: bool = False
    on_conflict: str = "refuse"
    project_files: bool = False
    desktop: bool = False
    move_folder: bool = False
    merge: bool = False  # also with another project
    folders: tuple[
        tuple[str, str], ...
    ] = ()  # the same paths as the system spells them

    @property
    def on_disk(self) -> tuple[tuple[str, str], ...]:
        """The moves as paths to open:
        a name that is not UTF-8 is spelled otherwise there.
        """
        return self.folders or self.moves


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """Something that names OLD and stays as it is;
    what has a command is still to do.
    """

    file: str
    what: str
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProjectMove:
    """One project directory (or part of one) and where it goes."""

    path: str  # the project's folder before
    new_path: str
    source: Name  # of directories under `projects`
    target: Name
    kind: Annotated[str, ("rename", "merge", "same", "split").__contains__]
    entries: tuple[Name, ...]  # what of the directory moves; for a rename all of it
    transcripts: int = 0
    size: int = 0


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

    @property
    def is_locked(self) -> bool:
        """Whether the client has a lock for it: the config file, when it is there."""
        return self.place == "config" and self.before is not None


@dataclass(frozen=True, slots=True)
class WriteHistory:
    """New values in the history, which is too large for memory:
    written by streaming.
    """

    path: Path
    scan: Scan  # what changes in it
    seen: Fingerprint  # what it grows by after this is carried over
    before: "hashlib._Hash" = field(
        default_factory=hashlib.sha256
    )  # of all that was seen
    mtime_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Holds:
    """What a directory of the state is recognised by: the names of the transcripts in
    it or, where it has none, of the files at any depth.
    """

    names: tuple[Inside, ...]


@dataclass(frozen=True, slots=True)
class FileHolds:
    """What a single file is recognised by, as long as nobody changes it."""

    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class FolderHolds:
    """What a project folder is recognised by;
    after a copy only its entries still tell.
    """

    device: int
    inode: int
    entries: tuple[tuple[Inside, str, int, int], ...]  # name, kind, size, mtime


@dataclass(frozen=True, slots=True)
class Rename:
    """A file or directory gets another name, which is free by then."""

    path: Path
    target: Path
    holds: Holds | FileHolds | FolderHolds


@dataclass(frozen=True, slots=True)
class Mkdir:
    path: Path
    mode: Mode


Operation = Write | WriteHistory | Rename | Mkdir


@dataclass(frozen=True, slots=True, kw_only=True)
class Undertaking:
    """What a run is about: its plan says it,
    and so does the manifest of what was done.
    """

    kind: Annotated[str, ("move", "restore").__contains__]
    moves: tuple[tuple[Movable, Movable], ...]
    kept: tuple[str, ...] = ()  # projects below an OLD that stay where they are
    projects: tuple[ProjectMove, ...] = ()
    folders: tuple[
        tuple[Path, Path], ...
    ] = ()  # project folders that are renamed as well
    places: tuple[Path, ...] = ()  # project folders in which settings may be rewritten
    fresh: tuple[
        tuple[str, str], ...
    ] = ()  # paths that move to where nothing was known before
    only_copies: tuple[
        Path, ...
    ] = ()  # what loses a conflict and is kept in the backup alone
    undoes: str | None = None  # the backup that a restore undoes
    # What is told again later:
    merged: tuple[
        tuple[str, int], ...
    ] = ()  # each NEW with sessions of its own, and how many
    left_alone: tuple[LeftAlone, ...] = ()
    warnings: tuple[str, ...] = ()
    remembering: int = (
        0  # sessions whose client recorded its system prompt, which names OLD
    )
    notes: tuple[str, ...] = ()  # why each directory is moved or left alone

    @property
    def paths(self) -> PathMap:
        return PathMap(self.moves, frozenset(self.kept))

    @property
    def way_back(self) -> PathMap:
        """Where paths belong that were added since,
        if the run came to where nothing was known.
        """
        return PathMap(self.fresh, frozenset(self.kept)).reversed()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Undertaking):
    """Everything that a run will change, what it leaves alone,
    and what it was decided from.
    """

    operations: tuple[Operation, ...] = ()
    moved: tuple[
        tuple[Path, Path], ...
    ] = ()  # what is renamed: where it is, where it ends
    seen: tuple[
        tuple[Path, Fingerprint], ...
    ] = ()  # files to set aside, as they were looked at

    @property
    def locked(self) -> tuple[Write | WriteHistory, ...]:
        """What the client has locks for: the first operations of a plan."""
        return tuple(
            op
            for op in self.operations
            if isinstance(op, WriteHistory) or (isinstance(op, Write) and op.is_locked)
        )

    @property
    def writes(self) -> tuple[Write, ...]:
        return tuple(op for op in self.operations if isinstance(op, Write))

    @property
    def history(self) -> WriteHistory | None:
        return next(
            (op for op in self.operations if isinstance(op, WriteHistory)), None
        )
