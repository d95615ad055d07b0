"""Projects whose folder is gone: what is kept for them, and where they may be now.

The state itself may say where one went: a move of ours, or its conversations are kept for another
path. The same repository, by remote or root commit, may also be another clone. Anything else only
looks alike: the name, or a folder beside the old place that Claude Code does not know yet.

A deleted project is not a moved one. A folder that had a life of its own while the project was
still in use, or was cloned afterwards, is another one, whatever they have in common.
"""

from __future__ import annotations

import difflib
import os
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache

from ccmove.claude.git import identity
from ccmove.inspect.findings import Basis, Candidate, Choice, CommandLine, Finding
from ccmove.inspect.survey import Project, Survey, Tick, ancestors, folders_in
from ccmove.rewrite.pathmap import tail_below
from ccmove.text import plural, readable_size

MOST_CANDIDATES = 5
MOST_FOLDERS = 20_000  # of one walk
MOST_ASKED = 200  # checkouts of which git is asked
SEARCH_DEPTH = 6
NEAR_DEPTH = 2
COMMON = 20  # a name that so many folders have says nothing
SIMILAR = 0.6  # two names, by difflib
DRIVES = ("/Volumes", "/media", "/mnt", "/run/media")
SKIPPED = {"node_modules", "venv", "site-packages", "target", "dist", "build", "vendor"}
PLACES = {
    "memory": "memory file",
    "prompts": "prompt",
    "config": "config entry",
    "values": "value in the config file",
    "repository": "link of a repository",
    "plugins": "plugin",
    "jobs": "background job",
    "index": "index",
    "aliases": "list of aliases",
}

Sign = tuple[str, Basis, str]  # a folder, how much that says, and what


class Finder:
    """Looks for lost projects; with `roots=None` only where the state says that they are."""

    def __init__(self, survey: Survey, roots: Iterable[str] | None, tick: Tick | None) -> None:
        self.survey = survey
        self.searches = roots is not None
        self.lost = {path: p for path, p in survey.by_path.items() if _is_lost(p)}
        self.homes: dict[str, tuple[Candidate, ...]] = {}  # of each lost project, best first
        self.along: dict[str, str] = {}  # the lost project that a nested one moves with
        self.cut_short: list[str] = []  # roots with more folders than we look at
        self._identity = cache(identity)
        self._remotes: dict[str, dict[str, str]] = defaultdict(dict)  # of a path, by lower case
        for name, paths in survey.lists.repositories.items():
            for path in paths:
                self._remotes[path][name.lower()] = name
        self._gone_from: dict[str, set[str]] = defaultdict(set)  # folder -> what is gone from it
        self._new_in: dict[str, list[str]] = defaultdict(list)  # folder -> what nobody knows in it
        self._checkouts: dict[str, bool] = {}  # every folder that was looked at: is it one?
        self._by_name: dict[str, list[str]] = defaultdict(list)
        self._look_around(roots or ())
        for number, path in enumerate(self.lost):  # sorted: those around come before
            if tick:
                tick(number, len(self.lost))
            self.homes[path] = self._candidates(path)

    def _look_around(self, roots: Iterable[str]) -> None:
        """Where we were told to look, and where each lost project was."""
        look_below = cache(self._look_below)
        for root in roots:
            look_below(os.path.realpath(root), SEARCH_DEPTH)
        for path in self.lost if self.searches else ():
            near, gone = _nearest_folder(path)
            self._gone_from[near].add(gone)
            if near != "/":
                look_below(near, NEAR_DEPTH)
            if near.count("/") > 2:
                look_below(os.path.dirname(near), NEAR_DEPTH)
        known = [path for path, project in self.survey.by_path.items() if project.exists]
        in_use = {folder for path in known for folder in ancestors(path)}
        for folder in self._checkouts:
            self._by_name[os.path.basename(folder).lower()].append(folder)
            if folder not in in_use:
                self._new_in[os.path.dirname(folder)].append(folder)

    def _look_below(self, root: str, depth: int) -> None:
        """Bounded in depth and number, on one disk; what is inside a repository is a part of it."""
        waiting = [(root, 0)]
        for number, (folder, level) in enumerate(waiting):
            if number >= MOST_FOLDERS:
                self.cut_short.append(root)
                return
            is_checkout = os.path.lexists(os.path.join(folder, ".git"))
            self._checkouts[folder] = is_checkout
            if level < depth and not (level and is_checkout):
                waiting += [(path, level + 1) for path in folders_in(folder) if _is_entered(path)]

    # -- evidence ----------------------------------------------------------------------------------

    def _candidates(self, path: str) -> tuple[Candidate, ...]:
        found: dict[str, Candidate] = {}
        for new, basis, sign in self._signs(path):
            candidate = found.setdefault(new, Candidate(new))
            candidate.basis = min(basis, candidate.basis)
            candidate.evidence.append(sign)
        candidates = [candidate for candidate in found.values() if self._may_be(path, candidate)]
        for candidate in candidates:
            if candidate.path not in self.survey.former.get(path, ()):
                candidate.against += self._against(path, candidate.path)
        candidates.sort(key=lambda c: (c.confidence, bool(c.against), -len(c.evidence), c.path))
        return tuple(candidates[:MOST_CANDIDATES])

    def _may_be(self, path: str, candidate: Candidate) -> bool:
        """Neither a folder around the home, nor one that only looks alike and has other remotes."""
        new = candidate.path
        if new in ("/", path) or tail_below(str(self.survey.layout.home), new) is not None:
            return False
        is_other = self._remotes[path] and self._checkouts.get(new) and self._identity(new).remotes
        return candidate.basis < Basis.ALIKE or not is_other

    def _signs(self, path: str) -> Iterator[Sign]:
        stated = self.survey.former.get(path, {})
        yield from ((new, Basis.STATED, how) for new, how in stated.items())
        around = next((p for p in list(ancestors(path))[1:] if self.homes.get(p)), None)
        if around is not None and not stated:
            best = self.homes[around][0]
            new = best.path + path[len(around) :]
            if os.path.isdir(new) or best.settles:
                self.along[path] = around
            if os.path.isdir(new):
                basis = Basis.STATED if best.settles else Basis.ALIKE
                yield new, basis, f"it lies in {around}, which may be {best.path} now"
                return
        if self.searches:
            yield from self._same_repository(path)
            yield from self._looks_alike(path)

    def _same_repository(self, path: str) -> Iterator[Sign]:
        remotes = self._remotes[path]
        clones = {c for name in remotes.values() for c in self.survey.lists.repositories[name]}
        roots = {commit for clone in clones for commit in self._identity(clone).roots}
        checkouts = [folder for folder, is_one in self._checkouts.items() if is_one]
        for folder in checkouts[:MOST_ASKED] if remotes else ():
            there = self._identity(folder)
            for remote in sorted(there.remotes & set(remotes)):
                yield folder, Basis.SAME_REPOSITORY, f"the same remote, {remotes[remote]}"
            if there.roots & roots:
                yield folder, Basis.SAME_REPOSITORY, "the same root commit"

    def _looks_alike(self, path: str) -> Iterator[Sign]:
        """The same name anywhere; and new folders where the project, or one above it, was."""
        same = self._by_name.get(os.path.basename(path).lower(), [])
        for folder in same if len(same) <= COMMON else ():
            yield folder, Basis.ALIKE, "the same folder name"
        near, gone = _nearest_folder(path)
        tail = path[len(gone) :]
        new = [f for f in self._new_in[near] if not tail or os.path.isdir(f + tail)]
        for folder in new:
            if _are_similar(os.path.basename(gone), os.path.basename(folder)):
                yield folder + tail, Basis.ALIKE, "a similar name in the same place"
            elif tail:
                yield folder + tail, Basis.ALIKE, f"{tail[1:]} is in {folder}"
        if len(new) == 1 and len(self._gone_from[near]) == 1:
            yield new[0] + tail, Basis.ALIKE, "the only folder there that Claude Code does not know"

    def _against(self, path: str, new: str) -> Iterator[str]:
        """Signs that the folder led a life of its own while the project was in use."""
        known = self.survey.by_path.get(new)
        first = known.first_used if known is not None else None
        last = self.lost[path].last_used
        if last is None:
            if first is not None:
                yield "it has conversations of its own, and nothing tells when the other was in use"
        elif first is not None and first < last:
            yield "it had conversations of its own while the project was still in use"
        elif last < time.time_ns() and _moved_at(path, new) < last:
            yield "it has been where it is since before the project was last used"
        elif _cloned_at(new) > last:
            yield "it was cloned after the project was last used"

    # -- what is said about it ---------------------------------------------------------------------

    def findings(self, command: CommandLine) -> Iterator[Finding]:
        """One for each lost project."""
        claimed = Counter(c.path for found in self.homes.values() for c in found if c.settles)
        for path, project in self.lost.items():
            candidates, parent = self.homes[path], self.along.get(path)
            kind = "stale-entries" if path not in self.survey.former else "moved-entries"
            kind = "orphan" if project.sessions or "memory" in project.kept else kind
            living = None if any(c.settles for c in candidates) else self._living_around(path)
            if living and living not in [c.path for c in candidates]:
                candidates += (Candidate(living, evidence=["it was a part of it"]),)
            new = candidates[0].path if candidates else "NEW"
            yield Finding(
                "removed-subfolder" if living else kind,
                path,
                _described(project),
                command("doctor", "--fix", parent) if parent else command(path, new),
                details=_not_connected(path),
                names=project.directories,
                candidates=candidates,
                choices=() if parent else tuple(_choices(path, candidates, claimed)),
                along=parent,
            )

    def _living_around(self, path: str) -> str | None:
        """The checkout or project in use in which the path was; the home folder is neither."""
        home = str(self.survey.layout.home)
        for folder in list(ancestors(path))[1:]:
            if tail_below(home, folder) is not None:
                return None
            known = self.survey.by_path.get(folder)
            is_used = known is not None and known.exists and known.sessions
            if is_used or os.path.lexists(os.path.join(folder, ".git")):
                return folder
        return None


def _is_lost(project: Project) -> bool:
    """Its folder is gone, and more is left of it than an empty directory."""
    left = project.sessions or set(project.kept) - {"index", "aliases"}
    return project.is_missing and bool(left)


def _described(project: Project) -> str:
    """What is kept of a project, in words."""
    parts = [plural(project.sessions, "session")] if project.sessions else []
    parts += [readable_size(project.size)] if project.size else []
    parts += [plural(n, PLACES[place]) for place, n in project.kept.items() if place in PLACES]
    return ", ".join(parts) or "nothing but its name"


def _choices(
    path: str, candidates: tuple[Candidate, ...], claimed: Counter[str]
) -> Iterator[Choice]:
    """Sure is a folder that alone has evidence which settles it, and for no other project."""
    settling = [candidate for candidate in candidates if candidate.settles]
    stated = [candidate for candidate in settling if candidate.basis is Basis.STATED]
    for candidate in candidates:
        is_alone = (stated or settling) == [candidate]
        sure = is_alone and (candidate in stated or claimed[candidate.path] == 1)
        label = f"it is {candidate.path} now ({candidate.confidence})"
        yield Choice(label, move=(path, candidate.path), sure=sure)


def _not_connected(path: str) -> tuple[str, ...]:
    """A drive that is not connected is not a deleted folder."""
    near, _ = _nearest_folder(path)
    is_drive = near in DRIVES or os.path.dirname(near) in ("/media", "/run/media")
    return (f"nothing is left of it below {near}: is a drive not connected?",) if is_drive else ()


def _nearest_folder(path: str) -> tuple[str, str]:
    """The deepest folder above `path` that exists, and what is gone from it."""
    near = next((folder for folder in ancestors(path) if os.path.isdir(folder)), "/")
    end = path.find("/", len(near.rstrip("/")) + 1)
    return near, path[:end] if end > 0 else path


def _is_entered(path: str) -> bool:
    name = os.path.basename(path)
    return not name.startswith(".") and name not in SKIPPED and not os.path.ismount(path)


def _are_similar(one: str, other: str) -> bool:
    words, others = (set(re.findall(r"[^\W\d_]{3,}", name.lower())) for name in (one, other))
    ratio = difflib.SequenceMatcher(None, one.lower(), other.lower()).ratio()
    return bool(words & others) or ratio >= SIMILAR


def _moved_at(path: str, new: str) -> int:
    """The latest moment, in ns, at which the folder, or one above it, can have been renamed."""
    own = [folder for folder in ancestors(new) if tail_below(path, folder) is None]
    return max((os.stat(f).st_ctime_ns for f in own if os.path.exists(f)), default=0)


def _cloned_at(folder: str) -> int:
    """When git made its directory there, in ns: some of what is in it is never written again."""
    git = os.path.join(folder, ".git")
    try:
        return min(os.lstat(os.path.join(git, name)).st_mtime_ns for name in os.listdir(git))
    except (OSError, ValueError):
        return 0
