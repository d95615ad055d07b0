"""The documents that know a project's path, and how each is rewritten.

To teach ccmove a new file: a function in `rewrite/settings.py` that makes its new text,
and a row in PLACES that says where the file is. Saving, staging, verifying, undoing and
rolling back follow.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from ccmove.claude.layout import PROJECT_FILES, USER_SETTINGS, Layout
from ccmove.claude.live import daemon_is_running, desktop_app_is_running
from ccmove.claude.naming import encode
from ccmove.claude.reading import is_there, names_in
from ccmove.claude.state import INDEX, State
from ccmove.errors import LinkError, RefusedError, describe
from ccmove.hints import again
from ccmove.plan.model import Request
from ccmove.plan.placing import Placer
from ccmove.plan.portions import Portion
from ccmove.rewrite import config, index, lines, settings
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.rewrite.occurrences import Occurrences
from ccmove.rewrite.pathmap import Move, NameMap, PathMap
from ccmove.rewrite.settings import Rewrite
from ccmove.rewrite.windows import compared

Folder = tuple[str, str, Path]  # old path, new path, where it is now
OtherFile = tuple[Path, Rewrite]


@dataclass(frozen=True, slots=True)
class Place:
    """Files of one kind in the state;
    a backup that names others as rewritten is not believed.
    """

    pattern: str  # below the config directory; a `*` stands for one whole name
    rewrite: Rewrite
    of_daemon: bool = False  # which would undo the change while it runs

    def files(self, layout: Layout) -> list[Path]:
        """Those that are there, or may be: few projects have one."""
        top, *inside = self.pattern.split("/*/")
        path = layout.config_dir / top
        if top == "projects":
            path = layout.projects
        files = [path]
        for name in inside:
            files = [path / each / name for each in names_in(path)]
        return list(filter(_may_be_there, files))


def _may_be_there(path: Path) -> bool:
    """Also below a link, and where that can't be told: who reads it says what is
    wrong.
    """
    try:
        return is_there(path) or path.parent.is_symlink()
    except OSError:
        return True


PLACES = [
    Place("plugins/installed_plugins.json", settings.plugins),
    Place("plugins/known_marketplaces.json", settings.marketplaces),
    Place("projects/*/.session-aliases", lines.aliases),
    Place("bridge-pointer.json", settings.folders),
    Place("projects/*/bridge-pointer.json", settings.folders),
    Place("daemon.json", settings.folders, of_daemon=True),
    Place("jobs/*/state.json", settings.job, of_daemon=True),
]


# -- documents, each with its new text


def rewrite_indexes(
    placer: Placer, portions: Iterable[Portion], names: NameMap
) -> None:
    """The new paths in each index, without the entries of what leaves it."""
    for source, group in groupby(portions, lambda portion: portion.source):
        file = source / INDEX
        parts = list(group)
        if not is_there(file):
            continue
        draft = placer.draft(file)
        try:
            draft.text = _rewritten_index(draft.text, parts, names)
        except NotJsonError as error:
            ends = file
            if parts[0].move.kind == "rename":
                ends = parts[0].target / INDEX
            what = f"not valid JSON ({error}), and stays as it is"
            what += "; Claude Code needs no index"
            placer.leave(ends, what, "mv", "-n", str(ends), f"{ends}.old")


def _rewritten_index(text: str, parts: list[Portion], names: NameMap) -> str:
    """An index says whose it is, and whose each session: of one who is there then.

    It may name another path of the same encoded name, whose own sessions are gone.
    """
    holding = parts[0].holding
    directory = holding.directory.name
    residents = holding.remaining
    kinds = {part.move.kind for part in parts}
    if kinds == {"rename"}:
        residents = [part.move.new_path for part in parts]
    homes = {compared(path) for path in residents}
    heir = None
    if residents:
        heir = residents[0]
    for part in parts:
        if part.move.kind == "split":
            leaving = dict(part.index_entries)
            text = index.without(text, leaving)

    def resident(path: str) -> str | None:
        new_path = names.paths.map(path)
        is_at_home = compared(new_path or path) in homes
        if is_at_home or encode(path) != directory:
            return new_path
        return heir

    if kinds == {"split"}:
        return index.with_owner(text, resident)
    return index.rewritten(text, resident, names)


def rewrite_config(placer: Placer, paths: PathMap, request: Request) -> None:
    """Other projects' values stay as long as they still lead somewhere."""
    state = placer.state
    if state.config is None:
        return
    gone = paths
    if not request.move_folder:
        moves = []
        for move in paths.moves:
            old, _ = move
            if not os.path.lexists(old):
                moves.append(move)
        gone = PathMap(tuple(moves), paths.kept, paths.alone)
    ours = occurrences_of(state, paths)
    others = occurrences_of(state, gone)
    draft = placer.draft(state.config.path)
    text = config.with_values(draft.text, ours, others)
    draft.text = config.rewritten(text, paths)


def occurrences_of(state: State, paths: PathMap) -> Occurrences:
    """The moves as they stand in longer values; the disk knows what is a path there."""
    projects = set(state.config_paths)

    def is_path(text: str) -> bool:
        return text in projects or os.path.lexists(text)

    return Occurrences.of(paths, str(state.layout.home), is_path)


def rewrite_others(
    placer: Placer, files: Iterable[OtherFile], paths: Occurrences, names: NameMap
) -> None:
    """The new texts of these files; what can't be read is left alone."""
    for path, rewrite in files:
        try:
            if placer.state.document(path) is not None:
                draft = placer.draft(path)
                draft.text = rewrite(draft.text, paths, names)
        except PermissionError as error:  # it may be the directory that is closed
            what = f"can't be read, and stays as it is: {error.strerror}"
            placer.leave(Path(error.filename), what)
        except (RefusedError, NotJsonError, OSError) as error:
            is_of_state = path.is_relative_to(placer.layout.config_dir)
            is_settings = path in user_settings(placer.layout)  # a dotfile, maybe
            if isinstance(error, LinkError) and is_of_state and not is_settings:
                raise
            what = f"can't be read as JSON, and stays as it is: {describe(error)}"
            placer.leave(path, what)


def other_files(
    layout: Layout, request: Request, folders: Iterable[Folder]
) -> Iterator[OtherFile]:
    """Every file that may be there beside index, history and config, and how it is
    rewritten.
    """
    has_daemon = daemon_is_running(layout)
    for place in PLACES:
        if place.of_daemon and has_daemon:
            continue
        for path in place.files(layout):
            yield path, place.rewrite
    if request.project_files:
        paths = user_settings(layout)
        for _, _, folder in folders:
            paths += project_files(layout, folder)
        for path in paths:
            yield path, settings.project_file
    if request.desktop:
        _refuse_desktop_app()
        for path in desktop_files(layout):
            yield path, settings.desktop


def _refuse_desktop_app() -> None:
    if desktop_app_is_running():
        raise RefusedError(
            "the desktop app is running and would undo the change",
            again("quit it, then try again"),
        )


def project_files(layout: Layout, folder: Path) -> list[Path]:
    """Claude Code's files in a project that may hold paths;
    the home's `.claude` is the state.
    """
    files = [folder / name for name in PROJECT_FILES]
    own = folder / ".claude"
    if is_state(layout, own):
        return [file for file in files if file.parent != own]
    return files


def is_state(layout: Layout, path: Path) -> bool:
    """Whether it is a config directory and not a project's own `.claude`."""
    real = os.path.realpath(path)
    usual = layout.home / ".claude"
    return real in (str(layout.config_dir), os.path.realpath(usual))


def user_settings(layout: Layout) -> list[Path]:
    return [layout.config_dir / name for name in USER_SETTINGS]


def desktop_files(layout: Layout) -> list[Path]:
    return sorted(layout.desktop_sessions.rglob("local_*.json"))


def moved_folders(pairs: Iterable[Move], *, at_old: bool) -> list[Folder]:
    """Those of the folders that are on disk, `at_old` while they are to be renamed."""
    folders = []
    for old, new in dict.fromkeys(pairs):
        here = Path(old if at_old else new)
        if os.path.isdir(here):
            folders.append((old, new, here))
    return folders
