"""Is this what a run noted? By names, sizes and dates, not by inode numbers."""

import os
import stat
from pathlib import Path

from ccmove.claude.reading import names_in
from ccmove.plan.model import FolderHolds, Holds
from ccmove.plan.tree import folder_holds


def is_noted(path: Path, noted: Holds | FolderHolds) -> bool:
    """Whether something of what was noted is there; names of transcripts are unique, and one may
    have grown since. Any directory may be the one that was empty."""
    if isinstance(noted, FolderHolds):
        return is_directory(path) and _is_folder(path, noted)
    if not noted.entries:
        return is_directory(path)
    return any(has(path, entry) for entry in noted.entries)


def has(path: Path, entry: tuple[str, int]) -> bool:
    """Whether one of the noted files is there, or has grown there."""
    name, size = entry
    found = _facts(path / name if name else path)
    return found is not None and stat.S_ISREG(found.st_mode) and found.st_size >= size


def has_grown(path: Path, noted: Holds) -> bool:
    """Whether something came to what a run took out of a backup: that is not to be hidden there."""
    if noted.is_directory:
        return not noted.entries and bool(names_in(path))
    return os.lstat(path).st_size != noted.entries[0][1]


def _is_folder(path: Path, noted: FolderHolds) -> bool:
    """Whether this is the project folder that was noted.

    The very one, with something left of what was in it; or, in a copied home, one with most of
    the noted entries, each of the same kind, size and date.
    """
    found = folder_holds(path)
    names = {entry[0] for entry in found.entries}
    if (found.device, found.inode) == (noted.device, noted.inode):
        return not noted.entries or any(entry[0] in names for entry in noted.entries)
    same = len(set(found.entries) & set(noted.entries))
    return 2 * same > len(noted.entries)


def is_respelled(path: Path, other: Path) -> bool:
    """Whether both are one directory: where names in another case, or with another form of an
    accent, mean the same."""
    return is_directory(path) and is_directory(other) and os.path.samefile(path, other)


def is_directory(path: Path) -> bool:
    found = _facts(path)
    return found is not None and stat.S_ISDIR(found.st_mode)


def _facts(path: Path) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
