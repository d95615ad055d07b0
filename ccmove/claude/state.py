"""A read-only look at the state: what is there, and whose each thing is.

Nothing here decides what a move does; it only gathers evidence. Files are opened without
following links, so that a link planted in the state leads nowhere; whoever meets one is refused.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from ccmove.claude import nofollow
from ccmove.claude.layout import Layout
from ccmove.claude.naming import LONGEST_NAME, may_be_name_of, possible_names, uncut
from ccmove.claude.reading import Fingerprint, history_file, links_refused, open_regular
from ccmove.errors import LinkError, RefusedError, StaleLookError, again, look_at, run
from ccmove.otherprocess import OtherProcess, in_halves, is_worth_it, send
from ccmove.rewrite import history
from ccmove.rewrite.config import is_opened
from ccmove.rewrite.jsonspan import Node, NotJsonError, byte_values, outline, parse
from ccmove.rewrite.rewriter import parse_index
from ccmove.text import readable_size as readable

TRANSCRIPT = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
PEEK = 65536  # the client looks at this much of a transcript's head and tail, and so do we
FIRST_PEEK = 16384  # where a path is named, it nearly always is in the first lines
LARGEST_DOCUMENT = 1 << 30
INDEX = "sessions-index.json"
ALIASES = ".session-aliases"
MEMORY = "memory"
MANY_ENTRIES = 300  # of a project directory: from here on another process is worth having
MANY_DIRECTORIES = 300
SESSION_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Document:
    """A small file as it was when it was read."""

    def __init__(self, path: Path, data: bytes, seen: Fingerprint) -> None:
        self.path = path
        self.data = data
        self.seen = seen

    @cached_property
    def text(self) -> str:
        return self.data.decode("utf-8", "surrogateescape")

    @cached_property
    def values(self) -> dict[str, Any] | None:
        """What it holds, as `byte_values` has it; parsed once, whoever asks."""
        return byte_values(self.data)


def names_in(path: Path) -> list[str]:
    """The names in a directory of the state; none when there is no such directory."""
    try:
        with links_refused():
            return sorted(nofollow.listdir(path))
    except (FileNotFoundError, NotADirectoryError):
        return []


def read_document(path: Path, largest: int = LARGEST_DOCUMENT) -> Document | None:
    """The whole of a small file, or None when there is none."""
    fd = open_regular(path)
    if fd is None:
        return None
    with open(fd, "rb") as file:
        seen = Fingerprint.of(os.fstat(fd))
        if seen.size > largest:
            raise RefusedError(
                f"{path} is larger than {readable(largest)}, which can't be right",
                run("ls", "-l", path, text="look at it"),
            )
        data = file.read(seen.size + 1)
    if len(data) != seen.size:
        raise StaleLookError(f"{path} changed while it was read", again("run it again"))
    return Document(path, data, seen)


# -- transcripts -----------------------------------------------------------------------


def recorded_path(path: Path) -> str | None:
    """The project path that a transcript names, by the client's own rule, or None."""
    fd = open_regular(path)
    return _recorded(fd)[0] if fd is not None else None


def _recorded(fd: int) -> tuple[str | None, int]:
    """The same for an open file, which is closed then; and its size."""
    try:
        head = os.pread(fd, FIRST_PEEK, 0)
        size = os.fstat(fd).st_size if len(head) == FIRST_PEEK else len(head)
        tail = head if size <= len(head) else os.pread(fd, PEEK, max(0, size - PEEK))
        relocated = _last_relocation(tail)
        path = _first_cwd(head) if relocated is None else relocated
        if path is None and size > len(head):
            path = _first_cwd(os.pread(fd, PEEK, 0))
        return path, size
    finally:
        os.close(fd)


def _open_in(directory: int, name: str) -> int | None:
    """A transcript in an open directory; None when it went or something else took its place."""
    try:
        return os.open(name, TRANSCRIPT, dir_fd=directory)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP, errno.ENXIO):
            return None
        raise


def _last_relocation(tail: bytes) -> str | None:
    if b"relocatedCwd" not in tail:  # found five times as fast as what ends with a quote
        return None
    for line in reversed(tail.split(b"\n")):
        if b'"type":"relocated"' in line and (path := _string_at(line, "relocatedCwd")) is not None:
            return path
    return None


def _first_cwd(head: bytes) -> str | None:
    at = head.find(b'"cwd":')
    while at >= 0:
        end = head.find(b"\n", at)
        end = len(head) if end < 0 else end
        path = _string_at(head[head.rfind(b"\n", 0, at) + 1 : end], "cwd")
        if path is not None:
            return path
        at = head.find(b'"cwd":', end)
    return None


def _string_at(line: bytes, key: str) -> str | None:
    try:
        record = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    value = record.get(key) if isinstance(record, dict) else None
    return value if isinstance(value, str) else None


# -- project directories ---------------------------------------------------------------


def is_of_a_session(name: str) -> bool:
    """Whether an entry of a project directory is a transcript, or the folder of a session."""
    return name.endswith(".jsonl") or SESSION_ID.match(name) is not None


class Item(NamedTuple):
    """One entry of a project directory; a transcript also has the path it names."""

    name: str
    is_dir: bool
    path: str | None = None
    size: int | None = None  # of a transcript that is a regular file

    @property
    def is_transcript(self) -> bool:
        return not self.is_dir and self.name.endswith(".jsonl")

    @property
    def session(self) -> str:
        """The session an entry belongs to: `<id>.jsonl` and the folder `<id>`."""
        return self.name.removesuffix(".jsonl")


class ProjectDirectory(NamedTuple):
    """One directory under `projects`, and the paths that its contents name."""

    name: str
    path: Path
    items: tuple[Item, ...]
    index_paths: frozenset[str]
    index_file: Document | None = None

    @property
    def transcripts(self) -> tuple[Item, ...]:
        return tuple(item for item in self.items if item.is_transcript)

    def named_paths(self) -> dict[str, int]:
        """Paths named by transcripts that really encode to this directory, with their number."""
        counts: dict[str, int] = {}
        for item in self.transcripts:
            if item.path is not None and may_be_name_of(self.name, item.path):
                counts[item.path] = counts.get(item.path, 0) + 1
        return counts


def read_directory(path: Path) -> ProjectDirectory:
    """Look into a project directory: its entries and the paths they name."""
    with links_refused(), nofollow.directory(path) as fd:
        with os.scandir(fd) as entries:
            listed = sorted((entry.name, *_kind(entry)) for entry in entries)
        found = in_halves(
            listed, lambda part: [_looked_at(fd, *entry) for entry in part], MANY_ENTRIES, fd
        )
    items = tuple(map(Item._make, found))
    index = _index(path / INDEX)
    paths = index_paths(index) if index is not None else frozenset()
    return ProjectDirectory(path.name, path, items, paths, index)


def _kind(entry: os.DirEntry[str]) -> tuple[bool, bool]:
    """Whether it is a directory, and whether it is a transcript that can be read."""
    is_transcript = entry.name.endswith(".jsonl") and entry.is_file(follow_symlinks=False)
    return entry.is_dir(follow_symlinks=False), is_transcript


def _looked_at(
    directory: int, name: str, is_dir: bool, is_transcript: bool
) -> tuple[str, bool, str | None, int | None]:
    """What an Item is made of."""
    fd = _open_in(directory, name) if is_transcript else None
    return (name, is_dir, *(_recorded(fd) if fd is not None else (None, None)))


def _index(path: Path) -> Document | None:
    """The index of a directory; who is to change it and can't read it is refused later."""
    try:
        return read_document(path)
    except RefusedError:
        return None


def index_paths(index: Document) -> frozenset[str]:
    """The project paths that an index names; none when it is no index."""
    if index.values is not None:
        found = _paths_in(index.values, index.values.get("entries"))
        return frozenset(_utf8(value) for value in found)
    try:
        root = parse_index(index.text)
    except NotJsonError:
        return frozenset()
    members = {key.value: item.value for key, item in root.members()}
    entries = root.get("entries")
    listed = entries.items if entries is not None and entries.opened == "[" else []
    return _paths_in(members, [entry.value for entry in listed])


def _paths_in(record: dict[str, Any], entries: Any) -> frozenset[str]:
    listed = entries if isinstance(entries, list) else []
    found = [record.get("originalPath"), record.get("projectPath")]
    found += [entry.get("projectPath") for entry in listed if isinstance(entry, dict)]
    return frozenset([value for value in found if type(value) is str])


def _utf8(latin: str) -> str:
    return latin.encode("latin-1").decode("utf-8", "surrogateescape")


# -- the whole -------------------------------------------------------------------------


class State:
    """What one look at a config directory found; parts are read when first asked for."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._other: OtherProcess | None = None

    @cached_property
    def directory_names(self) -> tuple[str, ...]:
        """Names of the project directories; links are not among them."""
        return tuple(sorted(name for name, is_link in self._projects.items() if not is_link))

    @cached_property
    def _projects(self) -> dict[str, bool]:
        """Names under `projects` that are directories or links, and whether they are links."""
        projects = self.layout.projects
        try:
            with links_refused(), nofollow.directory(projects) as fd, os.scandir(fd) as entries:
                return {
                    entry.name: is_link
                    for entry in entries
                    if (is_link := entry.is_symlink()) or entry.is_dir(follow_symlinks=False)
                }
        except FileNotFoundError:
            return {}
        except NotADirectoryError:
            raise RefusedError(
                f"{projects} is not a directory",
                look_at(projects),
            ) from None

    @contextlib.contextmanager
    def listing(self) -> Iterator[None]:
        """Of many project directories another process finds out meanwhile what lies in them."""
        with OtherProcess() as other:
            if len(self.directory_names) >= MANY_DIRECTORIES and is_worth_it():
                other.begin(lambda pipe: send(pipe, self._beside_sessions()))
            self._other = other
            try:
                yield
            finally:
                self._other = None

    @cached_property
    def beside_sessions(self) -> dict[str, list[str]]:
        """For every project directory what lies in it beside transcripts and sessions' folders."""
        found = self._other.answer() if self._other is not None else None
        return found if isinstance(found, dict) else self._beside_sessions()

    def _beside_sessions(self) -> dict[str, list[str]]:
        """Listed by their paths, which takes half the time of a way that can follow no link: none
        of them was one a moment ago, and whatever is in them is opened in that way.
        """
        projects = str(self.layout.projects)
        found: dict[str, list[str]] = {}
        for name in self.directory_names:
            try:
                entries = os.listdir(f"{projects}/{name}")
            except FileNotFoundError:
                continue  # it went meanwhile
            found[name] = sorted([entry for entry in entries if not is_of_a_session(entry)])
        return found

    def directories_with(self, entry: str) -> list[Path]:
        """The project directories in which there is such an entry beside the sessions."""
        found = (name for name, entries in self.beside_sessions.items() if entry in entries)
        return [self.layout.projects / name for name in found]

    def refuse_links_named(self, names: Iterable[str]) -> None:
        """A link in the place of a project directory that is to be moved, or of its target."""
        for name in names:
            if self._projects.get(name):
                raise LinkError(self.layout.projects / name)

    def directory(self, name: str) -> ProjectDirectory:
        return read_directory(self.layout.projects / name)

    @cached_property
    def config(self) -> Document | None:
        """The config file, or None when it is missing or empty."""
        document = read_document(self.layout.real_config_file)
        return document if document is not None and document.data.strip() else None

    @cached_property
    def config_root(self) -> Node | None:
        """Where things stand in the config file, as far as `projects`; None when there is none."""
        if self.config is None:
            return None
        try:
            return outline(self.config.data, is_opened)
        except NotJsonError:
            error = _what_is_wrong(self.config.text)
            raise RefusedError(
                f"{self.layout.config_file} is not valid JSON ({error})",
                "start Claude Code once: it repairs or restores the file",
            ) from None

    @cached_property
    def config_paths(self) -> tuple[str, ...]:
        """The keys of `projects` in the config file."""
        projects = self.config_root.get("projects") if self.config_root is not None else None
        return tuple(dict.fromkeys(k.value for k in projects.keys)) if projects else ()

    def history_paths(self) -> dict[str, int]:
        """Every `project` of the history with its number of lines; reads the whole file."""
        counts: dict[str, int] = {}
        for line in self.history_lines():
            try:
                value = json.loads(line).get("project")
            except (ValueError, AttributeError, RecursionError):
                continue
            if isinstance(value, str):
                counts[value] = counts.get(value, 0) + 1
        return counts

    def history_lines(self) -> Iterator[bytes]:
        """The lines of the history, but for those that are too long to be prompts."""
        fd = open_regular(history_file(self.layout))
        if fd is None:
            return
        with open(fd, "rb") as file:
            too_long = False
            while line := file.readline(history.LONGEST_LINE):
                ends = line.endswith(b"\n")
                if not too_long and (ends or len(line) < history.LONGEST_LINE):
                    yield line
                too_long = not ends

    def config_paths_named(self, name: str) -> tuple[str, ...]:
        """Paths of the config file that some client would keep under the directory `name`."""
        sieve = self._config_paths_by_start.get(uncut(name)[:LONGEST_NAME], ())
        return tuple(path for path in sieve if may_be_name_of(name, path))

    @cached_property
    def _config_paths_by_start(self) -> dict[str, list[str]]:
        by_start: dict[str, list[str]] = {}
        for path in self.config_paths:
            for start in {possible[:LONGEST_NAME] for possible in possible_names(path)}:
                by_start.setdefault(start, []).append(path)
        return by_start


def _what_is_wrong(text: str) -> NotJsonError:
    """Where a text is not JSON, in characters."""
    try:
        parse(text, is_opened)
    except NotJsonError as error:
        return error
    raise AssertionError("valid JSON after all")
