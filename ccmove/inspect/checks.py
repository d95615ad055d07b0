"""What is wrong in the state, from one survey: every finding with the command that fixes it.

Reads only. For the damage that other tools left in the project directories the commands are the
shell's own, and none of them overwrites or removes anything but empty directories.
"""

import contextlib
import os
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path, PureWindowsPath

from ccmove.claude.naming import encode, may_be_name_of
from ccmove.claude.ownership import folder_exists
from ccmove.claude.reading import read_document
from ccmove.claude.state import ALIASES, INDEX, MEMORY, SESSION_ID, get
from ccmove.errors import CcmoveError, UnsettledError
from ccmove.inspect.backups import list_backups
from ccmove.inspect.findings import KINDS, CommandLine, Examination, Finding
from ccmove.inspect.lost import Finder
from ccmove.inspect.survey import Directory, Survey, Tick
from ccmove.inspect.turns import read_turns, shared_lines
from ccmove.rewrite.jsonspan import NotJsonError, loads
from ccmove.run.journal import read_run
from ccmove.text import command_line, plural, quote
from ccmove.text import readable_size as size

PRUNE_KEEP = 5
PRUNE_AFTER_DAYS = 30
MOST_LINES = 5
ENCODED = re.compile(r"-[A-Za-z0-9-]*|[A-Za-z]--[A-Za-z0-9-]*")


def examine(
    survey: Survey,
    command: CommandLine,
    roots: Iterable[str] | None = (),
    tick: Tick | None = None,
) -> Examination:
    """Every finding, the most pressing kinds first; with `roots=None` nothing lost is sought."""
    finder = Finder(survey, roots, tick)
    places = survey.places_of_sessions
    twice = [
        finding
        for session, names in places.items()
        if len(names) > 1 and SESSION_ID.fullmatch(session)
        for finding in _twice(session, [survey.directories[name] for name in names])
    ]
    split = {f.subject: set(places[f.subject]) for f in twice if f.kind == "split-session"}
    found = [*_own(survey, command), *finder.findings(command, split), *twice]
    for directory in survey.directories.values():
        names = (directory.name, str(directory.path), *directory.claims)
        about = _directory(survey, directory)
        found += [replace(finding, names=(*finding.names, *names)) for finding in about]
    order = list(KINDS)
    found.sort(key=lambda finding: order.index(finding.kind))
    return Examination(survey, tuple(found), tuple(finder.notes))


def _own(survey: Survey, command: CommandLine) -> Iterator[Finding]:
    """An interrupted run, what could not be read, and backups of no use."""
    layout = survey.layout
    journal = str(layout.journal)
    try:
        if (run := read_run(layout)) is not None:
            what, fix = f"run {run.id} did not finish", command("recover")
            yield Finding("interrupted-run", journal, what, fix, names=(run.id,))
    except UnsettledError as error:
        yield Finding("interrupted-run", journal, error.message, command("recover", "--set-aside"))
    for file, what in ((problem.file, problem.what) for problem in survey.lists.problems):
        look = command_line(["ls", "-ld", file])
        yield Finding("unreadable", file, what, look, names=(os.path.basename(file),))
    rows = list_backups(layout, survey.backups)  # the newest first
    for row in rows:
        path = str(layout.backups / row.id)
        if row.kind == "unfinished":
            path, what = str(layout.unfinished / row.id), f"the run {row.id}"
            yield Finding("unfinished-run", path, what, command("backups"), names=(row.id,))
        elif row.error is not None:
            look = command_line(["ls", "-l", path])
            yield Finding("damaged-backup", path, row.error, look, names=(row.id,))
    limit = time.strftime("%Y%m%d", time.gmtime(time.time() - PRUNE_AFTER_DAYS * 86400))
    if old := [row for row in rows[PRUNE_KEEP:] if row.id[:8] < limit]:
        what = f"{plural(len(old), 'backup')} older than {PRUNE_AFTER_DAYS} days"
        what += f", {size(sum(row.bytes for row in old))}"
        which = ("--keep", str(PRUNE_KEEP), "--older-than", f"{PRUNE_AFTER_DAYS}d")
        prune = command("backups", "--prune", *which)
        yield Finding("backups", str(layout.backups), what, prune, names=("backups",))


def _directory(survey: Survey, directory: Directory) -> Iterator[Finding]:
    """All that is wrong with one project directory."""
    path, claims = str(directory.path), directory.claims
    memory = directory.amounts.get(MEMORY)
    has_worth = bool(directory.case.directory.transcripts or (memory and memory.files))
    nested = list(_nested(survey, directory))
    yield from nested
    if len(claims) > 1:
        lines = []
        for claim in claims:
            gone = ", its folder is gone" if survey.by_path[claim].is_missing else ""
            lines.append(f"{claim}: {plural(len(directory.sessions_of(claim)), 'session')}{gone}")
        what = f"{len(claims)} paths have this name"
        yield Finding("shared-directory", path, what, details=tuple(lines))
    if has_worth and not claims:
        yield _unknown(survey, directory)
    # The client makes an empty one at every start, so that of a living project is none.
    is_usual = not directory.files and any(survey.by_path[claim].exists for claim in claims)
    if not (has_worth or nested or is_usual):
        what, fix = "empty", ["find", path, "-type", "d", "-empty", "-delete"]
        if directory.files:
            what = f"{plural(directory.files, 'file')}, {size(directory.size)}"
            fix = ["ls", "-lAR", path]
        lines = sorted(directory.amounts)[:MOST_LINES]
        yield Finding("leftover-directory", path, what, command_line(fix), tuple(lines))
    if has_worth:
        yield from _index(directory)
    yield from _aliases(directory)


def _nested(survey: Survey, directory: Directory) -> Iterator[Finding]:
    for item in directory.case.directory.items:
        if item.is_dir and ENCODED.fullmatch(item.name):
            inner, amount = directory.path / item.name, directory.amounts[item.name]
            number = sum(name.endswith(".jsonl") for name in os.listdir(inner))
            what = f"{plural(number, 'session')}, {size(amount.size)}"
            fix = _brought(inner, survey.layout.projects / item.name)
            yield Finding("nested-directory", str(inner), what, fix, names=(item.name,))


def _unknown(survey: Survey, directory: Directory) -> Finding:
    what = f"{plural(len(directory.sessions_of(None)), 'session')}, {size(directory.size)}"
    # Any path with this name will do as OLD: nobody else claims the directory.
    guess = directory.name.replace("-", "/")
    lines = [f"if you know its folder: --skip-path-check, with {guess} as the old path"]
    fix = command_line(["ls", "-lA", str(directory.path)])
    if named := sorted(directory.named_elsewhere):
        lines = [f"its transcripts name {path}" for path in named]
        fix = _brought(directory.path, survey.layout.projects / encode(named[0]))
    return Finding("unknown-name", str(directory.path), what, fix, tuple(lines))


def _brought(source: Path, target: Path) -> str:
    """The command that brings all of a directory to its right place, and overwrites nothing."""
    if not os.path.lexists(target):
        return command_line(["mv", "-n", str(source), str(target)])
    each = ["-mindepth", "1", "-maxdepth", "1", "-exec", "mv", "-n", "{}", f"{target}/", ";"]
    bring, remove = ["find", str(source), *each], ["rmdir", str(source)]
    return f"{command_line(bring)} && {command_line(remove)}"


def _index(directory: Directory) -> Iterator[Finding]:
    file = str(directory.path / INDEX)
    try:
        document = read_document(Path(file))
        wrong = tuple(_wrong(loads(document.text), directory)) if document is not None else ()
    except (CcmoveError, NotJsonError, OSError) as error:
        yield Finding("index", file, f"can't be read: {error}", command_line(["ls", "-l", file]))
        return
    if wrong:
        aside = command_line(["mv", "-n", file, f"{file}.old"])  # the client makes another
        yield Finding("index", file, plural(len(wrong), "outdated value"), aside, wrong)


def _wrong(index: object, directory: Directory) -> Iterator[str]:
    """Entries that point nowhere or elsewhere, and paths that are gone."""
    sessions = {item.session for item in directory.case.directory.transcripts}
    entries = get(index, "entries")
    for record in (index, *(entries if isinstance(entries, list) else ())):
        session, full = get(record, "sessionId"), get(record, "fullPath")
        whose = f" of {session}" if isinstance(session, str) else ""
        if whose and session not in sessions:
            yield f"the entry{whose} points nowhere: there is no such transcript"
            continue
        place = PureWindowsPath(full).parent.name if isinstance(full, str) else directory.name
        if place != directory.name:
            yield f"fullPath{whose} points at {place}"
        for key in ("originalPath", "projectPath"):
            path = get(record, key)
            is_other = isinstance(path, str) and not may_be_name_of(directory.name, path)
            if is_other and folder_exists(path) is False:  # it was moved without being told
                yield f"{key}{whose} names {path}, which is gone"


def _aliases(directory: Directory) -> Iterator[Finding]:
    file = str(directory.path / ALIASES)
    with contextlib.suppress(CcmoveError, OSError):
        document = read_document(Path(file))
        lines = document.text.split("\n") if document is not None else []
        dead = tuple(line for line in lines if line.startswith("/") and not os.path.isdir(line))
        if dead:
            edit = f"${{EDITOR:-vi}} {quote(file)}"
            yield Finding("index", file, plural(len(dead), "dead line"), edit, dead)


def _twice(session: str, directories: list[Directory]) -> Iterator[Finding]:
    """Which turns are where, the file that has most first."""
    name = f"{session}.jsonl"

    def preference(directory: Directory) -> tuple[int, bool, int]:
        """The largest; of equal ones that of the session's own path, then the older one."""
        amount = directory.amounts[name]
        return (-amount.size, not directory.case.owner_of.get(session), amount.newest)

    best, *others = sorted(directories, key=preference)
    for other in others:
        one, two = best.path / name, other.path / name
        try:
            more, less, shared = read_turns(one), read_turns(two), shared_lines(one, two)
        except (CcmoveError, OSError):
            continue  # it went meanwhile, or is listed as unreadable
        kind, fix = "duplicate-session", ["mv", "-n", str(two), f"{two}.copy"]
        what = "both are the same" if more.lines == shared else "the first has more"
        if shared < less.lines:
            kind, fix = "split-session", ["ls", "-l", str(one), str(two)]
            what = f"both begin with the same {plural(shared, 'line')}, then differ"
            what = what if shared else "they have no beginning in common"
        lines = (f"{one}: {more}", f"{two}: {less}")
        names = (best.name, other.name, str(one), str(two))
        yield Finding(kind, session, what, command_line(fix), lines, names)
