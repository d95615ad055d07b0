"""What is said by `ccmove list`, `backups`, `doctor` and `verify`."""

from __future__ import annotations

import datetime
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from ccmove.inspect.backups import Backup
from ccmove.inspect.doctor import Examination
from ccmove.inspect.findings import KINDS, Finding
from ccmove.inspect.newhome import Candidate
from ccmove.inspect.survey import Project
from ccmove.report.console import Line, Printer
from ccmove.report.move import result_lines
from ccmove.report.result import SCHEMA, Listing, Repair, Verification
from ccmove.text import plural, printable
from ccmove.text import readable_size as size

MOST_FINDINGS = 8  # of one kind on a terminal, before -v
MOST_DETAILS = 5
NS = 1_000_000_000


# -- list ----------------------------------------------------------------------------------------

HEADINGS = ("PATH", "SESSIONS", "SIZE", "LAST USED", "FOLDER", "ALSO KEPT")
_COUNTED = {"prompts": "prompt", "plugins": "plugin", "jobs": "job"}


def show_list(listing: Listing, printer: Printer) -> None:
    """A table, or plain columns in a pipe."""
    if printer.as_json:
        printer.json(_listing_record(listing))
        return
    if printer.terminal and listing.projects:
        rows = [("bold" if p.is_missing else "", _cells(p)) for p in listing.projects]
        wrapped = ("PATH", "ALSO KEPT")
        printer.table(HEADINGS, rows, numbers=("SESSIONS", "SIZE"), wrapped=wrapped)
    elif not printer.terminal:
        printer.lines(_columns(listing.projects))
    if not printer.quiet:
        printer.on_stderr().lines(_remarks(listing))


def _remarks(listing: Listing) -> Iterator[Line]:
    """What is no part of the list goes to the other stream: a pipe gets projects alone."""
    if not listing.projects:
        among = f" among {plural(listing.known, 'known project')}" if listing.known else ""
        yield [("", f"No such project{among}." if among else "No projects are known.")]
    for problem in listing.problems:
        yield [("note", "Note: "), ("path", printable(problem.file))]
        yield [("", f"  {printable(problem.what)}")]


def _cells(project: Project) -> tuple[str, ...]:
    return (
        _name(project),
        str(project.sessions),
        size(project.size) if project.size else "-",
        _ago(project.last_used),
        _folder(project),
        ", ".join(_kept_words(project)) or "-",
    )


def _name(project: Project) -> str:
    if project.path is None:
        return f"? {printable(', '.join(project.directories))}"
    return printable(project.path)


def _folder(project: Project) -> str:
    return {True: "yes", False: "gone", None: "?"}[project.exists]


def _kept_words(project: Project) -> Iterator[str]:
    for place, number in project.kept.items():
        yield plural(number, _COUNTED[place]) if place in _COUNTED else place


def _ago(moment: int | None) -> str:
    """How long ago in the words that people use; `-` for never."""
    if moment is None:
        return "-"
    days = int((time.time() - moment / NS) // 86400)
    if days < 1:
        return "today" if days == 0 else "-"
    for length, unit in ((365, "year"), (30, "month"), (7, "week")):
        if days >= 2 * length:
            return f"{plural(days // length, unit)} ago"
    return f"{plural(days, 'day')} ago"


def _columns(projects: tuple[Project, ...]) -> Iterator[Line]:
    """No column but the last, the path, has a blank in it."""
    rows = [("SESSIONS", "BYTES", "LAST-USED", "FOLDER", "ALSO-KEPT", "PATH")]
    for project in projects:
        kept = ",".join(f"{place}:{number}" for place, number in project.kept.items())
        used = _iso(project.last_used) or "-"
        numbers = (str(project.sessions), str(project.size), used)
        rows.append((*numbers, _folder(project), kept or "-", _name(project)))
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    for row in rows:
        first = "  ".join(text.ljust(width) for text, width in zip(row[:5], widths, strict=True))
        yield [("", f"{first}  {row[5]}")]


def _iso(moment: int | None) -> str | None:
    if moment is None:
        return None
    found = datetime.datetime.fromtimestamp(moment // NS, datetime.UTC)
    return found.strftime("%Y-%m-%dT%H:%M:%SZ")


def _listing_record(listing: Listing) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "status": "listed",
        "config_dir": str(listing.layout.config_dir),
        "projects": [_project_record(project) for project in listing.projects],
        "warnings": [f"{problem.file}: {problem.what}" for problem in listing.problems],
        "error": None,
    }


def _project_record(project: Project) -> dict[str, Any]:
    return {
        "path": project.path,
        "exists": project.exists,
        "sessions": project.sessions,
        "bytes": project.size,
        "last_used": _iso(project.last_used),
        "directories": list(project.directories),
        "kept": project.kept,
    }


# -- backups -------------------------------------------------------------------------------------


def show_backups(backups: list[Backup], printer: Printer) -> None:
    """Every backup, newest first."""
    if printer.as_json:
        printer.json({"schema": SCHEMA, "backups": [_backup_record(row) for row in backups]})
    elif printer.quiet:
        return
    elif not backups:
        printer.lines([[("", "No backups: nothing was moved yet.")]])
    elif printer.terminal:
        rows = [("" if row.stands else "dim", _backup_cells(row)) for row in backups]
        printer.table(
            ("ID", "KIND", "SIZE", "", "MOVE"), rows, numbers=("SIZE",), wrapped=("MOVE",)
        )
    else:
        printer.lines(line for row in backups for line in _backup_lines(row))


def _backup_record(row: Backup) -> dict[str, Any]:
    return {
        "id": row.identifier,
        "kind": row.kind,
        "moves": [{"old": old, "new": new} for old, new in row.moves],
        "undoes": row.undoes,
        "stands": row.stands,
        "bytes": row.size,
        "error": row.problem,
    }


def _backup_cells(row: Backup) -> tuple[str, ...]:
    if row.problem is not None:
        return (row.identifier, row.kind, size(row.size), "damaged", printable(row.problem))
    moves = "\n".join(f"{printable(old)} -> {printable(new)}" for old, new in row.moves)
    return (row.identifier, row.kind, size(row.size), "" if row.stands else "undone", moves)


def _backup_lines(row: Backup) -> Iterator[Line]:
    if row.problem is not None:
        yield [("", f"{row.identifier}  {printable(row.problem)}")]
        return
    undone = "" if row.stands else "  undone"
    yield [("", f"{row.identifier}  {row.kind}  {size(row.size)}{undone}")]
    for old, new in row.moves:
        yield [("", f"  {printable(old)} -> {printable(new)}")]


# -- doctor --------------------------------------------------------------------------------------


def show_examination(examination: Examination, printer: Printer) -> None:
    """Every finding with what it means and what to type; last, how to mend them all."""
    if printer.as_json:
        printer.json(_examination_record(examination))
    elif not printer.quiet:
        printer.lines(_examination_lines(examination, printer))


def _examination_lines(examination: Examination, printer: Printer) -> Iterator[Line]:
    survey = examination.survey
    yield from _finding_lines(examination.findings, printer)
    for note in examination.notes:
        yield [("note", "Note: "), ("", printable(note))]
    sessions = sum(project.sessions for project in survey.projects)
    seen = f"{plural(len(survey.projects), 'project')}, {plural(sessions, 'session')}"
    if not examination.findings:
        yield [("good", "Nothing is wrong."), ("", f" Looked at {seen}.")]
        return
    number = plural(len(examination.findings), "finding")
    yield [("title", f"{number}."), ("", f" Looked at {seen}.")]
    if any(finding.choices for finding in examination.findings):
        yield [("", "To be asked about each: "), ("command", examination.fix)]


def _finding_lines(findings: Iterable[Finding], printer: Printer) -> Iterator[Line]:
    all_of_it = printer.verbose or not printer.terminal
    for name, group in groupby(findings, key=lambda finding: finding.kind):
        members = list(group)
        yield [("title", f"{KINDS[name].title} ({len(members)})")]
        yield [("dim", f"  {KINDS[name].means}")]
        shown = members if all_of_it else members[:MOST_FINDINGS]
        for finding in shown:
            yield from about(finding)
            yield _command_line(finding)
        if len(shown) < len(members):
            yield [("dim", f"  … and {len(members) - len(shown)} more (-v shows all)")]
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
        yield from _candidate_lines(candidate)


def _command_line(finding: Finding) -> Line:
    doubt = bool(finding.candidates) and finding.candidates[0].confidence == "possible"
    if_so = "if so: " if doubt and finding.along is None else ""
    return [("title", "    -> "), ("", if_so), ("command", printable(finding.command))]


def _candidate_lines(candidate: Candidate) -> Iterator[Line]:
    style = {"certain": "good", "likely": "title"}.get(candidate.confidence, "")
    yield [(style, f"    {candidate.confidence}: "), ("path", printable(candidate.path))]
    yield [("", f"      {printable('; '.join(candidate.evidence))}")]
    if candidate.against:
        yield [("note", "      but "), ("", printable("; ".join(candidate.against)))]


def _examination_record(examination: Examination) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "status": "examined",
        "config_dir": str(examination.survey.layout.config_dir),
        "projects": len(examination.survey.projects),
        "counts": Counter(finding.kind for finding in examination.findings),
        "findings": [finding_record(finding) for finding in examination.findings],
        "warnings": list(examination.notes),
        "error": None,
    }


def finding_record(finding: Finding) -> dict[str, Any]:
    """One finding for scripts."""
    return {
        "kind": finding.kind,
        "subject": finding.subject,
        "what": finding.what,
        "means": KINDS[finding.kind].means,
        "command": finding.command,
        "details": list(finding.details),
        "goes_along_with": finding.along,
        "candidates": [
            {
                "path": candidate.path,
                "confidence": candidate.confidence,
                "evidence": candidate.evidence,
                "against": candidate.against,
            }
            for candidate in finding.candidates
        ],
        "unambiguous": finding.sure is not None,
    }


# -- doctor --fix ------------------------------------------------------------------------------


def show_repair(repair: Repair, printer: Printer) -> None:
    """What was mended and what is left; last, how to undo it."""
    if printer.as_json:
        printer.json(_repair_record(repair))
    elif not printer.quiet:
        printer.lines(_repair_lines(repair, printer))


def _repair_lines(repair: Repair, printer: Printer) -> Iterator[Line]:
    if repair.recovered:
        yield [("good", "Settled: "), ("", f"{printable(repair.recovered)}.")]
    for finding, choice in repair.chosen:
        yield [("good", "  * "), ("path", printable(finding.subject))]
        yield [("", f"      {printable(choice.label)}")]
    if repair.pruned:
        yield [("", f"{plural(repair.pruned, 'backup')} removed.")]
    for note in repair.notes:
        yield [("note", "Note: "), ("", printable(note))]
    if repair.left:
        number = plural(len(repair.left), "finding")
        yield [("title", f"{number} left."), ("", " See: "), ("command", repair.look)]
    if repair.result is not None:
        yield from result_lines(repair.result, printer)
    elif not repair.chosen:
        yield [("title", "Nothing was changed.")]


def _repair_record(repair: Repair) -> dict[str, Any]:
    result = repair.result
    return {
        "schema": SCHEMA,
        "status": result.status if result else "nothing",
        "config_dir": str(repair.layout.config_dir),
        "backup": repair.backup,
        "recovered": repair.recovered,
        "pruned": repair.pruned,
        "fixed": [
            {**finding_record(finding), "how": choice.label} for finding, choice in repair.chosen
        ],
        "left": [finding_record(finding) for finding in repair.left],
        "result": result.to_json() if result else None,
        "warnings": list(repair.notes),
        "error": None,
    }


# -- verify ----------------------------------------------------------------------------------------


def show_verification(verification: Verification, printer: Printer) -> None:
    """What fails, with the command that mends it; last, the verdict."""
    if printer.as_json:
        printer.json(_verification_record(verification))
    elif not printer.quiet:
        printer.lines(_verification_lines(verification, printer))


def _verification_lines(verification: Verification, printer: Printer) -> Iterator[Line]:
    yield from _finding_lines(verification.failures, printer)
    if printer.verbose:
        yield from _finding_lines(verification.notes, printer)
    elif verification.notes:
        number = plural(len(verification.notes), "thing")
        yield [("dim", f"{number} worth knowing (-v lists them)")]
    checked = plural(len(verification.paths), "project")
    if verification.failures:
        number = plural(len(verification.failures), "inconsistency")
        yield [("bad", f"{number}"), ("", f" in {checked}.")]
    else:
        yield [("good", "Consistent: "), ("", f"{checked} checked.")]


def _verification_record(verification: Verification) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "status": "failed" if verification.failures else "verified",
        "config_dir": str(verification.layout.config_dir),
        "paths": list(verification.paths),
        "failures": [finding_record(finding) for finding in verification.failures],
        "notes": [finding_record(finding) for finding in verification.notes],
        "error": None,
    }
