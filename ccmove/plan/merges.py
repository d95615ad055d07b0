"""Who is at NEW already: the same project, which is a merge, another one, or a living twin."""

import os
from collections.abc import Iterable
from itertools import count

from ccmove.claude.git import Identity, identity
from ccmove.claude.ownership import Case, Evidence, Ledger
from ccmove.claude.state import State, members
from ccmove.errors import RefusedError, again, run
from ccmove.plan.model import ProjectMove, Request
from ccmove.rewrite.pathmap import PathMap
from ccmove.text import plural


def merges(
    state: State, request: Request, paths: PathMap, moves: Iterable[ProjectMove], ledger: Ledger
) -> tuple[tuple[str, int], ...]:
    """Each NEW with sessions of its own, and how many; a twin or another project is refused."""
    news = dict.fromkeys((move.new_path, move.new_path) for move in moves)
    listed = [(path, "the config file") for path in state.config_paths]
    evidence = Evidence(state.layout, ledger, PathMap(tuple(news)), listed)
    there, found = set(state.directory_names), dict[str, int]()
    for move in moves:
        if move.target not in there:
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
        number = 0 if is_new or not case.evidence.exists(twin) else _sessions_of(case, twin)
        if number:
            free = next(name for n in count(2) if not os.path.lexists(name := f"{twin}-{n}"))
            raise RefusedError(
                f"{new} and {twin} are both {move.target} to Claude Code, which could not tell "
                f"them apart; {twin} has {plural(number, 'session')} there",
                run("ccmove", "-m", twin, free, text="give one of them another name, such as"),
                again("then"),
            )


def _refuse_another(state: State, move: ProjectMove, number: int) -> None:
    was, there = (_identity(state, path) for path in (move.path, move.new_path))
    if was.is_another(there):
        raise RefusedError(
            f"{move.new_path} is another project: it has {plural(number, 'session')} of its own, "
            f"and its repository is {there}, while that of {move.path} is {was}",
            run("ccmove", "list", move.new_path, text="what is there"),
            again("to merge them all the same", ["--merge"]),
        )


def _identity(state: State, path: str) -> Identity:
    """By git; of a folder that is gone by the config file."""
    found = identity(path)
    if found.remotes or found.roots:
        return found
    listed = members(state.config_values, "githubRepoPaths").items()
    own = {name.lower() for name, paths in listed if isinstance(paths, list) and path in paths}
    return Identity(frozenset(own))
