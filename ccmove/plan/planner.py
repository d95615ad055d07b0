"""From a read-only look at the state to a frozen plan.
This is also the whole of a dry run.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePath

from ccmove.claude.layout import Layout
from ccmove.claude.owners import Ledger, Owners, listed_in
from ccmove.claude.reading import hashed_history
from ccmove.claude.state import State
from ccmove.errors import RefusedError, run
from ccmove.plan.files import moved_folders, rewrite_others, rows
from ccmove.plan.model import (
    PARKED,
    LeftAlone,
    Plan,
    Request,
    WriteHistory,
)
from ccmove.plan.newcomers import who_is_at_new
from ccmove.plan.own import what_new_has
from ccmove.plan.placing import Placer, in_order, refuse_conflicts
from ccmove.plan.portions import (
    downloads_of,
    left_behind,
    new_names,
    portions_of,
    reasons,
    relocate,
    rewrite_aliases,
    rewrite_indexes,
)
from ccmove.rewrite import config, history
from ccmove.rewrite.history import ByPath
from ccmove.rewrite.pathmap import PathMap, compared
from ccmove.text import plural

Tick = Callable[[int], None]


def plan_move(
    layout: Layout, request: Request, ledger: Ledger, tick: Tick | None = None
) -> Plan:
    """The plan for these moves; RefusedError when files are in each other's way."""
    state = State(layout)
    paths = PathMap(request.moves)
    if request.only:
        known = state.known_paths().union(*ledger.owners.values())
        olds = {compared(old) for old, _ in paths.moves}
        nested = (p for p in known if compared(p) not in olds and paths.covers(p))
        paths = PathMap(request.moves, frozenset(nested))
    prompts = _history(layout, paths, tick)
    prompt_paths = [before for before, _ in prompts.scan.counts]
    listed_paths = listed_in(prompt_paths, state.config_paths)
    owners = Owners(state, ledger, paths, listed_paths)
    holdings = owners.concerned()
    portions = [portion for holding in holdings for portion in portions_of(holding)]
    asked = paths
    along = {path: holding for holding in holdings for path in holding.along}
    if along:  # with their prompts and settings: what is where they are is not known
        moves = [(path, holding.new_path(path)) for path, holding in along.items()]
        paths = PathMap((*paths.moves, *moves), paths.kept, frozenset(along))
        prompts = _history(layout, paths, tick)
        prompt_paths = [before for before, _ in prompts.scan.counts]
    rows_of_all = [move for portion in portions for move in portion.moves()]
    here = moved_folders(
        request.on_disk,
        [move for move in rows_of_all if move.path not in along],
        move_folder=request.move_folder,
    )
    placer = Placer(layout)
    names, spelled = (
        new_names(portions, paths),
        paths.as_people_write(str(layout.home)),
    )
    rewrite_indexes(placer, portions, paths, names)
    rewrite_aliases(placer, state, portions, names)
    rewrite_others(placer, rows(layout, request, here), spelled, names)
    if state.config is not None:
        draft = placer.draft(state.config.path, state.config)
        draft.text = config.rewritten(draft.text, paths)
    downloads = list(downloads_of(placer, state, paths, portions))
    saved = [
        f"{path.name}: connector downloads of a folder that is moved"
        for path, _ in downloads
    ]
    relocate(placer, portions, downloads)
    refuse_conflicts(placer)
    projects = [move for portion in portions for move in portion.moves()]

    left: list[LeftAlone] = []
    if number := sum(move.transcripts for move in projects):
        what = (
            f"{plural(number, 'transcript')} still mention{'s' * (number == 1)} the "
            "old path: "
        )
        what += "harmless, Claude Code goes by the directory"
        left.append(LeftAlone(str(layout.projects), what))
    left += [row for holding in holdings for row in left_behind(holding)]
    closed = "can't be read, so nobody knows whether it belongs to the move"
    left += [
        LeftAlone(str(p), closed, ("ls", "-ld", str(p)))
        for p in dict.fromkeys(state.closed)
    ]
    left += placer.left_alone
    arrivals = [move for move in projects if move.path not in along]
    merged = who_is_at_new(owners, arrivals, merge=request.merge)
    folders = _folders(layout, request)
    for path, target in in_order(
        folders, lambda p, number: p.with_name(f"{PARKED}{number}")
    ):
        placer.rename_folder(path, target)

    notes_moved = tuple(placer.moved_notes())
    operations = placer.operations(prompts)
    settings = (
        [path for *pair, _ in here for path in pair] if request.project_files else []
    )
    return Plan(
        kind="move",
        moves=asked.moves,
        kept=tuple(sorted(paths.kept)),
        operations=operations,
        moved=tuple(placer.tree.moved().items()),
        seen=tuple(placer.seen.items()),
        notes_moved=notes_moved,
        merged=merged,
        projects=tuple(projects),
        folders=folders,
        places=tuple(dict.fromkeys(map(Path, settings))),
        prompts_at_new=tuple(digest.hex() for digest in prompts.scan.met),
        own=tuple(what_new_has(state, paths, prompts.scan.staying, projects)),
        left_alone=tuple(left),
        remembering=sum(
            item.remembers for portion in portions for item in portion.items
        ),
        warnings=(*_warnings(prompts, placer, along), *filter(None, [ledger.problem])),
        notes=(*(why for case in holdings for why in reasons(case)), *saved),
    )


def _history(layout: Layout, paths: PathMap, tick: Tick | None) -> WriteHistory:
    """What changes in the history;
    its scan also knows which prompts NEW has already.
    """
    with hashed_history(layout.history, before := hashlib.sha256()) as (read, seen):
        at_new = tuple((new, new) for _, new in paths.moves)
        both = PathMap(paths.moves + at_new, paths.kept, paths.alone)
        scan = history.scan(read, seen.size, ByPath(both), tick=tick)
    return WriteHistory(layout.history, scan, seen, ByPath(paths), before)


def _warnings(
    prompts: WriteHistory, placer: Placer, along: Iterable[str]
) -> Iterator[str]:
    for gone in along:
        what = "with their prompts and settings"
        yield f"the sessions of {gone}, whose folder is gone, come along {what}"
    if number := prompts.scan.unreadable:
        what = "not valid JSON, or longer than 64 MiB"
        yield f"{prompts.path}: {plural(number, 'line')} left as found: {what}"
    for final, place in placer.kept_beside:
        both, moved = (_inside_project(path, placer) for path in (final, place))
        yield f"both have a different {both}; both are kept, the moved one as {moved}"


def _inside_project(path: Path, placer: Placer) -> str:
    return PurePath(*path.relative_to(placer.projects).parts[1:]).as_posix()


def _folders(layout: Layout, request: Request) -> tuple[tuple[Path, Path], ...]:
    if not request.move_folder:
        return ()
    for old, new in request.on_disk:
        if layout.config_dir.is_relative_to(
            old
        ) or layout.real_config_file.is_relative_to(old):
            paths = PathMap(((old, new),))
            there = paths.map(str(layout.config_dir)) or layout.config_dir
            home = paths.map(str(layout.home))  # in which the config file may be
            ccmove = ["env", f"HOME={home}", "ccmove"] if home else ["ccmove"]
            raise RefusedError(
                f"{layout.config_dir} is in {old}, which would be renamed",
                run("mv", old, new, text="rename the folder yourself"),
                run(*ccmove, "--config-dir", there, old, new, text="then"),
            )
    return tuple((Path(old), Path(new)) for old, new in request.on_disk)
