"""Where did a project go whose folder is gone? Candidates with their evidence, best first.

Three kinds of evidence, and only the first two can settle it:

- It is the same *checkout*: our own move or its sessions say so, it names its old place itself,
  or its log holds commits that were made in the project's conversations.
- It is the same *repository*: a remote or the root commit. That may also be another clone.
- It only *looks* alike: the folder's name, its branches, the files that the conversations name.

A deleted project is not a moved one. A folder that had a life of its own while the project was
still in use is another clone, whatever they have in common; that speaks against it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ccmove.claude.naming import uncut
from ccmove.claude.reading import open_regular
from ccmove.errors import CcmoveError
from ccmove.inspect.catalogue import SEARCH_DEPTH, Catalogue, Folder
from ccmove.inspect.survey import Project, Survey, ancestors, folders_named
from ccmove.rewrite.history import encoded
from ccmove.rewrite.pathmap import tail_below

Tick = Callable[[int, int], None]

CONFIDENCES = ("certain", "likely", "possible")
MOST_CANDIDATES = 5
MOST_TRANSCRIPTS = 6
MOST_READ = 512 << 10  # of either end of a transcript
MOST_FILES = 30
MOST_ASKED = 200  # checkouts whose root commit is asked for: each takes a run of git
COMMON = 20  # a name that so many folders have says nothing
ENOUGH_FILES = 3
_EVERYBODYS_BRANCHES = frozenset(("", "HEAD", "main", "master", "develop", "dev", "trunk"))
_COMMIT = re.compile(rb"\[[^\s\[\]\"\\]{1,100} (\(root-commit\) )?([0-9a-f]{7,40})\] ")
_CWD = re.compile(rb'"cwd":("(?:[^"\\]|\\.)*")')
_BRANCH = re.compile(rb'"gitBranch":"([^"\\]{1,100})"')


@dataclass(frozen=True)
class Candidate:
    """A folder that may be the new home."""

    path: str
    same_checkout: tuple[str, ...] = ()
    same_repository: tuple[str, ...] = ()
    looks_alike: tuple[str, ...] = ()
    against: tuple[str, ...] = ()

    @property
    def evidence(self) -> tuple[str, ...]:
        return (*self.same_checkout, *self.same_repository, *self.looks_alike)

    @property
    def confidence(self) -> str:
        level = 0 if self.same_checkout else 1 if self.same_repository else 2
        return CONFIDENCES[min(2, level + bool(self.against))]

    @property
    def settles(self) -> bool:
        """Whether its evidence, if no other folder has the like, leaves no doubt."""
        return bool(self.same_checkout or self.same_repository) and not self.against

    @property
    def rank(self) -> tuple[int, bool, int, str]:
        level = CONFIDENCES.index(self.confidence)
        return (level, bool(self.against), -len(self.evidence), self.path)


def is_unambiguous(candidates: tuple[Candidate, ...]) -> bool:
    """Exactly one folder has evidence that settles it, or one is certain and no other is."""
    settling = [candidate for candidate in candidates if candidate.settles]
    certain = [candidate for candidate in settling if candidate.same_checkout]
    return len(certain or settling) == 1


@dataclass
class Traces:
    """What a project's conversations and prompts tell about its folder."""

    files: set[str] = field(default_factory=set)
    commits: set[str] = field(default_factory=set)
    roots: set[str] = field(default_factory=set)  # commits that began a repository
    branches: set[str] = field(default_factory=set)
    folders: set[str] = field(default_factory=set)  # in which a conversation went on


class HomeFinder:
    """Looks for new homes; the folders are walked through once for all projects."""

    def __init__(self, survey: Survey, roots: Iterable[str] = ()) -> None:
        self.survey = survey
        self.catalogue = Catalogue()
        self._roots = tuple(roots)
        self._listing: dict[str, list[str]] = {}

    def find(
        self, lost: Iterable[Project], tick: Tick | None = None
    ) -> dict[str, tuple[Candidate, ...]]:
        """For each lost project its candidates; nested ones go along with their parent."""
        wanted = sorted(lost, key=lambda project: project.path or "")
        self._fill(wanted, tick)
        found: dict[str, tuple[Candidate, ...]] = {}
        for number, project in enumerate(wanted):
            if tick:
                tick(number, len(wanted))
            if project.path is not None:
                found[project.path] = self._candidates(project, project.path, found)
        return found

    def _fill(self, wanted: list[Project], tick: Tick | None) -> None:
        for root in self._roots if wanted else ():
            self.catalogue.add_tree(os.path.realpath(root), SEARCH_DEPTH)
        for project in wanted:
            if tick:
                tick(0, len(wanted))
            self.catalogue.add_neighbourhood(project.path or "/")
        if wanted:
            for known in self.survey.projects:
                if known.path is not None and known.exists:
                    self.catalogue.add(known.path)

    def _candidates(
        self, project: Project, path: str, found: dict[str, tuple[Candidate, ...]]
    ) -> tuple[Candidate, ...]:
        signs = _Signs()
        for new, how in self.survey.former.get(path, {}).items():
            signs.checkout(new, how)
        self._along_with_parent(path, found, signs)
        if self.catalogue.folders:
            self._compare(project, path, signs)
        home = str(self.survey.layout.home)
        candidates = [
            candidate
            for candidate in signs.candidates(lambda new: list(self._against(project, path, new)))
            if tail_below(home, candidate.path) is None and candidate.path != "/"
        ]
        return tuple(sorted(candidates, key=lambda c: c.rank)[:MOST_CANDIDATES])

    def _along_with_parent(
        self, path: str, found: dict[str, tuple[Candidate, ...]], signs: _Signs
    ) -> None:
        for parent in list(ancestors(path))[1:]:
            for best in found.get(parent, ())[:1]:
                new = best.path + path[len(parent) :]
                if os.path.isdir(new):
                    sign = f"it lies in {parent}, which may be {best.path} now"
                    (signs.checkout if best.settles else signs.alike)(new, sign)
                    return

    def _compare(self, project: Project, path: str, signs: _Signs) -> None:
        traces = self._traces(project, path)
        self._compare_checkouts(path, traces, signs)
        self._compare_repositories(path, traces, signs)
        self._compare_names(path, signs)
        for new in sorted(traces.folders):
            if tail_below(new, path) is None and os.path.isdir(new):
                signs.alike(new, "a conversation of it went on there")
        self._compare_files(traces, signs)
        for new in signs.paths():
            folder = self.catalogue.folders.get(new)
            if folder is not None and folder.checkout is not None:
                for branch in sorted(traces.branches & folder.checkout.branches)[:1]:
                    signs.alike(new, f"has the branch {branch}")

    def _compare_checkouts(self, path: str, traces: Traces, signs: _Signs) -> None:
        for folder in self.catalogue.by_former_place.get(path, ()):
            signs.checkout(folder.path, f"{folder.former_places[path]} says it was the old path")
        hits: dict[str, int] = {}
        for commit in traces.commits | traces.roots:
            for folder in self.catalogue.by_commit.get(commit[:7], ()):
                assert folder.checkout is not None
                if any(made.startswith(commit) for made in folder.checkout.commits_made_here):
                    hits[folder.path] = hits.get(folder.path, 0) + 1
        for new, number in hits.items():
            what = "a commit that its conversations name was"
            if number > 1:
                what = f"{number} commits that its conversations name were"
            signs.checkout(new, f"{what} made there")

    def _compare_repositories(self, path: str, traces: Traces, signs: _Signs) -> None:
        roots = set(traces.roots)
        for repository, paths in self.survey.listed.repositories.items():
            if path not in paths:
                continue
            for folder in self.catalogue.by_remote.get(repository.lower(), ()):
                signs.repository(folder.path, f"the same remote, {repository}")
            roots |= self._root_commits(paths)
        for folder in self.catalogue.checkouts[:MOST_ASKED] if roots else ():
            assert folder.checkout is not None
            if any(commit.startswith(tuple(roots)) for commit in folder.checkout.root_commits):
                signs.repository(folder.path, "the same root commit")

    def _root_commits(self, clones: tuple[str, ...]) -> set[str]:
        """The lost folder's root commit was that of any other clone of its repository."""
        roots: set[str] = set()
        for clone in clones:
            folder = self.catalogue.folders.get(clone)
            if folder is not None and folder.checkout is not None:
                roots |= folder.checkout.root_commits
        return roots

    def _compare_names(self, path: str, signs: _Signs) -> None:
        name = os.path.basename(path)
        same = self.catalogue.by_name.get(name.lower(), ())
        for folder in same if len(same) <= COMMON else ():
            exact = "the same folder name" if folder.name == name else "the same name but for case"
            signs.alike(folder.path, exact)
        for new in folders_named(uncut(path), self._listing):
            if new != path:
                signs.alike(new, "Claude Code keeps both under one name")

    def _compare_files(self, traces: Traces, signs: _Signs) -> None:
        """Only names that few folders have lead to a folder; then all files count."""
        near: set[str] = set(signs.paths())
        for file in traces.files:
            having = self.catalogue.by_entry.get(file.partition("/")[0], ())
            if len(having) <= COMMON:
                near.update(folder.path for folder in having)
        for new in sorted(near):
            there = sum(os.path.lexists(os.path.join(new, file)) for file in traces.files)
            if there:
                sign = f"has {there} of {len(traces.files)} files that its conversations name"
                if there >= ENOUGH_FILES or new in signs.paths():
                    signs.alike(new, sign)

    # -- against --------------------------------------------------------------------------------

    def _against(self, project: Project, path: str, new: str) -> Iterator[str]:
        """Signs that the folder led a life of its own while the project was in use."""
        last = project.last_used
        if self._is_stated(path, new):
            return
        known = self.survey.by_path.get(new)
        first = known.first_used if known is not None else None
        if last is None:
            if first is not None:
                yield "it has conversations of its own, and nothing tells when the other was in use"
        elif first is not None and first < last:
            yield "it had conversations of its own while the project was still in use"
        elif last < time.time_ns() and self._moved_at(path, new) < last:
            yield "it has been where it is since before the project was last used"

    def _is_stated(self, path: str, new: str) -> bool:
        """Whether the state, or the folder itself, says that it was at the old path."""
        folder = self.catalogue.folders.get(new)
        stated = folder is not None and path in folder.former_places
        return stated or new in self.survey.former.get(path, {})

    def _moved_at(self, path: str, new: str) -> int:
        """The latest moment at which the folder, or one above it, can have been renamed."""
        moments = [0]
        for folder in ancestors(new):
            if tail_below(path, folder) is not None:
                break
            moments.append(Folder(folder, frozenset()).moved_at)
        return max(moments)

    # -- traces -----------------------------------------------------------------------------------

    def _traces(self, project: Project, path: str) -> Traces:
        traces = Traces()
        named = self.survey.listed.mentions.get(path, ())
        traces.files.update(name for name in named if "." in name or "/" in name)
        for block in self._conversations(project, path):
            for is_root, commit in _COMMIT.findall(block):
                (traces.roots if is_root else traces.commits).add(commit.decode())
            branches = {found.decode("utf-8", "replace") for found in _BRANCH.findall(block)}
            traces.branches |= branches - _EVERYBODYS_BRANCHES
            with contextlib.suppress(ValueError):
                last = _CWD.findall(block)[-1:] or [b'""']
                traces.folders.add(json.loads(last[0].decode("utf-8", "replace")))
            for file in _files_named(block, path):
                if len(traces.files) < MOST_FILES:
                    traces.files.add(file)
        return traces

    def _conversations(self, project: Project, path: str) -> Iterator[bytes]:
        """Both ends of the newest transcripts."""
        newest = []
        for name in project.directories:
            directory = self.survey.directory_by_name[name]
            newest += [
                (directory.entries[item.name].newest, directory.path / item.name)
                for item in directory.entries_of(path)
                if item.is_transcript
            ]
        for _, transcript in sorted(newest, reverse=True)[:MOST_TRANSCRIPTS]:
            yield from _both_ends(transcript)


def _both_ends(transcript: Path) -> Iterator[bytes]:
    try:
        fd = open_regular(transcript)
    except (CcmoveError, OSError):
        return  # the survey has named it as a problem
    if fd is None:
        return
    try:
        yield os.pread(fd, MOST_READ, 0)
        size = os.fstat(fd).st_size
        if size > MOST_READ:
            yield os.pread(fd, MOST_READ, max(MOST_READ, size - MOST_READ))
    finally:
        os.close(fd)


def _files_named(block: bytes, path: str) -> Iterator[str]:
    """Files below `path` that the text names, relative to it."""
    start = re.escape(encoded(path)[1:-1] + b"/")
    for found in re.finditer(start + rb'([^"\\\s:*?<>|()\x00-\x1f]{1,300})', block):
        name = found[1].decode("utf-8", "replace").rstrip("/.,;'`")
        if name and "\ufffd" not in name and not name.startswith((".git/", "node_modules/", "..")):
            yield name


class _Signs:
    """Evidence as it is found, by folder."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[list[str], list[str], list[str]]] = {}

    def checkout(self, path: str, sign: str) -> None:
        self._add(path, 0, sign)

    def repository(self, path: str, sign: str) -> None:
        self._add(path, 1, sign)

    def alike(self, path: str, sign: str) -> None:
        self._add(path, 2, sign)

    def _add(self, path: str, kind: int, sign: str) -> None:
        signs = self._found.setdefault(path, ([], [], []))[kind]
        if sign not in signs:
            signs.append(sign)

    def paths(self) -> list[str]:
        return list(self._found)

    def candidates(self, against: Callable[[str], list[str]]) -> Iterator[Candidate]:
        for path, (same_checkout, same_repository, alike) in self._found.items():
            yield Candidate(
                path,
                tuple(same_checkout),
                tuple(same_repository),
                tuple(alike),
                tuple(against(path)),
            )
