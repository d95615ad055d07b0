"""The one look at the state: what is there, and which paths it names. Nothing is
decided here.

Files are opened without following links, so that a link planted in the state leads
nowhere; whoever meets one is refused. Each part is read when it is first asked for, and
only once.
"""

import contextlib
import errno
import itertools
import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from ccmove.claude.layout import Layout
from ccmove.claude.naming import may_be_name_of
from ccmove.claude.reading import Document, directory, open_history, read_document
from ccmove.errors import CcmoveError, RefusedError, describe, look_at
from ccmove.rewrite.history import count_prompts
from ccmove.rewrite.jsonspan import NotJsonError, parse
from ccmove.rewrite.windows import is_windows, native
from ccmove.system import Folder

INDEX = "sessions-index.json"
ALIASES = ".session-aliases"
POINTER = "bridge-pointer.json"
MEMORY = "memory"
SESSION_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TAIL = 65536  # the client looks for a relocation in this much of a transcript's end
HEAD = 8 << 20  # a first prompt from a pipe may be long, and the path comes after it
_VERSION = re.compile(rb'"version":"(\d{1,9})\.(\d{1,9})\.(\d{1,9})"')
REMEMBERS_SINCE = (
    2,
    1,
    268,
)  # a session repeats its system prompt, which names its folders


def _recorded(fd: int) -> tuple[str | None, int, bool]:
    """The project path that a transcript names, by the client's own rule; its size;
    whether the last client that wrote it records its system prompt.
    """
    with open(fd, "rb", buffering=TAIL // 4) as file:
        size = os.fstat(fd).st_size
        file.seek(max(0, size - TAIL))
        tail = file.read(TAIL)
        file.seek(0)
        versions = _VERSION.findall(tail)
        remembers = bool(versions) and tuple(map(int, versions[-1])) >= REMEMBERS_SINCE
        if b"relocatedCwd" in tail:
            for line in reversed(tail.split(b"\n")):
                path = (
                    _string(line, "relocatedCwd")
                    if b'"type":"relocated"' in line
                    else None
                )
                if path is not None:
                    return path, size, remembers
        left = HEAD
        while left > 0 and (line := file.readline(left)):
            left -= len(line)
            if b'"cwd"' in line and (path := _string(line, "cwd")) is not None:
                return path, size, remembers
        return None, size, remembers


def _string(line: bytes, key: str) -> str | None:
    try:
        value = get(json.loads(line.decode("utf-8", "replace")), key)
    except (ValueError, RecursionError):
        return None
    return native(value) if isinstance(value, str) else None


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of a project directory; a transcript also has the path it names."""

    name: str
    is_dir: bool
    path: str | None = None
    size: int | None = None  # of a transcript that is a regular file
    remembers: bool = False  # when resumed it names its old folders until /compact

    @property
    def is_transcript(self) -> bool:
        return not self.is_dir and self.name.endswith(".jsonl")


@dataclass(frozen=True, slots=True)
class ProjectDirectory:
    """One directory under `projects`, and the paths that its contents name."""

    name: str
    path: Path
    items: tuple[Item, ...]
    index_paths: frozenset[str]
    index_file: Document | None = None

    @property
    def transcripts(self) -> tuple[Item, ...]:
        return tuple(item for item in self.items if item.is_transcript)

    def named_paths(self) -> set[str]:
        """Paths named by transcripts or the index that
        really encode to this directory.
        """
        named = {item.path for item in self.transcripts if item.path is not None}
        return {
            path for path in named | self.index_paths if may_be_name_of(self.name, path)
        }


def _item(parent: Folder, entry: os.DirEntry[str]) -> Item:
    is_dir = entry.is_dir(follow_symlinks=False)
    if not entry.name.endswith(".jsonl") or not entry.is_file(follow_symlinks=False):
        return Item(entry.name, is_dir)
    try:
        fd = parent.open(entry.name)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP, errno.ENXIO):
            return Item(entry.name, is_dir)  # it went, or something else took its place
        raise
    return Item(entry.name, is_dir, *_recorded(fd))


def _index_paths(index: Document | None) -> frozenset[str]:
    """The project paths that an index names; none when it is not an index."""
    try:
        root = parse(index.text).value if index is not None else None
    except NotJsonError:
        return frozenset()
    entries = get(root, "entries")
    records = (root, *(entries if isinstance(entries, list) else ()))
    found = [
        get(root, "originalPath"),
        *(get(record, "projectPath") for record in records),
    ]
    return frozenset(native(value) for value in found if isinstance(value, str))


class State:
    """What one look at a config directory found."""

    def __init__(
        self, layout: Layout, tick: Callable[[int, int], None] | None = None
    ) -> None:
        self.layout = layout
        self._tick = (
            tick  # told how many bytes of the history were read, and how many there are
        )
        self.directory = cache(self._look_into)  # a project directory, by its name
        self.document = cache(read_document)  # a small file, by its path
        self.closed: list[Path] = []  # project directories that can't be read
        self.problems: dict[str, str] = {}  # file -> why it could not be read

    @contextlib.contextmanager
    def problems_of(self, file: Path) -> Iterator[None]:
        """What can't be read is a problem, and must not hide the rest."""
        try:
            yield
        except (CcmoveError, NotJsonError, OSError) as error:
            self.problems[str(file)] = (
                describe(error).removeprefix(str(file)).lstrip(": ")
            )

    @cached_property
    def directory_names(self) -> tuple[str, ...]:
        """Names of the project directories; links are not among them."""
        projects = self.layout.projects
        try:
            with directory(projects) as found, found.scan() as entries:
                return tuple(
                    sorted(e.name for e in entries if e.is_dir(follow_symlinks=False))
                )
        except FileNotFoundError:
            return ()
        except NotADirectoryError:
            raise RefusedError(
                f"{projects} is not a directory", look_at(projects)
            ) from None

    def _look_into(self, name: str) -> ProjectDirectory:
        """Its entries and the paths they name."""
        path = self.layout.projects / name
        with directory(path) as found, found.scan() as entries:
            items = tuple(
                sorted((_item(found, entry) for entry in entries), key=lambda i: i.name)
            )
        try:
            index = self.document(path / INDEX)
        except RefusedError:
            index = None  # who is to change it and can't read it is refused later
        return ProjectDirectory(name, path, items, _index_paths(index), index)

    def readable(self, names: Iterable[str]) -> Iterator[ProjectDirectory]:
        """Those of the project directories that are not closed to us;
        the others are noted.
        """
        for name in names:
            try:
                yield self.directory(name)
            except PermissionError:
                self.closed.append(self.layout.projects / name)

    def known_paths(self, *, history: bool = True) -> set[str]:
        """Every project path that the config file,
        the history or a project directory names.
        """
        known = {*self.config_paths, *(self.prompts if history else ())}
        return known.union(
            *(d.named_paths() for d in self.readable(self.directory_names))
        )

    @cached_property
    def config(self) -> Document | None:
        document = self.document(self.layout.real_config_file)
        return document if document is not None and document.data.strip() else None

    @cached_property
    def config_values(self) -> Any:
        """What the config file holds; None when there is none."""
        if self.config is None:
            return None
        try:
            return parse(self.config.text).value
        except NotJsonError as error:
            raise RefusedError(
                f"{self.layout.config_file} is not valid JSON ({error})",
                "Claude Code does not repair it: correct it, or put back one of its "
                f"copies in {self.layout.config_dir / 'backups'}",
            ) from None

    @cached_property
    def config_paths(self) -> tuple[str, ...]:
        return tuple(
            dict.fromkeys(map(native, members(self.config_values, "projects")))
        )

    @cached_property
    def prompts(self) -> dict[str, tuple[int, int]]:
        """Of every `project` in the history: how many lines,
        and the newest in ns or 0.
        """
        with open_history(self.layout.history) as (read, seen):
            counted = count_prompts(read, seen.size, self._tick)
        return {native(path): count for path, count in counted.items()}

    @cached_property
    def repositories(self) -> dict[str, list[str]]:
        links = members(self.config_values, "githubRepoPaths")
        return {name: list(_absolute_paths(listed)) for name, listed in links.items()}

    @cached_property
    def named(self) -> dict[str, Counter[str]]:
        """Which paths config file, history, plugins and jobs name,
        and how often each.
        """
        named: dict[str, Counter[str]] = defaultdict(Counter)
        with self.problems_of(self.layout.config_file):
            for path in self.config_paths:
                named[path]["config entry"] += 1
            for path in itertools.chain(*self.repositories.values()):
                named[path]["repo link"] += 1
        with self.problems_of(self.layout.history):
            for path, (number, _) in self.prompts.items():
                named[path]["prompt"] += number
        with self.problems_of(self.layout.plugins):
            for installs in members(_parsed(self.layout.plugins), "plugins").values():
                listed = installs if isinstance(installs, list) else ()
                for path in _absolute_paths(
                    [get(install, "projectPath") for install in listed]
                ):
                    named[path]["plugin"] += 1
        for file in sorted(self.layout.jobs.glob("*/state.json")):
            with self.problems_of(file):
                job = _parsed(file)
                folders = [
                    get(job, key) for key in ("cwd", "originCwd", "worktreePath")
                ]
                for path in set(_absolute_paths(folders)):
                    named[path]["background job"] += 1
        return dict(named)


def is_of_session(name: str) -> bool:
    """Whether an entry of a project directory is a session's: its transcript, its
    folder, or a file beside them that has its ID."""
    return bool(SESSION_ID.match(name)) or name.endswith(".jsonl")


def notes_among(directory: Path, items: Iterable[Item]) -> list[str]:
    """The files that belong to no session, such as `memory/MEMORY.md`."""
    notes: list[str] = []
    for item in items:
        if is_of_session(item.name):
            continue
        if not item.is_dir:
            notes.append(item.name)
            continue
        for base, _, names in os.walk(directory / item.name):
            inside = Path(base).relative_to(directory)
            for name in sorted(names):
                note = inside / name
                notes.append(note.as_posix())
    return notes


def get(record: object, key: str) -> Any:
    """The value of a key; None if it is not an object."""
    return record.get(key) if isinstance(record, dict) else None


def members(record: object, key: str) -> dict[str, Any]:
    """The object that a key has; an empty one when it has none."""
    value = get(record, key)
    return value if isinstance(value, dict) else {}


def _parsed(file: Path) -> Any:
    document = read_document(file)
    return parse(document.text).value if document is not None else None


def _absolute_paths(values: object) -> Iterator[str]:
    for value in values if isinstance(values, list) else ():
        if isinstance(value, str) and (value.startswith("/") or is_windows(value)):
            yield native(value)
