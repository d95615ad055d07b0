"""Refuse what is bound to fail, while nothing has been touched."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ccmove.errors import RefusedError
from ccmove.layout import Layout
from ccmove.plan import Plan

ROOM_TO_SPARE = 1 << 20


def refuse_foreign_state(layout: Layout) -> None:
    """Another user's state would get files that its owner can't use."""
    owner = os.stat(layout.config_dir).st_uid
    if owner != os.geteuid():
        raise RefusedError(
            f"{layout.config_dir} belongs to another user (uid {owner})",
            "run ccmove as that user",
        )


def preflight(layout: Layout, plan: Plan) -> None:
    """Refuse what is bound to fail, while nothing has been touched."""
    staged: dict[Path, int] = {}
    for change in plan.files:
        if not change.is_new:
            _refuse_foreign_file(change.path)
        parent = change.path.parent if change.path.parent.is_dir() else layout.config_dir
        staged[parent] = staged.get(parent, 0) + len(change.after or b"")
    if plan.history is not None:
        _refuse_foreign_file(plan.history.path)
        parent = plan.history.path.parent
        staged[parent] = staged.get(parent, 0) + sum(p.scan.size for p in plan.history.parts)
    for parent, size in staged.items():
        _refuse_full_disk(parent, size)
    _refuse_two_file_systems(layout, plan)


def _refuse_foreign_file(path: Path) -> None:
    found = os.lstat(path)
    if found.st_uid != os.geteuid():
        raise RefusedError(f"{path} belongs to another user (uid {found.st_uid})")
    if not stat.S_ISREG(found.st_mode):
        raise RefusedError(f"{path} is not a regular file")
    if not os.access(path.parent, os.W_OK):
        raise RefusedError(f"{path.parent} can't be written to", f"chmod u+w {path.parent}")


def _refuse_full_disk(directory: Path, size: int) -> None:
    space = os.statvfs(directory)
    free = space.f_bavail * space.f_frsize
    if free < size + ROOM_TO_SPARE:
        raise RefusedError(
            f"{directory}: {free:,} bytes are free, {size + ROOM_TO_SPARE:,} are needed",
            "make room, then run the command again",
        )


def _refuse_two_file_systems(layout: Layout, plan: Plan) -> None:
    home = os.stat(layout.own if layout.own.is_dir() else layout.config_dir).st_dev
    for step in plan.steps:
        existing = step.path if os.path.lexists(step.path) else step.path.parent
        if not os.path.lexists(existing):
            continue
        device = os.lstat(existing).st_dev
        expected = home
        is_folder = not step.path.is_relative_to(layout.config_dir)  # of a project itself
        if is_folder and step.target is not None:
            if not step.target.parent.is_dir():
                raise RefusedError(
                    f"{step.target.parent} does not exist", f"mkdir -p {step.target.parent}"
                )
            expected = os.stat(step.target.parent).st_dev
        if device != expected:
            raise RefusedError(
                f"{existing} is on another file system than where it is to go",
                "move it there yourself first" if is_folder else None,
            )
