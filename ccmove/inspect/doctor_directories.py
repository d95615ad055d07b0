"""What is wrong inside the project directories: names, nesting, copies, indexes, left-overs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from ccmove.claude.naming import encode, possible_names
from ccmove.claude.reading import read_document
from ccmove.claude.state import ALIASES, INDEX, MEMORY, SESSION_ID
from ccmove.errors import CcmoveError
from ccmove.inspect.findings import Choice, CommandLine, Finding
from ccmove.inspect.indexcheck import Truth, index_faults
from ccmove.inspect.mend import KeepOne, SetAside, TrueIndex, Unite, is_start_of, same_content
from ccmove.inspect.survey import Directory, Survey, folder_exists, is_session
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.text import command_line, plural
from ccmove.text import readable_size as size

ENCODED = re.compile(r"-[A-Za-z0-9-]*|[A-Za-z]--[A-Za-z0-9-]*")
MOST_LINES = 5


def directory_findings(survey: Survey, command: CommandLine) -> Iterator[Finding]:
    """Everything that is wrong in the project directories."""
    for directory in survey.directories:
        yield from _shared(survey, directory, command)
        yield from _nested(survey, directory, command)
        yield from _unknown(survey, directory, command)
        yield from _left_over(survey, directory, command)
        yield from _index(survey, directory, command)
        yield from _aliases(directory)
    yield from _duplicates(survey, command)


def _fix(command: CommandLine, path: Path) -> str:
    return command("doctor", "--fix", str(path))


# -- shared -------------------------------------------------------------------------------------


def _shared(survey: Survey, directory: Directory, command: CommandLine) -> Iterator[Finding]:
    if len(directory.claims) < 2:
        return
    lines = []
    for path in directory.claims:
        number = sum(is_session(item) for item in directory.entries_of(path))
        gone = "" if survey.by_path[path].exists is not False else ", its folder is gone"
        lines.append(f"{path}: {plural(number, 'session')}{gone}")
    yield Finding(
        "shared-directory",
        str(directory.path),
        f"{len(directory.claims)} paths have this name",
        _apart(survey, directory, command),
        tuple(lines),
        names=(directory.name, *directory.claims),
    )


def _apart(survey: Survey, directory: Directory, command: CommandLine) -> str:
    """The command that gives one of the paths a directory of its own."""
    for path in directory.claims:
        if survey.by_path[path].is_missing:
            return command(path, "NEW")
    last = directory.claims[-1]
    return command("--move-folder", last, _free_name(last, directory.name))


def _free_name(path: str, name: str) -> str:
    number = 2
    while os.path.lexists(f"{path}{number}") or encode(f"{path}{number}") == name:
        number += 1
    return f"{path}{number}"


# -- nested -------------------------------------------------------------------------------------


def _nested(survey: Survey, directory: Directory, command: CommandLine) -> Iterator[Finding]:
    for item in directory.content.items:
        inner = directory.path / item.name
        if not item.is_dir or item.name == MEMORY or SESSION_ID.fullmatch(item.name):
            continue
        transcripts = [name for name in sorted(os.listdir(inner)) if name.endswith(".jsonl")]
        is_named_so = ENCODED.fullmatch(item.name) or item.name in survey.directory_by_name
        if not (is_named_so or any(SESSION_ID.match(name) for name in transcripts)):
            continue
        yield Finding(
            "nested-directory",
            str(inner),
            f"{plural(len(transcripts), 'session')}, {size(directory.entries[item.name].size)}",
            _fix(command, inner),
            choices=tuple(_places_for(survey, directory, inner)),
            names=(item.name, directory.name),
        )


def _places_for(survey: Survey, outer: Directory, inner: Path) -> Iterator[Choice]:
    """Into the directory around it, or beside that; sure when only one of them is in use."""
    owner = outer.claims[0] if outer.claims else None
    around_exists = owner is not None and survey.by_path[owner].exists is True
    beside = survey.layout.projects / inner.name
    claims = _claimants(survey, inner.name)
    beside_exists = any(folder_exists(path) for path in claims)
    is_double = inner.name == outer.name
    into = Choice(
        f"unite it with {outer.name}, in which it lies",
        mend=Unite(inner, outer.path, owner),
        sure=is_double or (around_exists and not beside_exists),
    )
    out = Choice(
        f"bring it to {beside}",
        mend=Unite(inner, beside, claims[0] if len(claims) == 1 else None),
        sure=beside_exists and not around_exists and not is_double,
    )
    yield from (into,) if is_double else (out, into) if out.sure else (into, out)


def _claimants(survey: Survey, name: str) -> list[str]:
    known = survey.directory_by_name.get(name)
    if known is not None:
        return list(known.claims)
    return [path for path in survey.by_path if name in possible_names(path)]


# -- names that nobody knows --------------------------------------------------------------------


def _unknown(survey: Survey, directory: Directory, command: CommandLine) -> Iterator[Finding]:
    if directory.claims or not _has_worth(directory):
        return
    named = sorted(directory.named_elsewhere)
    details = [f"its transcripts name {path}" for path in named]
    choices = tuple(
        Choice(
            f"it is {path}'s: name it {encode(path)}",
            mend=Unite(directory.path, survey.layout.projects / encode(path), path),
        )
        for path in named
    )
    mend = _fix(command, directory.path) if choices else _by_its_name(command, directory.name)
    yield Finding(
        "unknown-name",
        str(directory.path),
        f"{plural(len(directory.sessions), 'session')}, {size(_size(directory))}",
        mend,
        tuple(details),
        choices=choices,
        names=(directory.name,),
    )


def _by_its_name(command: CommandLine, name: str) -> str:
    """Any path with this name will do as OLD: nobody else claims the directory."""
    return command("--skip-path-check", name.replace("-", "/"), "NEW")


def _has_worth(directory: Directory) -> bool:
    memory = directory.entries.get(MEMORY)
    return bool(directory.content.transcripts or (memory and memory.files))


def _size(directory: Directory) -> int:
    return sum(entry.size for entry in directory.entries.values())


# -- left-overs ---------------------------------------------------------------------------------


def _left_over(survey: Survey, directory: Directory, command: CommandLine) -> Iterator[Finding]:
    running = any("running" in survey.by_path[path].kept for path in directory.claims)
    holds_another = any(True for _ in _nested(survey, directory, command))
    if _has_worth(directory) or running or holds_another:
        return
    files = sum(entry.files for entry in directory.entries.values())
    what = f"{plural(files, 'file')}, {size(_size(directory))}" if files else "empty"
    yield Finding(
        "leftover-directory",
        str(directory.path),
        what,
        _fix(command, directory.path),
        tuple(sorted(directory.entries))[:MOST_LINES],
        choices=(Choice("set it aside", mend=SetAside(directory.path), sure=not files),),
        names=(directory.name, *directory.claims),
    )


# -- indexes and aliases ------------------------------------------------------------------------


def _index(survey: Survey, directory: Directory, command: CommandLine) -> Iterator[Finding]:
    path = directory.path / INDEX
    if INDEX not in directory.entries or not _has_worth(directory):
        return
    truth = _truth(survey, directory)
    try:
        document = read_document(path)
        faults = index_faults(document.text, truth) if document is not None else None
    except (CcmoveError, NotJsonError, OSError) as error:
        look = command_line(["ls", "-l", str(path)])
        yield Finding("index", str(path), f"can't be read: {error}", look, names=(directory.name,))
        return
    if faults is not None and faults.lines:
        mend = TrueIndex(directory.path, truth)
        choices = (Choice("make it true", mend=mend, sure=True),) if faults.edits else ()
        yield Finding(
            "index",
            str(path),
            plural(len(faults.lines), "untrue value"),
            _fix(command, path),
            faults.lines,
            choices=choices,
            names=(directory.name, str(directory.path), *directory.claims),
        )


def _truth(survey: Survey, directory: Directory) -> Truth:
    owner = directory.claims[0] if len(directory.claims) == 1 else None
    return Truth(
        directory.name,
        {item.session for item in directory.content.transcripts},
        survey.places_of_sessions,
        owner,
        lambda path: folder_exists(path) is False,
    )


def _aliases(directory: Directory) -> Iterator[Finding]:
    path = directory.path / ALIASES
    if ALIASES not in directory.entries:
        return
    try:
        document = read_document(path)
    except (CcmoveError, OSError):
        return
    lines = document.text.split("\n") if document is not None else []
    dead = [line for line in lines if line.startswith("/") and not os.path.isdir(line)]
    if dead:
        yield Finding(
            "alias",
            str(path),
            f"{plural(len(dead), 'line')} of {len([line for line in lines if line])}",
            f"${{EDITOR:-vi}} {command_line([str(path)])}",
            tuple(dead),
            names=(directory.name, str(directory.path), *directory.claims),
        )


# -- copies -------------------------------------------------------------------------------------


def _duplicates(survey: Survey, command: CommandLine) -> Iterator[Finding]:
    for session, names in survey.places_of_sessions.items():
        if len(names) > 1 and SESSION_ID.fullmatch(session):
            directories = [survey.directory_by_name[name] for name in names]
            yield from _copies(survey, session, directories, command)


def _copies(
    survey: Survey, session: str, directories: list[Directory], command: CommandLine
) -> Iterator[Finding]:
    name = f"{session}.jsonl"
    best, *others = sorted(directories, key=lambda d: _preference(survey, d, name))
    for other in others:
        one, two = best.path / name, other.path / name
        same = same_content(one, two)
        whole = same or is_start_of(two, one)
        how = "the same bytes" if same else "one goes on" if whole else "different conversations"
        keep_one = KeepOne(session, best.path, other.path)
        keep_two = KeepOne(session, other.path, best.path)
        yield Finding(
            "duplicate-session",
            session,
            how,
            command("doctor", "--fix", session),
            (f"{one}: {size(one.stat().st_size)}", f"{two}: {size(two.stat().st_size)}"),
            choices=(
                Choice(f"keep the one in {best.name}", mend=keep_one, sure=whole),
                Choice(f"keep the one in {other.name}", mend=keep_two),
            ),
            names=(best.name, other.name, str(one), str(two)),
        )


def _preference(survey: Survey, directory: Directory, name: str) -> tuple[int, bool, bool, int]:
    """The longest first; then the one at home there, whose folder exists; a copy is younger."""
    entry = directory.entries[name]
    exists = any(survey.by_path[path].exists for path in directory.claims)
    return (-entry.size, name not in directory.owner_of, not exists, entry.newest)
