"""Paths as manifests have them: a root, and names below it.

Roots are where a run works, as the layout of now has them: a backup still holds when
its home was copied elsewhere. What is done with a path says which roots it may have,
and what may be below each. No other path can be written, nor be read.
"""

import os
from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path, PurePath

from ccmove.claude.layout import PROJECT_FILES, USER_SETTINGS, Layout
from ccmove.claude.state import ALIASES, INDEX, MEMORY, POINTER
from ccmove.plan.files import PLACES
from ccmove.plan.meeting import name_of_both
from ccmove.plan.model import PARKED
from ccmove.rewrite.pathmap import is_root
from ccmove.run.manifest import ID_PATTERN

Names = tuple[str, ...]
Role = Mapping[str, Callable[[Names], bool]]  # root -> whether these may be below it


def _is_itself(names: Names) -> bool:
    return not names


def _is_below(names: Names) -> bool:
    return bool(names)


def _is_kept(names: Names) -> bool:
    """What is parked or set aside in a run."""
    return len(names) > 1 and names[0] in ("aside", "parked")


def _is_kept_in_backup(names: Names) -> bool:
    return _is_kept(names[1:]) and ID_PATTERN.fullmatch(names[0]) is not None


def _is_parked(names: Names) -> bool:
    return len(names) == 1 and names[0].startswith(PARKED)


def _is_history(names: Names) -> bool:
    return names == ("history.jsonl",)


def _is_index(names: Names) -> bool:
    return len(names) == 2 and name_of_both(names[1]) == INDEX


def _is_note(names: Names) -> bool:
    return len(names) > 2 and name_of_both(names[1]) == MEMORY


def _is_note_or_alias(names: Names) -> bool:
    if len(names) == 2:
        return name_of_both(names[1]) in (ALIASES, POINTER)
    return _is_note(names)


def _is_project_document(names: Names) -> bool:
    return _is_index(names) or _is_note_or_alias(names)


def _is_place(names: Names) -> bool:
    """One of the other files of the state that hold paths."""
    if len(names) == 1 and names[0] in USER_SETTINGS:
        return True
    return any(_fits(names, PurePath(place.pattern).parts) for place in PLACES)


def _fits(names: Names, pattern: Names) -> bool:
    if len(names) != len(pattern) or pattern[0] == "projects":
        return False
    pairs = zip(names, pattern, strict=True)
    return all(part in ("*", name) for name, part in pairs)


def _is_state_document(names: Names) -> bool:
    return _is_history(names) or _is_place(names)


def _is_settings(names: Names) -> bool:
    return "/".join(names) in PROJECT_FILES


def _is_desktop_session(names: Names) -> bool:
    last = names[-1] if names else ""
    return last.startswith("local_") and last.endswith(".json")


_KEPT: Role = {"run": _is_kept, "backup": _is_kept_in_backup}
# What each kind of path may be. A transcript is moved, and never rewritten.
MOVED: Role = {"projects": _is_below, **_KEPT}
FOLDER: Role = {"folder": _is_itself, "beside": _is_parked}
NOTE: Role = {"projects": _is_note}
HISTORY: Role = {"state": _is_history}
CONFIG: Role = {"config": _is_itself}
INDEXES: Role = {"projects": _is_index, **_KEPT}
OTHER: Role = {
    "projects": _is_note_or_alias,
    "state": _is_place,
    "settings": _is_settings,
    "desktop": _is_desktop_session,
    **_KEPT,
}
REPLACED: Role = {
    **OTHER,
    "projects": _is_project_document,
    "state": _is_state_document,
    "config": _is_itself,
}


class Roots:
    """The roots of one run, and paths below them as lists: the root, then the names.

    `folder 0` is the first project folder that is renamed, `beside 0` the directory
    that it is in; `settings 0` is the first one whose settings may be rewritten.
    """

    def __init__(
        self,
        layout: Layout,
        run: Path,
        folders: tuple[tuple[Path, Path], ...] = (),
        settings: tuple[Path, ...] = (),
    ) -> None:
        self.folders = folders
        self.settings = settings
        self._state = layout.config_dir
        self._directories = {
            "run": run,
            "backup": layout.backups,
            "projects": layout.projects,
            "state": layout.config_dir,
            "config": layout.real_config_file,
            "desktop": layout.desktop_sessions,
        }
        for number, folder in enumerate(chain.from_iterable(folders)):
            self._directories[f"folder {number}"] = folder
            self._directories[f"beside {number}"] = folder.parent
        for number, folder in enumerate(settings):
            self._directories[f"settings {number}"] = folder
        self._roots: dict[tuple[str, Path], str] = {}  # by the kind of root, and where
        for root, directory in self._directories.items():
            self._roots.setdefault((_kind(root), directory), root)

    def write(self, path: Path, role: Role) -> list[str]:
        """The path below the nearest root that it may have; ValueError without one.

        What is in the state has no root outside of it.
        """
        for directory in (path, *path.parents):
            inside = path.relative_to(directory)
            names = inside.parts
            for kind, may_be_below in role.items():
                root = self._roots.get((kind, directory))
                if root is not None and may_be_below(names):
                    return [root, *names]
            if directory == self._state:
                break
        what = "is not something that a run has to do with"
        raise ValueError(f"{str(path)!r} {what}")

    def read(self, value: object, role: Role) -> Path:
        """The path; ValueError for one that `write` would not write like this."""
        root, names = _split(value)
        if root not in self._directories:
            raise ValueError(f"{root!r:.200} is not a root")
        path = self._directories[root].joinpath(*names)
        _refuse_other_spelling(value, self.write(path, role))
        return path


def _kind(root: str) -> str:
    return root.partition(" ")[0]


def _split(value: object) -> tuple[str, list[str]]:
    """The root and the names of a path, which lead nowhere but down."""
    if type(value) is not list or not value:
        raise ValueError(f"{value!r:.200} is not a path")
    root, *names = value
    if type(root) is not str or not all(map(is_name, names)):
        raise ValueError(f"{value!r:.200} is not a path")
    return root, names


def _refuse_other_spelling(value: object, spelling: list[str]) -> None:
    """One path has one spelling: by another nobody gets around what is said of it."""
    if value != spelling:
        raise ValueError(f"{value!r:.200} is written as {spelling}")


def is_name(value: object) -> bool:
    """Whether it is one component of a path, which a disk can hold.

    Half a character is none: that error is a ValueError too.
    """
    if type(value) is not str or value in ("", ".."):
        return False
    os.fsencode(value)
    return PurePath(value).name == value and "\0" not in value


# -- project folders, which are roots themselves


def write_folder(layout: Layout, folder: Path) -> list[str]:
    """A project folder: in the state, in the home, or else anywhere on a disk."""
    for root, directory in _homes(layout).items():
        if folder.is_relative_to(directory):
            return [root, *folder.relative_to(directory).parts]
    return [folder.anchor, *folder.parts[1:]]


def read_folder(layout: Layout, value: object) -> Path:
    """A folder that can be a project's; ValueError for any other."""
    root, names = _split(value)
    directory = _homes(layout).get(root, Path(root))
    folder = directory.joinpath(*names)
    _refuse_other_spelling(value, write_folder(layout, folder))
    text = str(folder)
    is_ours = False
    for directory in (folder, *folder.parents):
        if directory in (layout.own, layout.projects):
            is_ours = True
    if is_ours or is_root(text) or not folder.is_absolute():
        raise ValueError(f"{text!r} is not a project folder")
    return folder


def _homes(layout: Layout) -> dict[str, Path]:
    """Where a folder is found again after the home was copied."""
    return {"state": layout.config_dir, "home": layout.home}
