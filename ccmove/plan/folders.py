"""Renaming the projects' own folders, for `--move-folder` and its undoing."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ccmove.errors import RefusedError, again
from ccmove.plan.arrange import Move, arrange
from ccmove.plan.model import PARKED
from ccmove.plan.tree import Future


def rename_folders(future: Future, moves: Iterable[Move]) -> None:
    """Plan the renames; RefusedError when something is at the new place. Nothing is united here."""
    parked = 0

    def park(path: Path) -> Path:
        nonlocal parked
        aside = path.with_name(f"{PARKED}{parked}")
        parked += 1
        future.rename(path, aside)
        return aside

    def rename(path: Path, target: Path) -> None:
        occupant = future.now(target)
        if occupant is not None and not os.path.samefile(occupant, future.now(path) or path):
            raise RefusedError(
                f"{target} exists, so {path} can't be renamed to it",
                again("move one of the two away, then run it again"),
            )
        future.rename(path, target)

    arrange(moves, rename, park)
