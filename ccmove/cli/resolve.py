"""OLD and NEW as typed -> the paths that the client would have written, and may they be moved?"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from ccmove.errors import NothingKnownError, RefusedError, UsageError
from ccmove.rewrite.pathmap import client_spelling, is_root, is_windows, tail_below
from ccmove.text import command_line
from ccmove.typed import again

if TYPE_CHECKING:
    from ccmove.claude.state import State


class Pair(NamedTuple):
    """One move, spelled as the system does: the real paths, and OLD as it was typed."""

    old: str
    new: str
    typed_old: str

    @property
    def folders(self) -> tuple[str, str]:
        """What is on the disk."""
        return (self.old, self.new)

    @property
    def real(self) -> tuple[str, str]:
        """The same as the client writes them down."""
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
            raise UsageError(f"{name} is no path: {path!r}", "ccmove OLD NEW")
    typed = _absolute(old)
    real_old, real_new = _real(old), _real(new)
    if real_old == real_new and typed != _absolute(new):
        real_old = _real_parent(old)  # OLD was left behind as a link to NEW
    return Pair(real_old, real_new, typed)


def _absolute(path: str) -> str:
    return path if is_windows(path) else os.path.abspath(path)


def _real(path: str) -> str:
    return path.rstrip("\\/") if is_windows(path) else os.path.realpath(path)


def _real_parent(path: str) -> str:
    parent, name = os.path.split(os.path.abspath(path))
    return os.path.join(os.path.realpath(parent), name)


# -- may they be moved -----------------------------------------------------------------


def check_pairs(pairs: Iterable[Pair], *, move_folder: bool, skip: bool) -> None:
    """RefusedError for what can't be meant; `skip` lifts the questions about existence."""
    known = list(pairs)
    olds = [pair.old for pair in known]
    spelled = [pair.real[0] for pair in known]
    if len(set(spelled)) != len(spelled):
        twice = next(old for old in spelled if spelled.count(old) > 1)
        raise UsageError(f"{twice} is to be moved twice", "leave one of the two lines out")
    targets = {pair.new for pair in known}
    for pair in known:
        _check_shape(pair, move_folder)
        if move_folder:
            _check_folder(pair, set(olds))
        elif not skip:
            _check_existence(pair, targets)


def _check_shape(pair: Pair, move_folder: bool) -> None:
    if pair.old == pair.new:
        raise RefusedError(f"{pair.old} is both the old and the new path", "ccmove OLD NEW")
    if pair.real[0] == pair.real[1]:
        raise RefusedError(
            f"{pair.old} and {pair.new} are the same path for Claude Code, which reads names as "
            "UTF-8: there is nothing to move",
            f"rename the folder as you like: {command_line(['mv', pair.old, pair.new])}",
        )
    for path in (pair.old, pair.new):
        if is_root(path):
            spelled = path or "\\\\"  # of which nothing is left without its separators
            raise RefusedError(f"{spelled} is not a project", "ccmove OLD NEW")
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
            f"leave --move-folder out: {command(pair)}",
        )
    if os.path.lexists(pair.new) and pair.new not in olds and not _same_folder(pair):
        raise RefusedError(
            f"{pair.new} exists already, so {pair.old} can't get that name",
            "choose another name, or move what is there out of the way",
        )


def _check_existence(pair: Pair, targets: set[str]) -> None:
    old_exists = os.path.lexists(pair.old) and not _is_left_behind(pair, targets)
    new_exists = os.path.isdir(pair.new)
    if not new_exists and os.path.lexists(pair.new):
        raise RefusedError(f"{pair.new} is not a folder", f"look at it: {_ls(pair.new)}")
    if old_exists and not new_exists:
        swapped = {pair.typed_old: pair.new, pair.new: pair.old}
        raise RefusedError(
            f"{pair.old} still exists and {pair.new} does not",
            f"to rename the folder too: {again('--move-folder')}\n"
            f"if the two are swapped: {again(instead=swapped)}",
        )
    if old_exists:
        raise RefusedError(
            f"{pair.old} and {pair.new} both exist",
            f"if the project is in the new one: {again('--skip-path-check')}",
        )
    if not new_exists:
        raise RefusedError(
            f"neither {pair.old} nor {pair.new} exists",
            f"check the spelling; if that is right: {again('--skip-path-check')}",
        )


def _ls(path: str) -> str:
    return command_line(["ls", "-ld", path])


def _is_left_behind(pair: Pair, targets: set[str]) -> bool:
    """OLD is there, but as a link to NEW, as NEW in another case, or as the end of another move."""
    return pair.old in targets or _same_folder(pair)


def _same_folder(pair: Pair) -> bool:
    try:
        return os.path.samefile(pair.old, pair.new)
    except OSError:
        return False


def command(pair: Pair, *options: str) -> str:
    """The command to type for this move."""
    return command_line(["ccmove", *options, pair.old, pair.new])


# -- nothing known ---------------------------------------------------------------------


def nothing_known(state: State, pairs: list[Pair]) -> NothingKnownError:
    """Names the nearest paths that are known."""
    known = known_paths(state)
    old, new = pairs[0].old, pairs[0].new
    if new in known:
        return NothingKnownError(
            f"nothing is known about {old}, and {new} has its state already",
            "what is known: ccmove list",
        )
    near = nearest(old, known)
    if not near:
        return NothingKnownError(f"nothing is known about {old}", "what is known: ccmove list")
    hint = f"did you mean: {again(instead={pairs[0].typed_old: near[0]})}"
    others = [f"also known: {path}" for path in near[1:]]
    return NothingKnownError(f"nothing is known about {old}", hint).with_details(others)


def known_paths(state: State) -> set[str]:
    """Every project path that the config file, the history or the transcripts name."""
    known = {*state.config_paths, *state.history_paths()}
    for name in state.directory_names:
        known.update(state.directory(name).named_paths())
    return known


def nearest(path: str, known: Iterable[str]) -> list[str]:
    """The known paths most like `path`: the same last component counts most."""
    import difflib

    last = os.path.basename(path)
    same_name = sorted(p for p in known if os.path.basename(p).lower() == last.lower())
    alike = difflib.get_close_matches(path, sorted(known), n=3, cutoff=0.7)
    return list(dict.fromkeys([*same_name[:3], *alike]))[:3]
