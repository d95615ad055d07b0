"""Projects whose folder is gone: what is kept for them, and where they may be now.

Three things can tell. The state itself: a move of ours, or its conversations are kept for another
path. The same repository, by remote or root commit. And the name, which only says "possible".

A deleted project is not a moved one, and another clone of its repository is no proof: a folder
that had a life of its own while the project was in use, or was cloned afterwards, is another one.
That a folder's own reflog goes on through the time when the project was in use is proof enough.
"""

import contextlib
import datetime
import difflib
import os
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice

from ccmove.claude.git import identity, reflog
from ccmove.claude.naming import encode
from ccmove.errors import CcmoveError
from ccmove.inspect.findings import Basis, Candidate, CommandLine, Finding
from ccmove.inspect.survey import Project, Survey, Tick, ancestors, folders_in
from ccmove.inspect.turns import read_turns
from ccmove.rewrite.pathmap import tail_below
from ccmove.text import plural, readable_size

MOST_CANDIDATES = 5
MOST_FOLDERS = 20_000  # of one walk
MOST_ASKED = 200  # checkouts of which git is asked
SEARCH_DEPTH = 6
NEAR_DEPTH = 2
COMMON = 20  # a name that so many folders have says nothing
SIMILAR = 0.6  # two names, by difflib
SAME_PLACE = "in the same place"
DRIVES = ("/Volumes", "/media", "/mnt", "/run/media")
SKIPPED = {"node_modules", "venv", "site-packages", "target", "dist", "build", "vendor"}
PLACES = {
    "memory": "memory file",
    "prompts": "prompt",
    "config": "config entry",
    "values": "value in the config file",
    "repository": "GitHub repo link",
    "plugins": "plugin",
    "jobs": "background job",
    "index": "index",
    "aliases": "list of aliases",
}

Sign = tuple[str, Basis, str]  # a folder, how much that says, and what


class Finder:
    """Looks for lost projects; with `roots=None` only where the state says that they are.

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
        self.lost = {  # their folder is gone, and more is left of them than an empty directory
            path: project
            for path, project in survey.by_path.items()
            if project.is_missing and (project.sessions or set(project.kept) - {"index", "aliases"})
        }
        self.along: dict[str, str] = {}  # the lost project that a nested one moves with
        self.looked_in: list[str] = []
        self.notes: list[str] = []
        self._homes: dict[str, tuple[Candidate, ...]] = {}
        self._searches = roots is not None
        self._roots = [os.path.realpath(root) for root in roots or ()]
        self._named = named
        self._identity = cache(identity)
        self._gone_from: dict[str, set[str]] = defaultdict(set)  # folder -> what is gone from it
        self._by_name: dict[str, list[str]] = defaultdict(list)
        self._new_in: dict[str, list[str]] = defaultdict(list)  # folder -> what nobody knows in it
        folders = self._look_around()
        self._checkouts = [folder for folder, is_one in folders.items() if is_one][:MOST_ASKED]
        in_use = {f for p in survey.projects if p.path and p.exists for f in ancestors(p.path)}
        for folder in folders:
            self._by_name[os.path.basename(folder).lower()].append(folder)
            if folder not in in_use or folder == named:
                self._new_in[os.path.dirname(folder)].append(folder)
        for number, path in enumerate(self.lost):  # sorted: those around come before
            if tick:
                tick(number, len(self.lost))
            self._homes[path] = self.candidates(path)
        self._doubt_rivals()

    def _look_around(self) -> dict[str, bool]:
        """Folders where we were told to look or a lost project was, each: is it a checkout?"""
        walks = [(self._named, 0)] if self._named is not None else []
        walks += [(root, SEARCH_DEPTH) for root in self._roots]
        for path in self.lost if self._searches else ():
            near, gone = nearest_folder(path)
            self._gone_from[near].add(gone)
            above = os.path.dirname(near) if near.count("/") > 2 else "/"
            walks += [(folder, NEAR_DEPTH) for folder in (near, above) if folder != "/"]
        found: dict[str, bool] = {}
        for root, depth in dict.fromkeys(walks):
            self.looked_in.append(root)
            below = list(islice(_walk(root, depth), MOST_FOLDERS + 1))
            found.update(below[:MOST_FOLDERS])
            if len(below) > MOST_FOLDERS:
                what = "holds more folders than are looked at; name a smaller one with --search"
                self.notes.append(f"{root} {what}")
        return found

    def candidates(self, path: str) -> tuple[Candidate, ...]:
        """Where the project at a path that is gone may be now, the best first."""
        if path in self._homes:
            return self._homes[path]
        repositories = self.survey.lists.repositories
        remotes = {name.lower(): name for name, paths in repositories.items() if path in paths}
        found: dict[str, Candidate] = {}
        for new, basis, sign in self._signs(path, remotes):
            if new == "/" or tail_below(str(self.survey.layout.home), new) is not None:
                continue  # a folder around the home is nobody's
            theirs = self._identity(new).remotes if basis is Basis.NAME and remotes else set()
            if theirs and theirs.isdisjoint(remotes):
                continue  # it only looks alike
            candidate = found.setdefault(new, Candidate(new, basis))
            if candidate.basis == basis:  # the best comes first, and the rest adds nothing to it
                candidate.evidence.append(sign)
        for candidate in found.values():
            if candidate.basis is not Basis.STATED:
                self._weigh(path, candidate)
        order = sorted(
            found.values(), key=lambda c: (c.path != self._named, c.rank, -len(c.evidence), c.path)
        )
        return tuple(order[:MOST_CANDIDATES])

    def _signs(self, path: str, remotes: dict[str, str]) -> Iterator[Sign]:
        stated = self.survey.former.get(path, {})
        yield from ((new, Basis.STATED, how) for new, how in stated.items())
        around = next((p for p in ancestors(os.path.dirname(path)) if self._homes.get(p)), None)
        if around is not None and not stated:
            best = self._homes[around][0]
            new = best.path + path[len(around) :]
            if os.path.isdir(new) or best.confidence != "possible":
                self.along[path] = around
            if os.path.isdir(new):
                basis = Basis.NAME if best.confidence == "possible" else Basis.STATED
                yield new, basis, f"inside {around}, probably now {best.path}"
                return
        if self._searches:
            yield from self._same_repository(remotes)
            yield from self._same_name(path)

    def _same_repository(self, remotes: dict[str, str]) -> Iterator[Sign]:
        clones = {c for name in remotes.values() for c in self.survey.lists.repositories[name]}
        roots = {commit for clone in clones for commit in self._identity(clone).roots}
        for folder in self._checkouts if remotes else ():
            there = self._identity(folder)
            for remote in sorted(there.remotes & set(remotes)):
                yield folder, Basis.SAME_REPOSITORY, f"same remote, {remotes[remote]}"
            if there.roots & roots:
                yield folder, Basis.SAME_REPOSITORY, "same root commit"

    def _same_name(self, path: str) -> Iterator[Sign]:
        """The same name anywhere; and new folders where the project, or one above it, was."""
        same = self._by_name.get(os.path.basename(path).lower(), [])
        for folder in same if len(same) <= COMMON else ():
            yield folder, Basis.NAME, "same folder name"
        near, gone = nearest_folder(path)
        tail = path[len(gone) :]
        new = [f for f in self._new_in[near] if not tail or os.path.isdir(f + tail)]
        is_only = len(new) == 1 and len(self._gone_from[near]) == 1
        for folder in new:
            known = self.survey.by_path.get(folder)
            if _are_similar(os.path.basename(gone), os.path.basename(folder)):
                yield folder + tail, Basis.NAME, "a similar name in the same place"
            elif tail:
                yield folder + tail, Basis.NAME, f"{tail[1:]} is in {folder}"
            elif known is not None and known.sessions:
                continue
            elif is_only:
                yield folder, Basis.NAME, "the only folder there that Claude Code does not know"
            elif folder == self._named:
                yield folder, Basis.NAME, SAME_PLACE

    def _weigh(self, path: str, candidate: Candidate) -> None:
        """What the folder's own past says: a life of its own while the project was in use?"""
        new, known = candidate.path, self.survey.by_path.get(candidate.path)
        first = known.first_used if known is not None else None
        lost = [self.lost[path]] if path in self.lost else self.at_or_below(path)
        last = max((project.last_used or 0 for project in lost), default=0)
        log = reflog(new) if candidate.basis is Basis.SAME_REPOSITORY else []
        if first is not None and not last:  # nothing tells when the project was in use
            reason = "it has conversations of its own"
        elif first is not None and first < last:
            reason = "it had conversations of its own while the project was still in use"
        elif _moved_at(path, new) < last < time.time_ns():
            reason = "it has been where it is since before the project was last used"
        elif last and _cloned_at(new, log) > last:
            reason = "it was cloned after the project was last used"
        else:
            begun = self._first_turn(path)
            if any(begun < at <= last for at, what in log if not what.startswith("clone:")):
                candidate.is_proven = True
                candidate.evidence.append("its reflog has entries of that time")
            return
        candidate.against.append(reason)

    def _first_turn(self, path: str) -> int:
        """When the first conversation of a project began, in ns; now, when that is not known."""
        begun = time.time()
        for name in self.lost[path].directories if path in self.lost else ():
            directory = self.survey.directories[name]
            for item in directory.sessions_of(path)[:1]:
                with contextlib.suppress(CcmoveError, OSError, ValueError):
                    first = read_turns(directory.path / item.name).first
                    begun = min(begun, datetime.datetime.fromisoformat(first).timestamp())
        return int(begun * 1e9)

    def _doubt_rivals(self) -> None:
        """One checkout is not two projects at once: between them the repository can't decide."""
        found = [(path, c) for path, candidates in self._homes.items() for c in candidates]
        by_git = [(path, c) for path, c in found if c.basis is Basis.SAME_REPOSITORY]
        for path, candidate in by_git:
            rivals = [other for other, c in by_git if c.path == candidate.path and other != path]
            used = [rival for rival in rivals if self.lost[rival].sessions]
            candidate.against += [f"it could also be {rival}" for rival in used[:1]]

    def at_or_below(self, path: str) -> list[Project]:
        """The lost projects at a path and below it."""
        return [p for lost, p in self.lost.items() if tail_below(lost, path) is not None]

    def findings(self, command: CommandLine, split: dict[str, set[str]]) -> Iterator[Finding]:
        """One for each lost project; `split` are sessions of which no file has all, and where."""
        home = str(self.survey.layout.home)
        for path, project in self.lost.items():
            candidates = self._homes[path]
            known = [c.path for c in candidates]
            kind = "stale-entries" if path not in self.survey.former else "moved-entries"
            kind = "orphan" if project.sessions or "memory" in project.kept else kind
            living = self._living_around(path)
            if living and all(c.confidence == "possible" for c in candidates):
                kind = "removed-subfolder"
                if living not in known:
                    candidates += (Candidate(living, evidence=["it was a part of it"]),)
            for candidate in candidates:
                both = {encode(candidate.path), *project.directories}
                met = (session for session, names in split.items() if len(both & names) > 1)
                candidate.split = next(met, "")
            look = command("doctor", path)
            if self._searches:
                look = command("doctor", "--search", home, path) if home not in self._roots else ""
            near, _ = nearest_folder(path)
            is_drive = near in DRIVES or os.path.dirname(near) in ("/media", "/run/media")
            yield Finding(
                kind,
                path,
                described(project),
                "" if candidates or path in self.along else look,
                (f"nothing is left of it below {near}: is a drive missing?",) if is_drive else (),
                (*project.directories, *known),
                candidates,
                self.along.get(path),
            )

    def _living_around(self, path: str) -> str | None:
        """The checkout or project in use in which the path was; the home folder is neither."""
        home = str(self.survey.layout.home)
        for folder in ancestors(os.path.dirname(path)):
            if tail_below(home, folder) is not None:
                return None
            known = self.survey.by_path.get(folder)
            is_used = known is not None and known.exists and known.sessions
            if is_used or os.path.lexists(os.path.join(folder, ".git")):
                return folder
        return None


def described(project: Project) -> str:
    """What is kept of a project, in words."""
    parts = [plural(project.sessions, "session")] if project.sessions else []
    parts += [readable_size(project.size)] if project.size else []
    parts += [plural(n, PLACES[place]) for place, n in project.kept.items() if place in PLACES]
    return ", ".join(parts) or "nothing but its name"


def nearest_folder(path: str) -> tuple[str, str]:
    """The deepest folder above `path` that exists, and what is gone from it."""
    near = next((folder for folder in ancestors(path) if os.path.isdir(folder)), "/")
    end = path.find("/", len(near.rstrip("/")) + 1)
    return near, path[:end] if end > 0 else path


def _walk(root: str, depth: int) -> Iterator[tuple[str, bool]]:
    """Folders on one disk, and whether each is a checkout, whose inside is a part of it."""
    waiting = [(root, 0)]
    for folder, level in waiting:
        is_checkout = os.path.lexists(os.path.join(folder, ".git"))
        yield folder, is_checkout
        for path in folders_in(folder) if level < depth and not (level and is_checkout) else ():
            name = os.path.basename(path)
            if not name.startswith(".") and name not in SKIPPED and not os.path.ismount(path):
                waiting.append((path, level + 1))


def _are_similar(one: str, other: str) -> bool:
    words, others = (set(re.findall(r"[^\W\d_]{3,}", name.lower())) for name in (one, other))
    ratio = difflib.SequenceMatcher(None, one.lower(), other.lower()).ratio()
    return bool(words & others) or ratio >= SIMILAR


def _moved_at(path: str, new: str) -> int:
    """The latest moment, in ns, at which the folder, or one above it, can have been renamed."""
    own = [folder for folder in ancestors(new) if tail_below(path, folder) is None]
    return max((os.stat(f).st_ctime_ns for f in own if os.path.exists(f)), default=0)


def _cloned_at(folder: str, log: list[tuple[int, str]]) -> int:
    """When git made its directory there, in ns: some of what is in it is never written again."""
    if log and log[0][1].startswith("clone:"):
        return log[0][0]
    git = os.path.join(folder, ".git")
    try:
        return min(os.lstat(os.path.join(git, name)).st_mtime_ns for name in os.listdir(git))
    except (OSError, ValueError):
        return 0
