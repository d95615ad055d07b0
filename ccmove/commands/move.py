"""Moves: check the paths, look, plan, and do it."""

import contextlib
import os
import sys
from collections.abc import Callable
from dataclasses import replace

from ccmove.claude import git
from ccmove.claude.layout import Layout, size_of
from ccmove.claude.reading import open_regular
from ccmove.commands import paths
from ccmove.commands.options import MoveOptions, RunOptions
from ccmove.commands.paths import Pair, resolve_pair
from ccmove.errors import CcmoveError, NothingKnownError, UsageError
from ccmove.hints import Hint, ask, in_words, run
from ccmove.plan.model import Plan, Request
from ccmove.plan.planner import Tick, plan_move
from ccmove.report.result import DONE, Result
from ccmove.rewrite.compare import compare
from ccmove.rewrite.pathmap import PathMap
from ccmove.run.backups import all_backups, ledger_of
from ccmove.run.preflight import preflight
from ccmove.run.transaction import Progress, run_plan

FIRST_BYTES = 4096  # of a history, in which JSON has no NUL


def read_pairs(source: str) -> list[Pair]:
    """Lines `OLD<TAB>NEW`; empty lines and lines that begin with # are passed over."""
    pairs = []
    for number, raw in enumerate(_text_of(source).split("\n"), 1):
        line, where = raw.rstrip("\r"), f"{source}, line {number}"
        if not line.strip() or line.startswith("#"):
            continue
        typed = line.split("\t")
        if len(typed) != 2 or not all(typed):
            raise UsageError(
                f"{where}: expected OLD<TAB>NEW", "one tab between two paths"
            )
        old, new = map(os.path.expanduser, typed)
        pairs.append(resolve_pair(old, new, where))
    if not pairs:
        raise UsageError(
            f"{source} has no moves in it", "write a line OLD<TAB>NEW for each"
        )
    return pairs


def _text_of(source: str) -> str:
    """What is in a file, or on standard input; some editors begin it with a BOM."""
    if source == "-":
        data = sys.stdin.buffer.read() if sys.stdin is not None else b""
    else:
        with open(source, "rb") as file:
            data = file.read()
    return data.decode("utf-8-sig", "surrogateescape")


def move(
    layout: Layout,
    pairs: list[Pair],
    options: MoveOptions,
    progress: Progress | None = None,
) -> Result:
    """Move the state of every pair in one transaction, or only plan it."""
    paths.check_pairs(pairs, options)
    if not layout.config_dir.is_dir():
        raise NothingKnownError(
            f"{layout.config_dir} does not exist: Claude Code has no data there",
            run("ccmove", "--config-dir", "DIR", "OLD", "NEW"),
        )
    named: list[str] = []
    for pair in pairs:
        named += (*pair.real, *pair.typed)
    warnings = paths.refuse_live(layout, named, options)
    warnings += _unreadable_history(layout)
    request = Request(
        paths.known_moves(layout, pairs),
        folders=tuple((pair.old, pair.new) for pair in pairs),
        only=options.only,
        project_files=options.settings,
        desktop=options.desktop,
        move_folder=options.move_folder,
        merge=options.merge,
    )

    def make_plan() -> Plan:
        ledger = ledger_of(layout, all_backups(layout))
        plan = plan_move(layout, request, ledger, reading(layout, progress))
        _refuse_unknown(layout, pairs, plan, options)
        return replace(plan, options=options.to_make_again())

    result = carry_out(layout, make_plan, progress, options)
    warnings += result.warnings
    return replace(result, warnings=tuple(warnings))


def _unreadable_history(layout: Layout) -> list[Hint]:
    """A note about a history in which no path can be found, such as one that an editor
    saved as UTF-16.
    """
    file = None
    with contextlib.suppress(OSError, CcmoveError):  # which the planner will tell
        file = open_regular(layout.history)
    if file is None:
        return []
    with file:
        first = file.read(FIRST_BYTES)
    if b"\0" not in first:
        return []
    what = "is not UTF-8 (UTF-16?), so its prompts stay as they are"
    return [Hint(f"{layout.history} {what}")]


def reading(layout: Layout, progress: Progress | None) -> Tick | None:
    """Tells how much of the history was read, which is the long part of planning."""
    if progress is None:
        return None
    return lambda done: progress("reading", done, size_of(layout.history))


def _refuse_unknown(
    layout: Layout, pairs: list[Pair], plan: Plan, options: MoveOptions
) -> None:
    """NothingKnownError for an OLD for which Claude Code has no data."""
    has_data = plan.projects or plan.writes or plan.history
    if len(pairs) == 1 and has_data:
        return
    data = _paths_of_data(plan)
    olds = [old for old, _ in plan.moves]
    for pair, old in zip(pairs, olds, strict=True):
        if not paths.at_or_below(old, data):
            raise paths.nothing_known(layout, pair, options)


def _paths_of_data(plan: Plan) -> set[str]:
    """Everything that the plan moves and that may be a path."""
    data = {project.path for project in plan.projects}
    if plan.history is not None:
        olds = [old for old, _ in plan.history.scan.counts]
        data.update(olds)
    for write in plan.writes:
        changes = compare(write.before, write.after)
        for change in changes:
            data.add(str(change.before))
            data.update(map(str, change.pointer))
    return data


def carry_out(
    layout: Layout,
    make_plan: Callable[[], Plan],
    progress: Progress | None,
    options: RunOptions,
) -> Result:
    """Run what is planned, or only look whether it would be refused."""
    if options.dry_run:
        plan = make_plan()
        preflight(layout, plan)
        _, apply = in_words(ask(replace(options, dry_run=False)))
        return Result("planned", layout, plan.moves, plan, apply=apply)
    done = run_plan(layout, make_plan, full=options.hash, progress=progress)
    plan = done.plan
    folders = tuple((str(old), str(new)) for old, new in plan.folders)
    moved = [project.new_path for project in plan.projects]
    return Result(
        DONE[plan.kind],
        layout,
        plan.moves,
        plan,
        done.identifier,
        warnings=tuple(git.repair(PathMap(folders), moved)),
        rolled_back=done.rolled_back,
    )
