"""Moves: check the paths, look, plan, and do it."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ccmove.claude import git
from ccmove.claude.layout import Layout, size_of
from ccmove.claude.state import State
from ccmove.commands.failures import with_error
from ccmove.commands.options import BringingOptions, MoveOptions
from ccmove.commands.paths import (
    Check,
    Pair,
    Running,
    check_pairs,
    known_moves,
    refuse_live,
    resolve_pair,
)
from ccmove.errors import (
    CcmoveError,
    NothingKnownError,
    UsageError,
    describe,
)
from ccmove.hints import ask, to_type
from ccmove.inspect.mentions import mentions
from ccmove.plan.model import LeftAlone, Plan, Request
from ccmove.plan.planner import plan_move
from ccmove.report.json import to_json, to_text
from ccmove.report.result import Leftover, Moves, Result, leftover, preview_of
from ccmove.rewrite.compare import compare
from ccmove.rewrite.history import Tick
from ccmove.rewrite.pathmap import PathMap, client_spelling, with_parents
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
    lines = _text_of(source).split("\n")
    if source == "-":
        source = "standard input"
    pairs = []
    for number, raw in enumerate(lines, 1):
        line = raw.rstrip("\r")
        where = f"{source}, line {number}"
        if not line.strip() or line.startswith("#"):
            continue
        typed = line.split("\t")
        if len(typed) != 2 or not all(typed):
            what = f"{where}: expected OLD<TAB>NEW"
            raise UsageError(what, "one tab between two paths")
        old, new = map(os.path.expanduser, typed)
        pairs.append(resolve_pair(old, new, where))
    if not pairs:
        what = f"{source} has no moves in it"
        raise UsageError(what, "write a line OLD<TAB>NEW for each")
    return pairs


def _text_of(source: str) -> str:
    """What is in a file, or on standard input; some editors begin it with a BOM."""
    if source == "-":
        data = b""
        if sys.stdin is not None:
            data = sys.stdin.buffer.read()
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
    check_pairs(state, pairs, options)
    if not layout.config_dir.is_dir():
        raise NothingKnownError(
            f"{layout.config_dir} does not exist: Claude Code has no data there",
            to_type("ccmove", "--config-dir", "DIR", "OLD", "NEW"),
        )
    folders: list[str] = []
    for pair in pairs:
        folders += (*pair.real, client_spelling(pair.typed_old))
    running = refuse_live(layout, folders, options)
    on_disk = tuple((pair.old, pair.new) for pair in pairs)
    request = Request(
        known_moves(state, pairs),
        folders=on_disk,
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
            raise Check(state, pair, options).nothing_known()
        return replace(plan, options=options.to_make_again())

    run = Run(layout, options, progress, rolled_back, running, on_disk)
    if options.dry_run:
        at_once = replace(options, dry_run=False, json=False, settings=True)
        run.with_settings = ask(at_once).command
    return run.carry_out(make_plan, full=options.hash)


def reading(layout: Layout, progress: Progress | None) -> Tick:
    """Tells how much of the history was read, which is the long part of planning."""
    if progress is None:
        return None
    size = size_of(layout.history)
    return lambda done: progress("reading", done, size)


def _without_data(pairs: list[Pair], plan: Plan) -> Iterator[Pair]:
    """Those for whose OLD Claude Code has no data."""
    if len(pairs) == 1:
        has_data = plan.projects or plan.writes or plan.history
        if not has_data:
            yield from pairs
        return
    with_data: set[str] = set()  # and all that it is in
    for path in _paths_of_data(plan):
        with_data.update(with_parents(path))
    moves = zip(pairs, plan.moves, strict=True)
    for pair, (old, _) in moves:
        if compared(old) not in with_data:
            yield pair


def _paths_of_data(plan: Plan) -> Iterator[str]:
    """Everything that the plan moves and that may be a path."""
    for project in plan.projects:
        yield project.path
    if plan.history is not None:
        for old, _ in plan.history.scan.counts:
            yield old
    for write in plan.writes:
        for change in compare(write.before, write.after):
            yield str(change.before)
            yield from map(str, change.pointer)


# -- a run of any kind

NOBODY = Running()
NOTHING = Result("nothing")
STATUSES = {"move": "moved", "undo": "undone", "unpack": "unpacked"}


@dataclass
class Run:
    """What was asked, what is known before it is planned, and what it says then."""

    layout: Layout
    options: BringingOptions
    progress: Progress | None = None
    rolled_back: str | None = None  # of an interrupted run before
    running: Running = NOBODY
    pairs: Moves = ()  # what is moved, as the system spells it
    with_settings: tuple[str, ...] = ()  # the command of this move that rewrites them
    last: Result = NOTHING

    def carry_out(
        self,
        make_plan: Callable[[], Plan],
        *,
        full: bool = False,
        arriving: contextlib.AbstractContextManager[None] | None = None,
    ) -> Result:
        """Run what is planned, or only look whether it would be refused; what is
        `arriving` comes first.
        """
        layout = self.layout
        if self.options.dry_run:
            plan = make_plan()
            preflight(layout, plan)
            return self._preview(plan)
        done = run_plan(
            layout,
            make_plan,
            self.report,
            full=full,
            progress=self.progress,
            arriving=arriving,
        )
        if done.identifier is None:
            return self.result(done)
        result = self.last
        unrepaired = list(_repair_worktrees(layout, result))
        if unrepaired:
            left_alone = (*result.left_alone, *unrepaired)
            result = replace(result, left_alone=left_alone)
            with contextlib.suppress(OSError, CcmoveError):  # the run itself is done
                replace_report(layout, done.identifier, _as_kept(result))
        return result

    def _preview(self, plan: Plan) -> Result:
        """What would be done, with the command for it, and why it would be refused."""
        preview = self._told(plan, "planned", ahead=plan)
        if preview.status == "nothing":
            return preview
        itself = replace(self.options, dry_run=False)
        preview = replace(preview, apply=itself.to_line())
        refusal = self.running.refusal
        if refusal is not None:
            preview = with_error(preview, refusal, itself)
        return preview

    def report(self, outcome: Outcome) -> bytes:
        """What was done, as its backup keeps it."""
        return _as_kept(self.result(outcome))

    def result(self, outcome: Outcome) -> Result:
        """What a run of any kind has done."""
        plan = outcome.plan
        self.last = replace(
            self._told(plan, STATUSES[plan.kind]),
            backup=outcome.identifier,
            rolled_back=self.rolled_back or outcome.rolled_back,
        )
        return self.last

    def _told(self, plan: Plan, status: str, ahead: Plan | None = None) -> Result:
        """What a plan does; `ahead` is it, where that is not done yet."""
        if plan.kind == "unpack" and not plan.operations:
            status = "nothing"
        told = preview_of(plan, self.layout)
        mentioned: list[LeftAlone] = []
        if plan.kind == "move":
            settings = self.with_settings
            try:
                mentioned = mentions(self.layout, plan, self.pairs, ahead, settings)
            except (CcmoveError, OSError) as error:  # which is no reason to fail
                what = "not all was looked through for the old path: "
                what += describe(error)
                root = str(self.layout.config_dir)
                mentioned = [LeftAlone(root, what, ("ccmove", "doctor"))]
        left_alone = [leftover(row, self.layout) for row in mentioned]
        return replace(
            told,
            status=status,
            warnings=self.running.warnings + told.warnings,
            left_alone=(*told.left_alone, *left_alone),
        )


def _repair_worktrees(layout: Layout, result: Result) -> Iterator[Leftover]:
    """Let git repair the worktrees of each folder that was renamed; what it can't is
    still to do.
    """
    moves = PathMap(result.folders)
    projects = [project.new_path for project in result.projects]
    for hint in git.repair(moves, projects):
        _, _, repository, *_ = hint.command
        row = LeftAlone(repository, hint.text, hint.command)
        yield leftover(row, layout)


def _as_kept(result: Result) -> bytes:
    return to_text(to_json(result)).encode()
