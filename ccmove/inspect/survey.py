"""A read-only look at everything Claude Code keeps: which projects it knows, by all
evidence.

Nothing is written, and no file gets another date. What can't be read is listed as a
problem.
"""

import contextlib
import os
import stat
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path, PurePath
from typing import NamedTuple

from ccmove.claude.layout import Layout
from ccmove.claude.naming import is_of_downloads, may_be_name_of
from ccmove.claude.owners import Holding, Owners, session_of
from ccmove.claude.retention import days_kept, number_deleted_soon
from ccmove.claude.state import MEMORY, Item, State
from ccmove.errors import NothingKnownError
from ccmove.rewrite.pathmap import Move, PathMap, still_moved, tail_below
from ccmove.rewrite.windows import compared
from ccmove.run.backups import Backup, all_backups, ledger_of, moves_by_us
from ccmove.text import plural

Progress = Callable[[str, int, int], None]  # of what, how much is done, in all
Homes = dict[str, dict[str, str]]  # path -> where it is now, and how that is known
Former = tuple[str, str, str]  # a path, where that is now, and how that is known
MOVED_BY_US = "ccmove moved it there"
KEPT_ELSEWHERE = "its conversations are kept for that path now"


class Amount(NamedTuple):
    """How much is at or below a path."""

    size: int
    newest: int  # mtime in ns of the newest file
    files: int


@dataclass(frozen=True, slots=True)
class Directory:
    """One project directory: what is in it, and whose that is."""

    name: str
    path: Path
    holding: Holding
    amounts: dict[str, Amount]  # of everything in it, by name

    @property
    def claims(self) -> tuple[str, ...]:
        """Paths with a claim on it, those with a folder first."""
        return self.holding.ranked

    @property
    def has_conversations(self) -> bool:
        """Whether there are transcripts or notes in it."""
        notes = self.amounts.get(MEMORY)
        has_notes = notes is not None and notes.files > 0
        return has_notes or bool(self.holding.directory.transcripts)

    @property
    def named_elsewhere(self) -> set[str]:
        """Paths that transcripts name and whose directory is another one:
        they were moved here.
        """
        transcripts = self.holding.directory.transcripts
        elsewhere: set[str] = set()
        for item in transcripts:
            path = item.path
            if path and not may_be_name_of(self.name, path):
                elsewhere.add(path)
        return elsewhere

    def items_of(self, path: str | None) -> Iterator[Item]:
        """What of the directory is this path's; for None what is nobody's."""
        if path is None:
            return iter(self.holding.nobodys)
        return self.holding.items_of(path)

    @property
    def has_nobodys(self) -> bool:
        """Whether there is a file that belongs to no path."""
        items = self.holding.nobodys
        return any(self.amounts[item.name].files for item in items)

    @property
    def sessions(self) -> list[Item]:
        return [item for item in self.holding.directory.items if item.is_conversation]


@dataclass(frozen=True, slots=True)
class Project:
    """One project; `path` is None when nothing says whose a directory is."""

    path: str | None
    exists: bool | None  # None: that can't be told from here
    directories: tuple[str, ...] = ()
    sessions: int = 0
    bytes: int = 0
    first_used: int | None = None  # ns, of the oldest transcript
    last_used: int | None = None  # ns, of the newest transcript or prompt
    last_session: int | None = None  # ns, of the newest transcript
    deleted_soon: int = 0  # sessions that Claude Code will delete within a week
    # What else there is, and how much:
    kept: dict[str, int] = field(default_factory=dict)

    @property
    def kept_in_words(self) -> list[str]:
        """As a move tells what it brings."""
        words = {what: plural(number, what) for what, number in self.kept.items()}
        if "config entry" in words:
            words["config entry"] = "settings"
        first = [words.pop(what) for what in ("prompt", "note") if what in words]
        return [*first, *words.values()]


class Survey:
    """Everything that is known."""

    def __init__(self, layout: Layout, progress: Progress | None = None) -> None:
        """Reads all of it; NothingKnownError when there is no state at all."""
        if not layout.config_dir.is_dir() and not layout.real_config_file.is_file():
            raise NothingKnownError(
                f"{layout.config_dir} does not exist: Claude Code has no data there",
                "name the right one with --config-dir DIR",
            )
        self._progress = progress
        self.layout = layout
        state = State(layout, partial(self.tick, "reading"))
        self._state = state
        self.problems = state.problems
        self.backups: list[Backup] = []  # oldest first
        with state.problems_of(layout.backups):
            self.backups = all_backups(layout)
        self._owners = owners_of(state, self.backups)
        self.directories: dict[str, Directory] = {}
        self._read_directories()
        self.former = self._find_former()
        self.days_kept = days_kept(layout)
        projects = self._find_projects()
        self.projects = list(projects)

    def tick(self, what: str, done: int, total: int) -> None:
        """Tell how far long work is, where somebody wants to know."""
        if self._progress is not None:
            self._progress(what, done, total)

    @cached_property
    def repositories(self) -> dict[str, list[str]]:
        links: dict[str, list[str]] = {}
        with self._state.problems_of(self.layout.config_file):
            links.update(self._state.repositories)
        return links

    @cached_property
    def by_path(self) -> dict[str, Project]:
        return {project.path: project for project in self.projects if project.path}

    @cached_property
    def directories_of_sessions(self) -> dict[str, list[str]]:
        """The names of the directories that hold a transcript of each session."""
        names: dict[str, list[str]] = defaultdict(list)
        for name, directory in self.directories.items():
            for item in directory.sessions:
                names[session_of(item.name)].append(name)
        return dict(names)

    def _read_directories(self) -> None:
        root = self.layout.projects
        state = self._state
        names: tuple[str, ...] = ()
        with state.problems_of(root):
            names = state.directory_names
        for number, name in enumerate(names):
            self.tick("projects", number, len(names))
            if is_of_downloads(name):
                continue
            path = root / name
            with state.problems_of(path):
                self.directories[name] = self._directory(path)

    def _directory(self, path: Path) -> Directory:
        holding = self._owners.of(path.name)
        amounts: dict[str, Amount] = {}
        for item in holding.directory.items:
            amounts[item.name] = measured(path / item.name)
        return Directory(path.name, path, holding, amounts)

    def _find_former(self) -> Homes:
        """Where gone paths are now, with how that is known: by our own moves, and by
        sessions.
        """
        exists = self._owners.exists
        former: Homes = defaultdict(dict)
        newest_first = reversed(self.our_moves)
        moves = [(*move, MOVED_BY_US) for move in still_moved(newest_first)]
        moves += self._kept_elsewhere()
        for old, new, how in moves:
            if exists(old) is not False or not exists(new):
                continue
            if tail_below(old, new) is None:
                folders = former[old]
                folders.setdefault(new, how)
        return dict(former)

    @cached_property
    def our_moves(self) -> list[list[Move]]:
        """What our own moves brought where, the oldest run first, of pruned ones too;
        but for those that were undone.
        """
        return moves_by_us(self.layout, self.backups)

    @property
    def kept_by_us(self) -> Iterator[str]:
        """Projects that stayed where they were when what is around them was moved."""
        for backup in self.backups:
            if backup.manifest is not None and backup.stands:
                yield from backup.manifest.kept

    def _kept_elsewhere(self) -> Iterator[Former]:
        """A path is where its conversations are kept, if the oldest there is one of its
        own and none is at home.

        A single session can be taken elsewhere by the client's own `/cd`, which a trial
        with it shows: that says nothing of its project. Nor does what our own moves
        brought, of the path that it names.
        """
        directories = self.directories.values()
        at_home: set[str | None] = set()
        for directory in directories:
            owners = directory.holding.owner_of_session
            at_home.update(owners.values())
        for directory in directories:
            oldest = self._oldest_session(directory)
            if oldest is None or len(directory.claims) != 1:
                continue
            (new,) = directory.claims
            guests = directory.named_elsewhere - at_home
            if oldest.path in guests:
                yield str(oldest.path), new, KEPT_ELSEWHERE

    def _oldest_session(self, directory: Directory) -> Item | None:
        """Of those that no move of ours brought."""
        ours = self._owners.ledger.entries
        oldest: Item | None = None
        first = 0
        for item in directory.sessions:
            age = directory.amounts[item.name].newest
            if (directory.name, item.name) in ours:
                continue
            if oldest is None or age < first:
                oldest, first = item, age
        return oldest

    def _find_projects(self) -> Iterator[Project]:
        """Every path with a claim or an entry, then what is nobody's."""
        directories_of: dict[str, list[Directory]] = defaultdict(list)
        directories = self.directories.values()
        for directory in directories:
            for path in directory.claims:
                directories_of[path].append(directory)
        paths = {*directories_of, *self._state.named}
        for path in sorted(paths):
            own = directories_of[path]
            yield self._project(path, own)
        for directory in directories:
            if directory.has_nobodys:
                yield self._project(None, [directory])

    def _project(self, path: str | None, directories: list[Directory]) -> Project:
        """What the directories hold of a path, and what else names it."""
        kept: Counter[str] = Counter()
        times: list[int] = []
        size = 0
        for directory in directories:
            for item in directory.items_of(path):
                amount = directory.amounts[item.name]
                if item.is_transcript:  # as a move counts it
                    size += amount.size
                if item.is_conversation:
                    times.append(amount.newest)
                if item.name == MEMORY:
                    kept["note"] += amount.files
        names = [directory.name for directory in directories]
        exists = None
        uses = list(times)
        if path is not None:
            exists = self._owners.exists(path)
            kept.update(self._state.named.get(path, {}))
            if "prompt" in kept:
                _, last = self._state.prompts[path]
                uses.append(last)
        return Project(
            path,
            exists,
            tuple(sorted(names)),
            sessions=len(times),
            bytes=size,
            first_used=min(times, default=None),
            last_used=max(uses, default=0) or None,
            last_session=max(times, default=None),
            deleted_soon=number_deleted_soon(times, self.days_kept),
            kept={what: number for what, number in kept.items() if number},
        )


def owners_of(state: State, backups: Iterable[Backup]) -> Owners:
    """The table of owners for who looks at what is there, and moves nothing."""
    ledger = ledger_of(state.layout, backups)
    claims = dict.fromkeys(state.named, "a list")
    return Owners(state, ledger, PathMap(()), claims)


def ancestors(path: str) -> list[str]:
    """`path` itself, then every folder above it but the root."""
    parents = PurePath(path).parents
    folders = [PurePath(path), *parents]
    return [str(folder) for folder in folders[:-1]]


def folded(path: str) -> str:
    """A path without what spellings of one folder can differ in."""
    return unicodedata.normalize("NFC", compared(path)).casefold()


def measured(path: Path) -> Amount:
    """Size, newest mtime and number of the files at or below `path`; links are not
    followed.

    Files may come and go meanwhile: a running client is no reason to fail.
    """
    size = newest = files = 0
    waiting = [str(path)]
    while waiting:
        with contextlib.suppress(FileNotFoundError):
            current = waiting.pop()
            status = os.lstat(current)
            if stat.S_ISDIR(status.st_mode):
                waiting += [os.path.join(current, name) for name in os.listdir(current)]
                continue
            size += status.st_size
            newest = max(newest, status.st_mtime_ns)
            files += 1
    return Amount(size, newest, files)
