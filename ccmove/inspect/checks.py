"""What is wrong in the state, from one survey: every finding with the command that fixes it.

Reads only. For the damage that other tools left in the project directories the commands are the
shell's own, and none of them overwrites anything.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from ccmove.claude.naming import encode, may_be_name_of
from ccmove.claude.ownership import folder_exists
from ccmove.claude.reading import read_document, sha256_of
from ccmove.claude.state import ALIASES, INDEX, MEMORY, SESSION_ID, get
from ccmove.errors import CcmoveError, UnsettledError
from ccmove.inspect.backups import list_backups
from ccmove.inspect.findings import KINDS, Choice, CommandLine, Examination, Finding
from ccmove.inspect.lost import Finder
from ccmove.inspect.survey import Directory, Survey, Tick, is_session
from ccmove.rewrite.jsonspan import NotJsonError, loads
from ccmove.run.journal import read_journal
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
    notes = [
        f"{root} holds more folders than are looked at; search in a smaller one: "
        + command("doctor", "--search", "DIR")
        for root in finder.cut_short
    ]
    found = [*_own(survey, command), *finder.findings(command)]
    for directory in survey.directories:
        found += _directory(survey, directory, command)
    for session, names in survey.places_of_sessions.items():
        if len(names) > 1 and SESSION_ID.fullmatch(session):
            found += _copies(session, [survey.directory_by_name[name] for name in names])
    order = list(KINDS)
    found.sort(key=lambda finding: order.index(finding.kind))
    return Examination(survey, tuple(found), tuple(notes), command("doctor", "--fix"))


def _own(survey: Survey, command: CommandLine) -> Iterator[Finding]:
    """An interrupted run, what could not be read, and backups of no use; rows are newest first."""
    layout = survey.layout
    try:
        if (run := read_journal(layout)) is not None:
            choice = Choice("take it back", action="recover", sure=True)
            yield Finding(
                "interrupted-run",
                str(layout.journal),
                f"the run {run.id} did not come to its end",
                command("recover"),
                names=(run.id,),
                choices=(choice,),
            )
    except UnsettledError as error:
        aside = command("recover", "--set-aside")
        yield Finding("interrupted-run", str(layout.journal), error.message, aside)
    for problem in survey.problems:
        look, name = command_line(["ls", "-ld", problem.file]), os.path.basename(problem.file)
        yield Finding("unreadable", problem.file, problem.what, look, names=(name,))
    rows = list_backups(layout, survey.backups)
    for row in rows:
        if row.kind == "unfinished":
            path, what = str(layout.unfinished / row.identifier), f"the run {row.identifier}"
            yield Finding("unfinished-run", path, what, command("backups"), names=(row.identifier,))
        elif row.problem is not None:
            path = str(layout.backups / row.identifier)
            look = command_line(["ls", "-l", path])
            yield Finding("damaged-backup", path, row.problem, look, names=(row.identifier,))
    limit = time.strftime("%Y%m%d", time.gmtime(time.time() - PRUNE_AFTER_DAYS * 86400))
    if old := [row for row in rows[PRUNE_KEEP:] if row.identifier[:8] < limit]:
        number = f"{plural(len(old), 'backup')} older than {PRUNE_AFTER_DAYS} days"
        options = ("--keep", str(PRUNE_KEEP), "--older-than", f"{PRUNE_AFTER_DAYS}d")
        yield Finding(
            "backups",
            str(layout.backups),
            f"{number}, {size(sum(row.size for row in old))}",
            command("backups", "--prune", *options),
            names=("backups",),
            choices=(Choice("remove them for good", action="prune"),),
        )


# -- one project directory -----------------------------------------------------------------------


def _directory(survey: Survey, directory: Directory, command: CommandLine) -> Iterator[Finding]:
    nested = list(_nested(survey, directory))
    yield from nested
    if len(directory.claims) > 1:
        yield _shared(survey, directory, command)
    if directory.has_worth:
        if not directory.claims:
            yield _unknown(survey, directory, command)
        yield from _index(directory)
    elif not nested:
        yield from _left_over(survey, directory)
    yield from _aliases(directory)


def _shared(survey: Survey, directory: Directory, command: CommandLine) -> Finding:
    lines = []
    for path in directory.claims:
        number = sum(is_session(item) for item in directory.items_of(path))
        gone = ", its folder is gone" if survey.by_path[path].is_missing else ""
        lines.append(f"{path}: {plural(number, 'session')}{gone}")
    last = directory.claims[-1]  # one whose folder is gone, if there is any
    option = [] if survey.by_path[last].is_missing else ["--move-folder"]
    return Finding(
        "shared-directory",
        str(directory.path),
        f"{len(directory.claims)} paths have this name",
        command(*option, last, "NEW"),
        tuple(lines),
        (directory.name, *directory.claims),
    )


def _nested(survey: Survey, directory: Directory) -> Iterator[Finding]:
    for item in directory.case.directory.items:
        inner = directory.path / item.name
        if not item.is_dir or item.name == MEMORY or SESSION_ID.fullmatch(item.name):
            continue
        transcripts = [name for name in os.listdir(inner) if name.endswith(".jsonl")]
        if ENCODED.fullmatch(item.name) or any(SESSION_ID.match(name) for name in transcripts):
            yield Finding(
                "nested-directory",
                str(inner),
                f"{plural(len(transcripts), 'session')}, {size(directory.entries[item.name].size)}",
                _brought(inner, survey.layout.projects / inner.name),
                names=(item.name, directory.name),
            )


def _brought(source: Path, target: Path) -> str:
    """The command that brings all of a directory to its right place, and overwrites nothing."""
    if not os.path.lexists(target):
        return command_line(["mv", "-n", str(source), str(target)])
    remove = command_line(["rmdir", str(source)])
    return f"mv -n {quote(str(source))}/* {quote(str(target))}/ && {remove}"


def _unknown(survey: Survey, directory: Directory, command: CommandLine) -> Finding:
    named = sorted(directory.named_elsewhere)
    # Any path with this name will do as OLD: nobody else claims the directory.
    fix = command("--skip-path-check", directory.name.replace("-", "/"), "NEW")
    if named:
        fix = _brought(directory.path, survey.layout.projects / encode(named[0]))
    return Finding(
        "unknown-name",
        str(directory.path),
        f"{plural(len(directory.sessions), 'session')}, {size(directory.size)}",
        fix,
        tuple(f"its transcripts name {path}" for path in named),
        (directory.name,),
    )


def _left_over(survey: Survey, directory: Directory) -> Iterator[Finding]:
    """The client makes an empty one at every start, so that of a living project is none."""
    files = sum(entry.files for entry in directory.entries.values())
    if not files and any(survey.by_path[path].exists for path in directory.claims):
        return
    path = str(directory.path)
    remove = ["rm", "-ri", path] if files else ["find", path, "-type", "d", "-empty", "-delete"]
    yield Finding(
        "leftover-directory",
        path,
        f"{plural(files, 'file')}, {size(directory.size)}" if files else "empty",
        command_line(remove),
        tuple(sorted(directory.entries))[:MOST_LINES],
        (directory.name, *directory.claims),
    )


def _index(directory: Directory) -> Iterator[Finding]:
    path = directory.path / INDEX
    names = (directory.name, str(directory.path), *directory.claims)
    try:
        document = read_document(path)
        wrong = tuple(_wrong(loads(document.text), directory)) if document is not None else ()
    except (CcmoveError, NotJsonError, OSError) as error:
        look = command_line(["ls", "-l", str(path)])
        yield Finding("index", str(path), f"can't be read: {error}", look, names=names)
        return
    if wrong:
        aside = command_line(["mv", "-n", str(path), f"{path}.old"])  # the client makes another
        yield Finding("index", str(path), plural(len(wrong), "untrue value"), aside, wrong, names)


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
        parts = re.split(r"[\\/]", full) if isinstance(full, str) else []
        if len(parts) > 2 and parts[-3] == "projects" and parts[-2] != directory.name:
            yield f"fullPath{whose} points at {parts[-2]}"
        for key in ("originalPath", "projectPath"):
            path = get(record, key)
            is_other = isinstance(path, str) and not may_be_name_of(directory.name, path)
            if is_other and folder_exists(path) is False:  # it was moved without being told
                yield f"{key}{whose} names {path}, which is gone"


def _aliases(directory: Directory) -> Iterator[Finding]:
    path = directory.path / ALIASES
    try:
        document = read_document(path)
    except (CcmoveError, OSError):
        return
    lines = document.text.split("\n") if document is not None else []
    dead = tuple(line for line in lines if line.startswith("/") and not os.path.isdir(line))
    if dead:
        edit = f"${{EDITOR:-vi}} {quote(str(path))}"
        names = (directory.name, str(directory.path), *directory.claims)
        yield Finding("index", str(path), plural(len(dead), "dead line"), edit, dead, names)


def _copies(session: str, directories: list[Directory]) -> Iterator[Finding]:
    """The longest is the one to keep; then the one at home there; a copy is younger."""
    name = f"{session}.jsonl"

    def preference(directory: Directory) -> tuple[int, bool, int]:
        entry = directory.entries[name]
        return (-entry.size, not directory.case.owner_of.get(session), entry.newest)

    best, *others = sorted(directories, key=preference)
    for other in others:
        one, two = best.path / name, other.path / name
        sizes = [d.entries[name].size for d in (best, other)]
        is_part = _is_start_of(two, sizes[1], one)
        same = "the same bytes" if sizes[0] == sizes[1] else "one goes on"
        drop = ["rm", "-i", str(two)] if is_part else ["ls", "-l", str(one), str(two)]
        yield Finding(
            "duplicate-session",
            session,
            same if is_part else "different conversations",
            command_line(drop),
            (f"{one}: {size(sizes[0])}", f"{two}: {size(sizes[1])}"),
            (best.name, other.name, str(one), str(two)),
        )


def _is_start_of(one: Path, size_of_one: int, other: Path) -> bool:
    """Whether the file `other` begins with all the bytes of `one`."""
    try:
        return sha256_of(one) == sha256_of(other, size_of_one)
    except (CcmoveError, OSError):
        return False
