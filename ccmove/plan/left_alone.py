"""What else names the old path and stays as it is: where, why, and what to do about it."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from ccmove.claude.layout import Layout
from ccmove.claude.live import daemon_is_running
from ccmove.claude.reading import names_in, read_document
from ccmove.claude.state import MEMORY, State
from ccmove.errors import CcmoveError
from ccmove.plan.documents import PLACES, Folder, desktop_files, is_state, project_files
from ccmove.plan.model import LeftAlone, Request
from ccmove.plan.tree import ends_of
from ccmove.plan.worktrees import repair_command
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.rewrite.other import project_file
from ccmove.rewrite.pathmap import NameMap, PathMap, is_named_in
from ccmove.text import plural

LARGEST_FILE = 4 << 20  # a larger one is a log or a cache, not a setting
Row = tuple[Path, str, tuple[str, ...]]  # a place, whose it is, and what would bring it along
SETTINGS = ("settings.json", "settings.local.json")
YOURS = ("CLAUDE.md", "agents", "commands", "hooks", "output-styles", "rules", "skills", *SETTINGS)
# Dealt with in another way, or rewritten by whatever it belongs to.
PASSED_OVER = ("ccmove", "history.jsonl", "ide", "projects", "sessions")
FOLDER_FILES = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", ".mcp.json")


@dataclass(frozen=True)
class Search:
    """Looks for the paths of a move in the places where they matter; the rest it counts."""

    state: State
    paths: PathMap
    request: Request
    folders: list[Folder]
    planned: dict[Path, bytes]  # what some files will hold
    moved: dict[Path, Path]  # where things will be that are renamed

    def everything(self) -> Iterator[LeftAlone]:
        """All of it, what the client keeps first, then the projects' own folders."""
        layout, looked_at = self.state.layout, set[Path]()
        for place, whose, command in self._places():
            new = [path for path in _files_below(place) if path not in looked_at]
            texts = {path: text for path in new if (text := self._text(path)) is not None}
            looked_at |= texts.keys()
            yield from self._named(texts, whose, command)
        for _, _, folder in [] if self.request.move_folder else self.folders:
            repair = repair_command(folder, self.paths)
            if repair is not None:
                what = "git still looks for a worktree at the old path"
                yield LeftAlone(str(folder / ".git"), what, tuple(repair))
        # What is kept by session, copies, logs and caches: a path in it does no harm.
        rest = [name for name in names_in(layout.config_dir) if name not in PASSED_OVER]
        files = [path for name in rest for path in _files_below(layout.config_dir / name)]
        if number := sum(path not in looked_at for path in files):
            what = f"{plural(number, 'other file')} not checked: nothing to do"
            yield LeftAlone(str(layout.config_dir), what)

    def _named(
        self, texts: dict[Path, str], whose: str, command: tuple[str, ...]
    ) -> Iterator[LeftAlone]:
        """One row for all files of a place that name an old path; they can at least be seen."""
        lines = {
            ends_of(path, self.moved): sum(map(self.paths.is_named_in, text.split("\n")))
            for path, text in texts.items()
        }
        run = self.state.layout.run  # what is set aside there is part of another file by then
        named = [path for path in lines if lines[path] and not path.is_relative_to(run)]
        if not named:
            return
        where, number = os.path.commonpath(named), sum(lines[path] for path in named)
        verb = "points" if number == 1 else "point"
        what = f"{whose}: {plural(number, 'line')} still {verb} to the old path"
        if not command:
            olds = [old for old, _ in self.paths.moves]
            spelled = (old for old in olds for text in texts.values() if is_named_in(text, old))
            command = ("grep", "-rnF", next(spelled, PurePath(olds[0]).name), where)
            what += "; edit by hand"
        yield LeftAlone(where, what, command)

    def _places(self) -> Iterator[Row]:
        """Each file or directory to look into."""
        layout, root = self.state.layout, self.state.layout.config_dir
        pair = self.request.on_disk[0]
        if daemon_is_running(layout):  # else what it has is rewritten
            jobs = [path for place in PLACES if place.of_daemon for path in place.files(layout)]
            for path in (root / "daemon" / "roster.json", *jobs):
                yield path, "the background daemon's, stop it first", ("ccmove", *pair)
        plugins = [root / "plugins" / name for name in names_in(root / "plugins")]
        yours = [*(root / name for name in YOURS), *(p for p in plugins if p.suffix == ".json")]
        if not any(self.paths.covers(new) for _, new in self.paths.moves):
            # In a swap or a chain what was moved names an old path again, and rightly so.
            yours.append(layout.real_config_file)
        for path in yours:
            yield path, "yours", ()
        for name in self.state.directory_names:
            yield layout.projects / name / MEMORY, "Claude's notes", ()
        for old, new, folder in self.folders:
            by_us = [] if self.request.project_files else project_files(layout, folder)
            command = ("ccmove", "--project-files", old, new)
            for path in _claude_files(layout, folder):
                follows = path in by_us and self._would_follow(path)
                yield path, "in the repo", command if follows else ()
        for path in [] if self.request.desktop else desktop_files(layout):
            yield path, "a session of the desktop app", ("ccmove", "--desktop", *pair)

    def _would_follow(self, path: Path) -> bool:
        """Whether `--project-files` changes anything in the file: a shell's line stays."""
        text = self._text(path) or "null"
        with contextlib.suppress(NotJsonError):
            return project_file(text, self.paths, NameMap(())) != text
        return False

    def _text(self, path: Path) -> str | None:
        """What the file will hold; None when it can't be read, or is too much to read."""
        if path in self.planned:
            return self.planned[path].decode("utf-8", "surrogateescape")
        try:
            document = read_document(path, LARGEST_FILE)
        except (CcmoveError, OSError):
            return None
        return document.text if document is not None else None


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
        names = sorted(os.listdir(inside))
        # No transcript either, should this be the state of another home.
        yield from (inside / name for name in names if name not in ("worktrees", "projects"))
