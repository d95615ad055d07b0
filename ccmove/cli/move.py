"""`ccmove OLD NEW`: look, plan, and do it."""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

from ccmove.claude.layout import Layout, size_of
from ccmove.cli import options, resolve, values
from ccmove.cli.boundary import Call
from ccmove.cli.find import find_pair
from ccmove.cli.resolve import Pair, resolve_pair
from ccmove.errors import NothingKnownError, UsageError, run
from ccmove.plan import worktrees
from ccmove.plan.model import Plan, Request
from ccmove.plan.planner import plan_move
from ccmove.report.result import Moves, Result
from ccmove.run.backups import read_ledger
from ccmove.run.journal import read_run
from ccmove.run.preflight import preflight
from ccmove.run.transaction import Progress, run_plan


@options.command("move")
@click.argument("old", required=False, shell_complete=values.known_projects)
@click.argument("new", required=False, shell_complete=values.folders)
@options.dry_run
@click.option("-m", "--move-folder", is_flag=True, help="Rename the folder too, in the same step.")
@click.option("--only", is_flag=True, help="Move only OLD itself, not projects nested inside it.")
@click.option(
    "--from-file",
    metavar="FILE",
    help="Read moves from FILE, one OLD<TAB>NEW per line (- for stdin); all or none are made.",
)
@options.full
@click.option(
    "--on-conflict",
    type=click.Choice(["refuse", "keep-new", "keep-old"]),
    default="refuse",
    show_default=False,
    help="If both sides have a different file of the same name: refuse (default), keep-new or "
    "keep-old. The other one stays in the backup.",
)
@click.option(
    "--project-files",
    is_flag=True,
    help="Also rewrite paths in NEW/.claude/settings*.json and NEW/.mcp.json.",
)
@click.option(
    "--desktop",
    is_flag=True,
    help="Also rewrite paths in the desktop app's sessions, while it is not running.",
)
@click.option(
    "--merge", is_flag=True, help="Merge even if NEW is another project with sessions of its own."
)
@click.option(
    "-y", "--yes", is_flag=True, help="With one path: take the only candidate, don't ask."
)
@options.allow_live
@click.option(
    "--skip-path-check", is_flag=True, help="Don't check that OLD is gone and NEW exists."
)
def move_command(
    call: Call,
    old: str | None,
    new: str | None,
    from_file: str | None,
    verify: str,
    yes: bool,
    **wanted: Any,
) -> Result:
    """Move Claude Code's data for a project from OLD to NEW; ccmove OLD NEW is the same."""
    if from_file:
        if old is not None:
            message = "--from-file takes the place of OLD and NEW"
            raise UsageError(message, run("ccmove", "--from-file", from_file))
        pairs = read_pairs(from_file)
    elif old is None:
        raise UsageError("missing argument: OLD", resolve.USUAL)
    elif new is None:
        if wanted["move_folder"]:
            raise UsageError("missing argument: NEW", "--move-folder needs both paths")
        pairs = [find_pair(call, old, yes=yes, dry_run=wanted["dry_run"])]
    else:
        pairs = [resolve_pair(old, new)]
    call.moves = tuple(pair.real for pair in pairs)
    return move(call.find_layout(), pairs, call.progress(), full=verify == "full", **wanted)


def read_pairs(source: str) -> list[Pair]:
    """Lines `OLD<TAB>NEW`; empty lines and lines that begin with # are passed over."""
    with click.open_file(source, "rb") as file:
        text = file.read().decode("utf-8", "surrogateescape")
    pairs = []
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.rstrip("\r")
        if not line.strip() or line.startswith("#"):
            continue
        paths = line.split("\t")
        if len(paths) != 2 or not all(paths):
            message = f"{source}, line {number}: expected OLD<TAB>NEW"
            raise UsageError(message, "one tab between two paths")
        old, new = map(os.path.expanduser, paths)
        pairs.append(resolve_pair(old, new, f"{source}, line {number}"))
    if not pairs:
        raise UsageError(f"{source} has no moves in it", "write a line OLD<TAB>NEW for each")
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
    """Move the state of every pair in one transaction, or only plan it; `wanted` as in Request."""
    resolve.check_pairs(pairs, move_folder=wanted.get("move_folder", False), skip=skip_path_check)
    if not layout.config_dir.is_dir():
        raise NothingKnownError(
            f"{layout.config_dir} does not exist: Claude Code has no data there",
            run("ccmove", "--config-dir", "DIR", "OLD", "NEW"),
        )
    named = [path for pair in pairs for path in (*pair.real, *pair.typed)]
    warnings = resolve.refuse_live(layout, named, allow=allow_live, dry_run=dry_run)
    folders = tuple((pair.old, pair.new) for pair in pairs)
    request = Request(resolve.known_moves(layout, pairs), folders=folders, **wanted)

    def tick(done: int) -> None:  # the look at the history is the long part of planning
        if progress is not None:
            progress("reading", done, size_of(layout.history))

    def make_plan() -> Plan:
        ledger = read_ledger(layout)
        plan = plan_move(layout, request, ledger, tick)
        prompts = [before for before, _ in plan.history.scan.counts] if plan.history else []
        moving = [*(move.path for move in plan.projects), *prompts]  # which is seen at once
        for pair, one, folder in zip(pairs, request.moves, folders, strict=True):
            alone = plan
            if pair.where and len(pairs) > 1 and not resolve.at_or_below(one[:1], moving):
                alone = plan_move(layout, replace(request, moves=(one,), folders=(folder,)), ledger)
            if not (alone.projects or alone.writes or alone.history):  # a folder is not Claude's
                raise resolve.nothing_known(layout, pair)
        return plan

    result = carry_out("moved", layout, request.moves, make_plan, dry_run, full, progress)
    return replace(result, warnings=(*warnings, *result.warnings))


def carry_out(
    status: str,
    layout: Layout,
    moves: Moves,
    make_plan: Callable[[], Plan],
    dry_run: bool,
    full: bool,
    progress: Progress | None,
) -> Result:
    """Run what is planned, or only look whether it would be refused."""
    if dry_run:
        plan = make_plan()
        preflight(layout, plan)
        earlier = run("ccmove", "recover", text="an earlier run was interrupted")
        warnings = (earlier,) if read_run(layout) else ()
        return Result("planned", layout, moves, plan, warnings=warnings)
    done = run_plan(layout, make_plan, full=full, progress=progress)
    repaired = tuple(worktrees.repair(done.plan))
    return Result(
        status, layout, moves, done.plan, done.identifier, repaired, settled=done.rolled_back
    )
