"""A read-only look at everything Claude Code keeps: which projects it knows, by all evidence.

Nothing is written, and no file gets another date. What can't be read is listed as a problem.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.live import live_sessions
from ccmove.claude.naming import LONGEST_NAME, may_be_name_of, possible_names, uncut
from ccmove.claude.ownership import Ledger
from ccmove.claude.state import (
    ALIASES,
    INDEX,
    MEMORY,
    Item,
    ProjectDirectory,
    State,
    read_directory,
)
from ccmove.errors import CcmoveError, NothingKnownError, describe
from ccmove.inspect.listed import Listed, Problem, read_lists
from ccmove.rewrite.pathmap import is_windows, tail_below
from ccmove.run.backups import all_manifests, in_force, read_ledger

Tick = Callable[[int, int], None]  # done, in all

DOWNLOADS = re.compile(r"(.*)\.[0-9a-f]{16}")  # beside a project's directory, and no project
_BESIDE_SESSIONS = {MEMORY: "memory", INDEX: "index", ALIASES: "aliases"}


@dataclass(frozen=True)
class Entry:
    """One name in a project directory, with all that is below it."""

    size: int
    newest: int  # mtime in ns of the newest file
    files: int


@dataclass(frozen=True)
class Directory:
    """One project directory: what is in it, and whose that is."""

    content: ProjectDirectory
    entries: dict[str, Entry]
    owner_of: dict[str, str]  # transcripts that are known to be a path's -> that path
    claims: tuple[str, ...]  # paths with a claim on it; the first gets what nobody owns

    @property
    def name(self) -> str:
        return self.content.name

    @property
    def path(self) -> Path:
        return self.content.path

    @cached_property
    def sessions(self) -> tuple[Item, ...]:
        return tuple(item for item in self.content.transcripts if is_session(item))

    @cached_property
    def named_elsewhere(self) -> frozenset[str]:
        """Paths that transcripts name and whose directory is another one: they were moved here."""
        return frozenset(
            item.path
            for item in self.content.transcripts
            if item.path and not may_be_name_of(self.name, item.path)
        )

    def entries_of(self, path: str | None) -> Iterator[Item]:
        """What of the directory is this path's."""
        owners = {name.removesuffix(".jsonl"): owner for name, owner in self.owner_of.items()}
        default = self.claims[0] if self.claims else None
        for item in self.content.items:
            if owners.get(item.session, default) == path:
                yield item


@dataclass(frozen=True)
class Project:
    """One project; `path` is None when nothing says whose a directory is."""

    path: str | None
    exists: bool | None  # None: that can't be told from here
    directories: tuple[str, ...] = ()
    sessions: int = 0
    size: int = 0
    first_used: int | None = None  # ns, of the oldest transcript
    last_used: int | None = None  # ns, of the newest transcript or prompt
    kept: dict[str, int] = field(default_factory=dict)  # what else there is, and how much

    @property
    def is_missing(self) -> bool:
        return self.exists is False


@dataclass(frozen=True)
class Survey:
    """What one look found."""

    layout: Layout
    projects: tuple[Project, ...]
    directories: tuple[Directory, ...]
    listed: Listed
    former: dict[str, dict[str, str]]  # gone path -> {where it is now: how that is known}
    problems: tuple[Problem, ...] = ()

    @cached_property
    def by_path(self) -> dict[str, Project]:
        return {project.path: project for project in self.projects if project.path is not None}

    @cached_property
    def directory_by_name(self) -> dict[str, Directory]:
        return {directory.name: directory for directory in self.directories}

    @cached_property
    def places_of_sessions(self) -> dict[str, list[str]]:
        """The names of the directories that hold a transcript of each session."""
        places: dict[str, list[str]] = defaultdict(list)
        for directory in self.directories:
            for item in directory.sessions:
                places[item.session].append(directory.name)
        return dict(places)


def look(layout: Layout, tick: Tick | None = None) -> Survey:
    """Everything that is known; NothingKnownError when there is no state at all."""
    if not layout.config_dir.is_dir() and not layout.real_config_file.is_file():
        raise NothingKnownError(
            f"{layout.config_dir} does not exist: Claude Code has kept nothing there",
            "name the right one with --config-dir DIR",
        )
    return _Surveyor(layout).survey(tick)


def is_session(item: Item) -> bool:
    """A conversation of its own; `agent-*.jsonl` beside it is a part of one."""
    return item.is_transcript and not item.name.startswith("agent-")


def folder_exists(path: str) -> bool | None:
    """Whether a project's folder is there; None when that can't be told from here."""
    if "\ufffd" in path or (is_windows(path) and os.sep == "/"):
        return None
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return None


# -- the look -----------------------------------------------------------------------------------


@dataclass
class _Share:
    """What the project directories hold of one path."""

    directories: set[str] = field(default_factory=set)
    size: int = 0
    times: list[int] = field(default_factory=list)  # mtimes of the sessions
    kept: dict[str, int] = field(default_factory=dict)

    def add(self, directory: Directory, items: Iterable[Item]) -> None:
        self.directories.add(directory.name)
        for item in items:
            entry = directory.entries[item.name]
            self.size += entry.size
            if is_session(item):
                self.times.append(entry.newest)
            elif item.name in _BESIDE_SESSIONS:
                place = _BESIDE_SESSIONS[item.name]
                self.kept[place] = self.kept.get(place, 0) + entry.files

    def project(
        self, path: str | None, exists: bool | None, listed: dict[str, int], prompt: int
    ) -> Project:
        last = max([*self.times, prompt]) or None if self.times or prompt else None
        kept = {place: number for place, number in {**self.kept, **listed}.items() if number}
        return Project(
            path,
            exists,
            tuple(sorted(self.directories)),
            len(self.times),
            self.size,
            min(self.times, default=None),
            last,
            kept,
        )


class _Surveyor:
    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.listed = read_lists(layout)
        self.ledger = Ledger()
        self.own_moves: list[tuple[str, str]] = []
        self.listed.guard(layout.backups, self._read_backups)
        self._exists: dict[str, bool | None] = {}
        self._folders: dict[str, list[str]] = {}

    def survey(self, tick: Tick | None) -> Survey:
        directories = tuple(self._directories(tick))
        former = self._former(directories)
        self._count_values(former)
        self._note_running()
        return Survey(
            self.layout,
            tuple(self._projects(directories)),
            directories,
            self.listed,
            former,
            tuple(self.listed.problems),
        )

    def _read_backups(self) -> None:
        self.ledger = read_ledger(self.layout)
        self.own_moves = list(_own_moves(self.layout))

    def exists(self, path: str) -> bool | None:
        if path not in self._exists:
            self._exists[path] = folder_exists(path)
        return self._exists[path]

    # -- project directories --------------------------------------------------------------------

    def _directories(self, tick: Tick | None) -> Iterator[Directory]:
        names: tuple[str, ...] = ()
        try:
            names = State(self.layout).directory_names
        except (CcmoveError, OSError) as error:
            self._add_problem(self.layout.projects, error)
        claimants = _Claimants(self.listed.kept, self.ledger)
        for number, name in enumerate(names):
            if tick:
                tick(number, len(names))
            if not DOWNLOADS.fullmatch(name):
                directory = self._directory(name, claimants)
                if directory is not None:
                    yield directory

    def _add_problem(self, path: Path, error: CcmoveError | OSError) -> None:
        what = describe(error) if isinstance(error, OSError) else str(error)
        self.listed.problems.append(Problem(str(path), what))

    def _directory(self, name: str, claimants: _Claimants) -> Directory | None:
        path = self.layout.projects / name
        try:
            content = read_directory(path)
            entries = {item.name: measured(path / item.name) for item in content.items}
        except (CcmoveError, OSError) as error:
            self._add_problem(path, error)
            return None
        owner_of = _owners(content, self.ledger)
        claims = self._claims(content, owner_of, claimants) or self._by_name(name)
        return Directory(content, entries, owner_of, claims)

    def _claims(
        self, content: ProjectDirectory, owner_of: dict[str, str], claimants: _Claimants
    ) -> tuple[str, ...]:
        """Paths that own sessions here, then listed ones; beside others a listed one must exist.

        Stale entries are common, and they keep nothing in a directory that someone else uses.
        """
        owners = sorted(set(owner_of.values()))
        listed = claimants.of(content.name)
        listed += [p for p in sorted(content.index_paths) if may_be_name_of(content.name, p)]
        if owners or any(self.exists(path) for path in listed):
            listed = [path for path in listed if self.exists(path)]
        found = dict.fromkeys([*owners, *listed])
        return tuple(sorted(found, key=lambda path: self.exists(path) is False))

    def _by_name(self, name: str) -> tuple[str, ...]:
        """Nobody claims it: the one existing folder that has this name would find it."""
        found = folders_named(name, self._folders)
        return tuple(found) if len(found) == 1 else ()

    # -- conclusions ------------------------------------------------------------------------------

    def _former(self, directories: Iterable[Directory]) -> dict[str, dict[str, str]]:
        """Where gone paths are now, told by our own moves and by sessions that lie elsewhere."""
        former: dict[str, dict[str, str]] = defaultdict(dict)
        for old, new in self.own_moves:
            self._add_former(former, old, new, "ccmove moved it there")
        for directory in directories:
            if len(directory.claims) == 1:
                for old in directory.named_elsewhere:
                    how = "its conversations are kept for that path now"
                    self._add_former(former, old, directory.claims[0], how)
        return dict(former)

    def _add_former(self, former: dict[str, dict[str, str]], old: str, new: str, how: str) -> None:
        nested = tail_below(old, new) is not None or tail_below(new, old) is not None
        if not nested and self.exists(old) is False and self.exists(new):
            former[old].setdefault(new, how)

    def _count_values(self, former: dict[str, dict[str, str]]) -> None:
        """A path inside an entry counts for the gone project it lies in; others we can't judge."""
        gone = {path for path in (*self.listed.kept, *former) if self.exists(path) is False}
        for value in self.listed.values:
            root = next((path for path in ancestors(value) if path in gone), None)
            if root is not None:
                self.listed.add(root, "values")

    def _note_running(self) -> None:
        paths = list(self.listed.kept)
        for session in live_sessions(self.layout, paths):
            if session.folder in self.listed.kept:
                self.listed.add(session.folder, "running")

    def _projects(self, directories: Iterable[Directory]) -> Iterator[Project]:
        shares: dict[str, _Share] = defaultdict(_Share)
        for directory in directories:
            for path in directory.claims:
                shares[path].add(directory, directory.entries_of(path))
        for path in sorted({*shares, *self.listed.kept}):
            listed = self.listed.kept.get(path, {})
            prompt = self.listed.last_prompt.get(path, 0)
            yield shares[path].project(path, self.exists(path), listed, prompt)
        for directory in directories:
            if not directory.claims and any(e.files for e in directory.entries.values()):
                share = _Share()
                share.add(directory, directory.content.items)
                yield share.project(None, None, {}, 0)


class _Claimants:
    """Listed paths by the directory name that some client gives them."""

    def __init__(self, listed: Iterable[str], ledger: Ledger) -> None:
        self._by_name: dict[str, list[str]] = defaultdict(list)
        self._by_start: dict[str, list[str]] = defaultdict(list)
        moved = {path for paths in ledger.owners.values() for path in paths}
        for path in sorted({*listed, *moved}):
            names = possible_names(path)
            for name in names:
                self._by_name[name].append(path)
            if len(names[0]) > LONGEST_NAME:
                self._by_start[names[0][:LONGEST_NAME]].append(path)

    def of(self, name: str) -> list[str]:
        exact = self._by_name.get(name, [])
        if exact or len(name) <= LONGEST_NAME:
            return list(exact)
        cut = self._by_start.get(name[:LONGEST_NAME], [])
        return [path for path in cut if may_be_name_of(name, path)]


def _owners(content: ProjectDirectory, ledger: Ledger) -> dict[str, str]:
    """Whose each transcript is: by a move of ours, or because its path has this very name."""
    owners = {}
    for item in content.transcripts:
        moved_here = ledger.entries.get((content.name, item.name))
        if moved_here is not None:
            owners[item.name] = moved_here
        elif item.path is not None and may_be_name_of(content.name, item.path):
            owners[item.name] = item.path
    return owners


def _own_moves(layout: Layout) -> Iterator[tuple[str, str]]:
    manifests = all_manifests(layout)
    standing = in_force(manifests)
    for manifest in manifests:
        if manifest.kind == "move" and standing[manifest.id]:
            yield from manifest.moves
            yield from ((move.path, move.new_path) for move in manifest.projects)


# -- the disk -----------------------------------------------------------------------------------


def ancestors(path: str) -> Iterator[str]:
    """`path` itself, then every folder above it but the root."""
    while len(path) > 1:
        yield path
        path = os.path.dirname(path)
        if path.endswith("/"):
            return


def folders_named(name: str, seen: dict[str, list[str]] | None = None) -> list[str]:
    """Existing folders with this encoded name, found by walking down from the root.

    Only a folder whose own name fits the next part is entered, so few are looked at.
    """
    seen = {} if seen is None else seen
    found: list[str] = []
    waiting = ["/"] if name.startswith("-") and len(name) <= LONGEST_NAME else []
    while waiting:
        base = waiting.pop()
        if base not in seen:
            seen[base] = _folders_in(base)
        for path in seen[base]:
            encoded = uncut(path)
            if encoded == name:
                found.append(path)
            elif name.startswith(encoded + "-"):
                waiting.append(path)
    return sorted(found)


def _folders_in(base: str) -> list[str]:
    try:
        with os.scandir(base) as entries:
            return [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def measured(path: Path) -> Entry:
    """Size, newest mtime and number of the files at or below `path`; links are not followed.

    Files may come and go meanwhile: a client at work is no reason to fail.
    """
    size = newest = files = 0
    for status in _statuses(path):
        size += status.st_size
        newest = max(newest, status.st_mtime_ns)
        files += 1
    return Entry(size, newest, files)


def _statuses(path: Path) -> Iterator[os.stat_result]:
    with contextlib.suppress(FileNotFoundError):
        found = os.lstat(path)
        if not stat.S_ISDIR(found.st_mode):
            yield found
            return
    waiting = [str(path)]
    while waiting:
        with contextlib.suppress(FileNotFoundError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                    continue
                with contextlib.suppress(FileNotFoundError):
                    yield entry.stat(follow_symlinks=False)
