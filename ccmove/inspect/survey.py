"""A read-only look at everything Claude Code keeps: which projects it knows, by all
evidence.

Nothing is written, and no file gets another date. What can't be read is listed as a
problem.
"""

import contextlib
import os
import stat
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePath
from typing import NamedTuple

from ccmove.claude.layout import Layout
from ccmove.claude.naming import is_of_downloads, may_be_name_of
from ccmove.claude.owners import Holding, Owners, listed_in, session_of
from ccmove.claude.state import MEMORY, Item, State
from ccmove.errors import NothingKnownError
from ccmove.rewrite.pathmap import PathMap, tail_below
from ccmove.run.backups import Backup, all_backups, ledger_of
from ccmove.text import plural

Tick = Callable[[int, int], None]  # done, in all
Progress = Callable[[str, int, int], None]  # of what


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
        named = {item.path for item in transcripts if item.path}
        return {path for path in named if not may_be_name_of(self.name, path)}

    def items_of(self, path: str | None) -> Iterator[Item]:
        """What of the directory is this path's; for None what is nobody's."""
        if path is None:
            return iter(self.holding.nobodys)
        return self.holding.items_of(path)

    def sessions_of(self, path: str | None) -> list[Item]:
        return conversations(self.items_of(path))

    @property
    def sessions(self) -> list[Item]:
        return conversations(self.holding.directory.items)


def conversations(items: Iterable[Item]) -> list[Item]:
    """Transcripts; `agent-*.jsonl` beside one is a part of it."""
    transcripts = [item for item in items if item.is_transcript]
    return [item for item in transcripts if not item.name.startswith("agent-")]


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
    kept: dict[str, int] = field(
        default_factory=dict
    )  # what else there is, and how much

    @property
    def kept_in_words(self) -> list[str]:
        return [plural(number, place) for place, number in self.kept.items()]


class Survey:
    """Everything that is known; NothingKnownError when there is no state at all."""

    def __init__(self, layout: Layout, progress: Progress | None = None) -> None:
        if not layout.config_dir.is_dir() and not layout.real_config_file.is_file():
            raise NothingKnownError(
                f"{layout.config_dir} does not exist: Claude Code has no data there",
                "name the right one with --config-dir DIR",
            )
        tick = progress or (lambda _what, _done, _total: None)
        self.layout = layout
        self._state = State(layout, partial(tick, "reading"))
        self.problems, named = self._state.problems, self._state.named
        self.repositories: dict[str, list[str]] = {}
        with self._state.problems_of(layout.config_file):
            self.repositories = self._state.repositories
        self.backups: list[Backup] = []  # oldest first
        with self._state.problems_of(layout.backups):
            self.backups = all_backups(layout)
        with_settings = [path for path in named if "config entry" in named[path]]
        ledger = ledger_of(layout, self.backups)
        listed = listed_in((), with_settings)
        self._owners = Owners(self._state, ledger, PathMap(()), listed, named)
        directories = self._read_directories(partial(tick, "projects"))
        self.directories = {directory.name: directory for directory in directories}
        self.former = self._find_former()
        self.projects = list(self._find_projects())
        self.by_path = {
            project.path: project for project in self.projects if project.path
        }
        # The names of the directories that hold a transcript of each session.
        self.places_of_sessions: dict[str, list[str]] = defaultdict(list)
        for name, directory in self.directories.items():
            for item in directory.sessions:
                self.places_of_sessions[session_of(item.name)].append(name)

    def _read_directories(self, tick: Tick) -> Iterator[Directory]:
        names: tuple[str, ...] = ()
        with self._state.problems_of(self.layout.projects):
            names = self._state.directory_names
        for number, name in enumerate(names):
            tick(number, len(names))
            path = self.layout.projects / name
            with self._state.problems_of(path):
                if is_of_downloads(name):
                    continue
                holding = self._owners.of(name)
                items = holding.directory.items
                amounts = {item.name: measured(path / item.name) for item in items}
                yield Directory(name, path, holding, amounts)

    def _find_former(self) -> dict[str, dict[str, str]]:
        """Where gone paths are now, with how that is known: by our own moves, and by
        sessions.

        A single session can be taken elsewhere by the client's own `/cd`. So one that
        is elsewhere says nothing where the project has others at home, or the other
        place had some before.
        """
        former: dict[str, dict[str, str]] = defaultdict(dict)
        exists = self._owners.exists

        def tell(old: str, new: str, how: str) -> None:
            if exists(old) is False and exists(new) and tail_below(old, new) is None:
                former[old].setdefault(new, how)

        for run in (backup.manifest for backup in self.backups if backup.stands):
            if run is not None and run.kind == "move":
                for old, new in (
                    *run.moves,
                    *((m.path, m.new_path) for m in run.projects),
                ):
                    tell(old, new, "ccmove moved it there")
        directories = self.directories.values()
        at_home = set().union(
            *(d.holding.owner_of_session.values() for d in directories)
        )
        for directory in directories:
            # What our own moves brought says nothing of the path that it names.
            ours = self._owners.ledger.entries
            sessions = [
                item
                for item in directory.sessions
                if (directory.name, item.name) not in ours
            ]
            oldest = min(
                sessions, key=lambda s: directory.amounts[s.name].newest, default=None
            )
            came = directory.named_elsewhere - at_home
            if oldest and oldest.path in came and len(directory.claims) == 1:
                how = "its conversations are kept for that path now"
                tell(str(oldest.path), directory.claims[0], how)
        return dict(former)

    def _find_projects(self) -> Iterator[Project]:
        holding: dict[str, list[Directory]] = defaultdict(list)
        for directory in self.directories.values():
            for path in directory.claims:
                holding[path].append(directory)
        for path in sorted({*holding, *self._state.named}):
            yield self._project(path, holding[path])
        for directory in self.directories.values():
            nobodys = [
                directory.amounts[item.name] for item in directory.items_of(None)
            ]
            if any(amount.files for amount in nobodys):
                yield self._project(None, [directory])

    def _project(self, path: str | None, directories: list[Directory]) -> Project:
        kept: Counter[str] = Counter()
        times, size = [], 0
        for directory in directories:
            times += [
                directory.amounts[i.name].newest for i in directory.sessions_of(path)
            ]
            for item in directory.items_of(path):
                amount = directory.amounts[item.name]
                size += amount.size
                if item.name == MEMORY:
                    kept["memory file"] += amount.files
        kept.update(self._state.named.get(path or "", {}))
        prompt = self._state.prompts[path][1] if path and "prompt" in kept else 0
        return Project(
            path,
            self._owners.exists(path) if path is not None else None,
            tuple(sorted(directory.name for directory in directories)),
            len(times),
            size,
            min(times, default=None),
            max([*times, prompt]) or None,
            max(times, default=None),
            {place: number for place, number in kept.items() if number},
        )


def ancestors(path: str) -> list[str]:
    """`path` itself, then every folder above it but the root."""
    return [str(folder) for folder in (PurePath(path), *PurePath(path).parents)][:-1]


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
            found = os.lstat(current)
            if stat.S_ISDIR(found.st_mode):
                waiting += [os.path.join(current, name) for name in os.listdir(current)]
                continue
            size += found.st_size
            newest = max(newest, found.st_mtime_ns)
            files += 1
    return Amount(size, newest, files)
