"""The Python API: plan a move, do it, undo it.

    from ccmove.api import apply, plan_move, restore

    move = plan_move("/home/me/code/old", "/home/me/code/new")  # looks, changes nothing
    print(move.preview.to_json()["changes"])
    done = apply(move)  # all or nothing
    restore(done.backup)  # the original bytes

Whatever is in the way is a `CcmoveError` of `ccmove.errors`: `message`, `hints`,
`exit_code`.
"""

import os
from dataclasses import dataclass
from typing import Any

from ccmove.claude.layout import Layout, find_layout
from ccmove.cli import backups
from ccmove.cli import move as moving
from ccmove.cli.resolve import Pair, resolve_pair
from ccmove.report.result import Result
from ccmove.run.rollback import recover


@dataclass(frozen=True, slots=True)
class Move:
    """A move that is asked for and not done yet, and what it would change."""

    state: Layout
    pair: Pair
    options: dict[str, Any]
    preview: Result


def plan_move(
    old: str, new: str, *, config_dir: str | None = None, **options: Any
) -> Move:
    """Look at what a move would change; options as on the command line,
    such as `only=True`.
    """
    state, pair = find_layout(config_dir, os.environ), resolve_pair(old, new)
    recover(state, dry_run=True)
    return Move(
        state, pair, options, moving.move(state, [pair], dry_run=True, **options)
    )


def apply(move: Move) -> Result:
    """Do it, or leave everything as it was.
    The state is looked at again, under the locks.
    """
    return moving.move(move.state, [move.pair], **move.options)


def restore(
    identifier: str | None = None, *, config_dir: str | None = None, **options: Any
) -> Result:
    """Undo a move or a restore, by default the newest;
    options: dry_run, allow_live, full.
    """
    return backups.restore(find_layout(config_dir, os.environ), identifier, **options)
