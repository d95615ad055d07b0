"""Refuse what is bound to fail, while nothing has been touched; a preview does the same."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.reading import is_there, refuse_link
from ccmove.errors import RefusedError, again, look_at, run
from ccmove.plan.model import FolderHolds, Mkdir, Plan, Rename, Rmdir
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
    _refuse_two_file_systems(layout, plan)


def refuse_foreign_state(layout: Layout) -> None:
    """Another user's state would get files that its owner can't use, or hold traps of his."""
    for directory in (layout.config_dir, layout.own):
        if is_there(directory) and (owner := os.lstat(directory).st_uid) != os.geteuid():
            raise RefusedError(
                f"{directory} belongs to another user (uid {owner})",
                again("run it as that user", before=["sudo", "-u", f"#{owner}"]),
            )


# -- links -----------------------------------------------------------------------------------------


def refuse_links_of_ours(layout: Layout) -> None:
    """What is ours is never a link: someone else made it."""
    names = ("", "lock", "backups", "run", "unfinished", "journal.json", "journal.json.new")
    for name in names:
        refuse_link(layout.own / name)


def refuse_links(layout: Layout, plan: Plan) -> None:
    """No link at anything that the run makes, replaces or removes, nor on the way there."""
    refuse_links_of_ours(layout)
    for lock in layout.client_locks:
        refuse_link(lock)
    for path in dict.fromkeys(_directories(layout, plan)):
        refuse_link(path)
        if os.path.lexists(path) and not path.is_dir():
            raise RefusedError(f"{path} is not a directory", look_at(path))
    for operation in plan.operations:
        if isinstance(operation, (Rename, Mkdir, Rmdir)) and operation.path.parent.is_dir():
            _refuse_read_only(operation.path.parent)
    for write in plan.writes:
        refuse_link(write.path)


def _directories(layout: Layout, plan: Plan) -> Iterator[Path]:
    """Every directory of the state on the way to what the plan touches, the outer ones first."""
    touched = [write.path for write in plan.writes]
    for operation in plan.operations:
        if isinstance(operation, Rename):
            touched += [operation.path, operation.target]
        elif isinstance(operation, (Mkdir, Rmdir)):
            touched.append(operation.path)
    for parent in dict.fromkeys(path.parent for path in touched):
        if parent.is_relative_to(layout.config_dir):
            place = layout.config_dir
            for name in parent.relative_to(layout.config_dir).parts:
                place /= name
                yield place
    # Deeper down a link may be moved as what it is.
    yield from (path for path in touched if path.parent == layout.projects)


# -- files and room --------------------------------------------------------------------------------


def _refuse_foreign_file(path: Path) -> None:
    found = os.lstat(path)
    if found.st_uid != os.geteuid():
        raise RefusedError(f"{path} belongs to another user (uid {found.st_uid})", look_at(path))
    if not stat.S_ISREG(found.st_mode):
        raise RefusedError(f"{path} is not a regular file", look_at(path))
    _refuse_read_only(path.parent)


def _refuse_read_only(directory: Path) -> None:
    if os.access(directory, os.W_OK):
        return
    if os.statvfs(directory).f_flag & os.ST_RDONLY:
        raise RefusedError(
            f"{directory} is on a read-only file system",
            run("df", directory, text="see which"),
            again("make it writable, then run it again"),
        )
    raise RefusedError(f"{directory} can't be written to", look_at(directory))


def _refuse_full_disks(layout: Layout, plan: Plan) -> None:
    """Everything is staged before anything is replaced, so there must be room for all of it."""
    sizes: dict[int, int] = {}
    directories: dict[int, Path] = {}
    for path, size in _staged(layout, plan):
        parent = path.parent if path.parent.is_dir() else layout.config_dir
        device = os.stat(parent).st_dev
        directories.setdefault(device, parent)
        sizes[device] = sizes.get(device, 0) + size
    for device, directory in directories.items():
        _refuse_full_disk(directory, sizes[device] + ROOM_TO_SPARE)


def _staged(layout: Layout, plan: Plan) -> Iterator[tuple[Path, int]]:
    """What is written where: new contents, and in the backup the texts before and after."""
    for write in plan.writes:
        yield write.path, len(write.after)
        yield layout.own, len(write.after) + len(write.before or b"")
    if plan.history is not None:
        yield plan.history.path, plan.history.scan.new_size()


def _refuse_full_disk(directory: Path, size: int) -> None:
    space = os.statvfs(directory)
    free = space.f_bavail * space.f_frsize
    hints = run("df", "-h", directory, text="what is free"), again("make room, then run it again")
    if free < size:
        what = f"{directory}: {readable_size(free)} free, {readable_size(size)} needed"
        raise RefusedError(what, *hints)
    if space.f_files and space.f_favail < FILES_TO_SPARE:  # some file systems do not count them
        raise RefusedError(f"{directory}: no more files can be made there", *hints)


# -- file systems ----------------------------------------------------------------------------------


def _refuse_two_file_systems(layout: Layout, plan: Plan) -> None:
    home = os.stat(layout.own if layout.own.is_dir() else layout.config_dir).st_dev
    coming: list[Path] = []  # project folders, at their new places
    for operation in plan.operations:
        if isinstance(operation, (Rename, Mkdir, Rmdir)):
            path = operation.path if os.path.lexists(operation.path) else operation.path.parent
            if not os.path.lexists(path):
                continue
            expected: int | None = home
            is_folder = isinstance(operation, Rename) and isinstance(operation.holds, FolderHolds)
            if isinstance(operation, Rename) and is_folder:
                expected = _device_of_folder(operation.target, coming)
            if expected is not None and os.lstat(path).st_dev != expected:
                raise RefusedError(
                    f"{path} is on another file system than where it is to go",
                    "move the folder there yourself, then leave --move-folder out"
                    if is_folder
                    else run("df", path, text="see where it is"),
                )


def _device_of_folder(target: Path, coming: list[Path]) -> int | None:
    """The file system that a project folder goes to; None inside one that is itself moved."""
    if any(target.is_relative_to(place) for place in coming):
        return None
    coming.append(target)
    if not target.parent.is_dir():
        raise RefusedError(f"{target.parent} does not exist", run("mkdir", "-p", target.parent))
    return os.stat(target.parent).st_dev
