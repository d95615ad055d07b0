"""`ccmove OLD NEW`: look, plan, and do it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from ccmove.claude.layout import Layout, size_of
from ccmove.claude.live import LiveSession, live_sessions
from ccmove.claude.state import State
from ccmove.cli.resolve import Pair, check_pairs, nothing_known, resolve_pair
from ccmove.errors import NothingKnownError, RefusedError, UsageError
from ccmove.plan import worktrees
from ccmove.plan.model import Plan, Request
from ccmove.plan.planner import plan_move
from ccmove.report.result import Result
from ccmove.run import transaction
from ccmove.run.backups import read_ledger
from ccmove.run.journal import read_journal
from ccmove.run.preflight import preflight
from ccmove.typed import again


class MoveOptions(NamedTuple):
    """The options of a move, as the command line gives them."""

    dry_run: bool = False
    only: bool = False
    on_conflict: str = "refuse"
    project_files: bool = False
    desktop: bool = False
    move_folder: bool = False
    allow_live: bool = False
    skip_path_check: bool = False
    full: bool = False


def move(
    layout: Layout,
    pairs: list[Pair],
    options: MoveOptions,
    progress: transaction.Progress | None = None,
) -> Result:
    """Move the state of every pair in one transaction, or only plan it."""
    check_pairs(pairs, move_folder=options.move_folder, skip=options.skip_path_check)
    if not layout.config_dir.is_dir():
        raise NothingKnownError(
            f"{layout.config_dir} does not exist: Claude Code has kept nothing there",
            "ccmove --config-dir DIR OLD NEW",
        )
    warnings = _refuse_live(layout, pairs, options)
    request = _known_request(layout, pairs, options)
    if options.dry_run:
        return _preview(layout, request, warnings, progress)
    outcome = transaction.run_plan(
        layout,
        lambda: _planned(layout, request, progress),
        full=options.full,
        progress=progress,
    )
    warnings += worktrees.repair(outcome.plan)
    return Result(
        "moved",
        layout,
        request.moves,
        outcome.plan,
        outcome.identifier,
        tuple(warnings),
        settled=outcome.rolled_back,
    )


def _preview(
    layout: Layout,
    request: Request,
    warnings: list[str],
    progress: transaction.Progress | None,
) -> Result:
    plan = _planned(layout, request, progress)
    preflight(layout, plan)
    if read_journal(layout) is not None:
        warnings.append("an earlier run was interrupted: ccmove recover")
    return Result("planned", layout, request.moves, plan, warnings=tuple(warnings))


def _planned(
    layout: Layout,
    request: Request,
    progress: transaction.Progress | None,
) -> Plan:
    tick = _reading(layout, progress) if progress is not None else None
    plan = plan_move(layout, request, read_ledger(layout), tick)
    if not _concerns_claude(plan):
        pairs = [Pair(old, new, old) for old, new in request.moves]
        raise nothing_known(State(layout), pairs)
    return plan


def _reading(layout: Layout, progress: transaction.Progress) -> Callable[[int], None]:
    """The look at the history is the long part of planning."""
    total = size_of(layout.history)
    return lambda done: progress("reading", done, total)


def _concerns_claude(plan: Plan) -> bool:
    """Whether there is anything of the client's to change; a folder alone is not."""
    return bool(plan.projects or plan.writes or plan.history)


def _known_request(layout: Layout, pairs: list[Pair], options: MoveOptions) -> Request:
    """The real paths; for an OLD of which nothing is known there, the path as typed."""
    request = Request(
        tuple(pair.real for pair in pairs),
        options.only,
        options.on_conflict,
        options.project_files,
        options.desktop,
        options.move_folder,
        tuple(pair.folders for pair in pairs),
    )
    if all(pair.typed_old == pair.old for pair in pairs):
        return request
    ledger = read_ledger(layout)
    moves = []
    for pair in pairs:
        typed_only = pair.typed_old != pair.old and not _concerns_claude(
            plan_move(layout, replace(request, moves=(pair.real,)), ledger)
        )
        moves.append(pair.typed if typed_only else pair.real)
    return replace(request, moves=tuple(moves))


# -- live sessions ---------------------------------------------------------------------


def _refuse_live(layout: Layout, pairs: list[Pair], options: MoveOptions) -> list[str]:
    """Refuse while a client runs there; with --allow-live or in a preview only warn."""
    folders = [path for pair in pairs for path in (*pair.real, *pair.typed)]
    sessions = live_sessions(layout, folders)
    if not sessions:
        return []
    lines = [_describe(session) for session in sessions]
    if options.allow_live or options.dry_run:
        return lines
    error = RefusedError(_reason(sessions[0]), _advice(sessions))
    raise error.with_details(lines[1:])


def _describe(session: LiveSession) -> str:
    named = f", session {session.session}" if session.session else ""
    return f"Claude Code is running in {session.folder} (pid {session.pid}{named})"


def _reason(session: LiveSession) -> str:
    if session.is_ancestor:
        return f"{_describe(session)}, and ccmove was started from inside that session"
    return _describe(session)


def _advice(sessions: list[LiveSession]) -> str:
    if any(session.is_ancestor for session in sessions):
        return f"leave Claude Code (/exit), then run in a terminal: {again()}"
    return f"leave it (/exit), then: {again()}\nif it must go on meanwhile: {again('--allow-live')}"


# -- --from-file -----------------------------------------------------------------------


def read_pairs(text: str, source: str) -> list[Pair]:
    """Lines `OLD<TAB>NEW`; empty lines and lines that begin with # are passed over."""
    pairs = []
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.rstrip("\r")
        if not line.strip() or line.startswith("#"):
            continue
        old, tab, new = line.partition("\t")
        if not tab or not old or not new or "\t" in new:
            raise UsageError(
                f"{source}, line {number}: expected OLD<TAB>NEW", "one tab between two paths"
            )
        pairs.append(resolve_pair(os.path.expanduser(old), os.path.expanduser(new)))
    if not pairs:
        raise UsageError(f"{source} names no moves", "write a line OLD<TAB>NEW for each")
    return pairs
