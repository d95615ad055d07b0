"""Plan how to undo a finished run, starting from what is there now.

An undo is a move NEW -> OLD of the sessions that the manifest names. `run.since`
decides what else goes back, `run.returning` what that is of each directory, and
`run.undoing` makes operations of it. Here the whole is put together, unless somebody
else is in the way, and what stays is named.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.owners import Ledger, Owners, folder_exists, listed_in, session_of
from ccmove.claude.reading import is_there
from ccmove.claude.state import State
from ccmove.errors import RefusedError
from ccmove.hints import again, to_type
from ccmove.plan.model import LeftAlone, Plan
from ccmove.plan.newcomers import refuse_another_project, refuse_twin
from ccmove.plan.placing import PathMove, in_order
from ccmove.rewrite.history import Tick
from ccmove.rewrite.pathmap import Move, are_nested, tail_below
from ccmove.run.backups import Backup
from ccmove.run.manifest import Manifest, folder_id
from ccmove.run.returning import (
    PastRun,
    PortionBack,
    absent_sessions,
    portions_back,
)
from ccmove.run.saved import plan_history_back
from ccmove.run.since import Since
from ccmove.run.undoing import Undoing
from ccmove.text import plural


def plan_undo(
    layout: Layout,
    manifest: Manifest,
    ledger: Ledger,
    *,
    merge: bool,
    tick: Tick,
) -> Plan:
    """The plan that undoes the run; RefusedError when somebody else is at OLD."""
    state = State(layout)
    _ = state.config_paths  # refuses a config file that can't be read
    listed = listed_in((), state.config_paths)
    owners = Owners(state, ledger, manifest.paths, listed)
    # Twice, since who is absent can be told only when it is known which directories go.
    portions = list(portions_back(owners, Since(manifest)))
    going = [portion for portion in portions if portion.goes]
    directories = [portion.source.name for portion in going]
    absent = absent_sessions(state, manifest, directories)
    since = Since(manifest, frozenset(absent.elsewhere), absent.followed)
    merged = refuse_users(owners, since, going, merge=merge)
    past = PastRun(layout, since, tuple(going), absent.sessions)
    undoing = Undoing(state, past)
    undoing.plan()
    prompts = plan_history_back(layout, layout.backups / manifest.id, since, tick)
    if manifest.history is not None and not is_there(layout.history):
        undoing.warnings.append(f"{layout.history} is gone, so no prompts go back")
    operations = undoing.placer.operations(prompts)
    if undoing.warnings and not operations:
        what = f"nothing of {manifest.id} can be undone"
        hint = to_type("ccmove", "backups")
        raise RefusedError(what, hint, details=undoing.warnings)
    stays = stays_at_new(portions)
    to_rename = folders_to_rename(layout, since)
    return Plan(
        kind="undo",
        moves=manifest.paths.reversed().moves,
        operations=operations,
        moved=tuple(undoing.tree.moved().items()),
        seen=tuple(undoing.placer.seen.items()),
        projects=tuple(undoing.projects()),
        merged=tuple(merged.items()),
        folders=tuple(undoing.folders),
        settings_in=manifest.settings_in,
        left_alone=(*stays, *to_rename),
        warnings=(*undoing.warnings, *absent.told()),
        undoes=manifest.id,
        options=manifest.options,
    )


# -- who is at OLD, and what builds on the run


def refuse_users(
    owners: Owners, since: Since, portions: Iterable[PortionBack], *, merge: bool
) -> dict[str, int]:
    """Each OLD with sessions of its own by now, and how many; refuses somebody else's.

    OLD is in use by somebody else if its folder exists, and NEW's folder exists as well
    or is another repository. NEW's folder gone: it was renamed back. In a list of moves
    an OLD that is another's NEW counts as not existing. A living twin of OLD refuses as
    well, unless the run left the directory to others: it was shared before.
    """
    there = set(owners.state.directory_names)
    news = {move.new_path for move in since.manifest.projects}
    then = to_type("ccmove", "undo", since.manifest.id, text="then")
    merged: dict[str, int] = {}
    for portion in portions:
        back = portion.back()
        new, old = back.pair
        if back.target not in there:
            continue
        holding = owners.of(back.target)
        if not portion.is_in_place and portion.move.kind != "split":
            refuse_twin(holding, old, then)
        sessions = holding.sessions_of(old)
        begun = [
            item for item in sessions if session_of(item.name) not in since.brought
        ]
        if not begun or old in news:
            continue
        merged[old] = len(begun)
        if merge:
            continue
        if not folder_exists(old):
            continue
        if folder_exists(new):
            raise _in_use_again(old, len(begun))
        refuse_another_project(owners, back, begun)
    return merged


def _in_use_again(path: str, sessions: int) -> RefusedError:
    verb = "were"
    if sessions == 1:
        verb = "was"
    what = f"{plural(sessions, 'session')} {verb} begun there since"
    return RefusedError(
        f"{path} is in use again: {what}",
        to_type("ccmove", "list", path, text="what is there"),
        again("to merge them all the same", merge=True),
    )


def refuse_built_on(manifest: Manifest, backups: list[Backup]) -> None:
    """What a later run took on from NEW, or brought there too, has to go back first;
    the last one first. A later move and its undo cancel out.
    """
    for backup in reversed(backups):
        later = backup.manifest
        if later is None or later.id <= manifest.id:
            continue
        if not backup.stands:
            continue
        undoes_a_later_one = (later.undoes or "") > manifest.id
        if undoes_a_later_one:
            continue
        if not _builds_on(later, manifest):
            continue
        old, new = later.moves[0]
        what = f"a later run builds on {manifest.id}: {later.id}"
        verb = "moved"
        if later.is_unpack:
            verb = "unpacked"
        hint = to_type("ccmove", "undo", later.id, text="undo that first")
        if later.kind == "undo":  # which is not undone: the move is made again
            hint = to_type("ccmove", new, old, text="move that again first")
        raise RefusedError(f"{what} {verb} {old} to {new}", hint)


def _builds_on(later: Manifest, manifest: Manifest) -> bool:
    """Whether a later move left from NEW, or came to it, or shares its directory."""
    for _, middle in manifest.moves:
        for old, new in later.moves:
            if are_nested(old, middle):
                return True
            if tail_below(new, middle) is not None:
                return True
    names = {move.target for move in manifest.projects}
    touched: set[str] = set()
    for move in later.projects:
        touched.add(move.source)
        touched.add(move.target)
    return not touched.isdisjoint(names)


# -- what is told


def stays_at_new(portions: Iterable[PortionBack]) -> Iterator[LeftAlone]:
    """Sessions that came since and stay, with what brings them along."""
    told: set[str] = set()
    for portion in portions:
        old = portion.move.path
        new = portion.move.new_path
        sessions = {session_of(item.name) for item in portion.staying}
        if not sessions or new in told:
            continue
        told.add(new)
        number = plural(len(sessions), "session")
        what = f"{number} begun since stay there; to move everything to {old}"
        command = ("ccmove", "--skip-path-check", new, old)
        yield LeftAlone(new, what, command)


def folders_to_rename(layout: Layout, since: Since) -> Iterator[LeftAlone]:
    """The state is at OLD again; its folder is the user's to rename, in this order.

    Not where what came since stays, nor the home, nor another folder than the one that
    was there when the run was made.
    """
    moves = []
    for move in since.manifest.moves:
        if _is_renamed(layout, since, move):
            old, new = map(Path, move)
            moves.append((new, old))
    able = _with_room(moves)
    places = dict(able)
    made: set[Path] = set()  # what is there by then
    for folder, target in in_order(able, _parking_space):
        above = target.parent
        if above not in made and not above.is_dir():
            what = f"this folder is gone; {target} was in it"
            command = ("mkdir", "-p", str(above))
            yield LeftAlone(str(above), what, command)
        made.update(target.parents)
        made.add(target)
        what = "the folder still has its new name; to rename it too"
        if folder not in places:
            what = "the folder is here only to make room; to give it its old name"
        elif target != places[folder]:
            what = "the folder still has its new name; to make room first"
        command = ("mv", str(folder), str(target))
        yield LeftAlone(str(folder), what, command)


def _with_room(moves: list[PathMove]) -> list[PathMove]:
    """Those whose place is free, or gets free because another one leaves it."""
    leaving = {path for path, _ in moves}
    able = []
    for path, target in moves:
        if target in leaving or not os.path.lexists(target):
            able.append((path, target))
    if len(able) == len(moves):
        return able
    return _with_room(able)


def _parking_space(folder: Path, _: int) -> Path:
    """A free name beside it, for a while: folders have been swapped."""
    space = folder
    while os.path.lexists(space):
        space = space.with_name(f"{space.name}-parked")
    return space


def _is_renamed(layout: Layout, since: Since, move: Move) -> bool:
    """Whether the folder at NEW is the one that was there when the run was made, and
    goes with the state.
    """
    _, new = move
    manifest = since.manifest
    if manifest.folders or manifest.is_of_settings:
        return False
    if not since.takes_back(move):
        return False
    if layout.home.is_relative_to(new):
        return False
    return folder_id(new) in manifest.folders_at_new
