"""What is said by `ccmove list`, `backups`, `doctor` and `verify`."""

from __future__ import annotations

import datetime
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import groupby
from typing import Any

from ccmove.claude.layout import Layout
from ccmove.inspect.backups import Row
from ccmove.inspect.findings import KINDS, Candidate, Examination, Finding
from ccmove.inspect.survey import Project
from ccmove.report.console import Line, Piece, Printer, more
from ccmove.report.move import result_lines
from ccmove.report.result import SCHEMA, Listing, Repair, Verification, pairs
from ccmove.text import plural, printable
from ccmove.text import readable_size as size

MOST_FINDINGS = 8  # of one kind on a terminal, before -v
MOST_DETAILS = 5
NS = 1_000_000_000


def _record(status: str, layout: Layout, **values: Any) -> dict[str, Any]:
    head = {"schema": SCHEMA, "status": status, "config_dir": str(layout.config_dir)}
    return {**head, **values, "error": None}


def _values(thing: object, *names: str) -> dict[str, Any]:
    return {name: getattr(thing, name) for name in names}


# -- list ----------------------------------------------------------------------------------------


def show_list(listing: Listing, printer: Printer) -> None:
    """A table, or plain columns in a pipe; what is no part of the list goes to standard error."""
    projects, problems = listing.projects, listing.problems
    if printer.as_json:
        warnings = [f"{problem.file}: {problem.what}" for problem in problems]
        rows = [_project(project) for project in projects]
        printer.json(_record("listed", listing.layout, projects=rows, warnings=warnings))
        return
    if not printer.terminal:
        printer.lines(_columns(projects))
    elif projects:
        headings = ("SESSIONS", "SIZE", "LAST USED", "FOLDER", "ALSO KEPT", "PATH")
        printer.table(headings, [("bold" if p.is_missing else "", _cells(p)) for p in projects])
    remarks: list[Line] = []
    if not projects:
        among = f"No such project among {plural(listing.known, 'known project')}."
        remarks.append([("", among if listing.known else "No projects are known.")])
    for problem in problems:
        remarks.append([("note", "Note: "), ("path", problem.file)])
        remarks.append([("", f"  {problem.what}")])
    if not printer.quiet:
        printer.on_stderr().lines(remarks)


def _project(project: Project) -> dict[str, Any]:
    known = _values(project, "path", "exists", "sessions", "directories", "kept")
    return {**known, "bytes": project.size, "last_used": _iso(project.last_used)}


def _columns(projects: Iterable[Project]) -> Iterator[Line]:
    """No column but the last, the path, has a blank in it."""
    head = ("SESSIONS", "BYTES", "LAST-USED", "FOLDER", "ALSO-KEPT", "PATH")
    rows = [head, *(_cells(project, for_people=False) for project in projects)]
    *widths, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
    for *cells, path in rows:
        padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
        yield [("", "  ".join([*padded, path]))]


def _cells(project: Project, *, for_people: bool = True) -> tuple[str, ...]:
    last = project.last_used
    kept = [f"{place}:{number}" for place, number in project.kept.items()]
    unknown = f"? {', '.join(project.directories)}"
    return (
        str(project.sessions),
        size(project.size) if for_people else str(project.size),
        (_ago(last) if for_people else _iso(last)) or "-",
        {True: "yes", False: "gone", None: "?"}[project.exists],
        (", " if for_people else ",").join(kept) or "-",
        printable(unknown if project.path is None else project.path),
    )


def _ago(moment: int | None) -> str | None:
    """How long ago in the words that people use."""
    days = int((time.time() - moment / NS) // 86400) if moment is not None else -1
    for length, unit in ((365, "year"), (30, "month"), (7, "week")):
        if days >= 2 * length:
            return f"{plural(days // length, unit)} ago"
    return f"{plural(days, 'day')} ago" if days > 0 else "today" if days == 0 else None


def _iso(moment: int | None) -> str | None:
    if moment is None:
        return None
    return f"{datetime.datetime.fromtimestamp(moment // NS, datetime.UTC):%Y-%m-%dT%H:%M:%SZ}"


# -- backups -------------------------------------------------------------------------------------


def show_backups(rows: list[Row], printer: Printer) -> None:
    """Every backup, newest first."""
    if rows and printer.terminal and not (printer.as_json or printer.quiet):
        cells = [("" if row.stands else "dim", _backup_cells(row)) for row in rows]
        printer.table(("ID", "KIND", "SIZE", "", "MOVE"), cells)
        return
    lines = [line for row in rows for line in _backup_lines(row)]
    records = [{**asdict(row), "moves": pairs(row.moves)} for row in rows]
    none = [[("", "No backups: nothing was moved yet.")]]
    printer.answer(lines or none, {"schema": SCHEMA, "backups": records})


def _backup_cells(row: Row) -> tuple[str, ...]:
    state = "damaged" if row.error else "" if row.stands else "undone"
    state = "only copy" if row.only_copy else row.kind if row.kind == "unfinished" else state
    moves = (f"{printable(old)} -> {printable(new)}" for old, new in row.moves)
    what = "\n".join(moves) if row.error is None else printable(row.error)
    return (row.id, row.kind, size(row.bytes), state, what)


def _backup_lines(row: Row) -> Iterator[Line]:
    undone = "" if row.stands else "  undone"
    undone += "  (the only copy of something is in it)" if row.only_copy else ""
    yield [("", f"{row.id}  {row.error or f'{row.kind}  {size(row.bytes)}{undone}'}")]
    yield from ([("", f"  {old} -> {new}")] for old, new in row.moves)


# -- doctor --------------------------------------------------------------------------------------


def show_examination(examination: Examination, printer: Printer) -> None:
    """Every finding with what it means and what to type; last, how to fix them all."""
    projects, findings = examination.survey.projects, examination.findings
    sessions = sum(project.sessions for project in projects)
    looked = f" Looked at {plural(len(projects), 'project')}, {plural(sessions, 'session')}."
    number = ("title", f"{plural(len(findings), 'finding')}.")
    lines = [*_by_kind(findings, printer), *_notes(examination.notes)]
    lines.append([number if findings else ("good", "Nothing is wrong."), ("", looked)])
    if any(finding.can_be_asked for finding in findings):
        lines.append([("", "Fix them one by one: "), printer.command("doctor", "--fix")])
    record = _record(
        "examined",
        examination.survey.layout,
        projects=len(projects),
        counts=Counter(finding.kind for finding in findings),
        findings=[_finding(finding, printer) for finding in findings],
        warnings=list(examination.notes),
    )
    printer.answer(lines, record)


def _notes(notes: Iterable[str]) -> Iterator[Line]:
    yield from ([("note", "Note: "), ("", note)] for note in notes)


def _by_kind(findings: Iterable[Finding], printer: Printer) -> Iterator[Line]:
    for kind, group in groupby(findings, key=lambda finding: finding.kind):
        members = list(group)
        yield from _heading(kind, f" ({len(members)})")
        shown = printer.first(members, MOST_FINDINGS)
        for finding in shown:
            yield from _about(finding)
            yield from _places(finding, printer)
            if finding.command:
                yield [("title", "    -> "), ("command", finding.command)]
        yield from [*more(len(members) - len(shown)), []]


def _heading(kind: str, number: str = "") -> Iterator[Line]:
    yield [("title", KINDS[kind].title + number)]
    yield [("dim", f"  {KINDS[kind].means}")]


def _about(finding: Finding) -> Iterator[Line]:
    """What it is about, and the evidence."""
    yield [("", "  "), ("path bold", finding.subject)]
    yield [("", f"    {finding.what}")]
    yield from ([("dim", f"    {detail}")] for detail in finding.details[:MOST_DETAILS])
    if len(finding.details) > MOST_DETAILS:
        yield [("dim", f"    … and {len(finding.details) - MOST_DETAILS} more")]
    if finding.along is not None:
        yield [("", "    moves together with "), ("path", finding.along)]


def _places(finding: Finding, printer: Printer) -> Iterator[Line]:
    """Where a lost project may be now, with the command for each place."""
    for candidate in () if finding.along is not None else finding.candidates:
        yield from candidate_lines(candidate)
        doubt = "if so: " if candidate.confidence == "possible" else ""
        doubt = "first see: " if candidate.split else doubt
        yield [("title", "      -> "), ("", doubt), _next(finding, candidate, printer)]


def _next(finding: Finding, candidate: Candidate, printer: Printer) -> Piece:
    """The move; or, where it would be refused, what is in its way."""
    if candidate.split:
        return printer.command("doctor", candidate.split)
    return printer.command(finding.subject, candidate.path)


def candidate_lines(candidate: Candidate, start: str = "    ") -> Iterator[Line]:
    """A folder, how sure it is, and why."""
    style = {"certain": "good", "likely": "title"}.get(candidate.confidence, "")
    yield [("", start), (style, f"{candidate.confidence}: "), ("path", candidate.path)]
    yield [("", f"      {'; '.join(candidate.evidence)}")]
    if candidate.against:
        yield [("note", "      but "), ("", "; ".join(candidate.against))]


def _finding(finding: Finding, printer: Printer) -> dict[str, Any]:
    candidates = [
        {
            **_values(candidate, "path", "confidence", "evidence", "against"),
            "command": _next(finding, candidate, printer)[1],
        }
        for candidate in finding.candidates
    ]
    only = [row["command"] for row in candidates] if finding.along is None else []
    return {
        **_values(finding, "kind", "subject", "what", "details"),
        "command": only[0] if len(only) == 1 or finding.best else finding.command,
        "means": KINDS[finding.kind].means,
        "goes_along_with": finding.along,
        "candidates": candidates,
        "unambiguous": finding.sure is not None,
    }


# -- doctor --fix ----------------------------------------------------------------------------------


def show_repair(repair: Repair, printer: Printer) -> None:
    """What was fixed and what is left; last, how to undo it."""
    printer.answer(_repair_lines(repair, printer), _repair(repair, printer))


def _repair_lines(repair: Repair, printer: Printer) -> Iterator[Line]:
    if repair.recovered:
        yield [("good", "Rolled back: "), ("", f"{repair.recovered}.")]
    yield from _notes(repair.notes)
    if repair.left:
        number = plural(len(repair.left), "finding")
        yield [("title", f"{number} left."), ("", " See: "), printer.command("doctor")]
    if repair.result is not None:
        yield from result_lines(repair.result, printer)
    elif not repair.recovered:
        yield [("title", "Nothing was changed.")]


def _repair(repair: Repair, printer: Printer) -> dict[str, Any]:
    return _record(
        repair.result.status if repair.result else "nothing",
        repair.layout,
        **_values(repair, "backup", "recovered"),
        fixed=[{**_finding(finding, printer), "new": new} for finding, new in repair.chosen],
        left=[_finding(finding, printer) for finding in repair.left],
        result=repair.result.to_json() if repair.result else None,
        warnings=list(repair.notes),
    )


# -- verify ----------------------------------------------------------------------------------------


def show_verification(checked: Verification, printer: Printer) -> None:
    """What fails, with the command that fixes it; last, the verdict."""
    lines = list(_by_kind(checked.failures, printer))
    if printer.verbose:
        lines += _by_kind(checked.notes, printer)
    elif checked.notes:
        lines.append([("dim", f"{plural(len(checked.notes), 'harmless note')} (-v to show)")])
    projects, wrong = plural(len(checked.paths), "project"), len(checked.failures)
    if wrong:
        lines.append([("bad", plural(wrong, "inconsistency")), ("", f" in {projects}.")])
    else:
        lines.append([("good", "Consistent: "), ("", f"{projects} checked.")])
    record = _record(
        "failed" if wrong else "verified",
        checked.layout,
        paths=list(checked.paths),
        failures=[_finding(finding, printer) for finding in checked.failures],
        notes=[_finding(finding, printer) for finding in checked.notes],
    )
    printer.answer(lines, record)
