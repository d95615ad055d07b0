"""Is this what a run noted? By names, sizes and dates, not by inode numbers."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ccmove.claude.reading import is_there, names_in
from ccmove.plan.model import FolderHolds, Holds
from ccmove.plan.tree import folder_holds


def holds(path: Path, noted: Holds) -> bool:
    """Whether something of what was noted is there; names of transcripts are unique, and one may
    have grown since. Of an empty directory this can't be said."""
    return any(_has(path / name if name else path, size) for name, size in noted.entries)


def has_grown(path: Path, noted: Holds) -> bool:
    """Whether something came to what a run took out of a backup: that is not to be hidden there."""
    if noted.is_directory:
        return not noted.entries and bool(names_in(path))
    return os.lstat(path).st_size != noted.entries[0][1]


def _has(path: Path, size: int) -> bool:
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size >= size


def is_folder(path: Path, noted: FolderHolds) -> bool:
    """Whether this is the project folder that was noted.

    The very one, with something left of what was in it; or, in a copied home, one with most of
    the noted entries, each of the same kind, size and date.
    """
    if not is_directory(path):
        return False
    found = folder_holds(path)
    names = {entry[0] for entry in found.entries}
    if (found.device, found.inode) == (noted.device, noted.inode):
        return not noted.entries or any(entry[0] in names for entry in noted.entries)
    same = len(set(found.entries) & set(noted.entries))
    return 2 * same > len(noted.entries)


def free_name(path: Path) -> Path:
    """Beside it, with the same ending: what it was read for it is still read for."""
    number = 0
    while is_there(free := path.with_name(f"{path.stem}.later{number or ''}{path.suffix}")):
        number += 1
    return free


def is_directory(path: Path) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def is_empty_directory(path: Path) -> bool:
    return is_directory(path) and not names_in(path)
