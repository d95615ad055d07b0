"""Moves: check the paths, look, plan, and do it."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ccmove.claude import git
from ccmove.claude.layout import Layout, size_of
from ccmove.commands import paths
from ccmove.commands.options import MoveOptions, Options
from ccmove.commands.paths import Pair, resolve_pair
from ccmove.errors import CcmoveError, NothingKnownError, UsageError, run
from ccmove.plan.model import LeftAlone, Plan, Request
from ccmove.plan.planner import Tick, plan_move
from ccmove.report.json import to_json, to_text
from ccmove.report.result import Leftover, Result, leftover, preview_of
from ccmove.rewrite.compare import compare
from ccmove.rewrite.pathmap import PathMap
from ccmove.run.backups import all_backups, ledger_of, replace_report
from ccmove.run.preflight import preflight
from ccmove.run.transaction import Outcome, Progress, run_plan


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
    rolled_back: str | None = None,
) -> Result:
    """Move the state of every pair in one transaction, or only plan it.

    `rolled_back` says what was done about an interrupted run before.
    """
    paths.check_pairs(
        pairs, move_folder=options.move_folder, skip=options.skip_path_check
    )
    if not layout.config_dir.is_dir():
        raise NothingKnownError(
            f"{layout.config_dir} does not exist: Claude Code has no data there",
            run("ccmove", "--config-dir", "DIR", "OLD", "NEW"),
        )
    named: list[str] = []
    for pair in pairs:
        named += (*pair.real, *pair.typed)
    warnings = paths.refuse_live(layout, named, options)
    request = _request(layout, pairs, options)
    words = tuple(_again(options).to_argv())

    def make_plan() -> Plan:
        ledger = ledger_of(layout, all_backups(layout))
        tick = reading(layout, progress)
        plan = plan_move(layout, request, ledger, tick)
        _refuse_unknown(layout, pairs, request, plan)
        return replace(plan, options=words)

    said = Said(tuple(warnings), rolled_back)
    return carry_out(layout, make_plan, options, said, progress)


def _refuse_unknown(
    layout: Layout, pairs: list[Pair], request: Request, plan: Plan
) -> None:
    """NothingKnownError for an OLD for which Claude Code has no data."""
    for pair, (old, _) in zip(pairs, request.moves, strict=True):
        if not _moves_something(plan, old if len(pairs) > 1 else None):
            raise paths.nothing_known(layout, pair)


def _request(layout: Layout, pairs: list[Pair], options: MoveOptions) -> Request:
    return Request(
        paths.known_moves(layout, pairs),
        folders=tuple((pair.old, pair.new) for pair in pairs),
        only=options.only,
        project_files=options.settings,
        desktop=options.desktop,
        move_folder=options.move_folder,
        merge=options.merge,
    )


def _again(options: MoveOptions) -> MoveOptions:
    """The options that make the same move again; what was risky is asked for again."""
    return replace(options, dry_run=False, allow_live=False, skip_path_check=False)


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
        # A folder is not Claude's.
        return bool(plan.projects or plan.writes or plan.history)
    moved = [project.path for project in plan.projects]
    if plan.history is not None:
        moved += [before for before, _ in plan.history.scan.counts]
    for write in plan.writes:
        for row in compare(write.before, write.after):
            moved += [str(name) for name in row.pointer]
            moved.append(str(row.before))
    return bool(paths.at_or_below([old], moved))


@dataclass(frozen=True, slots=True)
class Said:
    """What there is to say before a plan is made."""

    warnings: tuple[str, ...] = ()
    rolled_back: str | None = None


def carry_out(
    layout: Layout,
    make_plan: Callable[[], Plan],
    options: Options,
    before: Said,
    progress: Progress | None,
) -> Result:
    """Run what is planned, or only look whether it would be refused."""
    results: list[Result] = []  # of the try that was complete, as its backup keeps it

    def make_report(outcome: Outcome) -> bytes:
        results.append(_done(layout, outcome, before))
        return _report(results[-1])

    if options.dry_run:
        plan = make_plan()
        preflight(layout, plan)
        preview = preview_of(plan, layout)
        return replace(preview, warnings=before.warnings + preview.warnings)
    done = run_plan(
        layout, make_plan, make_report, full=options.hash, progress=progress
    )
    if done.identifier is None:
        return _done(layout, done, before)
    result = results[-1]
    unrepaired = tuple(_repair_worktrees(layout, done.plan))
    if unrepaired:
        result = replace(result, left_alone=result.left_alone + unrepaired)
        with contextlib.suppress(OSError, CcmoveError):  # the run itself is done
            replace_report(layout, done.identifier, _report(result))
    return result


def _done(layout: Layout, outcome: Outcome, before: Said) -> Result:
    preview = preview_of(outcome.plan, layout)
    return replace(
        preview,
        status="undone" if preview.is_undo else "moved",
        backup=outcome.identifier,
        warnings=before.warnings + preview.warnings,
        rolled_back=before.rolled_back or outcome.rolled_back,
    )


def _report(result: Result) -> bytes:
    return to_text(to_json(result)).encode()


def _repair_worktrees(layout: Layout, plan: Plan) -> Iterator[Leftover]:
    """Let git repair the worktrees of each folder that was renamed; what it can't is
    still to do.
    """
    folders = tuple((str(old), str(new)) for old, new in plan.folders)
    projects = [project.new_path for project in plan.projects]
    for hint in git.repair(PathMap(folders), projects):
        _, _, repository, *_ = hint.command
        yield leftover(LeftAlone(repository, hint.text, hint.command), layout)
