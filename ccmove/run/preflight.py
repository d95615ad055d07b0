"""Refuse what is bound to fail, while nothing has been touched;
a preview does the same.
"""

import contextlib
import os
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.reading import directory, is_there, refuse_link
from ccmove.errors import RefusedError
from ccmove.hints import again, look_at, to_type
from ccmove.plan.model import FolderHolds, Mkdir, Plan, Rename
from ccmove.run import disk
from ccmove.system import has_room, is_foreign, mount_of
from ccmove.text import readable_size

ROOM_TO_SPARE = 1 << 20
# Journal, manifest, saved texts, locks and the directories of a backup.
FILES_TO_SPARE = 24


def preflight(layout: Layout, plan: Plan) -> None:
    """Every check that needs no writing."""
    refuse_foreign_state(layout)
    written = [write.path for write in plan.writes]
    if plan.history is not None:
        written.append(plan.history.path)
    for path in written:
        _refuse_foreign(path)
        disk.refuse_open(path)
    _refuse_links(layout, plan, written)
    _refuse_full_disks(layout, plan)
    _refuse_two_file_systems(plan)


def refuse_foreign_state(layout: Layout) -> None:
    """Another user's state would get files that its owner can't use, or hold traps of
    his.

    What is ours is never a link: someone else made it.
    """
    own = layout.ccmove
    for place in (layout.config_dir, layout.projects, own):
        _refuse_foreign(place)
    for place in (own, layout.lock, layout.backups, layout.run_dir, layout.unfinished):
        refuse_link(place)


def _refuse_foreign(path: Path) -> None:
    if not is_there(path):
        return
    found = os.lstat(path)
    if is_foreign(found):
        owner = f"{path} belongs to another user (uid {found.st_uid})"
        raise RefusedError(owner, look_at(path), again("as that user"))


def _refuse_links(layout: Layout, plan: Plan, written: list[Path]) -> None:
    """No link at anything that the run makes,
    replaces or removes, nor on the way there.
    """
    moved: list[Path] = []
    for op in plan.operations:
        if isinstance(op, Rename | Mkdir):
            moved.append(op.path)
        if isinstance(op, Rename):
            moved.append(op.target)
    parents = {path.parent for path in (*written, *moved)}
    for parent in sorted(parents):
        _refuse_closed(parent)
    for path in (*layout.client_locks, *written):
        refuse_link(path)
    for path in moved:
        # Deeper down a link may be moved as what it is.
        if path.parent == layout.projects:
            refuse_link(path)


def _refuse_closed(parent: Path) -> None:
    """A directory that can't be changed, or is reached through a link.

    One that is not there yet is made.
    """
    with contextlib.suppress(FileNotFoundError), directory(parent):
        if not os.access(parent, os.W_OK):
            why = "no permission, or a read-only file system"
            what = f"{parent} can't be written to: {why}"
            raise RefusedError(what, look_at(parent))


def _refuse_full_disks(layout: Layout, plan: Plan) -> None:
    """There must be room on each disk for all that is staged there: everything is,
    before anything is replaced.
    """
    parents: dict[int, Path] = {}  # device -> a directory there
    needed: Counter[int] = Counter()  # device -> bytes
    for path, size in _new_files(layout, plan):
        parent = _nearest(path.parent)
        status = os.stat(parent)
        device = status.st_dev
        parents.setdefault(device, parent)
        needed[device] += size
    files = len(plan.notes_moved)
    for device, parent in parents.items():
        size = needed[device]
        refuse_full_disk(parent, size, files)


def refuse_full_disk(place: Path, size: int, files: int) -> None:
    """There must be room for so many more bytes in so many more files."""
    parent = _nearest(place)
    size += ROOM_TO_SPARE
    if not has_room(parent, size, files + FILES_TO_SPARE):
        room = f"not enough room for {readable_size(size)} in new files"
        raise RefusedError(
            f"{parent}: {room}",
            to_type("df", "-h", parent, text="what is free"),
            again("free some space, then try again"),
        )


def _new_files(layout: Layout, plan: Plan) -> Iterator[tuple[Path, int]]:
    """New contents beside the files, and in the backup the texts before and after."""
    own = layout.ccmove
    for write in plan.writes:
        size = len(write.after)
        yield write.path, size
        yield own, size
        yield own, len(write.before or b"")
    for note in plan.notes_moved:
        yield own, len(note.data)
    history = plan.history
    if history is not None:
        yield history.path, history.scan.new_size()


def _refuse_two_file_systems(plan: Plan) -> None:
    """A rename works inside one file system, and one mount of it, only."""
    coming: list[Path] = []  # project folders, at their new places
    mount = cache(mount_of)
    for operation in plan.operations:
        if not isinstance(operation, Rename):
            continue
        path = operation.path
        target = operation.target
        is_folder = isinstance(operation.holds, FolderHolds)
        if is_folder:
            if not target.parent.is_dir() and not any(
                map(target.is_relative_to, coming)
            ):
                mkdir = to_type("mkdir", "-p", target.parent)
                raise RefusedError(f"{target.parent} does not exist", mkdir)
            coming.append(target)
        here = _nearest(path)
        there = _nearest(target.parent)
        is_one = os.lstat(here).st_dev == os.lstat(there).st_dev
        if not is_one or mount(_nearest(path.parent)) != mount(there):
            what = "file system"
            if is_one:
                what = "mount"
            by_hand = (
                "move the folder there yourself, then run ccmove without --move-folder"
            )
            hint = by_hand if is_folder else to_type("df", path, text="see where it is")
            raise RefusedError(
                f"{path} is on a different {what} than its new place", hint
            )


def _nearest(path: Path) -> Path:
    """The path, or the nearest place above it that is there by now."""
    while not is_there(path):
        path = path.parent
    return path
