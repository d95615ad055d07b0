"""Paths as manifests have them: a root, and names below it; and what is where.

Roots are where a run works, as the layout of now has them: a backup still holds when
its home was copied elsewhere. Where a path leads says what may be done with it. No
other path can be written, and what can't be written is not believed.
"""

import os
import re
from collections.abc import Collection
from itertools import chain
from pathlib import Path, PurePath

from ccmove.claude.layout import PROJECT_FILES, USER_SETTINGS, Layout
from ccmove.claude.state import ALIASES, BESIDE_SESSIONS, INDEX, MEMORY, POINTER
from ccmove.plan import model
from ccmove.plan.files import PLACES
from ccmove.plan.meeting import name_of_both
from ccmove.plan.model import PARKED, is_id
from ccmove.plan.records import is_name
from ccmove.rewrite.pathmap import is_root
from ccmove.run.manifest import Manifest

Kinds = Collection[str]  # of what is at a path

# What a path in each field of a manifest may lead to. A transcript is moved, and never
# rewritten.
PROJECT: Kinds = {"project", "folder"}
FOLDER: Kinds = {"folder"}
ENTRIES: Kinds = {"entry", "index", "note", "alias", "beside"}
MOVED: Kinds = {*ENTRIES, "kept"}
MADE: Kinds = {*ENTRIES, "projects"}
INCOMING: Kinds = {"incoming"}
NOTE: Kinds = {"note"}
HISTORY: Kinds = {"history"}
CONFIG: Kinds = {"config"}
INDEXES: Kinds = {"index", "kept"}
OTHER: Kinds = {"note", "alias", "document", "kept"}
REPLACED: Kinds = {*CONFIG, *HISTORY, *INDEXES, *OTHER}

_IN_PROJECTS = {INDEX: "index", ALIASES: "alias", POINTER: "alias"}


class Roots:
    """The roots of one run: of the state, the home, or else of a disk."""

    def __init__(self, layout: Layout, run_dir: Path) -> None:
        self._directories = {
            "run": run_dir,
            "backup": layout.backups,
            "projects": layout.projects,
            "state": layout.config_dir,
            "config": layout.real_config_file,
            "desktop": layout.desktop_sessions,
            "home": layout.home,
        }
        self._roots: dict[Path, str] = {}
        for root, directory in self._directories.items():
            self._roots.setdefault(directory, root)

    def spelled(self, path: Path) -> list[str]:
        """The nearest root, and the names below it."""
        for directory in (path, *path.parents):
            root = self._roots.get(directory)
            if root is not None:
                inside = path.relative_to(directory)
                return [root, *inside.parts]
        return [path.anchor, *path.parts[1:]]

    def read(self, value: object) -> Path:
        """The path that this names, as far as names go."""
        match value:
            case [str(root), *names] if all(map(is_name, names)):
                directory = self._directories.get(root, Path(root))
                return directory.joinpath(*map(str, names))
        raise ValueError(f"{value!r:.200} is not a path")


class PathWriter:
    """Writes the paths of one run, each only where a run may have it."""

    def __init__(self, roots: Roots, manifest: Manifest) -> None:
        self._roots = roots
        self._folders = set(chain.from_iterable(manifest.folders))
        self._beside = {folder.parent for folder in self._folders}
        self._settings: set[Path] = set()
        for folder in manifest.settings_in:
            self._settings.update(folder / name for name in PROJECT_FILES)

    def write(self, path: Path, kinds: Kinds) -> list[str]:
        """A path as a manifest has it; ValueError if it leads to anything else."""
        spelled = self._roots.spelled(path)
        kind = _kind(spelled)
        if kind == "project":
            kind = self._kind_of_folder(path)
        if kind not in kinds or is_root(str(path)):
            raise ValueError(f"no run does that to {str(path)!r}")
        return spelled

    def _kind_of_folder(self, path: Path) -> str:
        """Outside of what we know of the state there are project folders."""
        is_parked = path.name.startswith(PARKED) and path.parent in self._beside
        if is_parked or path in self._folders:
            return "folder"
        return "document" if path in self._settings else "project"


def _kind(spelled: list[str]) -> str:
    """What is there; nothing where no run has anything to do."""
    match spelled:
        case ["config"]:
            return "config"
        case ["projects"]:
            return "projects"
        case ["projects", _, *names]:
            return _kind_in_project(names)
        case ["run", *names]:
            return _kind_in_run(names)
        case ["backup", run, *names] if is_id(run):
            return _kind_in_run(names)
        case ["state" | "desktop", *_] if _is_document(spelled):
            return "document"
        case ["state", *names]:
            return _kind_in_state(names)
    root = spelled[0]
    return "project" if root == "home" or os.path.isabs(root) else ""


def _kind_in_state(names: list[str]) -> str:
    match names:
        case ["history.jsonl"]:
            return "history"
        case ["ccmove" | "projects", *_]:
            return ""
        case [name, *_] if name in BESIDE_SESSIONS:
            return "beside"
    return "project"


def _kind_in_project(names: list[str]) -> str:
    match names:
        case [directory, _, *_] if name_of_both(directory) == MEMORY:
            return "note"
        case [name]:
            return _IN_PROJECTS.get(name_of_both(name), "entry")
    return "entry"


def _kind_in_run(names: list[str]) -> str:
    """What is parked or retired may be anything."""
    match names:
        case ["retired" | "parked", _, *_]:
            return "kept"
        case [model.INCOMING, _, *_]:
            return "incoming"
    return ""


def _is_document(spelled: list[str]) -> bool:
    """Whether it is one of the other files that hold paths."""
    root, *names = spelled
    if root == "desktop":
        return re.fullmatch(r"local_.*\.json", spelled[-1], re.DOTALL) is not None
    patterns = [*USER_SETTINGS, *(place.pattern for place in PLACES)]
    return any(_fits(names, PurePath(pattern).parts) for pattern in patterns)


def _fits(names: list[str], pattern: tuple[str, ...]) -> bool:
    if len(names) != len(pattern):
        return False
    pairs = zip(names, pattern, strict=True)
    return all(part in ("*", name) for name, part in pairs)
