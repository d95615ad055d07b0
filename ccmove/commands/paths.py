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

from ccmove.claude.git import Identity, identity
from ccmove.claude.gitfiles import superproject
from ccmove.claude.layout import Layout
from ccmove.claude.live import LiveSession, live_sessions
from ccmove.claude.owners import folder_exists, folders_in, gone_first
from ccmove.claude.state import State
from ccmove.commands.options import MoveOptions, RunOptions
from ccmove.errors import CcmoveError, NothingKnownError, RefusedError, UsageError
from ccmove.hints import Asked, Hint, ask, look_at, to_type
from ccmove.plan.newcomers import identity_of
from ccmove.rewrite.pathmap import Move, PathMap, client_spelling, is_root, tail_below
from ccmove.rewrite.windows import is_windows, native
from ccmove.run.backups import all_backups, moves_by_us
from ccmove.run.journal import was_interrupted
from ccmove.text import alike

USUAL = to_type("ccmove", "OLD", "NEW")
WHAT_IS_KNOWN = to_type("ccmove", "list", text="all projects")
MOST_ASKED = 100  # folders that git is asked about
ALMOST = 0.75  # alike
MOST_NAMED = 3  # of the nearest paths


class Pair(NamedTuple):
    """One move, spelled as the system does: the real paths, and OLD as it was typed."""

    old: str
    new: str
    typed_old: str
    where: str = ""  # the line of a list that it comes from

    @property
    def real(self) -> Move:
        return (client_spelling(self.old), client_spelling(self.new))


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


def _left_behind(old: str, real: str) -> str:
    """OLD, of which only a link to the real folder is left: that link, or OLD as typed
    where the link is a folder above it.
    """
    folder, name = os.path.split(old)
    link = os.path.join(os.path.realpath(folder), name)
    if link == real:
        return old
    return link


def _in_another_case(new: str, real: str) -> str:
    """The real folder under the name that was typed, where that is the same name in
    another case; where case matters, as it is.
    """
    if os.path.normcase(new) != os.path.normcase(real):
        return real
    folder = os.path.dirname(real)
    return os.path.join(folder, os.path.basename(new))


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


# -- may they be moved?


def check_pairs(state: State, pairs: list[Pair], options: MoveOptions) -> None:
    """RefusedError for what can't be meant."""
    [(old, number)] = Counter(pair.real[0] for pair in pairs).most_common(1)
    if number > 1:
        raise UsageError(f"{old} would be moved twice", "remove one of the two lines")
    olds = {pair.old for pair in pairs}
    targets = {pair.new for pair in pairs}
    for pair in pairs:
        check = Check(state, pair, options)
        try:
            check.shape()
            if options.move_folder:
                check.folder(olds)
            elif not options.skip_path_check:
                check.existence(targets)
                check.habit()
        except RefusedError as error:
            raise check.in_list(error) from None


class Check:
    """What is wrong with OLD and NEW, and what may be meant in their place."""

    def __init__(self, state: State, pair: Pair, options: MoveOptions) -> None:
        self.state = state
        self.options = options
        self.old, self.new, self.typed_old, self.where = pair
        self.spelled_old, self.spelled_new = pair.real
        # Where `mv OLD NEW` brings OLD if NEW is a folder.
        self.inside = os.path.join(self.new, os.path.basename(self.old))

    def in_list(self, error: CcmoveError) -> CcmoveError:
        """An error about one pair; in a list it names the line."""
        if not self.where:
            return error
        message = f"{self.where}: {error.message}"
        hints = [Hint("correct that line"), *error.hints]
        return type(error)(message, *hints, details=error.details)

    def shape(self) -> None:
        """RefusedError for paths that can't be meant, whatever is on disk."""
        if self.spelled_old == self.spelled_new:
            what = f"OLD and NEW are the same path for Claude Code: {self.new}"
            raise RefusedError(what, USUAL)
        for path in (self.old, self.new):
            if is_root(path):
                raise RefusedError(f"{path or 'the root'} is not a project", USUAL)
        if self.options.move_folder and tail_below(self.new, self.old):
            raise RefusedError(
                f"{self.new} is inside {self.old}, which can't be moved into itself",
                "move the folder by hand in two steps, then run ccmove without "
                "--move-folder",
            )

    def folder(self, olds: set[str]) -> None:
        """RefusedError unless the folder can be renamed from OLD to NEW."""
        old = self.old
        new = self.new
        link = self.typed_old
        without_folder = replace(self.options, move_folder=False)
        # Other links were seen through.
        if os.path.islink(old) or not os.path.isdir(old):
            meant = None
            last = ask(without_folder, "leave --move-folder out")
            if not self._has_data(old, link):
                meant = self._swapped()
                last = WHAT_IS_KNOWN
            raise RefusedError(f"there is no folder {old} to rename", meant, last)
        if os.path.lexists(new) and new not in olds and not self._is_one_folder():
            raise RefusedError(
                f"can't rename {old} to {new}: {new} already exists",
                self._into_folder(),
                "choose another name, or move what is there out of the way",
            )
        if repository := superproject(old):
            in_git = ("git", "-C", repository, "mv", old, new)
            raise RefusedError(
                f"{old} is a git submodule of {repository}",
                to_type(*in_git, text="rename it"),
                ask(without_folder, "then"),
            )
        if os.path.islink(link):
            raise RefusedError(
                f"{link} is a symbolic link to {old}",
                to_type("mv", link, new, text="to rename the link alone"),
                self._ask("to rename the real folder", old, new),
            )

    def _into_folder(self) -> Hint | None:
        """The move into NEW, unless that is another project."""
        if os.path.lexists(f"{self.new}/.git") or os.path.lexists(self.inside):
            return None
        is_project = self.spelled_new in self._known(self.spelled_new)
        if is_project or not os.path.isdir(self.new):
            return None
        return self._ask("to move it into that folder", self.typed_old, self.inside)

    def existence(self, targets: set[str]) -> None:
        """RefusedError unless OLD is gone and NEW is there."""
        old, new = self.old, self.new
        has_new = os.path.isdir(new)
        if os.path.lexists(new) and not has_new:
            raise RefusedError(f"{new} is not a folder", look_at(new))
        if os.path.realpath(new) == old:  # NEW is OLD in another case, on Windows
            what = f"the folder is still called {old}"
            raise RefusedError(what, self._with_folder())
        has_old = os.path.lexists(old)
        if old in targets:
            has_old = False  # it is the end of another move
        elif self._is_one_folder():
            has_old = False  # it is a link to NEW, or NEW in another case
        if has_old or not has_new:
            raise self._not_renamed(has_old, has_new)

    def _not_renamed(self, has_old: bool, has_new: bool) -> RefusedError:
        """What is wrong with these two paths, and what may be meant; the way around it
        comes last.
        """
        old, new = self.old, self.new
        has_data = self._has_data(old, self.typed_old)
        unchecked = replace(self.options, skip_path_check=True)
        last: Hint | str = ask(unchecked, "if both paths are right all the same")
        if not has_old:
            what = f"{new} does not exist"
            meant = self._meant_new()
            if has_data and meant is None:
                meant = self._ask("to find where it is now", old)
        elif has_new:
            what = f"{old} still exists"
            meant = self._ask(f"to find what {new} was before", new)
        else:
            what = f"{old} still exists, and {new} does not exist"
            meant = self._swapped()
            last = self._with_folder()
            if tail_below(new, old) is not None:
                last = "a folder can't be moved into itself: rename it by hand, in two "
                last += "steps"
        if not has_data:
            what += f"; {_no_data(old)}"
            last = WHAT_IS_KNOWN
        return RefusedError(what, meant, last)

    def habit(self) -> None:
        """`mv OLD NEW/` brings OLD into a folder that exists: NEW is not the project.

        It went there if there is a repository, or folders of projects that were in OLD.
        """
        new = self.new
        inside = self.inside
        if inside == self.old:
            return
        if not os.path.isdir(inside):
            return
        if os.path.lexists(f"{new}/.git"):
            return
        if os.path.lexists(f"{inside}/.git"):
            what = f"{new} is not a repository, but {inside} is: mv probably moved the "
            what += "project there"
        else:
            old = self.spelled_old
            below = at_or_below(old, self._known()) - {old}
            tails = [path.removeprefix(old) for path in below]
            if any(os.path.isdir(new + tail) for tail in tails):
                return
            if not any(os.path.isdir(inside + tail) for tail in tails):
                return
            what = f"the projects of {self.old} are not in {new}, but in {inside}: mv "
            what += "probably moved them there"
        unchecked = replace(self.options, skip_path_check=True)
        really = ask(unchecked, f"if it is really {new}")
        raise RefusedError(what, self._ask("if so", self.typed_old, inside), really)

    def nothing_known(self) -> CcmoveError:
        """There is nothing to move: another OLD was meant, or NEW has it already."""
        old = self.spelled_old
        new = self.spelled_new
        what = _no_data(old)
        hint: Hint | None = WHAT_IS_KNOWN
        known = self.state.known_paths()
        others = known - {new}
        near = nearest_paths(old, others)
        may_be_meant = bool(near) and not folder_exists(near[0])
        if new in known and (self.options.move_folder or not may_be_meant):
            what += f"; it already has data for {new}"
            near = []
            if self.options.move_folder:
                text = "to rename the folder alone"
                hint = to_type("mv", self.old, self.new, text=text)
        elif may_be_meant:
            nearest = near[0]
            hint = self._ask("did you mean", nearest, self.new)
        error = NothingKnownError(what, hint, details=_named(near))
        return self.in_list(error)

    def _meant_new(self) -> Hint | None:
        """The folder beside NEW that is OLD's repository, or has almost NEW's name."""
        beside, name = os.path.split(self.new)
        folders = folders_in(beside)
        ours = Identity()
        with contextlib.suppress(CcmoveError, OSError):
            ours = identity_of(self.state, self.spelled_old)
        for folder in folders[:MOST_ASKED]:
            if not ours.remotes:
                break
            theirs = identity(folder)
            if ours.remotes & theirs.remotes:
                text = "did you mean (same repository)"
                return self._ask(text, self.typed_old, folder)
        by_name = {os.path.basename(folder): folder for folder in folders}
        for near in alike(name, by_name, least=ALMOST):
            folder = by_name[near]
            return self._ask("did you mean", self.typed_old, folder)
        return None

    def _swapped(self) -> Hint | None:
        """The move back, where Claude Code has data for NEW."""
        if not self._has_data(self.new):
            return None
        return self._ask("if the two are swapped", self.new, self.old)

    def _with_folder(self) -> Hint:
        with_folder = replace(self.options, move_folder=True)
        return ask(with_folder, "to rename the folder too")

    def _ask(self, text: str, *paths: str) -> Hint | None:
        """The same move of other paths, or of one; those of a list are in its file."""
        if self.options.from_file is not None:
            return None
        return ask(replace(self.options, arguments=paths), text)

    def _has_data(self, *paths: str) -> bool:
        """Whether Claude Code has some for a path; where that can't be told, it may."""
        spelled = [client_spelling(path) for path in paths]
        known = self._known(*spelled)
        return any(at_or_below(path, known) for path in spelled)

    def _known(self, *in_doubt: str) -> set[str]:
        """What Claude Code has data for; where that can't be told, these."""
        try:
            return self.state.known_paths()
        except (CcmoveError, OSError):
            return set(in_doubt)

    def _is_one_folder(self) -> bool:
        try:
            return os.path.samefile(self.old, self.new)
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
    sessions = live_sessions(layout, folders)
    lines = [_who_runs(session) for session in sessions]
    if options.allow_live or not lines:
        return Running(tuple(lines))
    itself = replace(options, dry_run=False)
    hints = [ask(itself, "exit it (/exit), then")]
    may_be_over = all(session.is_elsewhere for session in sessions)
    if may_be_over:
        allowed = replace(options, allow_live=True)
        hint = ask(allowed, "only if it is not running any more")
        hints.append(hint)
    what, *details = lines
    if options.dry_run:
        what = f"the {options.command} itself would be refused: {what}"
    refusal = RefusedError(what, *hints, details=details)
    if not options.dry_run:
        raise refusal
    return Running(refusal=refusal)


def _who_runs(session: LiveSession) -> str:
    named = ""
    if session.session:
        named = f", session {session.session}"
    where = f"{session.folder} (pid {session.pid}{named})"
    if session.last_written is None:
        return f"Claude Code is running in {where}"
    written = datetime.datetime.fromtimestamp(session.last_written, datetime.UTC)
    return (
        f"Claude Code was started in {where} in another container or on another "
        "machine; whether it is still running can't be checked from here, last sign "
        f"of it: {written:%F %H:%M} UTC"
    )


# -- what Claude Code has data for


def known_moves(state: State, pairs: list[Pair]) -> tuple[Move, ...]:
    """The moves of these pairs, of what Claude Code knows by either spelling of OLD."""
    known: set[str] = set()
    moves = []
    for pair in pairs:
        old, new = pair.real
        typed_old = client_spelling(pair.typed_old)
        if typed_old != old:
            known = known or state.known_paths()
        move = as_known(known, old, typed_old), new
        moves.append(move)
    return tuple(moves)


def as_known(known: set[str], real: str, typed: str) -> str:
    """The real path; as it was typed where there is data for that alone."""
    is_as_typed = not at_or_below(real, known) and at_or_below(typed, known)
    if is_as_typed:
        return typed
    return real


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
    names = set(names)
    path = os.path.abspath(typed)
    subjects = names & {typed}
    subjects |= at_or_below(path, names) | at_or_below(os.path.realpath(typed), names)
    if not subjects:  # it may be the bare name of a folder
        subjects = {name for name in names if os.path.basename(name) == typed}
    if not subjects:
        raise unknown(layout, asked, typed, path, paths)
    return subjects


def unknown(
    layout: Layout, asked: Asked, typed: str, path: str, paths: Iterable[str]
) -> NothingKnownError:
    """That there is no data for a path, with where we moved it, or the nearest of
    these.
    """
    what = _no_data(path)
    place = path
    with contextlib.suppress(CcmoveError, OSError):
        for moves in moves_by_us(layout, all_backups(layout)):
            run = PathMap(tuple(moves))
            place = run.map(place) or place
    if place != path and os.path.isdir(place):
        right = asked.with_argument(typed, place)
        return NothingKnownError(f"{what}; it was moved to {place}", ask(right))
    if was_interrupted(layout):
        text = "a run was interrupted; roll it back"
        hint = to_type("ccmove", "recover", text=text)
        return NothingKnownError(what, hint)
    near = nearest_paths(path, paths)
    hint = WHAT_IS_KNOWN
    if near:
        right = asked.with_argument(typed, near[0])
        hint = ask(right, "did you mean")
    return NothingKnownError(what, hint, details=_named(near))


def at_or_below(base: str, paths: Iterable[str]) -> set[str]:
    return {path for path in paths if tail_below(path, base) is not None}


def nearest_paths(path: str, known: Iterable[str]) -> list[str]:
    """The known paths whose last component is like this one's: those whose folder is
    gone first, then the most alike.
    """
    by_name = defaultdict(list)
    for other in sorted(known):
        name = os.path.basename(other)
        by_name[name.lower()].append(other)
    wrong_name = os.path.basename(path)
    near = []
    for name in alike(wrong_name.lower(), by_name):
        paths = by_name[name]
        near += paths
    return gone_first(near)


def _no_data(path: str) -> str:
    return f"Claude Code has no data for {path}"


def _named(paths: list[str]) -> list[str]:
    return [f"known: {path}" for path in paths[:MOST_NAMED]]
