"""`ccmove doctor`: what is wrong; with `--fix`, everything that is chosen mended in one run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from ccmove.claude.layout import Layout
from ccmove.cli import options as shared
from ccmove.cli.ask import asker
from ccmove.cli.backups import prune_backups
from ccmove.cli.boundary import Answer, Call
from ccmove.cli.completion import known_projects
from ccmove.cli.recover import recover
from ccmove.cli.resolve import Pair, check_pairs, refuse_live
from ccmove.errors import UsageError
from ccmove.inspect.backups import list_backups
from ccmove.inspect.doctor import PRUNE_AFTER_DAYS, PRUNE_KEEP, Examination, examine
from ccmove.inspect.findings import Choice, CommandLine, Finding
from ccmove.inspect.mend import Mend, with_mends
from ccmove.inspect.survey import Tick, look
from ccmove.plan.model import Plan, Request
from ccmove.plan.planner import plan_move
from ccmove.report.inspect import show_examination, show_repair
from ccmove.report.result import Repair, Result
from ccmove.rewrite.pathmap import PathMap, tail_below
from ccmove.run import transaction
from ccmove.run.backups import read_ledger

Choose = Callable[[Finding], Choice | None]
Chosen = tuple[tuple[Finding, Choice], ...]


@dataclass(frozen=True)
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
    choose = only_sure if only_certain else asker(call.printer, bar)
    return fix(layout, wanted, choose, **options), show_repair


def doctor(layout: Layout, search: Search) -> Examination:
    """Everything that is wrong, or what is wrong with the subjects."""
    survey = look(layout, search.tick)
    found = examine(survey, search.command, list_backups(layout), search.roots, search.search_tick)
    if not search.subjects:
        return found
    subjects = {name for typed in search.subjects for name in _spellings(typed)}
    return replace(found, findings=tuple(f for f in found.findings if _is_about(f, subjects)))


def _spellings(typed: str) -> tuple[str, ...]:
    """A name as it was typed, and the path that it may be."""
    return (typed, os.path.abspath(typed), os.path.realpath(typed))


def _is_about(finding: Finding, subjects: Iterable[str]) -> bool:
    named = (finding.subject, *finding.names)
    return any(
        subject in named or tail_below(finding.subject, subject) is not None for subject in subjects
    )


# -- mending ------------------------------------------------------------------------------------


def only_sure(finding: Finding) -> Choice | None:
    """What `--yes` takes: the choice that the evidence leaves no doubt about."""
    return finding.sure


def fix(
    layout: Layout,
    search: Search,
    choose: Choose,
    *,
    dry_run: bool = False,
    allow_live: bool = False,
    progress: transaction.Progress | None = None,
) -> Repair:
    """Ask for each finding, then do all that was chosen in one transaction."""
    examination = doctor(layout, search)
    recovered = None
    if not dry_run and _wants(examination, "recover", choose):
        recovered = recover(layout).settled
        examination = doctor(layout, search)
    chosen = _choices(examination, choose)
    result, postponed = _mend(layout, chosen, dry_run, allow_live, progress)
    done = tuple(pair for pair in chosen if pair[1].mend not in postponed)
    pruned = 0 if dry_run else _prune(layout, done)
    notes = [
        f"{finding.subject} waits for the next run: a move changes it as well"
        for finding, choice in chosen
        if choice.mend in postponed
    ]
    left = _left(examination, done)
    return Repair(
        layout,
        done,
        left,
        result,
        recovered,
        pruned,
        (*examination.notes, *notes),
        search.command("doctor"),
    )


def _wants(examination: Examination, action: str, choose: Choose) -> bool:
    for finding in examination.findings:
        if any(choice.action == action for choice in finding.choices):
            choice = choose(finding)
            return choice is not None and choice.action == action
    return False


def _choices(examination: Examination, choose: Choose) -> Chosen:
    chosen = []
    for finding in examination.findings:
        if finding.choices and finding.kind != "interrupted-run":
            choice = choose(finding)
            if choice is not None:
                chosen.append((finding, choice))
    return tuple(chosen)


def _left(examination: Examination, chosen: Chosen) -> tuple[Finding, ...]:
    """What was not chosen and does not go along with a move that was."""
    taken = {id(finding) for finding, _ in chosen}
    paths = PathMap(_moves(chosen))
    return tuple(
        finding
        for finding in examination.findings
        if id(finding) not in taken and not (finding.along and paths.covers(finding.subject))
    )


def _moves(chosen: Chosen) -> tuple[tuple[str, str], ...]:
    return tuple(choice.move for _, choice in chosen if choice.move is not None)


def _mend(
    layout: Layout,
    chosen: Chosen,
    dry_run: bool,
    allow_live: bool,
    progress: transaction.Progress | None,
) -> tuple[Result | None, tuple[Mend, ...]]:
    """Moves and mends as one plan; what the moves touch as well waits for another run."""
    moves = _moves(chosen)
    mends = [choice.mend for _, choice in chosen if choice.mend is not None]
    if not moves and not mends:
        return None, ()
    check_pairs([Pair(old, new, old) for old, new in moves], move_folder=False, skip=False)
    if not allow_live and not dry_run:
        _refuse_live(layout, chosen)
    left_out: tuple[Mend, ...] = ()

    def make_plan(displaced: Path) -> Plan:
        nonlocal left_out
        plan = Plan("move", PathMap(()))
        if moves:
            plan = plan_move(layout, Request(moves), read_ledger(layout), displaced)
        plan, left_out = with_mends(plan, mends, displaced)
        return plan

    if dry_run:
        plan = make_plan(layout.own / "displaced")
        return Result("planned", layout, moves, plan), left_out
    outcome = transaction.run(layout, make_plan, progress=progress)
    return (
        Result("moved", layout, moves, outcome.plan, outcome.identifier, settled=outcome.settled),
        left_out,
    )


def _refuse_live(layout: Layout, chosen: Chosen) -> None:
    named = [name for finding, _ in chosen for name in (finding.subject, *finding.names)]
    folders = [*named, *(path for move in _moves(chosen) for path in move)]
    refuse_live(layout, [path for path in folders if path.startswith("/")])


def _prune(layout: Layout, chosen: Chosen) -> int:
    if not any(choice.action == "prune" for _, choice in chosen):
        return 0
    return len(prune_backups(layout, PRUNE_KEEP, PRUNE_AFTER_DAYS * 86400.0))
