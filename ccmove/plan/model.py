"""What a run is going to do, as frozen data: the planner makes it, the transaction does
it.

A plan is one ordered list of operations. Documents are replaced first, where they are,
and of those first the two for which the client has locks; then directories and files
are renamed and made; files that are made come last. A dry run prints the list,
a run does it, and a manifest is the same list with what recognises each.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ccmove.claude.reading import Fingerprint
from ccmove.hints import as_typed
from ccmove.plan.records import (
    Below,
    Count,
    Hash,
    Mode,
    Name,
    OneOfSeveral,
    matching,
    one_of,
)
from ccmove.rewrite.history import Rule, Scan
from ccmove.rewrite.pathmap import Move, PathMap, is_root
from ccmove.text import command_line

# begins the name of a project folder that makes room for another
PARKED = ".ccmove-parked-"
# how the options of an unpack begin, and those of its undo
UNPACK = ("unpack",)
# the directory of a run in which is what came in an archive
INCOMING = "incoming"


_IN_NO_PATH = re.compile("[\0\ud800-\udfff]")


def can_be_moved(path: str) -> bool:
    """Whether a folder can have this path, as the client spells it, and be moved."""
    return not is_root(path) and _IN_NO_PATH.search(path) is None


# Of a run: when it was, and four digits more.
is_id = matching(
    r"[0-9]{4}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])"
    r"T(?:[01][0-9]|2[0-3])[0-5][0-9][0-5][0-9]Z-[0-9a-f]{4}"
)
Id = Annotated[str, is_id]
Movable = Annotated[str, can_be_moved]


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked for: absolute paths, spelled as the client does."""

    moves: tuple[Move, ...]
    only: bool = False
    project_files: bool = False
    desktop: bool = False
    move_folder: bool = False
    merge: bool = False  # also with another project
    # The same paths as the system spells them:
    folders: tuple[Move, ...] = ()

    @property
    def on_disk(self) -> tuple[Move, ...]:
        """The moves as paths to open:
        a name that is not UTF-8 is spelled otherwise there.
        """
        return self.folders or self.moves


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """Something that stays where, or as, it is, although it has to do with the run.

    What has a command is still to do.
    """

    file: str
    what: str
    command: tuple[str, ...] = ()
    folder: str = ""  # in which the command has to be typed, if that matters
    line: str = ""  # instead of a command: what to write into the file

    def to_type(self, config_dir: str | None) -> str:
        """What to type, or to write."""
        if self.line:
            return self.line
        command = as_typed(self.command, config_dir)
        if self.folder:
            command = f"{command_line(['cd', self.folder])} && {command}"
        return command


@dataclass(frozen=True, slots=True)
class ProjectMove:
    """One project directory (or part of one) and where it goes."""

    path: str  # the project's folder before
    new_path: str
    source: Name  # of directories under `projects`
    target: Name
    kind: Annotated[str, one_of("rename", "merge", "same", "split")]
    entries: tuple[Name, ...]  # what of the directory moves; for a rename all of it
    notes: tuple[Below, ...] = ()  # files among it that belong to no session
    transcripts: int = 0
    size: int = 0

    @property
    def pair(self) -> Move:
        return self.path, self.new_path


@dataclass(frozen=True, slots=True)
class Own:
    """What was known at or below NEW before a run, and does not leave with it."""

    path: str
    sessions: tuple[str, ...] = ()
    notes: tuple[Below, ...] = ()  # files of its directory that belong to no session
    config: str = ""  # the JSON text of its entry in the config file


@dataclass(frozen=True, slots=True)
class Write:
    """New content for one file. `before` is None for a file that is made."""

    path: Path  # where it is replaced or made
    ends: Path  # where it is when all operations are done
    form: str  # index, config or other
    before: bytes | None
    after: bytes
    seen: Fingerprint | None = None
    mode: int = 0o600  # of a file that is made
    mtime_ns: int | None = None  # of a file that is as before again

    @property
    def is_made(self) -> bool:
        """Whether there is no such file yet."""
        return self.before is None

    @property
    def is_locked(self) -> bool:
        """Whether the client has a lock for it: the config file, when it is there."""
        return self.form == "config" and not self.is_made


@dataclass(frozen=True, slots=True)
class WriteHistory:
    """New values in the history, which is too large for memory: it is streamed."""

    path: Path
    scan: Scan  # what changes in it
    seen: Fingerprint  # what it grows by after this is carried over
    rule: Rule  # by which that is rewritten
    mtime_ns: int | None = None

    @property
    def is_made(self) -> bool:
        """Whether there is no history yet: then it is made, as other files are."""
        return not self.seen.inode

    @property
    def is_locked(self) -> bool:
        """Whether the client has a lock for it: for the history, when it is there."""
        return not self.is_made


@dataclass(frozen=True, slots=True)
class Holds(OneOfSeveral):
    """What a directory of the state is recognised by: the names of the transcripts in
    it or, where it has none, of the files at any depth.
    """

    names: tuple[Below, ...]


@dataclass(frozen=True, slots=True)
class FileHolds(OneOfSeveral):
    """What a single file is recognised by, as long as nobody changes it."""

    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class FolderHolds(OneOfSeveral):
    """What a project folder is recognised by;
    after a copy only its entries still tell.
    """

    device: int
    inode: int
    entries: tuple[tuple[Below, str, int, int], ...]  # name, kind, size, mtime

    @property
    def names(self) -> set[str]:
        return {name for name, *_ in self.entries}


@dataclass(frozen=True, slots=True)
class Arrival:
    """A file that came in an archive; its name is "" where it is what is renamed."""

    name: Below
    size: Count
    mtime_ns: int
    sha256: Hash


@dataclass(frozen=True, slots=True)
class Arrived(OneOfSeveral):
    """What came in an archive, each file as it came: as long as it is like that, and
    only then, it may be taken out again.
    """

    files: tuple[Arrival, ...]


@dataclass(frozen=True, slots=True)
class Rename(OneOfSeveral):
    """A file or directory gets another name, which is free by then."""

    path: Path
    target: Path
    holds: Holds | FileHolds | FolderHolds | Arrived


@dataclass(frozen=True, slots=True)
class Mkdir(OneOfSeveral):
    path: Path
    mode: Mode


@dataclass(frozen=True, slots=True)
class MovedNote:
    """A note that a merge renames: the backup keeps what was in it by then, so that
    undo can give it back although it was changed since.
    """

    path: Path  # where it was
    ends: Path  # where it is when all operations are done
    data: bytes
    mode: int
    mtime_ns: int


Operation = Write | WriteHistory | Rename | Mkdir


@dataclass(frozen=True, slots=True, kw_only=True)
class Undertaking:
    """What a run is about: its plan says it, and so does the manifest."""

    kind: Annotated[str, one_of("move", "undo", "unpack")]
    moves: tuple[tuple[Movable, Movable], ...]
    # Projects below an OLD that stay where they are:
    kept: tuple[str, ...] = ()
    projects: tuple[ProjectMove, ...] = ()
    # What was known at or below a NEW before:
    own_at_new: tuple[Own, ...] = ()
    # Of the prompts that were at a NEW before, what each is known again by:
    prompts_at_new: tuple[Annotated[str, matching("[0-9a-f]{16}")], ...] = ()
    # Project folders that are renamed as well:
    folders: tuple[tuple[Path, Path], ...] = ()
    # Project folders in which settings may be rewritten:
    settings_in: tuple[Path, ...] = ()
    undoes: Id | None = None  # the run that an undo undoes
    # Of the command that makes the same move again:
    options: tuple[Annotated[str, matching("(--)?[a-z]+(-[a-z]+)*")], ...] = ()

    @property
    def is_unpack(self) -> bool:
        """Whether it brought what is in an archive: undoing takes that out again."""
        return self.kind == "unpack"

    @property
    def is_of_archive(self) -> bool:
        """Whether it is an unpack, or the undo of one."""
        return self.options[:1] == UNPACK

    @property
    def asked(self) -> PathMap:
        return PathMap(self.moves, frozenset(self.kept))

    @property
    def paths(self) -> PathMap:
        """The moves; projects that are in none of them come along by themselves."""
        pairs = [move.pair for move in self.projects]
        return with_those_along(self.asked, pairs)


def with_those_along(asked: PathMap, pairs: Iterable[Move]) -> PathMap:
    """The moves, and each of these pairs that is in none of them: it comes along alone,
    without what is below it.
    """
    along = [pair for pair in pairs if not asked.covers(pair[0])]
    alone = frozenset(path for path, _ in along)
    return PathMap((*asked.moves, *along), asked.kept, alone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Undertaking):
    """All that a run changes, what it leaves alone, and what it was decided from."""

    operations: tuple[Operation, ...] = ()
    # What is renamed: where it is, where it ends.
    moved: tuple[tuple[Path, Path], ...] = ()
    # Files that something was decided from, as they were looked at.
    seen: tuple[tuple[Path, Fingerprint], ...] = ()
    notes_moved: tuple[MovedNote, ...] = ()
    # What is told, and kept in the report. Each NEW with sessions of its own, and how
    # many:
    merged: tuple[tuple[str, int], ...] = ()
    left_alone: tuple[LeftAlone, ...] = ()
    warnings: tuple[str, ...] = ()
    # Sessions whose client recorded its system prompt, which names OLD:
    remembering: int = 0
    notes: tuple[str, ...] = ()  # why each directory is moved or left alone

    @property
    def is_nothing(self) -> bool:
        """Whether nothing changes, and nothing becomes another path's: where two paths
        have one directory, only our record says whose a session is. What an unpack
        finds here already is recorded.
        """
        return not self.operations and (self.is_unpack or not self.projects)

    @property
    def locked(self) -> tuple[Write | WriteHistory, ...]:
        """What the client has locks for: the first operations of a plan."""
        return tuple(
            op
            for op in self.operations
            if isinstance(op, Write | WriteHistory) and op.is_locked
        )

    @property
    def writes(self) -> tuple[Write, ...]:
        return tuple(op for op in self.operations if isinstance(op, Write))

    @property
    def history(self) -> WriteHistory | None:
        return next(
            (op for op in self.operations if isinstance(op, WriteHistory)), None
        )
