"""OLD and NEW as typed -> the paths that the client would have written, and may they be moved?"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ccmove.claude.layout import Layout
from ccmove.claude.live import live_sessions
from ccmove.claude.state import State
from ccmove.errors import Hint, NothingKnownError, RefusedError, UsageError, again, look_at, run
from ccmove.rewrite.pathmap import client_spelling, is_root, is_windows, tail_below

USUAL = run("ccmove", "OLD", "NEW")
WHAT_IS_KNOWN = run("ccmove", "list", text="what is known")


class Pair(NamedTuple):
    """One move, spelled as the system does: the real paths, and OLD as it was typed."""

    old: str
    new: str
    typed_old: str

    @property
    def real(self) -> tuple[str, str]:
        """The two as the client writes them down."""
        return (client_spelling(self.old), client_spelling(self.new))

    @property
    def typed(self) -> tuple[str, str]:
        """With OLD as it was typed, in case only that is known."""
        return (client_spelling(self.typed_old), client_spelling(self.new))


def resolve_pair(old: str, new: str) -> Pair:
    """Absolute and real; OLD's missing tail stays as written."""
    for name, path in (("OLD", old), ("NEW", new)):
        if not path.strip() or "\0" in path:
            # An unset variable in a script; as a path it would mean the current folder.
            raise UsageError(f"{name} is no path: {path!r}", USUAL)
    typed, typed_new = (p if is_windows(p) else os.path.abspath(p) for p in (old, new))
    real, real_new = (p.rstrip("\\/") if is_windows(p) else os.path.realpath(p) for p in (old, new))
    if real == real_new and typed != typed_new:  # OLD was left behind as a link to NEW
        real = os.path.join(os.path.realpath(os.path.dirname(typed)), os.path.basename(typed))
    return Pair(real, real_new, typed)


# -- may they be moved -----------------------------------------------------------------


def check_pairs(pairs: list[Pair], *, move_folder: bool, skip: bool) -> None:
    """RefusedError for what can't be meant; `skip` lifts the questions about existence."""
    olds = [pair.real[0] for pair in pairs]
    for old in olds:
        if olds.count(old) > 1:
            raise UsageError(f"{old} is to be moved twice", "leave one of the two lines out")
    for pair in pairs:
        _check_shape(pair, move_folder)
        if move_folder:
            _check_folder(pair, {other.old for other in pairs})
        elif not skip:
            _check_existence(pair, {other.new for other in pairs})


def _check_shape(pair: Pair, move_folder: bool) -> None:
    if pair.old == pair.new:
        raise RefusedError(f"{pair.old} is both the old and the new path", USUAL)
    if pair.real[0] == pair.real[1]:
        raise RefusedError(
            f"{pair.old} and {pair.new} are the same path for Claude Code, which reads names as "
            "UTF-8: there is nothing to move",
            run("mv", pair.old, pair.new, text="rename the folder as you like"),
        )
    for path in (pair.old, pair.new):
        if is_root(path):
            spelled = path or "\\\\"  # of which nothing is left without its separators
            raise RefusedError(f"{spelled} is not a project", USUAL)
    if move_folder and tail_below(pair.new, pair.old):
        raise RefusedError(
            f"{pair.new} lies inside {pair.old}, which can't be moved into itself",
            "move the folder by hand in two steps, then leave --move-folder out",
        )


def _check_folder(pair: Pair, olds: set[str]) -> None:
    if not os.path.isdir(pair.old):
        gone = "is gone already" if os.path.isdir(pair.new) else "does not exist"
        raise RefusedError(
            f"{pair.old} {gone}, so there is no folder to rename",
            run("ccmove", pair.old, pair.new, text="leave --move-folder out"),
        )
    if os.path.lexists(pair.new) and pair.new not in olds and not _same_folder(pair):
        raise RefusedError(
            f"{pair.new} exists already, so {pair.old} can't get that name",
            "choose another name, or move what is there out of the way",
        )


def _check_existence(pair: Pair, targets: set[str]) -> None:
    # OLD may be there as a link to NEW, as NEW in another case, or as the end of another move.
    is_left_behind = pair.old in targets or _same_folder(pair)
    old_exists = os.path.lexists(pair.old) and not is_left_behind
    new_exists = os.path.isdir(pair.new)
    if not new_exists and os.path.lexists(pair.new):
        raise RefusedError(f"{pair.new} is not a folder", look_at(pair.new))
    if old_exists and not new_exists:
        swapped = {pair.typed_old: pair.new, pair.new: pair.old}
        raise RefusedError(
            f"{pair.old} still exists and {pair.new} does not",
            again("to rename the folder too", ["--move-folder"]),
            again("if the two are swapped", instead=swapped),
        )
    if old_exists:
        raise RefusedError(
            f"{pair.old} and {pair.new} both exist",
            again("if the project is in the new one", ["--skip-path-check"]),
        )
    if not new_exists:
        raise RefusedError(
            f"neither {pair.old} nor {pair.new} exists",
            again("check the spelling; if that is right", ["--skip-path-check"]),
        )


def _same_folder(pair: Pair) -> bool:
    try:
        return os.path.samefile(pair.old, pair.new)
    except OSError:
        return False


# -- is anybody there ------------------------------------------------------------------


def refuse_live(layout: Layout, folders: list[str], *, only_warn: bool = False) -> list[str]:
    """Refuse while a client runs in one of these folders, or only say so."""
    sessions = live_sessions(layout, folders)
    lines = [
        f"Claude Code is running in {session.folder} (pid {session.pid}"
        f"{f', session {session.session}' if session.session else ''})"
        for session in sessions
    ]
    if only_warn or not sessions:
        return lines
    hints = [
        again("leave it (/exit), then"),
        again("if it must go on meanwhile", ["--allow-live"]),
    ]
    if any(session.is_ancestor for session in sessions):
        hints = [again("leave Claude Code (/exit), then run in a terminal")]
    inside = ", and ccmove was started from inside that session"
    reason = lines[0] + (inside if sessions[0].is_ancestor else "")
    raise RefusedError(reason, *hints, details=lines[1:])


# -- is anything known -----------------------------------------------------------------


def known_moves(layout: Layout, pairs: list[Pair]) -> tuple[tuple[str, str], ...]:
    """The real paths; for an OLD of which nothing is known there, the path as typed."""
    is_one_linked = any(pair.typed_old != pair.old for pair in pairs)
    known = known_paths(State(layout)) if is_one_linked else set()

    def chosen(pair: Pair) -> tuple[str, str]:
        as_typed, as_real = (at_or_below([old], known) for old, _ in (pair.typed, pair.real))
        return pair.typed if as_typed and not as_real else pair.real

    return tuple(chosen(pair) for pair in pairs)


def nothing_known(layout: Layout, moves: Iterable[tuple[str, str]]) -> NothingKnownError:
    """There is nothing to move: NEW has it already, or another OLD was meant."""
    old, new = next(iter(moves))
    known = known_paths(State(layout))
    if new in known:
        what = f"nothing is known about {old}, and {new} has its state already"
        return NothingKnownError(what, WHAT_IS_KNOWN)
    return _unknown(old, known, lambda meant: again("did you mean", instead={old: meant}))


def find_subject(command: str, typed: str, names: Iterable[str], paths: Iterable[str]) -> set[str]:
    """Those of the names that are what was typed for a command, or below it.

    NothingKnownError with the nearest of these paths when there is none.
    """
    path = os.path.abspath(typed)
    names = list(names)
    found = at_or_below({typed or path, path, os.path.realpath(typed)}, names)
    if not found and os.sep not in typed:  # the bare name of a folder
        found = {name for name in names if os.path.basename(name) == typed}
    if not found:
        raise _unknown(
            path, paths, lambda meant: run("ccmove", command, meant, text="did you mean")
        )
    return found


def at_or_below(bases: Iterable[str], paths: Iterable[str]) -> set[str]:
    """Those of the paths that are one of the bases, or below one."""
    return {path for base in bases for path in paths if tail_below(path, base) is not None}


def known_paths(state: State, *, history: bool = True) -> set[str]:
    """Every project path that the config file, the history or the transcripts name."""
    known = {*state.config_paths, *(state.history_paths() if history else ())}
    for name in state.directory_names:
        known.update(state.directory(name).named_paths())
    return known


def _unknown(path: str, known: Iterable[str], meant: Callable[[str], Hint]) -> NothingKnownError:
    """Names the known paths most like this one: the same last component counts most."""
    last = os.path.basename(path).lower()
    same_name = sorted(p for p in known if os.path.basename(p).lower() == last)
    alike = difflib.get_close_matches(path, sorted(known), n=3, cutoff=0.7)
    near = list(dict.fromkeys([*same_name[:3], *alike]))[:3]
    hint = meant(near[0]) if near else WHAT_IS_KNOWN
    others = [f"also known: {path}" for path in near[1:]]
    return NothingKnownError(f"nothing is known about {path}", hint, details=others)
