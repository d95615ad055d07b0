"""What is said by `ccmove list`, `ccmove doctor` and `ccmove verify`."""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import IO, TYPE_CHECKING, Any

from ccmove.inspect.findings import KINDS, Candidate, Finding
from ccmove.inspect.survey import Project, Tick
from ccmove.report.console import Line, Printer, cells, shortened
from ccmove.report.result import SCHEMA
from ccmove.text import plural, printable
from ccmove.text import readable_size as size

if TYPE_CHECKING:
    import rich.progress

    from ccmove.cli.doctor import Repair
    from ccmove.cli.list import Listing
    from ccmove.cli.verify import Verification
    from ccmove.inspect.findings import Examination

MOST_FINDINGS = 8  # of one kind on a terminal, before -v
MOST_DETAILS = 5
NARROWEST_PATHS = 36  # a table whose paths would be narrower is laid out in blocks
NS = 1_000_000_000


class Counting:
    """Shows how many things were looked at, on a terminal, once it has taken half a second."""

    DELAY = 0.5

    def __init__(self, printer: Printer) -> None:
        silent = printer.quiet or printer.as_json
        self._err = printer.err
        self._is_shown = not silent and printer.out.isatty() and printer.err.isatty()
        self._began = time.monotonic()
        self._bar: rich.progress.Progress | None = None
        self._tasks: dict[str, rich.progress.TaskID] = {}

    def __enter__(self) -> Counting:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def of(self, what: str) -> Tick:
        """Where the work on `what` says how far it is."""

        def tick(done: int, total: int) -> None:
            if not self._is_shown or time.monotonic() - self._began < self.DELAY:
                return
            if self._bar is None:
                self._bar = _counting_bar(self._err)
                self._bar.start()
                self._tasks = {}
            if what not in self._tasks:
                self._tasks[what] = self._bar.add_task(what, total=total)
            self._bar.update(self._tasks[what], completed=done, total=total)

        return tick

    def close(self) -> None:
        """Take the bar off the screen; it comes back when the work goes on."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _counting_bar(err: IO[str]) -> rich.progress.Progress:
    from rich import console, progress

    return progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(bar_width=16),
        progress.MofNCompleteColumn(),
        console=console.Console(file=err),
        transient=True,
    )


# -- list ----------------------------------------------------------------------------------------

HEADINGS = ("PATH", "SESSIONS", "SIZE", "LAST USED", "FOLDER", "ALSO KEPT")
_RIGHT = frozenset((1, 2))
_COUNTED = {"prompts": "prompt", "plugins": "plugin", "jobs": "job"}
_NAMED = {"config": "config", "repository": "repository", "values": "values"}


def show_list(listing: Listing, printer: Printer) -> None:
    """A table, blocks where that is too narrow, or plain columns in a pipe."""
    if printer.as_json:
        printer.json(_listing_record(listing))
        return
    if printer.terminal:
        printer.lines(_table(listing.projects, printer))
    else:
        printer.lines(_columns(listing.projects))
    _complain(listing, printer)


def _complain(listing: Listing, printer: Printer) -> None:
    """What is no part of the list goes to the other stream: a pipe gets projects alone."""
    lines: list[Line] = []
    if not listing.projects:
        among = f" among {plural(listing.known, 'known project')}" if listing.known else ""
        lines.append([("", f"No such project{among}." if among else "No projects are known.")])
    for problem in listing.problems:
        lines.append([("note", "Note: "), ("path", printable(problem.file))])
        lines.append([("", f"  {printable(problem.what)}")])
    if not printer.quiet:
        printer.on_stderr().lines(lines)


def _table(projects: tuple[Project, ...], printer: Printer) -> Iterator[Line]:
    rows = [_cells(project, printer) for project in projects]
    if not rows:
        return
    widths = [max(cells(row[i]) for row in (HEADINGS, *rows)) for i in range(len(HEADINGS))]
    room = printer.width - sum(widths[1:]) - 2 * (len(HEADINGS) - 1)
    if room < min(widths[0], NARROWEST_PATHS):
        yield from _blocks(projects, rows)
        return
    widths[0] = min(widths[0], room)
    yield [("dim", text) for text in _padded(HEADINGS, widths)]
    for project, row in zip(projects, rows, strict=True):
        fitting = (shortened(row[0], widths[0]), *row[1:])
        style = "bold" if project.is_missing else ""
        yield [(style, text) for text in _padded(fitting, widths)]


def _blocks(projects: tuple[Project, ...], rows: list[tuple[str, ...]]) -> Iterator[Line]:
    for project, (path, sessions, amount, used, folder, kept) in zip(projects, rows, strict=True):
        state: Line = [("bold", f"  {folder}")] if project.is_missing else []
        yield [("path.new", path), *state]
        number = plural(int(sessions), "session") if sessions != "0" else "no sessions"
        words = [number, amount, used, kept]
        yield [("dim", f"  {', '.join(word for word in words if word not in ('', '-'))}")]


def _padded(row: Iterable[str], widths: list[int]) -> Iterator[str]:
    for number, (text, width) in enumerate(zip(row, widths, strict=True)):
        gap = " " * (width - cells(text))
        yield f"{'  ' if number else ''}{gap + text if number in _RIGHT else text + gap}"


def _cells(project: Project, printer: Printer) -> tuple[str, ...]:
    return (
        _at_home(_name(project), printer.home),
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


def _at_home(path: str, home: str) -> str:
    inside = home not in ("", "/") and (path == home or path.startswith(f"{home}/"))
    return f"~{path[len(home) :]}" if inside else path


def _folder(project: Project) -> str:
    return {True: "yes", False: "gone", None: "?"}[project.exists]


def _kept_words(project: Project) -> Iterator[str]:
    for place, number in project.kept.items():
        if place in _COUNTED:
            yield plural(number, _COUNTED[place])
        else:
            yield _NAMED.get(place, place)


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
            yield from _about(finding)
            yield _command_line(finding)
        if len(shown) < len(members):
            yield [("dim", f"  … and {len(members) - len(shown)} more (-v shows all)")]
        yield []


def _about(finding: Finding) -> Iterator[Line]:
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
    counts: dict[str, int] = {}
    for finding in examination.findings:
        counts[finding.kind] = counts.get(finding.kind, 0) + 1
    return {
        "schema": SCHEMA,
        "status": "examined",
        "config_dir": str(examination.survey.layout.config_dir),
        "projects": len(examination.survey.projects),
        "counts": counts,
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
                "evidence": list(candidate.evidence),
                "against": list(candidate.against),
            }
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
    messages.lines(_about(finding))


def show_repair(repair: Repair, printer: Printer) -> None:
    """What was mended and what is left; last, how to undo it."""
    if printer.as_json:
        printer.json(_repair_record(repair))
    elif not printer.quiet:
        printer.lines(_repair_lines(repair, printer))


def _repair_lines(repair: Repair, printer: Printer) -> Iterator[Line]:
    from ccmove.report.move import result_lines

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
