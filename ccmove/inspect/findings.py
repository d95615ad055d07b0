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
from itertools import permutations, takewhile
from operator import eq
from pathlib import Path, PureWindowsPath

from ccmove.claude.layout import Layout
from ccmove.claude.naming import encode, may_be_name_of
from ccmove.claude.owners import Holding, folder_exists
from ccmove.claude.reading import open_regular
from ccmove.claude.state import INDEX, MEMORY, SESSION_ID
from ccmove.errors import CcmoveError, UnfinishedRunError, describe
from ccmove.inspect.lost import Candidate, Finder, described
from ccmove.inspect.mentions import mentions_of_past
from ccmove.inspect.survey import (
    KEPT_ELSEWHERE,
    Project,
    Survey,
    ancestors,
    folded,
)
from ccmove.rewrite.index import OWNERS
from ccmove.rewrite.jsonspan import NotJsonError, parse
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
    def can_be_asked(self) -> bool:
        """Whether somebody may know where it is now:
        there are signs, or sessions to be lost.
        """
        if self.along is not None:
            return False
        if self.candidates:
            return True
        return self.kind == "orphan"

    @property
    def best(self) -> Candidate | None:
        """The candidate with more for it than any other, and with more than a name."""
        levels = [candidate.confidence for candidate in self.candidates]
        if not levels or levels[0] == "possible":
            return None
        if levels.count(levels[0]) > 1:
            return None
        return self.candidates[0]

    @property
    def sure(self) -> Candidate | None:
        if self.best and self.best.confidence == "certain":
            return self.best
        return None


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
        if self.findings:
            return 1
        return 0


def examine(survey: Survey, roots: Iterable[str] | None = ()) -> Examination:
    """Every finding, the most pressing kinds first;
    with `roots=None` nothing lost is sought.
    """
    of_ours = list(_of_ours(survey))
    if any(finding.kind == "interrupted-run" for finding in of_ours):
        return Examination(survey, tuple(of_ours))  # what else there is, may not be
    twice = list(_twice_there(survey))
    finder = Finder(survey, roots)
    findings = [
        *of_ours,
        *_lost(finder, twice),
        *_still_to_do(survey),
        *_spellings(survey),
        *twice,
    ]
    for holding in survey.directories.values():
        findings += _directory(survey, holding)
    kinds = list(KINDS)
    findings.sort(key=lambda finding: kinds.index(finding.kind))
    return Examination(survey, tuple(findings))


def _lost(finder: Finder, twice: list[Finding]) -> Iterator[Finding]:
    """One for each lost project, or for the folder that was moved with several of them;
    one moves with another around it that has a better place.

    `twice` are sessions in two files: one that went on in both can't be merged.
    """
    split: dict[str, None] = {}
    for finding in twice:
        if finding.what not in (SAME, BEGINNING):
            split[finding.subject] = None
    for path, candidates in finder.homes.items():
        for candidate in candidates:
            _say_how(finder, path, candidate, split)
    for path in finder.parents:
        yield _lost_one(finder, path)
    parents = set(finder.parents)
    unfound: list[Finding] = []
    for path in finder.lost:
        if not parents.isdisjoint(ancestors(path)):
            continue
        finding = _lost_one(finder, path)
        if finding.candidates or finding.along:
            yield finding
        else:
            unfound.append(finding)
    yield from _to_search(finder, unfound)


def _lost_one(finder: Finder, path: str) -> Finding:
    """Of a lost project, or of a folder that was moved with all that were in it."""
    projects = finder.at_or_below(path)
    number = plural(len(projects), "project")
    sessions = sum(project.sessions for project in projects)
    what = f"{number}, {plural(sessions, 'session')}"
    kind = "orphan"
    if path in finder.lost:
        projects = [finder.lost[path]]
        what = described(projects[0])
        kind = _kind(finder.survey, projects[0])
    candidates = finder.homes[path]
    names: list[str] = []
    for project in projects:
        names += project.directories
        if path not in finder.lost:
            names.append(str(project.path))
    names += [candidate.path for candidate in candidates]
    # With none of its own it moves with the nearest one around it that has one.
    around: list[str] = []
    if all(candidate.confidence == "possible" for candidate in candidates):
        around = ancestors(os.path.dirname(path))
    along = next(filter(finder.homes.get, around), None)
    if along is not None:
        candidates = ()
    return Finding(
        kind, path, what, names=tuple(names), candidates=candidates, along=along
    )


def _kind(survey: Survey, project: Project) -> str:
    """Entries are those of a moved project where its conversations say so. A move of
    ours takes all along: what is at its old path came since, and may be another's.
    """
    if project.sessions or "note" in project.kept:
        return "orphan"
    former = survey.former.get(str(project.path), {})
    if KEPT_ELSEWHERE in former.values():
        return "moved-entries"
    return "stale-entries"


def _say_how(
    finder: Finder, path: str, candidate: Candidate, split: Iterable[str]
) -> None:
    """Give a candidate its command: the move, or where a session went on in both, what
    shows that.
    """
    layout = finder.survey.layout
    new = candidate.path
    both: set[str] = set()  # directories of both
    for project in finder.at_or_below(path):
        both.update(project.directories)
        tail = str(project.path)[len(path) :]
        both.add(encode(new + tail))
    where = finder.survey.directories_of_sessions
    sessions: list[str] = []
    for session in split:
        directories = where[session]
        if len(both.intersection(directories)) > 1:
            sessions.append(session)
    candidate.command = layout.command(path, new)
    if sessions:
        candidate.against.append("a session went on in both")
        candidate.command = layout.command("doctor", *sessions)


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
    kind = "interrupted-run"
    run_dir = str(layout.run_dir)
    try:
        run = read_run(layout)
        if run is not None:
            what = f"run {run.id} did not finish"
            fix = layout.command("recover")
            yield Finding(kind, run_dir, what, fix, names=(run.id,))
    except UnfinishedRunError as error:
        fix = layout.command("recover", "--set-aside")
        yield Finding(kind, run_dir, error.message, fix)
    for file, what in survey.problems.items():
        yield _unreadable(file, what)
    damaged: dict[str, str] = {}
    for identifier in reversed(backup_ids(layout.unfinished)):
        damaged[identifier] = SET_ASIDE
    for backup in reversed(survey.backups):
        if backup.problem is not None:
            damaged[backup.id] = backup.problem.message
    for identifier, what in damaged.items():
        look = layout.command("backups", identifier)
        subject = f"run {identifier}"
        yield Finding("damaged-backup", subject, what, look, names=(identifier,))


def _unreadable(file: str, what: str) -> Finding:
    look = command_line(["ls", "-ld", file])
    name = os.path.basename(file)
    return Finding("unreadable", file, what, look, names=(name,))


def _still_to_do(survey: Survey) -> Iterator[Finding]:
    """What names the old path of a past move and has a command that deals with it."""
    layout = survey.layout
    # Projects that stayed where they were when what is around them was moved:
    kept: set[str] = set()
    for backup in survey.backups:
        if backup.manifest is not None and backup.stands:
            kept.update(backup.manifest.kept)
    try:
        rows = mentions_of_past(layout, survey.our_moves, kept)
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
        # Two mounts are both real: the one that is used more comes first.
        projects.sort(key=lambda project: -project.sessions)
        paths = [str(project.path) for project in projects]
        real = next(filter(_is_on_disk, paths), os.path.realpath(paths[0]))
        for path in paths:
            if path == real:
                continue
            how = "through a link or a mount"
            if folded(path) == folded(real):
                how = "in another spelling (case, Unicode form or slashes)"
            what = f"the same folder as {real}, {how}"
            fix = survey.layout.command(path, real)
            yield Finding("spelling", path, what, fix, names=(real,))


def _is_on_disk(path: str) -> bool:
    """Whether no link leads there, and each name is spelled as its folder lists it."""
    if os.path.realpath(path) != path:
        return False
    for folder in ancestors(path):
        above, name = os.path.split(folder)
        with contextlib.suppress(OSError):
            if name not in os.listdir(above):
                return False
    return True


def _directory(survey: Survey, holding: Holding) -> Iterator[Finding]:
    """Conversations where nobody looks for them, and an outdated index."""
    kind = "misplaced-directory"
    projects = survey.layout.projects
    directory = holding.directory
    path = str(directory.path)
    names = (directory.name, path, *holding.ranked)
    total = 0
    for item in directory.items:
        name = item.name
        amount = survey.amount(holding, name)
        total += amount.size
        if item.is_dir and ENCODED.fullmatch(name):
            inner = str(directory.path / name)
            what = f"a project directory inside another, {size(amount.size)}"
            target = projects / name
            fix = bringing_all(inner, str(target))
            yield Finding(kind, inner, what, fix, names=(name, *names))
    transcripts = directory.transcripts
    notes = survey.amount(holding, MEMORY)
    if not transcripts and not notes.files:
        return
    if not holding.claims:
        paths = sorted({item.path for item in transcripts if item.path})
        lines = [f"its transcripts name {named}" for named in paths]
        what = f"no known path has this name, {size(total)}"
        fix = command_line(["ls", "-lA", path])
        if paths:
            target = projects / encode(paths[0])
            fix = bringing_all(path, str(target))
        yield Finding(kind, path, what, fix, tuple(lines), names)
    wrong = tuple(_wrong(holding))
    if wrong:
        file = str(directory.path / INDEX)
        what = plural(len(wrong), "outdated value")
        # The client makes another index when there is none.
        fix = command_line(["mv", "-n", file, f"{file}.old"])
        yield Finding("index", file, what, fix, wrong, names)


def _wrong(holding: Holding) -> Iterator[str]:
    """What is outdated in an index: entries without a transcript,
    and paths of another directory or a folder that is gone.
    """
    directory = holding.directory
    if directory.index_file is None:
        return
    try:
        index = parse(directory.index_file.text)
    except NotJsonError as error:
        yield f"not valid JSON ({error})"
        return
    records = [index]
    entries = index.members().get("entries")
    if entries is not None:
        records += entries.items
    for record in records:
        session = record.string("sessionId")
        file = record.string("fullPath")
        if session is not None and session not in holding.owner_of_session:
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
            holdings = [survey.directories[name] for name in names]
            yield from _twice(survey, session, holdings)


def _twice(survey: Survey, session: str, holdings: list[Holding]) -> Iterator[Finding]:
    """Which turns are where, the file that has most first; a merge makes one of two
    that are alike.
    """
    name = f"{session}.jsonl"
    holdings.sort(key=lambda holding: survey.amount(holding, name), reverse=True)
    best, *others = holdings
    for other in others:
        file = best.directory.path / name
        other_file = other.directory.path / name
        try:
            more = _turns(file)
            less = _turns(other_file)
        except (CcmoveError, OSError):
            continue  # it went meanwhile, or is listed as unreadable
        shared = sum(takewhile(bool, map(eq, more, less)))
        what = f"same beginning: {plural(shared, 'line')}; then they differ"
        if shared == len(less):
            what = BEGINNING
            if more == less:
                what = SAME
        files = (str(file), str(other_file))
        lines = (
            f"{file}: {plural(len(more), 'line')}",
            f"{other_file}: {plural(len(less), 'line')}",
        )
        fix = command_line(["ls", "-l", *files])
        if what in (SAME, BEGINNING):
            fix = _merge_of(survey.layout, best, other) or fix
        names = (best.directory.name, other.directory.name, *files)
        yield Finding("split-session", session, what, fix, lines, names)


def _merge_of(layout: Layout, one: Holding, other: Holding) -> str:
    """The move that brings two directories together: from a folder that is gone to one
    that is there. Nothing where that is not so, or where several share a directory.
    """
    if len(one.claims) == len(other.claims) == 1:
        for old, new in permutations((*one.claims, *other.claims)):
            if folder_exists(old) is False and folder_exists(new):
                return layout.command(old, new)
    return ""


def _turns(file: Path) -> list[int]:
    with open_regular(file) or io.BytesIO() as transcript:
        return [hash(line) for line in transcript]
