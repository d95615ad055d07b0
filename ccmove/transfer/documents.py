"""What of an archive is merged with documents that are here: notes, indexes, entries of
the config file, prompts. The paths in them are those of here by then.
"""

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path, PureWindowsPath
from typing import ClassVar

from ccmove.claude.reading import open_history
from ccmove.claude.state import INDEX
from ccmove.errors import ArchiveError, RefusedError
from ccmove.hints import look_at
from ccmove.plan.model import LeftAlone, WriteHistory
from ccmove.rewrite import config, index
from ccmove.rewrite.history import ByPath
from ccmove.rewrite.jsonspan import NotJsonError, parse, quote
from ccmove.rewrite.occurrences import Occurrences
from ccmove.rewrite.pathmap import HOME_SIGNS, PathMap, spellings
from ccmove.rewrite.splice import Mapper, at_pointers, changed, replaced
from ccmove.rewrite.windows import compared, slashed
from ccmove.text import as_text
from ccmove.transfer.coming import ComingPrompt, coming_prompts, with_lacking
from ccmove.transfer.files import Files
from ccmove.transfer.incoming import Came
from ccmove.transfer.privilege import Privilege, harmless, withheld
from ccmove.transfer.secrets import still_left_out
from ccmove.transfer.sessions import Fate, Sessions

MODE = 0o600  # of a document that is made
NO_RULE = ByPath(PathMap(()))  # prompts that come meanwhile stay as they are


class Documents:
    """Plans the new texts; files have their places by then."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.placer = files.placer
        self.layout = files.layout
        self.incoming = files.incoming
        self.request = files.request
        self.left_out: list[Privilege] = []
        self.to_do: list[LeftAlone] = []
        self.notes_merged = 0

    def merge_memory(self) -> None:
        """The lines of MEMORY.md that the one here lacks."""
        for came, final in self.files.memories:
            before = self._text_at(final)
            self._add_memory(came, final)
            after = self._text_at(final)
            if after != before:
                self.notes_merged += 1

    def _add_memory(self, came: Came, final: Path) -> None:
        data = self.incoming.texts[came.member.name]
        source = self.files.base / came.place
        self.placer.add(as_text(data), source, final, MODE)

    def _text_at(self, file: Path) -> str | None:
        if not self.placer.tree.has(file):
            return None
        draft = self.placer.draft_at(file)
        if draft is not None:
            return draft.text
        return None

    # -- indexes

    def merge_indexes(self) -> None:
        """The entries of what is here by then; none is made where none was packed."""
        for project, data in self.incoming.texts_of("index"):
            directory = self.layout.projects / self.request.target(project)
            try:
                entries = self._index_here(project, directory, _json_text(data))
            except NotJsonError:  # Claude Code needs no index
                continue
            if not index.entries(entries):
                continue
            final = directory / INDEX
            self._forget_former(final)
            source = self.files.base / str(project) / INDEX
            self.placer.add(entries, source, final, MODE)

    def _index_here(self, project: int, directory: Path, text: str) -> str:
        """With the paths of here, and of sessions alone that are here by then."""
        brings = self.files.sessions.brings
        keys = [key for key, _ in index.entries(text)]
        others = [key for key in keys if not brings(project, key)]
        return self._with_paths(project, directory, index.without(text, others))

    def _with_paths(self, project: int, directory: Path, text: str) -> str:
        new = self.request.new(project)
        text = index.with_owner(text, lambda _: new)
        mappers: dict[str, Mapper] = {}
        mappers["entries/[]/projectPath"] = self.request.paths.map
        mappers["entries/[]/fullPath"] = partial(_full_path, directory)
        return at_pointers(text, mappers)

    def _forget_former(self, file: Path) -> None:
        """Entries of sessions of which a longer transcript comes: they say its size."""
        if not self.placer.tree.has(file):
            return
        draft = self.placer.draft_at(file)
        if draft is not None:
            longer = self.files.sessions.of(Fate.LONGER)
            try:
                draft.text = index.without(draft.text, longer)
            except NotJsonError:
                return

    # -- the config file

    def merge_config(self) -> None:
        """The entries of the projects; what would allow something only if asked for."""
        for project, data in self.incoming.texts_of("config"):
            entry = self._entry_here(project, data)
            new = self.request.new(project)
            here = self._entries_here.get(compared(new), "{}")
            if self.request.with_config:
                lacking = still_left_out(here, entry)
                self._name_what_lacks(new, lacking)
            else:
                self.left_out += withheld(here, entry)
                entry = harmless(entry)
            has_something = parse(entry).members()
            if has_something:
                self._add_entry(slashed(new), entry)

    def _name_what_lacks(self, new: str, lacking: Collection[str]) -> None:
        """What the MCP servers of a project lack, since it was not packed."""
        if lacking:
            what = f"{'; '.join(lacking)}: not packed, so empty here"
            self.to_do.append(LeftAlone(new, what, ("claude", "mcp", "list")))

    @cached_property
    def _entries_here(self) -> dict[str, str]:
        """Those that the config file had before, by paths as they are compared."""
        entries = self.placer.state.config_entries
        return {compared(path): entry for path, entry in entries.items()}

    def _entry_here(self, project: int, data: bytes) -> str:
        """With the paths of here, by the rewrites of a move."""
        old = self.request.old(project)
        inside = self._occurrences()
        try:
            entry = _json_text(data)
            if parse(entry).kind != "{":
                raise NotJsonError("not an object")
            text = f'{{"projects": {{{quote(old)}: {entry}}}}}'
            text = config.with_values(text, inside, inside)
            text = config.rewritten(text, self.request.paths)
        except NotJsonError as error:
            what = f"the archive has a config entry that can't be used: {error}"
            raise ArchiveError(what) from None
        [entry] = config.entries(text).values()
        return entry

    def _occurrences(self) -> Occurrences:
        """The paths as people write them, with the home of there."""
        home = self.incoming.header.home
        usual = self.request.paths.moves
        moves = list(usual)
        for spelled in spellings(home):
            for old, new in usual:
                other = spelled(old)
                if other not in HOME_SIGNS:
                    moves.append((other, new))
        paths = PathMap(tuple(moves))
        here = str(self.layout.home)
        return Occurrences.of(paths, here, os.path.lexists)

    def _add_entry(self, key: str, entry: str) -> None:
        file = self.layout.real_config_file
        if not self.placer.tree.has(file):
            self.placer.add("{}", self.files.base, file, MODE)
        draft = self.placer.draft_at(file)
        if draft is not None:
            draft.text = _config_with(file, draft.text, key, entry)

    # -- prompts

    def prompts(self) -> WriteHistory:
        """Those that are not here yet come to the end of the history."""
        coming = list(self._prompts_that_come())
        path = self.layout.history
        with open_history(path) as (read, seen):
            scan = with_lacking(read, seen.size, coming)
        return WriteHistory(path, scan, seen, NO_RULE)

    def _prompts_that_come(self) -> Iterator[ComingPrompt]:
        sessions = self.files.sessions
        for project, data in self.incoming.texts_of("history"):
            target = self.request.target(project)
            rule = WithSessions(self.request.paths, sessions, target)
            yield from coming_prompts(data, rule)


def _json_text(data: bytes) -> str:
    """What joins a document of here, which other programs read as well."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise NotJsonError("not UTF-8") from None


def _config_with(file: Path, text: str, key: str, entry: str) -> str:
    """The config file with an entry; RefusedError where it has no room for one."""
    try:
        return _with_entry(text, key, entry)
    except NotJsonError as error:
        raise RefusedError(f"{file}: {error}", look_at(file)) from None


def _with_entry(text: str, path: str, entry: str) -> str:
    """The file with this entry of a project, too; what it has there already wins, as
    in a merge. NotJsonError where there is no room for it.
    """
    if not text.strip():
        text = "{}"
    root = parse(text)
    if root.kind != "{":
        raise NotJsonError("not an object")
    projects = config.projects_in(root)
    if projects is None:
        only = f"{{{quote(path)}: {entry}}}"
        added = (config.PROJECTS, only)
        longer = changed(root, {}, [added])
        return replaced(root, longer)
    if projects.kind != "{":
        raise NotJsonError(f'its "{config.PROJECTS}" is not an object')
    key = compared(path)
    for name, there in projects.members().items():
        if compared(name) == key:
            both = config.merged(there.raw, entry)
            return replaced(there, both)
    longer = changed(projects, {}, [(path, entry)])
    return replaced(projects, longer)


def _full_path(directory: Path, path: str) -> str:
    """Of a transcript, whose name may stand behind either slash."""
    return str(directory / PureWindowsPath(path).name)


@dataclass(frozen=True)
class WithSessions:
    """The rule of an unpack: prompts go with their session, to the path of here."""

    paths: PathMap
    sessions: Sessions
    target: str  # the name of the project's directory here
    by_session: ClassVar[bool] = True

    @property
    def needles(self) -> tuple[str, ...]:
        return self.paths.needles()

    def new_path(self, path: str, session: str | None) -> str | None:
        if self.sessions.is_skipped(session, self.target):
            return None
        return self.paths.map(path)
