"""The other places that know a project's path, and how each is rewritten.

To teach ccmove a new file: a function in `rewrite/settings.py` that makes its new text,
and a row in PLACES that says where the file is. Saving, staging, verifying, undoing and
rolling back follow.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from ccmove.claude.layout import PROJECT_FILES, Layout
from ccmove.claude.live import daemon_is_running, desktop_app_is_running
from ccmove.claude.reading import names_in
from ccmove.errors import LinkError, RefusedError, again, describe
from ccmove.plan.model import Request
from ccmove.plan.placing import Placer
from ccmove.rewrite import settings
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.rewrite.pathmap import NameMap, PathMap
from ccmove.rewrite.settings import Rewrite

Folder = tuple[str, str, Path]  # old path, new path, where it is now
Row = tuple[Path, Rewrite]


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


def moved_folders(
    pairs: Iterable[tuple[str, str]], *, move_folder: bool = False
) -> list[Folder]:
    """The folders of these moves and projects, as far as they are on disk; those that
    are still to be renamed are where they were.
    """
    folders = []
    for old, new in dict.fromkeys(pairs):
        here = Path(old if move_folder else new)
        if os.path.isdir(here):
            folders.append((old, new, here))
    return folders
