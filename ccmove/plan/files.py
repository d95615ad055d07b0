"""The documents that know a project's path, and how each is rewritten.

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
from ccmove.claude.naming import encode
from ccmove.claude.reading import is_there, names_in, read_document
from ccmove.claude.state import ALIASES, INDEX, MEMORY, State
from ccmove.errors import CcmoveError, LinkError, RefusedError, again, describe
from ccmove.plan.model import LeftAlone, Request
from ccmove.plan.placing import Placer
from ccmove.plan.portions import Portion
from ccmove.plan.tree import ends_of
from ccmove.rewrite import config, index, lines, settings
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.rewrite.pathmap import NameMap, PathMap
from ccmove.rewrite.settings import Rewrite
from ccmove.system import looking_for
from ccmove.text import plural

Folder = tuple[str, str, Path]  # old path, new path, where it is now
OtherFile = tuple[Path, Rewrite]

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
        paths = [layout.config_dir / first]
        if first == "projects":
            paths = [layout.projects]
        for part in parts:
            folders = paths
            paths = []
            for folder in folders:
                names = names_in(folder) if part == "*" else [part]
                paths += [folder / name for name in names]
        return paths


PLACES = [
    Place("plugins/installed_plugins.json", settings.plugins),
    Place("plugins/known_marketplaces.json", settings.marketplaces),
    Place("bridge-pointer.json", settings.folders),
    Place("projects/*/bridge-pointer.json", settings.folders),
    Place("daemon.json", settings.folders, of_daemon=True),
    Place("jobs/*/state.json", settings.job, of_daemon=True),
]


# -- documents, each with its new text


def rewrite_aliases(
    placer: Placer, state: State, portions: Iterable[Portion], names: NameMap
) -> None:
    """Lines of any project's aliases that name a directory which gets another name.

    The sessions of one that is split are in two directories then: both are named.
    """
    parts = [portion for portion in portions if portion.kind == "split"]
    projects = state.layout.projects
    for name in state.directory_names:
        file = projects / name / ALIASES
        if not os.path.lexists(file):  # one that is closed to us stops nobody's move
            continue
        draft = placer.draft(file)
        directories = draft.text.split("\n")
        draft.text = lines.aliases(draft.text, names)
        for part in parts:
            if str(part.source) in directories:
                line = f"{part.target}\n"
                draft.text = lines.appended(draft.text, line)


def rewrite_indexes(
    placer: Placer, portions: Iterable[Portion], paths: PathMap, names: NameMap
) -> None:
    """The new paths in each index, without the entries of what leaves it."""
    by_source: dict[Path, list[Portion]] = {}
    for portion in portions:
        by_source.setdefault(portion.source, []).append(portion)
    for source, parts in by_source.items():
        file = source / INDEX
        if not is_there(file):
            continue
        draft = placer.draft(file)
        try:
            draft.text = _rewritten_index(draft.text, parts, paths, names)
        except NotJsonError as error:
            ends = file
            if parts[0].kind == "rename":
                ends = parts[0].target / INDEX
            what = f"not valid JSON ({error}), and stays as it is"
            what += "; Claude Code needs no index"
            placer.leave(ends, what, "mv", "-n", str(ends), f"{ends}.old")


def _rewritten_index(
    text: str, parts: list[Portion], paths: PathMap, names: NameMap
) -> str:
    """An index says whose it is, and whose each session: of one who is there then.

    It may name another path of the same encoded name, whose own sessions are gone.
    """
    holding = parts[0].holding
    directory = holding.directory.name
    residents = holding.remaining
    for part in parts:
        if part.kind == "split":
            text = index.without(text, dict(part.index_entries))
        elif part.kind == "rename":
            residents = [new_path for _, new_path in part.pairs]

    def resident(path: str) -> str | None:
        new_path = paths.map(path)
        is_at_home = (new_path or path) in residents
        if is_at_home or encode(path) != directory:
            return new_path
        return residents[0] if residents else new_path

    kinds = {part.kind for part in parts}
    if kinds == {"split"}:
        return index.with_owner(text, resident)
    return index.rewritten(text, resident, names)


def rewrite_config(placer: Placer, state: State, paths: PathMap) -> None:
    if state.config is not None:
        draft = placer.draft(state.config.path)
        draft.text = config.rewritten(draft.text, paths)


def rewrite_others(
    placer: Placer, files: Iterable[OtherFile], paths: PathMap, names: NameMap
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
            if isinstance(error, LinkError) and is_of_state:
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
        for _, _, folder in folders:
            for path in project_files(layout, folder):
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
    states = (layout.config_dir, layout.home / ".claude")
    return os.path.realpath(path) in map(os.path.realpath, states)


def desktop_files(layout: Layout) -> list[Path]:
    root = layout.desktop_sessions
    return sorted(root.rglob("local_*.json")) if root.is_dir() else []


def moved_folders(pairs: Iterable[tuple[str, str]], *, at_old: bool) -> list[Folder]:
    """Those of the folders that are on disk, `at_old` while they are to be renamed."""
    folders = []
    for old, new in dict.fromkeys(pairs):
        here = Path(old if at_old else new)
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
