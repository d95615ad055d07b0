"""OLD and NEW as typed -> the paths that the client would have written,
and may they be moved?
"""

import contextlib
import datetime
import os
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from ccmove.claude.git import identity
from ccmove.claude.gitfiles import superproject
from ccmove.claude.layout import Layout
from ccmove.claude.live import LiveSession, live_sessions
from ccmove.claude.owners import folder_exists, folders_in
from ccmove.claude.state import State
from ccmove.commands.options import MoveOptions, RunOptions
from ccmove.errors import CcmoveError, NothingKnownError, RefusedError, UsageError
from ccmove.hints import Asked, Hint, ask, look_at, to_type
from ccmove.plan.newcomers import identity_of
from ccmove.rewrite.pathmap import PathMap, client_spelling, is_root, tail_below
from ccmove.rewrite.windows import is_windows, native
from ccmove.run.backups import all_backups, moves_by_us
from ccmove.run.journal import was_interrupted
from ccmove.text import alike

USUAL = to_type("ccmove", "OLD", "NEW")
WHAT_IS_KNOWN = to_type("ccmove", "list", text="all projects")
MOST_ASKED = 100  # folders that git is asked about
ALMOST = 0.75  # alike
MOST_NAMED = 3  # of the nearest paths
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
    refuse_odd("OLD", old)
    refuse_odd("NEW", new)
    absolute, real_old = _absolute_and_real(old)
    absolute_new, real_new = _absolute_and_real(new)
    if real_old == real_new and absolute != absolute_new:
        real_old = _left_behind(absolute, real_old)
        if real_old == real_new:
            real_new = _in_another_case(absolute_new, real_new)
    return Pair(real_old, real_new, absolute, where)


def resolve_path(path: str) -> tuple[str, str]:
    """One path, real and as it was typed, as the client would have written it."""
    refuse_odd("PATH", path)
    absolute, real = _absolute_and_real(path)
    return native(client_spelling(real)), native(client_spelling(absolute))


def refuse_odd(name: str, path: str, usual: Hint = USUAL) -> None:
    """What was typed as a path and can't be one."""
    if not path.strip():  # as a path it would mean the current folder
        raise UsageError(f"{name} is empty (an unset variable?)", usual)
    if "\0" in path:
        raise UsageError(f"{name} is not a path: {path!r}", usual)


def _absolute_and_real(path: str) -> tuple[str, str]:
    """A path of Windows, where this is not, means what it says."""
    if os.sep == "/" and path[:1] != "/" and is_windows(path):
        return path, path.rstrip("\\/")
    return os.path.abspath(path), os.path.realpath(path)


def _left_behind(old: str, real: str) -> str:
    """OLD, of which only a link to the real folder is left: that link, or OLD as typed
    where the link is a folder above it.
    """
    folder, name = os.path.split(old)
    link = os.path.join(os.path.realpath(folder), name)
    return old if link == real else link


def _in_another_case(new: str, real: str) -> str:
    """The real folder under the name that was typed, where that is the same name in
    another case; where case matters, as it is.
    """
    if os.path.normcase(new) != os.path.normcase(real):
        return real
    return os.path.join(os.path.dirname(real), os.path.basename(new))


def check_pairs(state: State, pairs: list[Pair], options: MoveOptions) -> None:
    """RefusedError for what can't be meant."""
    olds = {pair.old for pair in pairs}
    targets = {pair.new for pair in pairs}
    numbers = Counter(pair.real[0] for pair in pairs)
    for old, number in numbers.items():
        if number > 1:
            raise UsageError(
                f"{old} would be moved twice", "remove one of the two lines"
            )
    for pair in pairs:
        try:
            _check_shape(pair, options)
            if options.move_folder:
                _check_folder(state, pair, olds, options)
            elif not options.skip_path_check:
                _check_existence(state, pair, targets, options)
                _check_habit(state, pair, options)
        except RefusedError as error:
            raise _in_list(pair, error) from None


def _in_list(pair: Pair, error: NoMove) -> NoMove:
    """An error about one pair; in a list it names the line."""
    if not pair.where:
        return error
    message = f"{pair.where}: {error.message}"
    details = error.details
    return type(error)(message, "correct that line", *error.hints, details=details)


def _with_paths(options: MoveOptions, text: str, *paths: str) -> Hint | None:
    """The same move of other paths, or of one; those of a list are in its file."""
    if options.from_file is not None:
        return None
    return ask(replace(options, arguments=paths), text)


def _check_shape(pair: Pair, options: MoveOptions) -> None:
    """RefusedError for paths that can't be meant, whatever is on disk."""
    if pair.real[0] == pair.real[1]:
        raise RefusedError(
            f"OLD and NEW are the same path for Claude Code: {pair.new}", USUAL
        )
    for path in (pair.old, pair.new):
        if is_root(path):
            raise RefusedError(f"{path or 'the root'} is not a project", USUAL)
    if options.move_folder and tail_below(pair.new, pair.old):
        raise RefusedError(
            f"{pair.new} is inside {pair.old}, which can't be moved into itself",
            "move the folder by hand in two steps, then run ccmove without "
            "--move-folder",
        )


def _check_folder(
    state: State, pair: Pair, olds: set[str], options: MoveOptions
) -> None:
    """RefusedError unless the folder can be renamed from OLD to NEW."""
    without_folder = replace(options, move_folder=False)
    # Other links were seen through.
    if os.path.islink(pair.old) or not os.path.isdir(pair.old):
        hint = ask(without_folder, "leave --move-folder out")
        swapped = None
        if not _has_data(state, pair.old, pair.typed_old):
            hint = WHAT_IS_KNOWN
            if _has_data(state, pair.new):
                text = "if the two are swapped"
                swapped = _with_paths(options, text, pair.new, pair.old)
        raise RefusedError(f"there is no folder {pair.old} to rename", swapped, hint)
    if os.path.lexists(pair.new) and pair.new not in olds and not _same_folder(pair):
        raise RefusedError(
            f"can't rename {pair.old} to {pair.new}: {pair.new} already exists",
            _into_folder(state, pair, options),
            "choose another name, or move what is there out of the way",
        )
    if repository := superproject(pair.old):
        raise RefusedError(
            f"{pair.old} is a git submodule of {repository}",
            to_type(
                "git", "-C", repository, "mv", pair.old, pair.new, text="rename it"
            ),
            ask(without_folder, "then"),
        )
    if os.path.islink(pair.typed_old):
        raise RefusedError(
            f"{pair.typed_old} is a symbolic link to {pair.old}",
            to_type("mv", pair.typed_old, pair.new, text="to rename the link alone"),
            _with_paths(options, "to rename the real folder", pair.old, pair.new),
        )


def _into_folder(state: State, pair: Pair, options: MoveOptions) -> Hint | None:
    """Not into another project."""
    inside = _inside_new(pair)
    if not os.path.isdir(pair.new) or os.path.lexists(inside):
        return None
    if os.path.lexists(f"{pair.new}/.git") or _is_known(state, pair.new):
        return None
    return _with_paths(options, "to move it into that folder", pair.typed_old, inside)


def _check_existence(
    state: State, pair: Pair, targets: set[str], options: MoveOptions
) -> None:
    """RefusedError unless OLD is gone and NEW is there."""
    old = pair.old
    has_new = os.path.isdir(pair.new)
    if os.path.lexists(pair.new) and not has_new:
        raise RefusedError(f"{pair.new} is not a folder", look_at(pair.new))
    if os.path.realpath(pair.new) == old:  # NEW is OLD in another case, on Windows
        what = f"the folder is still called {old}"
        hint = _with_folder(options)
        raise RefusedError(what, hint)
    # OLD may be there as a link to NEW, as NEW in another case, or as the end of
    # another move.
    has_old = os.path.lexists(old)
    if old in targets or _same_folder(pair):
        has_old = False
    if has_old or not has_new:
        raise _not_renamed(state, pair, options, has_old, has_new)


def _not_renamed(
    state: State, pair: Pair, options: MoveOptions, has_old: bool, has_new: bool
) -> RefusedError:
    """What is wrong with these two paths, and what may be meant; the way around it
    comes last.
    """
    old, new = pair.old, pair.new
    what = f"{new} does not exist"
    hints: list[Hint | str | None]
    if has_old and has_new:
        what = f"{old} still exists"
        hints = [_with_paths(options, f"to find what {new} was before", new)]
    elif has_old:
        what = f"{old} still exists, and {new} does not exist"
        hints = []
        if _has_data(state, new):
            hints.append(_with_paths(options, "if the two are swapped", new, old))
    else:
        hints = [_meant_new(state, pair, options)]
    if not _has_data(state, old, pair.typed_old):
        what += f"; {_no_data(old)}"
        hints.append(WHAT_IS_KNOWN)
    elif has_old and not has_new:
        hints.append(_into_itself(pair) or _with_folder(options))
    else:
        if not any(hints):
            hints = [_with_paths(options, "to find where it is now", old)]
        unchecked = replace(options, skip_path_check=True)
        hints.append(ask(unchecked, "if both paths are right all the same"))
    return RefusedError(what, *hints)


def _with_folder(options: MoveOptions) -> Hint:
    return ask(replace(options, move_folder=True), "to rename the folder too")


def _into_itself(pair: Pair) -> str | None:
    if tail_below(pair.new, pair.old) is None:
        return None
    return "a folder can't be moved into itself: rename it by hand, in two steps"


def _has_data(state: State, *paths: str) -> bool:
    """Whether Claude Code has any for a path; where that can't be told, it may have."""
    known = _known_paths(state, *map(client_spelling, paths))
    return any(at_or_below(client_spelling(path), known) for path in paths)


def _is_known(state: State, path: str) -> bool:
    """Whether it is a project of Claude Code's; in doubt it is."""
    spelled = client_spelling(path)
    return spelled in _known_paths(state, spelled)


def _known_paths(state: State, *in_doubt: str) -> set[str]:
    """What Claude Code has data for; where that can't be told, these."""
    try:
        return state.known_paths()
    except (CcmoveError, OSError):
        return set(in_doubt)


def _meant_new(state: State, pair: Pair, options: MoveOptions) -> Hint | None:
    """The folder beside NEW that is OLD's repository, or has almost NEW's name."""
    folders = folders_in(os.path.dirname(pair.new))
    text = "did you mean (same repository)"
    folder = _same_repository(state, pair, folders)
    if folder is None:
        text = "did you mean"
        folder = _almost_called(pair.new, folders)
    if folder is None:
        return None
    return _with_paths(options, text, pair.typed_old, folder)


def _almost_called(path: str, folders: list[str]) -> str | None:
    by_name = {os.path.basename(folder): folder for folder in folders}
    near = alike(os.path.basename(path), by_name, least=ALMOST)
    return by_name[near[0]] if near else None


def _same_repository(state: State, pair: Pair, folders: list[str]) -> str | None:
    """The first of these folders that has one of OLD's remotes."""
    old, _ = pair.real
    try:
        ours = identity_of(state, old)
    except (CcmoveError, OSError):
        return None
    if not ours.remotes:
        return None
    for folder in folders[:MOST_ASKED]:
        theirs = identity(folder)
        if ours.remotes & theirs.remotes:
            return folder
    return None


def _check_habit(state: State, pair: Pair, options: MoveOptions) -> None:
    """`mv OLD NEW/` brings OLD into a folder that exists:
    then NEW is not the project.
    """
    inside = _inside_new(pair)
    if inside == pair.old or os.path.lexists(f"{pair.new}/.git"):
        return
    what = f"the projects of {pair.old} are not in {pair.new}, but in {inside}: mv "
    what += "probably moved them there"
    if os.path.lexists(f"{inside}/.git"):
        what = f"{pair.new} is not a repository, but {inside} is: mv probably moved "
        what += "the project there"
    elif not _holds_what_new_lacks(state, pair, inside):
        return
    unchecked = replace(options, skip_path_check=True)
    raise RefusedError(
        what,
        _with_paths(options, "if so", pair.typed_old, inside),
        ask(unchecked, f"if it is really {pair.new}"),
    )


def _holds_what_new_lacks(state: State, pair: Pair, inside: str) -> bool:
    """Whether folders of projects that were in OLD are in there, and none in NEW."""
    if not os.path.isdir(inside):
        return False
    old, new = pair.real
    is_held = False
    for path in at_or_below(old, _known_paths(state)):
        tail = path.removeprefix(old)
        if tail and os.path.isdir(new + tail):
            return False
        if tail and os.path.isdir(inside + tail):
            is_held = True
    return is_held


def _inside_new(pair: Pair) -> str:
    return os.path.join(pair.new, os.path.basename(pair.old))


def _same_folder(pair: Pair) -> bool:
    try:
        return os.path.samefile(pair.old, pair.new)
    except OSError:
        return False


class Running(NamedTuple):
    """What is to be said of clients that run in the folders of a move."""

    warnings: tuple[str, ...] = ()
    refusal: RefusedError | None = None  # of the move itself, told by its preview


def refuse_live(layout: Layout, folders: list[str], options: RunOptions) -> Running:
    """Refuse while a client runs in one of these folders; where that is allowed, say
    it.
    """
    lines = []
    may_be_over = True
    for session in live_sessions(layout, folders):
        lines.append(_who_runs(session))
        may_be_over = may_be_over and session.is_elsewhere
    if options.allow_live or not lines:
        return Running(tuple(lines))
    itself = replace(options, dry_run=False)
    hints = [ask(itself, "exit it (/exit), then")]
    if may_be_over:
        allowed = replace(options, allow_live=True)
        hints.append(ask(allowed, "only if it is not running any more"))
    first, *details = lines
    if not options.dry_run:
        raise RefusedError(first, *hints, details=details)
    what = f"the {options.command or 'move'} itself would be refused: {first}"
    return Running(refusal=RefusedError(what, *hints, details=details))


def _who_runs(session: LiveSession) -> str:
    named = f", session {session.session}" if session.session else ""
    where = f"{session.folder} (pid {session.pid}{named})"
    if session.last_written is None:
        return f"Claude Code is running in {where}"
    written = datetime.datetime.fromtimestamp(session.last_written, datetime.UTC)
    return (
        f"Claude Code was started in {where} in another container or on another "
        "machine; whether it is still running can't be checked from here, last sign "
        f"of it: {written:%F %H:%M} UTC"
    )


def known_moves(state: State, pairs: list[Pair]) -> tuple[tuple[str, str], ...]:
    """The real paths; for an OLD for which there is no data there,
    the path as typed.
    """
    moves = [pair.real for pair in pairs]
    if moves != [pair.typed for pair in pairs]:
        known = state.known_paths()
        moves = [_known_move(pair, known) for pair in pairs]
    return tuple(moves)


def _known_move(pair: Pair, known: set[str]) -> tuple[str, str]:
    old, _ = pair.real
    typed_old, _ = pair.typed
    if at_or_below(old, known) or not at_or_below(typed_old, known):
        return pair.real
    return pair.typed


def nothing_known(state: State, pair: Pair, options: MoveOptions) -> NoMove:
    """There is nothing to move: another OLD was meant, or NEW has it already."""
    known = state.known_paths()
    old, new = pair.real
    what = _no_data(old)
    hint: Hint | None = WHAT_IS_KNOWN
    near = nearest_paths(old, known - {new})
    if new in known and options.move_folder:
        what += f"; it already has data for {new}"
        hint = to_type("mv", pair.old, pair.new, text="to rename the folder alone")
        near.clear()
    elif near and not folder_exists(near[0]):
        nearest = near[0]
        hint = _with_paths(options, "did you mean", nearest, pair.new)
    elif new in known:
        what += f"; it already has data for {new}"
        near.clear()
    error = NothingKnownError(what, hint, details=_named(near))
    return _in_list(pair, error)


def find_subject(
    layout: Layout,
    asked: Asked,
    typed: str,
    names: Iterable[str],
    paths: Iterable[str],
) -> set[str]:
    """Those of the names that are what was typed, or below it;
    else the nearest paths are named.
    """
    path = os.path.abspath(typed)
    names = set(names)
    subjects = names & {typed}
    for base in (path, os.path.realpath(typed)):
        subjects |= at_or_below(base, names)
    if subjects:
        return subjects
    for name in names:
        if os.path.basename(name) == typed:  # the bare name of a folder
            subjects.add(name)
    if subjects:
        return subjects
    raise unknown(layout, asked, typed, path, paths)


def unknown(
    layout: Layout, asked: Asked, typed: str, path: str, paths: Iterable[str]
) -> NothingKnownError:
    """That there is no data for a path, with where we moved it, or the nearest of
    these.
    """
    what = _no_data(path)
    moved_to = _moved_to(layout, path)
    if moved_to is not None:
        right = asked.with_argument(typed, moved_to)
        return NothingKnownError(f"{what}; it was moved to {moved_to}", ask(right))
    near = nearest_paths(path, paths)
    hint = WHAT_IS_KNOWN
    if was_interrupted(layout):
        hint = to_type("ccmove", "recover", text="a run was interrupted; roll it back")
        near.clear()
    if near:
        right = asked.with_argument(typed, near[0])
        hint = ask(right, "did you mean")
    return NothingKnownError(what, hint, details=_named(near))


def _moved_to(layout: Layout, path: str) -> str | None:
    """Where our own moves brought what was at a path, if there is a folder."""
    place = path
    with contextlib.suppress(CcmoveError, OSError):
        for moves in moves_by_us(layout, all_backups(layout)):
            place = PathMap(tuple(moves)).map(place) or place
    is_there = place != path and os.path.isdir(place)
    return place if is_there else None


def at_or_below(base: str, paths: Iterable[str]) -> set[str]:
    return {path for path in paths if tail_below(path, base) is not None}


def nearest_paths(path: str, known: Iterable[str]) -> list[str]:
    """The known paths whose last component is like this one's: those whose folder is
    gone first, then the most alike.
    """
    by_name = defaultdict(list)
    for other in sorted(known):
        name = os.path.basename(other).lower()
        by_name[name].append(other)
    wrong_name = os.path.basename(path).lower()
    gone, there = [], []
    for name in alike(wrong_name, by_name):
        for other in by_name[name]:
            if folder_exists(other) is False:
                gone.append(other)
            else:
                there.append(other)
    return gone + there


def _no_data(path: str) -> str:
    return f"Claude Code has no data for {path}"


def _named(paths: list[str]) -> list[str]:
    return [f"known: {path}" for path in paths[:MOST_NAMED]]
