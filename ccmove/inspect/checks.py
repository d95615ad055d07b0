"""What is wrong in the state, from one survey: every finding with the command that fixes it.

Reads only. For the damage that other tools left in the project directories the commands are the
shell's own, and none of them overwrites anything.
"""

from __future__ import annotations

import itertools
import os
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ccmove.claude.layout import Layout
from ccmove.claude.naming import encode, may_be_name_of, possible_names
from ccmove.claude.ownership import folder_exists
from ccmove.claude.reading import read_document, sha256_of
from ccmove.claude.state import ALIASES, INDEX, MEMORY, SESSION_ID, get
from ccmove.errors import CcmoveError, UnsettledError
from ccmove.inspect.findings import KINDS, Choice, CommandLine, Examination, Finding
from ccmove.inspect.lost import Finder, Homes
from ccmove.inspect.orphans import lost_projects, project_findings
from ccmove.inspect.survey import Directory, Survey, Tick, is_session
from ccmove.rewrite.jsonspan import NotJsonError, loads
from ccmove.run.backups import unfinished_ids
from ccmove.run.journal import read_journal
from ccmove.text import command_line, plural, quote
from ccmove.text import readable_size as size

if TYPE_CHECKING:
    from ccmove.inspect.backups import Backup

PRUNE_KEEP = 5
PRUNE_AFTER_DAYS = 30
MOST_LINES = 5
ENCODED = re.compile(r"-[A-Za-z0-9-]*|[A-Za-z]--[A-Za-z0-9-]*")
_FULL_PATH = re.compile(r".*[\\/]projects[\\/]([^\\/]+)[\\/][^\\/]+", re.DOTALL)


def examine(
    survey: Survey,
    command: CommandLine,
    backups: list[Backup],
    roots: Iterable[str] | None = (),
    tick: Tick | None = None,
) -> Examination:
    """Every finding, the most pressing kinds first; with `roots=None` nothing lost is sought."""
    homes: Homes = {}
    notes: list[str] = []
    if roots is not None:
        finder = Finder(survey, roots)
        homes = finder.find(lost_projects(survey), tick)
        notes = [
            f"{root} holds more folders than are looked at; search in a smaller one: "
            + command("doctor", "--search", "DIR")
            for root in finder.cut_short
        ]
    found = [
        *_interrupted(survey.layout, command),
        *_set_aside(survey.layout, command),
        *_unreadable(survey),
        *project_findings(survey, homes, command),
        *_directories(survey, command),
        *_duplicates(survey),
        *_backups(survey.layout, backups, command),
    ]
    order = list(KINDS)
    found.sort(key=lambda finding: order.index(finding.kind))
    return Examination(survey, tuple(found), tuple(notes), command("doctor", "--fix"))


# -- ccmove's own --------------------------------------------------------------------------------


def _interrupted(layout: Layout, command: CommandLine) -> Iterator[Finding]:
    subject = str(layout.journal)
    try:
        journal = read_journal(layout)
    except UnsettledError as error:
        yield Finding("interrupted-run", subject, error.message, command("recover", "--set-aside"))
        return
    if journal is not None:
        yield Finding(
            "interrupted-run",
            subject,
            f"the run {journal.id} did not come to its end",
            command("recover"),
            choices=(Choice("take it back", action="recover", sure=True),),
            names=(journal.id,),
        )


def _set_aside(layout: Layout, command: CommandLine) -> Iterator[Finding]:
    for identifier in unfinished_ids(layout):
        what = f"the run {identifier} could not be rolled back and was set aside"
        subject = str(layout.unfinished / identifier)
        yield Finding("unfinished-run", subject, what, command("backups"), names=(identifier,))


def _unreadable(survey: Survey) -> Iterator[Finding]:
    for problem in survey.problems:
        look = command_line(["ls", "-ld", problem.file])
        names = (os.path.basename(problem.file),)
        yield Finding("unreadable", problem.file, problem.what, look, names=names)


def _backups(layout: Layout, rows: list[Backup], command: CommandLine) -> Iterator[Finding]:
    """Those that only take room, and those that are of no use any more; rows are newest first."""
    limit = time.strftime("%Y%m%d", time.gmtime(time.time() - PRUNE_AFTER_DAYS * 86400))
    old = [row for row in rows[PRUNE_KEEP:] if row.identifier[:8] < limit]
    if old:
        number = f"{plural(len(old), 'backup')} older than {PRUNE_AFTER_DAYS} days"
        options = ("--keep", str(PRUNE_KEEP), "--older-than", f"{PRUNE_AFTER_DAYS}d")
        yield Finding(
            "backups",
            str(layout.backups),
            f"{number}, {size(sum(row.size for row in old))}",
            command("backups", "--prune", *options),
            choices=(Choice("remove them for good", action="prune"),),
            names=("backups",),
        )
    for row in rows:
        if row.problem is not None:
            path = str(layout.backups / row.identifier)
            remove = command_line(["rm", "-r", path])
            yield Finding("damaged-backup", path, row.problem, remove, names=(row.identifier,))


# -- one project directory -----------------------------------------------------------------------


def _directories(survey: Survey, command: CommandLine) -> Iterator[Finding]:
    for directory in survey.directories:
        nested = list(_nested(survey, directory))
        yield from _shared(survey, directory, command)
        yield from nested
        if directory.has_worth:
            yield from _unknown(survey, directory, command)
            yield from _index(survey, directory)
        elif not nested:
            yield from _left_over(survey, directory)
        yield from _aliases(directory)


def _shared(survey: Survey, directory: Directory, command: CommandLine) -> Iterator[Finding]:
    if len(directory.claims) < 2:
        return
    lines = []
    for path in directory.claims:
        number = sum(is_session(item) for item in directory.items_of(path))
        gone = ", its folder is gone" if survey.by_path[path].is_missing else ""
        lines.append(f"{path}: {plural(number, 'session')}{gone}")
    # What gives one of the paths a directory of its own.
    apart = next((path for path in directory.claims if survey.by_path[path].is_missing), None)
    last = directory.claims[-1]
    yield Finding(
        "shared-directory",
        str(directory.path),
        f"{len(directory.claims)} paths have this name",
        command(apart, "NEW") if apart else command("--move-folder", last, _free_name(last)),
        tuple(lines),
        names=(directory.name, *directory.claims),
    )


def _free_name(path: str) -> str:
    names = (f"{path}{number}" for number in itertools.count(2))
    return next(name for name in names if not os.path.lexists(name))


def _nested(survey: Survey, directory: Directory) -> Iterator[Finding]:
    for item in directory.case.directory.items:
        inner = directory.path / item.name
        if not item.is_dir or item.name == MEMORY or SESSION_ID.fullmatch(item.name):
            continue
        transcripts = [name for name in sorted(os.listdir(inner)) if name.endswith(".jsonl")]
        is_named_so = ENCODED.fullmatch(item.name) or item.name in survey.directory_by_name
        if is_named_so or any(SESSION_ID.match(name) for name in transcripts):
            yield Finding(
                "nested-directory",
                str(inner),
                f"{plural(len(transcripts), 'session')}, {size(directory.entries[item.name].size)}",
                _out_of(survey, directory, inner),
                names=(item.name, directory.name),
            )


def _out_of(survey: Survey, outer: Directory, inner: Path) -> str:
    """Beside the directory around it where its own path is in use, else into that directory."""
    beside = survey.layout.projects / inner.name
    own = [path for path in survey.by_path if inner.name in possible_names(path)]
    return _merged(inner, beside if any(folder_exists(path) for path in own) else outer.path)


def _merged(source: Path, target: Path) -> str:
    """The command that brings all of a directory to its right place, and overwrites nothing."""
    if not os.path.lexists(target):
        return command_line(["mv", "-n", str(source), str(target)])
    remove = command_line(["rmdir", str(source)])
    return f"mv -n {quote(str(source))}/* {quote(str(target))}/ && {remove}"


def _unknown(survey: Survey, directory: Directory, command: CommandLine) -> Iterator[Finding]:
    if directory.claims:
        return
    named = sorted(directory.named_elsewhere)
    # Any path with this name will do as OLD: nobody else claims the directory.
    fix = command("--skip-path-check", directory.name.replace("-", "/"), "NEW")
    if named:
        fix = _merged(directory.path, survey.layout.projects / encode(named[0]))
    yield Finding(
        "unknown-name",
        str(directory.path),
        f"{plural(len(directory.sessions), 'session')}, {size(directory.size)}",
        fix,
        tuple(f"its transcripts name {path}" for path in named),
        names=(directory.name,),
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
        names=(directory.name, *directory.claims),
    )


def _index(survey: Survey, directory: Directory) -> Iterator[Finding]:
    path = directory.path / INDEX
    if INDEX not in directory.entries:
        return
    names = (directory.name, str(directory.path), *directory.claims)
    try:
        document = read_document(path)
        lines = _faults(loads(document.text), survey, directory) if document is not None else []
    except (CcmoveError, NotJsonError, OSError) as error:
        look = command_line(["ls", "-l", str(path)])
        yield Finding("index", str(path), f"can't be read: {error}", look, names=names)
        return
    if lines:
        what = plural(len(lines), "untrue value")
        aside = command_line(["mv", "-n", str(path), f"{path}.old"])  # the client makes another
        yield Finding("index", str(path), what, aside, tuple(lines), names=names)


def _faults(index: object, survey: Survey, directory: Directory) -> list[str]:
    """Entries that point nowhere or elsewhere, and paths that are gone."""

    def is_stale(path: object) -> bool:
        """A path of another directory that is gone: the index was moved without being told."""
        is_path = isinstance(path, str) and not may_be_name_of(directory.name, path)
        return is_path and folder_exists(str(path)) is False

    sessions = {item.session for item in directory.case.directory.transcripts}
    keys = ("originalPath", "projectPath")
    stale = [(key, get(index, key)) for key in keys if is_stale(get(index, key))]
    lines = [f"{key} names {path}, which is gone" for key, path in stale]
    entries = get(index, "entries")
    for entry in entries if isinstance(entries, list) else ():
        session, path, full = (get(entry, key) for key in ("sessionId", "projectPath", "fullPath"))
        if isinstance(session, str) and session not in sessions:
            where = survey.places_of_sessions.get(session)
            lines.append(
                f"the entry of {session} belongs to {where[0]}, where its transcript is"
                if where
                else f"the entry of {session} points nowhere: there is no such transcript"
            )
            continue
        match = _FULL_PATH.fullmatch(full) if isinstance(full, str) else None
        if match is not None and match[1] != directory.name:
            lines.append(f"fullPath of {session} points at {match[1]}")
        if is_stale(path):
            lines.append(f"projectPath of {session} names {path}, which is gone")
    return lines


def _aliases(directory: Directory) -> Iterator[Finding]:
    path = directory.path / ALIASES
    try:
        document = read_document(path) if ALIASES in directory.entries else None
    except (CcmoveError, OSError):
        return
    lines = [line for line in document.text.split("\n") if line] if document is not None else []
    dead = [line for line in lines if line.startswith("/") and not os.path.isdir(line)]
    if dead:
        yield Finding(
            "alias",
            str(path),
            f"{plural(len(dead), 'line')} of {len(lines)}",
            f"${{EDITOR:-vi}} {quote(str(path))}",
            tuple(dead),
            names=(directory.name, str(directory.path), *directory.claims),
        )


# -- copies --------------------------------------------------------------------------------------


def _duplicates(survey: Survey) -> Iterator[Finding]:
    for session, names in survey.places_of_sessions.items():
        if len(names) > 1 and SESSION_ID.fullmatch(session):
            yield from _copies(survey, session, [survey.directory_by_name[n] for n in names])


def _copies(survey: Survey, session: str, directories: list[Directory]) -> Iterator[Finding]:
    """The longest is the one to keep; then the one at home there; a copy is younger."""
    name = f"{session}.jsonl"

    def preference(directory: Directory) -> tuple[int, bool, bool, int]:
        entry = directory.entries[name]
        exists = any(survey.by_path[path].exists for path in directory.claims)
        is_home = directory.case.owner_of.get(session) is not None
        return (-entry.size, not is_home, not exists, entry.newest)

    best, *others = sorted(directories, key=preference)
    for other in others:
        one, two = best.path / name, other.path / name
        is_part = _is_start_of(two, other.entries[name].size, one)
        same = is_part and best.entries[name].size == other.entries[name].size
        drop = ["rm", "-i", str(two)] if is_part else ["ls", "-l", str(one), str(two)]
        yield Finding(
            "duplicate-session",
            session,
            "the same bytes" if same else "one goes on" if is_part else "different conversations",
            command_line(drop),
            tuple(f"{d.path / name}: {size(d.entries[name].size)}" for d in (best, other)),
            names=(best.name, other.name, str(one), str(two)),
        )


def _is_start_of(one: Path, size_of_one: int, other: Path) -> bool:
    """Whether the file `other` begins with all the bytes of `one`."""
    try:
        return sha256_of(one) == sha256_of(other, size_of_one)
    except (CcmoveError, OSError):
        return False
