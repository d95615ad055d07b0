"""Moves: check the paths, look, plan, and do it."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ccmove.claude import git
from ccmove.claude.layout import Layout, size_of
from ccmove.claude.state import State
from ccmove.commands import paths
from ccmove.commands.failures import with_error
from ccmove.commands.options import MoveOptions, RunOptions
from ccmove.commands.paths import Pair, Running, resolve_pair
from ccmove.errors import (
    CcmoveError,
    NothingKnownError,
    RefusedError,
    UsageError,
    describe,
)
from ccmove.hints import Asked, ask, to_type
from ccmove.inspect.mentions import mentions
from ccmove.plan.model import LeftAlone, Plan, Request
from ccmove.plan.planner import plan_move
from ccmove.report.json import to_json, to_text
from ccmove.report.result import Leftover, Moves, Result, leftover, preview_of
from ccmove.rewrite.compare import compare
from ccmove.rewrite.history import Tick
from ccmove.rewrite.pathmap import PathMap, with_parents
from ccmove.rewrite.windows import compared
from ccmove.run.backups import all_backups, ledger_of, replace_report
from ccmove.run.preflight import preflight
from ccmove.run.transaction import Outcome, Progress, run_plan


def pairs_of(options: MoveOptions) -> list[Pair]:
    """OLD and NEW, or a pair for each line `OLD<TAB>NEW` of a file; empty lines and
    lines that begin with # are passed over.
    """
    source = options.from_file
    if source is None:
        old, new = options.arguments
        return [resolve_pair(old, new)]
    pairs = []
    lines = _text_of(source).split("\n")
    if source == "-":
        source = "standard input"
    for number, raw in enumerate(lines, 1):
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
        try:
            with open(source, "rb") as file:
                data = file.read()
        except FileNotFoundError:
            what = f"--from-file: {source} does not exist"
            raise CcmoveError(what, "it has a line OLD<TAB>NEW for each move") from None
    return data.decode("utf-8-sig", "surrogateescape")


def move(
    layout: Layout,
    pairs: list[Pair],
    options: MoveOptions,
    progress: Progress | None = None,
    rolled_back: str | None = None,
) -> Result:
    """Move the state of every pair in one transaction, or only plan it.

    `rolled_back` says what was done about an interrupted run before.
    """
    state = State(layout)
    paths.check_pairs(state, pairs, options)
    if not layout.config_dir.is_dir():
        raise NothingKnownError(
            f"{layout.config_dir} does not exist: Claude Code has no data there",
            to_type("ccmove", "--config-dir", "DIR", "OLD", "NEW"),
        )
    folders: list[str] = []
    for pair in pairs:
        folders += (*pair.real, *pair.typed)
    running = paths.refuse_live(layout, folders, options)
    request = Request(
        paths.known_moves(state, pairs),
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
        for pair in _without_data(pairs, plan):
            raise paths.nothing_known(state, pair, options)
        return replace(plan, options=options.to_make_again())

    before = Before(running, rolled_back, request.on_disk)
    if options.dry_run:
        at_once = replace(options, dry_run=False, json=False, settings=True)
        before = replace(before, settings=ask(at_once).command)
    return carry_out(layout, make_plan, options, before, progress)


def reading(layout: Layout, progress: Progress | None) -> Tick:
    """Tells how much of the history was read, which is the long part of planning."""
    if progress is None:
        return None
    size = size_of(layout.history)
    return lambda done: progress("reading", done, size)


def _without_data(pairs: list[Pair], plan: Plan) -> list[Pair]:
    """Those for whose OLD Claude Code has no data."""
    if len(pairs) == 1:
        has_data = plan.projects or plan.writes or plan.history
        return [] if has_data else pairs
    with_data: set[str] = set()  # and all that it is in
    for path in _paths_of_data(plan):
        above = with_parents(path)
        with_data.update(above)
    without: list[Pair] = []
    moves = zip(pairs, plan.moves, strict=True)
    for pair, (old, _) in moves:
        key = compared(old)
        if key not in with_data:
            without.append(pair)
    return without


def _paths_of_data(plan: Plan) -> set[str]:
    """Everything that the plan moves and that may be a path."""
    data = set()
    for project in plan.projects:
        data.add(project.path)
    if plan.history is not None:
        for old, _ in plan.history.scan.counts:
            data.add(old)
    for write in plan.writes:
        for change in compare(write.before, write.after):
            data.add(str(change.before))
            data.update(map(str, change.pointer))
    return data


NOBODY = Running()
STATUSES = {"move": "moved", "undo": "undone", "unpack": "unpacked"}


@dataclass(frozen=True, slots=True)
class Before:
    """What is known before a plan is made."""

    running: Running = NOBODY
    rolled_back: str | None = None
    pairs: Moves = ()  # what is moved, as the system spells it
    settings: tuple[str, ...] = ()  # the command of this move that rewrites them, too


def carry_out(
    layout: Layout,
    make_plan: Callable[[], Plan],
    options: RunOptions,
    before: Before,
    progress: Progress | None,
) -> Result:
    """Run what is planned, or only look whether it would be refused."""
    results: list[Result] = []  # of the try that was complete, as its backup keeps it

    def make_report(outcome: Outcome) -> bytes:
        results.append(what_was_done(layout, outcome, before))
        return as_kept(results[-1])

    if options.dry_run:
        plan = make_plan()
        preflight(layout, plan)
        preview = _preview(layout, plan, before, ahead=plan)
        to_apply = replace(options, dry_run=False)
        preview = replace(preview, apply=to_apply.to_line())
        return if_refused(preview, before.running.refusal)
    done = run_plan(
        layout, make_plan, make_report, full=options.hash, progress=progress
    )
    if done.identifier is None:
        return what_was_done(layout, done, before)
    result = results[-1]
    unrepaired = tuple(_repair_worktrees(layout, result))
    if unrepaired:
        result = replace(result, left_alone=result.left_alone + unrepaired)
        with contextlib.suppress(OSError, CcmoveError):  # the run itself is done
            replace_report(layout, done.identifier, as_kept(result))
    return result


def if_refused(
    preview: Result, refusal: RefusedError | None, asked: Asked | None = None
) -> Result:
    """The plan of a run that would be refused, and why; `asked` is that run."""
    return preview if refusal is None else with_error(preview, refusal, asked)


def _preview(
    layout: Layout, plan: Plan, before: Before, ahead: Plan | None = None
) -> Result:
    """With what was known before, and what names an old path."""
    preview = preview_of(plan, layout)
    mentioned = _mentions(layout, plan, before, ahead)
    return replace(
        preview,
        warnings=before.running.warnings + preview.warnings,
        left_alone=preview.left_alone + mentioned,
    )


def what_was_done(layout: Layout, outcome: Outcome, before: Before) -> Result:
    """The result of a run of any kind."""
    return replace(
        _preview(layout, outcome.plan, before),
        status=STATUSES[outcome.plan.kind],
        backup=outcome.identifier,
        rolled_back=before.rolled_back or outcome.rolled_back,
    )


def _mentions(
    layout: Layout, plan: Plan, before: Before, ahead: Plan | None
) -> tuple[Leftover, ...]:
    """What names an old path after a move; a search that fails is no reason to fail."""
    if plan.kind != "move":
        return ()
    try:
        rows = mentions(layout, plan, before.pairs, ahead, before.settings)
    except (CcmoveError, OSError) as error:
        what = f"not all was looked through for the old path: {describe(error)}"
        root = str(layout.config_dir)
        rows = [LeftAlone(root, what, ("ccmove", "doctor"))]
    leftovers = [leftover(row, layout) for row in rows]
    return tuple(leftovers)


def as_kept(result: Result) -> bytes:
    """What a run said, as its backup keeps it."""
    return to_text(to_json(result)).encode()


def _repair_worktrees(layout: Layout, result: Result) -> Iterator[Leftover]:
    """Let git repair the worktrees of each folder that was renamed; what it can't is
    still to do.
    """
    paths = PathMap(result.folders)
    projects = [project.new_path for project in result.projects]
    for hint in git.repair(paths, projects):
        _, _, repository, *_ = hint.command
        row = LeftAlone(repository, hint.text, hint.command)
        yield leftover(row, layout)
