"""What is said by `ccmove list`, `backups`, `doctor` and `verify`."""

from __future__ import annotations

import datetime
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any

from ccmove.inspect.backups import Backup
from ccmove.inspect.findings import KINDS, Examination, Finding
from ccmove.inspect.survey import Project
from ccmove.report.console import Line, Printer
from ccmove.report.move import first, more, result_lines
from ccmove.report.result import SCHEMA, Listing, Repair, Verification
from ccmove.text import plural, printable
from ccmove.text import readable_size as size

MOST_FINDINGS = 8  # of one kind on a terminal, before -v
MOST_DETAILS = 5
NS = 1_000_000_000


# -- list ----------------------------------------------------------------------------------------

HEADINGS = ("SESSIONS", "SIZE", "LAST USED", "FOLDER", "ALSO KEPT", "PATH")


def show_list(listing: Listing, printer: Printer) -> None:
    """A table, or plain columns in a pipe; what is no part of the list goes to standard error."""
    if printer.as_json:
        printer.json(_listing_record(listing))
        return
    if not printer.terminal:
        printer.lines(_columns(listing.projects))
    elif listing.projects:
        rows = [
            ("bold" if project.is_missing else "", _cells(project, size, _ago, ", "))
            for project in listing.projects
        ]
        printer.table(HEADINGS, rows, wrapped=HEADINGS[4:])
    if not printer.quiet:
        printer.on_stderr().lines(_remarks(listing))


def _remarks(listing: Listing) -> Iterator[Line]:
    if not listing.projects:
        among = f"No such project among {plural(listing.known, 'known project')}."
        yield [("", among if listing.known else "No projects are known.")]
    for problem in listing.problems:
        yield [("note", "Note: "), ("path", printable(problem.file))]
        yield [("", f"  {printable(problem.what)}")]


def _columns(projects: tuple[Project, ...]) -> Iterator[Line]:
    """No column but the last, the path, has a blank in it."""
    rows: list[tuple[str, ...]] = [
        ("SESSIONS", "BYTES", "LAST-USED", "FOLDER", "ALSO-KEPT", "PATH")
    ]
    rows += [_cells(project, str, _iso, ",") for project in projects]
    *widths, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
    for *cells, path in rows:
        padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
        yield [("", "  ".join([*padded, path]))]


def _cells(
    project: Project,
    amount: Callable[[int], str],
    date: Callable[[int | None], str | None],
    comma: str,
) -> tuple[str, ...]:
    unknown = f"? {', '.join(project.directories)}"
    return (
        str(project.sessions),
        amount(project.size),
        date(project.last_used) or "-",
        {True: "yes", False: "gone", None: "?"}[project.exists],
        comma.join(f"{place}:{number}" for place, number in project.kept.items()) or "-",
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
    found = datetime.datetime.fromtimestamp(moment // NS, datetime.UTC)
    return found.strftime("%Y-%m-%dT%H:%M:%SZ")


def _listing_record(listing: Listing) -> dict[str, Any]:
    projects = [
        {
            **_values(project, "path", "exists", "sessions", "directories", "kept"),
            "bytes": project.size,
            "last_used": _iso(project.last_used),
        }
        for project in listing.projects
    ]
    warnings = [f"{problem.file}: {problem.what}" for problem in listing.problems]
    return _record("listed", listing.layout, projects=projects, warnings=warnings)


def _values(thing: object, *names: str) -> dict[str, Any]:
    return {name: getattr(thing, name) for name in names}


def _record(status: str, layout: Any, **values: Any) -> dict[str, Any]:
    head = {"schema": SCHEMA, "status": status, "config_dir": str(layout.config_dir)}
    return {**head, **values, "error": None}


# -- backups -------------------------------------------------------------------------------------


def show_backups(backups: list[Backup], printer: Printer) -> None:
    """Every backup, newest first."""
    if backups and printer.terminal and not (printer.as_json or printer.quiet):
        rows = [("" if row.stands else "dim", _backup_cells(row)) for row in backups]
        printer.table(("ID", "KIND", "SIZE", "", "MOVE"), rows, wrapped=("MOVE",))
        return
    lines = [line for row in backups for line in _backup_lines(row)]
    printer.answer(
        lines or [[("", "No backups: nothing was moved yet.")]],
        lambda: {"schema": SCHEMA, "backups": [_backup_record(row) for row in backups]},
    )


def _backup_record(row: Backup) -> dict[str, Any]:
    return {
        "id": row.identifier,
        "moves": [{"old": old, "new": new} for old, new in row.moves],
        **_values(row, "kind", "undoes", "stands", "only_copy"),
        "bytes": row.size,
        "error": row.problem,
    }


def _moves(row: Backup) -> list[str]:
    return [f"{printable(old)} -> {printable(new)}" for old, new in row.moves]


def _backup_cells(row: Backup) -> tuple[str, ...]:
    state = "damaged" if row.problem else "" if row.stands else "undone"
    state = "only copy" if row.only_copy else row.kind if row.kind == "unfinished" else state
    what = "\n".join(_moves(row)) if row.problem is None else printable(row.problem)
    return (row.identifier, row.kind, size(row.size), state, what)


def _backup_lines(row: Backup) -> Iterator[Line]:
    undone = "" if row.stands else "  undone"
    undone += "  (the only copy of something is in it)" if row.only_copy else ""
    about = f"{row.kind}  {size(row.size)}{undone}" if row.problem is None else row.problem
    yield [("", f"{row.identifier}  {printable(about)}")]
    yield from ([("", f"  {move}")] for move in _moves(row))


# -- doctor --------------------------------------------------------------------------------------


def show_examination(examination: Examination, printer: Printer) -> None:
    """Every finding with what it means and what to type; last, how to mend them all."""
    survey, findings = examination.survey, examination.findings
    printer.answer(
        _examination_lines(examination, printer),
        lambda: _record(
            "examined",
            survey.layout,
            projects=len(survey.projects),
            counts=Counter(finding.kind for finding in findings),
            findings=[finding_record(finding) for finding in findings],
            warnings=list(examination.notes),
        ),
    )


def _examination_lines(examination: Examination, printer: Printer) -> Iterator[Line]:
    survey, findings = examination.survey, examination.findings
    yield from _finding_lines(findings, printer)
    yield from _notes(examination.notes)
    sessions = sum(project.sessions for project in survey.projects)
    seen = f" Looked at {plural(len(survey.projects), 'project')}, {plural(sessions, 'session')}."
    if not findings:
        yield [("good", "Nothing is wrong."), ("", seen)]
        return
    yield [("title", f"{plural(len(findings), 'finding')}."), ("", seen)]
    if any(finding.choices for finding in findings):
        yield [("", "To be asked about each: "), ("command", examination.fix)]


def _notes(notes: Iterable[str]) -> Iterator[Line]:
    yield from ([("note", "Note: "), ("", printable(note))] for note in notes)


def _finding_lines(findings: Iterable[Finding], printer: Printer) -> Iterator[Line]:
    for name, group in groupby(findings, key=lambda finding: finding.kind):
        members = list(group)
        yield [("title", f"{KINDS[name].title} ({len(members)})")]
        yield [("dim", f"  {KINDS[name].means}")]
        shown = first(members, MOST_FINDINGS, printer)
        for finding in shown:
            yield from about(finding)
            candidates = [] if finding.along is not None else finding.candidates
            doubt = bool(candidates) and candidates[0].confidence == "possible"
            command = ("command", printable(finding.command))
            yield [("title", "    -> "), ("", "if so: " if doubt else ""), command]
        yield from more(len(members) - len(shown))
        yield []


def about(finding: Finding) -> Iterator[Line]:
    """What it is about, and the evidence."""
    yield [("", "  "), ("path.new", printable(finding.subject))]
    yield [("", f"    {printable(finding.what)}")]
    for detail in finding.details[:MOST_DETAILS]:
        yield [("dim", f"    {printable(detail)}")]
    if len(finding.details) > MOST_DETAILS:
        yield [("dim", f"    … and {len(finding.details) - MOST_DETAILS} more")]
    if finding.along is not None:
        yield [("", "    goes along with "), ("path", printable(finding.along))]
    for candidate in finding.candidates:
        style = {"certain": "good", "likely": "title"}.get(candidate.confidence, "")
        yield [(style, f"    {candidate.confidence}: "), ("path", printable(candidate.path))]
        yield [("", f"      {printable('; '.join(candidate.evidence))}")]
        if candidate.against:
            yield [("note", "      but "), ("", printable("; ".join(candidate.against)))]


def finding_record(finding: Finding) -> dict[str, Any]:
    """One finding for scripts."""
    return {
        **_values(finding, "kind", "subject", "what", "command", "details"),
        "means": KINDS[finding.kind].means,
        "goes_along_with": finding.along,
        "candidates": [
            _values(candidate, "path", "confidence", "evidence", "against")
            for candidate in finding.candidates
        ],
        "unambiguous": finding.sure is not None,
    }


# -- doctor --fix ----------------------------------------------------------------------------------


def show_question(finding: Finding, printer: Printer, explain: bool) -> None:
    """One finding on standard error, before somebody is asked about it."""
    kind = KINDS[finding.kind]
    messages = printer.on_stderr()
    if explain:
        messages.lines([[("title", kind.title)], [("dim", f"  {kind.means}")]])
    messages.lines(about(finding))


def show_repair(repair: Repair, printer: Printer) -> None:
    """What was mended and what is left; last, how to undo it."""
    result = repair.result
    printer.answer(
        _repair_lines(repair, printer),
        lambda: _record(
            result.status if result else "nothing",
            repair.layout,
            backup=repair.backup,
            recovered=repair.recovered,
            pruned=repair.pruned,
            fixed=[{**finding_record(f), "how": choice.label} for f, choice in repair.chosen],
            left=[finding_record(finding) for finding in repair.left],
            result=result.to_json() if result else None,
            warnings=list(repair.notes),
        ),
    )


def _repair_lines(repair: Repair, printer: Printer) -> Iterator[Line]:
    if repair.recovered:
        yield [("good", "Settled: "), ("", f"{printable(repair.recovered)}.")]
    for finding, choice in repair.chosen:
        yield [("good", "  * "), ("path", printable(finding.subject))]
        yield [("", f"      {printable(choice.label)}")]
    if repair.pruned:
        yield [("", f"{plural(repair.pruned, 'backup')} removed.")]
    yield from _notes(repair.notes)
    if repair.left:
        number = plural(len(repair.left), "finding")
        yield [("title", f"{number} left."), ("", " See: "), ("command", repair.look)]
    if repair.result is not None:
        yield from result_lines(repair.result, printer)
    elif not repair.chosen:
        yield [("title", "Nothing was changed.")]


# -- verify ----------------------------------------------------------------------------------------


def show_verification(checked: Verification, printer: Printer) -> None:
    """What fails, with the command that mends it; last, the verdict."""
    printer.answer(
        _verification_lines(checked, printer),
        lambda: _record(
            "failed" if checked.failures else "verified",
            checked.layout,
            paths=list(checked.paths),
            failures=[finding_record(finding) for finding in checked.failures],
            notes=[finding_record(finding) for finding in checked.notes],
        ),
    )


def _verification_lines(checked: Verification, printer: Printer) -> Iterator[Line]:
    yield from _finding_lines(checked.failures, printer)
    if printer.verbose:
        yield from _finding_lines(checked.notes, printer)
    elif checked.notes:
        number = plural(len(checked.notes), "thing")
        yield [("dim", f"{number} worth knowing (-v lists them)")]
    projects = plural(len(checked.paths), "project")
    if checked.failures:
        number = plural(len(checked.failures), "inconsistency")
        yield [("bad", number), ("", f" in {projects}.")]
    else:
        yield [("good", "Consistent: "), ("", f"{projects} checked.")]
