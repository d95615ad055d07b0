"""What is said by `ccmove list`, `backups`, `doctor` and `verify`."""

import re
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
from ccmove.report.console import Line, Piece, Printer, fitted, more
from ccmove.report.move import nothing_changed, result_lines
from ccmove.report.result import SCHEMA, Listing, Pruning, Repair, Verification, pairs
from ccmove.text import plural, printable
from ccmove.text import readable_size as size

MOST_FINDINGS = 8  # of one kind on a terminal, before -v
MOST_DETAILS = 5
NS = 1_000_000_000
WIDE = 80  # columns of a terminal
STATES = {"done": "green", "undone": "", "unfinished": "note", "unreadable": "bad"}


def _record(status: str, layout: Layout, **values: Any) -> dict[str, Any]:
    head = {"schema": SCHEMA, "status": status, "config_dir": str(layout.config_dir)}
    return {**head, **values, "error": None}


def _values(thing: object, *names: str) -> dict[str, Any]:
    return {name: getattr(thing, name) for name in names}


def show_list(listing: Listing, printer: Printer) -> None:
    """A table, or plain columns in a pipe; what is not part of the list goes to standard error."""
    projects, problems = listing.projects, listing.problems
    if printer.as_json:
        warnings = [f"{problem.file}: {problem.what}" for problem in problems]
        rows = [_project(project) for project in projects]
        printer.json(_record("listed", listing.layout, projects=rows, warnings=warnings))
        return
    if not printer.terminal:
        printer.lines(_columns(projects))
    elif projects:
        _print_table(projects, printer)
        printer.lines([[], _totals(projects, printer)])
    remarks = printer.on_stderr()
    if not projects:
        among = f"No folder is missing: {plural(listing.known, 'known project')}."
        remarks.say([("", among if listing.known else "Claude Code knows no projects.")])
    for problem in problems:
        remarks.say([("note", "Note: "), ("", problem.file)], [("", f"  {problem.what}")])


def _print_table(projects: Iterable[Project], printer: Printer) -> None:
    """A project that is inside the one above it is shown below that, by the rest of its path."""
    from rich.table import Table

    console = printer.rich_console()
    is_wide = console.width >= WIDE
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("FOLDER", no_wrap=True)
    table.add_column("SESSIONS", no_wrap=True, justify="right")
    if is_wide:
        table.add_column("SIZE", no_wrap=True, justify="right")
        table.add_column("LAST USED", no_wrap=True)
    table.add_column("PATH")
    states = {True: ("green", "ok"), False: ("bad", "GONE"), None: ("", "?")}
    above: list[str] = []
    for project in projects:
        path = project.path or f"? {', '.join(project.directories)}"
        while above and not path.startswith(f"{above[-1]}/"):
            above.pop()
        indent, rest = "  " * len(above), path[len(above[-1]) + 1 :] if above else path
        above.append(path)
        amounts = [size(project.size), _ago(project.last_used) or "-"] if is_wide else []
        place = fitted([("", indent + rest)])
        table.add_row(fitted([states[project.exists]]), str(project.sessions), *amounts, place)
        if printer.verbose and project.kept:
            kept = fitted([("", f"{indent}  also kept: {', '.join(_kept(project))}")])
            table.add_row(*[""] * (len(table.columns) - 1), kept)
    console.print(table)


def _totals(projects: Iterable[Project], printer: Printer) -> Line:
    numbers = [(project.sessions, project.size, project.is_missing) for project in projects]
    sessions, total, gone = map(sum, zip(*numbers, strict=True))
    known = f"{plural(len(numbers), 'project')}, {plural(sessions, 'session')}, {size(total)}."
    if gone:
        what = "1 folder is gone" if gone == 1 else f"{gone} folders are gone"
        return [("", known), ("bad", f" {what}."), ("", " See: "), printer.command("doctor")]
    return [("", f"{known} What else is kept: "), printer.command("list", "-v")]


def _project(project: Project) -> dict[str, Any]:
    known = _values(project, "path", "exists", "sessions", "directories", "kept")
    return {**known, "bytes": project.size, "last_used": _iso(project.last_used)}


def _columns(projects: Iterable[Project]) -> Iterator[Line]:
    """No column but the last, the path, has a blank in it."""
    rows = [("SESSIONS", "BYTES", "LAST-USED", "FOLDER", "ALSO-KEPT", "PATH")]
    for project in projects:
        used, kept = _iso(project.last_used) or "-", ",".join(_kept(project)) or "-"
        folder = {True: "yes", False: "gone", None: "?"}[project.exists]
        path = printable(project.path or f"? {', '.join(project.directories)}")
        rows.append((str(project.sessions), str(project.size), used, folder, kept, path))
    *widths, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
    for *cells, path in rows:
        padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
        yield [("", "  ".join([*padded, path]))]


def _kept(project: Project) -> list[str]:
    return [f"{place}:{number}" for place, number in project.kept.items()]


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
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment // NS))


def show_backups(rows: list[Row], printer: Printer) -> None:
    """Every backup, newest first; last, how many there are and how to undo one."""
    lines: list[Line] = []
    for row in rows:
        date = re.sub(r"(....)(..)(..)T(..)(..).*", r"\1-\2-\3 \4:\5", row.id)
        about = f"{row.id}  {date} UTC  {size(row.bytes):>8}"
        lines.append([(STATES[row.state], f"{row.state:10}  "), ("", about)])
        remarks = [row.error] if row.error else [f"{old} -> {new}" for old, new in row.moves]
        remarks += [f"undoes {row.undoes}"] if row.undoes else []
        remarks += ["holds the only copy of something"] if row.only_copy else []
        lines += ([("", f"    {remark}")] for remark in remarks)
    total = f"{plural(len(rows), 'backup')}, {size(sum(row.bytes for row in rows))}."
    last: Line = [("", f"{total} To undo one: "), printer.command("restore", "ID")]
    none: Line = [("", "No backups: nothing was moved yet.")]
    record = {"schema": SCHEMA, "backups": [_backup(row) for row in rows]}
    printer.answer([*lines, [], last] if rows else [none], record)


def _backup(row: Row) -> dict[str, Any]:
    return {**asdict(row), "moves": pairs(row.moves), "state": row.state}


def show_pruning(pruning: Pruning, printer: Printer) -> None:
    """What was removed, and what stays and why."""
    gone = [row for row, why in pruning.rows if not why]
    kept = [(row, why) for row, why in pruning.rows if why]
    verb = "Would remove" if pruning.dry_run else "Removed"
    lines: list[Line] = []
    for row in gone:
        moves = ", ".join(f"{old} -> {new}" for old, new in row.moves)
        lines.append([("", f"{verb} {row.id}  "), ("", row.error or moves)])
    lines += ([("", f"Kept {row.id}  "), ("", why)] for row, why in kept)
    total = f"{plural(len(gone), 'backup')}, {size(sum(row.bytes for row in gone))}"
    lines.append([("good", f"{verb} {total};"), ("", f" {len(kept)} kept.")])
    if pruning.dry_run:
        lines.append(nothing_changed(pruning.apply))
    record = {
        "schema": SCHEMA,
        "removed": [row.id for row in gone],
        "kept": [{"id": row.id, "why": why} for row, why in kept],
        "backups": [_backup(row) for row, why in pruning.rows if why or pruning.dry_run],
    }
    printer.answer(lines, record)


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
        yield [("title", f"{KINDS[kind].title} ({len(members)})")]
        yield [("", f"  {KINDS[kind].means}")]
        shown = printer.first(members, MOST_FINDINGS)
        for finding in shown:
            yield from _finding_lines(finding, printer)
        yield from [*more(len(members) - len(shown)), []]


def _finding_lines(finding: Finding, printer: Printer) -> Iterator[Line]:
    """What it is about, the evidence, and what to type; for a lost project at each place."""
    yield [("bold", f"  {finding.subject}")]
    evidence = [finding.what, *finding.details[:MOST_DETAILS]]
    if len(finding.details) > MOST_DETAILS:
        evidence.append(f"… and {len(finding.details) - MOST_DETAILS} more")
    if finding.along is not None:
        evidence.append(f"moves together with {finding.along}")
    yield from ([("", f"    {text}")] for text in evidence)
    for candidate in () if finding.along is not None else finding.candidates:
        yield from candidate_lines(candidate)
        doubt = "if so: " if candidate.confidence == "possible" else ""
        doubt = "first see: " if candidate.split else doubt
        yield [("title", "      -> "), ("", doubt), _next(finding, candidate, printer)]
    if finding.command:
        yield [("title", "    -> "), ("command", finding.command)]


def _next(finding: Finding, candidate: Candidate, printer: Printer) -> Piece:
    """The move; or, where it would be refused, what is in its way."""
    move = (finding.subject, candidate.path)
    return printer.command(*(("doctor", candidate.split) if candidate.split else move))


def candidate_lines(candidate: Candidate, start: str = "    ") -> Iterator[Line]:
    """A folder, how sure it is, and why."""
    style = {"certain": "good", "likely": "title"}.get(candidate.confidence, "")
    yield [("", start), (style, f"{candidate.confidence}: "), ("", candidate.path)]
    yield [("", f"      {'; '.join(candidate.evidence)}")]
    if candidate.against:
        yield [("note", "      but "), ("", "; ".join(candidate.against))]


def _finding(finding: Finding, printer: Printer) -> dict[str, Any]:
    known = ("path", "confidence", "evidence", "against")
    candidates = [
        {**_values(candidate, *known), "command": _next(finding, candidate, printer)[1]}
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


def show_repair(repair: Repair, printer: Printer) -> None:
    """What was fixed and what is left; last, how to undo it."""
    done, recovered = repair.result, repair.recovered
    lines: list[Line] = [[("good", recovered)]] if recovered else []
    lines += _notes(repair.notes)
    if repair.left:
        number = plural(len(repair.left), "finding")
        lines.append([("title", f"{number} left."), ("", " See: "), printer.command("doctor")])
    if done is not None:
        lines += result_lines(done, printer)
    elif not recovered:
        lines.append([("title", "Nothing was changed.")])
    record = _record(
        done.status if done else "nothing",
        repair.layout,
        backup=repair.backup,
        recovered=recovered,
        fixed=[{**_finding(finding, printer), "new": new} for finding, new in repair.chosen],
        left=[_finding(finding, printer) for finding in repair.left],
        result=done.to_json(printer.config_dir) if done else None,
        warnings=list(repair.notes),
    )
    printer.answer(lines, record)


def show_verification(checked: Verification, printer: Printer) -> None:
    """What fails, with the command that fixes it; last, the verdict."""
    lines = list(_by_kind(checked.failures, printer))
    if printer.verbose:
        lines += _by_kind(checked.notes, printer)
    elif checked.notes:
        lines.append([("", f"{plural(len(checked.notes), 'harmless note')} (-v to show)")])
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
