"""What `ccmove list`, `backups`, `doctor` and `verify` found or did,
and what is said about it.
"""

import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from ccmove.inspect.backups import Row
from ccmove.inspect.findings import KINDS, Examination, Finding
from ccmove.inspect.lost import Candidate
from ccmove.inspect.survey import Project, Survey
from ccmove.report.console import STYLES, Line, Printer, breakable
from ccmove.report.json import SCHEMA, pairs, to_json
from ccmove.report.move import nothing_changed, result_lines
from ccmove.report.result import Result
from ccmove.text import plural
from ccmove.text import readable_size as size

MOST_DETAILS = 5
NS = 1_000_000_000
WIDE = 80  # columns of a terminal
STATES = {"done": "green", "unfinished": "note", "unreadable": "bad"}


@dataclass(frozen=True, slots=True)
class Listing:
    """The projects that were asked for, in the order that was asked for."""

    survey: Survey
    projects: tuple[Project, ...]


@dataclass(frozen=True, slots=True)
class Backups:
    """The backups there are, newest first;
    after a pruning each with why it is kept, if it is.
    """

    rows: tuple[Row, ...]
    why: dict[str, str] | None = None
    dry_run: bool = False
    apply: str | None = None
    rolled_back: str | None = None


@dataclass(frozen=True, slots=True)
class Repair:
    """What was done, and what is left."""

    config_dir: Path
    left: tuple[Finding, ...] = ()
    result: Result | None = None  # of the one transaction
    recovered: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        return 1 if self.left else 0


def _record(status: str, **values: Any) -> dict[str, Any]:
    return {"schema": SCHEMA, "status": status, **values, "error": None}


def show_list(listing: Listing, printer: Printer) -> None:
    """A table; what is not part of the list goes to standard error."""
    survey, projects, remarks = listing.survey, listing.projects, printer.on_stderr()
    if printer.as_json:
        rows = [asdict(project) for project in projects]
        for row in rows:
            del row["last_session"]  # with prompts it is `last_used`
            row["first_used"], row["last_used"] = (
                _iso(row["first_used"]),
                _iso(row["last_used"]),
            )
        warnings = [f"{file}: {what}" for file, what in survey.problems.items()]
        config_dir = str(survey.layout.config_dir)
        printer.json(
            _record("listed", config_dir=config_dir, projects=rows, warnings=warnings)
        )
        return
    if projects:
        _print_table(projects, printer)
        printer.lines([[], _totals(projects, printer)] if printer.terminal else [])
    else:
        none = (
            "No folder is missing."
            if survey.projects
            else "Claude Code knows no projects."
        )
        remarks.say([("", none)])
    for file, what in survey.problems.items():
        remarks.say([("note", "Note: "), ("", f"{file}: {what}")])


def _print_table(projects: Iterable[Project], printer: Printer) -> None:
    """On a terminal a project inside the one above it is shown below that,
    by its last part.
    """
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    console = printer.rich_console()
    is_wide = console.width >= WIDE
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("FOLDER", no_wrap=True)
    table.add_column("SESSIONS", no_wrap=True, justify="right")
    if is_wide:
        table.add_column("SIZE", no_wrap=True, justify="right", min_width=8)
        table.add_column("LAST USED", no_wrap=True)
    table.add_column("PATH", overflow="fold")
    states = {
        True: Text("ok", "green"),
        False: Text("GONE", STYLES["bad"]),
        None: Text("?"),
    }
    room = console.width - (40 if is_wide else 18)  # of a path
    above: list[str] = []
    for project in projects:
        path = project.path or f"? {', '.join(project.directories)}"
        while above and not path.startswith(
            above[-1] + ("/" if path[0] == "/" else "\\")
        ):
            above.pop()
        indent, rest = 2 * len(above), path[len(above[-1]) + 1 :] if above else path
        if printer.terminal:
            above.append(path)
        amounts = (
            [size(project.bytes), (_iso(project.last_used) or "-")[:10]]
            if is_wide
            else []
        )
        place = Padding.indent(
            Text(breakable(printer.shown(rest), room - indent)), indent
        )
        table.add_row(states[project.exists], str(project.sessions), *amounts, place)
        if printer.verbose and project.kept:
            also = f"also kept: {', '.join(project.kept_in_words)}"
            table.add_row(
                "", "", *[""] * len(amounts), Padding.indent(also, indent + 2)
            )
    with console.capture() as shown:
        console.print(table)
    print(
        re.sub(r" +$", "", shown.get(), flags=re.MULTILINE), end="", file=console.file
    )


def _totals(projects: Iterable[Project], printer: Printer) -> Line:
    numbers = [
        (project.sessions, project.bytes, project.exists is False)
        for project in projects
    ]
    sessions, total, gone = map(sum, zip(*numbers, strict=True))
    known = (
        f"{plural(len(numbers), 'project')}, {plural(sessions, 'session')}, "
        f"{size(total)}."
    )
    if gone:
        what = "1 folder is gone" if gone == 1 else f"{gone} folders are gone"
        return [
            ("", known),
            ("bad", f" {what}."),
            ("", " See: "),
            printer.command("doctor"),
        ]
    return [("", f"{known} What else is kept: "), printer.command("list", "-v")]


def _iso(moment: int | None) -> str | None:
    return (
        time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment // NS))
        if moment
        else None
    )


def show_backups(backups: Backups, printer: Printer) -> None:
    """Every backup, newest first; last,
    how many there are and how to undo one, or what went.
    """
    rows, why = backups.rows, backups.why
    gone = [row for row in rows if why is not None and not why[row.id]]
    verb = "Would remove" if backups.dry_run else "Removed"
    lines: list[Line] = [[("good", backups.rolled_back)]] if backups.rolled_back else []
    for row in rows:
        state = row.state if why is None else verb.lower() if row in gone else "kept"
        date = re.sub(r"(....)(..)(..)T(..)(..).*", r"\1-\2-\3 \4:\5", row.id)
        about = f"{date} UTC  {size(row.bytes):>8}  {row.id}"
        lines.append([(STATES.get(state, ""), f"{state:12}  "), ("", about)])
        remarks = (
            [row.error] if row.error else [f"{old} -> {new}" for old, new in row.moves]
        )
        remarks += [f"undoes {row.undoes}"] if row.undoes else []
        remarks += [why[row.id]] if why and row not in gone else []
        lines += ([("", f"    {remark}")] for remark in remarks)
    counted = rows if why is None else gone
    total = (
        f"{plural(len(counted), 'backup')}, {size(sum(row.bytes for row in counted))}"
    )
    last: Line = [("", f"{total}. To undo one: "), printer.command("undo", "ID")]
    if why is not None:
        last = [("good", f"{verb} {total};"), ("", f" {len(rows) - len(gone)} kept.")]
    lines += [[], last] if rows else [[("", "No backups: there is nothing to undo.")]]
    lines += [nothing_changed(backups.apply)] if backups.dry_run else []
    record = _record(
        "listed" if why is None else "planned" if backups.dry_run else "pruned",
        backups=[
            {**asdict(row), "moves": pairs(row.moves)}
            for row in rows
            if backups.dry_run or row not in gone
        ],
        removed=[row.id for row in gone],
        why=why,
        rolled_back=backups.rolled_back,
    )
    printer.answer(lines, record)


def show_examination(
    examination: Examination, printer: Printer, fix: str | None = None
) -> None:
    """Every finding with what it means and what to type;
    last, the verdict and the command that asks about each.
    """
    findings, harmless = examination.findings, examination.harmless
    lines = list(_by_kind(findings))
    if printer.verbose:
        lines += _by_kind(harmless)
    elif harmless:
        lines.append([("", f"{plural(len(harmless), 'harmless note')} (-v to show)")])
    status = (
        "examined"
        if examination.verified is None
        else "failed"
        if findings
        else "verified"
    )
    lines.append(_verdict(examination))
    if fix is not None and any(finding.can_be_asked for finding in findings):
        lines.append([("", "Fix them one by one: "), ("command", fix)])
    record = _record(
        status,
        config_dir=str(examination.survey.layout.config_dir),
        paths=examination.verified or sorted(examination.survey.by_path),
        findings=[_finding(finding) for finding in findings],
        notes=[_finding(finding) for finding in harmless],
    )
    printer.answer(lines, record)


def _verdict(examination: Examination) -> Line:
    """What doctor or verify found, and in how many projects."""
    verified, number = examination.verified, len(examination.findings)
    is_doctor = verified is None
    good, bad = (
        ("Nothing is wrong", "finding")
        if is_doctor
        else ("Consistent", "inconsistency")
    )
    projects = plural(
        len(examination.survey.projects if verified is None else verified), "project"
    )
    if number:
        return [("bad", plural(number, bad)), ("", f" in {projects}.")]
    return [("good", f"{good}: "), ("", f"{projects} checked.")]


def _by_kind(findings: Iterable[Finding]) -> Iterator[Line]:
    for kind, group in groupby(findings, key=lambda finding: finding.kind):
        members = list(group)
        yield [("title", f"{KINDS[kind]} ({len(members)})")]
        for finding in members:
            yield from _finding_lines(finding)
        yield []


def _finding_lines(finding: Finding) -> Iterator[Line]:
    """What it is about, the evidence, and what to type;
    for a lost project at each place.
    """
    yield [("bold", f"  {finding.subject}")]
    evidence = [finding.what, *finding.details[:MOST_DETAILS]]
    if len(finding.details) > MOST_DETAILS:
        evidence.append(f"… and {len(finding.details) - MOST_DETAILS} more")
    if finding.along is not None:
        evidence.append(f"moves together with {finding.along}")
    yield from ([("", f"    {text}")] for text in evidence)
    for candidate in finding.candidates:
        yield from candidate_lines(candidate)
        doubt = "if so: " if candidate.confidence == "possible" else ""
        yield [("title", "      -> "), ("", doubt), ("command", candidate.command)]
    if finding.command:
        yield [("title", "    -> "), ("command", finding.command)]


def candidate_lines(candidate: Candidate, start: str = "    ") -> Iterator[Line]:
    style = {"certain": "good", "likely": "title"}.get(candidate.confidence, "")
    yield [("", start), (style, f"{candidate.confidence}: "), ("", candidate.path)]
    yield [("", f"      {'; '.join(candidate.evidence)}")]
    if candidate.against:
        yield [("note", "      but "), ("", "; ".join(candidate.against))]


def _finding(finding: Finding) -> dict[str, Any]:
    candidates = [
        {**asdict(place), "confidence": place.confidence}
        for place in finding.candidates
    ]
    computed = {"means": KINDS[finding.kind], "unambiguous": finding.sure is not None}
    return {**asdict(finding), **computed, "candidates": candidates}


def show_repair(repair: Repair, printer: Printer) -> None:
    """What was fixed and what is left; last, how to undo it."""
    done, recovered = repair.result, repair.recovered
    lines: list[Line] = [[("good", recovered)]] if recovered else []
    lines += ([("note", "Note: "), ("", note)] for note in repair.notes)
    if repair.left:
        number = plural(len(repair.left), "finding")
        lines.append(
            [("title", f"{number} left."), ("", " See: "), printer.command("doctor")]
        )
    if done is not None:
        lines += result_lines(done, printer)
    elif not recovered:
        lines.append([("title", "Nothing was changed.")])
    record = _record(
        done.status if done else "nothing",
        config_dir=str(repair.config_dir),
        backup=done.backup if done else None,
        recovered=recovered,
        left=[_finding(finding) for finding in repair.left],
        result=to_json(done) if done else None,
        warnings=list(repair.notes),
    )
    printer.answer(lines, record)
