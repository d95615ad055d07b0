"""The other places that know a project's path and are rewritten with it.

To teach ccmove a new file: add a row here with the function that finds its edits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ccmove.claude.layout import PROJECT_FILES, Layout
from ccmove.claude.live import daemon_is_running, desktop_app_is_running
from ccmove.claude.state import Document, names_in, read_document
from ccmove.errors import LinkError, RefusedError, again, describe
from ccmove.plan.model import LeftAlone, ProjectMove, Request
from ccmove.rewrite import rewriter
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.rewrite.pathmap import PathMap
from ccmove.rewrite.rewriter import NameMap
from ccmove.rewrite.splice import Edit

FindEdits = Callable[[str, PathMap, NameMap], list[Edit]]
Folder = tuple[str, str, Path]  # old path, new path, where it is now


def other_documents(
    layout: Layout,
    request: Request,
    folders: Iterable[Folder],
    paths: PathMap,
    names: NameMap,
    left: list[LeftAlone],
) -> Iterator[tuple[Document, list[Edit]]]:
    """Documents beside index, history and config that change, each with its edits."""
    for path, find_edits in _rows(layout, request, folders):
        try:
            document = read_document(path)
            edits = find_edits(document.text, paths, names) if document is not None else []
        except (RefusedError, NotJsonError, OSError) as error:
            if isinstance(error, LinkError) and path.is_relative_to(layout.config_dir):
                raise
            what = describe(error) if isinstance(error, OSError) else str(error)
            left.append(LeftAlone(str(path), f"can't be read as JSON: {what}", "look at it"))
            continue
        if document is not None and edits:
            yield document, edits


def _rows(
    layout: Layout, request: Request, folders: Iterable[Folder]
) -> Iterator[tuple[Path, FindEdits]]:
    yield layout.plugins, rewriter.plugin_edits
    if not daemon_is_running(layout):
        for path in job_files(layout):
            yield path, rewriter.job_edits
    if request.project_files:
        for path in project_files(folders):
            yield path, rewriter.project_file_edits
    if request.desktop:
        if desktop_app_is_running():
            raise RefusedError(
                "the desktop app is running and would undo the change",
                again("quit it, then run it again"),
            )
        for path in desktop_files(layout):
            yield path, rewriter.desktop_edits


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


def project_files(folders: Iterable[Folder]) -> Iterator[Path]:
    """Claude Code's settings in the projects' own folders."""
    for _, _, folder in folders:
        yield from (folder / name for name in PROJECT_FILES)
