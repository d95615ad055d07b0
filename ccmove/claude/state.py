"""The one look at the state: what is there, and which paths it names. Nothing is
decided here.

Files are opened without following links, so that a link planted in the state leads
nowhere; whoever meets one is refused. Each part is read when it is first asked for, and
only once.
"""

import contextlib
import errno
import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from ccmove.claude.layout import Layout
from ccmove.claude.naming import may_be_name_of
from ccmove.claude.reading import Document, directory, open_history, read_document
from ccmove.errors import CcmoveError, RefusedError, describe
from ccmove.hints import look_at
from ccmove.rewrite import config
from ccmove.rewrite.history import count_prompts
from ccmove.rewrite.jsonspan import NotJsonError, value_of
from ccmove.rewrite.windows import is_windows, native
from ccmove.system import Folder

INDEX = "sessions-index.json"
ALIASES = ".session-aliases"
POINTER = "bridge-pointer.json"
MEMORY = "memory"
LINK = "GitHub link"
# What sessions have outside of their projects, below the config directory.
BESIDE_SESSIONS = ("file-history", "tasks", "plans", "paste-cache")
SESSION_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TAIL = 65536  # the client looks for a relocation in this much of a transcript's end
# A file that was listed is none any more, whatever took its place.
GONE_SINCE = errno.ENOENT, errno.ELOOP, errno.ENXIO
RELOCATED = b'"type":"relocated"'
HEAD = 8 << 20  # a first prompt from a pipe may be long, and the path comes after it
_VERSION = re.compile(rb'"version":"(\d{1,9})\.(\d{1,9})\.(\d{1,9})"')
# Since then a session repeats its system prompt, which names its folders.
REMEMBERS_SINCE = 2, 1, 268


Tick = Callable[[int, int], None]  # bytes that were read, and how many there are
Named = dict[str, Counter[str]]  # how often a path is named, by what it is there
List = tuple[str, Iterable[str]]  # what a path is in it, and the paths


def _remembers(tail: bytes) -> bool:
    versions = _VERSION.findall(tail)
    if not versions:
        return False
    newest = tuple(map(int, versions[-1]))
    return newest >= REMEMBERS_SINCE


def _project_path(file: BinaryIO, tail: bytes) -> str | None:
    """Where `/cd` took the session the last time, else where it was begun: the client's
    own rule.
    """
    lines = tail.split(b"\n") if b"relocatedCwd" in tail else []
    for line in reversed(lines):
        if RELOCATED not in line:
            continue
        path = _string(line, "relocatedCwd")
        if path is not None:
            return path
    file.seek(0)
    left = HEAD
    while left > 0 and (line := file.readline(left)):
        left -= len(line)
        if b'"cwd"' not in line:
            continue
        path = _string(line, "cwd")
        if path is not None:
            return path
    return None


def _string(line: bytes, key: str) -> str | None:
    value = get(record_in(line), key)
    if isinstance(value, str):
        return native(value)
    return None


def record_in(line: bytes) -> object:
    """What a line of a transcript says; None where it is half of one, or none of the
    client's.
    """
    try:
        return json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


@dataclass(frozen=True, slots=True, order=True)
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

    @property
    def is_conversation(self) -> bool:
        """Whether it is a transcript; `agent-*.jsonl` beside one is a part of it."""
        return self.is_transcript and not self.name.startswith("agent-")


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
        """Paths of transcripts or the index that really encode to this directory."""
        paths = {*self.index_paths, *(item.path for item in self.transcripts)}
        return {path for path in paths if path and may_be_name_of(self.name, path)}


def _item(parent: Folder, entry: os.DirEntry[str]) -> Item:
    """Of a transcript with the project path that it names."""
    name = entry.name
    is_file = entry.is_file(follow_symlinks=False)
    if not is_file or not name.endswith(".jsonl"):
        return Item(name, entry.is_dir(follow_symlinks=False))
    try:
        fd = parent.open(name)
    except OSError as error:
        if error.errno in GONE_SINCE:
            return Item(name, is_dir=False)
        raise
    with open(fd, "rb", buffering=TAIL // 4) as file:
        size = os.fstat(fd).st_size
        start = max(0, size - TAIL)
        file.seek(start)
        tail = file.read()
        path = _project_path(file, tail)
    remembers = _remembers(tail)
    return Item(name, False, path, size, remembers)


def _index_paths(index: Document | None) -> frozenset[str]:
    """The project paths that an index names; none when it is not an index."""
    try:
        root = value_of(index.text if index is not None else "")
    except NotJsonError:
        return frozenset()
    paths = _paths_at(root, "originalPath", "projectPath", "entries/[]/projectPath")
    return frozenset(paths)


class State:
    """What one look at a config directory found."""

    def __init__(self, layout: Layout, tick: Tick | None = None) -> None:
        self.layout = layout
        self._tick = tick  # told while the history is read
        self.directory = cache(self._look_into)  # a project directory, by its name
        self.document = cache(read_document)  # a small file, by its path
        self.closed: list[Path] = []  # project directories that can't be read
        self.problems: dict[str, str] = {}  # file -> why it could not be read

    @contextlib.contextmanager
    def problems_of(self, file: Path) -> Iterator[None]:
        """What can't be read is a problem, and must not hide the rest."""
        name = str(file)
        try:
            yield
        except NotJsonError as error:
            self.problems[name] = f"not valid JSON ({error})"
        except (CcmoveError, OSError) as error:
            what = describe(error).removeprefix(name)
            self.problems[name] = what.lstrip(": ")

    @cached_property
    def directory_names(self) -> tuple[str, ...]:
        """Names of the project directories; links are not among them."""
        projects = self.layout.projects
        try:
            with directory(projects) as folder, folder.scan() as entries:
                names = [e.name for e in entries if e.is_dir(follow_symlinks=False)]
        except FileNotFoundError:
            return ()
        except NotADirectoryError:
            what = f"{projects} is not a directory"
            raise RefusedError(what, look_at(projects)) from None
        return tuple(sorted(names))

    def having(self, entry: str) -> Iterator[Path]:
        """The entry of this name in each project directory that has one; a directory
        that is closed to us is passed over.
        """
        for name in self.directory_names:
            path = self.layout.projects / name / entry
            if os.path.lexists(path):
                yield path

    def _look_into(self, name: str) -> ProjectDirectory:
        """Its entries and the paths they name."""
        path = self.layout.projects / name
        with directory(path) as folder, folder.scan() as entries:
            items = [_item(folder, entry) for entry in entries]
        items.sort()
        try:
            index = self.document(path / INDEX)
        except RefusedError:
            index = None  # who is to change it and can't read it is refused later
        paths = _index_paths(index)
        return ProjectDirectory(name, path, tuple(items), paths, index)

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
        """Every path that the client has data for, wherever it keeps that; a link of a
        repository is none.
        """
        paths = set(self.config_paths)  # an error where they can't be read
        if history:
            paths.update(self.prompts)
        for noun, listed in self._lists():
            if noun != LINK:
                paths.update(listed)
        for project in self.readable(self.directory_names):
            paths |= project.named_paths()
        return paths

    @cached_property
    def config(self) -> Document | None:
        document = self.document(self.layout.real_config_file)
        if document is not None and document.data.strip():
            return document
        return None

    @property
    def config_values(self) -> Any:
        """What the config file holds; None when there is none. It is not kept: of
        thousands of projects it is much.
        """
        if self.config is None:
            return None
        try:
            return value_of(self.config.text)
        except NotJsonError as error:
            # As tried with it: tests/client/test_invalid_config.py.
            file = self.layout.config_file
            copies = self.layout.config_dir / "backups" / f"{file.name}.backup.*"
            raise RefusedError(
                f"{file} is not valid JSON ({error})",
                "Claude Code does not repair it (2.1.92 starts a new one): "
                f"correct it, or put back its newest copy, {copies}",
            ) from None

    @cached_property
    def config_paths(self) -> tuple[str, ...]:
        projects = members(self.config_values, "projects")
        return tuple(dict.fromkeys(map(native, projects)))

    @cached_property
    def repositories(self) -> dict[str, list[str]]:
        """The folders of each repository of GitHub, as the config file links them."""
        links = members(self.config_values, "githubRepoPaths")
        return {name: _paths_at(paths, "[]") for name, paths in links.items()}

    @cached_property
    def config_entries(self) -> dict[str, str]:
        """The JSON text of each project's entry in the config file, by its path."""
        if self.config is None:
            return {}
        texts = config.entries(self.config.text)
        return {native(path): text for path, text in texts.items()}

    @cached_property
    def prompts(self) -> dict[str, tuple[int, int]]:
        """Of every `project` in the history: how many lines, the newest in ns or 0."""
        with open_history(self.layout.history) as (read, seen):
            counted = count_prompts(read, seen.size, self._tick)
        return {native(path): count for path, count in counted.items()}

    @cached_property
    def named(self) -> Named:
        """Which paths config file, history, plugins and jobs name,
        and how often each.
        """
        named: Named = defaultdict(Counter)
        for noun, paths in self._lists():
            for path in paths:
                named[path][noun] += 1
        with self.problems_of(self.layout.history):
            prompts = self.prompts
            for path in prompts:
                number, _ = prompts[path]
                named[path]["prompt"] = number
        return named

    def _lists(self) -> Iterator[List]:
        """The lists of paths that there are beside the history."""
        layout = self.layout
        with self.problems_of(layout.config_file):
            yield "config entry", self.config_paths
            links = self.repositories.values()
            yield LINK, chain(*links)
        with self.problems_of(layout.plugins):
            yield "plugin", _paths_in(layout.plugins, "plugins/*/[]/projectPath")
        jobs = layout.jobs.glob("*/state.json")
        for file in sorted(jobs):
            with self.problems_of(file):
                folders = _paths_in(file, "cwd", "originCwd", "worktreePath")
                yield "background job", set(folders)


def _paths_in(file: Path, *pointers: str) -> list[str]:
    document = read_document(file)
    if document is not None:
        return _paths_at(value_of(document.text), *pointers)
    return []


def _paths_at(root: object, *pointers: str) -> list[str]:
    """The absolute paths at pointers such as `entries/[]/projectPath`: `[]` is every
    item of a list, `*` every member of an object.
    """
    paths: list[str] = []
    for pointer in pointers:
        paths += _strings_at(root, pointer.split("/"))
    return [path for path in paths if path.startswith("/") or is_windows(path)]


def _strings_at(value: object, steps: list[str]) -> Iterator[str]:
    if steps:
        step, *rest = steps
        for below in _below(value, step):
            yield from _strings_at(below, rest)
    elif isinstance(value, str):
        yield native(value)


def _below(value: object, step: str) -> Iterable[object]:
    if step == "[]":
        if isinstance(value, list):
            return value
        return ()
    if step == "*":
        if isinstance(value, dict):
            return value.values()
        return ()
    return (get(value, step),)


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
            names.sort()
            notes += [(inside / name).as_posix() for name in names]
    return notes


def get(record: object, key: str) -> Any:
    """The value of a key; None if it is not an object."""
    if isinstance(record, dict):
        return record.get(key)
    return None


def members(record: object, key: str) -> dict[str, Any]:
    """The object that a key has; an empty one when it has none."""
    value = get(record, key)
    if isinstance(value, dict):
        return value
    return {}
