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
from functools import cache
from itertools import chain
from operator import itemgetter
from pathlib import PurePath

from ccmove.claude.git import Identity, identity, reflog
from ccmove.claude.gitfiles import main_checkout
from ccmove.claude.owners import folders_in
from ccmove.inspect.survey import (
    KEPT_ELSEWHERE,
    MOVED_BY_US,
    Project,
    Survey,
    ancestors,
)
from ccmove.plan.newcomers import is_another, went_on
from ccmove.rewrite.pathmap import is_root, tail_below, with_parents
from ccmove.rewrite.windows import compared
from ccmove.text import sessions_in_words

MOST_CANDIDATES = 5
MOST_ASKED = 200  # checkouts of which git is asked
MOST_PARENTS = 20  # folders that are gone with several projects
SEARCH_DEPTH = 6
NEAR_DEPTH = 2
COMMON = 20  # a name that so many folders have says nothing
WORD = re.compile(r"[^\W_]{3,}")  # of a folder's name
SIMILAR = 0.6  # two names, by difflib
CLONED = "clone:"  # begins what a reflog says of it
SKIPPED = {"node_modules", "venv", "site-packages", "target", "dist", "build", "vendor"}
UNKNOWN = Project(None, exists=None)
LEVELS = ("certain", "likely", "possible")


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
        if is_certain:
            return "certain"
        return "likely"

    @property
    def rank(self) -> tuple[int, bool, Basis]:
        """To compare by how sure it is, the lower the better."""
        level = LEVELS.index(self.confidence)
        return level, bool(self.against), self.basis


BASES = {MOVED_BY_US: Basis.OUR_MOVE, KEPT_ELSEWHERE: Basis.CONVERSATIONS}
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
        self.roots: list[str] | None = None
        self.lost: dict[str, Project] = {}
        self._lost_in: dict[str, list[str]] = defaultdict(list)  # a folder's, and it
        self._in_use: set[str] = set()  # folders that are projects, or have one in them
        self._sort_projects()
        self._named = {named_folder} if named_folder is not None else set[str]()
        self._identity = cache(identity)
        self.around = Surroundings()
        if roots is not None:
            self._look_around(roots)
        self.homes: dict[str, tuple[Candidate, ...]] = {}
        for number, path in enumerate(self.lost):
            survey.tick("lost", number, len(self.lost))
            self.candidates(path)
        self.parents: list[str] = []
        if roots is not None:
            self._find_parents()
        self._doubt_rivals()

    def _sort_projects(self) -> None:
        """Lost is whose folder is gone, and has more than an empty directory."""
        for path, project in self.survey.by_path.items():
            if project.exists:
                self._in_use.update(ancestors(path))
            if project.exists is not False:
                continue
            if not project.sessions and not project.kept:
                continue
            self.lost[path] = project
            for folder in with_parents(path):
                self._lost_in[folder].append(path)

    def _look_around(self, roots: Iterable[str]) -> None:
        """Where somebody says, and where the lost ones were."""
        self.roots = []
        for typed in roots:
            root = os.path.realpath(typed)
            self.roots.append(root)
            self.around.look_in(root, SEARCH_DEPTH)
        for path in self.lost:
            self.around.look_near(path)
        for folder in self._named:
            self._in_use.discard(folder)
            self.around.look_in(folder, 0)

    def _find_parents(self) -> None:
        """The outermost folders that are gone, are no projects, and were moved with the
        several lost ones that were in them.

        Comes from a report: of a parent that was renamed each project was asked for.
        """
        folders: list[str] = []
        for key, inside in self._lost_in.items():
            first = inside[0]
            folder = first[: len(key)]
            if len(inside) == 1 or folder in self.lost:
                continue
            if not os.path.isdir(folder):
                folders.append(folder)
        folders.sort()
        for folder in folders[:MOST_PARENTS]:
            around = ancestors(folder)
            is_inner = any(parent in around for parent in self.parents)
            if not is_inner and self.candidates(folder):
                self.parents.append(folder)

    def at_or_below(self, path: str) -> list[Project]:
        lost = self._lost_in.get(compared(path), ())
        return [self.lost[inner] for inner in lost]

    def candidates(self, path: str) -> tuple[Candidate, ...]:
        """Where the project at a path that is gone may be now, the best first; of a
        folder that is gone, where all lost projects may be that were in it.

        Where one is likely or certain, those for which only a name speaks are left out,
        but for the one that somebody named. Comes from a first hour: beside the renamed
        checkout a neighbour was offered, whose name happened to be similar.
        """
        if path in self.homes:
            return self.homes[path]
        candidates = self._with_signs(path)
        if path in self.lost:
            for candidate in candidates:
                self._weigh(path, candidate)
            _doubt_worktrees(candidates)
        else:
            candidates = [one for one in candidates if self._is_moved_whole(path, one)]
        candidates.sort(key=lambda candidate: (candidate.rank, candidate.path))
        if candidates and candidates[0].confidence != "possible":
            candidates = [
                candidate
                for candidate in candidates
                if candidate.basis < Basis.NAME or candidate.path in self._named
            ]
        if not self._named:
            del candidates[MOST_CANDIDATES:]
        self.homes[path] = tuple(candidates)
        return self.homes[path]

    def _with_signs(self, path: str) -> list[Candidate]:
        """Each folder for which something speaks, with the best of that: the state says
        more than git, git more than what is in a folder, and that more than names. What
        only looks alike, and is another project, has no sign.
        """
        ours = self._identity_of(path)
        by_path: dict[str, Candidate] = {}
        signs = self._signs(path, ours)
        best_first = sorted(signs, key=itemgetter(1))
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
        for new, how in self.survey.former.get(path, {}).items():
            yield new, BASES[how], how
        yield from self._same_repository(path, ours)
        yield from self._same_inside(path)
        if path in self.lost:
            yield from self._same_name(path)

    def _is_another(self, path: str, new: str, ours: Identity) -> bool:
        """A folder is not what the lost project was if a move to it would say so."""
        there = self._identity(new)
        oldest = self._project(new).first_used
        newest = self._project(path).last_session
        return is_another(ours, there, new, oldest, newest)

    def _is_nobodys(self, folder: str) -> bool:
        """Whether the home is in it, or is it."""
        home = str(self.survey.layout.home)
        return is_root(folder) or tail_below(home, folder) is not None

    def _project(self, path: str) -> Project:
        return self.survey.by_path.get(path, UNKNOWN)

    def _identity_of(self, path: str) -> Identity:
        """A lost project's remotes are those that the config file links with its path,
        its commits those of other clones that are linked with the same.
        """
        links = self.survey.repositories
        remotes: set[str] = set()
        roots: set[str] = set()
        for name in links:
            if path in links[name]:
                remotes.add(name.lower())
        for name in links:
            if name.lower() in remotes:
                for clone in links[name]:
                    roots |= self._identity(clone).roots
        return Identity(frozenset(remotes), frozenset(roots))

    def _same_repository(self, path: str, ours: Identity) -> Iterator[Sign]:
        """A checkout with the same remote or root commit is likely the lost project.

        Comes from trials with renamed checkouts: the config file still links the old
        path with the remote.
        """
        if not ours.remotes:
            return
        basis = Basis.SAME_REPOSITORY
        for folder in list(self.around.checkouts)[:MOST_ASKED]:
            there = self._identity(folder)
            remotes = there.remotes & ours.remotes
            if remotes:
                yield folder, basis, f"same remote, {min(remotes)}"
            elif there.roots & ours.roots:
                yield folder, basis, "same root commit"
            elif there.remotes and self._is_renamed(path, folder):
                yield folder, Basis.NAME, "its repository was renamed, too"

    def _is_renamed(self, path: str, folder: str) -> bool:
        """A checkout beside the lost project that went on where that one ended may be
        it, though its remote is another.

        Claude Code was used in it since. A neighbour that only was begun to be used
        then looks the same, so that its name must be similar. Comes from a report:
        folder and repository were both renamed.
        """
        if os.path.dirname(path) != os.path.dirname(folder):
            return False
        if folder not in self._named and not _are_similar(path, folder):
            return False
        lost = self._project(path)
        there = self._project(folder)
        oldest = there.first_used
        if oldest is None:
            return False
        return went_on(folder, oldest, lost.last_session)

    def _unknown_in(self, above: str) -> set[str]:
        """Folders that Claude Code does not know; one that was named always counts."""
        return self.around.inside[above] - self._in_use

    def _same_inside(self, path: str) -> Iterator[Sign]:
        """A folder that has what was in the one that is gone, by the same relative
        names, may be it; a repository in both says more.

        Where that one was itself lost, a part of what was in it may have been deleted;
        else all has to be there, wherever that is. Comes from a report: a similar name
        was offered instead.
        """
        above, gone = nearest_folder(path)
        is_lost = path in self.lost
        tail = ""
        if is_lost:
            tail = path.removeprefix(gone)
        folders = self._unknown_in(above)
        if not is_lost:
            folders = set(chain(*self.around.inside.values()))
        inside = [path]
        if not tail:
            inside = [lost for lost in self._lost_in[compared(path)] if lost != path]
        for folder in folders | self._named:
            new = folder + tail
            for lost in inside:
                inner = new + lost[len(path) :]
                if not os.path.isdir(inner):
                    if is_lost:
                        continue
                    break
                ours = self._identity_of(lost)
                if self._is_another(lost, inner, ours):
                    continue
                name = os.path.relpath(inner, folder)
                yield new, Basis.INSIDE, f"{name} is in {folder}"
                remotes = ours.remotes & self._identity(inner).remotes
                if remotes and lost != path:
                    sign = f"same remote in {inner}, {min(remotes)}"
                    yield new, Basis.SAME_REPOSITORY, sign

    def _is_moved_whole(self, path: str, candidate: Candidate) -> bool:
        """A folder was moved whole if each lost project in it is in that folder, or
        nothing says where; then it is as sure as they are.

        Comes from a report: of a parent that was renamed each project was asked for.
        """
        is_proven = True
        projects = self.at_or_below(path)
        for project in projects:
            old = str(project.path)
            new = candidate.path + old[len(path) :]
            best = next(iter(self.candidates(old)), None)
            if best is None or best.confidence == "possible":
                is_proven = False
                if candidate.basis <= Basis.OUR_MOVE:
                    continue  # which says where all of it is
                ours = self._identity_of(old)
                if not os.path.isdir(new):
                    return False
                if self._is_another(old, new, ours):
                    return False
                if best is not None and best.path == new:
                    candidate.against = [*best.against]
            elif best.path != new:
                return False
            elif best.confidence != "certain":
                is_proven = False
        if candidate.basis is Basis.INSIDE and len(projects) > 1:
            sign = f"all {len(projects)} projects that were in it are there"
            candidate.evidence = [sign]
        candidate.is_proven = is_proven
        return True

    def _same_name(self, path: str) -> Iterator[Sign]:
        """A folder of the same name anywhere, or a new one where the lost one was, may
        be it: if its name is similar, if it is the only one, or if it was named.

        A name that many folders have says nothing. Comes from trials with renames
        without git.
        """
        name = os.path.basename(path).lower()
        same = self.around.by_name[name]
        if len(same) <= COMMON:
            for folder in same:
                yield folder, Basis.NAME, "same folder name"
        above = os.path.dirname(path)
        new = self._unknown_in(above)
        is_only = len(new) == 1 and len(self.around.gone_from[above]) == 1
        for folder in new:
            if _are_similar(path, folder):
                yield folder, Basis.NAME, "a similar name in the same place"
            elif self._project(folder).first_used:
                continue
            elif is_only:
                sign = "the only folder there that Claude Code does not know"
                yield folder, Basis.SAME_PLACE, sign
            elif folder in self._named:
                yield folder, Basis.SAME_PLACE, "its folder was in the same place"

    def _weigh(self, path: str, candidate: Candidate) -> None:
        """A folder with a life of its own while the project was in use is another one;
        one whose reflog goes on through that time is proven. The clone itself is no
        work.

        Comes from trials: a deleted project was taken for another clone of its
        repository, which was there before or was made afterwards.
        """
        if candidate.basis <= Basis.OUR_MOVE:
            return
        log: Log = []
        if candidate.basis is Basis.SAME_REPOSITORY:
            log = reflog(candidate.path)
        project = self.lost[path]
        first = project.first_used or 0
        last = project.last_used or 0
        doubt = self._life_of_its_own(path, candidate.path, last, log)
        work = [moment for moment, what in log if not what.startswith(CLONED)]
        if doubt is not None:
            candidate.against.append(doubt)
        elif any(first <= moment <= last for moment in work):
            candidate.is_proven = True
            sign = "its reflog has entries of that time"
            candidate.evidence.append(sign)

    def _life_of_its_own(self, path: str, new: str, last: int, log: Log) -> str | None:
        """A folder was there beside the project, which was used `last`, if sessions
        were begun in it before, or if it has had its name since before that; or it was
        made afterwards.

        Its change time is when it was renamed, or later. Returns what holds, in words.
        """
        first = self._project(new).first_used
        if first and (first < last or not last):
            return "it had conversations of its own before that"
        renamed = 0
        for folder in ancestors(new):
            if tail_below(path, folder) is None:
                changed = os.stat(folder).st_ctime_ns
                renamed = max(renamed, changed)
        if renamed < last < time.time_ns():
            return "this folder is older than the last session"
        for moment, what in log[:1]:
            if 0 < last < moment and what.startswith(CLONED):
                return "it was cloned after the project was last used"
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


def _doubt_worktrees(candidates: list[Candidate]) -> None:
    """A worktree has the same repository as the checkout that it is of: that one comes
    first. Comes from a first hour: a worktree was offered beside its repository.
    """
    undoubted = {one.path for one in candidates if not one.against}
    for candidate in candidates:
        main = main_checkout(candidate.path)
        if main != candidate.path and main in undoubted:
            candidate.against.append(f"it is a worktree of {main}")


def _are_similar(path: str, other: str) -> bool:
    """Whether their names have a word in common, or most of their letters."""
    name = os.path.basename(path).lower()
    other_name = os.path.basename(other).lower()
    words = set(WORD.findall(name))
    if not words.isdisjoint(WORD.findall(other_name)):
        return True
    return difflib.SequenceMatcher(None, name, other_name).ratio() >= SIMILAR


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
    """Folders on one disk that are not hidden and not made by a tool, and whether each
    is a checkout, whose inside is a part of it.
    """
    waiting = [(root, 0)]
    for folder, level in waiting:
        git = os.path.join(folder, ".git")
        is_checkout = os.path.lexists(git)
        yield folder, is_checkout
        if level == depth:
            continue
        if level > 0 and is_checkout:
            continue
        for path in folders_in(folder):
            name = os.path.basename(path)
            if name in SKIPPED or name.startswith("."):
                continue
            if not os.path.ismount(path):
                below = path, level + 1
                waiting.append(below)
