"""From a read-only look at the state to a frozen plan. This is also the whole of a dry run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from ccmove.bothends import paths_in
from ccmove.claude.layout import Layout
from ccmove.claude.ownership import Ledger, find_portions
from ccmove.claude.reading import Fingerprint, history_file, open_regular
from ccmove.claude.state import ALIASES, Document, State
from ccmove.errors import RefusedError, again, run
from ccmove.firstlook import scan_history
from ccmove.plan.folders import rename_folders
from ccmove.plan.left_alone import Search
from ccmove.plan.model import (
    FileChange,
    HistoryChange,
    HistoryPart,
    LeftAlone,
    Plan,
    ProjectMove,
    Request,
    landing_of,
    landings,
)
from ccmove.plan.others import Folder, moved_folders, other_documents
from ccmove.plan.place import Placer
from ccmove.plan.shares import Relocator
from ccmove.plan.tree import Future, ignores_case
from ccmove.rewrite.config import Excerpt, config_change
from ccmove.rewrite.pathmap import PathMap, tail_below
from ccmove.rewrite.splice import Edit, apply
from ccmove.text import plural

Tick = Callable[[int], None]


def plan_move(
    layout: Layout,
    request: Request,
    ledger: Ledger,
    displaced: Path | None = None,
    tick: Tick | None = None,
) -> Plan:
    """The plan for these moves; RefusedError when files are in each other's way.

    `displaced` is where a run sets aside what loses in a merge; a preview needs no such place.
    """
    state = State(layout)
    with state.listing():
        return _plan(state, request, ledger, displaced, tick)


def _plan(
    state: State, request: Request, ledger: Ledger, displaced: Path | None, tick: Tick | None
) -> Plan:
    layout = state.layout
    paths = PathMap(request.moves)
    if request.only:
        paths = PathMap(request.moves, _nested(state, paths, ledger))
    prompts = _history(layout, paths, tick)
    found = find_portions(state, paths, _prompt_paths(prompts), ledger)
    placer = Placer(
        layout.projects,
        displaced or layout.own / "displaced",
        request.on_conflict,
        future=Future(ignores_case=ignores_case(layout.projects)),
    )
    relocator = Relocator(placer, layout.own / "work", paths)
    relocator.relocate(found.portions, state.directories_with(ALIASES))
    refuse_conflicts(placer)
    left = [*found.left_alone, *relocator.left_alone]
    places = moved_folders(request, relocator.moves)
    files = _documents(state, request, places, relocator, left)
    folders = _folders(layout, request)
    rename_folders(placer.future, ((Path(old), Path(new)) for old, new in folders))
    landed = landings(placer.future.steps)
    planned = {file.path: file.after for file in files if file.after is not None}
    left += Search(state, paths, request, places, planned, landed).everything()
    projects = tuple(relocator.moves)
    changes_prompts = prompts is not None and prompts.lines > 0
    return Plan(
        "move",
        paths,
        projects,
        tuple(placer.future.steps),
        tuple(_with_its_end(file, landed) for file in files),
        prompts if changes_prompts else None,
        (*_transcripts_left(layout, projects), *left),
        tuple(_warnings(prompts)),
        notes=tuple(found.notes),
        folders=folders,
        native=() if changes_prompts else paths_in(history_file(layout), paths.reversed()),
    )


def _nested(state: State, paths: PathMap, ledger: Ledger) -> frozenset[str]:
    """Known projects strictly below an OLD, which `--only` leaves where they are."""
    known = {*state.config_paths, *state.history_paths()}
    known.update(path for owners in ledger.owners.values() for path in owners)
    for name in state.directory_names:
        directory = state.directory(name)
        known.update(directory.named_paths(), directory.index_paths)
    return frozenset(path for path in known if any(tail_below(path, old) for old, _ in paths.moves))


# -- history -----------------------------------------------------------------------------------


def _history(layout: Layout, paths: PathMap, tick: Tick | None) -> HistoryChange | None:
    path = history_file(layout)
    fd = open_regular(path)
    if fd is None:
        return None
    try:
        seen = Fingerprint.of(os.fstat(fd))
        found = scan_history(fd, seen, paths, tick)
    finally:
        os.close(fd)
    return HistoryChange(path, (HistoryPart(path, found),), seen)


def _prompt_paths(prompts: HistoryChange | None) -> Iterator[str]:
    for part in prompts.parts if prompts is not None else ():
        yield from (before for before, _ in part.scan.counts)


def _warnings(prompts: HistoryChange | None) -> Iterator[str]:
    for part in prompts.parts if prompts is not None else ():
        if part.scan.unreadable:
            yield (
                f"{part.file}: {plural(part.scan.unreadable, 'line')} with the old path, but not "
                "valid JSON, left as found"
            )
        if part.scan.too_long:
            number = plural(part.scan.too_long, "line")
            yield f"{part.file}: {number} longer than 64 MiB, left as found"


# -- documents ---------------------------------------------------------------------------------


def _documents(
    state: State,
    request: Request,
    folders: list[Folder],
    relocator: Relocator,
    left: list[LeftAlone],
) -> list[FileChange]:
    """The files to rewrite other than the history; `left` gets what in them stays."""
    layout, paths = state.layout, relocator.paths
    files = list(relocator.files)
    if state.config is not None and state.config_root is not None:
        excerpt = Excerpt(state.config.data, state.config_root, paths)
        change = config_change(excerpt.text, paths)
        if change.edits:
            after = excerpt.completed(apply(excerpt.text, change.edits))
            file = _rewritten(state.config, after, excerpt.placed(change.edits), "config")
            files.append(file._replace(outline=state.config_root))
        left += [_mention(layout, at, value) for at, value in change.mentions]
    others = other_documents(layout, request, folders, paths, relocator.names, left)
    files += [_edited(document, edits, "other") for document, edits in others]
    return [file for file in files if file.after != file.before]


def _edited(document: Document, edits: list[Edit], place: str) -> FileChange:
    after = apply(document.text, edits).encode("utf-8", "surrogateescape")
    return _rewritten(document, after, tuple(edits), place)


def _rewritten(document: Document, after: bytes, edits: tuple[Edit, ...], place: str) -> FileChange:
    return FileChange(
        path=document.path,
        ends=document.path,
        place=place,
        before=document.data,
        after=after,
        edits=edits,
        seen=document.seen,
    )


def _with_its_end(file: FileChange, landed: dict[Path, Path]) -> FileChange:
    """A file ends where the steps bring it; one that is made is made there."""
    return file if file.is_new else file._replace(ends=landing_of(file.path, landed))


def _mention(layout: Layout, pointer: str, value: str) -> LeftAlone:
    return LeftAlone(
        str(layout.config_file),
        f"{pointer}: {value!r} contains the path but is not one",
        "edit it by hand if it should follow",
    )


# -- the rest ----------------------------------------------------------------------------------


def refuse_conflicts(placer: Placer) -> None:
    if not placer.conflicts:
        return
    listed = [f"{source}  differs from  {target}" for source, target in placer.conflicts]
    more = f" and {len(listed) - 1} more" if len(listed) > 1 else ""
    raise RefusedError(
        f"files of the same name differ: {placer.conflicts[0][0]}{more}; what loses would stay in "
        "the backup",
        again("to keep those of the new path", ["--on-conflict", "keep-new"]),
        again("to keep those of the old path", ["--on-conflict", "keep-old"]),
        details=listed,
    )


def _folders(layout: Layout, request: Request) -> tuple[tuple[str, str], ...]:
    if not request.move_folder:
        return ()
    for old, _ in request.on_disk:
        if layout.config_dir.is_relative_to(old) or layout.real_config_file.is_relative_to(old):
            raise RefusedError(
                f"{layout.config_dir} lies in {old}, which is to be renamed",
                run(
                    "ccmove",
                    "--config-dir",
                    "DIR",
                    old,
                    "NEW",
                    text="rename the folder yourself, then",
                ),
            )
    return request.on_disk


def _transcripts_left(layout: Layout, projects: tuple[ProjectMove, ...]) -> Iterator[LeftAlone]:
    number = sum(move.transcripts for move in projects)
    if number:
        what = f"the old path stays inside {plural(number, 'transcript')}; "
        yield LeftAlone(str(layout.projects), what + "Claude Code goes by the directory")
