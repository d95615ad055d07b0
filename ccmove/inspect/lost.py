"""Projects whose folder is gone: what is kept for them, and where they may be now.

Three things can tell. The state itself: a move of ours, or its conversations are kept
for another path. The same repository, by remote or root commit. And the name, which
only says "possible".

A deleted project is not a moved one, and another clone of its repository is not proof:
a folder that had a life of its own while the project was in use, or was cloned
afterwards, is another one. That a folder's own reflog goes on through the time when the
project was in use is proof enough.
"""

import difflib
import os
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache, cached_property
from operator import itemgetter
from pathlib import PurePath

from ccmove.claude.git import Identity, identity, reflog
from ccmove.claude.gitfiles import main_checkout
from ccmove.claude.owners import folders_in
from ccmove.inspect.survey import MOVED_BY_US, Project, Survey, ancestors
from ccmove.plan.newcomers import is_another, went_on
from ccmove.rewrite.pathmap import is_root, tail_below, with_parents
from ccmove.rewrite.windows import compared
from ccmove.text import sessions_in_words

MOST_CANDIDATES = 5
MOST_ASKED = 200  # checkouts of which git is asked
MOST_PARENTS = 20  # folders that are gone with several projects
MOST_LOOKED_AT = 5000  # folders that may be one of them
SEARCH_DEPTH = 6
NEAR_DEPTH = 2
COMMON = 20  # a name that so many folders have says nothing
WORD = re.compile(r"[^\W_]{3,}")  # of a folder's name
SIMILAR = 0.6  # two names, by difflib
CLONED = "clone:"  # begins what a reflog says of it
SKIPPED = {"node_modules", "venv", "site-packages", "target", "dist", "build", "vendor"}


class Basis(IntEnum):
    """What says where a lost project is now, the best first: its conversations, a move
    of ours, git, what is in a folder, its name, or only where it is.
    """

    CONVERSATIONS = 0
    OUR_MOVE = 1  # which took all along: what is there now came since, maybe another's
    SAME_REPOSITORY = 2
    INSIDE = 3
    NAME = 4
    SAME_PLACE = 5


@dataclass(slots=True)
class Candidate:
    """A folder that a lost project may be now, with the evidence for and against it."""

    path: str
    basis: Basis = Basis.NAME  # the best of its evidence
    evidence: list[str] = field(default_factory=list)
    against: list[str] = field(default_factory=list)
    is_proven: bool = False  # another clone of the repository would not show this
    command: str = ""  # the move; or, where it would be refused, what shows the reason

    @property
    def is_by_name(self) -> bool:
        """Whether only names speak for it, of the folder or of what is in it."""
        return self.basis >= Basis.INSIDE

    @property
    def confidence(self) -> str:
        if self.against or self.is_by_name:
            return "possible"
        is_certain = self.is_proven or self.basis is Basis.CONVERSATIONS
        return "certain" if is_certain else "likely"

    @property
    def level(self) -> int:
        """How sure it is, as a number: the lower the better."""
        return ("certain", "likely", "possible").index(self.confidence)

    @property
    def rank(self) -> tuple[int, bool]:
        return self.level, bool(self.against)


Sign = tuple[str, Basis, str]  # a folder, how much that says, and what
Log = list[tuple[int, str]]  # a moment, and what was done
Sets = dict[str, set[str]]


class Surroundings:
    """The folders around lost projects, and where somebody says that one may be."""

    def __init__(self) -> None:
        self.depths: dict[str, int] = {}  # of what was looked into
        self.checkouts: dict[str, None] = {}
        self.by_name: Sets = defaultdict(set)
        self.inside: Sets = defaultdict(set)  # folder -> folders in it
        self.gone_from: Sets = defaultdict(set)

    @property
    def folders(self) -> list[str]:
        folders: list[str] = []
        for inside in self.inside.values():
            folders += sorted(inside)
        return folders

    def look_near(self, path: str) -> None:
        """Look where a lost project was, and in the folder above that."""
        near, gone = nearest_folder(path)
        self.gone_from[near].add(gone)
        if not is_root(near):
            self.look_in(near)
        above = PurePath(near).parent
        if len(above.parts) > 2:
            self.look_in(str(above))

    def look_in(self, root: str, depth: int = NEAR_DEPTH) -> None:
        """Look at a folder and so many levels below it, once."""
        past_depth = self.depths.get(root, -1)
        if past_depth >= depth:
            return
        self.depths[root] = depth
        folders = _walk(root, depth)
        for folder, is_checkout in folders:
            above, name = os.path.split(folder)
            name = name.lower()
            self.by_name[name].add(folder)
            self.inside[above].add(folder)
            if is_checkout:
                self.checkouts[folder] = None


class Finder:
    """Looks for lost projects; with `roots=None` only where the state says that they
    are.

    `named_folder` is what somebody says that one of them is now.
    """

    def __init__(
        self,
        survey: Survey,
        roots: Iterable[str] | None = (),
        named_folder: str | None = None,
    ) -> None:
        self.survey = survey
        self.lost = dict(_lost(survey))
        self.roots: list[str] | None = None
        self._named = named_folder
        self._identity = cache(identity)
        self._around = Surroundings()
        if named_folder is not None:
            self._around.look_in(named_folder, 0)
        if roots is not None:
            self._look_around(roots)
        self._lost_in: dict[str, list[str]] = defaultdict(list)  # a folder's, and it
        for path in self.lost:
            for folder in with_parents(path):
                self._lost_in[folder].append(path)
        self.homes: dict[str, tuple[Candidate, ...]] = {}
        # Folders with several lost projects in them, each moved as a whole:
        self.parents: list[str] = []
        self._find_homes()

    def _find_homes(self) -> None:
        for number, path in enumerate(self.lost):  # sorted: those around come before
            self.survey.tick("lost", number, len(self.lost))
            self.homes[path] = self.candidates(path)
        if self.roots is not None:
            self._find_parents()
        self._doubt_rivals()

    def _look_around(self, roots: Iterable[str]) -> None:
        self.roots = [os.path.realpath(root) for root in roots]
        for root in self.roots:
            self._around.look_in(root, SEARCH_DEPTH)
        for path in self.lost:
            self._around.look_near(path)

    def _find_parents(self) -> None:
        """The outermost of these that were moved with all lost projects in them."""
        for path in self._with_several()[:MOST_PARENTS]:
            around = ancestors(path)
            is_inner = any(parent in around for parent in self.parents)
            if is_inner:
                continue
            candidates = self.candidates(path)
            if candidates and self._is_moved_whole(path, candidates[0]):
                self.parents.append(path)
                self.homes[path] = candidates

    def _with_several(self) -> list[str]:
        """The folders that are gone, are no projects and had several lost ones."""
        folders: list[str] = []
        for key, inside in self._lost_in.items():
            first = inside[0]
            folder = first[: len(key)]
            if len(inside) == 1 or folder in self.lost:
                continue
            if not os.path.isdir(folder):
                folders.append(folder)
        return sorted(folders)

    def _is_moved_whole(self, path: str, candidate: Candidate) -> bool:
        """A folder was moved whole if each lost project in it is in that folder, or
        nothing says where; then it is as sure as they are.

        Comes from a report: of a parent that was renamed each project was asked for.
        """
        is_proven = True
        for project in self.at_or_below(path):
            old = str(project.path)
            best = next(iter(self.homes[old]), None)
            if best is None or best.confidence == "possible":
                is_proven = False
            elif best.path != candidate.path + old[len(path) :]:
                return False
            elif best.confidence != "certain":
                is_proven = False
        candidate.is_proven = is_proven
        return True

    @property
    def looked_in(self) -> list[str]:
        return list(self._around.depths)

    @cached_property
    def _in_use(self) -> set[str]:
        """Every folder that is a project, or has one in it."""
        folders: set[str] = set()
        for path, project in self.survey.by_path.items():
            if project.exists:
                folders.update(ancestors(path))
        return folders

    def candidates(self, path: str) -> tuple[Candidate, ...]:
        """Where the project at a path that is gone may be now, the best first."""
        if path in self.homes:
            return self.homes[path]
        candidates = self._with_signs(path)
        for candidate in candidates:
            self._weigh(path, candidate)
        _doubt_worktrees(candidates)
        candidates = self._worth_naming(candidates)
        candidates.sort(key=self._order)
        del candidates[MOST_CANDIDATES:]
        return tuple(candidates)

    def _worth_naming(self, candidates: list[Candidate]) -> list[Candidate]:
        """Where one is likely or certain, those for which only a name speaks are left
        out, but for the one that somebody named.

        Comes from a first hour: beside the renamed checkout a neighbour was offered,
        whose name happened to be similar.
        """
        if all(candidate.confidence == "possible" for candidate in candidates):
            return candidates
        return [
            candidate
            for candidate in candidates
            if candidate.basis < Basis.NAME or candidate.path == self._named
        ]

    def _with_signs(self, path: str) -> list[Candidate]:
        """Each folder for which something speaks, with the best of that: the state says
        more than git, git more than what is in a folder, and that more than names. What
        only looks alike, and is another project, has no sign.
        """
        ours = self._identity_of(path)
        signs = self._signs(path, ours)
        best_first = sorted(signs, key=itemgetter(1))
        by_path: dict[str, Candidate] = {}
        for new, basis, sign in best_first:
            only_looks = basis >= Basis.INSIDE
            if self._is_nobodys(new):
                continue
            if only_looks and self._is_another(path, new, ours):
                continue
            fresh = Candidate(new, basis)
            candidate = by_path.setdefault(new, fresh)
            if candidate.basis == basis:
                candidate.evidence.append(sign)
        return list(by_path.values())

    def _signs(self, path: str, ours: Identity) -> Iterator[Sign]:
        former = self.survey.former.get(path, {})
        for new, how in former.items():
            basis = Basis.CONVERSATIONS
            if how == MOVED_BY_US:
                basis = Basis.OUR_MOVE
            yield new, basis, how
        if self.roots is None:
            return
        yield from self._same_repository(path, ours)
        yield from self._same_inside(path)
        if path in self.lost:
            yield from self._same_name(path)

    def _order(self, candidate: Candidate) -> tuple[object, ...]:
        is_other = candidate.path != self._named
        return is_other, candidate.rank, candidate.basis, candidate.path

    def _is_another(self, path: str, new: str, ours: Identity) -> bool:
        """A folder is not what the lost project was if a move to it would say so."""
        there = self._identity(new)
        oldest = self._first_session(new)
        newest = self._last_session(path)
        return is_another(ours, there, new, oldest, newest)

    def _first_session(self, path: str) -> int | None:
        project = self.survey.by_path.get(path)
        return project.first_used if project is not None else None

    def _last_session(self, path: str) -> int | None:
        project = self.lost.get(path)
        return project.last_session if project is not None else None

    def _identity_of(self, path: str) -> Identity:
        """A lost project's remotes are those that the config file links with its path,
        its commits those of other clones that are linked with the same.
        """
        links = self.survey.repositories
        remotes: set[str] = set()
        for name in links:
            if path in links[name]:
                remotes.add(name.lower())
        roots: set[str] = set()
        for name in links:
            if name.lower() in remotes:
                for clone in links[name]:
                    roots |= self._identity(clone).roots
        return Identity(frozenset(remotes), frozenset(roots))

    def _is_nobodys(self, folder: str) -> bool:
        """Whether the home is in it, or is it."""
        home = str(self.survey.layout.home)
        return is_root(folder) or tail_below(home, folder) is not None

    def _same_repository(self, path: str, ours: Identity) -> Iterator[Sign]:
        """A checkout with the same remote or root commit is likely the lost project.

        Comes from trials with renamed checkouts: the config file still links the old
        path with the remote.
        """
        if not ours.remotes:
            return
        basis = Basis.SAME_REPOSITORY
        for folder in list(self._around.checkouts)[:MOST_ASKED]:
            there = self._identity(folder)
            remotes = there.remotes & ours.remotes
            if remotes:
                yield folder, basis, f"same remote, {min(remotes)}"
            elif there.roots & ours.roots:
                yield folder, basis, "same root commit"
            elif self._is_renamed(path, folder, there):
                yield folder, Basis.NAME, "its repository was renamed, too"

    def _is_renamed(self, path: str, folder: str, there: Identity) -> bool:
        """A checkout beside the lost project that went on where that one ended may be
        it, though its remote is another.

        Its repository has another name by now, and Claude Code was used in it since. A
        neighbour that only was begun to be used then looks the same, so that its name
        must be similar. Comes from a report: folder and repository were both renamed.
        """
        project = self.survey.by_path.get(folder)
        if project is None or not project.sessions:
            return False
        if not there.remotes:
            return False
        parent, name = os.path.split(path)
        other_parent, other_name = os.path.split(folder)
        if parent != other_parent:
            return False
        if folder != self._named and not _are_similar(name, other_name):
            return False
        last = self._last_session(path)
        return went_on(folder, project.first_used, last)

    def _unknown_in(self, near: str) -> list[str]:
        """Folders that Claude Code does not know; one that is named always counts."""
        folders = self._around.inside[near] - self._in_use
        named = self._named
        if named is not None and os.path.dirname(named) == near:
            folders.add(named)
        return sorted(folders)

    def _same_inside(self, path: str) -> Iterator[Sign]:
        """A folder that has what was in the lost one, by the same relative names, may
        be it.

        All lost projects in it must be there, unless it is lost itself: a part of what
        was in it may have been deleted. Comes from a report: a similar name was offered
        instead.
        """
        near, gone = nearest_folder(path)
        tail = path.removeprefix(gone)
        is_lost = path in self.lost
        folders = self._unknown_in(near)
        if not is_lost:
            folders = self._around.folders[:MOST_LOOKED_AT]
        if self._named is not None and self._named not in folders:
            folders.append(self._named)
        for folder in folders:
            new = folder + tail
            if not tail or not is_lost:
                yield from self._around_others(path, folder)
            elif os.path.isdir(new):
                yield new, Basis.INSIDE, f"{tail[1:]} is in {folder}"

    def _around_others(self, path: str, folder: str) -> Iterator[Sign]:
        """What the lost projects below `path` say for a folder that has them: a
        repository counts most, and another one says that it is another folder.
        """
        signs: list[Sign] = []
        others = self._lost_in[compared(path)]
        for lost in others:
            tail = lost[len(path) :]
            inner = folder + tail
            if not tail:
                continue
            if not os.path.isdir(inner):
                if path in self.lost:
                    continue
                return
            if not signs:
                sign = f"{tail[1:]} is in {folder}"
                if path not in self.lost and len(others) > 1:
                    sign = f"all {len(others)} projects that were in it are there"
                signs.append((folder, Basis.INSIDE, sign))
            ours = self._identity_of(path + tail)
            if self._is_another(path + tail, inner, ours):
                return
            remotes = ours.remotes & self._identity(inner).remotes
            if remotes:
                sign = f"same remote in {inner}, {min(remotes)}"
                signs.append((folder, Basis.SAME_REPOSITORY, sign))
        yield from signs

    def _same_name(self, path: str) -> Iterator[Sign]:
        """A folder of the same name anywhere, or a new one where the lost one was, may
        be it: if its name is similar, if it is the only one, or if it was named.

        A name that many folders have says nothing. Comes from trials with renames
        without git.
        """
        name = os.path.basename(path)
        same = self._around.by_name[name.lower()]
        if len(same) <= COMMON:
            for folder in same:
                yield folder, Basis.NAME, "same folder name"
        near, gone = nearest_folder(path)
        if path != gone:
            return
        new = self._unknown_in(near)
        is_only = len(new) == 1 and len(self._around.gone_from[near]) == 1
        for folder in new:
            project = self.survey.by_path.get(folder)
            if _are_similar(name, os.path.basename(folder)):
                yield folder, Basis.NAME, "a similar name in the same place"
            elif project is not None and project.sessions:
                continue
            elif is_only:
                sign = "the only folder there that Claude Code does not know"
                yield folder, Basis.SAME_PLACE, sign
            elif folder == self._named:
                yield folder, Basis.SAME_PLACE, "its folder was in the same place"

    def _weigh(self, path: str, candidate: Candidate) -> None:
        """A folder with a life of its own while the project was in use is another one;
        one whose reflog goes on through that time is proven.

        Comes from trials: a deleted project was taken for another clone of its
        repository, which was there before or was made afterwards.
        """
        is_around = tail_below(path, candidate.path) is not None
        if is_around or candidate.basis <= Basis.OUR_MOVE:
            return
        first, last = self._time_of_use(path)
        log: Log = []
        if candidate.basis is Basis.SAME_REPOSITORY:
            log = reflog(candidate.path)
        doubt = self._life_of_its_own(path, candidate.path, last)
        if doubt is None and last and log:
            began, how = log[0]
            if last < began and how.startswith(CLONED):
                doubt = "it was cloned after the project was last used"
        if doubt is not None:
            candidate.against.append(doubt)
        elif _goes_through(first, last, log):
            candidate.is_proven = True
            sign = "its reflog has entries of that time"
            candidate.evidence.append(sign)

    def _time_of_use(self, path: str) -> tuple[int, int]:
        """From when to when a lost project was used; of a folder, those in it."""
        projects = self.at_or_below(path)
        if path in self.lost:
            projects = [self.lost[path]]
        firsts = [project.first_used or 0 for project in projects]
        lasts = [project.last_used or 0 for project in projects]
        return min(firsts), max(lasts)

    def _life_of_its_own(self, path: str, new: str, last: int) -> str | None:
        """A folder was there beside the project, which was used `last`, if sessions
        were begun in it before, or if it has had its name since before that.

        Its change time is when it was renamed, or later. Returns what holds, in words.
        """
        first = self._first_session(new)
        if first and (first < last or not last):
            return "it had conversations of its own before that"
        renamed = 0
        for folder in ancestors(new):
            is_around = tail_below(path, folder) is not None
            if not is_around and os.path.exists(folder):
                changed = os.stat(folder).st_ctime_ns
                renamed = max(renamed, changed)
        if renamed < last < time.time_ns():
            return "this folder is older than the last session"
        return None

    def _doubt_rivals(self) -> None:
        """One checkout is not two projects at once: between them the repository can't
        decide. Comes from a trial with two lost clones of one repository.
        """
        by_checkout: dict[str, list[Candidate]] = defaultdict(list)
        for path, project in self.lost.items():
            if not project.sessions:
                continue
            for candidate in self.homes[path]:
                if candidate.basis is Basis.SAME_REPOSITORY:
                    by_checkout[candidate.path].append(candidate)
        doubt = "it could be another lost project as well"
        for rivals in by_checkout.values():
            if len(rivals) == 1:
                continue
            for candidate in rivals:
                candidate.against.append(doubt)

    def at_or_below(self, path: str) -> list[Project]:
        key = compared(path)
        return [self.lost[lost] for lost in self._lost_in.get(key, ())]


def _doubt_worktrees(candidates: list[Candidate]) -> None:
    """A worktree has the same repository as the checkout that it is of: that one comes
    first. Comes from a first hour: a worktree was offered beside its repository.
    """
    undoubted = {one.path for one in candidates if not one.against}
    for candidate in candidates:
        main = main_checkout(candidate.path)
        if main != candidate.path and main in undoubted:
            candidate.against.append(f"it is a worktree of {main}")


def _lost(survey: Survey) -> Iterator[tuple[str, Project]]:
    """Projects whose folder is gone, and of which more is left than an empty
    directory.
    """
    for path, project in survey.by_path.items():
        if project.exists is False and (project.sessions or project.kept):
            yield path, project


def _goes_through(first: int, last: int, log: Log) -> bool:
    """Whether somebody worked there in that time; the clone itself is no work."""
    for moment, what in log:
        is_work = not what.startswith(CLONED)
        if is_work and first <= moment <= last:
            return True
    return False


def _are_similar(one: str, other: str) -> bool:
    """Whether they have a word in common, or most of their letters."""
    one, other = one.lower(), other.lower()
    if set(WORD.findall(one)) & set(WORD.findall(other)):
        return True
    return difflib.SequenceMatcher(None, one, other).ratio() >= SIMILAR


def described(project: Project) -> str:
    sessions = sessions_in_words(project.sessions, project.bytes)
    return ", ".join(sessions + project.kept_in_words)


def nearest_folder(path: str) -> tuple[str, str]:
    """The deepest folder above `path` that exists, and what is gone from it."""
    gone = path
    for folder in ancestors(path):
        if os.path.isdir(folder):
            return folder, gone
        gone = folder
    return PurePath(path).anchor, gone


def _walk(root: str, depth: int) -> Iterator[tuple[str, bool]]:
    """Folders on one disk, and whether each is a checkout,
    whose inside is a part of it.
    """
    waiting = [(root, 0)]
    for folder, level in waiting:
        git = os.path.join(folder, ".git")
        is_checkout = os.path.lexists(git)
        yield folder, is_checkout
        is_end = level > 0 and is_checkout
        if is_end or level == depth:
            continue
        folders = filter(_may_hold_projects, folders_in(folder))
        for path in folders:
            below = path, level + 1
            waiting.append(below)


def _may_hold_projects(path: str) -> bool:
    """Whether it is on the same disk, not hidden, and not what a tool made."""
    name = os.path.basename(path)
    is_of_tool = name.startswith(".") or name in SKIPPED
    return not is_of_tool and not os.path.ismount(path)
