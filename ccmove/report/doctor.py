"""What is said by `ccmove doctor` and `verify`."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from ccmove.inspect.findings import KINDS, Examination, Finding
from ccmove.inspect.lost import Candidate
from ccmove.report.console import Line, Printer, note, paragraphs
from ccmove.report.json import Json, Record, head, to_json
from ccmove.report.listing import retention_lines, retention_record
from ccmove.report.move import result_lines
from ccmove.report.result import Result
from ccmove.text import plural

STYLES_OF_CANDIDATES = {"certain": "good", "likely": "title"}
MOST_DETAILS = 5


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
        if self.left:
            return 1
        return 0


def show_examination(
    examination: Examination, printer: Printer, fix: str | None = None
) -> None:
    """What was found; `fix` is the command that asks about each."""
    lines = _examination_lines(examination, printer, fix)
    printer.answer(lines, _examination_record(examination))


def _examination_record(examination: Examination) -> Record:
    survey = examination.survey
    status = "ok"
    if examination.findings:
        status = "findings"
    return {
        **head(status),
        "config_dir": str(survey.layout.config_dir),
        "paths": examination.verified or sorted(survey.by_path),
        "findings": _finding_records(examination.findings),
        "notes": _finding_records(examination.harmless),
        "retention": retention_record(survey, survey.projects),
        "error": None,
    }


def _finding_records(findings: Iterable[Finding]) -> list[Json]:
    records: list[Json] = []
    for finding in findings:
        candidates = [
            {**asdict(candidate), "confidence": candidate.confidence}
            for candidate in finding.candidates
        ]
        record = {
            **asdict(finding),
            "means": KINDS[finding.kind],
            "unambiguous": finding.sure is not None,
            "candidates": candidates,
        }
        records.append(record)
    return records


def _examination_lines(
    examination: Examination, printer: Printer, fix: str | None
) -> Iterator[Line]:
    """Every finding with what it means and what to type; last, the verdict."""
    findings = examination.findings
    harmless = examination.harmless
    most = None if printer.verbose else MOST_DETAILS
    yield from _by_kind(findings, most)
    if printer.verbose:
        yield from _by_kind(harmless, most)
    elif harmless:
        notes = plural(len(harmless), "note")
        yield [f"{notes} (-v to show)"]
    verdict = [_verdict(examination)]
    if fix is not None and any(finding.can_be_asked for finding in findings):
        how = "Fix them one by one: "
        if len(findings) == 1:
            how = "Fix it: "
        verdict.append([how, ("command", fix)])
    if examination.verified is None:
        survey = examination.survey
        due = retention_lines(survey, survey.projects)
        yield from paragraphs(due, verdict)
    else:
        yield from verdict


def _verdict(examination: Examination) -> Line:
    """What doctor or verify found, and in how many projects."""
    if examination.verified is None:
        number = len(examination.survey.projects)
        good = "Nothing is wrong"
        bad = "finding"
    else:
        number = len(examination.verified)
        good = "Consistent"
        bad = "inconsistency"
    projects = plural(number, "project")
    if examination.findings:
        findings = plural(len(examination.findings), bad)
        return [("bad", findings), f" in {projects}."]
    return [("good", f"{good}: "), f"{projects} checked."]


def _by_kind(findings: Iterable[Finding], most: int | None) -> Iterator[Line]:
    """Each kind with what it means; what fixes several kinds stands only once."""
    told = {""}
    by_kind = groupby(findings, key=attrgetter("kind"))
    for kind, group in by_kind:
        members = list(group)
        yield [("title", f"{KINDS[kind]} ({len(members)})")]
        # What is fixed by one command stands together, with that at its end.
        by_command = groupby(members, key=attrgetter("command"))
        for command, same in by_command:
            for finding in same:
                yield from _finding_lines(finding, most)
            if command not in told:
                yield [("title", "    -> "), ("command", command)]
                told.add(command)
        yield []


def _finding_lines(finding: Finding, most: int | None) -> Iterator[Line]:
    """What it is about, and the evidence; for a lost project each place and what to
    type.
    """
    yield [("bold", f"  {finding.subject}")]
    shown = finding.details[:most]
    evidence = [finding.what, *shown]
    if len(finding.details) > len(shown):
        evidence.append(f"and {len(finding.details) - len(shown)} more (-v)")
    if finding.along is not None:
        evidence.append(f"moves together with {finding.along}")
    for text in evidence:
        yield [f"    {text}"]
    for candidate in finding.candidates:
        yield from candidate_lines(candidate)
        doubt = ""
        if candidate.confidence == "possible":
            doubt = "if so: "
        command = ("command", candidate.command)
        yield [("title", "      -> "), doubt, command]


def candidate_lines(candidate: Candidate, start: str = "    ") -> Iterator[Line]:
    """A folder that it may be now, how sure that is, and why."""
    confidence = candidate.confidence
    style = STYLES_OF_CANDIDATES.get(confidence, "")
    yield [start, (style, f"{confidence}: "), candidate.path]
    yield [f"      {'; '.join(candidate.evidence)}"]
    if candidate.against:
        yield [("note", "      but "), "; ".join(candidate.against)]


def show_repair(repair: Repair, printer: Printer) -> None:
    printer.answer(_repair_lines(repair, printer), _repair_record(repair))


def _repair_record(repair: Repair) -> Record:
    result = repair.result or Result("nothing")
    return {
        **head(result.status),
        "config_dir": str(repair.config_dir),
        "backup": result.backup,
        "recovered": repair.recovered,
        "left": _finding_records(repair.left),
        "result": to_json(result) if repair.result else None,
        "warnings": repair.notes,
        "error": None,
    }


def _repair_lines(repair: Repair, printer: Printer) -> Iterator[Line]:
    """What was fixed and what is left; last, how to undo it."""
    if repair.recovered:
        yield [("good", repair.recovered)]
    yield from map(note, repair.notes)
    if repair.left:
        number = plural(len(repair.left), "finding")
        see = printer.command("doctor")
        yield [("title", f"{number} left."), " See: ", see]
        if repair.result is not None:
            yield []
    if repair.result is not None:
        yield from result_lines(repair.result, printer)
    elif not repair.recovered:
        yield [("title", "Nothing was changed.")]
