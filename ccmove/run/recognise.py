"""Is what is there what a run noted of it? By names, sizes and dates.

Inode numbers are soon used again, and change with a copied home. Only for a project
folder, which is never merged with another, do they count as long as they match.

The rules come from trials with killed runs after which the home was copied, sessions
were added or swept, or something else stood in the folders: tests/crash/world.py makes
these worlds.
"""

import os
import stat
from pathlib import Path

from ccmove.claude.reading import is_there, names_in
from ccmove.plan.model import Arrived, FileHolds, FolderHolds, Holds
from ccmove.plan.tree import folder_holds

Noted = Holds | FileHolds | FolderHolds | Arrived


def is_noted(path: Path, noted: Noted) -> bool:
    """A directory is the one that was noted if one of the noted names is in it, a file
    if it has that size and date.

    Names of transcripts are unique, and those have often grown since: nothing is told
    of one that was empty. Seen when a client went on beside a killed run.
    """
    if isinstance(noted, FileHolds):
        return _is_file(path, noted)
    if isinstance(noted, FolderHolds):
        return is_directory(path) and _is_folder(path, noted)
    if not isinstance(noted, Holds):
        return False
    if not is_directory(path):
        return False
    return any(is_there(path / name) for name in noted.names)


def is_swept(path: Path) -> bool:
    """A directory without a session may be what is left of any.

    One with sessions of which none was noted is another one. Seen when the client had
    deleted old sessions between a run and its undo.
    """
    sessions = [name for name in names_in(path) if name.endswith(".jsonl")]
    return is_directory(path) and not sessions


def has_grown(path: Path, noted: Noted) -> bool:
    """Something came to what was retired if a file is there that was not noted.

    That is not to be hidden in a backup. Where transcripts were noted the other files
    were not, so that nothing can be said. Seen when a writer went on in a directory
    that a merge had emptied.
    """
    if isinstance(noted, FileHolds):
        return not _is_file(path, noted)
    if not isinstance(noted, Holds):
        return False
    for name in noted.names:
        if name.endswith(".jsonl"):
            return False
    for file in path.rglob("*"):
        inside = file.relative_to(path).as_posix()
        if inside not in noted.names and not is_directory(file):
            return True
    return False


def is_respelled(path: Path, other: Path) -> bool:
    """Whether both are one directory: where names in another case, or with another form
    of an accent, mean the same.
    """
    if not is_directory(path) or not is_directory(other):
        return False
    return os.path.samefile(path, other)


def is_directory(path: Path) -> bool:
    found = _facts(path)
    if found is None:
        return False
    return stat.S_ISDIR(found.st_mode)


def _is_file(path: Path, noted: FileHolds) -> bool:
    found = _facts(path)
    if found is None or stat.S_ISDIR(found.st_mode):
        return False
    return (found.st_size, found.st_mtime_ns) == (noted.size, noted.mtime_ns)


def _is_folder(path: Path, noted: FolderHolds) -> bool:
    """A project folder is the one that was noted if it has that inode and something of
    what was in it; or most of the noted entries, of the same kind, size and date.

    The latter is for a copied home, where inodes are others. Comes from trials in which
    that name was used for another folder since.
    """
    now = folder_holds(path)
    has_that_inode = (now.device, now.inode) == (noted.device, noted.inode)
    if has_that_inode:
        return not noted.entries or not noted.names.isdisjoint(now.names)
    in_common = set(now.entries).intersection(noted.entries)
    return 2 * len(in_common) > len(noted.entries)


def _facts(path: Path) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
