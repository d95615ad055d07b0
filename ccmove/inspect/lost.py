"""Where did a project go whose folder is gone? Candidates with their evidence, best first.

The state itself may say where a project went: a move of ours, or its conversations are kept for
another path. The same repository, by remote or root commit, may also be another clone. Anything
else only looks alike: the name, the files that conversations name, a folder beside the old place
that Claude Code does not know yet.

A deleted project is not a moved one. A folder that had a life of its own while the project was
still in use, or was cloned afterwards, is another one, whatever they have in common.
"""

from __future__ import annotations

import difflib
import os
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from ccmove.claude.git import identity
from ccmove.claude.naming import uncut
from ccmove.claude.reading import open_regular
from ccmove.errors import CcmoveError
from ccmove.inspect.findings import Candidate
from ccmove.inspect.survey import Project, Survey, Tick, ancestors, folders_in, folders_named
from ccmove.rewrite.history import encoded
from ccmove.rewrite.pathmap import tail_below

MOST_CANDIDATES = 5
MOST_FOLDERS = 20_000  # of one walk
SEARCH_DEPTH = 6
NEAR_DEPTH = 2
MOST_ASKED = 200  # checkouts of which git is asked
MOST_TRANSCRIPTS = 6
MOST_READ = 512 << 10  # of either end of a transcript
MOST_FILES = 30
ENOUGH_FILES = 3
COMMON = 20  # a name that so many folders have says nothing
ALIKE = 0.6  # of two names, by difflib
_SKIPPED = frozenset(
    ("node_modules", "__pycache__", "venv", "site-packages", "target", "dist", "build", "vendor")
)
_ROOT_COMMIT = re.compile(rb"\[[^\s\[\]\"\\]{1,100} \(root-commit\) ([0-9a-f]{7,40})\] ")

Homes = dict[str, tuple[Candidate, ...]]


# -- the search ----------------------------------------------------------------------------------


class _Found(dict[str, Candidate]):
    """Folders with the evidence for them, as it is found."""

    def __missing__(self, path: str) -> Candidate:
        self[path] = Candidate(path)
        return self[path]


class Finder:
    """Looks for lost projects; the folders are walked through once for all of them."""

    def __init__(self, survey: Survey, roots: Iterable[str] = ()) -> None:
        self.survey = survey
        self._roots = [os.path.realpath(root) for root in roots]
        self.cut_short: list[str] = []  # roots with more folders than we look at
        self.folders: dict[str, bool] = {}  # those that were looked at: is it a checkout?
        self.by_name: dict[str, list[str]] = defaultdict(list)
        self._walked: set[tuple[str, int]] = set()
        self._listings: dict[str, list[str]] = {}
        self._siblings = cache(folders_in)
        self._identity = cache(identity)
        self._unknown_in = cache(self._unknown_folders)
        known = [project.path or "" for project in survey.projects if project.exists]
        self._in_use = {folder for path in known for folder in ancestors(path)}
        self._repositories: dict[str, list[str]] = defaultdict(list)  # by the path of each clone
        for repository, paths in survey.lists.repositories.items():
            for path in paths:
                self._repositories[path].append(repository)
        self._gone_from: dict[str, set[str]] = defaultdict(set)  # folder -> what is gone from it

    def find(self, lost: Iterable[Project], tick: Tick | None = None) -> Homes:
        """For each lost project its candidates, best first; nested ones move with their parent."""
        wanted = sorted(lost, key=lambda project: project.path or "")
        for root in self._roots:
            self._walk(root, SEARCH_DEPTH)
        for project in wanted:
            near = nearest_folder(project.path or "/")
            self._gone_from[near].add(_first_gone(near, project.path or ""))
            for base, least in ((near, 1), (os.path.dirname(near), 2)):
                if base.count("/") >= least and base != "/":
                    self._walk(base, NEAR_DEPTH)
        found: Homes = {}
        for number, project in enumerate(wanted):
            if tick:
                tick(number, len(wanted))
            found[project.path or ""] = self._candidates(project, project.path or "", found)
        return found

    def _walk(self, root: str, depth: int) -> None:
        """Bounded in depth and number, on one disk; what is inside a repository is a part of it."""
        if (root, depth) in self._walked:
            return
        self._walked.add((root, depth))
        waiting = [(root, 0)]
        for number, (folder, level) in enumerate(waiting):
            if number >= MOST_FOLDERS:
                self.cut_short.append(root)
                return
            is_checkout = os.path.lexists(os.path.join(folder, ".git"))
            if folder not in self.folders:
                self.folders[folder] = is_checkout
                self.by_name[os.path.basename(folder).lower()].append(folder)
            if level < depth and not (level and is_checkout):
                below = [path for path in self._siblings(folder) if _is_entered(path)]
                waiting += [(path, level + 1) for path in below]

    def _candidates(self, project: Project, path: str, found: Homes) -> tuple[Candidate, ...]:
        signs = _Found()
        for new, how in self.survey.former.get(path, {}).items():
            signs[new].stated.append(how)
        if not self._with_parent(path, found, signs):
            conversations = _conversations(self.survey, project, path)
            self._same_repository(path, conversations, signs)
            self._same_name(path, signs)
            self._beside(path, conversations, signs)
        home = str(self.survey.layout.home)
        candidates = [
            candidate
            for new, candidate in signs.items()
            if tail_below(home, new) is None and new not in ("/", path)
            if candidate.settles or not self._is_other_repository(path, new)
        ]
        for candidate in candidates:
            candidate.against += self._against(project, path, candidate.path)
        return tuple(sorted(candidates, key=lambda c: c.rank)[:MOST_CANDIDATES])

    def _with_parent(self, path: str, found: Homes, signs: _Found) -> bool:
        """Whether the lost project that this one was in may be where this one is in it, too."""
        for parent in list(ancestors(path))[1:]:
            for best in found.get(parent, ())[:1]:
                new = best.path + path[len(parent) :]
                if os.path.isdir(new):
                    sign = f"it lies in {parent}, which may be {best.path} now"
                    (signs[new].stated if best.settles else signs[new].looks_alike).append(sign)
                    return True
        return False

    # -- the same repository ---------------------------------------------------------------------

    def _same_repository(self, path: str, texts: list[bytes], signs: _Found) -> None:
        remotes = {name.lower(): name for name in self._repositories[path]}
        roots = {commit.decode() for text in texts for commit in _ROOT_COMMIT.findall(text)}
        for name in remotes.values():  # the lost folder's first commit was that of any other clone
            for clone in self.survey.lists.repositories[name]:
                roots |= self._identity(clone).roots
        if not remotes and not roots:
            return
        checkouts = [folder for folder, is_checkout in self.folders.items() if is_checkout]
        for folder in checkouts[:MOST_ASKED]:
            is_ = self._identity(folder)
            for remote in sorted(is_.remotes & set(remotes)):
                signs[folder].same_repository.append(f"the same remote, {remotes[remote]}")
            if any(commit.startswith(tuple(roots)) for commit in is_.roots):
                signs[folder].same_repository.append("the same root commit")

    def _is_other_repository(self, path: str, new: str) -> bool:
        """Whether both have known remotes, and none in common: else that would settle it."""
        is_known = bool(self._repositories[path] and self.folders.get(new))
        return is_known and bool(self._identity(new).remotes)

    # -- what looks alike ------------------------------------------------------------------------

    def _same_name(self, path: str, signs: _Found) -> None:
        name = os.path.basename(path)
        same = self.by_name.get(name.lower(), ())
        for folder in same if len(same) <= COMMON else ():
            is_same = os.path.basename(folder) == name
            sign = "the same folder name" if is_same else "the same name but for case"
            signs[folder].looks_alike.append(sign)
        for new in folders_named(uncut(path), self._listings):
            signs[new].looks_alike.append("Claude Code keeps both under one name")

    def _beside(self, path: str, texts: list[bytes], signs: _Found) -> None:
        """Folders where the project, or one above it, was, if Claude Code does not know them."""
        near = nearest_folder(path)
        gone = _first_gone(near, path)
        tail = path[len(gone) :]
        beside = self._unknown_in(near)
        unknown = [folder + tail for folder in beside if not tail or os.path.isdir(folder + tail)]
        files = _files_named(texts, path) if unknown or signs else []
        for new in dict.fromkeys([*unknown, *signs]):
            there = sum(os.path.lexists(os.path.join(new, file)) for file in files)
            if there:
                sign = f"has {there} of {len(files)} files that its conversations name"
                signs[new].looks_alike.append(sign)
                signs[new].has_its_files = there >= ENOUGH_FILES and 2 * there > len(files)
        for new in unknown:
            folder = new.removesuffix(tail)
            if _are_alike(os.path.basename(gone), os.path.basename(folder)):
                signs[new].looks_alike.append("a similar name in the same place")
            elif tail:
                signs[new].looks_alike.append(f"{tail[1:]} is in {folder}")
        if len(unknown) == 1 and len(self._gone_from[near]) == 1:
            signs[unknown[0]].looks_alike.append(
                "the only folder there that Claude Code does not know"
            )

    def _unknown_folders(self, near: str) -> list[str]:
        return [f for f in self._siblings(near) if f not in self._in_use and _is_entered(f)]

    # -- against ---------------------------------------------------------------------------------

    def _against(self, project: Project, path: str, new: str) -> Iterator[str]:
        """Signs that the folder led a life of its own while the project was in use."""
        last = project.last_used
        if new in self.survey.former.get(path, {}):
            return
        known = self.survey.by_path.get(new)
        first = known.first_used if known is not None else None
        if last is None:
            if first is not None:
                yield "it has conversations of its own, and nothing tells when the other was in use"
        elif first is not None and first < last:
            yield "it had conversations of its own while the project was still in use"
        elif last < time.time_ns() and _moved_at(path, new) < last:
            yield "it has been where it is since before the project was last used"
        elif _cloned_at(new) > last:
            yield "it was cloned after the project was last used"


def nearest_folder(path: str) -> str:
    """The deepest folder above `path` that exists."""
    return next((folder for folder in ancestors(path) if os.path.isdir(folder)), "/")


def _first_gone(near: str, path: str) -> str:
    """The folder in `near` that `path` was, or was in."""
    end = path.find("/", len(near.rstrip("/")) + 1)
    return path[:end] if end > 0 else path


def _is_entered(path: str) -> bool:
    name = os.path.basename(path)
    return not name.startswith(".") and name not in _SKIPPED and not os.path.ismount(path)


def _are_alike(one: str, other: str) -> bool:
    words, others = (set(re.findall(r"[^\W\d_]{3,}", name.lower())) for name in (one, other))
    ratio = difflib.SequenceMatcher(None, one.lower(), other.lower()).ratio()
    return bool(words & others) or ratio >= ALIKE


def _moved_at(path: str, new: str) -> int:
    """The latest moment, in ns, at which the folder, or one above it, can have been renamed."""
    moments = [0]
    for folder in ancestors(new):
        if tail_below(path, folder) is not None:
            break
        try:
            moments.append(os.stat(folder).st_ctime_ns)  # a rename is never later
        except OSError:
            continue
    return max(moments)


def _cloned_at(folder: str) -> int:
    """When git made its directory there, in ns: some of what is in it is never written again."""
    git = os.path.join(folder, ".git")
    try:
        names = os.listdir(git) if os.path.isdir(git) else []
        return min(os.lstat(os.path.join(git, name)).st_mtime_ns for name in names)
    except (OSError, ValueError):
        return 0


# -- conversations -------------------------------------------------------------------------------


def _conversations(survey: Survey, project: Project, path: str) -> list[bytes]:
    """Both ends of the newest transcripts."""
    newest = [
        (directory.entries[item.name].newest, directory.path / item.name)
        for directory in map(survey.directory_by_name.__getitem__, project.directories)
        for item in directory.items_of(path)
        if item.is_transcript
    ]
    transcripts = [file for _, file in sorted(newest, reverse=True)[:MOST_TRANSCRIPTS]]
    return [block for file in transcripts for block in _both_ends(file)]


def _both_ends(transcript: Path) -> list[bytes]:
    try:
        fd = open_regular(transcript)
    except (CcmoveError, OSError):
        return []  # the survey has named it as a problem
    if fd is None:
        return []
    try:
        size = os.fstat(fd).st_size
        tail = os.pread(fd, MOST_READ, max(MOST_READ, size - MOST_READ))
        return [os.pread(fd, MOST_READ, 0), tail]
    finally:
        os.close(fd)


def _files_named(texts: list[bytes], path: str) -> list[str]:
    """Some files below `path` that the conversations name, relative to it."""
    start = re.escape(encoded(path)[1:-1] + b"/")
    found: dict[str, None] = {}
    for text in texts:
        for match in re.finditer(start + rb'([^"\\\s:*?<>|()\x00-\x1f]{1,300})', text):
            name = match[1].decode("utf-8", "replace").rstrip("/.,;'`")
            is_own = not name.startswith((".git/", "node_modules/", ".."))
            if name and "\ufffd" not in name and is_own:
                found[name] = None
    return list(found)[:MOST_FILES]
