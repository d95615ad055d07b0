"""OLD and NEW as typed -> the paths that the client would have written,
and may they be moved?
"""

import datetime
import difflib
import os
from collections.abc import Iterable
from typing import NamedTuple

from ccmove.claude.git import superproject
from ccmove.claude.layout import Layout
from ccmove.claude.live import LiveSession, live_sessions
from ccmove.claude.owners import folder_exists
from ccmove.claude.state import State
from ccmove.commands.options import Options
from ccmove.errors import (
    NothingKnownError,
    RefusedError,
    UsageError,
    again,
    look_at,
    run,
)
from ccmove.rewrite.pathmap import client_spelling, is_root, tail_below
from ccmove.rewrite.windows import is_windows

USUAL = run("ccmove", "OLD", "NEW")
WHAT_IS_KNOWN = run("ccmove", "list", text="all projects")
NoMove = NothingKnownError | RefusedError


class Pair(NamedTuple):
    """One move, spelled as the system does: the real paths, and OLD as it was typed."""

    old: str
    new: str
    typed_old: str
    where: str = ""  # the line of a list that it comes from

    @property
    def real(self) -> tuple[str, str]:
        return (client_spelling(self.old), client_spelling(self.new))

    @property
    def typed(self) -> tuple[str, str]:
        """With OLD as it was typed, in case only that is known."""
        return (client_spelling(self.typed_old), client_spelling(self.new))


def resolve_pair(old: str, new: str, where: str = "") -> Pair:
    """Absolute and real; OLD's missing tail stays as written."""
    for name, path in (("OLD", old), ("NEW", new)):
        if not path.strip():  # as a path it would mean the current folder
            raise UsageError(f"{name} is empty (an unset variable?)", USUAL)
        if "\0" in path:
            raise UsageError(f"{name} is not a path: {path!r}", USUAL)
    typed, typed_new = (
        p if _is_elsewhere(p) else os.path.abspath(p) for p in (old, new)
    )
    real, real_new = (
        p.rstrip("\\/") if _is_elsewhere(p) else os.path.realpath(p) for p in (old, new)
    )
    if real == real_new and typed != typed_new:  # OLD was left behind as a link to NEW
        real = os.path.join(
            os.path.realpath(os.path.dirname(typed)), os.path.basename(typed)
        )
        real = (
            typed if real == real_new else real
        )  # or a folder above, or another spelling
        if real == real_new and os.path.normcase(typed_new) == os.path.normcase(real):
            real_new = os.path.join(os.path.dirname(real), os.path.basename(typed_new))
    return Pair(real, real_new, typed, where)


def _is_elsewhere(path: str) -> bool:
    """Whether it is a path of Windows, and this is not: then it means what it says."""
    return os.sep == "/" and path[:1] != "/" and is_windows(path)


def check_pairs(pairs: list[Pair], *, move_folder: bool, skip: bool) -> None:
    """RefusedError for what can't be meant;
    `skip` lifts the questions about existence.
    """
    olds = [pair.real[0] for pair in pairs]
    for old in olds:
        if olds.count(old) > 1:
            raise UsageError(
                f"{old} would be moved twice", "remove one of the two lines"
            )
    for pair in pairs:
        try:
            _check_shape(pair, move_folder)
            if move_folder:
                _check_folder(pair, {other.old for other in pairs})
            elif not skip:
                _check_existence(pair, {other.new for other in pairs})
                _check_habit(pair)
        except RefusedError as error:
            raise _in_list(pair, error) from None


def _in_list(pair: Pair, error: NoMove) -> NoMove:
    """An error about one pair; in a list it names the line."""
    if not pair.where:
        return error
    message, hints = (
        f"{pair.where}: {error.message}",
        [h for h in error.hints if not h.instead],
    )
    return type(error)(message, "correct that line", *hints, details=error.details)


def _check_shape(pair: Pair, move_folder: bool) -> None:
    """RefusedError for paths that can't be meant, whatever is on disk."""
    if pair.real[0] == pair.real[1]:
        raise RefusedError(
            f"OLD and NEW are the same path for Claude Code: {pair.new}", USUAL
        )
    for path in (pair.old, pair.new):
        if is_root(path):
            raise RefusedError(f"{path or 'the root'} is not a project", USUAL)
    if move_folder and tail_below(pair.new, pair.old):
        raise RefusedError(
            f"{pair.new} is inside {pair.old}, which can't be moved into itself",
            "move the folder by hand in two steps, then run ccmove without "
            "--move-folder",
        )


def _check_folder(pair: Pair, olds: set[str]) -> None:
    """RefusedError unless the folder can be renamed from OLD to NEW."""
    if os.path.islink(pair.old) or not os.path.isdir(
        pair.old
    ):  # other links were seen through
        raise RefusedError(
            f"there is no folder {pair.old} to rename",
            again("leave --move-folder out", without=["--move-folder"]),
        )
    if os.path.lexists(pair.new) and pair.new not in olds and not _same_folder(pair):
        inside = _inside_new(pair)
        is_free = os.path.isdir(pair.new) and not os.path.lexists(inside)
        raise RefusedError(
            f"can't rename {pair.old} to {pair.new}: {pair.new} already exists",
            again("to move it into that folder", instead={pair.new: inside})
            if is_free
            else None,
            "choose another name, or move what is there out of the way",
        )
    if repository := superproject(pair.old):
        raise RefusedError(
            f"{pair.old} is a git submodule of {repository}",
            run("git", "-C", repository, "mv", pair.old, pair.new, text="rename it"),
            again("then", without=["--move-folder"]),
        )
    if os.path.islink(pair.typed_old):
        raise RefusedError(
            f"{pair.typed_old} is a symbolic link to {pair.old}",
            run("mv", pair.typed_old, pair.new, text="to rename the link alone"),
            again("to rename the real folder", instead={pair.typed_old: pair.old}),
        )


def _check_existence(pair: Pair, targets: set[str]) -> None:
    """RefusedError unless OLD is gone and NEW is there."""
    if os.path.lexists(pair.new) and not os.path.isdir(pair.new):
        raise RefusedError(f"{pair.new} is not a folder", look_at(pair.new))
    if os.path.realpath(pair.new) == pair.old:  # on Windows, in another case
        hint = again("to rename the folder", ["--move-folder"])
        raise RefusedError(f"the folder is still called {pair.old}", hint)
    # OLD may be there as a link to NEW, as NEW in another case, or as the end of
    # another move.
    is_left_behind = pair.old in targets or _same_folder(pair)
    there = (os.path.lexists(pair.old) and not is_left_behind, os.path.isdir(pair.new))
    if there == (False, True):
        return
    is_old, is_new = ("exists" if is_there else "does not exist" for is_there in there)
    what = (
        f"OLD should be gone and NEW should exist: {pair.old} {is_old}, {pair.new} "
        f"{is_new}"
    )
    hints = [again("check the spelling; if that is right", ["--skip-path-check"])]
    if there == (True, False):
        hints = [
            again("to rename the folder too", ["--move-folder"]),
            again(
                "if the two are swapped",
                instead={pair.typed_old: pair.new, pair.new: pair.old},
            ),
        ]
    raise RefusedError(what, *hints)


def _check_habit(pair: Pair) -> None:
    """`mv OLD NEW/` brings OLD into a folder that exists:
    then NEW is not the project.
    """
    inside = _inside_new(pair)
    new_is_one, inside_is_one = (
        os.path.lexists(f"{folder}/.git") for folder in (pair.new, inside)
    )
    if inside_is_one and not new_is_one and inside != pair.old:
        raise RefusedError(
            f"{pair.new} is not a repository, but {inside} is: mv probably moved the "
            "project there",
            again("if so", instead={pair.new: inside}),
            again(f"if it is really {pair.new}", ["--skip-path-check"]),
        )


def _inside_new(pair: Pair) -> str:
    return os.path.join(pair.new, os.path.basename(pair.old))


def _same_folder(pair: Pair) -> bool:
    try:
        return os.path.samefile(pair.old, pair.new)
    except OSError:
        return False


def refuse_live(layout: Layout, folders: list[str], options: Options) -> list[str]:
    """Refuse while a client runs in one of these folders;
    where that is allowed, say it.
    """
    sessions = live_sessions(layout, folders)
    lines = [_who_runs(session) for session in sessions]
    if options.allow_live or not sessions:
        return lines
    hints = [again("exit it (/exit), then")]
    if all(session.is_elsewhere for session in sessions):
        hints.append(again("only if it is not running any more", ["--allow-live"]))
    if options.dry_run:
        lines.append("the move will be refused until it is gone")
    raise RefusedError(lines[0], *hints, details=lines[1:])


def _who_runs(session: LiveSession) -> str:
    named = f", session {session.session}" if session.session else ""
    where = f"{session.folder} (pid {session.pid}{named})"
    if session.last_written is None:
        return f"Claude Code is running in {where}"
    written = datetime.datetime.fromtimestamp(session.last_written, datetime.UTC)
    return (
        f"Claude Code was started in {where} in another container or on another "
        "machine; whether "
        "it is still running can't be checked from here, last sign of it: "
        f"{written:%F %H:%M} UTC"
    )


def known_moves(layout: Layout, pairs: list[Pair]) -> tuple[tuple[str, str], ...]:
    """The real paths; for an OLD for which there is no data there,
    the path as typed.
    """
    known = (
        State(layout).known_paths() if any(p.typed != p.real for p in pairs) else set()
    )
    moves = []
    for pair in pairs:
        as_typed, as_real = (
            at_or_below(move[:1], known) for move in (pair.typed, pair.real)
        )
        moves.append(pair.typed if as_typed and not as_real else pair.real)
    return tuple(moves)


def nothing_known(layout: Layout, pair: Pair) -> NoMove:
    """There is nothing to move: another OLD was meant, or NEW has it already."""
    known, (old, new) = State(layout).known_paths(), pair.real
    unknown = _unknown(old, known, only_lost=True)
    if new in known and unknown.hints == (WHAT_IS_KNOWN,):
        what = f"{unknown.message}; it already has data for {new}"
        unknown = NothingKnownError(what, WHAT_IS_KNOWN)
    return _in_list(pair, unknown)


def find_subject(typed: str, names: Iterable[str], paths: Iterable[str]) -> set[str]:
    """Those of the names that are what was typed, or below it;
    else the nearest paths are named.
    """
    path = os.path.abspath(typed)
    names = list(names)
    found = at_or_below({typed or path, path, os.path.realpath(typed)}, names)
    if not found and os.sep not in typed:  # the bare name of a folder
        found = {name for name in names if os.path.basename(name) == typed}
    if not found:
        raise _unknown(path, paths)
    return found


def at_or_below(bases: Iterable[str], paths: Iterable[str]) -> set[str]:
    return {
        path for base in bases for path in paths if tail_below(path, base) is not None
    }


def _unknown(
    path: str, known: Iterable[str], *, only_lost: bool = False
) -> NothingKnownError:
    """Names the known paths whose last component is most like this one's,
    lost ones first.
    """
    names = {other: os.path.basename(other).lower() for other in known}
    wanted, most = os.path.basename(path).lower(), len(names) + 1
    alike = difflib.get_close_matches(wanted, {*names.values()}, most)
    near = [other for other in sorted(names) if names[other] in alike]
    near.sort(
        key=lambda other: (folder_exists(other) is not False, alike.index(names[other]))
    )
    hint = WHAT_IS_KNOWN
    if near and not (only_lost and folder_exists(near[0])):
        hint = again("did you mean", instead={path: near[0]})
    nearest = [f"known: {other}" for other in near[:3]]
    return NothingKnownError(
        f"Claude Code has no data for {path}", hint, details=nearest
    )
