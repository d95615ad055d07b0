"""Refuse what is bound to fail, while nothing has been touched; a preview does the same."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.reading import is_there, refuse_link
from ccmove.errors import RefusedError, again, look_at, run
from ccmove.plan.model import FolderHolds, Mkdir, Plan, Rename
from ccmove.system import free_room, is_foreign, is_read_only
from ccmove.text import readable_size

ROOM_TO_SPARE = 1 << 20
FILES_TO_SPARE = 24  # journal, manifest, saved texts, locks and the directories of a backup


def preflight(layout: Layout, plan: Plan) -> None:
    """Every check that needs no writing."""
    refuse_foreign_state(layout)
    refuse_links(layout, plan)
    for write in plan.writes:
        if write.before is not None:
            _refuse_foreign_file(write.path)
    if plan.history is not None:
        _refuse_foreign_file(plan.history.path)
    _refuse_full_disks(layout, plan)
    _refuse_two_file_systems(plan)


def refuse_foreign_state(layout: Layout) -> None:
    """Another user's state would get files that its owner can't use, or hold traps of his."""
    for directory in (layout.config_dir, layout.own):
        if is_there(directory) and is_foreign(found := os.lstat(directory)):
            raise RefusedError(
                f"{directory} belongs to another user (uid {found.st_uid})",
                again("run it as that user", before=["sudo", "-u", f"#{found.st_uid}"]),
            )


def refuse_links_of_ours(layout: Layout) -> None:
    """What is ours is never a link: someone else made it."""
    names = ("", "lock", "backups", "run", "unfinished", "journal.json")
    for name in names:
        refuse_link(layout.own / name)


def refuse_links(layout: Layout, plan: Plan) -> None:
    """No link at anything that the run makes, replaces or removes, nor on the way there."""
    refuse_links_of_ours(layout)
    for path in (*layout.client_locks, *(write.path for write in plan.writes)):
        refuse_link(path)
    touched = [write.path for write in plan.writes]
    for operation in plan.operations:
        if isinstance(operation, (Rename, Mkdir)):
            touched.append(operation.path)
            if operation.path.parent.is_dir():
                _refuse_read_only(operation.path.parent)
        if isinstance(operation, Rename):
            touched.append(operation.target)
    for path in dict.fromkeys(_directories(layout, touched)):
        refuse_link(path)
        if os.path.lexists(path) and not path.is_dir():
            raise RefusedError(f"{path} is not a directory", look_at(path))


def _directories(layout: Layout, touched: list[Path]) -> Iterator[Path]:
    """Every directory of the state on the way to what is touched, the outer ones first."""
    for parent in dict.fromkeys(path.parent for path in touched):
        above = [parent, *parent.parents]
        if layout.config_dir in above:
            yield from reversed(above[: above.index(layout.config_dir)])
    # Deeper down a link may be moved as what it is.
    yield from (path for path in touched if path.parent == layout.projects)


def _refuse_foreign_file(path: Path) -> None:
    found = os.lstat(path)
    if is_foreign(found):
        raise RefusedError(f"{path} belongs to another user (uid {found.st_uid})", look_at(path))
    if not stat.S_ISREG(found.st_mode):
        raise RefusedError(f"{path} is not a regular file", look_at(path))
    _refuse_read_only(path.parent)


def _refuse_read_only(directory: Path) -> None:
    if os.access(directory, os.W_OK):
        return
    if is_read_only(directory):
        raise RefusedError(
            f"{directory} is on a read-only file system",
            run("df", directory, text="see which"),
            again("make it writable, then try again"),
        )
    raise RefusedError(f"{directory} can't be written to", look_at(directory))


def _refuse_full_disks(layout: Layout, plan: Plan) -> None:
    """Everything is staged before anything is replaced, so there must be room for all of it:
    new contents beside the files, and in the backup the texts before and after."""
    needed: dict[int, int] = {}
    directories: dict[int, Path] = {}
    staged = [(write.path, len(write.after)) for write in plan.writes]
    staged += [(layout.own, len(write.after) + len(write.before or b"")) for write in plan.writes]
    if plan.history is not None:
        staged.append((plan.history.path, plan.history.scan.new_size()))
    for path, size in staged:
        parent = path.parent if path.parent.is_dir() else layout.config_dir
        device = os.stat(parent).st_dev
        directories.setdefault(device, parent)
        needed[device] = needed.get(device, ROOM_TO_SPARE) + size
    for device, directory in directories.items():
        free, files = free_room(directory)
        what = None
        if free < needed[device]:
            amount = f"{readable_size(free)} free, {readable_size(needed[device])} needed"
            what = f"{directory}: {amount}"
        elif files is not None and files < FILES_TO_SPARE:
            what = f"{directory}: no more files can be created there"
        if what is not None:
            free_space = run("df", "-h", directory, text="what is free")
            raise RefusedError(what, free_space, again("free some space, then try again"))


def _refuse_two_file_systems(plan: Plan) -> None:
    """A rename works inside one file system only."""
    coming: list[Path] = []  # project folders, at their new places
    for operation in plan.operations:
        if not isinstance(operation, Rename):
            continue
        path, target = operation.path, operation.target
        is_folder = isinstance(operation.holds, FolderHolds)
        if is_folder:
            if not target.parent.is_dir() and not any(map(target.is_relative_to, coming)):
                mkdir = run("mkdir", "-p", target.parent)
                raise RefusedError(f"{target.parent} does not exist", mkdir)
            coming.append(target)
        if _device(path) != _device(target.parent):
            raise RefusedError(
                f"{path} is on a different file system than its new place",
                "move the folder there yourself, then run ccmove without --move-folder"
                if is_folder
                else run("df", path, text="see where it is"),
            )


def _device(path: Path) -> int:
    """The file system of a path, or of the nearest place above it that is there by now."""
    while not is_there(path):
        path = path.parent
    return os.lstat(path).st_dev
