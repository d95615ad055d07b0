"""The other places that know a project's path, and what in them stays as it is.

To teach ccmove a new file: add a row here with the function that finds its edits.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

from ccmove import rewriter
from ccmove.edits import Edit
from ccmove.encoding import possible_names
from ccmove.errors import CcmoveError, LinkError, RefusedError
from ccmove.jsonspan import NotJsonError, quote
from ccmove.layout import PROJECT_FILES, Layout
from ccmove.live import daemon_is_running, desktop_app_is_running
from ccmove.pathmap import PathMap, is_named_in
from ccmove.plan import LeftAlone, Request
from ccmove.rewriter import NameMap
from ccmove.state import Document, State, names_in, read_document

FindEdits = Callable[[str, PathMap, NameMap], list[Edit]]


def other_documents(
    layout: Layout, request: Request, paths: PathMap, names: NameMap, left: list[LeftAlone]
) -> Iterator[tuple[Document, list[Edit]]]:
    """Documents beside index, history and config that change, each with its edits."""
    for path, find_edits in _rows(layout, request, paths):
        try:
            document = read_document(path)
            edits = find_edits(document.text, paths, names) if document is not None else []
        except (CcmoveError, NotJsonError) as error:
            if isinstance(error, LinkError) and path.is_relative_to(layout.config_dir):
                raise
            left.append(LeftAlone(str(path), f"can't be read as JSON: {error}", "look at it"))
            continue
        if document is not None and edits:
            yield document, edits


def _rows(layout: Layout, request: Request, paths: PathMap) -> Iterator[tuple[Path, FindEdits]]:
    yield layout.plugins, rewriter.plugin_edits
    if not daemon_is_running(layout):
        for path in _job_files(layout):
            yield path, rewriter.job_edits
    if request.project_files:
        for path in _project_files(request):
            yield path, rewriter.project_file_edits
    if request.desktop:
        if desktop_app_is_running():
            raise RefusedError(
                "the desktop app is running and would undo the change",
                "quit it, then run the command again",
            )
        for path in _desktop_files(layout):
            yield path, rewriter.desktop_edits


def _job_files(layout: Layout) -> list[Path]:
    return [layout.jobs / name / "state.json" for name in names_in(layout.jobs)]


def _desktop_files(layout: Layout) -> list[Path]:
    root = layout.desktop_sessions
    return sorted(root.rglob("local_*.json")) if root.is_dir() else []


def _project_files(request: Request) -> Iterator[Path]:
    """Settings in the project's folder: where that is now."""
    for old, new in request.moves:
        for name in PROJECT_FILES:
            yield Path(old if request.move_folder else new) / name


# -- left alone -------------------------------------------------------------------------------------


def left_alone(state: State, paths: PathMap, request: Request) -> Iterator[LeftAlone]:
    """What else names OLD: the file, the reason and the command to run."""
    layout = state.layout
    yield from _downloads(state, paths)
    owned_by_daemon = [layout.config_dir / "daemon" / "roster.json"]
    if daemon_is_running(layout):
        owned_by_daemon += _job_files(layout)
    for path in owned_by_daemon:
        if _names_a_path(path, paths):
            reason = "belongs to the background daemon"
            yield LeftAlone(str(path), reason, "stop the daemon, then run ccmove again")
    for name in ("settings.json", "settings.local.json"):
        if _names_a_path(layout.config_dir / name, paths):
            yield LeftAlone(
                str(layout.config_dir / name), "settings of yours name the old path", "edit by hand"
            )
    if not request.project_files:
        for path in _project_files(request):
            if _names_a_path(path, paths):
                yield LeftAlone(str(path), "names the old path", _with("--project-files", request))
    if not request.desktop:
        for path in _desktop_files(layout):
            if _names_a_path(path, paths):
                yield LeftAlone(str(path), "the desktop app's session", _with("--desktop", request))
    yield from _worktrees(request, paths)


def _downloads(state: State, paths: PathMap) -> Iterator[LeftAlone]:
    """`NAME.<16 hex>`: the hex is made from the path in a way that is not known."""
    names = {name for old, _ in paths.moves for name in possible_names(old)}
    for name in state.directory_names:
        match = re.fullmatch(r"(.*)\.[0-9a-f]{16}", name)
        if match and match[1] in names:
            path = state.layout.projects / name
            yield LeftAlone(str(path), "connector downloads; the name is made from the old path")


def _worktrees(request: Request, paths: PathMap) -> Iterator[LeftAlone]:
    for old, new in request.moves:
        base = Path(old if request.move_folder else new)
        for path in sorted(base.glob(".git/worktrees/*/gitdir")):
            if _names_a_path(path, paths) and not request.move_folder:
                yield LeftAlone(str(path), "git's own path", f"git -C {new} worktree repair")


def _with(option: str, request: Request) -> str:
    """The command that takes this along too; it may be run after the move."""
    old, new = request.moves[0]
    return shlex.join(["ccmove", option, old, new])


def _names_a_path(path: Path, paths: PathMap) -> bool:
    try:
        document = read_document(path) if os.path.lexists(path) else None
    except (CcmoveError, OSError):
        return False
    if document is None:
        return False
    return any(is_named_in(document.text, quote(old)[1:-1]) for old, _ in paths.moves)
