"""`ccmove doctor`: what is wrong; with `--fix`, every move that is chosen made in one run."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import click

from ccmove.claude.layout import Layout
from ccmove.cli import options as shared
from ccmove.cli.backups import prune_backups
from ccmove.cli.boundary import Answer, Call
from ccmove.cli.completion import known_projects
from ccmove.cli.recover import recover
from ccmove.cli.resolve import Pair, check_pairs, refuse_live
from ccmove.cli.verify import unknown
from ccmove.errors import RefusedError, UsageError
from ccmove.inspect.checks import PRUNE_AFTER_DAYS, PRUNE_KEEP, examine
from ccmove.inspect.findings import Choice, CommandLine, Examination, Finding
from ccmove.inspect.survey import look
from ccmove.plan.model import Plan, Request
from ccmove.plan.planner import plan_move
from ccmove.report.console import Printer, Progress
from ccmove.report.inspect import show_examination, show_question, show_repair
from ccmove.report.result import Repair, Result
from ccmove.rewrite.pathmap import PathMap, tail_below
from ccmove.run import transaction
from ccmove.run.backups import read_ledger
from ccmove.text import printable

Choose = Callable[[Finding], Choice | None]
Examine = Callable[[], Examination]
Chosen = tuple[tuple[Finding, Choice], ...]


@click.command(name="doctor")
@click.argument("subject", nargs=-1, shell_complete=known_projects)
@click.option("--fix", is_flag=True, help="Ask about each finding, and mend all in one go.")
@click.option("--yes", is_flag=True, help="Do not ask: mend what the evidence leaves no doubt of.")
@click.option("-n", "--dry-run", is_flag=True, help="With --fix: only show what would change.")
@click.option(
    "--search",
    metavar="DIR",
    multiple=True,
    type=click.Path(exists=True, file_okay=False),
    help="Also look there for folders that are gone; may be repeated.",
)
@click.option("--allow-live", is_flag=True, help="With --fix: go on although a session is running.")
@shared.common
def doctor_command(
    call: Call, subject: tuple[str, ...], search: tuple[str, ...], **options: Any
) -> Answer:
    """Show what is wrong, and the command that mends it; SUBJECT is a path, a name or an ID.

    Exits with 1 when there are findings. Changes nothing without --fix.
    """
    fixing, only_certain = options.pop("fix"), options.pop("yes")
    if not fixing and (only_certain or any(options.values())):
        raise UsageError("--yes, --dry-run and --allow-live go with --fix")
    layout, bar, command = (
        call.find_layout(),
        call.progress(counts=True),
        CommandLine(call.config_dir),
    )

    def doctor() -> Examination:
        survey = look(layout, bar.of("looking at projects"))
        found = examine(survey, command, search, bar.of("looking for lost folders"))
        return _about(found, subject)

    if not fixing:
        return doctor(), show_examination
    choose = (lambda finding: finding.sure) if only_certain else Asker(call.printer, bar)
    return fix(layout, doctor, choose, command, **options), show_repair


def _about(found: Examination, subjects: tuple[str, ...]) -> Examination:
    """What is wrong with these: a path and all below it, a name, a session; each must be known."""
    survey = found.survey
    names = {*survey.by_path, *survey.directory_by_name, *survey.places_of_sessions}
    names |= {str(directory.path) for directory in survey.directories}
    about: set[int] = set()
    for typed in subjects:
        spellings = {typed, os.path.abspath(typed), os.path.realpath(typed)}
        concerned = [f for f in found.findings if _is_one(spellings, (f.subject, *f.names))]
        if not concerned and not _is_one(spellings, names):
            raise unknown(typed, survey, "doctor")
        about |= {id(finding) for finding in concerned}
    kept = tuple(finding for finding in found.findings if id(finding) in about)
    return replace(found, findings=kept) if subjects else found


def _is_one(spellings: Iterable[str], names: Iterable[str]) -> bool:
    return any(tail_below(name, spelling) is not None for spelling in spellings for name in names)


# -- asking --------------------------------------------------------------------------------------


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
        options = [*(printable(choice.label) for choice in finding.choices), "leave it as it is"]
        sure = next((i for i, c in enumerate(finding.choices) if c.sure), len(finding.choices))
        for number, option in enumerate(options, 1):
            click.echo(f"    {number}  {option}", err=True)
        try:
            with contextlib.redirect_stdout(sys.stderr):  # a part of the prompt would go there
                numbers = click.IntRange(1, len(options))
                answer = click.prompt("  number", default=sure + 1, type=numbers, err=True)
        except click.Abort:
            self.stopped = True
            return None
        click.echo(err=True)
        return finding.choices[answer - 1] if answer < len(options) else None


# -- fixing --------------------------------------------------------------------------------------


def fix(
    layout: Layout,
    doctor: Examine,
    choose: Choose,
    command: CommandLine,
    *,
    dry_run: bool = False,
    allow_live: bool = False,
) -> Repair:
    """Ask for each finding that has a choice, then make all chosen moves in one transaction."""
    examination, recovered = doctor(), None
    interrupted = [f for f in examination.findings if f.kind == "interrupted-run" and f.choices]
    if not dry_run and any(choose(finding) is not None for finding in interrupted):
        recovered = recover(layout).settled
        examination = doctor()
    asked = [f for f in examination.findings if f.choices and f.kind != "interrupted-run"]
    chosen = tuple((f, choice) for f in asked if (choice := choose(f)) is not None)
    notes = [*examination.notes]
    try:
        result = _move(layout, chosen, dry_run, allow_live)
    except RefusedError:
        possible = _possible(layout, chosen, command, notes)
        if possible == chosen:
            raise
        chosen = possible
        result = _move(layout, chosen, dry_run, allow_live)
    pruned = 0
    if not dry_run and any(choice.action == "prune" for _, choice in chosen):
        pruned = len(prune_backups(layout, PRUNE_KEEP, PRUNE_AFTER_DAYS * 86400.0))
    left = _left(examination, chosen)
    look_again = command("doctor")
    return Repair(layout, chosen, left, result, recovered, pruned, tuple(notes), look_again)


def _left(examination: Examination, chosen: Chosen) -> tuple[Finding, ...]:
    """What was not chosen and does not move together with something that was."""
    taken = {id(finding) for finding, _ in chosen}
    paths = PathMap(_moves(chosen))
    return tuple(
        finding
        for finding in examination.findings
        if id(finding) not in taken and not (finding.along and paths.covers(finding.subject))
    )


def _moves(chosen: Chosen) -> tuple[tuple[str, str], ...]:
    return tuple(choice.move for _, choice in chosen if choice.move is not None)


def _move(layout: Layout, chosen: Chosen, dry_run: bool, allow_live: bool) -> Result | None:
    moves = _moves(chosen)
    if not moves:
        return None
    check_pairs([Pair(old, new, old) for old, new in moves], move_folder=False, skip=False)
    if dry_run:
        return Result("planned", layout, moves, _plan(layout, moves))
    if not allow_live:
        refuse_live(layout, [path for move in moves for path in move])
    done = transaction.run_plan(layout, lambda: _plan(layout, moves))
    return Result("moved", layout, moves, done.plan, done.identifier, settled=done.rolled_back)


def _plan(layout: Layout, moves: tuple[tuple[str, str], ...]) -> Plan:
    return plan_move(layout, Request(moves), read_ledger(layout))


def _possible(layout: Layout, chosen: Chosen, command: CommandLine, notes: list[str]) -> Chosen:
    """What is left when the moves that are refused by themselves are left out and named."""
    possible = []
    for finding, choice in chosen:
        try:
            if choice.move is not None:
                _plan(layout, (choice.move,))
        except RefusedError as error:
            notes.append(f"{error.message}: {command(*choice.move or ())}")
        else:
            possible.append((finding, choice))
    return tuple(possible)
