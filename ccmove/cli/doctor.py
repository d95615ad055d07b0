"""`ccmove doctor`: what is wrong; with `--fix`, every move that is chosen made in one run."""

import os
from collections.abc import Iterator
from dataclasses import replace

import click

from ccmove.claude.layout import Layout
from ccmove.cli import options, values
from ccmove.cli.boundary import Call
from ccmove.cli.find import answered
from ccmove.cli.move import move
from ccmove.cli.recover import recover
from ccmove.cli.resolve import Pair, at_or_below, find_subject
from ccmove.errors import RefusedError, UsageError
from ccmove.inspect.checks import examine
from ccmove.inspect.findings import CommandLine, Examination, Finding
from ccmove.inspect.survey import Survey
from ccmove.report.console import Printer
from ccmove.report.inspect import candidate_lines
from ccmove.report.result import Repair, Result
from ccmove.text import plural, printable

Chosen = list[tuple[Finding, str]]  # with the new path of each
LEAVE, SKIP_REST, QUIT = "n", "s", "q"


@options.command("doctor")
@click.argument("subject", nargs=-1, shell_complete=values.known_projects)
@click.option("--fix", is_flag=True, help="Ask where each lost project is now, then move them.")
@click.option("-y", "--yes", is_flag=True, help="Don't ask; fix only what is certain.")
@click.option("--plan", is_flag=True, help="Print the moves as OLD<TAB>NEW, for --from-file.")
@click.option(
    "-n", "--dry-run", is_flag=True, help="With --fix: show what would change, change nothing."
)
@click.option(
    "--search",
    metavar="DIR",
    multiple=True,
    type=click.Path(exists=True, file_okay=False),
    help="Also look in DIR for folders that are gone; may be repeated.",
)
@click.option(
    "--allow-live", is_flag=True, help="With --fix: proceed even if Claude Code is running."
)
def doctor_command(
    call: Call,
    subject: tuple[str, ...],
    fix: bool,
    yes: bool,
    plan: bool,
    dry_run: bool,
    search: tuple[str, ...],
    allow_live: bool,
) -> Examination | Repair | str:
    """Find lost projects and stale entries, and how to fix each.

    SUBJECT is a path, a folder's name or a session's ID. Changes nothing without --fix.
    The exit code is 1 if something is wrong.
    """
    if not fix and (yes or dry_run or allow_live):
        raise UsageError("--yes, --dry-run and --allow-live need --fix")
    if plan and (fix or call.printer.as_json):
        raise UsageError("--plan goes with neither --fix nor --json")
    layout, bar, command = call.find_layout(), call.progress(), call.printer.typed

    def doctor() -> Examination:
        survey = Survey(layout, bar)
        found = examine(survey, command, search, bar.of("lost"))
        bar.close()
        return _about(found, subject) if subject else found

    examination, recovered = doctor(), None
    if plan:
        return "".join(f"{line}\n" for line in _plan(examination))
    if not fix:
        return examination
    interrupted = [f for f in examination.findings if f.kind == "interrupted-run"]
    if interrupted and not dry_run:  # first and alone: everything else may look different then
        question = f"{interrupted[0].what}. Roll it back?"
        if not yes and not answered(click.confirm, question, default=True):
            return Repair(layout.config_dir, examination.findings)
        recovered = recover(layout).settled
        examination = doctor()
        if not yes:
            return Repair(layout.config_dir, examination.findings, recovered=recovered)
    lost = [finding for finding in examination.findings if finding.can_be_asked]
    chosen = [(finding, finding.sure.path) for finding in lost if finding.sure is not None]
    if not yes:
        chosen = ask(lost, call.printer, dry_run=dry_run)
    done = repair(layout, examination, chosen, command, dry_run=dry_run, allow_live=allow_live)
    return replace(done, recovered=recovered)


def _about(found: Examination, subjects: tuple[str, ...]) -> Examination:
    """What is wrong with these: a path and all below it, a name, a session; each must be known."""
    survey = found.survey
    names = {*survey.by_path, *survey.directories, *survey.places_of_sessions}
    names |= {str(directory.path) for directory in survey.directories.values()}
    for finding in found.findings:
        names |= {finding.subject, *finding.names}
    wanted: set[str] = set()
    for typed in subjects:
        wanted |= find_subject(typed, names, survey.by_path)
    kept = [f for f in found.findings if wanted.intersection((f.subject, *f.names))]
    return replace(found, findings=tuple(kept))


def _plan(examination: Examination) -> Iterator[str]:
    """The moves that are certain or likely; what is in doubt, or fits in no line, is a comment."""
    for finding in examination.findings:
        for candidate in finding.candidates if finding.can_be_asked else ():
            line = f"{finding.subject}\t{candidate.path}"
            if candidate is finding.best and line.replace("\t", "", 1).isprintable():
                yield line
            else:
                yield printable(f"# {candidate.confidence}: {'; '.join(candidate.evidence)}")
                yield "#" + "\t".join(map(printable, (finding.subject, candidate.path)))


def ask(lost: list[Finding], printer: Printer, *, dry_run: bool) -> Chosen:
    """Where each lost project is now; nothing at all unless the whole list is confirmed."""
    chosen: Chosen = []
    for number, finding in enumerate(lost, 1):
        answer = _where(finding, f"[{number}/{len(lost)}] ", printer)
        if answer == QUIT:
            return []
        if answer == SKIP_REST:
            break
        if answer != LEAVE:
            chosen.append((finding, answer))
    if not chosen or dry_run:
        return chosen
    moves = [[("", f"  {finding.subject} -> {new}")] for finding, new in chosen]
    printer.on_stderr().lines(moves)
    question = f"Apply {plural(len(chosen), 'move')}?"
    return chosen if answered(click.confirm, question, default=True) else []


def _where(finding: Finding, number: str, printer: Printer) -> str:
    """A folder, or one of the letters; a closed input quits."""
    most, *_ = finding.what.split(", ")  # its sessions, if there are any
    what = f"{number}{finding.subject} is gone ({most}). Where is it now?"
    lines = [[("bold", what)], *([("", f"  {detail}")] for detail in finding.details)]
    for place, candidate in enumerate(finding.candidates, 1):
        lines += candidate_lines(candidate, f"  {place}  ")
    printer.on_stderr().lines(lines)

    def folder(typed: str) -> str:
        if typed in (LEAVE, SKIP_REST, QUIT):
            return typed
        if typed.isdecimal() and 0 < int(typed) <= len(finding.candidates):
            return finding.candidates[int(typed) - 1].path
        path = os.path.realpath(os.path.expanduser(typed))
        if not os.path.isdir(path):
            raise click.UsageError(f"{printable(typed)} is neither a number above nor a folder")
        return path

    prompt = "  number or path (n: leave it, s: skip the rest, q: quit)"
    default = "1" if finding.best is not None else LEAVE
    return answered(click.prompt, prompt, default=default, value_proc=folder) or QUIT


def repair(
    layout: Layout,
    examination: Examination,
    chosen: Chosen,
    command: CommandLine,
    **wanted: bool,
) -> Repair:
    """Make all chosen moves in one transaction; what is refused is left out and named."""

    def move_all(chosen: Chosen, **wanted: bool) -> Result | None:
        pairs = [Pair(finding.subject, new, finding.subject) for finding, new in chosen]
        return move(layout, pairs, None, **wanted) if pairs else None

    notes = []
    try:
        result = move_all(chosen, **wanted)
    except RefusedError:
        taken = []
        for finding, new in chosen:
            try:
                move_all([(finding, new)], dry_run=True, allow_live=True)  # live is for all
                taken.append((finding, new))
            except RefusedError as error:
                notes.append(f"{error.message}: {command(finding.subject, new)}")
        if len(taken) == len(chosen):
            raise
        chosen, result = taken, move_all(taken, **wanted)
    done = [finding for finding, _ in chosen]
    olds = [finding.subject for finding in done]
    left = [
        finding
        for finding in examination.findings
        if finding not in done and not (finding.along and at_or_below(olds, [finding.subject]))
    ]
    return Repair(layout.config_dir, tuple(left), result, notes=tuple(notes))
