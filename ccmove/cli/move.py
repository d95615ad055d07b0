"""`ccmove OLD NEW`: look, plan, and do it."""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

from ccmove.claude import git
from ccmove.claude.layout import Layout, size_of
from ccmove.cli import options, resolve
from ccmove.cli.boundary import Call
from ccmove.cli.find import find_pair
from ccmove.cli.options import flag
from ccmove.cli.resolve import Pair, resolve_pair
from ccmove.errors import NothingKnownError, UsageError, run
from ccmove.plan.model import Plan, Request
from ccmove.plan.planner import Tick, plan_move
from ccmove.report.result import DONE, Result
from ccmove.rewrite.compare import compare
from ccmove.rewrite.pathmap import PathMap
from ccmove.run.backups import all_backups, ledger_of
from ccmove.run.preflight import preflight
from ccmove.run.transaction import Progress, run_plan


@options.command("move")
@click.argument("old", required=False, shell_complete=options.known_projects)
@click.argument("new", required=False, shell_complete=options.folders)
@options.dry_run
@flag("-m", "--move-folder", help="Rename the folder too, in the same step.")
@flag("--only", help="Move only OLD itself, not projects nested inside it.")
@click.option(
    "--from-file",
    metavar="FILE",
    help="Read moves from FILE, one OLD<TAB>NEW per line (- for stdin); all or none "
    "are made.",
)
@options.full
@flag(
    "--project-files",
    help="Also rewrite paths in NEW/.claude/settings*.json and NEW/.mcp.json.",
)
@flag(
    "--desktop",
    help="Also rewrite paths in the desktop app's sessions, while it is not running.",
)
@flag("--merge", help="Merge even if NEW is another project with sessions of its own.")
@flag("-y", "--yes", help="With one path: take the only candidate, don't ask.")
@options.allow_live
@flag("--skip-path-check", help="Don't check that OLD is gone and NEW exists.")
def move_command(
    call: Call,
    old: str | None,
    new: str | None,
    from_file: str | None,
    verify: str,
    yes: bool,
    **wanted: Any,
) -> Result:
    """Move Claude Code's data for a project from OLD to NEW;
    ccmove OLD NEW is the same.
    """
    if from_file and old is not None:
        message = "--from-file takes the place of OLD and NEW"
        raise UsageError(message, run("ccmove", "--from-file", from_file))
    if not from_file and old is None:
        raise UsageError("missing argument: OLD", resolve.USUAL)
    if old is not None and new is None and wanted["move_folder"]:
        raise UsageError("missing argument: NEW", "--move-folder needs both paths")
    layout = call.recover(dry_run=wanted["dry_run"])
    if old is None:
        pairs = read_pairs(from_file or "")
    elif new is None:
        pairs = [find_pair(call, old, yes=yes, dry_run=wanted["dry_run"])]
    else:
        pairs = [resolve_pair(old, new)]
    call.moves = tuple(pair.real for pair in pairs)
    return move(layout, pairs, call.progress(), full=verify == "full", **wanted)


def read_pairs(source: str) -> list[Pair]:
    """Lines `OLD<TAB>NEW`; empty lines and lines that begin with # are passed over."""
    with click.open_file(source, "rb") as file:
        text = file.read().decode("utf-8", "surrogateescape")
    pairs = []
    for number, raw in enumerate(text.split("\n"), 1):
        line, where = raw.rstrip("\r"), f"{source}, line {number}"
        if not line.strip() or line.startswith("#"):
            continue
        paths = line.split("\t")
        if len(paths) != 2 or not all(paths):
            raise UsageError(
                f"{where}: expected OLD<TAB>NEW", "one tab between two paths"
            )
        old, new = map(os.path.expanduser, paths)
        pairs.append(resolve_pair(old, new, where))
    if not pairs:
        raise UsageError(
            f"{source} has no moves in it", "write a line OLD<TAB>NEW for each"
        )
    return pairs


def move(
    layout: Layout,
    pairs: list[Pair],
    progress: Progress | None = None,
    *,
    dry_run: bool = False,
    allow_live: bool = False,
    skip_path_check: bool = False,
    full: bool = False,
    **wanted: Any,
) -> Result:
    """Move the state of every pair in one transaction,
    or only plan it; `wanted` as in Request.
    """
    resolve.check_pairs(
        pairs, move_folder=wanted.get("move_folder", False), skip=skip_path_check
    )
    if not layout.config_dir.is_dir():
        raise NothingKnownError(
            f"{layout.config_dir} does not exist: Claude Code has no data there",
            run("ccmove", "--config-dir", "DIR", "OLD", "NEW"),
        )
    named = [path for pair in pairs for path in (*pair.real, *pair.typed)]
    warnings = resolve.refuse_live(layout, named, allow=allow_live, dry_run=dry_run)
    folders = tuple((pair.old, pair.new) for pair in pairs)
    request = Request(resolve.known_moves(layout, pairs), folders=folders, **wanted)

    def make_plan() -> Plan:
        ledger = ledger_of(layout, all_backups(layout))
        plan = plan_move(layout, request, ledger, reading(layout, progress))
        for pair, (old, _) in zip(pairs, request.moves, strict=True):
            if not _moves_something(plan, old if len(pairs) > 1 else None):
                raise resolve.nothing_known(layout, pair)
        return plan

    result = carry_out(layout, make_plan, progress, dry_run=dry_run, full=full)
    return replace(result, warnings=(*warnings, *result.warnings))


def reading(layout: Layout, progress: Progress | None) -> Tick | None:
    """Tells how much of the history was read, which is the long part of planning."""
    if progress is None:
        return None
    return lambda done: progress("reading", done, size_of(layout.history))


def _moves_something(plan: Plan, old: str | None) -> bool:
    """Whether Claude Code has data that the plan moves;
    of several moves, for this OLD.
    """
    if old is None:
        return bool(
            plan.projects or plan.writes or plan.history
        )  # a folder is not Claude's
    moved = [move.path for move in plan.projects]
    moved += [before for before, _ in plan.history.scan.counts] if plan.history else []
    for write in plan.writes:
        for row in compare(write.before, write.after):
            moved += [str(value) for value in (*row.pointer, row.before)]
    return bool(resolve.at_or_below([old], moved))


def carry_out(
    layout: Layout,
    make_plan: Callable[[], Plan],
    progress: Progress | None,
    *,
    dry_run: bool = False,
    full: bool = False,
) -> Result:
    """Run what is planned, or only look whether it would be refused."""
    if dry_run:
        plan = make_plan()
        preflight(layout, plan)
        return Result("planned", layout, plan.moves, plan)
    done = run_plan(layout, make_plan, full=full, progress=progress)
    renamed = PathMap(tuple((str(old), str(new)) for old, new in done.plan.folders))
    warnings = tuple(
        git.repair(renamed, (move.new_path for move in done.plan.projects))
    )
    what = (layout, done.plan.moves, done.plan, done.identifier, warnings)
    return Result(DONE[done.plan.kind], *what, rolled_back=done.rolled_back)
