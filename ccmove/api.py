"""The Python API: where a project is kept; plan a move, do it, undo it. The command
line is the same code.

    from ccmove.api import apply, plan_move, undo, where

    print(where("/home/me/code/old").directory)
    move = plan_move("/home/me/code/old", "/home/me/code/new")  # looks, changes nothing
    print(move.preview.changes)
    done = apply(move)  # all or nothing
    undo(done.backup)  # everything is back at the old path
    pack("/home/me/code/old", "old.tar.gz")  # for another machine
    unpack("old.tar.gz", "/home/me/code/new")  # there

Paths are `str` or `os.PathLike`; options are those of the command line, by name, such
as `only=True`. Whatever is in the way is a `CcmoveError` of `ccmove.errors`: `message`,
`hints`, `exit_code`. `to_json(done)` is the object of `--json`.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ccmove.claude.layout import Layout, find_layout
from ccmove.commands import move as moving
from ccmove.commands import pack as packing
from ccmove.commands import past
from ccmove.commands import unpack as unpacking
from ccmove.commands.failures import as_ours
from ccmove.commands.options import (
    MoveOptions,
    PackOptions,
    RecoverOptions,
    UndoOptions,
    UnpackOptions,
    check_flags,
)
from ccmove.commands.paths import Pair, resolve_pair, resolve_path
from ccmove.errors import UsageError
from ccmove.hints import Asked
from ccmove.inspect.findings import Examination as Examination
from ccmove.inspect.findings import examine
from ccmove.inspect.survey import Survey
from ccmove.inspect.where import Whereabouts as Whereabouts
from ccmove.inspect.where import find_whereabouts
from ccmove.report.json import to_json as to_json
from ccmove.report.result import Result as Result
from ccmove.run import rollback
from ccmove.transfer.packed import Packed as Packed

AnyPath = str | os.PathLike[str]
# Of another machine (which are paths, too: no type says so of keys), and here.
Folders = Mapping[Any, AnyPath]
Kind = TypeVar("Kind", bound=Asked)


@dataclass(frozen=True, slots=True)
class Move:
    """A move that is asked for and not done yet, and what it would change."""

    state: Layout
    pair: Pair
    options: MoveOptions
    preview: Result

    def to_argv(self) -> list[str]:
        """The command that does it, as words."""
        return ["ccmove", *self.options.to_argv()]


def plan_move(
    old: AnyPath,
    new: AnyPath,
    *,
    config_dir: AnyPath | None = None,
    **flags: bool,
) -> Move:
    """Look at what a move would change."""
    words = _path("OLD", old), _path("NEW", new)
    with _asked(MoveOptions(), config_dir, flags, *words) as (layout, options):
        pair = resolve_pair(*words)
        rollback.recover(layout, dry_run=True)
        as_preview = replace(options, dry_run=True)
        preview = moving.move(layout, [pair], as_preview)
        return Move(layout, pair, options, preview)


def apply(move: Move) -> Result:
    """Do it, or leave everything as it was.
    The state is looked at again, under the locks.
    """
    if not isinstance(move, Move):
        raise UsageError(f"move is not what plan_move returns: {move!r}")
    with _our_errors(move.state):
        return moving.move(move.state, [move.pair], move.options)


def undo(
    identifier: str | None = None,
    *,
    config_dir: AnyPath | None = None,
    **flags: bool,
) -> Result:
    """Undo the newest run, or the one whose ID has this part.

    After a run that was interrupted it rolls that one back, and undoes no other.
    """
    if not isinstance(identifier, str | None):
        raise UsageError(f"the ID is not a text: {identifier!r}")
    with _asked(UndoOptions(), config_dir, flags, identifier) as (layout, options):
        return past.undo(layout, options)


def pack(
    path: AnyPath | None,
    file: AnyPath,
    *,
    sessions: Iterable[str] = (),
    config_dir: AnyPath | None = None,
    **flags: bool,
) -> Packed:
    """Pack what is kept of a project into this file; all of it, or these sessions.

    With `all=True` there is no path: it is None then.
    """
    word = _path_if_given("PATH", path)
    named = PackOptions(output=_path("FILE", file), session=_identifiers(sessions))
    with _asked(named, config_dir, flags, word) as (layout, options):
        packing.check_words(options)
        return packing.pack(layout, options)


def unpack(
    file: AnyPath,
    new: AnyPath | None = None,
    *,
    mapped: Folders | None = None,
    config_dir: AnyPath | None = None,
    **flags: bool,
) -> Result:
    """Unpack an archive; `mapped` says where folders of the other machine are here."""
    words = _path("FILE", file), _path_if_given("NEW", new)
    named = UnpackOptions(map=_pairs(mapped or {}))
    with _asked(named, config_dir, flags, *words) as (layout, options):
        unpacking.check_words(options)
        rolled_back = rollback.recover(layout, dry_run=options.dry_run)
        return unpacking.unpack(layout, options, rolled_back=rolled_back)


def where(path: AnyPath, *, config_dir: AnyPath | None = None) -> Whereabouts:
    """Where Claude Code keeps this path, or would: `is_known` says which."""
    text = _path("PATH", path)
    with _state(config_dir) as layout:
        return find_whereabouts(layout, *resolve_path(text))


def recover(*, config_dir: AnyPath | None = None, **flags: bool) -> Result:
    """Roll back a run that was interrupted; nothing is wrong when there is none."""
    with _asked(RecoverOptions(), config_dir, flags) as (layout, options):
        return past.recover_run(layout, set_aside=options.set_aside)


def doctor(*, config_dir: AnyPath | None = None) -> Examination:
    """What is wrong, and the command that fixes each."""
    with _state(config_dir) as layout:
        return examine(Survey(layout))


# -- what is asked for


@contextlib.contextmanager
def _asked(
    options: Kind,
    config_dir: AnyPath | None,
    flags: Mapping[str, bool],
    *words: str | None,
) -> Iterator[tuple[Layout, Kind]]:
    """The state that is meant, and these options with what was given; UsageError for
    what is not one of them.
    """
    check_flags(options, flags)
    given = replace(
        options,
        command=options.command,
        arguments=tuple(word for word in words if word is not None),
        config_dir=_path_if_given("config_dir", config_dir),
        **flags,
    )
    with _state(config_dir) as layout:
        yield layout, given


def _path(name: str, path: object) -> str:
    """A path as text; UsageError for what the system would not take for one."""
    text: object = path
    if isinstance(path, os.PathLike):
        text = os.fspath(path)
    if text == "":  # it would mean the usual one
        raise UsageError(f"{name} is empty (an unset variable?)")
    with contextlib.suppress(UnicodeEncodeError):
        if isinstance(text, str) and b"\0" not in os.fsencode(text):
            return text
    raise UsageError(f"{name} is not a path: {path!r}")


def _path_if_given(name: str, path: AnyPath | None) -> str | None:
    if path is None:
        return None
    return _path(name, path)


def _identifiers(sessions: object) -> tuple[str, ...]:
    """The IDs; one text is not a row of letters."""
    if isinstance(sessions, Iterable) and not isinstance(sessions, str):
        identifiers = tuple(sessions)
        if all(isinstance(each, str) for each in identifiers):
            return identifiers
    raise UsageError(f"sessions is not a list of IDs: {sessions!r}")


def _pairs(mapped: Folders) -> tuple[str, ...]:
    if not isinstance(mapped, Mapping):
        raise UsageError(f"mapped does not say of folders where they are: {mapped!r}")
    pairs = mapped.items()
    return tuple(f"{_path('FROM', old)}={_path('TO', new)}" for old, new in pairs)


@contextlib.contextmanager
def _state(config_dir: AnyPath | None) -> Iterator[Layout]:
    """The state that is meant; what goes wrong with it is an error of ours."""
    with _our_errors(None):
        layout = find_layout(_path_if_given("config_dir", config_dir), os.environ)
    with _our_errors(layout):
        yield layout


@contextlib.contextmanager
def _our_errors(layout: Layout | None) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        ours = as_ours(error, layout)
        if ours is error:
            raise
        raise ours from error
