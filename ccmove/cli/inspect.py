"""`ccmove list`, `doctor` and `verify`: what there is,
what is wrong, and how to fix it.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import click

from ccmove.claude.naming import possible_names
from ccmove.cli import options
from ccmove.cli.boundary import Call
from ccmove.cli.find import answered
from ccmove.cli.options import flag
from ccmove.commands.move import move
from ccmove.commands.options import MoveOptions
from ccmove.commands.paths import Pair, at_or_below, find_subject
from ccmove.errors import RefusedError, UsageError, run
from ccmove.inspect.findings import Examination, Finding, examine
from ccmove.inspect.survey import Project, Survey
from ccmove.report.console import Line, Printer
from ccmove.report.doctor import Repair, candidate_lines
from ccmove.report.listing import Listing
from ccmove.run.rollback import recover
from ccmove.text import plural, printable

Chosen = list[tuple[Finding, str]]  # with the new path of each
LEAVE, SKIP_REST, QUIT = "n", "s", "q"
OF_ALL = ("interrupted-run", "unreadable")  # findings that concern every project
# Findings of these kinds make data inconsistent; all others are harmless.
FAILURES = {*OF_ALL, "moved-entries", "split-session", "index"}
SORTS: dict[str, Callable[[Project], Any]] = {
    "path": lambda project: (project.path is None, (project.path or "").split("/")),
    "used": lambda project: -(project.last_used or 0),
    "sessions": lambda project: -project.sessions,
    "size": lambda project: -project.bytes,
}


@options.command("list")
@click.argument("path", required=False, shell_complete=options.known_projects)
@click.option(
    "--sort",
    type=click.Choice(list(SORTS)),
    default="path",
    help="By path; or the last used, the most sessions, the largest first.",
)
@flag("--missing", help="Only projects whose folder is gone.")
def list_command(call: Call, path: str | None, sort: str, missing: bool) -> Listing:
    """List all projects Claude Code knows, or those in PATH.

    The exit code is 3 if Claude Code has no data for PATH.
    """
    survey = Survey(call.find_layout(), call.progress())
    chosen = survey.projects
    if path is not None:
        below = find_subject(path, survey.by_path, survey.by_path)
        chosen = [project for project in chosen if project.path in below]
    if missing:
        chosen = [project for project in chosen if project.exists is False]
    return Listing(survey, tuple(sorted(chosen, key=SORTS[sort])))


@options.command("doctor")
@click.argument("subject", nargs=-1, shell_complete=options.known_projects)
@flag("--fix", help="Ask where each lost project is now, then move them.")
@flag("-y", "--yes", help="Don't ask; fix only what is certain.")
@flag("--plan", help="Print the moves as OLD<TAB>NEW, for --from-file.")
@click.option(
    "--search",
    metavar="DIR",
    multiple=True,
    type=click.Path(exists=True, file_okay=False),
    help="Also look in DIR for folders that are gone; may be repeated.",
)
def doctor_command(
    call: Call,
    subject: tuple[str, ...],
    fix: bool,
    yes: bool,
    plan: bool,
    search: tuple[str, ...],
) -> Examination | Repair | str:
    """Find lost projects and stale entries, and how to fix each.

    SUBJECT is a path, a folder's name or a session's ID. Changes nothing without --fix.
    The exit code is 1 if something is wrong.
    """
    if yes and not fix:
        raise UsageError("--yes needs --fix", run("ccmove", "doctor", "--fix", "--yes"))
    if plan and (fix or call.printer.as_json):
        raise UsageError("--plan goes with neither --fix nor --json")
    layout, bar, command = call.find_layout(), call.progress(), call.printer.typed
    found, _ = _about(
        examine(Survey(layout, bar), command, search, partial(bar, "lost")), subject
    )
    bar.close()
    if plan:
        return "".join(_plan(found))
    if not fix:
        return found
    interrupted = [
        finding for finding in found.findings if finding.kind == "interrupted-run"
    ]
    if interrupted:  # first and alone: everything else may look different then
        question = f"{interrupted[0].what}. Roll it back?"
        if not yes and not answered(click.confirm, question, default=True):
            return Repair(layout.config_dir, found.findings)
        note = f"look again to see what else there is: {command('doctor')}"
        return Repair(layout.config_dir, recovered=recover(layout, bar), notes=(note,))
    lost = [finding for finding in found.findings if finding.can_be_asked]
    chosen = [
        (finding, finding.sure.path) for finding in lost if finding.sure is not None
    ]
    return repair(call, found, chosen if yes else ask(lost, call.printer))


def repair(call: Call, found: Examination, chosen: Chosen) -> Repair:
    """Make all chosen moves in one transaction;
    what would be refused is left out and named.
    """
    layout, notes, pairs = found.survey.layout, [], []
    for finding, new in chosen:
        pair = Pair(finding.subject, new, finding.subject)
        try:
            move(layout, [pair], MoveOptions(dry_run=True))
            pairs.append(pair)
        except RefusedError as error:
            notes.append(f"{error.message}: {call.printer.typed(finding.subject, new)}")
    result = None
    if pairs:
        result = move(layout, pairs, MoveOptions(), call.progress())
    olds = [pair.old for pair in pairs]  # with each, all that is below it
    left = tuple(f for f in found.findings if not at_or_below(olds, [f.subject]))
    return Repair(layout.config_dir, left, result, notes=tuple(notes))


def _about(found: Examination, subjects: Iterable[str]) -> tuple[Examination, set[str]]:
    """What is wrong with these, each of which must be known, and all names they have.

    A path with all below it, a name, a session. What concerns every project is always
    there.
    """
    survey = found.survey
    names = {*survey.by_path, *survey.directories, *survey.places_of_sessions}
    for finding in found.findings:
        names |= {finding.subject, *finding.names}
    wanted = names if not subjects else set()
    for typed in subjects:
        wanted |= find_subject(typed, names, survey.by_path)
    held = {name for one in wanted for name in survey.places_of_sessions.get(one, ())}
    wanted |= {
        path for path, p in survey.by_path.items() if held.intersection(p.directories)
    }
    for path in wanted.intersection(survey.by_path):
        wanted |= {*survey.by_path[path].directories, *possible_names(path)}
    kept = [f for f in found.findings if f.kind in OF_ALL or _is_about(f, wanted)]
    return replace(found, findings=tuple(kept)), wanted


def _is_about(finding: Finding, names: set[str]) -> bool:
    return not names.isdisjoint((finding.subject, *finding.names))


def _plan(found: Examination) -> list[str]:
    """The moves that are certain or likely; not what fits in no line."""
    moves = [
        (f.subject, f.best.path) for f in found.findings if f.can_be_asked and f.best
    ]
    return [f"{old}\t{new}\n" for old, new in moves if (old + new).isprintable()]


def ask(lost: list[Finding], printer: Printer) -> Chosen:
    """Where each lost project is now;
    nothing at all unless the whole list is confirmed.
    """
    chosen: Chosen = []
    for number, finding in enumerate(lost, 1):
        answer = _where(finding, f"[{number}/{len(lost)}] ", printer)
        if answer == QUIT:
            return []
        if answer == SKIP_REST:
            break
        if answer != LEAVE:
            chosen.append((finding, answer))
    printer.on_stderr().lines(
        [("", f"  {finding.subject} -> {new}")] for finding, new in chosen
    )
    question = f"Apply {plural(len(chosen), 'move')}?"
    return chosen if chosen and answered(click.confirm, question, default=True) else []


def _where(finding: Finding, number: str, printer: Printer) -> str:
    """A folder, or one of the letters; a closed input quits."""
    most, *_ = finding.what.split(", ")  # its sessions, if there are any
    lines: list[Line] = [
        [("bold", f"{number}{finding.subject} is gone ({most}). Where is it now?")]
    ]
    for place, candidate in enumerate(finding.candidates, 1):
        lines += candidate_lines(candidate, f"  {place}  ")
    printer.on_stderr().lines(lines)
    wrong = iter(range(3))

    def folder(typed: str) -> str:
        if typed in (LEAVE, SKIP_REST, QUIT):
            return typed
        if typed.isdecimal() and 0 < int(typed) <= len(finding.candidates):
            return finding.candidates[int(typed) - 1].path
        path = os.path.realpath(os.path.expanduser(typed))
        if not os.path.isdir(path):
            if next(wrong, None) is None:  # `yes` would never end
                raise click.Abort
            raise click.UsageError(
                f"{printable(typed)} is neither a number above nor a folder"
            )
        return path

    prompt = "  number or path (n: leave it, s: skip the rest, q: quit)"
    default = "1" if finding.best is not None else LEAVE
    return answered(click.prompt, prompt, default=default, value_proc=folder) or QUIT


@options.command("verify")
@click.argument("path", required=False, shell_complete=options.known_projects)
def verify_command(call: Call, path: str | None) -> Examination:
    """Check that Claude Code's data for PATH (default: all projects) is consistent.

    The exit code is 0 or 1, or 3 if Claude Code has no data for PATH.
    """
    layout = call.find_layout()
    everything = examine(Survey(layout, call.progress()), call.printer.typed, None)
    found, names = _about(everything, [] if path is None else [path])
    failures, notes = list[Finding](), list[Finding]()
    for finding in found.findings:
        is_others = os.path.dirname(finding.subject) == str(layout.projects)
        is_failure = finding.kind in FAILURES and (
            _is_about(finding, names) or not is_others
        )
        (failures if is_failure else notes).append(finding)
    paths = sorted(names.intersection(found.survey.by_path))
    return Examination(found.survey, tuple(failures), tuple(notes), tuple(paths))
