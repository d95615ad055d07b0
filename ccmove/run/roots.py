"""Paths as manifests have them: a root, and names below it; and what is where.

Roots are where a run works, as the layout of now has them: a backup still holds when
its home was copied elsewhere. Where a path leads says what may be done with it. No
other path can be written, and what can't be written is not believed.
"""

import os
import re
from collections.abc import Collection
from itertools import chain
from pathlib import Path, PurePosixPath

from ccmove.claude.layout import PROJECT_FILES, USER_SETTINGS, Layout
from ccmove.claude.state import ALIASES, BESIDE_SESSIONS, INDEX, MEMORY, POINTER
from ccmove.plan import model
from ccmove.plan.files import PLACES
from ccmove.plan.meeting import name_of_both
from ccmove.plan.model import (
    PARKED,
    Arrived,
    FolderHolds,
    Mkdir,
    Rename,
    is_id,
)
from ccmove.plan.records import is_name
from ccmove.rewrite.pathmap import is_root
from ccmove.run.manifest import Manifest, SavedNote, Wrote, WroteHistory

Kinds = Collection[str]  # of what is at a path

# What a path in a field of a manifest may lead to. A transcript is moved, and never
# rewritten.
ENTRIES: Kinds = {"entry", "index", "note", "alias", "beside"}
MOVED: Kinds = {*ENTRIES, "kept"}
DOCUMENTS: dict[str, Kinds] = {
    "config": {"config"},
    "index": {"index", "kept"},
    "other": {"note", "alias", "document", "kept"},
}
REPLACED: Kinds = {"history"}.union(*DOCUMENTS.values())

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
        self._is_unpack = manifest.is_unpack
        self._folders = set(chain.from_iterable(manifest.folders))
        self._settings: set[Path] = set()
        for folder in manifest.settings_in:
            self._settings.update(folder / name for name in PROJECT_FILES)

    def write(self, row: object, name: str, path: Path) -> list[str]:
        """A path as a manifest has it; ValueError if it leads to what no run has in
        that field.
        """
        spelled = self._roots.spelled(path)
        kind = _kind(spelled)
        if kind == "project":
            kind = self._kind_of_folder(path)
        kinds = self._kinds(row, name)
        text = str(path)
        if kind not in kinds or is_root(text):
            raise ValueError(f"no run does that to {text!r}")
        return spelled

    def _kinds(self, row: object, name: str) -> Kinds:
        """What a path may lead to, by what it is a field of."""
        match row:
            case Manifest() if name == "replaced":
                return REPLACED
            case Rename(holds=FolderHolds()):
                return {"folder"}
            case Rename(holds=Arrived()) if name == "path":
                return {"incoming"}
            case Rename(holds=Arrived()):
                return ENTRIES
            case Rename():
                return MOVED
            case Mkdir():  # that of all projects is made by no other run
                return {*ENTRIES, "projects"} if self._is_unpack else ENTRIES
            case Wrote(form=form):
                return DOCUMENTS[form]
            case WroteHistory():
                return {"history"}
            case SavedNote():
                return {"note"}
        return {"project", "folder"}

    def _kind_of_folder(self, path: Path) -> str:
        """Outside of what we know of the state there are project folders."""
        if path in self._folders:
            return "folder"
        if path.name.startswith(PARKED):
            is_beside = any(path.parent == folder.parent for folder in self._folders)
            return "folder" if is_beside else "project"
        return "document" if path in self._settings else "project"


def _kind(spelled: list[str]) -> str:
    """What is there; nothing where no run has anything to do."""
    match spelled:
        case ["config"] | ["projects"]:
            return spelled[0]
        case ["projects", _, directory, _, *_] if name_of_both(directory) == MEMORY:
            return "note"
        case ["projects", _, name]:
            return _IN_PROJECTS.get(name_of_both(name), "entry")
        case ["projects", *_]:
            return "entry"
        case ["backup", run, *names] if is_id(run):
            return _kind_in_run(names)
        case ["run", *names]:
            return _kind_in_run(names)
        case ["state" | "desktop", *_] if _is_document(spelled):
            return "document"
        case ["state", *names]:
            return _kind_in_state(names)
    root = spelled[0]
    return "project" if root == "home" or os.path.isabs(root) else ""


def _kind_in_run(names: list[str]) -> str:
    """What is parked or retired may be anything."""
    match names:
        case ["retired" | "parked", _, *_]:
            return "kept"
        case [model.INCOMING, _, *_]:
            return "incoming"
    return ""


def _kind_in_state(names: list[str]) -> str:
    match names:
        case ["history.jsonl"]:
            return "history"
        case ["ccmove" | "projects", *_]:
            return ""
        case [name, *_] if name in BESIDE_SESSIONS:
            return "beside"
    return "project"


def _is_document(spelled: list[str]) -> bool:
    """Whether it is one of the other files that hold paths."""
    root, *names = spelled
    if root == "desktop":
        return re.fullmatch(r"local_.*\.json", spelled[-1], re.DOTALL) is not None
    inside = PurePosixPath("/", *names)
    patterns = [*USER_SETTINGS, *(place.pattern for place in PLACES)]
    return any(inside.match(f"/{pattern}") for pattern in patterns)
