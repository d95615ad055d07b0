"""Unpacking: where each project of an archive goes, and then a run like any other."""

import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

from ccmove.claude.git import identity
from ccmove.claude.layout import Layout
from ccmove.claude.live import running_sessions
from ccmove.commands.move import NOBODY, Run
from ccmove.commands.options import UnpackOptions
from ccmove.commands.paths import Running, refuse_odd
from ccmove.errors import CcmoveError, RefusedError, UsageError
from ccmove.hints import again, ask, to_type
from ccmove.plan.model import Plan, Undertaking
from ccmove.report.result import Result
from ccmove.rewrite.pathmap import Move, PathMap, client_spelling, is_root, tail_below
from ccmove.run.backups import all_backups, ledger_of
from ccmove.run.preflight import refuse_full_disk
from ccmove.run.transaction import Progress, arrival
from ccmove.text import plural
from ccmove.transfer.archive import Header, PackedProject, Reader
from ccmove.transfer.incoming import Incoming, look_through, receive
from ccmove.transfer.request import UnpackRequest, candidates
from ccmove.transfer.unpack import identity_of_packed, plan_unpack

PIPE = "-"
USUAL = to_type("ccmove", "unpack", "FILE", "NEW")
MOST_NAMED = 5  # projects, in a message


def check_words(asked: UnpackOptions) -> None:
    """UsageError unless there are FILE and at most NEW, in this order."""
    words = asked.arguments
    if not words:
        raise UsageError("missing argument: FILE", USUAL)
    if len(words) > 2:
        raise UsageError(f"expected FILE and NEW, got {len(words)} words", USUAL)
    if len(words) < 2:
        return
    if asked.map:
        raise UsageError("--map takes the place of NEW", USUAL)
    file, new = words
    if os.path.isdir(file) and os.path.isfile(new):
        right = replace(asked, arguments=(new, file))
        what = f"{file} is a folder, not an archive"
        raise UsageError(what, ask(right, "did you mean"))


def unpack(
    layout: Layout,
    options: UnpackOptions,
    progress: Progress | None = None,
    rolled_back: str | None = None,
) -> Result:
    """Unpack an archive in one transaction, or only look what that would do."""
    run = Run(layout, options, progress, rolled_back)
    file, *_ = options.arguments
    refuse_odd("FILE", file, USUAL)
    with _opened(file) as stream:
        reader = Reader(stream, "standard input" if file == PIPE else file)
        header = reader.header
        request = UnpackRequest(
            _pairs(layout, header, options),
            with_config=options.with_config,
            merge=options.merge,
        )
        refuse_full_disk(layout.config_dir, header.size, len(header.members))
        return _carry_out(run, reader, request)


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


def _carry_out(run: Run, reader: Reader, request: UnpackRequest) -> Result:
    """A run that begins with what comes in; a preview keeps nothing of that."""
    layout = run.layout
    progress = run.progress
    came: list[Incoming] = []

    def take_in(directory: Path) -> None:
        incoming = receive(reader, directory, progress)
        came.append(incoming)

    def make_plan() -> Plan:
        incoming = came[-1]
        backups = all_backups(layout)
        ledger = ledger_of(layout, backups)
        plan, replaced = plan_unpack(layout, incoming, request, ledger)
        if replaced:
            run.running = _refuse_running(run, replaced)
        return plan

    arriving = None
    if run.options.dry_run:
        meets = partial(candidates, layout, request)
        incoming = look_through(reader, meets, progress)
        came.append(incoming)
    else:
        about = Undertaking(kind="unpack", moves=request.tops)
        arriving = arrival(layout, about, take_in, progress)
    return run.carry_out(make_plan, arriving=arriving)


def _refuse_running(run: Run, replaced: set[str | None]) -> Running:
    """Refuse while a client would go on writing to a transcript that is not there any
    more.
    """
    for session in running_sessions(run.layout):
        if session.session not in replaced:
            continue
        running = f"session {session.session} is running (pid {session.pid})"
        what = f"{running}, and a longer transcript would take its place"
        refusal = RefusedError(what, again("exit it (/exit), then"))
        if not run.options.dry_run:
            raise refusal
        return Running(refusal=refusal)
    return NOBODY


# -- where each project goes


def _pairs(layout: Layout, header: Header, options: UnpackOptions) -> tuple[Move, ...]:
    """The path of each project there, and here."""
    moves = _moves(layout, header, options)
    pairs = []
    for project in header.projects:
        path = project.path
        folder = moves.map(path)
        if folder is None:
            folder = path
        if not os.path.isabs(folder) or is_root(folder):
            mapped = _mapped(options, path, "TO")
            hint = ask(mapped, "say where it goes")
            raise RefusedError(f"{path} can't be a folder here", hint)
        pairs.append((path, folder))
    return tuple(pairs)


def _moves(layout: Layout, header: Header, options: UnpackOptions) -> PathMap:
    """What was typed, else to the one folder that all is in, else home to home."""
    home = client_spelling(str(layout.home))
    at_home = PathMap(((header.home, home),))
    paths = [project.path for project in header.projects]
    if options.map:
        asked = tuple(_move(text, paths) for text in options.map)
        moves = PathMap(asked)
        if moves.covers(header.home):
            return moves
        return PathMap(asked + at_home.moves)
    root = _root_of(header.projects)
    if root is not None:
        folder = _folder(root, at_home, options)
        move = root.path, folder
        return PathMap((move,))
    _refuse_one_folder(paths, options)
    return at_home


def _root_of(projects: Sequence[PackedProject]) -> PackedProject | None:
    """The project that all others are in; None where there is no such one."""
    root = min(projects, key=lambda project: len(project.path))
    tails = [tail_below(project.path, root.path) for project in projects]
    if None in tails:
        return None
    return root


def _refuse_one_folder(paths: list[str], options: UnpackOptions) -> None:
    """Projects that are not in one folder can't all go to one."""
    _, *new = options.arguments
    if new:
        mapped = _mapped(options, paths[0], new[0])
        number = plural(len(paths), "project")
        raise UsageError(f"the archive has {number}, not one", ask(mapped))


def _move(text: str, paths: list[str]) -> Move:
    """What a --map says; of what is not in the archive it is a slip."""
    old, _, new = text.partition("=")
    if not old or not new:
        raise UsageError(f"--map {text}: expected FROM=TO")
    old = old.rstrip("/\\") or old
    if all(tail_below(path, old) is None for path in paths):
        names = ", ".join(paths[:MOST_NAMED])
        more = len(paths) - MOST_NAMED
        if more > 0:
            names += f" and {more} more"
        what = f"--map {text}: the archive has nothing there"
        raise UsageError(what, f"it has {names}")
    folder = os.path.expanduser(new)  # which no shell does behind the sign
    real = _real(folder)
    return old, real.rstrip(os.sep)


def _folder(root: PackedProject, at_home: PathMap, options: UnpackOptions) -> str:
    """The folder here: the one that was typed, else that of the same path, else the
    current one if it is the same repository.
    """
    file, *typed = options.arguments
    if typed:
        [new] = typed
        refuse_odd("NEW", new, USUAL)
        if os.path.isdir(new):
            return _real(new)
        what = "does not exist"
        if os.path.lexists(new):
            what = "is not a folder"
        hint = again("clone or make it, then")
        raise RefusedError(f"{new} {what}", hint)
    usual = at_home.map(root.path) or root.path
    if os.path.isabs(usual) and os.path.isdir(usual):
        return _real(usual)
    here = _real(".")
    was = identity_of_packed(root)
    now = identity(here)
    if was.roots & now.roots or was.remotes & now.remotes:
        return here
    with_new = replace(options, arguments=(file, "NEW"))
    what = f"{usual} does not exist, and {here} is not the same repository"
    raise RefusedError(what, ask(with_new, "say where it goes"))


def _real(path: str) -> str:
    return client_spelling(os.path.realpath(path))


def _mapped(options: UnpackOptions, path: str, folder: str) -> UnpackOptions:
    """The same with a folder for this project, and without NEW."""
    start = f"{path}="
    others = [move for move in options.map if not move.startswith(start)]
    file, *_ = options.arguments
    return replace(options, arguments=(file,), map=(*others, start + folder))
