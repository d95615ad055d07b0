"""What else names the old path and stays as it is: where, why, and what to do about it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from ccmove.claude.layout import PROJECT_FILES
from ccmove.claude.live import daemon_is_running
from ccmove.claude.naming import possible_names
from ccmove.claude.reading import names_in, read_document
from ccmove.claude.state import ALIASES, INDEX, State
from ccmove.errors import CcmoveError
from ccmove.plan.documents import JOBS, Folder, desktop_files
from ccmove.plan.model import LeftAlone, Request
from ccmove.plan.tree import ends_of
from ccmove.plan.worktrees import repair_command
from ccmove.rewrite.jsonspan import NotJsonError, loads, show, strings
from ccmove.rewrite.pathmap import PathMap
from ccmove.text import command_line, plural
from ccmove.text import quote as shell_quote

LARGEST_FILE = 4 << 20  # a larger one is a log or a cache, not a setting
MOST_BYTES = 256 << 20  # of all files looked at
MOST_PLACES = 3

# Directories of the state that have nothing to do with a project's path, and why.
BY_SESSION = "kept by session, not by project: nothing to do"
GROUPS = {
    "backups": "the client's own old copies of the config file: nothing to do",
    **dict.fromkeys(
        ("debug", "file-history", "plans", "session-env", "shell-snapshots", "tasks", "todos"),
        BY_SESSION,
    ),
}
# Looked at elsewhere, or written anew by whoever it belongs to.
PASSED_OVER = ("ccmove", "daemon.lock", "history.jsonl", "ide", "jobs", "projects", "sessions")
FOLDER_FILES = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", ".mcp.json")


class Search:
    """Looks into files for the paths of a move; `planned` is what some will hold then."""

    def __init__(
        self,
        state: State,
        paths: PathMap,
        request: Request,
        folders: list[Folder],
        planned: dict[Path, bytes],
        moved: dict[Path, Path],  # where things are that are renamed
    ) -> None:
        self.state = state
        self.paths = paths
        self.request = request
        self.folders = folders
        self.planned = planned
        self.moved = moved
        self._bytes = 0
        self._not_seen = 0
        self._counted: dict[str, int] = {}

    def everything(self) -> Iterator[LeftAlone]:
        """All of it, what the client keeps first, then the projects' own folders."""
        yield from self._downloads()
        yield from self._daemon_files()
        yield from self._files_of_the_state()
        yield from self._notes_of_projects()
        yield from self._files_of_folders()
        yield from self._desktop_sessions()
        yield from self._worktrees()
        if self._not_seen:
            what = f"{plural(self._not_seen, 'large file')} in it not looked at"
            yield LeftAlone(str(self.state.layout.config_dir), what)

    # -- what the client keeps -----------------------------------------------------------

    def _downloads(self) -> Iterator[LeftAlone]:
        """`NAME.<16 hex>`: the hex is made from the path in a way that is not known."""
        olds = [old for old, _, _ in self.folders] + [old for old, _ in self.paths.moves]
        names = {name for old in olds for name in possible_names(old)}
        for name in self.state.directory_names:
            start, _, end = name.rpartition(".")
            if start in names and re.fullmatch("[0-9a-f]{16}", end):
                what = "connector downloads; the name is made from the old path"
                yield LeftAlone(str(self.state.layout.projects / name), what)

    def _daemon_files(self) -> Iterator[LeftAlone]:
        layout = self.state.layout
        files = [layout.config_dir / "daemon" / "roster.json", *JOBS.files(layout)]
        running = daemon_is_running(layout)
        hint = f"stop the daemon, then: {self._again()}" if running else ""
        for path in files:
            yield from self._look(path, "the background daemon's", hint)

    def _files_of_the_state(self) -> Iterator[LeftAlone]:
        root = self.state.layout.config_dir
        for name in names_in(root):
            if name in PASSED_OVER or name.endswith(".lock") or name == "daemon":
                continue
            for path in _files_below(root / name):
                if name in GROUPS:
                    self._count(path, name)
                elif path != self.state.layout.real_config_file:
                    yield from self._look(path, "of yours")
        for name, number in self._counted.items():
            what = f"{plural(number, 'file')} in it; {GROUPS[name]}"
            yield LeftAlone(str(root / name), what)

    def _notes_of_projects(self) -> Iterator[LeftAlone]:
        """Memory and whatever else lies beside the sessions of a project."""
        for name, entries in self.state.beside_sessions.items():
            for entry in entries:
                if entry in (INDEX, ALIASES):
                    continue
                for path in _files_below(self.state.layout.projects / name / entry):
                    yield from self._look(path, "Claude's notes")

    # -- the projects' own folders -------------------------------------------------------

    def _files_of_folders(self) -> Iterator[LeftAlone]:
        for old, new, folder in self.folders:
            command = command_line(["ccmove", "--project-files", old, new])
            for path in _claude_files(folder):
                by_us = any(path == folder / name for name in PROJECT_FILES)
                hint = command if by_us and not self.request.project_files else None
                yield from self._look(path, "the project's own", hint)

    def _desktop_sessions(self) -> Iterator[LeftAlone]:
        if self.request.desktop:
            return
        for path in desktop_files(self.state.layout):
            yield from self._look(path, "a session of the desktop app", self._again("--desktop"))

    def _worktrees(self) -> Iterator[LeftAlone]:
        """Git keeps absolute paths both ways between a repository and its worktrees."""
        if self.request.move_folder:
            return
        for _, _, folder in self.folders:
            command = repair_command(folder, self.paths)
            if command is not None:
                what = "git's own path of a worktree"
                yield LeftAlone(str(folder / ".git"), what, command_line(command))

    # -- looking ---------------------------------------------------------------------------

    def _look(self, path: Path, whose: str, hint: str | None = None) -> Iterator[LeftAlone]:
        """The file under the name that it will have; without a hint it is to be edited."""
        text = self._text(path)
        if text is not None and self.paths.is_named_in(text):
            places = ", ".join(_places(path, text, self.paths))
            final = str(ends_of(path, self.moved))
            by_hand = f"edit {shell_quote(final)}"
            yield LeftAlone(
                final,
                f"{whose}, {places}: names the old path",
                by_hand if hint is None else hint,
            )

    def _count(self, path: Path, group: str) -> None:
        if self._names(path):
            self._counted[group] = self._counted.get(group, 0) + 1

    def _names(self, path: Path) -> bool:
        text = self._text(path)
        return text is not None and self.paths.is_named_in(text)

    def _text(self, path: Path) -> str | None:
        """What the file will hold; None when it can't be read, or is too much to read."""
        if path in self.planned:
            return self.planned[path].decode("utf-8", "surrogateescape")
        try:
            size = os.lstat(path).st_size
            if size > LARGEST_FILE or self._bytes + size > MOST_BYTES:
                self._not_seen += 1
                return None
            document = read_document(path)
        except (CcmoveError, OSError):
            return None
        self._bytes += size
        return document.text if document is not None else None

    def _again(self, *options: str) -> str:
        old, new = self.request.on_disk[0]
        return command_line(["ccmove", *options, old, new])


def _places(path: Path, text: str, paths: PathMap) -> Iterator[str]:
    """Where in the file: pointers for JSON, else lines; the first few of them."""
    found = list(_pointers(text, paths)) if path.suffix == ".json" else []
    if not found:
        lines = enumerate(text.split("\n"), 1)
        found = [f"line {number}" for number, line in lines if paths.is_named_in(line)]
    yield from found[:MOST_PLACES]
    if len(found) > MOST_PLACES:
        yield f"and {len(found) - MOST_PLACES} more"


def _pointers(text: str, paths: PathMap) -> Iterator[str]:
    try:
        value = loads(text)
    except NotJsonError:
        return
    for at, string in strings(value):
        if paths.is_named_in(string):
            yield show(at)


def _files_below(path: Path) -> Iterator[Path]:
    """Regular files; links are not followed, and what can't be listed is passed over."""
    if path.is_symlink():
        return
    if path.is_file():
        yield path
        return
    for base, folders, names in os.walk(path):
        folders.sort()
        yield from (Path(base, name) for name in sorted(names))


def _claude_files(folder: Path) -> Iterator[Path]:
    """Claude Code's files in a project; worktrees are whole checkouts of their own."""
    yield from (folder / name for name in FOLDER_FILES)
    inside = folder / ".claude"
    if not inside.is_symlink() and inside.is_dir():
        for name in sorted(os.listdir(inside)):
            if name != "worktrees":
                yield from _files_below(inside / name)
