"""What else names the old path and stays as it is: where, why, and what to do about it."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.live import daemon_is_running
from ccmove.claude.reading import names_in, read_document
from ccmove.claude.state import MEMORY, State
from ccmove.errors import CcmoveError
from ccmove.plan.documents import PLACES, Folder, desktop_files, is_state, project_files
from ccmove.plan.model import LeftAlone, Request
from ccmove.plan.tree import ends_of
from ccmove.plan.worktrees import repair_command
from ccmove.rewrite import other
from ccmove.rewrite.config import mentions
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.rewrite.pathmap import NameMap, PathMap
from ccmove.text import plural

LARGEST_FILE = 4 << 20  # a larger one is a log or a cache, not a setting
MOST_PLACES = 3
BY_HAND = "; edit it by hand"
Row = tuple[Path, str, str, tuple[str, ...]]  # a file, whose it is, what to do, a command for it
# What people write there themselves.
SETTINGS = ("settings.json", "settings.local.json")
YOURS = ("CLAUDE.md", "agents", "commands", "hooks", "output-styles", "rules", "skills", *SETTINGS)
# Dealt with in another way, or rewritten by whatever it belongs to.
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
        rows = {row[0]: row for row in self._files()}  # a project's folder may be inside the state
        for path, whose, to_do, command in rows.values():
            text = self._text(path)
            if text is not None and self.paths.is_named_in(text):
                found = _places(path, text, self.paths)
                places = ", ".join(found[:MOST_PLACES])
                if len(found) > MOST_PLACES:
                    places += f", and {len(found) - MOST_PLACES} more"
                verb = "points" if len(found) == 1 else "point"
                what = f"{whose}: {places} still {verb} to the old path{to_do}"
                yield LeftAlone(str(ends_of(path, self.moved)), what, command)
        for _, _, folder in [] if self.request.move_folder else self.folders:
            git_command = repair_command(folder, self.paths)
            if git_command is not None:
                what = "git still looks for a worktree at the old path"
                yield LeftAlone(str(folder / ".git"), what, tuple(git_command))
        yield from self._rest()

    def _files(self) -> Iterator[Row]:
        """Each file to look into."""
        layout, root = self.state.layout, self.state.layout.config_dir
        pair = self.request.on_disk[0]
        is_running = daemon_is_running(layout)
        stop = ("; stop the daemon first", ("ccmove", *pair)) if is_running else ("", ())
        jobs = [path for place in PLACES if place.of_daemon for path in place.files(layout)]
        for path in (root / "daemon" / "roster.json", *jobs):
            yield path, "the background daemon's", *stop
        plugins = [root / "plugins" / name for name in names_in(root / "plugins")]
        yours = [path for name in YOURS for path in _files_below(root / name)]
        for path in (*yours, *(path for path in plugins if path.suffix == ".json")):
            yield path, "yours", BY_HAND, ()
        for name in self.state.directory_names:
            for path in _files_below(layout.projects / name / MEMORY):
                yield path, "Claude's notes", BY_HAND, ()
        for old, new, folder in self.folders:
            by_us = [] if self.request.project_files else project_files(layout, folder)
            command = ("ccmove", "--project-files", old, new)
            for path in _claude_files(layout, folder):
                is_ours = path in by_us and self._would_follow(path)
                yield path, "in the repo", *(("", command) if is_ours else (BY_HAND, ()))
        for path in [] if self.request.desktop else desktop_files(layout):
            yield path, "a session of the desktop app", "", ("ccmove", "--desktop", *pair)

    def _would_follow(self, path: Path) -> bool:
        """Whether `--project-files` changes anything in the file: a shell's line stays."""
        text = self._text(path) or "null"
        with contextlib.suppress(NotJsonError):
            return other.project_file(text, self.paths, NameMap(())) != text
        return False

    def _rest(self) -> Iterator[LeftAlone]:
        """What is kept by session, copies, logs and caches: a path in it does no harm."""
        layout, number = self.state.layout, 0
        self._looked_at.add(layout.real_config_file)
        for name in names_in(layout.config_dir):
            if name not in PASSED_OVER and not name.endswith(".lock"):
                files = _files_below(layout.config_dir / name)
                number += sum(path not in self._looked_at for path in files)
        if number:
            what = f"{plural(number, 'other file')} not checked: nothing to do"
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


def _places(path: Path, text: str, paths: PathMap) -> list[str]:
    """Where in the file: pointers for JSON, else lines."""
    found: list[str] = []
    if path.suffix == ".json":
        with contextlib.suppress(NotJsonError):
            found = [pointer[1:].replace("/", ".") for pointer, _ in mentions(text, paths)]
    lines = enumerate(text.split("\n"), 1)
    return found or [f"line {number}" for number, line in lines if paths.is_named_in(line)]


def _files_below(path: Path) -> Iterator[Path]:
    """Regular files; links are not followed, and what can't be listed is passed over."""
    if os.path.islink(path):
        return
    if os.path.isfile(path):
        yield path
    for base, folders, names in os.walk(path):
        folders.sort()
        yield from (Path(base, name) for name in sorted(names))


def _claude_files(layout: Layout, folder: Path) -> Iterator[Path]:
    """Claude Code's files in a project; worktrees are whole checkouts of their own."""
    yield from (folder / name for name in FOLDER_FILES)
    inside = folder / ".claude"
    if os.path.isdir(inside) and not os.path.islink(inside) and not is_state(layout, inside):
        for name in sorted(os.listdir(inside)):
            if name != "worktrees":  # and no transcript, should this be the state of another home
                yield from (p for p in _files_below(inside / name) if p.suffix != ".jsonl")
