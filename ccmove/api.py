"""The Python API: plan a move, do it, undo it. The command line is the same code.

    from ccmove.api import apply, plan_move, undo

    move = plan_move("/home/me/code/old", "/home/me/code/new")  # looks, changes nothing
    print(move.preview.changes)
    done = apply(move)  # all or nothing
    undo(done.backup)  # everything is back at the old path

Paths are `str` or `os.PathLike`; options are those of the command line, by name, such
as `only=True`. Whatever is in the way is a `CcmoveError` of `ccmove.errors`: `message`,
`hints`, `exit_code`. `to_json(done)` is the object of `--json`.
"""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ccmove.claude.layout import Layout, find_layout
from ccmove.commands import move as moving
from ccmove.commands import past
from ccmove.commands import undo as undoing
from ccmove.commands.failures import as_our_own
from ccmove.commands.options import MoveOptions, UndoOptions, checked
from ccmove.commands.paths import Pair, resolve_pair
from ccmove.errors import UsageError
from ccmove.inspect.findings import Examination, examine
from ccmove.inspect.survey import Project, Survey
from ccmove.report.json import to_json as to_json
from ccmove.report.result import Result
from ccmove.run import rollback
from ccmove.text import command_line

AnyPath = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Move:
    """A move that is asked for and not done yet, and what it would change."""

    state: Layout
    pair: Pair
    options: MoveOptions
    preview: Result

    def to_argv(self) -> list[str]:
        """The command that does it, as words."""
        words = self.options.to_argv()
        return ["ccmove", *words, "--", self.pair.old, self.pair.new]


def plan_move(
    old: AnyPath, new: AnyPath, *, config_dir: AnyPath | None = None, **options: Any
) -> Move:
    """Look at what a move would change."""
    wanted = checked(MoveOptions, options)
    with _state(config_dir) as layout:
        pair = resolve_pair(_path("OLD", old), _path("NEW", new))
        rollback.recover(layout, dry_run=True)
        preview = moving.move(layout, [pair], replace(wanted, dry_run=True))
        return Move(layout, pair, wanted, preview)


def apply(move: Move) -> Result:
    """Do it, or leave everything as it was.
    The state is looked at again, under the locks.
    """
    with _our_errors(move.state):
        return moving.move(move.state, [move.pair], move.options)


def undo(
    identifier: str | None = None,
    *,
    config_dir: AnyPath | None = None,
    **options: Any,
) -> Result:
    """Undo the newest run, or the one whose ID has this part.

    After a run that was interrupted it rolls that one back, and undoes no other.
    """
    wanted = checked(UndoOptions, options)
    if identifier is not None and not isinstance(identifier, str):
        raise UsageError(f"the ID is not a text: {identifier!r}")
    with _state(config_dir) as layout:
        return undoing.undo(layout, identifier, wanted)


def recover(*, config_dir: AnyPath | None = None) -> Result:
    """Roll back a run that was interrupted; nothing is wrong when there is none."""
    with _state(config_dir) as layout:
        return past.recover_run(layout)


def list_projects(*, config_dir: AnyPath | None = None) -> list[Project]:
    """Every project that Claude Code knows."""
    with _state(config_dir) as layout:
        return list(Survey(layout).projects)


def doctor(*, config_dir: AnyPath | None = None) -> Examination:
    """What is wrong, and the command that fixes each."""
    with _state(config_dir) as layout:
        return examine(Survey(layout), _command, ())


def _command(*words: str) -> str:
    return command_line(["ccmove", *words])


def _path(name: str, path: AnyPath) -> str:
    if not isinstance(path, str | os.PathLike):
        raise UsageError(f"{name} is not a path: {path!r}")
    text = os.fspath(path)
    if not isinstance(text, str):
        raise UsageError(f"{name} is not a text: {text!r}")
    return text


@contextlib.contextmanager
def _state(config_dir: AnyPath | None) -> Iterator[Layout]:
    """The state that is meant; what goes wrong with it is an error of ours."""
    given = None if config_dir is None else _path("config_dir", config_dir)
    if given == "":  # it would mean the usual one
        raise UsageError("config_dir is empty (an unset variable?)")
    with _our_errors(None):
        layout = find_layout(given, os.environ)
    with _our_errors(layout):
        yield layout


@contextlib.contextmanager
def _our_errors(layout: Layout | None) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        ours = as_our_own(error, layout)
        if ours is error:
            raise
        raise ours from error
