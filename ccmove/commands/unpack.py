"""Unpacking: where each project of an archive goes, and then a run like any other."""

import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from ccmove.claude.git import identity
from ccmove.claude.layout import Layout
from ccmove.claude.live import running_sessions
from ccmove.commands.move import Before, as_kept, if_refused, what_was_done
from ccmove.commands.options import UnpackOptions
from ccmove.commands.paths import refuse_odd
from ccmove.errors import CcmoveError, RefusedError, UsageError
from ccmove.hints import again, ask, to_type
from ccmove.plan.model import Plan, Undertaking
from ccmove.report.result import Result, preview_of
from ccmove.rewrite.pathmap import Move, PathMap, client_spelling, is_root, tail_below
from ccmove.run.backups import all_backups, ledger_of
from ccmove.run.preflight import preflight, refuse_full_disk
from ccmove.run.transaction import Outcome, Progress, run_arrival
from ccmove.text import plural
from ccmove.transfer.archive import Header, PackedProject, Reader
from ccmove.transfer.incoming import Incoming, look_through, receive
from ccmove.transfer.request import UnpackRequest, candidates
from ccmove.transfer.roles import Part
from ccmove.transfer.unpack import (
    identity_of_packed,
    plan_unpack,
)

PIPE = "-"
USUAL = to_type("ccmove", "unpack", "FILE", "NEW")
MOST_NAMED = 5  # projects, in a message


def check_words(asked: UnpackOptions) -> None:
    """UsageError unless there are FILE and at most NEW."""
    words = asked.arguments
    if not words:
        raise UsageError("missing argument: FILE", USUAL)
    if len(words) > 2:
        raise UsageError(f"expected FILE and NEW, got {len(words)} words", USUAL)
    if len(words) == 2:
        _check_both(asked)


def _check_both(asked: UnpackOptions) -> None:
    """UsageError where NEW can't be given, or stands before FILE."""
    if asked.map:
        raise UsageError("--map takes the place of NEW", USUAL)
    file, new = asked.arguments
    are_swapped = os.path.isdir(file) and os.path.isfile(new)
    if are_swapped:
        what = f"{file} is a folder, not an archive"
        right = replace(asked, arguments=(new, file))
        hint = ask(right, "did you mean")
        raise UsageError(what, hint)


def unpack(
    layout: Layout,
    options: UnpackOptions,
    progress: Progress | None = None,
    rolled_back: str | None = None,
) -> Result:
    """Unpack an archive in one transaction, or only look what that would do."""
    file, *_ = options.arguments
    refuse_odd("FILE", file, USUAL)
    with _opened(file) as stream:
        reader = Reader(stream, "standard input" if file == PIPE else file)
        request = UnpackRequest(
            _pairs(layout, reader.header, options),
            with_config=options.with_config,
            merge=options.merge,
        )
        refuse_full_disk(layout, reader.header.size, len(reader.header.members))
        if options.dry_run:
            return _preview(layout, reader, request, options, progress)
        before = Before(rolled_back=rolled_back)
        return _do(layout, reader, request, before, progress)


def _opened(file: str) -> AbstractContextManager[BinaryIO]:
    if file != PIPE:
        try:
            return open(file, "rb")
        except FileNotFoundError:
            made = to_type("ccmove", "pack", "-o", "FILE", text="to make one")
            raise CcmoveError(f"{file} does not exist", made) from None
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError(
            "standard input is a terminal",
            to_type("ccmove", "unpack", "FILE", text="to unpack a file"),
        )
    return nullcontext(sys.stdin.buffer)


def _preview(
    layout: Layout,
    reader: Reader,
    request: UnpackRequest,
    options: UnpackOptions,
    progress: Progress | None,
) -> Result:
    def meets(part: Part) -> Iterable[Path]:
        return candidates(layout, request, part)

    incoming = look_through(reader, meets, progress)
    plan, refusal = _planned(layout, incoming, request)
    preflight(layout, plan)
    preview = preview_of(plan, layout)
    if not plan.operations:
        return replace(preview, status="nothing")
    real = replace(options, dry_run=False)
    return if_refused(replace(preview, apply=real.to_line()), refusal, real)


def _do(
    layout: Layout,
    reader: Reader,
    request: UnpackRequest,
    before: Before,
    progress: Progress | None,
) -> Result:
    results: list[Result] = []
    came: list[Incoming] = []

    def take_in(directory: Path) -> None:
        incoming = receive(reader, directory, progress)
        came.append(incoming)

    def make_plan() -> Plan:
        plan, refusal = _planned(layout, came[-1], request)
        if refusal is not None:
            raise refusal
        return plan

    def make_report(outcome: Outcome) -> bytes:
        results.append(what_was_done(layout, outcome, before))
        return as_kept(results[-1])

    about = Undertaking(kind="unpack", moves=request.tops)
    outcome = run_arrival(layout, about, take_in, make_plan, make_report, progress)
    if outcome.identifier is None:
        return replace(what_was_done(layout, outcome, before), status="nothing")
    return results[-1]


def _planned(
    layout: Layout, incoming: Incoming, request: UnpackRequest
) -> tuple[Plan, RefusedError | None]:
    """The plan, and who is in its way: a client that would go on writing to a
    transcript that is not there any more.
    """
    ledger = ledger_of(layout, all_backups(layout))
    plan, replaced = plan_unpack(layout, incoming, request, ledger)
    for session in running_sessions(layout) if replaced else ():
        if session.session in replaced:
            running = f"session {session.session} is running (pid {session.pid})"
            what = f"{running}, and a longer transcript would take its place"
            return plan, RefusedError(what, again("exit it (/exit), then"))
    return plan, None


# -- where each project goes


def _pairs(
    layout: Layout, header: Header, options: UnpackOptions
) -> tuple[tuple[str, str], ...]:
    """The path of each project there, and here."""
    paths = [project.path for project in header.projects]
    moves = _moves(layout, header, paths, options)
    pairs = []
    for path in paths:
        folder = moves.map(path)
        if folder is None:
            folder = path
        _refuse_unplaceable(path, folder, options)
        pair = path, folder
        pairs.append(pair)
    return tuple(pairs)


def _moves(
    layout: Layout, header: Header, paths: list[str], options: UnpackOptions
) -> PathMap:
    """What was typed, else to the one folder that all is in, else home to home."""
    home = client_spelling(str(layout.home))
    at_home = PathMap(((header.home, home),))
    root = _root_of(header.projects)
    if options.map:
        asked = PathMap(tuple(_move(text, paths) for text in options.map))
        if asked.covers(header.home):
            return asked
        return PathMap(asked.moves + at_home.moves)
    if root is not None:
        move = root.path, _folder(root, at_home, options)
        return PathMap((move,))
    _refuse_one_folder(paths, options)
    return at_home


def _refuse_slip(text: str, old: str, paths: list[str]) -> None:
    """A --map of what is not in the archive."""
    if any(tail_below(path, old) is not None for path in paths):
        return
    names = ", ".join(paths[:MOST_NAMED])
    more = len(paths) - MOST_NAMED
    if more > 0:
        names += f" and {more} more"
    what = f"--map {text}: the archive has nothing there"
    raise UsageError(what, f"it has {names}")


def _refuse_one_folder(paths: list[str], options: UnpackOptions) -> None:
    """Projects that are not in one folder can't all go to one."""
    _, *new = options.arguments
    if new:
        mapped = _mapped(options, paths[0], new[0])
        number = plural(len(paths), "project")
        raise UsageError(f"the archive has {number}, not one", ask(mapped))


def _root_of(projects: Sequence[PackedProject]) -> PackedProject | None:
    """The project that all others are in; None where there is no such one."""
    root = min(projects, key=lambda project: len(project.path))
    for project in projects:
        if tail_below(project.path, root.path) is None:
            return None
    return root


def _move(text: str, paths: list[str]) -> Move:
    """What a --map says, of these projects."""
    old, new = _halves(text)
    old = old.rstrip("/\\") or old
    _refuse_slip(text, old, paths)
    folder = os.path.expanduser(new)  # which no shell does behind the sign
    real = _real(folder)
    return old, real.rstrip(os.sep)


def _halves(text: str) -> Move:
    old, _, new = text.partition("=")
    if not old or not new:
        raise UsageError(f"--map {text}: expected FROM=TO")
    return old, new


def _folder(root: PackedProject, at_home: PathMap, options: UnpackOptions) -> str:
    """The folder here: the one that was typed, else that of the same path, else the
    current one if it is the same repository.
    """
    file, *typed = options.arguments
    if typed:
        return _as_typed(typed[0])
    usual = at_home.map(root.path) or root.path
    if os.path.isabs(usual) and os.path.isdir(usual):
        return _real(usual)
    here = _real(".")
    was = identity_of_packed(root)
    now = identity(here)
    is_same = was.roots & now.roots or was.remotes & now.remotes
    if is_same:
        return here
    with_new = replace(options, arguments=(file, "NEW"))
    hint = ask(with_new, "say where it goes")
    what = f"{usual} does not exist, and {here} is not the same repository"
    raise RefusedError(what, hint)


def _real(path: str) -> str:
    return client_spelling(os.path.realpath(path))


def _as_typed(new: str) -> str:
    refuse_odd("NEW", new, USUAL)
    if not os.path.isdir(new):
        is_there = os.path.lexists(new)
        what = f"{new} {'is not a folder' if is_there else 'does not exist'}"
        hint = again("clone or make it, then")
        raise RefusedError(what, hint)
    return _real(new)


def _refuse_unplaceable(path: str, folder: str, options: UnpackOptions) -> None:
    if os.path.isabs(folder) and not is_root(folder):
        return
    hint = ask(_mapped(options, path, "TO"), "say where it goes")
    raise RefusedError(f"{path} can't be a folder here", hint)


def _mapped(options: UnpackOptions, path: str, folder: str) -> UnpackOptions:
    """The same with a folder for this project, and without NEW."""
    start = f"{path}="
    others = [move for move in options.map if not move.startswith(start)]
    file, *_ = options.arguments
    return replace(options, arguments=(file,), map=(*others, start + folder))
