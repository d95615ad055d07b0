"""The other places that know a project's path and are rewritten with it.

To teach ccmove a new file: a function in `rewrite/other.py` that makes its new text, and a row
here that says where the file is. Saving, staging, verifying, undoing and recovering follow.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ccmove.claude.layout import PROJECT_FILES, Layout
from ccmove.claude.live import daemon_is_running, desktop_app_is_running
from ccmove.claude.reading import names_in, read_document
from ccmove.errors import LinkError, RefusedError, again, describe
from ccmove.plan.model import LeftAlone, ProjectMove, Request, Write
from ccmove.rewrite import other
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.rewrite.pathmap import NameMap, PathMap

Rewrite = Callable[[str, PathMap, NameMap], str]
Folder = tuple[str, str, Path]  # old path, new path, where it is now
Row = tuple[Path, Rewrite]


def _plugins(layout: Layout) -> Iterator[Row]:
    yield layout.plugins, other.plugins


def _jobs(layout: Layout) -> Iterator[Row]:
    if not daemon_is_running(layout):
        for path in job_files(layout):
            yield path, other.job


# The places inside the state, each with the function that finds them and makes their new text.
PLACES: list[Callable[[Layout], Iterator[Row]]] = [_plugins, _jobs]


def other_documents(
    layout: Layout,
    request: Request,
    folders: Iterable[Folder],
    paths: PathMap,
    names: NameMap,
    left: list[LeftAlone],
) -> Iterator[Write]:
    """Documents beside index, history and config that change; `left` gets what can't be read."""
    for path, rewrite in _rows(layout, request, folders):
        try:
            document = read_document(path)
            if document is None:
                continue
            after = rewrite(document.text, paths, names).encode("utf-8", "surrogateescape")
        except (RefusedError, NotJsonError, OSError) as error:
            if isinstance(error, LinkError) and path.is_relative_to(layout.config_dir):
                raise
            what = describe(error) if isinstance(error, OSError) else str(error)
            left.append(LeftAlone(str(path), f"can't be read as JSON: {what}", "look at it"))
            continue
        if after != document.data:
            yield Write(path, path, "other", document.data, after, document.seen)


def _rows(layout: Layout, request: Request, folders: Iterable[Folder]) -> Iterator[Row]:
    for place in PLACES:
        yield from place(layout)
    if request.project_files:
        for _, _, folder in folders:
            for name in PROJECT_FILES:
                yield folder / name, other.project_file
    if request.desktop:
        if desktop_app_is_running():
            raise RefusedError(
                "the desktop app is running and would undo the change",
                again("quit it, then run it again"),
            )
        for path in desktop_files(layout):
            yield path, other.desktop


def job_files(layout: Layout) -> list[Path]:
    return [layout.jobs / name / "state.json" for name in names_in(layout.jobs)]


def desktop_files(layout: Layout) -> list[Path]:
    root = layout.desktop_sessions
    return sorted(root.rglob("local_*.json")) if root.is_dir() else []


def moved_folders(request: Request, projects: Iterable[ProjectMove]) -> list[Folder]:
    """The folders of the move and of every project in it, as far as they are on disk."""
    pairs = [*request.on_disk, *((move.path, move.new_path) for move in projects)]
    folders = {pair: Path(pair[0] if request.move_folder else pair[1]) for pair in pairs}
    return [(*pair, path) for pair, path in folders.items() if os.path.isdir(path)]
