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
from ccmove.inspect.survey import Tick, look
from ccmove.plan.model import Request
from ccmove.plan.planner import plan_move
from ccmove.report.console import Printer, Progress
from ccmove.report.inspect import show_examination, show_question, show_repair
from ccmove.report.result import Repair, Result
from ccmove.rewrite.pathmap import PathMap, tail_below
from ccmove.run import transaction
from ccmove.run.backups import read_ledger
from ccmove.text import printable

Choose = Callable[[Finding], Choice | None]
Chosen = tuple[tuple[Finding, Choice], ...]


@dataclass(frozen=True, slots=True)
class Search:
    """What to examine: all of it or these things, and where to look for lost folders."""

    command: CommandLine
    subjects: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    tick: Tick | None = None
    search_tick: Tick | None = None


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
    layout, bar = call.find_layout(), call.progress(counts=True)
    wanted = Search(
        CommandLine(call.config_dir),
        subject,
        search,
        bar.of("looking at projects"),
        bar.of("looking for lost folders"),
    )
    if not fixing:
        return doctor(layout, wanted), show_examination
    choose = only_sure if only_certain else Asker(call.printer, bar)
    return fix(layout, wanted, choose, **options), show_repair


def doctor(layout: Layout, search: Search) -> Examination:
    """Everything that is wrong, or what is wrong with the subjects."""
    survey = look(layout, search.tick)
    found = examine(survey, search.command, search.roots, search.search_tick)
    if not search.subjects:
        return found
    for typed in search.subjects:
        if not _is_known(typed, found):
            raise unknown(typed, survey, "doctor")
    subjects = {name for typed in search.subjects for name in _spellings(typed)}
    return replace(found, findings=tuple(f for f in found.findings if _is_about(f, subjects)))


def _spellings(typed: str) -> tuple[str, ...]:
    """A name as it was typed, and the path that it may be."""
    return (typed, os.path.abspath(typed), os.path.realpath(typed))


def _is_known(typed: str, found: Examination) -> bool:
    """A finding is about it, or it is a project, a directory or a session without fault."""
    survey, spellings = found.survey, _spellings(typed)
    names = {*survey.directory_by_name, *survey.places_of_sessions}
    names |= {str(directory.path) for directory in survey.directories}
    return (
        any(_is_about(finding, spellings) for finding in found.findings)
        or not names.isdisjoint(spellings)
        or any(tail_below(p, s) is not None for p in survey.by_path for s in spellings)
    )


def _is_about(finding: Finding, subjects: Iterable[str]) -> bool:
    named = (finding.subject, *finding.names)
    return any(
        subject in named or tail_below(finding.subject, subject) is not None for subject in subjects
    )


# -- asking --------------------------------------------------------------------------------------


def only_sure(finding: Finding) -> Choice | None:
    """What `--yes` takes: the choice that the evidence leaves no doubt about."""
    return finding.sure


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
    search: Search,
    choose: Choose,
    *,
    dry_run: bool = False,
    allow_live: bool = False,
    progress: transaction.Progress | None = None,
) -> Repair:
    """Ask for each finding that has a choice, then make all chosen moves in one transaction."""
    examination = doctor(layout, search)
    recovered = None
    if not dry_run and _wants_recovery(examination, choose):
        recovered = recover(layout).settled
        examination = doctor(layout, search)
    asked = [(f, choose(f)) for f in examination.findings if f.choices and not _is_recovery(f)]
    chosen = tuple((finding, choice) for finding, choice in asked if choice is not None)
    notes = [*examination.notes]
    try:
        result = _move(layout, chosen, dry_run, allow_live, progress)
    except RefusedError:
        possible = _possible(layout, chosen, search.command, notes)
        if possible == chosen:
            raise
        chosen = possible
        result = _move(layout, chosen, dry_run, allow_live, progress)
    pruned = 0
    if not dry_run and any(choice.action == "prune" for _, choice in chosen):
        pruned = len(prune_backups(layout, PRUNE_KEEP, PRUNE_AFTER_DAYS * 86400.0))
    return Repair(
        layout,
        chosen,
        _left(examination, chosen),
        result,
        recovered,
        pruned,
        tuple(notes),
        search.command("doctor"),
    )


def _is_recovery(finding: Finding) -> bool:
    return finding.kind == "interrupted-run"


def _wants_recovery(examination: Examination, choose: Choose) -> bool:
    found = [f for f in examination.findings if _is_recovery(f) and f.choices]
    return any(choose(finding) is not None for finding in found)


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


def _move(
    layout: Layout,
    chosen: Chosen,
    dry_run: bool,
    allow_live: bool,
    progress: transaction.Progress | None,
) -> Result | None:
    moves = _moves(chosen)
    if not moves:
        return None
    check_pairs([Pair(old, new, old) for old, new in moves], move_folder=False, skip=False)
    if dry_run:
        plan = plan_move(layout, Request(moves), read_ledger(layout))
        return Result("planned", layout, moves, plan)
    if not allow_live:
        refuse_live(layout, [path for move in moves for path in move])
    outcome = transaction.run_plan(
        layout, lambda: plan_move(layout, Request(moves), read_ledger(layout)), progress=progress
    )
    settled = outcome.rolled_back
    return Result("moved", layout, moves, outcome.plan, outcome.identifier, settled=settled)


def _possible(layout: Layout, chosen: Chosen, command: CommandLine, notes: list[str]) -> Chosen:
    """What is left when the moves that are refused by themselves are left out and named."""
    possible = []
    for finding, choice in chosen:
        try:
            if choice.move is not None:
                plan_move(layout, Request((choice.move,)), read_ledger(layout))
        except RefusedError as error:
            notes.append(f"{error.message}: {command(*choice.move or ())}")
        else:
            possible.append((finding, choice))
    return tuple(possible)
