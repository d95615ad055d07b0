"""From a read-only look at the state to a frozen plan.
This is also the whole of a dry run.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePath

from ccmove.claude.git import Identity, identity
from ccmove.claude.layout import Layout
from ccmove.claude.ownership import Case, Evidence, Ledger, cases_of_moves
from ccmove.claude.reading import hashed_history
from ccmove.claude.state import State
from ccmove.errors import RefusedError, again, run
from ccmove.plan import shares
from ccmove.plan.documents import Search, moved_folders, rewrite_others, rows
from ccmove.plan.model import (
    PARKED,
    LeftAlone,
    Plan,
    ProjectMove,
    Request,
    Write,
    WriteHistory,
)
from ccmove.plan.own import what_new_has
from ccmove.plan.place import Placer, in_order, refuse_conflicts
from ccmove.rewrite import config, history
from ccmove.rewrite.history import ByPath
from ccmove.rewrite.pathmap import PathMap, tail_below
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
        nested = (
            path
            for path in known
            if any(tail_below(path, old) for old, _ in paths.moves)
        )
        paths = PathMap(request.moves, frozenset(nested))
    prompts = _history(layout, paths, tick)
    prompt_paths = [before for before, _ in prompts.scan.counts]
    cases = cases_of_moves(state, paths, prompt_paths, ledger)

    portions = [portion for case in cases for portion in shares.portions_of(case)]
    here = moved_folders(
        request, [move for portion in portions for move in portion.moves()]
    )
    placer = Placer(layout)
    names, spelled = (
        shares.new_names(portions, paths),
        paths.as_people_write(str(layout.home)),
    )
    shares.rewrite_indexes(placer, portions, paths, names)
    shares.rewrite_aliases(placer, state, portions, names)
    rewrite_others(placer, rows(layout, request, here), spelled, names)
    if state.config is not None:
        draft = placer.draft(state.config.path, state.config)
        draft.text = config.rewritten(draft.text, paths)
    downloads = list(shares.downloads_of(placer, state, paths, portions))
    saved = [
        f"{path.name}: connector downloads of a folder that is moved"
        for path, _ in downloads
    ]
    shares.relocate(placer, portions, downloads)
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
    left += [row for case in cases for row in shares.left_behind(case)]
    closed = "can't be read, so nobody knows whether it belongs to the move"
    left += [
        LeftAlone(str(p), closed, ("ls", "-ld", str(p)))
        for p in dict.fromkeys(state.closed)
    ]
    left += placer.left_alone
    merged = _merges(state, request, paths, projects, ledger)
    folders = _folders(layout, request)
    for path, target in in_order(
        folders, lambda p, number: p.with_name(f"{PARKED}{number}")
    ):
        placer.rename_folder(path, target)

    notes_moved = tuple(placer.moved_notes())
    operations = placer.operations(prompts)
    planned = {op.path: op.after for op in operations if isinstance(op, Write)}
    moved = placer.tree.moved()
    left += Search(state, spelled, request, here, planned, moved).everything()
    settings = (
        [path for *pair, _ in here for path in pair] if request.project_files else []
    )
    return Plan(
        kind="move",
        moves=paths.moves,
        kept=tuple(sorted(paths.kept)),
        operations=operations,
        moved=tuple(moved.items()),
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
        warnings=(*_warnings(prompts, placer, cases), *filter(None, [ledger.problem])),
        notes=(*(reason for case in cases for reason in shares.reasons(case)), *saved),
    )


def _history(layout: Layout, paths: PathMap, tick: Tick | None) -> WriteHistory:
    """What changes in the history;
    its scan also knows which prompts NEW has already.
    """
    with hashed_history(layout.history, before := hashlib.sha256()) as (read, seen):
        at_new = tuple((new, new) for _, new in paths.moves)
        both = PathMap(paths.moves + at_new, paths.kept)
        scan = history.scan(read, seen.size, ByPath(both), tick=tick)
    return WriteHistory(layout.history, scan, seen, ByPath(paths), before)


def _warnings(
    prompts: WriteHistory, placer: Placer, cases: Iterable[Case]
) -> Iterator[str]:
    for gone in (path for case in cases for path in case.along):
        yield f"the sessions of {gone}, whose folder is gone, move together with these"
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


def _merges(
    state: State,
    request: Request,
    paths: PathMap,
    moves: Iterable[ProjectMove],
    ledger: Ledger,
) -> tuple[tuple[str, int], ...]:
    """Each NEW with sessions of its own, and how many;
    a twin or another project is refused.
    """
    news = dict.fromkeys((move.new_path, move.new_path) for move in moves)
    listed = [(path, "the config file") for path in state.config_paths]
    evidence = Evidence(state.layout, ledger, PathMap(tuple(news)), listed)
    there, found = set(state.directory_names), dict[str, int]()
    for move in moves:
        # One folder in two cases has had one directory all along: nothing in it is
        # NEW's alone.
        is_respelled = evidence.is_other_case(move.path) and evidence.exists(move.path)
        if move.target not in there or (is_respelled and move.source == move.target):
            continue
        case = Case(evidence, state.directory(move.target))
        staying = [path for path in case.claims if not paths.covers(path)]
        if move.source != move.target:  # else nobody comes in who was not there
            _refuse_twin(case, move, staying)
        number = _sessions_of(case, move.new_path) if move.new_path in staying else 0
        if number and not request.merge:
            _refuse_another(state, move, number)
        found.update({move.new_path: number} if number else {})
    return tuple(found.items())


def _sessions_of(case: Case, path: str) -> int:
    """What nothing says the owner of is the only claimant's."""
    rest = path if list(case.claims) == [path] else None
    return sum((owner or rest) == path for owner in case.owner_of.values())


def _refuse_twin(case: Case, move: ProjectMove, staying: list[str]) -> None:
    """Two folders with one encoded name: each would open the other's conversations."""
    new = move.new_path
    for twin in staying:
        is_new = os.path.realpath(twin) == os.path.realpath(new)
        number = (
            0 if is_new or not case.evidence.exists(twin) else _sessions_of(case, twin)
        )
        if number:
            raise RefusedError(
                f"{new} and {twin} are both {move.target} to Claude Code, which could "
                "not tell "
                f"them apart; {twin} has {plural(number, 'session')} there",
                run(
                    "ccmove",
                    "-m",
                    twin,
                    f"{twin}-2",
                    text="rename one of them, for example",
                ),
                again("then"),
            )


def _refuse_another(state: State, move: ProjectMove, number: int) -> None:
    was, there = (_identity(state, path) for path in (move.path, move.new_path))
    if was.is_another(there):
        raise RefusedError(
            f"{move.new_path} is another project: it has {plural(number, 'session')} "
            "of its own, "
            f"and its repository is {there}, while that of {move.path} is {was}",
            run("ccmove", "list", move.new_path, text="what is there"),
            again("to merge them all the same", ["--merge"]),
        )


def _identity(state: State, path: str) -> Identity:
    found = identity(path)
    if found.remotes or found.roots:
        return found
    linked = (
        name.lower() for name, paths in state.repositories.items() if path in paths
    )
    return Identity(frozenset(linked))
