"""What is wrong in the state, from one survey: every finding with the command that
fixes it.

Reads only. For the damage that other tools left in the project directories the commands
are the shell's own, and none of them overwrites or removes anything but empty
directories.
"""

import contextlib
import io
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from operator import eq
from pathlib import Path, PureWindowsPath

from ccmove.claude.layout import Layout
from ccmove.claude.naming import encode, may_be_name_of
from ccmove.claude.owners import folder_exists, session_of
from ccmove.claude.reading import open_regular
from ccmove.claude.state import INDEX, SESSION_ID
from ccmove.errors import CcmoveError, UnfinishedRunError, describe
from ccmove.inspect.lost import Candidate, Finder, described
from ccmove.inspect.mentions import mentions_of_past
from ccmove.inspect.survey import (
    KEPT_ELSEWHERE,
    Directory,
    Project,
    Survey,
    ancestors,
    folded,
)
from ccmove.rewrite.index import OWNERS
from ccmove.rewrite.jsonspan import Node, NotJsonError, parse
from ccmove.run.backups import SET_ASIDE, backup_ids
from ccmove.run.journal import read_run
from ccmove.text import bringing_all, command_line, plural
from ccmove.text import readable_size as size

Inode = tuple[int, int]  # device and file number
KINDS = {  # the most pressing first, and what each means for the user
    "interrupted-run": "A run of ccmove was interrupted: half moved until it is "
    "rolled back",
    "unreadable": "Can't be read, so this list may be incomplete",
    "orphan": "Projects whose folder is gone: renamed, moved or deleted",
    "moved-entries": "Prompts and settings that still name the old path of a moved "
    "project",
    "still-to-do": "Still to do after a move: these name its old path",
    "stale-entries": "Entries of folders that are gone: harmless if they were deleted",
    "spelling": "One folder under several paths: Claude Code shows each as a separate "
    "project",
    "misplaced-directory": "Conversations where Claude Code does not look",
    "split-session": "One session in two files: keep both, `--resume` reads only one "
    "of them",
    "index": "Outdated session indexes: conversations may be missing in lists",
    "damaged-backup": "Runs that can't be undone any more; what is left of them is "
    "kept",
}
SAME = "both are the same"
BEGINNING = "the first has all that the second has, and more"
ENCODED = re.compile(r"-[A-Za-z0-9-]*|[A-Za-z]--[A-Za-z0-9-]*")


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong."""

    kind: str
    subject: str  # the path, directory or file it is about
    what: str
    command: str = (
        ""  # fixes it, or helps on; a lost project has one for each candidate
    )
    details: tuple[str, ...] = ()
    names: tuple[str, ...] = ()  # other names it can be asked for by
    candidates: tuple[Candidate, ...] = ()  # of a lost project, the best first
    along: str | None = None  # the lost project whose move fixes this one as well

    @property
    def means(self) -> str:
        return KINDS[self.kind]

    @property
    def can_be_asked(self) -> bool:
        """Whether somebody may know where it is now:
        there are signs, or sessions to be lost.
        """
        return self.along is None and (bool(self.candidates) or self.kind == "orphan")

    @property
    def best(self) -> Candidate | None:
        """The candidate with more for it than any other, and with more than a name."""
        levels = [candidate.confidence for candidate in self.candidates]
        if not levels or levels[0] == "possible" or levels.count(levels[0]) > 1:
            return None
        return self.candidates[0]

    @property
    def sure(self) -> Candidate | None:
        return self.best if self.best and self.best.confidence == "certain" else None


@dataclass(frozen=True)
class Examination:
    """What a look at everything found to be wrong;
    of a verification also what it was about.
    """

    survey: Survey
    findings: tuple[Finding, ...]
    harmless: tuple[Finding, ...] = ()
    verified: tuple[str, ...] | None = None  # paths

    @property
    def exit_code(self) -> int:
        return 1 if self.findings else 0


def examine(survey: Survey, roots: Iterable[str] | None = ()) -> Examination:
    """Every finding, the most pressing kinds first;
    with `roots=None` nothing lost is sought.
    """
    of_ours = list(_of_ours(survey))
    if any(finding.kind == "interrupted-run" for finding in of_ours):
        return Examination(survey, tuple(of_ours))  # what else there is, may not be
    twice = list(_twice_there(survey))
    split: dict[str, set[str]] = {}  # sessions with different files -> where
    for finding in twice:
        if finding.what not in (SAME, BEGINNING):
            directories = survey.directories_of_sessions[finding.subject]
            split[finding.subject] = set(directories)
    finder = Finder(survey, roots)
    findings = [
        *of_ours,
        *_lost(finder, split),
        *_still_to_do(survey),
        *_spellings(survey),
        *twice,
    ]
    for directory in survey.directories.values():
        findings += _directory(survey, directory)
    kinds = list(KINDS)
    findings.sort(key=lambda finding: kinds.index(finding.kind))
    return Examination(survey, tuple(findings))


def _lost(finder: Finder, split: dict[str, set[str]]) -> Iterator[Finding]:
    """One for each lost project, or for the folder that was moved with several of them;
    one moves with another around it that has a better place.

    `split` are sessions with different files, and where: they can't be merged.
    """
    for path, candidates in finder.homes.items():
        for candidate in candidates:
            _say_how(finder, path, candidate, split)
    for path in finder.parents:
        yield _parent(finder, path)
    unfound: list[Finding] = []
    for finding in _of_projects(finder):
        if finding.candidates or finding.along:
            yield finding
        else:
            unfound.append(finding)
    yield from _to_search(finder, unfound)


def _of_projects(finder: Finder) -> Iterator[Finding]:
    """Of each that did not move with a folder around it; it may move together with
    another.
    """
    parents = set(finder.parents)
    for path, project in finder.lost.items():
        if not parents.isdisjoint(ancestors(path)):
            continue
        along = _lost_around(finder, path)
        candidates = finder.homes[path]
        folders = [candidate.path for candidate in candidates]
        yield Finding(
            _kind(finder.survey, project),
            path,
            described(project),
            names=(*project.directories, *folders),
            candidates=() if along else candidates,
            along=along,
        )


def _parent(finder: Finder, path: str) -> Finding:
    """Of a folder that is gone and was moved with the lost projects in it."""
    projects = finder.at_or_below(path)
    candidates = finder.homes[path]
    names = [candidate.path for candidate in candidates]
    sessions = 0
    for project in projects:
        names += (str(project.path), *project.directories)
        sessions += project.sessions
    number = plural(len(projects), "project")
    what = f"{number}, {plural(sessions, 'session')}"
    return Finding(
        "orphan",
        path,
        what,
        names=tuple(names),
        candidates=candidates,
    )


def _kind(survey: Survey, project: Project) -> str:
    """Entries are those of a moved project where its conversations say so. A move of
    ours takes all along: what is at its old path came since, and may be another's.
    """
    if project.sessions or "note" in project.kept:
        return "orphan"
    former = survey.former.get(str(project.path), {})
    return "moved-entries" if KEPT_ELSEWHERE in former.values() else "stale-entries"


def _lost_around(finder: Finder, path: str) -> str | None:
    """The nearest lost project around this one that has a candidate, if this one has
    none of its own.
    """
    if any(candidate.confidence != "possible" for candidate in finder.homes[path]):
        return None
    for folder in ancestors(os.path.dirname(path)):
        if finder.homes.get(folder):
            return folder
    return None


def _say_how(
    finder: Finder,
    path: str,
    candidate: Candidate,
    split: dict[str, set[str]],
) -> None:
    """Give a candidate its command: the move, or where a session went on in both, what
    shows that.
    """
    layout = finder.survey.layout
    both = _directories_of_both(finder, path, candidate.path)
    sessions = [session for session in split if len(both & split[session]) > 1]
    candidate.command = layout.command(path, candidate.path)
    if sessions:
        candidate.against.append("a session went on in both")
        candidate.command = layout.command("doctor", *sessions)


def _directories_of_both(finder: Finder, path: str, new: str) -> set[str]:
    names: set[str] = set()
    for project in finder.at_or_below(path):
        tail = str(project.path)[len(path) :]
        names |= {encode(new + tail), *project.directories}
    return names


def _to_search(finder: Finder, unfound: list[Finding]) -> Iterator[Finding]:
    """Each with the search that was not made yet, which is one for several projects;
    who looked nowhere looks nearby first. Where all was searched, what to type.
    """
    layout = finder.survey.layout
    home = str(layout.home)
    roots = finder.roots or []
    words = ["doctor"]
    if finder.roots is not None:
        for root in (*roots, home):
            words += ["--search", root]
    if len(unfound) == 1:
        words.append(unfound[0].subject)
    for finding in unfound:
        if home in roots:
            known = f"not found in {home}. If you know where it is: ccmove OLD NEW"
            yield replace(finding, details=(known,))
        else:
            yield replace(finding, command=layout.command(*words))


def _of_ours(survey: Survey) -> Iterator[Finding]:
    """An interrupted run, what could not be read, and what our past runs left."""
    layout = survey.layout
    run_dir = str(layout.run_dir)
    try:
        run = read_run(layout)
        if run is not None:
            what = f"run {run.id} did not finish"
            fix = layout.command("recover")
            yield Finding("interrupted-run", run_dir, what, fix, names=(run.id,))
    except UnfinishedRunError as error:
        fix = layout.command("recover", "--set-aside")
        yield Finding("interrupted-run", run_dir, error.message, fix)
    for file, what in survey.problems.items():
        yield _unreadable(file, what)
    for identifier, what in _damaged_backups(survey):
        look = layout.command("backups", identifier)
        subject = f"run {identifier}"
        yield Finding("damaged-backup", subject, what, look, names=(identifier,))


def _damaged_backups(survey: Survey) -> Iterator[tuple[str, str]]:
    """The IDs of runs that can't be undone any more, and why; the newest first."""
    for identifier in reversed(backup_ids(survey.layout.unfinished)):
        yield identifier, SET_ASIDE
    for backup in reversed(survey.backups):
        if backup.problem is not None:
            yield backup.id, backup.problem.message


def _unreadable(file: str, what: str) -> Finding:
    look = command_line(["ls", "-ld", file])
    name = os.path.basename(file)
    return Finding("unreadable", file, what, look, names=(name,))


def _still_to_do(survey: Survey) -> Iterator[Finding]:
    """What names the old path of a past move and has a command that deals with it."""
    layout = survey.layout
    try:
        rows = mentions_of_past(layout, survey.our_moves, survey.kept_by_us)
    except (CcmoveError, OSError) as error:
        what = describe(error)
        yield _unreadable(str(layout.config_dir), what)
        return
    rows.sort(key=lambda row: row.command)
    for row in rows:
        fix = row.to_type(layout.given)
        yield Finding("still-to-do", row.file, row.what, fix)


def _spellings(survey: Survey) -> Iterator[Finding]:
    """Paths that are one folder: its device and file number are the same."""
    by_inode: dict[Inode, list[Project]] = defaultdict(list)
    for path, project in survey.by_path.items():
        if not project.exists:
            continue
        with contextlib.suppress(OSError, ValueError):
            status = os.stat(path)
            inode = status.st_dev, status.st_ino
            by_inode[inode].append(project)
    for projects in by_inode.values():
        if len(projects) == 1:
            continue
        projects.sort(key=lambda project: -project.sessions)
        paths = [str(project.path) for project in projects]
        real = _real_one(paths)
        for path in paths:
            if path == real:
                continue
            how = "through a link or a mount"
            if folded(path) == folded(real):
                how = "in another spelling (case, Unicode form or slashes)"
            what = f"the same folder as {real}, {how}"
            fix = survey.layout.command(path, real)
            yield Finding("spelling", path, what, fix, names=(real,))


def _real_one(paths: list[str]) -> str:
    """The first that is spelled as on disk; if none is, the spelling there.

    Two mounts are both real: the one that is used more comes first.
    """
    spellings = [_on_disk(path) for path in paths]
    for spelling in spellings:
        if spelling in paths:
            return spelling
    return spellings[0]


def _on_disk(path: str) -> str:
    """The path as the names in its folders are spelled; links are seen through."""
    above, name = os.path.split(os.path.realpath(path))
    if not name:
        return above
    above = _on_disk(above)
    path = os.path.join(above, name)
    with contextlib.suppress(OSError):
        names = os.listdir(above)
        if name in names:
            return path
        for other in names:
            spelled = os.path.join(above, other)
            if os.path.samefile(spelled, path):
                return spelled
    return path


def _directory(survey: Survey, directory: Directory) -> Iterator[Finding]:
    """Conversations where nobody looks for them, and an outdated index."""
    kind = "misplaced-directory"
    projects = survey.layout.projects
    path = str(directory.path)
    names = (directory.name, path, *directory.claims)
    for item in directory.holding.directory.items:
        name = item.name
        if item.is_dir and ENCODED.fullmatch(name):
            inner = str(directory.path / name)
            amount = directory.amounts[name]
            what = f"a project directory inside another, {size(amount.size)}"
            target = projects / name
            fix = bringing_all(inner, str(target))
            yield Finding(kind, inner, what, fix, names=(name, *names))
    if not directory.has_conversations:
        return
    if not directory.claims:
        paths = sorted(directory.named_elsewhere)
        lines = [f"its transcripts name {path}" for path in paths]
        total = 0
        for amount in directory.amounts.values():
            total += amount.size
        what = f"no known path has this name, {size(total)}"
        fix = command_line(["ls", "-lA", path])
        if paths:
            target = projects / encode(paths[0])
            fix = bringing_all(path, str(target))
        yield Finding(kind, path, what, fix, tuple(lines), names)
    for finding in _index(directory):
        yield replace(finding, names=names)


def _index(directory: Directory) -> Iterator[Finding]:
    """Values that are outdated; the client makes another index when there is none."""
    document = directory.holding.directory.index_file
    if document is None:
        return
    try:
        wrong = tuple(_wrong(parse(document.text), directory))
    except NotJsonError as error:
        wrong = (f"not valid JSON ({error})",)
    if wrong:
        file = str(directory.path / INDEX)
        fix = command_line(["mv", "-n", file, f"{file}.old"])
        yield Finding("index", file, plural(len(wrong), "outdated value"), fix, wrong)


def _wrong(index: Node, directory: Directory) -> Iterator[str]:
    """Entries without a transcript,
    and paths of another directory or a folder that is gone.
    """
    sessions = {
        session_of(item.name) for item in directory.holding.directory.transcripts
    }
    entries = index.members().get("entries")
    records = [index]
    if entries is not None and entries.kind == "[":
        records += entries.items
    for record in records:
        session = record.string("sessionId")
        file = record.string("fullPath")
        if session is not None and session not in sessions:
            yield f"sessionId: {session}"
        elif file is not None and PureWindowsPath(file).parent.name != directory.name:
            yield f"fullPath: {file}"
        for name in OWNERS:
            path = record.string(name)
            if path is None or may_be_name_of(directory.name, path):
                continue
            if folder_exists(path) is False:
                yield f"{name}: {path}"


def _twice_there(survey: Survey) -> Iterator[Finding]:
    for session, names in survey.directories_of_sessions.items():
        if len(names) > 1 and SESSION_ID.fullmatch(session):
            directories = [survey.directories[name] for name in names]
            yield from _twice(session, directories, survey.layout)


def _twice(
    session: str, directories: list[Directory], layout: Layout
) -> Iterator[Finding]:
    """Which turns are where, the file that has most first,
    and of equal ones the older; a merge makes one of two that are alike.
    """
    name = f"{session}.jsonl"
    best, *others = sorted(
        directories,
        key=lambda directory: (
            -directory.amounts[name].size,
            directory.amounts[name].newest,
        ),
    )
    for other in others:
        file = str(best.path / name)
        other_file = str(other.path / name)
        try:
            more = _turns(best.path / name)
            less = _turns(other.path / name)
        except (CcmoveError, OSError):
            continue  # it went meanwhile, or is listed as unreadable
        shared = sum(takewhile(bool, map(eq, more, less)))
        what = f"same beginning: {plural(shared, 'line')}; then they differ"
        if shared == len(less):
            what = SAME if more == less else BEGINNING
        lines = (
            f"{file}: {plural(len(more), 'line')}",
            f"{other_file}: {plural(len(less), 'line')}",
        )
        names = (best.name, other.name, file, other_file)
        fix = command_line(["ls", "-l", file, other_file])
        if what in (SAME, BEGINNING):
            fix = _merge_of([best, other], layout) or fix
        yield Finding("split-session", session, what, fix, lines, names)


def _merge_of(directories: list[Directory], layout: Layout) -> str:
    """The move that brings two directories together: from a folder that is gone to one
    that is there. Nothing where that is not so, or where several share a directory.
    """
    gone: list[str] = []
    there: list[str] = []
    for directory in directories:
        if len(directory.claims) != 1:
            return ""
        (path,) = directory.claims
        exists = folder_exists(path)
        if exists:
            there.append(path)
        elif exists is False:
            gone.append(path)
    if len(gone) != 1 or len(there) != 1:
        return ""
    return layout.command(*gone, *there)


def _turns(file: Path) -> list[int]:
    with open_regular(file) or io.BytesIO() as transcript:
        return [hash(line) for line in transcript]
