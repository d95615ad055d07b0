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
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from pathlib import PurePath

from ccmove.claude.git import Identity, identity, reflog
from ccmove.claude.owners import folders_in
from ccmove.inspect.survey import Project, Survey, Tick, ancestors
from ccmove.plan.newcomers import is_another, went_on
from ccmove.rewrite.pathmap import is_root, tail_below
from ccmove.text import plural, readable_size

MOST_CANDIDATES = 5
MOST_ASKED = 200  # checkouts of which git is asked
SEARCH_DEPTH = 6
NEAR_DEPTH = 2
COMMON = 20  # a name that so many folders have says nothing
SIMILAR = 0.5  # two names, by difflib
SKIPPED = {"node_modules", "venv", "site-packages", "target", "dist", "build", "vendor"}


class Basis(IntEnum):
    """What says where a lost project is now, the best first: the state itself, git,
    what is in a folder, its name, or only where it is.
    """

    STATED = 0
    SAME_REPOSITORY = 1
    INSIDE = 2
    NAME = 3
    SAME_PLACE = 4


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
        return "certain" if self.is_proven or self.basis is Basis.STATED else "likely"

    @property
    def rank(self) -> tuple[int, bool]:
        return ("certain", "likely", "possible").index(self.confidence), bool(
            self.against
        )


Sign = tuple[str, Basis, str]  # a folder, how much that says, and what


class Finder:
    """Looks for lost projects; with `roots=None` only where the state says that they
    are.

    `named` is a folder of which somebody says that it is the new place of one of them.
    """

    def __init__(
        self,
        survey: Survey,
        roots: Iterable[str] | None = (),
        tick: Tick | None = None,
        named: str | None = None,
    ) -> None:
        self.survey = survey
        # their folder is gone, and more is left of them than an empty directory
        self.lost = {
            path: project
            for path, project in survey.by_path.items()
            if project.exists is False and (project.sessions or project.kept)
        }
        self.looked_in: list[str] = []
        self.homes: dict[str, tuple[Candidate, ...]] = {}
        self.roots = roots and [os.path.realpath(root) for root in roots]
        self._named = named
        self._lost_in: dict[str, list[str]] = defaultdict(list)  # a folder's, and it
        for path in self.lost:
            for folder in ancestors(path):
                self._lost_in[folder].append(path)
        self._identity = cache(identity)
        self._gone_from: dict[str, set[str]] = defaultdict(
            set
        )  # folder -> what is gone from it
        self._by_name: dict[str, list[str]] = defaultdict(list)
        self._new_in: dict[str, list[str]] = defaultdict(
            list
        )  # folder -> what nobody knows in it
        folders = self._look_around()
        self._checkouts = [folder for folder, is_one in folders.items() if is_one][
            :MOST_ASKED
        ]
        in_use = {
            f for p in survey.projects if p.path and p.exists for f in ancestors(p.path)
        }
        for folder in folders:
            self._by_name[os.path.basename(folder).lower()].append(folder)
            if folder not in in_use or folder == named:
                self._new_in[os.path.dirname(folder)].append(folder)
        for number, path in enumerate(self.lost):  # sorted: those around come before
            if tick:
                tick(number, len(self.lost))
            self.homes[path] = self.candidates(path)
        self._doubt_rivals()

    def _look_around(self) -> dict[str, bool]:
        """Folders where we were told to look or a lost project was,
        each: is it a checkout?
        """
        walks = [(self._named, 0)] if self._named is not None else []
        walks += [(root, SEARCH_DEPTH) for root in self.roots or ()]
        for path in self.lost if self.roots is not None else ():
            near, gone = nearest_folder(path)
            self._gone_from[near].add(gone)
            above = os.path.dirname(near) if len(PurePath(near).parts) > 3 else near
            walks += [
                (folder, NEAR_DEPTH) for folder in (near, above) if not is_root(folder)
            ]
        found: dict[str, bool] = {}
        for root, depth in dict.fromkeys(walks):
            self.looked_in.append(root)
            found.update(_walk(root, depth))
        return found

    def candidates(self, path: str) -> tuple[Candidate, ...]:
        """Where the project at a path that is gone may be now, the best first."""
        if path in self.homes:
            return self.homes[path]
        home, ours = str(self.survey.layout.home), self._identity_of(path)
        places: dict[str, Candidate] = {}
        for new, basis, sign in self._signs(path, ours):
            if is_root(new) or tail_below(home, new) is not None:
                continue  # a folder around the home is nobody's
            if basis >= Basis.INSIDE and self._is_another(path, new, ours):
                continue  # it only looks alike
            candidate = places.setdefault(new, Candidate(new, basis))
            if (
                candidate.basis == basis
            ):  # the best comes first, and the rest adds nothing to it
                candidate.evidence.append(sign)
        for candidate in places.values():
            is_around = tail_below(path, candidate.path) is not None
            if candidate.basis is not Basis.STATED and not is_around:
                self._weigh(path, candidate)
        order = sorted(
            places.values(),
            key=lambda c: (c.path != self._named, c.rank, c.basis, c.path),
        )
        return tuple(order[:MOST_CANDIDATES])

    def _is_another(self, path: str, new: str, ours: Identity) -> bool:
        """Whether a folder is not what the lost project was: as for a move to it."""
        there = self.survey.by_path.get(new)
        oldest = there.first_used if there is not None else None
        newest = self._last_session(path)
        return is_another(ours, self._identity(new), new, oldest, newest)

    def _last_session(self, path: str) -> int | None:
        project = self.lost.get(path)
        return project.last_session if project is not None else None

    def _identity_of(self, path: str) -> Identity:
        """What the config file links with a path: its remotes;
        other clones have its commits.
        """
        links = self.survey.repositories
        remotes = {name.lower() for name, paths in links.items() if path in paths}
        clones = {
            c
            for name in links
            if remotes and name.lower() in remotes
            for c in links[name]
        }
        roots = {commit for clone in clones for commit in self._identity(clone).roots}
        return Identity(frozenset(remotes), frozenset(roots))

    def _signs(self, path: str, ours: Identity) -> Iterator[Sign]:
        for new, how in self.survey.former.get(path, {}).items():
            yield new, Basis.STATED, how
        if self.roots is None:
            return
        for folder in self._checkouts if ours.remotes else ():
            there = self._identity(folder)
            if shared := there.remotes & ours.remotes:
                yield folder, Basis.SAME_REPOSITORY, f"same remote, {min(shared)}"
            elif there.roots & ours.roots:
                yield folder, Basis.SAME_REPOSITORY, "same root commit"
            elif self._is_renamed(path, folder, there):
                yield folder, Basis.NAME, "its repository was renamed, too"
        signs = [*self._same_inside(path), *self._same_name(path)]
        yield from sorted(signs, key=lambda sign: sign[1])

    def _same_inside(self, path: str) -> Iterator[Sign]:
        """A folder that has what was in the lost one, by the same relative names.

        All lost projects in it must be there, but for one that is lost itself: a part
        of what was in that may have been deleted. A repository among them says which
        one it is. Comes from a report: a similar name was offered instead.
        """
        near, gone = nearest_folder(path)
        folders = dict.fromkeys(self._new_in[near])
        if self._named is not None:
            folders[self._named] = None
        tail = path[len(gone) :]
        if tail:
            for folder in folders:
                if os.path.isdir(folder + tail):
                    yield folder + tail, Basis.INSIDE, f"{tail[1:]} is in {folder}"
            return
        tails = [lost[len(path) :] for lost in self._lost_in[path] if lost != path]
        for folder in folders:
            there = [tail for tail in tails if os.path.isdir(folder + tail)]
            if there and (path in self.lost or there == tails):
                yield from self._parent(path, folder, there)

    def _parent(self, path: str, folder: str, tails: list[str]) -> Iterator[Sign]:
        """What these projects inside say for a folder; nothing if one is another."""
        remotes: dict[str, str] = {}
        for tail in tails:
            ours = self._identity_of(path + tail)
            if self._is_another(path + tail, folder + tail, ours):
                return
            shared = ours.remotes & self._identity(folder + tail).remotes
            if shared:
                remotes[folder + tail] = min(shared)
        for inner, remote in remotes.items():
            sign = f"same remote in {inner}, {remote}"
            yield folder, Basis.SAME_REPOSITORY, sign
        yield folder, Basis.INSIDE, f"{tails[0][1:]} is in {folder}"

    def _is_renamed(self, path: str, folder: str, there: Identity) -> bool:
        """Whether a checkout beside the lost project went on where that one ended.

        Its repository has another name by now, and Claude Code was used in it since. A
        neighbour that only was begun to be used then looks the same: a name says more.
        """
        known = self.survey.by_path.get(folder)
        if known is None or not known.sessions:
            return False
        if not there.remotes:
            return False
        place, name = os.path.split(path)
        other_place, other_name = os.path.split(folder)
        if place != other_place:
            return False
        if folder != self._named and not _are_similar(name, other_name):
            return False
        last = self._last_session(path)
        return went_on(folder, known.first_used, last)

    def _same_name(self, path: str) -> Iterator[Sign]:
        """The same name anywhere; and new folders where the project,
        or one above it, was.
        """
        same = self._by_name.get(os.path.basename(path).lower(), [])
        if len(same) <= COMMON:
            yield from ((folder, Basis.NAME, "same folder name") for folder in same)
        near, gone = nearest_folder(path)
        if path != gone:
            return
        new = self._new_in[near]
        is_only = len(new) == 1 and len(self._gone_from[near]) == 1
        for folder in new:
            known = self.survey.by_path.get(folder)
            if _are_similar(os.path.basename(gone), os.path.basename(folder)):
                yield folder, Basis.NAME, "a similar name in the same place"
            elif known is not None and known.sessions:
                continue
            elif is_only:
                sign = "the only folder there that Claude Code does not know"
                yield folder, Basis.NAME, sign
            elif folder == self._named:
                yield folder, Basis.SAME_PLACE, "in the same place"

    def _weigh(self, path: str, candidate: Candidate) -> None:
        """What the folder's own past says:
        a life of its own while the project was in use?
        """
        new, known = candidate.path, self.survey.by_path.get(candidate.path)
        lost = [self.lost[path]] if path in self.lost else self.at_or_below(path)
        first = min((project.first_used or 0 for project in lost), default=0)
        last = max((project.last_used or 0 for project in lost), default=0)
        log = reflog(new) if candidate.basis is Basis.SAME_REPOSITORY else []
        own = [
            f
            for f in ancestors(new)
            if tail_below(path, f) is None and os.path.exists(f)
        ]
        renamed = max(
            (os.stat(f).st_ctime_ns for f in own), default=0
        )  # then, or before
        if (
            known is not None
            and known.first_used
            and (known.first_used < last or not last)
        ):
            candidate.against.append("it had conversations of its own before that")
        elif renamed < last < time.time_ns():
            what = "it has been where it is since before the project was last used"
            candidate.against.append(what)
        elif log and 0 < last < log[0][0] and log[0][1].startswith("clone:"):
            candidate.against.append("it was cloned after the project was last used")
        elif any(
            first <= at <= last for at, what in log if not what.startswith("clone:")
        ):
            candidate.is_proven = True
            candidate.evidence.append("its reflog has entries of that time")

    def _doubt_rivals(self) -> None:
        """One checkout is not two projects at once:
        between them the repository can't decide.
        """
        used = [
            self.homes[path] for path, project in self.lost.items() if project.sessions
        ]
        by_git = [
            c for places in used for c in places if c.basis is Basis.SAME_REPOSITORY
        ]
        wanted = Counter(candidate.path for candidate in by_git)
        for candidate in by_git:
            if wanted[candidate.path] > 1:
                candidate.against.append("it could be another lost project as well")

    def at_or_below(self, path: str) -> list[Project]:
        return [self.lost[lost] for lost in self._lost_in.get(path, ())]


def _are_similar(one: str, other: str) -> bool:
    both = difflib.SequenceMatcher(None, one.lower(), other.lower())
    return both.ratio() >= SIMILAR


def described(project: Project) -> str:
    parts = [plural(project.sessions, "session")] if project.sessions else []
    parts += [readable_size(project.bytes)] if project.bytes else []
    return ", ".join([*parts, *project.kept_in_words]) or "nothing but its name"


def nearest_folder(path: str) -> tuple[str, str]:
    """The deepest folder above `path` that exists, and what is gone from it."""
    near = next((folder for folder in ancestors(path) if os.path.isdir(folder)), "")
    near = near or PurePath(path).anchor
    return near, str(PurePath(*PurePath(path).parts[: len(PurePath(near).parts) + 1]))


def _walk(root: str, depth: int) -> Iterator[tuple[str, bool]]:
    """Folders on one disk, and whether each is a checkout,
    whose inside is a part of it.
    """
    waiting = [(root, 0)]
    for folder, level in waiting:
        is_checkout = os.path.lexists(os.path.join(folder, ".git"))
        yield folder, is_checkout
        for path in (
            folders_in(folder) if level < depth and not (level and is_checkout) else ()
        ):
            name = os.path.basename(path)
            if (
                not name.startswith(".")
                and name not in SKIPPED
                and not os.path.ismount(path)
            ):
                waiting.append((path, level + 1))
