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
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from operator import eq
from pathlib import Path, PureWindowsPath

from ccmove.claude.naming import encode, may_be_name_of
from ccmove.claude.owners import folder_exists, session_of
from ccmove.claude.reading import open_regular
from ccmove.claude.state import INDEX, MEMORY, SESSION_ID, get
from ccmove.errors import CcmoveError, UnfinishedRunError
from ccmove.inspect.lost import Candidate, Finder, described
from ccmove.inspect.survey import Directory, Project, Survey, Tick, ancestors
from ccmove.rewrite.jsonspan import NotJsonError, parse
from ccmove.rewrite.windows import is_windows
from ccmove.run.backups import SET_ASIDE, backup_ids
from ccmove.run.journal import read_run
from ccmove.text import bringing_all, command_line, plural
from ccmove.text import readable_size as size

CommandLine = Callable[
    ..., str
]  # makes a command of ours of its words, for this very state
KINDS = {  # the most pressing first, and what each means for the user
    "interrupted-run": "A run of ccmove was interrupted: half moved until it is "
    "rolled back",
    "unreadable": "Can't be read, so this list may be incomplete",
    "orphan": "Projects whose folder is gone: renamed, moved or deleted",
    "moved-entries": "Prompts and settings that still name the old path of a moved "
    "project",
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
FOLDS: dict[str, Callable[[str], str]] = {  # in what spellings of one path can differ
    "slashes": lambda path: path.replace("\\", "/"),
    "drive letter": lambda path: (
        path[:1].lower() + path[1:] if is_windows(path) else path
    ),
    "Unicode form (NFC or NFD, which look alike)": lambda path: unicodedata.normalize(
        "NFC", path
    ),
    "upper/lower case": lambda path: path[:1] + path[1:].casefold(),
}


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


def examine(
    survey: Survey,
    command: CommandLine,
    roots: Iterable[str] | None = (),
    tick: Tick | None = None,
) -> Examination:
    """Every finding, the most pressing kinds first;
    with `roots=None` nothing lost is sought.
    """
    own, twice = [*_own(survey, command)], list[Finding]()
    if any(
        finding.kind == "interrupted-run" for finding in own
    ):  # what else there is, may not be
        return Examination(survey, tuple(own))
    for session, places in survey.places_of_sessions.items():
        if len(places) > 1 and SESSION_ID.fullmatch(session):
            there = [survey.directories[name] for name in places]
            twice += _twice(session, there, command)
    split = {
        f.subject: set(survey.places_of_sessions[f.subject])
        for f in twice
        if f.what not in (SAME, BEGINNING)
    }
    found = [*own, *_lost(Finder(survey, roots, tick), command, split)]
    found += [*_spellings(survey, command), *twice]
    for directory in survey.directories.values():
        names = (directory.name, str(directory.path), *directory.claims)
        about = _directory(survey, directory)
        found += [replace(finding, names=(*finding.names, *names)) for finding in about]
    found.sort(key=lambda finding: [*KINDS].index(finding.kind))
    return Examination(survey, tuple(found))


def _lost(
    finder: Finder, command: CommandLine, split: dict[str, set[str]]
) -> Iterator[Finding]:
    """One for each lost project;
    `split` are sessions with different files, and where.
    """
    home = str(finder.survey.layout.home)
    for path, project in finder.lost.items():
        candidates, along = finder.homes[path], None
        kind = "stale-entries" if path not in finder.survey.former else "moved-entries"
        kind = "orphan" if project.sessions or "memory file" in project.kept else kind
        if all(candidate.confidence == "possible" for candidate in candidates):
            above = ancestors(os.path.dirname(path))
            along = next((lost for lost in above if finder.homes.get(lost)), None)
        for candidate in candidates:
            both = {encode(candidate.path), *project.directories}
            met = [session for session, names in split.items() if len(both & names) > 1]
            candidate.against += ["a session went on in both"] if met else []
            candidate.command = command(
                *(("doctor", *met) if met else (path, candidate.path))
            )
        search = (
            () if finder.roots is None else ("--search", home)
        )  # None: not even nearby
        look = command("doctor", *search, path)
        look = "" if candidates or along or home in (finder.roots or ()) else look
        names = (*project.directories, *(c.path for c in candidates))
        candidates = candidates if along is None else ()
        yield Finding(
            kind, path, described(project), look, (), names, candidates, along
        )


def _own(survey: Survey, command: CommandLine) -> Iterator[Finding]:
    """An interrupted run, what could not be read, and what our past runs left."""
    layout, journal = survey.layout, str(survey.layout.journal)
    try:
        if (run := read_run(layout)) is not None:
            what, fix = f"run {run.id} did not finish", command("recover")
            yield Finding("interrupted-run", journal, what, fix, names=(run.id,))
    except UnfinishedRunError as error:
        yield Finding(
            "interrupted-run", journal, error.message, command("recover", "--set-aside")
        )
    for file, what in survey.problems.items():
        look = command_line(["ls", "-ld", file])
        yield Finding("unreadable", file, what, look, names=(os.path.basename(file),))
    for identifier, what in _damaged_backups(survey):
        look = command("backups", identifier)
        subject, names = f"run {identifier}", (identifier,)
        yield Finding("damaged-backup", subject, what, look, names=names)


def _damaged_backups(survey: Survey) -> Iterator[tuple[str, str]]:
    """The IDs of runs that can't be undone any more, and why; the newest first."""
    for identifier in reversed(backup_ids(survey.layout.unfinished)):
        yield identifier, SET_ASIDE
    for backup in reversed(survey.backups):
        if backup.problem is not None:
            yield backup.id, backup.problem.message


def _spellings(survey: Survey, command: CommandLine) -> Iterator[Finding]:
    """Paths that are one folder: its device and file number are the same."""
    known: dict[tuple[int, int], list[Project]] = defaultdict(list)
    for path, project in survey.by_path.items():
        with contextlib.suppress(OSError, ValueError):
            if project.exists:
                found = os.stat(path)
                known[found.st_dev, found.st_ino].append(project)
    for projects in (projects for projects in known.values() if len(projects) > 1):
        projects.sort(key=lambda project: -project.sessions)
        paths = [str(project.path) for project in projects]
        spelled = [_on_disk(path) for path in paths]
        # Two mounts are both real: the one that is used more is taken.
        real = next((path for path in spelled if path in paths), spelled[0])
        for path in (path for path in paths if path != real):
            what = f"the same folder as {real}; {difference(path, real)}"
            yield Finding("spelling", path, what, command(path, real), names=(real,))


def _on_disk(path: str) -> str:
    """The path as the names in its folders are spelled; links are seen through."""
    above, name = os.path.split(os.path.realpath(path))
    if not name:
        return above
    above = _on_disk(above)
    same = os.path.join(above, name)
    with contextlib.suppress(OSError):
        names = os.listdir(above)
        alike = (os.path.join(above, other) for other in names if name not in names)
        same = next((other for other in alike if os.path.samefile(other, same)), same)
    return same


def difference(one: str, other: str) -> str:
    """In what two spellings of a path differ, also where they look alike."""

    def folded(path: str, but: str = "") -> str:
        for way, fold in FOLDS.items():
            path = fold(path) if way != but else path
        return path

    if folded(one) != folded(other):
        return "one of the two goes through a link or a mount"
    ways = (way for way in FOLDS if folded(one, way) != folded(other, way))
    return f"the two differ only in {', '.join(ways)}"


def _directory(survey: Survey, directory: Directory) -> Iterator[Finding]:
    """Conversations where nobody looks for them, and an outdated index."""
    projects, amounts = survey.layout.projects, directory.amounts
    for item in directory.holding.directory.items:
        if item.is_dir and ENCODED.fullmatch(item.name):
            inner = directory.path / item.name
            what = (
                f"a project directory inside another, {size(amounts[item.name].size)}"
            )
            fix = bringing_all(str(inner), str(projects / item.name))
            yield Finding(
                "misplaced-directory", str(inner), what, fix, names=(item.name,)
            )
    if not (
        directory.holding.directory.transcripts
        or (MEMORY in amounts and amounts[MEMORY].files)
    ):
        return
    if not directory.claims:
        what = (
            "no known path has this name, "
            f"{size(sum(a.size for a in amounts.values()))}"
        )
        fix, named = (
            command_line(["ls", "-lA", str(directory.path)]),
            directory.named_elsewhere,
        )
        if named:
            fix = bringing_all(str(directory.path), str(projects / encode(min(named))))
        lines = tuple(f"its transcripts name {path}" for path in sorted(named))
        yield Finding("misplaced-directory", str(directory.path), what, fix, lines)
    yield from _index(directory)


def _index(directory: Directory) -> Iterator[Finding]:
    """Values that are outdated; the client makes another index when there is none."""
    document = directory.holding.directory.index_file
    try:
        wrong = (
            tuple(_wrong(parse(document.text).value, directory))
            if document is not None
            else ()
        )
    except NotJsonError as error:
        wrong = (f"not valid JSON ({error})",)
    if wrong:
        file = str(directory.path / INDEX)
        aside = command_line(["mv", "-n", file, f"{file}.old"])
        yield Finding("index", file, plural(len(wrong), "outdated value"), aside, wrong)


def _wrong(index: object, directory: Directory) -> Iterator[str]:
    """Entries without a transcript,
    and paths of another directory or a folder that is gone.
    """
    sessions = {
        session_of(item.name) for item in directory.holding.directory.transcripts
    }
    entries = get(index, "entries")
    for record in (index, *(entries if isinstance(entries, list) else ())):
        session, full = get(record, "sessionId"), get(record, "fullPath")
        if isinstance(session, str) and session not in sessions:
            yield f"sessionId: {session}"
        elif (
            isinstance(full, str)
            and PureWindowsPath(full).parent.name != directory.name
        ):
            yield f"fullPath: {full}"
        for key in ("originalPath", "projectPath"):
            path = get(record, key)
            is_other = isinstance(path, str) and not may_be_name_of(
                directory.name, path
            )
            if is_other and folder_exists(path) is False:
                yield f"{key}: {path}"


def _twice(
    session: str, directories: list[Directory], command: CommandLine
) -> Iterator[Finding]:
    """Which turns are where, the file that has most first,
    and of equal ones the older; a merge makes one of two that are alike.
    """
    amounts = [
        (d.amounts[f"{session}.jsonl"], d.path / f"{session}.jsonl")
        for d in directories
    ]
    best, *others = (
        file for _, file in sorted(amounts, key=lambda a: (-a[0].size, a[0].newest))
    )
    for other in others:
        try:
            more, less = _turns(best), _turns(other)
        except (CcmoveError, OSError):
            continue  # it went meanwhile, or is listed as unreadable
        shared = sum(takewhile(bool, map(eq, more, less)))
        what = f"same beginning: {plural(shared, 'line')}; then they differ"
        if shared == len(less):
            what = SAME if more == less else BEGINNING
        lines = (
            f"{best}: {plural(len(more), 'line')}",
            f"{other}: {plural(len(less), 'line')}",
        )
        names = (best.parent.name, other.parent.name, str(best), str(other))
        fix = command_line(["ls", "-l", str(best), str(other)])
        if what in (SAME, BEGINNING):
            both = [d for d in directories if d.path in (best.parent, other.parent)]
            fix = _merge_of(both, command) or fix
        yield Finding("split-session", session, what, fix, lines, names)


def _merge_of(directories: list[Directory], command: CommandLine) -> str:
    """The move that brings two directories together: from a folder that is gone to one
    that is there. Nothing where that is not so, or where several share a directory.
    """
    gone, there = list[str](), list[str]()
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
    return command(*gone, *there)


def _turns(file: Path) -> list[int]:
    with open_regular(file) or io.BytesIO() as transcript:
        return [hash(line) for line in transcript]
