"""What is said about packing; what was left out is named."""

import os
from collections import defaultdict
from collections.abc import Iterator

from ccmove.report.console import Line, Printer, note
from ccmove.report.json import Record, to_json
from ccmove.report.move import MOST_PROJECTS, more, nothing_changed
from ccmove.report.result import Leftover, MovedProject, Moves, Result
from ccmove.text import amounts, command_line, plural, readable_size, sessions_in_words
from ccmove.transfer.packed import Packed, PackedAmount

SECRETS = "secrets of MCP servers; --with-secrets packs them, too"


def show_packed(packed: Packed, printer: Printer) -> None:
    """In words; on standard error where the archive went to standard output."""
    if packed.status == "packed" and packed.file is None:
        printer = printer.on_stderr()
    printer.answer(_lines(packed, printer), _record(packed))


def _lines(packed: Packed, printer: Printer) -> Iterator[Line]:
    """What it is, how much, what was left out, and what to do next."""
    is_planned = packed.status == "planned"
    verb = "Packed"
    if is_planned:
        verb = "Would pack"
    what = packed.path or plural(len(packed.projects), "project")
    yield [("title", f"{verb}  "), what]
    if packed.size is not None:
        target = packed.file or "standard output"
        yield [
            ("dim", f"{'to':>{len(verb)}}  "),
            ("bold", target),
            f" ({readable_size(packed.size)})",
        ]
    yield []
    most = None if printer.verbose else MOST_PROJECTS
    for project in packed.projects[:most]:
        if len(packed.projects) > 1:
            yield [("bold", f"  {project.path}")]
            yield [f"    {_amount(project)}"]
        else:
            yield [f"  {_amount(project)}"]
    yield from more(packed.projects, most)
    yield from _left_out_lines(packed)
    for warning in packed.warnings:
        yield []
        yield note(warning)
    yield []
    if is_planned:
        yield nothing_changed(packed.apply)
    elif packed.file is not None:
        name = os.path.basename(packed.file)
        command = command_line(["ccmove", "unpack", name])
        yield [("good", "Done."), " On the other machine: ", ("command", command)]
    else:
        yield [("good", "Done.")]


def _amount(project: PackedAmount) -> str:
    """What of a project is in it, in words."""
    words = sessions_in_words(project.sessions, project.size)
    words += amounts((project.prompts, "prompt"), (project.notes, "note"))
    if project.has_config:
        words.append("settings")
    return ", ".join(words) or plural(project.files, "file")


def _left_out(packed: Packed) -> list[Leftover]:
    """Everything that was not packed, with its reason."""
    rows = [Leftover(row.path, row.why) for row in packed.left_out]
    return rows + [Leftover(what, SECRETS) for what in packed.secrets]


def _left_out_lines(packed: Packed) -> Iterator[Line]:
    by_reason: dict[str, list[str]] = defaultdict(list)
    for row in _left_out(packed):
        by_reason[row.what].append(row.file)
    if by_reason:
        yield []
        yield [("title", "Left out")]
    for why, names in by_reason.items():
        for name in names:
            yield [f"  {name}"]
        yield [("dim", f"    {why}")]


def _record(packed: Packed) -> Record:
    """The object of `--json`: that of a run, with the file and what is in it."""
    config = sum(project.has_config for project in packed.projects)
    projects = []
    for project in packed.projects:
        path = project.path
        sessions = project.sessions
        row = MovedProject(path, path, "same", sessions, project.size, "", "")
        projects.append(row)
    moves: Moves = ()
    if packed.path is not None:
        moves = ((packed.path, packed.file or "-"),)
    result = Result(
        packed.status,
        packed.config_dir,
        moves,
        projects=tuple(projects),
        left_alone=tuple(_left_out(packed)),
        warnings=packed.warnings,
    )
    counts = {
        "transcripts": sum(project.sessions for project in packed.projects),
        "history": sum(project.prompts for project in packed.projects),
        "index": 0,
        "config": config,
        "other": packed.files,
    }
    archive = {
        "file": packed.file,
        "size": packed.size,
        "files": packed.files,
        "bytes": packed.total,
    }
    return {**to_json(result), "counts": counts, "archive": archive}
