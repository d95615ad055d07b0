"""A read-only look at everything Claude Code keeps: which projects it knows, by all evidence.

Nothing is written, and no file gets another date. What can't be read is listed as a problem.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.live import live_sessions
from ccmove.claude.naming import LONGEST_NAME, may_be_name_of, uncut
from ccmove.claude.ownership import Case, Evidence
from ccmove.claude.state import ALIASES, INDEX, MEMORY, Item, State
from ccmove.errors import NothingKnownError
from ccmove.rewrite.pathmap import PathMap, tail_below
from ccmove.run.backups import Backup, all_backups, ledger_of

Tick = Callable[[int, int], None]  # done, in all

DOWNLOADS = re.compile(r"(.*)\.[0-9a-f]{16}")  # beside a project's directory, and no project
_BESIDE_SESSIONS = {MEMORY: "memory", INDEX: "index", ALIASES: "aliases"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a project directory, with all that is below it."""

    size: int
    newest: int  # mtime in ns of the newest file
    files: int


@dataclass(frozen=True)
class Directory:
    """One project directory: what is in it, and whose that is."""

    case: Case
    entries: dict[str, Entry]
    claims: tuple[str, ...]  # paths with a claim on it; the first has what nobody owns

    @property
    def name(self) -> str:
        return self.case.directory.name

    @property
    def path(self) -> Path:
        return self.case.directory.path

    @cached_property
    def sessions(self) -> tuple[Item, ...]:
        return tuple(item for item in self.case.directory.items if is_session(item))

    @cached_property
    def named_elsewhere(self) -> frozenset[str]:
        """Paths that transcripts name and whose directory is another one: they were moved here."""
        named = {item.path for item in self.case.directory.transcripts if item.path}
        return frozenset(path for path in named if not may_be_name_of(self.name, path))

    @property
    def has_worth(self) -> bool:
        """Whether there is a conversation or memory in it."""
        memory = self.entries.get(MEMORY)
        return bool(self.case.directory.transcripts or (memory and memory.files))

    @property
    def size(self) -> int:
        return sum(entry.size for entry in self.entries.values())

    def items_of(self, path: str | None) -> Iterator[Item]:
        """What of the directory is this path's."""
        everything = iter(self.case.directory.items)
        return self.case.items_of(path) if self.case.claims and path else everything


@dataclass(frozen=True, slots=True)
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


def is_session(item: Item) -> bool:
    """A conversation of its own; `agent-*.jsonl` beside it is a part of one."""
    return item.is_transcript and not item.name.startswith("agent-")


def look(layout: Layout, tick: Tick | None = None) -> Survey:
    """Everything that is known; NothingKnownError when there is no state at all."""
    if not layout.config_dir.is_dir() and not layout.real_config_file.is_file():
        raise NothingKnownError(
            f"{layout.config_dir} does not exist: Claude Code has kept nothing there",
            "name the right one with --config-dir DIR",
        )
    return Survey(layout, tick)


class Survey:
    """What one look found."""

    def __init__(self, layout: Layout, tick: Tick | None) -> None:
        self.layout = layout
        self._state = State(layout)
        self.lists = self._state.lists
        self.problems = self.lists.problems
        self.backups: list[Backup] = []  # oldest first
        with self.lists.problems_of(layout.backups):
            self.backups = all_backups(layout)
        named = self.lists.named
        listed = [(path, "the config file") for path in named if "config" in named[path]]
        self._evidence = Evidence(layout, ledger_of(self.backups), PathMap(()), listed, named)
        self.directories = list(self._read_directories(tick))
        # gone path -> {where it is now: how that is known}
        self.former: dict[str, dict[str, str]] = defaultdict(dict)
        self._find_former()
        self._count_values()
        for session in live_sessions(layout, list(named)):
            if session.folder in named:
                self.lists.add(session.folder, "running")
        self.projects = list(self._find_projects())
        self.by_path = {project.path: project for project in self.projects if project.path}
        self.directory_by_name = {directory.name: directory for directory in self.directories}
        # The names of the directories that hold a transcript of each session.
        self.places_of_sessions: dict[str, list[str]] = defaultdict(list)
        for directory in self.directories:
            for item in directory.sessions:
                self.places_of_sessions[item.session].append(directory.name)

    def _read_directories(self, tick: Tick | None) -> Iterator[Directory]:
        names: tuple[str, ...] = ()
        with self.lists.problems_of(self.layout.projects):
            names = self._state.directory_names
        seen: dict[str, list[str]] = {}
        for number, name in enumerate(names):
            if tick:
                tick(number, len(names))
            path = self.layout.projects / name
            with self.lists.problems_of(path):
                if not DOWNLOADS.fullmatch(name):
                    content = self._state.directory(name)
                    entries = {item.name: measured(path / item.name) for item in content.items}
                    case = Case(self._evidence, content)
                    # Nobody claims it: the one existing folder of this name would find it.
                    found = case.ranked or tuple(folders_named(name, seen))
                    yield Directory(case, entries, found if case.ranked or len(found) == 1 else ())

    def _find_former(self) -> None:
        """Where gone paths are now, told by our own moves and by sessions that are elsewhere.

        A single session can be taken elsewhere by the client's own `/cd`. So where the project
        still has sessions of its own, one that is elsewhere says nothing about the rest.
        """
        for backup in self.backups:
            if backup.manifest is not None and backup.manifest.kind == "move" and backup.stands:
                moves = [(move.path, move.new_path) for move in backup.manifest.projects]
                for old, new in [*backup.manifest.moves, *moves]:
                    self._add_former(old, new, "ccmove moved it there")
        at_home = {owner for d in self.directories for owner in d.case.owner_of.values()}
        for directory in self.directories:
            if len(directory.claims) == 1:
                for old in directory.named_elsewhere - at_home:
                    how = "its conversations are kept for that path now"
                    self._add_former(old, directory.claims[0], how)

    def _add_former(self, old: str, new: str, how: str) -> None:
        nested = tail_below(old, new) is not None or tail_below(new, old) is not None
        exists = self._evidence.exists
        if not nested and exists(old) is False and exists(new):
            self.former[old].setdefault(new, how)

    def _count_values(self) -> None:
        """A path inside an entry counts for the gone project it is in; others we can't judge."""
        known = {*self.lists.named, *self.former}
        gone = {path for path in known if self._evidence.exists(path) is False}
        for value in self.lists.values:
            root = next((path for path in ancestors(value) if path in gone), None)
            if root is not None:
                self.lists.add(root, "values")

    def _find_projects(self) -> Iterator[Project]:
        holding: dict[str, list[Directory]] = defaultdict(list)
        for directory in self.directories:
            for path in directory.claims:
                holding[path].append(directory)
        for path in sorted({*holding, *self.lists.named}):
            yield self._project(path, holding[path])
        for directory in self.directories:
            if not directory.claims and any(e.files for e in directory.entries.values()):
                yield self._project(None, [directory])

    def _project(self, path: str | None, directories: list[Directory]) -> Project:
        kept: Counter[str] = Counter()
        times, size = [], 0
        for directory in directories:
            for item in directory.items_of(path):
                entry = directory.entries[item.name]
                size += entry.size
                if is_session(item):
                    times.append(entry.newest)
                elif item.name in _BESIDE_SESSIONS:
                    kept[_BESIDE_SESSIONS[item.name]] += entry.files
        kept.update(self.lists.named.get(path or "", {}))
        prompt = self._state.prompts[path][1] if path and "prompts" in kept else 0
        return Project(
            path,
            self._evidence.exists(path) if path is not None else None,
            tuple(sorted(directory.name for directory in directories)),
            len(times),
            size,
            min(times, default=None),
            max([*times, prompt]) or None,
            {place: number for place, number in kept.items() if number},
        )


# -- the disk -----------------------------------------------------------------------------------


def ancestors(path: str) -> Iterator[str]:
    """`path` itself, then every folder above it but the root."""
    while len(path) > 1:
        yield path
        path = os.path.dirname(path)
        if path.endswith("/"):
            return


def folders_named(name: str, seen: dict[str, list[str]]) -> list[str]:
    """Existing folders with this encoded name, found by walking down from the root.

    Only a folder whose own name fits the next part is entered, so few are looked at.
    """
    found: list[str] = []
    waiting = ["/"] if name.startswith("-") and len(name) <= LONGEST_NAME else []
    while waiting:
        base = waiting.pop()
        if base not in seen:
            seen[base] = folders_in(base)
        for path in seen[base]:
            encoded = uncut(path)
            if encoded == name:
                found.append(path)
            elif name.startswith(encoded + "-"):
                waiting.append(path)
    return found


def folders_in(base: str) -> list[str]:
    """The folders in a folder; links are none, and what can't be listed has none."""
    try:
        with os.scandir(base) as entries:
            return sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []


def measured(path: Path) -> Entry:
    """Size, newest mtime and number of the files at or below `path`; links are not followed.

    Files may come and go meanwhile: a running client is no reason to fail.
    """
    size = newest = files = 0
    waiting = [str(path)]
    while waiting:
        with contextlib.suppress(FileNotFoundError):
            current = waiting.pop()
            found = os.lstat(current)
            if stat.S_ISDIR(found.st_mode):
                waiting += [os.path.join(current, name) for name in os.listdir(current)]
                continue
            size += found.st_size
            newest = max(newest, found.st_mtime_ns)
            files += 1
    return Entry(size, newest, files)
