"""What else names the old path and stays as it is: where, why, and what to do about it."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ccmove.claude.layout import PROJECT_FILES
from ccmove.claude.live import daemon_is_running
from ccmove.claude.naming import possible_names
from ccmove.claude.reading import names_in, read_document
from ccmove.claude.state import MEMORY, State
from ccmove.errors import CcmoveError
from ccmove.plan.documents import JOBS, Folder, desktop_files
from ccmove.plan.model import LeftAlone, Request
from ccmove.plan.tree import ends_of
from ccmove.plan.worktrees import repair_command
from ccmove.rewrite.config import mentions
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.rewrite.pathmap import PathMap
from ccmove.text import command_line, plural
from ccmove.text import quote as shell_quote

LARGEST_FILE = 4 << 20  # a larger one is a log or a cache, not a setting
MOST_PLACES = 3
# What people write in the state themselves.
SETTINGS = ("settings.json", "settings.local.json")
YOURS = ("CLAUDE.md", "agents", "commands", "hooks", "output-styles", "rules", "skills", *SETTINGS)
# Dealt with in another way, or written anew by whoever it belongs to.
PASSED_OVER = ("ccmove", "daemon", "history.jsonl", "ide", "jobs", "projects", "sessions")
FOLDER_FILES = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", ".mcp.json")


@dataclass
class Search:
    """Looks for the paths of a move in the places where they matter; the rest it counts."""

    state: State
    paths: PathMap
    request: Request
    folders: list[Folder]
    planned: dict[Path, bytes]  # what some files will hold
    moved: dict[Path, Path]  # where things will be that are renamed
    _looked_at: set[Path] = field(default_factory=set)

    def everything(self) -> Iterator[LeftAlone]:
        """All of it, what the client keeps first, then the projects' own folders."""
        yield from self._downloads()
        for path, whose, hint in self._files():
            text = self._text(path)
            if text is not None and self.paths.is_named_in(text):
                final = str(ends_of(path, self.moved))
                what = f"{whose}, {_places(path, text, self.paths)}: names the old path"
                yield LeftAlone(final, what, f"edit {shell_quote(final)}" if hint is None else hint)
        yield from self._worktrees()
        yield from self._rest()

    def _downloads(self) -> Iterator[LeftAlone]:
        """`NAME.<16 hex>`: the hex is made from the path in a way that is not known."""
        olds = [old for old, _, _ in self.folders] + [old for old, _ in self.paths.moves]
        names = {name for old in olds for name in possible_names(old)}
        for name in self.state.directory_names:
            start, _, end = name.rpartition(".")
            if start in names and re.fullmatch("[0-9a-f]{16}", end):
                what = "connector downloads; the name is made from the old path"
                yield LeftAlone(str(self.state.layout.projects / name), what)

    def _files(self) -> Iterator[tuple[Path, str, str | None]]:
        """Each file to look into, whose it is, and what to do; None: it is to be edited."""
        layout, root = self.state.layout, self.state.layout.config_dir
        running = daemon_is_running(layout)
        stop = f"stop the daemon, then: {self._again()}" if running else ""
        for path in (root / "daemon" / "roster.json", *JOBS.files(layout)):
            yield path, "the background daemon's", stop
        plugins = [root / "plugins" / name for name in names_in(root / "plugins")]
        yours = [path for name in YOURS for path in _files_below(root / name)]
        for path in (*yours, *(path for path in plugins if path.suffix == ".json")):
            yield path, "of yours", None
        for name in self.state.directory_names:
            for path in _files_below(layout.projects / name / MEMORY):
                yield path, "Claude's notes", None
        for old, new, folder in self.folders:
            command = command_line(["ccmove", "--project-files", old, new])
            for path in _claude_files(folder):
                by_us = any(path == folder / name for name in PROJECT_FILES)
                hint = command if by_us and not self.request.project_files else None
                yield path, "the project's own", hint
        for path in [] if self.request.desktop else desktop_files(layout):
            yield path, "a session of the desktop app", self._again("--desktop")

    def _worktrees(self) -> Iterator[LeftAlone]:
        """Git keeps absolute paths both ways between a repository and its worktrees."""
        for _, _, folder in [] if self.request.move_folder else self.folders:
            command = repair_command(folder, self.paths)
            if command is not None:
                what = "git's own path of a worktree"
                yield LeftAlone(str(folder / ".git"), what, command_line(command))

    def _rest(self) -> Iterator[LeftAlone]:
        """What is kept by session, copies, logs and caches: a path in it does no harm."""
        layout, number = self.state.layout, 0
        self._looked_at.add(layout.real_config_file)
        for name in names_in(layout.config_dir):
            if name not in PASSED_OVER and not name.endswith(".lock"):
                files = _files_below(layout.config_dir / name)
                number += sum(path not in self._looked_at for path in files)
        if number:
            what = f"{plural(number, 'other file')} in it not looked at: nothing to do"
            yield LeftAlone(str(layout.config_dir), what)

    def _text(self, path: Path) -> str | None:
        """What the file will hold; None when it can't be read, or is too much to read."""
        try:
            document = read_document(path, LARGEST_FILE)
        except (CcmoveError, OSError):
            return None
        self._looked_at.add(path)
        if path in self.planned:
            return self.planned[path].decode("utf-8", "surrogateescape")
        return document.text if document is not None else None

    def _again(self, *options: str) -> str:
        old, new = self.request.on_disk[0]
        return command_line(["ccmove", *options, old, new])


def _places(path: Path, text: str, paths: PathMap) -> str:
    """Where in the file: pointers for JSON, else lines; the first few of them."""
    found: list[str] = []
    if path.suffix == ".json":
        with contextlib.suppress(NotJsonError):
            found = [pointer for pointer, _ in mentions(text, paths)]
    if not found:
        lines = enumerate(text.split("\n"), 1)
        found = [f"line {number}" for number, line in lines if paths.is_named_in(line)]
    more = [f"and {len(found) - MOST_PLACES} more"] if len(found) > MOST_PLACES else []
    return ", ".join(found[:MOST_PLACES] + more)


def _files_below(path: Path) -> Iterator[Path]:
    """Regular files; links are not followed, and what can't be listed is passed over."""
    if os.path.islink(path):
        return
    if os.path.isfile(path):
        yield path
    for base, folders, names in os.walk(path):
        folders.sort()
        yield from (Path(base, name) for name in sorted(names))


def _claude_files(folder: Path) -> Iterator[Path]:
    """Claude Code's files in a project; worktrees are whole checkouts of their own."""
    yield from (folder / name for name in FOLDER_FILES)
    inside = folder / ".claude"
    if os.path.isdir(inside) and not os.path.islink(inside):
        for name in sorted(os.listdir(inside)):
            if name != "worktrees":
                yield from _files_below(inside / name)
