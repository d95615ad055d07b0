"""What still names a moved path, and what brings it along: one search, from what is on
disk.

A move runs it when all is changed; `doctor` and `verify` run it again. A preview looks
at what is there and takes each file as the plan will leave it.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path

from ccmove.claude.git import find_repair
from ccmove.claude.layout import Layout
from ccmove.claude.live import daemon_is_running
from ccmove.claude.naming import possible_names
from ccmove.claude.owners import folder_exists
from ccmove.claude.reading import names_in, read_document
from ccmove.claude.state import MEMORY, State
from ccmove.claude.worktrees import sessions_in_worktrees
from ccmove.errors import CcmoveError
from ccmove.inspect.values import Value, counted, named_values, one_by_one
from ccmove.plan.files import (
    PLACES,
    Folder,
    desktop_files,
    is_state,
    moved_folders,
    project_files,
    user_settings,
)
from ccmove.plan.model import LeftAlone, Plan, Undertaking
from ccmove.plan.tree import ends_of
from ccmove.rewrite import settings
from ccmove.rewrite.compare import compare
from ccmove.rewrite.jsonspan import NotJsonError, Pointer, parse
from ccmove.rewrite.occurrences import Occurrences
from ccmove.rewrite.pathmap import Move, NameMap, PathMap, with_parents
from ccmove.rewrite.settings import Rewrite
from ccmove.rewrite.windows import compared
from ccmove.system import looking_for
from ccmove.text import as_bytes, as_text, plural

Pairs = tuple[tuple[str, str], ...]  # old path, new path

LARGEST_FILE = 4 << 20  # a larger one is a log or a cache, not a setting
SETTINGS = "--settings"
DESKTOP = "--desktop"
# What a move with one of these options does to a file:
REWRITES: dict[str, Rewrite] = {
    SETTINGS: settings.project_file,
    DESKTOP: settings.desktop,
}
YOURS = (
    "CLAUDE.md",
    "agents",
    "commands",
    "hooks",
    "output-styles",
    "rules",
    "skills",
)
FOLDER_FILES = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", ".mcp.json")
IN_WORKTREE = (
    "a session was in this worktree: resume it from there, "
    "or it goes on in the main checkout"
)
NAMES = "names the old path in "
BY_HAND = "; edit by hand"
NOT_LOOKED_INTO = ("worktrees", "projects")  # in a project's `.claude`


def mentions(
    layout: Layout,
    run: Undertaking,
    pairs: Pairs,
    ahead: Plan | None,
    with_settings: tuple[str, ...] = (),
) -> list[LeftAlone]:
    """What names the old paths of a run and stays as it is.

    `pairs` are its moves as the system spells them; `ahead` is its plan, where that is
    not carried out yet, and `with_settings` the command that rewrites settings at once.
    """
    asked = run.asked
    pairs = pairs or run.moves
    texts: dict[Path, bytes] = {}
    moved: dict[Path, Path] = {}
    is_at_old = False
    directories = [move.target for move in run.projects]
    if ahead is not None:
        directories = [move.source for move in run.projects]
        texts = {write.path: write.after for write in ahead.writes}
        moved = dict(ahead.moved)
        is_at_old = bool(ahead.folders)
    projects = [move.pair for move in run.projects if asked.covers(move.path)]
    folders = moved_folders([*pairs, *projects], at_old=is_at_old)
    search = Search(layout, asked, pairs, folders, texts, moved, with_settings)
    rows = list(search.lines())
    if not run.folders:  # else git was asked to repair them
        rows += search.worktrees()
    rows += search.sessions(directories)
    return rows


def mentions_of_past(
    layout: Layout, runs: Iterable[Sequence[Move]], kept: Iterable[str]
) -> list[LeftAlone]:
    """What still names the old path of any of these runs, the oldest of which comes
    first; `kept` are projects below an old path that stayed there.

    An old path that is a folder again may be named, and rightly so.
    """
    moves = _moves_of_all(runs)
    if not moves:
        return []
    pairs = tuple(moves.items())
    stay = frozenset(kept).difference(moves)  # which were moved later
    asked = PathMap(pairs, stay)
    folders = moved_folders(pairs, at_old=False)
    search = Search(layout, asked, pairs, folders)
    rows = list(search.lines())
    rows += search.worktrees()
    directories = map(possible_names, moves.values())
    rows += search.sessions(chain(*directories))
    return rows


def _moves_of_all(runs: Iterable[Sequence[Move]]) -> dict[str, str]:
    """Each old path that is gone, and the folder that it is after all these runs."""
    moves: dict[str, str] = {}
    for run in runs:
        paths = PathMap(tuple(run))
        for old, new in moves.items():
            later = paths.map(new)
            moves[old] = later or new
        moves.update(run)
    return {
        old: new
        for old, new in moves.items()
        if folder_exists(old) is False and os.path.isdir(new)
    }


@dataclass(frozen=True, slots=True)
class Source:
    """A file or directory to look into, and the move that would bring it along."""

    path: Path
    option: str | None = None  # of the command; None: there is no such command
    pairs: Pairs = ()  # one of which the command is for
    whose: str = ""


@dataclass(frozen=True)
class Search:
    """Looks for moved paths where they matter."""

    layout: Layout
    asked: PathMap
    pairs: Pairs
    folders: list[Folder]
    # What some files will hold, and where things will be that are renamed:
    texts: dict[Path, bytes] = field(default_factory=dict)
    moved: dict[Path, Path] = field(default_factory=dict)
    with_settings: tuple[str, ...] = ()  # in the place of a move of settings alone

    def lines(self) -> Iterator[LeftAlone]:
        """Files that name an old path: what the client keeps, then what is in projects'
        folders. A row for all files of a source.
        """
        paths = self._spelled(self.stale)
        looked_at: set[Path] = set()
        sources = [*self._sources_of_client(), *self._sources_of_others()]
        for source in sources:
            naming: dict[Path, str] = {}  # where they end, and what will be in them
            for path in _files_below(source.path):
                if path in looked_at:
                    continue
                ends = ends_of(path, self.moved)
                if ends.is_relative_to(self.layout.run_dir):
                    continue  # what is retired is part of another file by then
                looked_at.add(path)
                text = self._text(path)
                if paths.named_in(text):
                    naming[ends] = text
            if not naming:
                continue
            row = self._mentions(source, naming, paths)
            if row is not None:
                yield row

    @cached_property
    def stale(self) -> PathMap:
        """The moves whose OLD nothing may name any more. In a swap or a chain another
        project has come to an OLD, which is named rightly.
        """
        taken: set[str] = set()
        for _, new in self.asked.moves:
            if self.asked.covers(new):
                taken.update(with_parents(new))
        moves = [move for move in self.asked.moves if compared(move[0]) not in taken]
        return replace(self.asked, moves=tuple(moves))

    def worktrees(self) -> Iterator[LeftAlone]:
        """Worktrees that git does not find any more."""
        paths = self._spelled(self.asked)
        for _, _, folder in self.folders:
            repair = find_repair(folder, paths)
            if repair is not None:
                file = str(folder / ".git")
                yield LeftAlone(file, repair.text, repair.command)

    def sessions(self, directories: Iterable[str]) -> Iterator[LeftAlone]:
        """Sessions that will ask for their worktree at its old path, as far as their
        transcripts show; a worktree that is gone was so before.
        """
        names = set(directories)
        for name in State(self.layout).directory_names:
            if name not in names:
                continue
            path = self.layout.projects / name
            sessions: list[tuple[str, str]] = []
            with contextlib.suppress(PermissionError):  # who is closed is named so
                sessions += sessions_in_worktrees(path)
            for session, worktree in sessions:
                new = self._new_folder(worktree)
                if new is None:
                    continue
                command = "claude", "--resume", session
                yield LeftAlone(new, IN_WORKTREE, command, folder=new)

    def _new_folder(self, folder: str) -> str | None:
        """Where a folder is after the move; None if it stays, or is nowhere."""
        new = self.asked.map(folder)
        end = ends_of(Path(folder), self.moved)
        here = new
        if str(end) == new:  # it may still be to come
            here = folder
        if here and os.path.isdir(here):
            return new
        return None

    def _spelled(self, paths: PathMap) -> Occurrences:
        return Occurrences.of(paths, str(self.layout.home), os.path.lexists)

    def _mentions(
        self, source: Source, naming: dict[Path, str], paths: Occurrences
    ) -> LeftAlone | None:
        """One row for all files of a source that name an old path: these."""
        where = os.path.commonpath(naming)
        whole = "\n".join(naming.values())
        olds: list[str] = []  # of each line that names one
        for line in whole.split("\n"):
            olds += paths.named_in(line)[:1]
        command = self._command(source, whole)
        option = None
        if command:
            option = source.option
        what = _in_values(whole, paths, option)
        if what is None:
            what = plural(len(olds), "line")
            if not command:
                what += BY_HAND
        if not what or not olds:
            return None  # only text that people wrote names it
        if not command:
            command = looking_for(olds[0], where, len(naming) > 1)
        return LeftAlone(where, f"{source.whose}{NAMES}{what}", command)

    def _command(self, source: Source, text: str) -> tuple[str, ...]:
        """The move that changes something in a file, where there is one."""
        if source.option is None:
            return ()
        for pair in source.pairs:
            paths = self._spelled(PathMap((pair,)))
            is_stale = self.stale.covers(pair[0])
            if not is_stale or not _changes(text, paths, source.option):
                continue
            if source.option == SETTINGS and self.with_settings:
                return self.with_settings
            words = ["ccmove"]
            if source.option:
                words.append(source.option)
            if os.path.lexists(pair[0]):
                words.append("--skip-path-check")
            return (*words, *pair)
        return ()

    def _sources_of_client(self) -> Iterator[Source]:
        """What is in the config directory, and the config file."""
        layout = self.layout
        root = layout.config_dir
        yield from self._sources_of_daemon()
        for name in YOURS:
            yield Source(root / name)
        for path in user_settings(layout):
            yield Source(path, SETTINGS, self.pairs)
        plugins = root / "plugins"
        for name in names_in(plugins):
            if name.endswith(".json"):
                yield Source(plugins / name)
        for place in PLACES:
            if not place.of_daemon:
                for path in place.files(layout):
                    yield Source(path)
        yield Source(layout.real_config_file)
        for notes in State(layout).having(MEMORY):
            yield Source(notes)

    def _sources_of_daemon(self) -> Iterator[Source]:
        """The background daemon's own, most of which is rewritten unless it runs."""
        files = [self.layout.config_dir / "daemon" / "roster.json"]
        for place in PLACES:
            if place.of_daemon:
                files += place.files(self.layout)
        option = None
        whose = ""
        if daemon_is_running(self.layout):
            option = ""
            whose = "the background daemon's, stop it first: "
        for path in files:
            yield Source(path, option, self.pairs, whose)

    def _sources_of_others(self) -> Iterator[Source]:
        """What is in the projects' own folders, and what the desktop app keeps."""
        for old, new, folder in self.folders:
            pairs = ((old, new),)
            rewritten = project_files(self.layout, folder)
            for path in _claude_files(self.layout, folder):
                option = None
                if path in rewritten:
                    option = SETTINGS
                yield Source(path, option, pairs)
        for path in desktop_files(self.layout):
            yield Source(path, DESKTOP, self.pairs)

    def _text(self, path: Path) -> str:
        """What the file will hold; nothing when it can't be read, or is too much."""
        with contextlib.suppress(CcmoveError, OSError):
            if path in self.texts:
                return as_text(self.texts[path])
            document = read_document(path, LARGEST_FILE)
            if document is not None:
                return document.text
        return ""


def _in_values(text: str, paths: Occurrences, option: str | None) -> str | None:
    """The values of a JSON document that name an old path, in words: first what a
    command with this option deals with, then each that has to be edited by hand; None
    of anything else.
    """
    try:
        root = parse(text)
    except NotJsonError:
        return None
    rewrite = REWRITES.get(option or "")
    changed: set[Pointer] = set()
    if rewrite is not None:
        after = rewrite(text, paths, NameMap(()))
        for difference in compare(as_bytes(text), as_bytes(after)):
            changed.add(difference.pointer)
    clear: list[Pointer] = []
    by_hand: list[Value] = []
    for pointer, value in named_values(root, paths):
        is_all_changed = option is not None and rewrite is None
        if is_all_changed or pointer in changed:
            clear.append(pointer)
        else:
            by_hand.append((pointer, value))
    words = []
    if clear:
        words.append(counted(clear))
    if by_hand:
        words.append(one_by_one(by_hand) + BY_HAND)
    return "; ".join(words)


def _changes(text: str, paths: Occurrences, option: str) -> bool:
    """Whether a move changes a text: `--settings` leaves a shell's line as it is."""
    rewrite = REWRITES.get(option)
    if rewrite is None:
        return bool(paths.named_in(text))
    try:
        return rewrite(text, paths, NameMap(())) != text
    except NotJsonError:
        return False


def _files_below(path: Path) -> Iterator[Path]:
    """What is to be read; links are not followed, and what can't be listed is passed
    over.
    """
    if os.path.islink(path):
        return
    if os.path.isfile(path):
        yield path
    for base, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            yield Path(base, name)


def _claude_files(layout: Layout, folder: Path) -> Iterator[Path]:
    """Claude Code's files in a project; worktrees are whole checkouts of their own.

    No transcript either, should this be the state of another home.
    """
    for name in FOLDER_FILES:
        yield folder / name
    inside = folder / ".claude"
    if os.path.islink(inside):
        return
    if not os.path.isdir(inside):
        return
    if is_state(layout, inside):
        return
    for name in sorted(os.listdir(inside)):
        if name not in NOT_LOOKED_INTO:
            yield inside / name
