"""What is to be packed: one look, from which an archive can be written later.

Whose each thing is says the table of owners, also in a directory that is shared. Only
what has a role goes in; the rest is named.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

from ccmove.claude.git import identity
from ccmove.claude.layout import Layout
from ccmove.claude.naming import is_of_downloads, names_of_downloads
from ccmove.claude.owners import OF_ALL, Holding, Owners, listed_in, session_of
from ccmove.claude.reading import (
    is_there,
    names_in,
    open_history,
    open_regular,
)
from ccmove.claude.state import INDEX, MEMORY, SESSION_ID, Item, State
from ccmove.errors import NothingKnownError
from ccmove.hints import to_type
from ccmove.plan.model import can_be_moved
from ccmove.rewrite import config, index
from ccmove.rewrite.history import Tick
from ccmove.rewrite.jsonspan import NotJsonError, parse
from ccmove.rewrite.pathmap import PathMap, is_root
from ccmove.rewrite.windows import native
from ccmove.run.backups import all_backups, ledger_of
from ccmove.system import SYSTEM
from ccmove.text import as_bytes, plural
from ccmove.transfer.archive import Git, Header, PackedProject
from ccmove.transfer.collect import NO_ROLE, Collection, LeftOut, Source
from ccmove.transfer.prompts import Search
from ccmove.transfer.roles import IDS, Part, fits_id
from ccmove.transfer.secrets import without_secrets

HEAD = 1 << 20  # in which the transcript of an agent names its session
ROOT = "the root folder is not a project"
NO_PATH = "no folder can have this path"
_AGENT = re.compile(rf"agent-({IDS['agent']})\.jsonl")
_SESSION_IN_LINE = re.compile(rb'"sessionId": ?"([0-9a-f-]{36})"')


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for: the projects of these paths, or all of them."""

    paths: PathMap  # each to itself; none: all there are
    sessions: frozenset[str] = frozenset()  # only these, where there are some
    with_secrets: bool = False

    @property
    def is_all(self) -> bool:
        return not self.paths.moves

    def covers(self, path: str) -> bool:
        return self.is_all or self.paths.covers(path)

    def has_some_of(self, share: "Share") -> bool:
        """Whether there is something that is asked for in a share."""
        if self.sessions:
            return not self.sessions.isdisjoint(share.sessions)
        return bool(share.items)

    def project_of(self, path: str, along: Mapping[str, str]) -> str | None:
        """The project that a path's prompts go with: of a gone path the one that shows
        its sessions; those of the root stay.
        """
        if path in along:
            return along[path]
        if self.covers(path) and can_be_moved(path):
            return path
        return None


@dataclass(frozen=True)
class Share:
    """What of one directory is one project's."""

    path: str
    holding: Holding

    @property
    def directory(self) -> Path:
        return self.holding.directory.path

    @cached_property
    def along(self) -> tuple[str, ...]:
        """Gone paths whose sessions Claude Code shows there, too."""
        is_moving = self.path in self.holding.moving
        if is_moving:
            return tuple(self.holding.along)
        return ()

    @property
    def paths(self) -> set[str]:
        return {self.path, *self.along}

    @cached_property
    def items(self) -> list[Item]:
        return [item for item in self.holding.directory.items if self._has(item)]

    @property
    def sessions(self) -> set[str]:
        return {session_of(item.name) for item in self.items if item.is_transcript}

    def _has(self, item: Item) -> bool:
        """Whether an entry of the directory is its own, or everybody's."""
        if item.name in OF_ALL:
            return True
        owner = self.holding.owner(item)
        return owner in self.paths or (owner is None and bool(self.along))


@dataclass(frozen=True, slots=True)
class Packing:
    """An archive that can be written, and what will not be in it."""

    header: Header
    sources: dict[str, Source]  # by the names of members
    left_out: tuple[LeftOut, ...]
    secrets: tuple[str, ...]  # that were left out, in words
    warnings: tuple[str, ...]
    prompts: Search  # and what the history was then
    history: Path


def gather(layout: Layout, wanted: Wanted, tick: Tick = None) -> Packing | None:
    """Look at everything that is asked for; None when nothing is known of it."""
    state = State(layout)
    search = _search(layout, wanted, {}, tick)
    shares = _shares(state, wanted, search.found)
    along: dict[str, str] = {}  # gone paths, and the project that shows their sessions
    for share in shares:
        for path in share.along:
            along[path] = share.path
    if along:
        search = _search(layout, wanted, along, tick)
    if shares or search.found:
        there = [share.sessions for share in shares]
        missing = wanted.sessions.difference(*there)
        if missing:
            raise no_session(missing, wanted.paths)
    known = _known(state, wanted, search, shares)
    paths = list(filter(can_be_moved, known))
    if not paths:
        return None
    plans = _plans_in(layout)
    collection = Collection(bool(plans))
    for path in known:
        if not can_be_moved(path):
            collection.leave(path, ROOT if is_root(path) else NO_PATH)
    gathering = Gathering(state, wanted, search, plans, collection)
    gathering.add_projects(paths, shares)
    gathering.add_what_is_elsewhere()
    return gathering.packing(paths)


def no_session(missing: Iterable[str], paths: PathMap) -> NothingKnownError:
    """That these are not in what was asked for."""
    what = f"there is no session {', '.join(sorted(missing))}"
    for path, _ in paths.moves:
        what += f" in {path}"
    return NothingKnownError(what, to_type("ccmove", "list", text="all projects"))


def _search(
    layout: Layout, wanted: Wanted, along: Mapping[str, str], tick: Tick
) -> Search:
    """The prompts of what is asked for, and of these gone paths."""
    needles = list(along)
    needles += wanted.paths.needles()
    project_of = partial(wanted.project_of, along=along)
    search = Search(project_of, needles, wanted.sessions)
    history = open_history(layout.history)
    with history as (read, seen):
        search.run(read, seen, tick)
    return search


def _known(
    state: State, wanted: Wanted, search: Search, shares: Iterable[Share]
) -> list[str]:
    """The projects of which there is something that is asked for."""
    paths = set(search.found)
    for share in shares:
        if wanted.has_some_of(share):
            paths.add(share.path)
    if not wanted.sessions:
        of_config = filter(wanted.covers, state.config_paths)
        paths.update(of_config)
    return sorted(paths)


def _shares(state: State, wanted: Wanted, prompts: Iterable[str]) -> list[Share]:
    """What of each directory is one of these projects', by the table of owners."""
    shares = []
    for holding in _holdings(state, wanted, prompts):
        for path in filter(wanted.covers, holding.ranked):
            share = Share(path, holding)
            shares.append(share)
    return shares


def _holdings(state: State, wanted: Wanted, prompts: Iterable[str]) -> list[Holding]:
    """The directories in which there may be something of these projects."""
    layout = state.layout
    backups = all_backups(layout)
    ledger = ledger_of(layout, backups)
    claims = listed_in(prompts, state.config_paths)
    owners = Owners(state, ledger, wanted.paths, claims)
    if not wanted.is_all:
        return owners.concerned()
    holdings = []
    for directory in state.readable(state.directory_names):
        if not is_of_downloads(directory.name):
            holding = owners.of(directory.name)
            holdings.append(holding)
    return holdings


@dataclass
class Gathering:
    """Adds project by project to a collection."""

    _state: State
    _wanted: Wanted
    _search: Search
    _plans: set[str]  # names of all there are
    _collection: Collection
    _sessions: set[str] = field(default_factory=set)  # whose transcripts are packed
    _secrets: list[str] = field(default_factory=list)

    @property
    def _layout(self) -> Layout:
        return self._state.layout

    def add_projects(self, paths: Iterable[str], shares: Iterable[Share]) -> None:
        """All projects, each with its shares of directories."""
        of_path: dict[str, list[Share]] = defaultdict(list)
        for share in shares:
            of_path[share.path].append(share)
        for number, path in enumerate(paths, 1):
            self._add_project(number, path, of_path[path])

    def _add_project(self, number: int, path: str, shares: list[Share]) -> None:
        """All that is one project's, under its number."""
        has_settings = not self._wanted.sessions
        if has_settings:
            self._add_config(number, path)
        prompts = self._search.found.get(path)
        if prompts is not None:
            part = Part("history", number)
            self._collection.add_prompts(part, prompts)
        for share in shares:
            self._add_share(number, share)
            self._name_what_stays(share)

    def add_what_is_elsewhere(self) -> None:
        """What is kept for the packed sessions and prompts beside their projects."""
        for session in sorted(self._sessions):
            self._add_elsewhere("file-history", session)
            self._add_elsewhere("tasks", session)
        for slug in sorted(self._collection.slugs):
            if slug in self._plans:
                self._add_elsewhere("plan", slug)
        for digest in sorted(self._search.pasted):
            if fits_id("paste", digest):
                self._add_elsewhere("paste", digest)

    def _add_elsewhere(self, role: str, identifier: str) -> None:
        """These are called in archives as they are called here."""
        part = Part(role, id=identifier)
        path = self._layout.config_dir / part.name
        self._collection.add(part, path)

    def packing(self, paths: list[str]) -> Packing:
        """All that was found."""
        found = self._collection
        if self._search.unreadable:
            lines = plural(self._search.unreadable, "line")
            why = f"{lines} that can't be read, with a path that is packed"
            found.leave(self._layout.history, why)
        projects = tuple(map(_packed, paths))
        client = ".".join(map(str, found.client)) or None
        home = str(self._layout.home)
        members = tuple(found.members)
        return Packing(
            Header(home, SYSTEM, client, projects, members),
            found.sources,
            tuple(found.left_out),
            tuple(self._secrets),
            tuple(found.warnings),
            self._search,
            self._layout.history,
        )

    def _add_config(self, number: int, path: str) -> None:
        """The project's entry of the config file, without secrets."""
        entry = self._entries.get(path)
        if entry is None:
            return
        if not self._wanted.with_secrets:
            entry, secrets = without_secrets(entry)
            self._secrets += [f"{what} of {path}" for what in secrets]
        data = as_bytes(entry)
        part = Part("config", number)
        self._collection.add_text(part, data)

    @cached_property
    def _entries(self) -> dict[str, str]:
        """The entry of each path, which Windows spells with other strokes."""
        if not self._state.config_paths or self._state.config is None:
            return {}
        entries = config.entries(self._state.config.text)
        return {native(path): entry for path, entry in entries.items()}

    def _add_share(self, number: int, share: Share) -> None:
        """What of a directory is one project's."""
        for item in share.items:
            path = share.directory / item.name
            if item.name == INDEX:
                self._add_index(number, share, path)
                continue
            part = _part_of(number, item)
            if not self._is_wanted(item, part, path):
                continue
            if part is None:
                self._collection.leave(path, NO_ROLE)
                continue
            self._collection.add(part, path)
            if part.role == "transcript":
                self._sessions.add(part.id)

    def _is_wanted(self, item: Item, part: Part | None, path: Path) -> bool:
        """Whether it is of a session that is asked for, where some are."""
        sessions = self._wanted.sessions
        if not sessions:
            return True
        if part is not None and part.role == "agent":
            return _session_of_agent(path) in sessions
        return session_of(item.name) in sessions

    def _add_index(self, number: int, share: Share, path: Path) -> None:
        """The entries of its sessions, in the file's own text where that is all."""
        document = share.holding.directory.index_file
        if document is None:
            self._collection.leave(path, "it can't be read")
            return
        try:
            text = _index_of(share, document.text, self._wanted.sessions)
        except NotJsonError as error:
            self._collection.leave(path, f"it is not an index: {error}")
            return
        if text:
            data = as_bytes(text)
            part = Part("index", number)
            self._collection.add_text(part, data)

    def _name_what_stays(self, share: Share) -> None:
        """What is in its directory and is nobody's, or everybody's."""
        if self._wanted.sessions:
            return
        holding = share.holding
        others = [path for path in holding.claims if path not in share.paths]
        for item in holding.nobodys:
            if item not in share.items:
                why = f"nothing shows whose it is: {', '.join(holding.ranked)}"
                path = share.directory / item.name
                self._collection.leave(path, why)
        names = [item.name for item in share.items]
        if others and MEMORY in names:
            shared = f"{share.path} shares its notes with {', '.join(sorted(others))}"
            self._collection.warnings.append(shared)
        for name in names_of_downloads(share.path):
            downloads = self._layout.projects / name
            if is_there(downloads):
                self._collection.leave(downloads, NO_ROLE)


def _plans_in(layout: Layout) -> set[str]:
    names = names_in(layout.config_dir / "plans")
    return {name.removesuffix(".md") for name in names}


def _part_of(number: int, item: Item) -> Part | None:
    """What an entry of a project directory is; None for what has no role."""
    name = item.name
    if item.is_dir and name == MEMORY:
        return Part("memory", number)
    if agent := _AGENT.fullmatch(name):
        return Part("agent", number, agent[1])
    session = session_of(name)
    if not SESSION_ID.fullmatch(session):
        return None
    if item.is_dir and name == session:
        return Part("session-folder", number, session)
    if name == f"{session}.jsonl":
        return Part("transcript", number, session)
    word = name.removeprefix(f"{session}.").removesuffix(".json")
    if name == f"{session}.{word}.json":
        return Part("session-note", number, session, word)
    return None


def _session_of_agent(path: Path) -> str | None:
    """The session that the transcript of an agent names."""
    opened = open_regular(path)
    if opened is None:
        return None
    with opened as file:
        named = _SESSION_IN_LINE.search(file.read(HEAD))
    if named:
        return named[1].decode()
    return None


def _index_of(share: Share, text: str, sessions: frozenset[str]) -> str:
    """An index of what is packed: the text as it is where that is all of it, nothing
    where there is none of it.
    """
    packed = share.sessions
    if sessions:
        packed &= sessions
    entries = index.entries(text)
    kept = [entry for entry in entries if entry[0] in packed]
    if not kept:
        return ""
    if kept == entries and _owners_of(text) <= share.paths:
        return text
    return index.made(kept, share.path)


def _owners_of(text: str) -> set[str]:
    """The paths that an index says it is of."""
    members = parse(text).members()
    owners = [members[name] for name in index.OWNERS if name in members]
    return {native(str(owner.value)) for owner in owners}


def _packed(path: str) -> PackedProject:
    """With its repository, as far as its folder is one; of several the first."""
    of_folder = identity(path)
    roots = sorted(of_folder.roots)
    remotes = sorted(of_folder.remotes)
    root = roots[0] if roots else None
    remote = remotes[0] if remotes else None
    return PackedProject(path, Git(root, remote))
