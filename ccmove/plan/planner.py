"""From a read-only look at the state to a frozen plan.
This is also the whole of a dry run.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.owners import Ledger, Owners, listed_in
from ccmove.claude.reading import open_history
from ccmove.claude.state import State
from ccmove.errors import RefusedError
from ccmove.hints import to_type
from ccmove.plan.files import (
    moved_folders,
    occurrences_of,
    other_files,
    rewrite_config,
    rewrite_indexes,
    rewrite_others,
)
from ccmove.plan.model import (
    PARKED,
    Plan,
    Request,
    WriteHistory,
    with_those_along,
)
from ccmove.plan.newcomers import what_new_has, who_is_at_new
from ccmove.plan.placing import PathMove, Placer, in_order, refuse_conflicts
from ccmove.plan.portions import (
    Portion,
    downloads_of,
    leave_behind,
    moved_notes,
    new_names,
    portions_of,
    project_moves,
    reasons,
    relocate,
)
from ccmove.rewrite import history
from ccmove.rewrite.history import ByPath, Tick
from ccmove.rewrite.pathmap import PathMap, at_or_below
from ccmove.rewrite.windows import compared
from ccmove.text import plural


def plan_move(
    layout: Layout, request: Request, ledger: Ledger, tick: Tick = None
) -> Plan:
    """The plan for these moves; RefusedError when files are in each other's way.

    Each step makes data of what the ones before it made: portions, names, documents,
    operations.
    """
    state = State(layout)
    asked = _asked_paths(state, request, ledger)
    prompts = _history(layout, asked, tick)
    prompt_paths = [path for path, _ in prompts.scan.counts]
    claims = listed_in(prompt_paths, state.config_paths)
    owners = Owners(state, ledger, asked, claims)
    holdings = owners.concerned()

    portions: list[Portion] = []
    for holding in holdings:
        portions += portions_of(holding)
    pairs = [portion.move.pair for portion in portions]
    paths = with_those_along(asked, pairs)
    along = paths.alone
    if along:  # with their prompts; what is where they were is not known
        prompts = _history(layout, paths, tick)
        pairs = [pair for pair in pairs if pair[0] not in along]
    pairs = [*request.on_disk, *pairs]
    folders = moved_folders(pairs, at_old=request.move_folder)
    downloads = list(downloads_of(state, paths, portions))
    names = new_names(portions, paths)

    placer = Placer(state)
    leave_behind(placer, holdings, portions)
    inside = occurrences_of(state, paths)
    others = other_files(layout, request, folders)
    rewrite_indexes(placer, portions, names)
    rewrite_others(placer, others, inside, names)
    rewrite_config(placer, paths, request)

    relocate(placer, portions, downloads)
    refuse_conflicts(placer)
    projects = list(project_moves(portions, placer.tree))
    arrivals = [move for move in projects if move.path not in along]
    merged = who_is_at_new(owners, arrivals, merge=request.merge)
    renamed = _rename_folders(placer, request)
    notes_moved = tuple(moved_notes(placer, projects))
    operations = placer.operations(prompts)

    with_settings: list[Path] = []
    if request.project_files:
        for old, new, _ in folders:
            with_settings.append(Path(old))
            with_settings.append(Path(new))
    scan = prompts.scan
    digests = [digest.hex() for digest in scan.met]
    prompts_at_new = map(history.decoded, scan.staying)
    own = what_new_has(state, paths, prompts_at_new, projects)
    warnings = _warnings(prompts, placer, along, ledger)
    notes = reasons(holdings, downloads)
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
        folders=renamed,
        settings_in=tuple(dict.fromkeys(with_settings)),
        prompts_at_new=tuple(digests),
        own_at_new=tuple(own),
        left_alone=tuple(dict.fromkeys(placer.left_alone)),
        remembering=sum(portion.remembering for portion in portions),
        warnings=tuple(warnings),
        notes=tuple(notes),
    )


def _asked_paths(state: State, request: Request, ledger: Ledger) -> PathMap:
    """The moves as asked for; with `--only` each project below an OLD is kept."""
    paths = PathMap(request.moves)
    if not request.only:
        return paths
    known_paths = state.known_paths()
    for owners in ledger.owners.values():
        known_paths |= owners
    olds = {compared(old) for old, _ in paths.moves}
    kept = set()
    for path in filter(paths.covers, known_paths):
        if compared(path) not in olds:
            kept.add(path)
    return PathMap(request.moves, frozenset(kept))


def _history(layout: Layout, paths: PathMap, tick: Tick) -> WriteHistory:
    """What changes in the history;
    its scan also knows which prompts NEW has already.
    """
    at_new = at_or_below(new for _, new in paths.moves)
    both = replace(paths, moves=paths.moves + at_new.moves)
    with open_history(layout.history) as (read, seen):
        scan = history.scan(read, seen.size, ByPath(both), tick=tick)
    rule = ByPath(paths)
    return WriteHistory(layout.history, scan, seen, rule)


def _rename_folders(placer: Placer, request: Request) -> tuple[PathMove, ...]:
    """Plan to rename the project folders as well, if that is asked for; which they
    are.
    """
    if not request.move_folder:
        return ()
    folders = []
    for old, new in request.on_disk:
        _refuse_own_folder(placer.layout, old, new)
        folder = Path(old), Path(new)
        folders.append(folder)
    for path, target in in_order(
        folders, lambda path, n: path.with_name(f"{PARKED}{n}")
    ):
        placer.rename_folder(path, target)
    return tuple(folders)


def _refuse_own_folder(layout: Layout, old: str, new: str) -> None:
    """A folder with the state in it can't be renamed by a run that works in there."""
    state = layout.config_dir
    config = layout.real_config_file
    if not state.is_relative_to(old) and not config.is_relative_to(old):
        return
    paths = PathMap(((old, new),))
    there = paths.map(str(state)) or state
    ccmove = ["ccmove"]
    home = paths.map(str(layout.home))  # in which the config file may be
    if home is not None:
        ccmove = ["env", f"HOME={home}", "ccmove"]
    raise RefusedError(
        f"{state} is in {old}, which would be renamed",
        to_type("mv", old, new, text="rename the folder yourself"),
        to_type(*ccmove, "--config-dir", there, old, new, text="then"),
    )


# -- what is told


def _warnings(
    prompts: WriteHistory, placer: Placer, along: Iterable[str], ledger: Ledger
) -> Iterator[str]:
    """What the user should know although the move can be made."""
    for gone in along:
        what = "with their prompts and settings"
        yield f"the sessions of {gone}, whose folder is gone, come along {what}"
    if prompts.scan.is_utf16:
        what = "is not UTF-8 (UTF-16?), so its prompts stay as they are"
        yield f"{prompts.path} {what}"
    if number := prompts.scan.unreadable:
        what = "not valid JSON, or longer than 64 MiB"
        yield f"{prompts.path}: {plural(number, 'line')} left as found: {what}"
    for both in placer.kept_beside:
        names = []
        for path in both:
            _, *inside = path.relative_to(placer.projects).parts
            names.append("/".join(inside))
        what = "both are kept, the moved one as"
        yield f"both have a different {names[0]}; {what} {names[1]}"
    if ledger.problem:
        yield ledger.problem
