"""`ccmove doctor`: what is wrong; with `--fix`, every move that is chosen made in one run."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import click

from ccmove.claude.layout import Layout
from ccmove.cli import options, values
from ccmove.cli.backups import prune_backups
from ccmove.cli.boundary import Call
from ccmove.cli.move import move
from ccmove.cli.recover import recover
from ccmove.cli.resolve import Pair, find_subject
from ccmove.errors import RefusedError, UsageError
from ccmove.inspect.checks import PRUNE_AFTER_DAYS, PRUNE_KEEP, examine
from ccmove.inspect.findings import Choice, CommandLine, Examination, Finding
from ccmove.inspect.survey import look
from ccmove.report.console import Printer, Progress
from ccmove.report.inspect import show_question
from ccmove.report.result import Moves, Repair, Result
from ccmove.rewrite.pathmap import PathMap
from ccmove.text import printable

Chosen = tuple[tuple[Finding, Choice], ...]


@options.command("doctor")
@click.argument("subject", nargs=-1, shell_complete=values.known_projects)
@click.option("--fix", is_flag=True, help="Ask about each finding, then fix them all in one step.")
@click.option("--yes", is_flag=True, help="Don't ask; fix only what is certain.")
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
    dry_run: bool,
    search: tuple[str, ...],
    allow_live: bool,
) -> Examination | Repair:
    """Find lost projects and stale entries, and how to fix each.

    SUBJECT is a path, a folder's name or a session's ID. Changes nothing without --fix.
    The exit code is 1 if something is wrong.
    """
    if not fix and (yes or dry_run or allow_live):
        raise UsageError("--yes, --dry-run and --allow-live go with --fix")
    layout, bar = call.find_layout(), call.progress()
    command = call.printer.typed

    def doctor() -> Examination:
        survey = look(layout, bar)
        found = examine(survey, command, search, bar.of("looking for lost folders"))
        return _about(found, subject) if subject else found

    if not fix:
        return doctor()
    choose = (lambda finding: finding.sure) if yes else Asker(call.printer, bar)
    return repair(layout, doctor, choose, command, dry_run=dry_run, allow_live=allow_live)


def _about(found: Examination, subjects: tuple[str, ...]) -> Examination:
    """What is wrong with these: a path and all below it, a name, a session; each must be known."""
    survey = found.survey
    names = {*survey.by_path, *survey.directory_by_name, *survey.places_of_sessions}
    names |= {str(directory.path) for directory in survey.directories}
    for finding in found.findings:
        names |= {finding.subject, *finding.names}
    wanted: set[str] = set()
    for typed in subjects:
        wanted |= find_subject(typed, names, survey.by_path)
    kept = [f for f in found.findings if wanted.intersection((f.subject, *f.names))]
    return replace(found, findings=tuple(kept))


@dataclass
class Asker:
    """Asks a person about each finding; once nobody answers any more, everything stays."""

    printer: Printer
    counting: Progress
    explained: set[str] = field(default_factory=set)
    stopped: bool = False

    def __call__(self, finding: Finding) -> Choice | None:
        if self.stopped:
            return None
        self.counting.close()
        show_question(finding, self.printer, explain=finding.kind not in self.explained)
        self.explained.add(finding.kind)
        labels = [*(printable(choice.label) for choice in finding.choices), "leave it as it is"]
        for number, label in enumerate(labels, 1):
            click.echo(f"    {number}  {label}", err=True)
        sure = finding.choices.index(finding.sure) if finding.sure else len(finding.choices)
        try:
            with contextlib.redirect_stdout(sys.stderr):  # a part of the prompt would go there
                numbers = click.IntRange(1, len(labels))
                answer = click.prompt("  number", default=sure + 1, type=numbers, err=True)
        except click.Abort:
            self.stopped = True
            return None
        click.echo(err=True)
        return finding.choices[answer - 1] if answer < len(labels) else None


# -- fixing --------------------------------------------------------------------------------------


def repair(
    layout: Layout,
    doctor: Callable[[], Examination],
    choose: Callable[[Finding], Choice | None],
    command: CommandLine,
    *,
    dry_run: bool,
    allow_live: bool,
) -> Repair:
    """Ask for each finding that has a choice, then make all chosen moves in one transaction."""

    def move_all(
        chosen: Chosen, *, dry_run: bool = dry_run, allow_live: bool = allow_live
    ) -> Result | None:
        pairs = [Pair(old, new, old) for old, new in _moves(chosen)]
        return move(layout, pairs, dry_run=dry_run, allow_live=allow_live) if pairs else None

    def refusal(one: tuple[Finding, Choice]) -> str | None:
        try:
            move_all((one,), dry_run=True, allow_live=True)  # a running session refuses all
        except RefusedError as error:
            return error.message
        return None

    examination, recovered = doctor(), None
    interrupted = [f for f in examination.findings if f.kind == "interrupted-run" and f.choices]
    if not dry_run and any(choose(finding) is not None for finding in interrupted):
        recovered = recover(layout).settled
        examination = doctor()
    asked = [f for f in examination.findings if f.choices and f.kind != "interrupted-run"]
    chosen = tuple((f, choice) for f in asked if (choice := choose(f)) is not None)
    notes = [*examination.notes]
    try:
        result = move_all(chosen)
    except RefusedError:  # what is refused by itself is left out and named
        refused = [(one, reason) for one in chosen if (reason := refusal(one)) is not None]
        if not refused:
            raise
        for one, reason in refused:
            notes.append(f"{reason}: {command(*one[1].move or ())}")
        chosen = tuple(one for one in chosen if one not in [other for other, _ in refused])
        result = move_all(chosen)
    pruned = 0
    if not dry_run and any(choice.action == "prune" for _, choice in chosen):
        why = prune_backups(layout, PRUNE_KEEP, PRUNE_AFTER_DAYS * 86400.0)
        pruned = sum(not reason for reason in why.values())
    left = _left(examination, chosen)
    look_again = command("doctor")
    return Repair(layout, chosen, left, result, recovered, pruned, tuple(notes), look_again)


def _moves(chosen: Chosen) -> Moves:
    return tuple(choice.move for _, choice in chosen if choice.move is not None)


def _left(examination: Examination, chosen: Chosen) -> tuple[Finding, ...]:
    """What was not chosen and does not move together with something that was."""
    taken = [finding for finding, _ in chosen]
    paths = PathMap(_moves(chosen))
    return tuple(
        finding
        for finding in examination.findings
        if finding not in taken and not (finding.along and paths.covers(finding.subject))
    )
