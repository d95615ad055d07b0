"""From an archive that was read, and a look at the state, to a frozen plan.

What becomes of each session is decided first (`transfer.sessions`), then of each file,
then documents are merged as in a move. A preview makes the same plan without keeping
what it has read.
"""

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import PurePath

from ccmove.claude.git import Identity
from ccmove.claude.layout import Layout
from ccmove.claude.owners import Ledger, Owners, listed_in
from ccmove.claude.retention import DAY, LINE_THAT_KEEPS, days_kept, settings_file
from ccmove.claude.state import State
from ccmove.errors import RefusedError
from ccmove.hints import again
from ccmove.plan.model import (
    UNPACK,
    LeftAlone,
    Plan,
    ProjectMove,
    WriteHistory,
)
from ccmove.plan.newcomers import Coming, refuse_another, refuse_twin
from ccmove.plan.placing import Placer
from ccmove.rewrite.pathmap import Move, PathMap
from ccmove.rewrite.windows import compared
from ccmove.run.arrived import session_at
from ccmove.text import plural
from ccmove.transfer.archive import PackedProject
from ccmove.transfer.documents import Documents
from ccmove.transfer.files import Files, came_to
from ccmove.transfer.incoming import Came, Incoming
from ccmove.transfer.privilege import in_words
from ccmove.transfer.request import UnpackRequest
from ccmove.transfer.roles import TRANSCRIPTS
from ccmove.transfer.sessions import Fate


def plan_unpack(
    layout: Layout, incoming: Incoming, request: UnpackRequest, ledger: Ledger
) -> tuple[Plan, set[str | None]]:
    """The plan that brings what came, and the sessions of which something takes the
    place of a file here; RefusedError where somebody is in the way.
    """
    state = State(layout)
    _ = state.config_paths  # refuses a config file that can't be read
    placer = Placer(state)
    files = Files(placer, incoming, request)
    merged = _who_is_at_new(state, files, ledger)
    files.bring_all()
    documents = Documents(files)
    documents.merge_memory()
    documents.merge_indexes()
    documents.merge_config()
    prompts = documents.prompts()
    to_do = [*_deleted_soon(layout, files), *documents.to_do]
    projects = tuple(_projects(state, files))
    joined = {project.new_path for project in projects if project.transcripts}
    joining = [(new, number) for new, number in merged.items() if new in joined]
    plan = Plan(
        kind="unpack",
        moves=request.tops,
        operations=placer.operations(prompts),
        moved=tuple(placer.tree.moved().items()),
        seen=tuple(placer.seen.items()),
        projects=projects,
        merged=tuple(joining),
        left_alone=tuple(to_do),
        warnings=tuple(_told(files, documents, prompts)),
        options=UNPACK,
    )
    replaced = {session_at(path) for path in files.replaced}
    return plan, replaced


# -- who is at NEW


def _who_is_at_new(state: State, files: Files, ledger: Ledger) -> dict[str, int]:
    """Each NEW with sessions of its own, and how many; a twin or another project is
    refused.
    """
    request = files.request
    _refuse_twins(files)
    listed = listed_in((), state.config_paths)
    owners = Owners(state, ledger, PathMap(()), listed)
    coming = _names_of_transcripts(files)
    merged: dict[str, int] = {}
    for project in request.numbers:
        target = request.target(project)
        if target not in state.directory_names:
            continue
        new = request.new(project)
        holding = owners.of(target)
        refuse_twin(holding, new)
        own = {item.name for item in holding.sessions_of(new)}
        own -= coming
        if not own:
            continue
        merged[new] = len(own)
        if not request.merge:
            coming_here = _coming(files, project)
            refuse_another(state, coming_here, new, holding.directory.path, own)
    return merged


def _refuse_twins(files: Files) -> None:
    """Two folders that are there, and to which one directory comes: transcripts that
    name the paths of another machine each of the two would open.
    """
    request = files.request
    folders: dict[str, Move] = {}  # by the names of directories
    projects = {came.part.project for came in _transcripts(files)}
    for project in sorted(projects):
        pair = request.pairs[project - 1]
        _, new = pair
        if not os.path.isdir(new):
            continue
        target = request.target(project)
        twin = folders.setdefault(target, pair)
        is_backup = pair == (new, new) and twin[0] == twin[1]
        if compared(twin[1]) != compared(new) and not is_backup:
            what = f"{twin[1]} and {new} are both {target} to Claude Code, which could "
            what += "not tell them apart"
            hint = again("rename one of the two, say where it goes with --map, then")
            raise RefusedError(what, hint)


def _names_of_transcripts(files: Files) -> set[str]:
    """What of a project directory may be there of this archive already."""
    return {came.place.name for came in _transcripts(files)}


def _transcripts(files: Files) -> Iterator[Came]:
    for came in files.incoming.files:
        if came.part.role in TRANSCRIPTS:
            yield came


def _coming(files: Files, project: int) -> Coming:
    """Whose sessions come, by what the archive says."""
    packed = files.incoming.header.projects[project - 1]
    ours = filter(lambda came: came.part.project == project, _transcripts(files))
    dates = [came.member.mtime_ns for came in ours]
    newest = max(dates, default=None)
    identity = identity_of_packed(packed)
    return Coming(packed.path, identity, newest)


def identity_of_packed(project: PackedProject) -> Identity:
    git = project.git
    remotes = {git.remote.lower()} if git.remote else set()
    roots = {git.root} if git.root else set()
    return Identity(frozenset(remotes), frozenset(roots))


# -- what is told


def _projects(state: State, files: Files) -> Iterator[ProjectMove]:
    """A row for each project of which something comes."""
    request = files.request
    for project in request.numbers:
        target = request.target(project)
        entries: dict[str, None] = {}
        notes: list[str] = []
        sizes: list[int] = []
        for inside, came in came_to(files, state.layout.projects / target):
            if came.part.project != project:
                continue
            entries[inside.parts[0]] = None
            if came.part.role == "memory":
                notes.append(inside.as_posix())
            if came.part.role == "transcript":
                sizes.append(came.member.size)
        if not entries:
            continue
        is_there = target in state.directory_names
        yield ProjectMove(
            path=request.old(project),
            new_path=request.new(project),
            source=target,
            target=target,
            kind="merge" if is_there else "rename",
            entries=tuple(entries),
            notes=tuple(notes),
            transcripts=len(sizes),
            size=sum(sizes),
        )


def _deleted_soon(layout: Layout, files: Files) -> Iterator[LeftAlone]:
    """Sessions that the client's next sweep deletes: that comes first of all."""
    days = days_kept(layout)
    if days is None:
        return
    oldest = time.time_ns() - days * DAY
    number = 0
    for came in files.finals.values():
        is_old = came.member.mtime_ns < oldest
        number += came.part.role == "transcript" and is_old
    if number:
        verb = "were"
        if number == 1:
            verb = "was"
        what = f"{plural(number, 'session')} {verb} last used over {days} days ago: "
        what += "Claude Code deletes such sessions minutes after it starts. To keep "
        what += "them, set this first:"
        file = settings_file(layout)
        yield LeftAlone(str(file), what, line=LINE_THAT_KEEPS)


def _told(files: Files, documents: Documents, prompts: WriteHistory) -> Iterator[str]:
    """Where it comes from, and what stayed out."""
    words = []
    roles = [came.part.role for came in files.finals.values()]
    for number, noun in (
        (roles.count("memory") + documents.notes_merged, "note"),
        (prompts.scan.lines, "prompt"),
    ):
        if number:
            words.append(plural(number, noun))
    if words:
        home = files.incoming.header.home
        what = f"{' and '.join(words)} of another machine ({home})"
        yield f"{what}; Claude will take them for yours"
    if documents.left_out:
        names = in_words(documents.left_out)
        yield f"left out, since --with-config was not given: {names}"
    yield from _without_folder(files.request.tops)
    yield from _skipped(files)
    projects = files.layout.projects
    for final, beside in files.placer.kept_beside:
        both = PurePath(*final.relative_to(projects).parts[1:]).as_posix()
        what = f"both have a different {both}; both are kept"
        yield f"{what}, the one that came as {beside.name}"


def _without_folder(moves: Iterable[Move]) -> Iterator[str]:
    """Where the sessions can't be opened yet."""
    missing = [new for _, new in moves if not os.path.isdir(new)]
    if len(missing) == 1:
        what = f"{missing[0]} does not exist here yet"
        yield f"{what}: clone or copy it there to open its sessions"
    elif missing:
        what = f"{len(missing)} of these folders do not exist here yet"
        yield f"{what}: clone or copy them there to open their sessions"


def _skipped(files: Files) -> Iterator[str]:
    """Sessions that stay out, each with where the one here is."""
    projects = files.layout.projects
    places: dict[str, list[str]] = {}
    for (project, session), fate in files.sessions.fates.items():
        here = projects / files.request.target(project)
        if fate is Fate.ELSEWHERE:
            place = files.sessions.places[session][0]
            places.setdefault(place, []).append(session)
        elif fate is Fate.APART:
            what = "went on here and there; the one here stays"
            yield f"session {session} {what}, in {here}"
        elif fate is Fate.TWICE:
            what = "was left out of one project: the archive has it twice"
            yield f"session {session} {what}"
    for place, sessions in places.items():
        here = projects / place
        if len(sessions) == 1:
            yield f"session {sessions[0]} was left out: it is in {here} already"
        else:
            number = plural(len(sessions), "session")
            names = ", ".join(sessions)
            yield f"{number} were left out, they are in {here} already: {names}"
