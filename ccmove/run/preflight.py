"""Refuse what is bound to fail, while nothing has been touched."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.nofollow import is_there
from ccmove.claude.reading import refuse_link
from ccmove.errors import RefusedError, again, look_at, run
from ccmove.plan.model import Plan
from ccmove.text import readable_size as amount

ROOM_TO_SPARE = 1 << 20
FILES_TO_SPARE = 16  # journal, manifest, locks and the directories of a backup


def refuse_foreign_state(layout: Layout) -> None:
    """Another user's state would get files that its owner can't use, or hold traps of his."""
    for directory in (layout.config_dir, layout.own):
        if is_there(directory) and (owner := os.lstat(directory).st_uid) != os.geteuid():
            raise RefusedError(
                f"{directory} belongs to another user (uid {owner})",
                again("run it as that user", before=["sudo", "-u", f"#{owner}"]),
            )


def refuse_links_of_ours(layout: Layout) -> None:
    """What is ours is never a link: someone else made it."""
    own = layout.own
    for name in ("", "lock", "backups", "work", "journal.json", "journal.json.new"):
        refuse_link(own / name)


def refuse_links(layout: Layout, plan: Plan) -> None:
    """No link at anything that the run makes, replaces or removes, nor on the way there."""
    refuse_links_of_ours(layout)
    for lock in layout.client_locks:
        refuse_link(lock)
    for path in dict.fromkeys(_directories(layout, plan)):
        refuse_link(path)
        if os.path.lexists(path) and not path.is_dir():
            raise RefusedError(f"{path} is not a directory", look_at(path))
    for change in plan.files:
        refuse_link(change.path)


def _directories(layout: Layout, plan: Plan) -> Iterator[Path]:
    """Every directory of the state on the way to what the plan touches, the outer ones first."""
    touched = [change.path for change in plan.files]
    touched += [path for step in plan.steps for path in (step.path, step.target) if path]
    for parent in dict.fromkeys(path.parent for path in touched):
        if parent.is_relative_to(layout.config_dir):
            place = layout.config_dir
            for name in parent.relative_to(layout.config_dir).parts:
                place /= name
                yield place
    # Deeper down a link may be moved as what it is.
    yield from (path for path in touched if path.parent == layout.projects)


def preflight(layout: Layout, plan: Plan) -> None:
    """Refuse what is bound to fail, while nothing has been touched."""
    refuse_links(layout, plan)
    for change in plan.files:
        if not change.is_new:
            _refuse_foreign_file(change.path)
    if plan.history is not None:
        _refuse_foreign_file(plan.history.path)
    _refuse_full_disks(layout, plan)
    _refuse_two_file_systems(layout, plan)


def _refuse_foreign_file(path: Path) -> None:
    found = os.lstat(path)
    if found.st_uid != os.geteuid():
        raise RefusedError(f"{path} belongs to another user (uid {found.st_uid})", look_at(path))
    if not stat.S_ISREG(found.st_mode):
        raise RefusedError(f"{path} is not a regular file", look_at(path))
    if not os.access(path.parent, os.W_OK):
        if os.statvfs(path.parent).f_flag & os.ST_RDONLY:
            raise RefusedError(
                f"{path.parent} is on a read-only file system",
                run("df", path.parent, text="see which"),
                again("make it writable, then run it again"),
            )
        raise RefusedError(f"{path.parent} can't be written to", look_at(path.parent))


def _refuse_full_disks(layout: Layout, plan: Plan) -> None:
    """Everything is staged before anything is replaced, so there must be room for all of it."""
    sizes: dict[int, int] = {}
    directories: dict[int, Path] = {}
    for path, size in _staged(plan):
        parent = path.parent if path.parent.is_dir() else layout.config_dir
        device = os.stat(parent).st_dev
        directories.setdefault(device, parent)
        sizes[device] = sizes.get(device, 0) + size
    for device, directory in directories.items():
        _refuse_full_disk(directory, sizes[device] + ROOM_TO_SPARE)


def _staged(plan: Plan) -> Iterator[tuple[Path, int]]:
    for change in plan.files:
        yield change.path, len(change.after or b"")
    if plan.history is not None:
        yield plan.history.path, sum(part.scan.size for part in plan.history.parts)


def _refuse_full_disk(directory: Path, size: int) -> None:
    space = os.statvfs(directory)
    free = space.f_bavail * space.f_frsize
    hints = (
        run("df", "-h", directory, text="what is free"),
        again("make room, then run it again"),
    )
    if free < size:
        raise RefusedError(f"{directory}: {amount(free)} free, {amount(size)} needed", *hints)
    if space.f_files and space.f_favail < FILES_TO_SPARE:  # some file systems do not count them
        raise RefusedError(f"{directory}: no more files can be made there", *hints)


def _refuse_two_file_systems(layout: Layout, plan: Plan) -> None:
    home = os.stat(layout.own if layout.own.is_dir() else layout.config_dir).st_dev
    coming: list[Path] = []  # folders of projects
    for step in plan.steps:
        existing = step.path if os.path.lexists(step.path) else step.path.parent
        if not os.path.lexists(existing):
            continue
        device = os.lstat(existing).st_dev
        expected = home
        is_folder = not step.path.is_relative_to(layout.config_dir)  # of a project itself
        if is_folder and step.target is not None:
            if any(step.target.is_relative_to(place) for place in coming):
                continue  # it goes into a folder that will be there by then
            coming.append(step.target)
            if not step.target.parent.is_dir():
                raise RefusedError(
                    f"{step.target.parent} does not exist",
                    run("mkdir", "-p", step.target.parent),
                )
            expected = os.stat(step.target.parent).st_dev
        if device != expected:
            raise RefusedError(
                f"{existing} is on another file system than where it is to go",
                "move the folder there yourself, then leave --move-folder out"
                if is_folder
                else run("df", existing, text="see where it is"),
            )
