"""The Python API: plan a move, do it, take it back. The command line goes through it too.

    from ccmove import apply, plan_move, restore

    move = plan_move("/home/me/code/old", "/home/me/code/new")  # looks, changes nothing
    for change in move.preview.to_json()["changes"]:
        print(change["file"], change["before"], "->", change["after"])
    done = apply(move)  # all or nothing
    restore(done.backup)  # every byte as before

Whatever is in the way is a `CcmoveError` with `message`, `hint` and `exit_code`: `RefusedError`
when a decision or another process is in the way, `NothingKnownError` when there is nothing to do.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from ccmove.claude.layout import Layout, find_layout
from ccmove.cli.move import MoveOptions
from ccmove.cli.move import move as do_move
from ccmove.cli.resolve import Pair, resolve_pair
from ccmove.report.result import Result
from ccmove.run.transaction import Progress

DEFAULTS = MoveOptions()


class Move:
    """A move that is asked for and not done yet."""

    def __init__(
        self,
        state: Layout,
        pairs: Sequence[Pair],
        options: MoveOptions = DEFAULTS,
        progress: Progress | None = None,
    ) -> None:
        self.state = state
        self.pairs = tuple(pairs)
        self.options = options
        self.progress = progress

    @cached_property
    def preview(self) -> Result:
        """What would change. A read-only look."""
        looking = self.options._replace(dry_run=True)
        return do_move(self.state, list(self.pairs), looking, self.progress)


def find_state(config_dir: str | None = None) -> Layout:
    """Where Claude Code keeps its state: `config_dir`, else $CLAUDE_CONFIG_DIR, else ~/.claude."""
    return find_layout(config_dir, os.environ)


def plan_move(old: str, new: str, *, config_dir: str | None = None, **options: Any) -> Move:
    """Look at what a move from `old` to `new` would change; `options` are those of MoveOptions."""
    move = Move(find_state(config_dir), [resolve_pair(old, new)], MoveOptions(**options))
    _ = move.preview  # an error belongs here, not to whoever looks at the preview later
    return move


def apply(move: Move) -> Result:
    """Do it, or leave everything as it was. The state is looked at anew, under the locks."""
    doing = move.options._replace(dry_run=False)
    return do_move(move.state, list(move.pairs), doing, move.progress)


def restore(
    identifier: str | None = None,
    *,
    state: Layout | None = None,
    dry_run: bool = False,
    allow_live: bool = False,
    full: bool = False,
    progress: Progress | None = None,
) -> Result:
    """Undo a move or a restore; without an ID the newest move that still stands."""
    from ccmove.cli.restore import restore as do_restore

    return do_restore(
        state or find_state(),
        identifier,
        dry_run=dry_run,
        allow_live=allow_live,
        full=full,
        progress=progress,
    )
