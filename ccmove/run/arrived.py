"""What came in an archive: is it still as it came?

A file that is may be taken out again, by a rollback or an undo. A session that went on
stays, with all that has its ID: its transcript, its folder, its tasks, its prompts.
"""

import os
import stat
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path, PurePath

from ccmove.claude.reading import is_there, names_in, sha256_of
from ccmove.claude.state import SESSION_ID
from ccmove.plan.model import Arrival, Arrived, Rename
from ccmove.run import disk
from ccmove.run.manifest import Recorded
from ccmove.run.recognise import is_directory


def session_at(path: Path) -> str | None:
    """The session that a file belongs to, by its own name or a directory's above it."""
    for name in (path.name, *(parent.name for parent in path.parents)):
        match = SESSION_ID.match(name)
        if match:
            return match.group()
    return None


def arrivals(operations: Iterable[Recorded]) -> Iterator[tuple[Path, Arrival]]:
    """Each file that came, where the run brought it."""
    for operation in operations:
        if isinstance(operation, Rename) and isinstance(operation.holds, Arrived):
            for arrival in operation.holds.files:
                yield operation.target / arrival.name, arrival


def sessions_that_went_on(operations: Iterable[Recorded]) -> frozenset[str]:
    """The sessions of which a file that was unpacked is not as it came any more."""
    sessions = set()
    for path, arrival in arrivals(operations):
        session = session_at(path)
        if session is None or not is_there(path):
            continue
        if not is_as_it_came(path, arrival):
            sessions.add(session)
    return frozenset(sessions)


def sessions_that_left(
    projects: Path, operations: Iterable[Recorded]
) -> dict[str, str]:
    """The sessions whose transcript came, and is in another project directory by now:
    Claude Code's `/cd` takes it there, and nothing else of the session.
    """
    missing = set()
    for path, _ in arrivals(operations):
        is_transcript = path.parent.parent == projects and path.suffix == ".jsonl"
        if is_transcript and not is_there(path):
            missing.add(path.name)
    if not missing:
        return {}
    left: dict[str, str] = {}
    for name in names_in(projects):
        there = names_in(projects / name)
        for transcript in missing.intersection(there):
            session = transcript.removesuffix(".jsonl")
            left[session] = name
    return left


def is_as_it_came(path: Path, arrival: Arrival) -> bool:
    """By size and date, which is as it was packed; where the file system has coarser
    dates, as Windows has, by the hash.
    """
    facts = os.lstat(path)
    if not stat.S_ISREG(facts.st_mode):
        return False
    if facts.st_size != arrival.size:
        return False
    if facts.st_mtime_ns == arrival.mtime_ns:
        return True
    return sha256_of(path) == arrival.sha256


def take_out(holds: Arrived, target: Path, staying: Collection[str]) -> list[str]:
    """Remove what came to `target`, and is as it came; what stays, in words.

    Each file is looked at by itself, so that who is killed here goes on later.
    """
    stayed: list[str] = []
    directories: set[Path] = set()  # that came with these files
    for arrival in holds.files:
        parents = PurePath(arrival.name).parents
        directories.update(target / parent for parent in parents)
        path = target / arrival.name
        if not is_there(path):
            continue
        if session_at(path) in staying:
            if path.stem in staying:
                stayed.append(f"{path} went on since, so it stays")
            continue
        if is_as_it_came(path, arrival) and sha256_of(path) == arrival.sha256:
            disk.remove_file(path)
        else:
            stayed.append(f"{path} has changed since, so it stays")
    for directory in sorted(directories, reverse=True):  # each after what is in it
        if session_at(directory) not in staying:
            stayed += remove_if_empty(directory)
    return stayed


def remove_if_empty(path: Path) -> list[str]:
    """A directory of the run goes if there is nothing in it; why it stays."""
    try:
        disk.remove_directory(path)
    except OSError:
        if names_in(path):
            return [f"{path} has something new in it, so it stays"]
        if is_directory(path):
            raise
    return []
