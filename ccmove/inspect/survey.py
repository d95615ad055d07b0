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
from ccmove.claude.state import MEMORY, State
from ccmove.errors import NothingKnownError
from ccmove.rewrite.pathmap import PathMap, still_moved, tail_below
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


NOTHING = Amount(0, 0, 0)


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
        return [
            "settings" if what == "config entry" else plural(number, what)
            for what, number in self.kept.items()
        ]


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
        # What our own moves brought where, the oldest run first, of pruned ones too;
        # but for those that were undone.
        self.our_moves = moves_by_us(layout, self.backups)
        self.directories: dict[str, Holding] = {}
        self._amounts: dict[Path, Amount] = {}
        self._read_directories()
        self.former = self._find_former()
        self.days_kept = days_kept(layout)
        projects = self._find_projects()
        self.projects = list(projects)

    def tick(self, what: str, done: int, total: int) -> None:
        """Tell how far long work is, where somebody wants to know."""
        if self._progress is not None:
            self._progress(what, done, total)

    def amount(self, holding: Holding, name: str) -> Amount:
        """How much an entry of a directory is; a problem where that can't be read."""
        path = holding.directory.path / name
        if path not in self._amounts:
            self._amounts[path] = NOTHING
            with self._state.problems_of(path):
                self._amounts[path] = measured(path)
        return self._amounts[path]

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
        for name, holding in self.directories.items():
            for item in holding.directory.items:
                if item.is_conversation:
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
            if not is_of_downloads(name):
                with state.problems_of(root / name):
                    self.directories[name] = self._owners.of(name)

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
            if exists(old) is not False:
                continue
            if not exists(new):
                continue
            if tail_below(old, new) is None:
                folders = former[old]
                folders.setdefault(new, how)
        return dict(former)

    def _kept_elsewhere(self) -> Iterator[Former]:
        """A path is where its conversations are kept, if the oldest there is one of its
        own and none is at home.

        A single session can be taken elsewhere by the client's own `/cd`, which a trial
        with it shows: that says nothing of its project. Nor does what our own moves
        brought, of the path that it names.
        """
        holdings = self.directories.values()
        at_home: set[str | None] = set()
        for holding in holdings:
            at_home.update(holding.owner_of_session.values())
        for holding in holdings:
            if len(holding.claims) != 1:
                continue
            (new,) = holding.claims
            path = self._path_of_oldest(holding)
            if path is None or path in at_home:
                continue
            if not may_be_name_of(holding.directory.name, path):
                yield path, new, KEPT_ELSEWHERE

    def _path_of_oldest(self, holding: Holding) -> str | None:
        """What the oldest session names of those that no move of ours brought."""
        ours = self._owners.ledger.entries
        name = holding.directory.name
        path: str | None = None
        oldest = 0
        for item in holding.directory.items:
            if not item.is_conversation:
                continue
            if (name, item.name) in ours:
                continue
            age = self.amount(holding, item.name).newest
            if not oldest or age < oldest:
                oldest = age
                path = item.path
        return path

    def _find_projects(self) -> Iterator[Project]:
        """Every path with a claim or an entry, then what is nobody's."""
        holdings_of: dict[str, list[Holding]] = defaultdict(list)
        holdings = self.directories.values()
        for holding in holdings:
            for path in holding.claims:
                holdings_of[path].append(holding)
        paths = {*holdings_of, *self._state.named}
        for path in sorted(paths):
            own = holdings_of[path]
            yield self._project(path, own)
        for holding in holdings:
            files = 0
            for item in holding.nobodys:
                files += self.amount(holding, item.name).files
            if files:
                yield self._project(None, [holding])

    def _project(self, path: str | None, holdings: list[Holding]) -> Project:
        """What the directories hold of a path, and what else names it."""
        kept = Counter(prompt=0, note=0)  # these come first
        times: list[int] = []
        size = 0
        for holding in holdings:
            items = holding.nobodys if path is None else holding.items_of(path)
            for item in items:
                amount = self.amount(holding, item.name)
                if item.is_transcript:  # as a move counts it
                    size += amount.size
                if item.is_conversation:
                    times.append(amount.newest)
                if item.name == MEMORY:
                    kept["note"] += amount.files
        names = [holding.directory.name for holding in holdings]
        exists = None
        uses = list(times)
        if path is not None:
            exists = self._owners.exists(path)
            kept.update(self._state.named.get(path, {}))
            if kept["prompt"]:
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
    folders = [PurePath(path), *PurePath(path).parents]
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
                names = os.listdir(current)
                waiting += [os.path.join(current, name) for name in names]
                continue
            size += status.st_size
            newest = max(newest, status.st_mtime_ns)
            files += 1
    return Amount(size, newest, files)
