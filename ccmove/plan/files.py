"""The other places that know a project's path: what is rewritten, and what only is
named.

To teach ccmove a new file: a function in `rewrite/settings.py` that makes its new text,
and a row in PLACES that says where the file is. Saving, staging, verifying, undoing and
rolling back follow.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from ccmove.claude.git import repair_command
from ccmove.claude.layout import PROJECT_FILES, Layout
from ccmove.claude.live import daemon_is_running, desktop_app_is_running
from ccmove.claude.reading import names_in, read_document
from ccmove.claude.state import MEMORY, State
from ccmove.errors import CcmoveError, LinkError, RefusedError, again, describe
from ccmove.plan.model import LeftAlone, Request
from ccmove.plan.placing import Placer
from ccmove.plan.tree import ends_of
from ccmove.rewrite import settings
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.rewrite.pathmap import NameMap, PathMap
from ccmove.rewrite.settings import Rewrite
from ccmove.system import looking_for
from ccmove.text import plural

Folder = tuple[str, str, Path]  # old path, new path, where it is now
Row = tuple[Path, Rewrite]

LARGEST_FILE = 4 << 20  # a larger one is a log or a cache, not a setting
SETTINGS = ("settings.json", "settings.local.json")
YOURS = (
    "CLAUDE.md",
    "agents",
    "commands",
    "hooks",
    "output-styles",
    "rules",
    "skills",
    *SETTINGS,
)
# Dealt with in another way, or rewritten by whatever it belongs to.
PASSED_OVER = ("ccmove", "history.jsonl", "ide", "projects", "sessions")
FOLDER_FILES = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", ".mcp.json")


@dataclass(frozen=True, slots=True)
class Place:
    """Files of one kind in the state;
    a backup that names others as rewritten is not believed.
    """

    pattern: str  # below the config directory; `*` stands for one whole name
    rewrite: Rewrite
    of_daemon: bool = False  # which would undo the change while it runs

    def files(self, layout: Layout) -> list[Path]:
        """Where such files may be; no link is followed on the way."""
        first, *parts = PurePath(self.pattern).parts
        found = [layout.projects if first == "projects" else layout.config_dir / first]
        for part in parts:
            found = [
                p / name
                for p in found
                for name in (names_in(p) if part == "*" else [part])
            ]
        return found


PLACES = [
    Place("plugins/installed_plugins.json", settings.plugins),
    Place("plugins/known_marketplaces.json", settings.marketplaces),
    Place("bridge-pointer.json", settings.folders),
    Place("projects/*/bridge-pointer.json", settings.folders),
    Place("daemon.json", settings.folders, of_daemon=True),
    Place("jobs/*/state.json", settings.job, of_daemon=True),
]


def rewrite_others(
    placer: Placer, rows: Iterable[Row], paths: PathMap, names: NameMap
) -> None:
    """Plan the new texts of these files; what can't be read is left alone."""
    for path, rewrite in rows:
        try:
            document = placer.state.document(path)
            if document is not None:
                placer.draft(path).text = rewrite(document.text, paths, names)
        except (RefusedError, NotJsonError, OSError) as error:
            if isinstance(error, LinkError) and path.is_relative_to(
                placer.layout.config_dir
            ):
                raise
            if isinstance(
                error, PermissionError
            ):  # it may be the directory that is closed
                what = f"can't be read, and stays as it is: {error.strerror}"
                placer.leave(Path(error.filename), what)
            else:
                placer.leave(
                    path,
                    f"can't be read as JSON, and stays as it is: {describe(error)}",
                )


def rows(layout: Layout, request: Request, folders: Iterable[Folder]) -> Iterator[Row]:
    """Every file that may be there beside index,
    history and config, and how it is rewritten.
    """
    running = daemon_is_running(layout)
    for place in PLACES:
        if not (place.of_daemon and running):
            yield from ((path, place.rewrite) for path in place.files(layout))
    if request.project_files:
        for _, _, folder in folders:
            yield from (
                (path, settings.project_file) for path in project_files(layout, folder)
            )
    if request.desktop:
        if desktop_app_is_running():
            raise RefusedError(
                "the desktop app is running and would undo the change",
                again("quit it, then try again"),
            )
        for path in desktop_files(layout):
            yield path, settings.desktop


def project_files(layout: Layout, folder: Path) -> list[Path]:
    """Claude Code's files in a project that may hold paths;
    the home's `.claude` is the state.
    """
    is_home = is_state(layout, folder / ".claude")
    names = [
        name for name in PROJECT_FILES if not (is_home and name.startswith(".claude/"))
    ]
    return [folder / name for name in names]


def is_state(layout: Layout, path: Path) -> bool:
    """Whether it is a config directory and not a project's own `.claude`."""
    states = (layout.config_dir, layout.home / ".claude")
    return os.path.realpath(path) in map(os.path.realpath, states)


def desktop_files(layout: Layout) -> list[Path]:
    root = layout.desktop_sessions
    return sorted(root.rglob("local_*.json")) if root.is_dir() else []


def moved_folders(request: Request, pairs: Iterable[tuple[str, str]]) -> list[Folder]:
    """The folders of the move and of every project in it, as far as they are on
    disk.
    """
    folders = []
    for old, new in dict.fromkeys((*request.on_disk, *pairs)):
        here = Path(old if request.move_folder else new)
        if os.path.isdir(here):
            folders.append((old, new, here))
    return folders


@dataclass(frozen=True)
class Search:
    """Looks for the paths of a move in the places where they matter;
    the rest it counts.
    """

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
            texts = {
                path: text for path in new if (text := self._text(path)) is not None
            }
            looked_at |= texts.keys()
            yield from self._named(texts, whose, command)
        for _, _, folder in [] if self.request.move_folder else self.folders:
            if repair := repair_command(folder, self.paths):
                what = "git still looks for a worktree at the old path"
                yield LeftAlone(str(folder / ".git"), what, tuple(repair))
        # What is kept by session, copies, logs and caches: a path in it does no harm.
        rest = [name for name in names_in(layout.config_dir) if name not in PASSED_OVER]
        files = [
            path for name in rest for path in _files_below(layout.config_dir / name)
        ]
        if number := sum(path not in looked_at for path in files):
            what = (
                f"{plural(number, 'other file')} not checked: an old path there does "
                "no harm"
            )
            yield LeftAlone(str(layout.config_dir), what)

    def _named(
        self, texts: dict[Path, str], whose: str, command: tuple[str, ...]
    ) -> Iterator[LeftAlone]:
        """One row for all files of a place that name an old path;
        they can at least be seen.
        """
        lines: list[list[str]] = []  # what each line names
        files: set[Path] = set()
        for path, text in texts.items():
            ends = ends_of(path, self.moved)
            named = list(filter(None, map(self.paths.named_in, text.split("\n"))))
            # What is set aside is part of another file by then.
            if named and not ends.is_relative_to(self.state.layout.run):
                files.add(ends)
                lines += named
        if not lines:
            return
        where, verb = (
            os.path.commonpath(files),
            "points" if len(lines) == 1 else "point",
        )
        what = f"{whose}{plural(len(lines), 'line')} still {verb} to the old path"
        if not command:
            command = looking_for(lines[0][0], where, len(files) > 1)
            what += "; edit by hand"
        yield LeftAlone(where, what, command)

    def _places(self) -> Iterator[tuple[Path, str, tuple[str, ...]]]:
        """Each file or directory to look into, whose it is,
        and what would bring it along.
        """
        layout, root = self.state.layout, self.state.layout.config_dir
        pair = self.request.on_disk[0]
        by_us = (
            ("ccmove", *pair) if daemon_is_running(layout) else ()
        )  # else most is rewritten
        jobs = [
            path for place in PLACES if place.of_daemon for path in place.files(layout)
        ]
        for path in (root / "daemon" / "roster.json", *jobs):
            yield (
                path,
                f"the background daemon's{', stop it first' if by_us else ''}: ",
                by_us,
            )
        plugins = [root / "plugins" / name for name in names_in(root / "plugins")]
        yours = [
            *(root / name for name in YOURS),
            *(p for p in plugins if p.suffix == ".json"),
        ]
        if not any(self.paths.covers(new) for _, new in self.paths.moves):
            # In a swap or a chain what was moved names an old path again, and rightly
            # so.
            yours.append(layout.real_config_file)
        yield from ((path, "", ()) for path in yours)
        notes = (layout.projects / name / MEMORY for name in self.state.directory_names)
        yield from ((path, "Claude's notes: ", ()) for path in notes)
        for old, new, folder in self.folders:
            ours = [] if self.request.project_files else project_files(layout, folder)
            there = ["--skip-path-check"] if os.path.lexists(old) else []
            command = ("ccmove", "--settings", *there, old, new)
            for path in _claude_files(layout, folder):
                follows = path in ours and self._would_follow(path)
                yield path, "in the repo: ", command if follows else ()
        for path in [] if self.request.desktop else desktop_files(layout):
            yield path, "a session of the desktop app: ", ("ccmove", "--desktop", *pair)

    def _would_follow(self, path: Path) -> bool:
        """Whether `--settings` changes anything in the file:
        a shell's line stays.
        """
        text = self._text(path) or "null"
        with contextlib.suppress(NotJsonError):
            return settings.project_file(text, self.paths, NameMap(())) != text
        return False

    def _text(self, path: Path) -> str | None:
        """What the file will hold; None when it can't be read,
        or is too much to read.
        """
        if path in self.planned:
            return self.planned[path].decode("utf-8", "surrogateescape")
        try:
            document = read_document(path, LARGEST_FILE)
        except (CcmoveError, OSError):
            return None
        return document.text if document is not None else None


def _files_below(path: Path) -> Iterator[Path]:
    """Regular files; links are not followed,
    and what can't be listed is passed over.
    """
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
    if (
        os.path.isdir(inside)
        and not os.path.islink(inside)
        and not is_state(layout, inside)
    ):
        names = sorted(os.listdir(inside))
        # No transcript either, should this be the state of another home.
        yield from (
            inside / name for name in names if name not in ("worktrees", "projects")
        )
