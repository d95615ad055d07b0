"""Packing: which projects are meant, and the archive of them."""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.state import State
from ccmove.commands.move import reading
from ccmove.commands.options import PackOptions
from ccmove.commands.paths import (
    as_known,
    at_or_below,
    refuse_odd,
    resolve_path,
    unknown,
)
from ccmove.errors import NothingKnownError, RefusedError, UsageError
from ccmove.hints import to_type
from ccmove.rewrite.history import Tick
from ccmove.rewrite.pathmap import PathMap, is_root
from ccmove.run.rollback import recover
from ccmove.run.transaction import Progress
from ccmove.transfer.gather import Packing, Wanted, gather, no_session
from ccmove.transfer.pack import archive_of, write_file
from ccmove.transfer.packed import Packed, summary_of
from ccmove.transfer.tar import suffix_of

TO_A_PIPE = ".tar.gz"
USUAL = to_type("ccmove", "pack", "PATH", "-o", "FILE")
Write = Callable[[Iterator[bytes]], int]  # to standard output; how many bytes


def check_words(options: PackOptions) -> None:
    """UsageError for words that contradict each other."""
    if options.all and (options.arguments or options.only):
        raise UsageError("--all takes the place of PATH and --only")


def pack(
    layout: Layout,
    options: PackOptions,
    progress: Progress | None = None,
    to_pipe: Write | None = None,
) -> Packed:
    """Look, then write the archive, to a file or to standard output."""
    suffix = TO_A_PIPE
    target = None
    if options.output is not None:
        refuse_odd("FILE", options.output, USUAL)
        target = Path(os.path.realpath(options.output))  # the file behind a link
        if target.is_dir():
            raise UsageError(f"{target} is a directory", "name a file in it")
        suffix = suffix_of(options.output)
    recover(layout, dry_run=True)  # what is half moved is not packed
    path, packing = _look(layout, options, reading(layout, progress))
    packed = summary_of(packing, layout, path)
    if options.dry_run:
        to_apply = with_file(replace(options, dry_run=False))
        return replace(packed, status="planned", apply=to_apply.to_line())
    tick = None if progress is None else partial(progress, "packing")
    pieces = archive_of(packing, suffix, tick)
    if target is not None:
        size = write_file(target, pieces)
        return replace(packed, file=str(target), size=size)
    assert to_pipe is not None  # where no file is named
    return replace(packed, size=to_pipe(pieces))


def with_file(options: PackOptions) -> PackOptions:
    """The same to a file, for who has no pipe."""
    if options.output is not None:
        return options
    name = "project"
    if options.all:
        name = "all"
    return replace(options, output=f"{name}{TO_A_PIPE}")


def _look(
    layout: Layout, options: PackOptions, tick: Tick
) -> tuple[str | None, Packing]:
    """What is to be packed of the path that was typed, real or else as it is typed."""
    sessions = frozenset(options.session)
    wanted = Wanted(PathMap(()), sessions, options.with_secrets)
    if options.all:
        packing = gather(layout, wanted, tick)
        if packing is None:
            raise NothingKnownError(f"there is no project in {layout.config_dir}")
        return None, packing
    typed = next(iter(options.arguments), ".")
    real, as_typed = resolve_path(typed)
    state = State(layout)
    known: set[str] = set()
    if as_typed != real:
        known = state.known_paths()
    path = as_known(known, real, as_typed)
    if is_root(path):
        raise RefusedError(f"{path} is not a project")
    alone = frozenset({path} if options.only else ())
    paths = PathMap(((path, path),), alone=alone)
    packing = gather(layout, replace(wanted, paths=paths), tick)
    if packing is not None:
        return path, packing
    known = known or state.known_paths()
    if sessions and at_or_below(path, known):
        raise no_session(sessions, paths)
    raise unknown(layout, options, typed, path, known)
