"""Plan how to undo a finished run, starting from what is there now.

An undo is a move NEW -> OLD of the sessions that the manifest names. `run.since` decides
what else goes back; here it becomes operations: project directories go back whole or
session by session, notes and documents lose the run's change, what was set aside comes
back where its place is free, project folders get their old names. Nothing is ever
overwritten, and what stays is named.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.naming import encode, may_be_name_of
from ccmove.claude.owners import folder_exists, session_of
from ccmove.claude.reading import (
    Document,
    is_there,
    names_in,
    read_document,
    sha256_of,
)
from ccmove.claude.state import (
    INDEX,
    MEMORY,
    Item,
    ProjectDirectory,
    State,
    is_of_session,
    notes_among,
)
from ccmove.errors import RefusedError, again, run
from ccmove.plan.meeting import last_part, name_of_both
from ccmove.plan.model import FolderHolds, LeftAlone, Mkdir, Plan, ProjectMove, Rename
from ccmove.plan.newcomers import Present, ages, refuse_another
from ccmove.plan.place import (
    MEMORY_FILE,
    Draft,
    Placer,
    in_order,
    mode_of,
    refuse_conflicts,
)
from ccmove.plan.tree import ends_of
from ccmove.rewrite import index
from ccmove.rewrite.history import Tick
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.rewrite.other import appended, lines_lacking
from ccmove.rewrite.pathmap import NameMap, PathMap, are_nested, tail_below
from ccmove.rewrite.threeway import settings_of_since
from ccmove.run.backups import Backup
from ccmove.run.manifest import Manifest, SavedNote, Wrote, folder_id, sha256
from ccmove.run.recognise import is_noted
from ccmove.run.saved import (
    as_text,
    document_back,
    plan_history_back,
    read_note,
    read_saved,
)
from ccmove.run.since import Since
from ccmove.text import plural


def plan_undo(
    layout: Layout, manifest: Manifest, *, merge: bool = False, tick: Tick = None
) -> Plan:
    """The plan that undoes the run; RefusedError when somebody else is at OLD."""
    state = State(layout)
    _ = state.config_values  # refuses a config file that can't be read
    sessions = find_sessions(state, manifest)
    since = Since(manifest, sessions.elsewhere)
    # A project below NEW that goes back takes along what came to it by `/cd`.
    coming = {portion.source.name for portion in portions_back(state, since)}
    sessions = sessions.without(coming)
    since = Since(manifest, sessions.elsewhere)
    portions = list(portions_back(state, since))
    merged = refuse_users(state, since, portions, merge=merge)
    undoing = Undoing(layout, since, portions, sessions)
    undoing.plan()
    prompts = plan_history_back(layout, undoing.directory, since, tick)
    if manifest.history is not None and not is_there(layout.history):
        undoing.warn(f"{layout.history} is gone; its old content is in the backup")
    operations = undoing.placer.operations(prompts)
    if undoing.warnings and not operations:
        what = f"nothing of {manifest.id} can be undone"
        past = run("ccmove", "backups")
        raise RefusedError(what, past, details=undoing.warnings)
    tree = undoing.placer.tree
    return Plan(
        kind="undo",
        moves=manifest.paths.reversed().moves,
        operations=operations,
        moved=tuple(tree.moved().items()),
        seen=tuple(undoing.placer.seen.items()),
        projects=tuple(undoing.projects()),
        merged=tuple(merged.items()),
        folders=tuple((new, old) for old, new in undoing.folders),
        places=manifest.places,
        left_alone=(*stays_at_new(portions), *folders_to_rename(layout, since)),
        warnings=(*undoing.warnings, *sessions.told()),
        undoes=manifest.id,
    )


MOST_LISTED = 10  # sessions, by their IDs

# -- which sessions of the run are where now


@dataclass(frozen=True)
class Whereabouts:
    """Sessions that a run brought and that are not in NEW's directory any more."""

    directories: tuple[tuple[str, str], ...]  # session -> another project's directory
    deleted: frozenset[str]

    @property
    def elsewhere(self) -> frozenset[str]:
        return frozenset(session for session, _ in self.directories)

    def without(self, names: set[str]) -> "Whereabouts":
        """These directories do not count as another project's."""
        rows = tuple(row for row in self.directories if row[1] not in names)
        return Whereabouts(rows, self.deleted)

    def told(self) -> Iterator[str]:
        if self.elsewhere:
            where = ", ".join(sorted({name for _, name in self.directories}))
            verb = "stays" if len(self.elsewhere) == 1 else "stay"
            number = plural(len(self.elsewhere), "session")
            what = f"{number} left for another project since and {verb} there"
            yield f"{what}, in {where}: {_listed(self.elsewhere)}"
        if self.deleted:
            number = plural(len(self.deleted), "session")
            is_one = len(self.deleted) == 1
            verb = "exists: it was" if is_one else "exist: they were"
            what = f"{number} of this move no longer {verb} deleted since"
            yield f"{what}: {_listed(self.deleted)}"


def _listed(sessions: Iterable[str]) -> str:
    listed = sorted(sessions)
    more = f" and {len(listed) - MOST_LISTED} more" if len(listed) > MOST_LISTED else ""
    return ", ".join(listed[:MOST_LISTED]) + more


def find_sessions(state: State, manifest: Manifest) -> Whereabouts:
    """Look for the transcripts that the run brought; other directories are listed only
    if one is missing where it should be."""
    missing: set[str] = set()
    for move in manifest.projects:
        there = {*_names(state, move.target), *_names(state, move.source)}
        transcripts = [name for name in move.entries if name.endswith(".jsonl")]
        missing.update(name for name in transcripts if name not in there)
    homes = {name for move in manifest.projects for name in (move.source, move.target)}
    rows: list[tuple[str, str]] = []
    for name in state.directory_names if missing else ():
        if name not in homes:
            there = missing.intersection(names_in(state.layout.projects / name))
            missing -= there
            rows += [(session_of(entry), name) for entry in sorted(there)]
    deleted = frozenset(session_of(name) for name in missing)
    return Whereabouts(tuple(rows), deleted)


def _names(state: State, directory: str) -> Iterator[str]:
    if directory in state.directory_names:
        yield from (item.name for item in state.directory(directory).items)


# -- what of each directory goes back


@dataclass(frozen=True)
class Portion:
    """What of one directory at NEW goes back to one at OLD."""

    move: ProjectMove  # of the run; of a project begun since one that never was
    directory: ProjectDirectory
    items: tuple[Item, ...]  # of sessions
    staying: tuple[Item, ...]  # of sessions that came since
    follows: bool  # what came since goes back
    is_whole: bool  # the directory itself goes back, with all that is in it

    @property
    def source(self) -> Path:
        return self.directory.path

    @property
    def target(self) -> Path:
        return self.source.with_name(self.move.source)

    def back(self, kind: str) -> ProjectMove:
        """As a move NEW -> OLD, with what really goes."""
        sizes = [item.size for item in self.items if item.size is not None]
        return replace(
            self.move,
            path=self.move.new_path,
            new_path=self.move.path,
            source=self.move.target,
            target=self.move.source,
            kind=kind,
            entries=tuple(item.name for item in self.items),
            notes=(),
            transcripts=len(sizes),
            size=sum(sizes),
        )


def portions_back(state: State, since: Since) -> Iterator[Portion]:
    """A portion for each move of the run, and for each project begun since below NEW."""
    by_target: dict[str, list[ProjectMove]] = defaultdict(list)
    for move in since.manifest.projects:
        by_target[move.target].append(move)
    there = set(state.directory_names)
    for name, moves in by_target.items():
        if name in there:
            yield from _portions_of(state.directory(name), moves, since)
    yield from _begun_since(state, since, set(by_target))


def _portions_of(
    directory: ProjectDirectory, moves: list[ProjectMove], since: Since
) -> Iterator[Portion]:
    """What of one directory goes back by each of the moves that came to it."""
    shares: dict[ProjectMove, list[Item]] = {move: [] for move in moves}
    staying: list[Item] = []
    for item in directory.items:
        if is_of_session(item.name):
            move = _goes_with(item, directory, moves, since)
            if move is not None:
                shares[move].append(item)
            elif session_of(item.name) not in since.own_sessions:
                staying.append(item)
    notes = set(notes_among(directory.path, directory.items))
    for move in moves:
        notes -= set(move.notes)
    for move, items in shares.items():
        follows = since.following.map(move.new_path) == move.path
        # The directory itself came with this move, and nothing that came since stays.
        is_whole = move.kind == "rename" and not staying and (follows or not notes)
        yield Portion(move, directory, tuple(items), tuple(staying), follows, is_whole)


def _goes_with(
    item: Item, directory: ProjectDirectory, moves: list[ProjectMove], since: Since
) -> ProjectMove | None:
    """The move by whose undo an entry of a session goes back; None: it stays."""
    session = session_of(item.name)
    brought = since.brought.get(session)
    if brought is not None:
        return brought if brought in moves else None
    if session in since.own_sessions or session in since.elsewhere:
        return None
    by_path = {move.new_path: move for move in reversed(moves)}
    move = by_path.get(item.path or "")
    if move is None and len(by_path) == 1:  # it names no other path of this directory
        is_other = item.path is not None and may_be_name_of(directory.name, item.path)
        move = None if is_other else moves[0]
    if move is None or since.following.map(move.new_path) != move.path:
        return None
    return move


def _begun_since(state: State, since: Since, targets: set[str]) -> Iterator[Portion]:
    """Directories of projects that were begun below NEW after the run."""
    news = [new for new, _ in since.following.moves]
    starts = tuple(encode(new)[:200] for new in news)
    names = [name for name in state.directory_names if name.startswith(starts)]
    for directory in state.readable(n for n in names if n not in targets):
        paths = directory.named_paths() - since.own_paths
        olds = {path: since.following.map(path) for path in paths}
        if len(paths) != 1 or None in olds.values():
            continue
        (new, old), *_ = olds.items()
        items = tuple(i for i in directory.items if is_of_session(i.name))
        move = ProjectMove(
            str(old), new, encode(str(old)), directory.name, "rename", ()
        )
        yield Portion(move, directory, items, (), follows=True, is_whole=True)


# -- who is at OLD, and what builds on the run


def refuse_users(
    state: State, since: Since, portions: Iterable[Portion], *, merge: bool
) -> dict[str, int]:
    """Each OLD with sessions begun there since, and how many; somebody else's is refused.

    OLD is in use by somebody else if its folder exists, and NEW's folder exists as well
    or is another repository. NEW's folder gone: it was renamed back.
    """
    merged: dict[str, int] = {}
    # What is in a directory that the run filled goes away from it with the undo.
    there = set(state.directory_names)
    there -= {move.target for move in since.manifest.projects}
    for portion in portions:
        move = portion.move
        if move.source not in there:
            continue
        begun = _begun_at(state.directory(move.source), move, since)
        if not begun:
            continue
        merged[move.path] = len(begun)
        if merge or not folder_exists(move.path):
            continue
        if folder_exists(move.new_path):
            raise RefusedError(
                f"{move.path} is in use again: {plural(len(begun), 'session')} "
                f"{'was' if len(begun) == 1 else 'were'} begun there since",
                run("ccmove", "list", move.path, text="what is there"),
                again("to merge them all the same", ["--merge"]),
            )
        directory = state.layout.projects / move.source
        oldest = min(ages(directory, [item.name for item in begun]), default=None)
        coming = ages(portion.source, [item.name for item in portion.items])
        present = Present(len(begun), oldest)
        newest = max(coming, default=None)
        refuse_another(state, move.new_path, move.path, present, newest)
    return merged


def _begun_at(
    directory: ProjectDirectory, move: ProjectMove, since: Since
) -> list[Item]:
    """Sessions of OLD's own in its directory that the run did not leave there."""
    begun = []
    for item in directory.transcripts:
        is_brought = session_of(item.name) in since.brought
        is_of_old = item.path == move.path or item.path is None
        if is_of_old and not is_brought and move.kind != "split":
            begun.append(item)
    return begun


def refuse_built_on(manifest: Manifest, backups: Iterable[Backup]) -> None:
    """What a later run took on from NEW, or brought there as well, has to go back first.

    A later move and its undo cancel out.
    """
    manifests = [b.manifest for b in backups if b.manifest is not None]
    later = [m for m in manifests if m.id > manifest.id]
    undone = {m.undoes for m in later}
    names = {move.target for move in manifest.projects}
    for run_since in reversed(later):
        is_cancelled = run_since.id in undone or (run_since.undoes or "") > manifest.id
        if not is_cancelled and _builds_on(run_since, manifest, names):
            old, new = run_since.moves[0]
            what = f"a later run builds on {manifest.id}: {run_since.id}"
            hint = run("ccmove", "undo", run_since.id, text="undo that first")
            if run_since.kind == "undo":
                hint = run("ccmove", new, old, text="move that again first")
            raise RefusedError(f"{what} moved {old} to {new}", hint)


def _builds_on(later: Manifest, manifest: Manifest, names: set[str]) -> bool:
    """Whether a later move left from NEW, or came to it, or shares its directory."""
    news = [new for _, new in manifest.moves]
    for old, new in later.moves:
        for before in news:
            if are_nested(old, before) or tail_below(new, before) is not None:
                return True
    return any({move.source, move.target} & names for move in later.projects)


# -- what is told


def stays_at_new(portions: Iterable[Portion]) -> Iterator[LeftAlone]:
    """Sessions that came since and stay, with what brings them along."""
    told: set[str] = set()
    for portion in portions:
        new, old = portion.move.new_path, portion.move.path
        staying = [item for item in portion.staying if item.path in (None, new)]
        sessions = {session_of(item.name) for item in staying}
        if sessions and new not in told:
            told.add(new)
            number = plural(len(sessions), "session")
            what = f"{number} begun since stay there; to move everything to {old}"
            yield LeftAlone(new, what, ("ccmove", "--skip-path-check", new, old))


def folders_to_rename(layout: Layout, since: Since) -> Iterator[LeftAlone]:
    """The state is at OLD again; its folder is the user's to rename.

    Not where something of NEW's own stays, nor the home, nor another folder than the
    one that was there.
    """
    manifest = since.manifest
    if manifest.folders:
        return
    for old, new in manifest.moves:
        is_home = any(
            place.is_relative_to(new) for place in (layout.home, layout.config_dir)
        )
        is_free = not os.path.lexists(old) and os.path.isdir(os.path.dirname(old))
        follows = since.following.map(new) == old
        if follows and is_free and not is_home and folder_id(new) in manifest.homes:
            what = "the folder still has its new name; to rename it too"
            yield LeftAlone(new, what, ("mv", new, old))


# -- the operations


def brought_things(layout: Layout, manifest: Manifest) -> Iterator[tuple[Path, Path]]:
    """Where things in project directories ended that the run renamed, and began."""
    began: dict[Path, Path] = {}
    for operation in manifest.operations:
        if isinstance(operation, Rename):
            start = ends_of(operation.path, began)
            began.pop(operation.path, None)
            began[operation.target] = start
    projects = layout.projects
    for end, start in began.items():
        if end.is_relative_to(projects) and start.is_relative_to(projects):
            yield end, start


class Undoing:
    """Plans the operations that bring everything back."""

    def __init__(
        self,
        layout: Layout,
        since: Since,
        portions: list[Portion],
        sessions: Whereabouts,
    ) -> None:
        self.gone = sessions.elsewhere | sessions.deleted
        self.layout = layout
        self.since = since
        self.manifest = since.manifest
        self.portions = [p for p in portions if p.source != p.target]
        self.unmoved = [p for p in portions if p.source == p.target]
        self.directory = layout.backups / self.manifest.id
        self.brought = dict(brought_things(layout, self.manifest))
        self.placer = Placer(layout)
        for portion in portions:
            directory = portion.source
            self.placer.came_from[directory] = last_part(portion.move.new_path)
        self.tree = self.placer.tree
        self.staying_lines: dict[Path, str] = {}  # of a MEMORY.md that goes back
        self.folders: list[tuple[Path, Path]] = []
        self.warnings: list[str] = []

    def warn(self, what: str) -> None:
        self.warnings.append(what)

    def plan(self) -> None:
        whole = [portion for portion in self.portions if portion.is_whole]
        parts = [portion for portion in self.portions if not portion.is_whole]
        # What a directory came with leaves it last.
        parts.sort(key=lambda portion: portion.move.kind == "rename")
        self._take_changes_out()
        for portion in whole:
            self._rewrite_index(portion)
        self._bring_out_what_was_set_aside(directories=True)
        emptied = {portion.source for portion in whole}
        for portion in parts:
            if portion.source in emptied:  # it makes way for the one that goes whole
                self._bring_part(portion)
        targets = {portion.target for portion in whole}
        self._bring_things_back(emptied, targets)
        parked = self.layout.run / "parked"
        moves = dict.fromkeys((portion.source, portion.target) for portion in whole)
        for path, final in in_order(moves, lambda _, number: parked / str(number)):
            self.placer.bring(path, final)
        self._bring_out_what_was_set_aside(directories=True)
        for portion in parts:
            if portion.source not in emptied:
                self._bring_part(portion)
        others = {portion.source for portion in self.portions} - emptied
        self._bring_things_back(others, set())
        self._bring_things_back(None, set())
        self._bring_notes_of_since()
        self._bring_out_what_was_set_aside(directories=True)
        self._bring_out_what_was_set_aside(directories=False)
        self._remove_what_was_made()
        self._rename_folders_back()
        refuse_conflicts(self.placer)

    def projects(self) -> Iterator[ProjectMove]:
        """What goes back, in the words of a move."""
        for portion in self.portions:
            is_renamed = self.tree.now(portion.target) == portion.source
            kind = "merge"
            if portion.is_whole and is_renamed:
                kind = "rename"
            elif not portion.is_whole:
                kind = "split"
            yield portion.back(kind)
        yield from (portion.back("same") for portion in self.unmoved)

    # -- documents

    def _take_changes_out(self) -> None:
        """Each document that the run wrote, and the config file in any case."""
        for operation in self.manifest.operations:
            if isinstance(operation, Wrote):
                self._take_out(operation)
        file = self.layout.real_config_file
        wrote = (op for op in self.manifest.operations if isinstance(op, Wrote))
        if all(op.place != "config" for op in wrote):
            document = read_document(file)
            if document is not None:
                draft = self.placer.draft(file, document)
                draft.text = self._config_of_since(draft.text)

    def _config_of_since(self, text: str) -> str:
        """What was made at NEW since, in a config file that the run did not write."""
        had = {own.path: own.config for own in self.manifest.own if own.config}
        try:
            return settings_of_since(text, self.since.following.map, had)
        except NotJsonError:
            return text

    def _take_out(self, wrote: Wrote) -> None:
        """The document as it is now without the run's change."""
        document = read_document(wrote.ends)
        if document is None:  # its owner may have renamed the folder back
            old = self.manifest.paths.reversed().map(str(wrote.ends))
            document = read_document(Path(old)) if old is not None else None
        if document is None:
            self.warn(f"{wrote.ends} is gone; its old content is in the backup")
            return
        if wrote.before is None:
            self._take_out_made(wrote, document)
            return
        if self._is_index_of_a_part(wrote):
            was_brought = wrote.path != wrote.ends
            digest = sha256(document.data)
            known = (wrote.before.sha256, wrote.after.sha256)
            if was_brought or digest not in known:
                return  # its entries go session by session
        data = document.data
        content, named, mtime = document_back(self.directory, self.since, wrote, data)
        draft = self.placer.draft(document.path, document)
        draft.text, draft.mtime_ns = as_text(content), mtime
        for place in named:
            self.warn(f"{wrote.ends}: {place} has changed since, so it stays")
        if wrote.path.name == MEMORY_FILE:
            self._part_memory(wrote, draft)

    def _take_out_made(self, wrote: Wrote, document: Document) -> None:
        """A copy that the run made goes, unless it was changed, or is the only one."""
        if sha256(document.data) != wrote.after.sha256:
            return
        portion = self._portion_from(self._project_directory(document.path))
        if portion is not None:
            inside = document.path.relative_to(portion.source)
            original = (portion.target / inside).with_name(name_of_both(inside.name))
            if not self.tree.has(original):
                self._make_parents(original)
                self.placer.bring(document.path, original)
                return
        self.placer.set_aside(document.path)

    def _is_index_of_a_part(self, wrote: Wrote) -> bool:
        if wrote.place != "index":
            return False
        whole = [p.source for p in self.portions if p.is_whole]
        parts = [p.source for p in self.portions if p.source not in whole]
        return wrote.ends.parent in parts

    def _part_memory(self, wrote: Wrote, draft: Draft) -> None:
        """Of a MEMORY.md that was merged, the lines that came since follow the folder.

        `draft` is without the run's change.
        """
        portion = self._portion_from(self._project_directory(wrote.ends))
        if portion is None or portion.is_whole:
            return
        before = as_text(read_saved(self.directory, wrote, "before"))
        since = lines_lacking(draft.text, before)
        was_brought = wrote.path != wrote.ends
        if was_brought and not portion.follows:
            draft.text = before
            self.staying_lines[wrote.ends] = since
        elif portion.follows and not was_brought:
            draft.text = before
            original = self._aside_of(portion.target / MEMORY / MEMORY_FILE)
            if original is not None:
                there = self.placer.draft(original)
                there.text = appended(there.text, since)

    def _portion_from(self, source: Path) -> Portion | None:
        return next((p for p in self.portions if p.source == source), None)

    def _aside_of(self, path: Path) -> Path | None:
        """Where the run keeps what it set aside from this place."""
        for operation in self._set_aside():
            if operation.path == path and is_there(operation.target):
                return operation.target
        return None

    def _set_aside(self) -> list[Rename]:
        aside = self.directory / "aside"
        renames = [op for op in self.manifest.operations if isinstance(op, Rename)]
        return [op for op in renames if op.target.parent == aside]

    # -- index entries

    def _maps_back(self, portion: Portion) -> tuple[PathMap, NameMap]:
        paths = PathMap(((portion.move.new_path, portion.move.path),))
        names = ((portion.source.name, portion.target.name),)
        return paths, NameMap(names, paths)

    def _rewrite_index(self, portion: Portion) -> None:
        """The index of a directory that goes back whole, unless it is as before."""
        file = portion.source / INDEX
        document = portion.directory.index_file
        wrote = (op.ends for op in self.manifest.operations if isinstance(op, Wrote))
        if document is None or file in wrote:
            return
        draft = self.placer.draft(file, document)
        try:
            draft.text = index.rewritten(draft.text, *self._maps_back(portion))
        except NotJsonError:
            return

    def _split_index(self, portion: Portion) -> None:
        """Entries of sessions that go back leave the index at NEW, with their paths."""
        file, document = portion.source / INDEX, portion.directory.index_file
        if document is None or not self.tree.has(file):
            return
        draft = self.placer.draft_at(file)
        if draft is None:
            return
        try:
            entries = index.entries(draft.text)
            leaving = [(key, raw) for key, raw in entries if self._leaves(key, portion)]
            if not leaving:
                return
            rest = index.without(draft.text, {key for key, _ in leaving})
            made = index.made(leaving, portion.move.path)
            made = index.rewritten(made, *self._maps_back(portion))
        except NotJsonError:
            return
        if self._brought_its_index(portion) and not index.entries(rest):
            draft.text = self._index_before(file, draft.text, portion)
            self.placer.bring(file, portion.target / INDEX)
            return
        draft.text = rest
        original = self._aside_of(portion.target / INDEX)
        if original is not None:
            self.placer.bring(original, portion.target / INDEX)
            there = self.placer.draft(original)
            listed = {key for key, _ in leaving}
            there.text = index.without(there.text, listed | self.gone)
        self.placer.add(made, file, portion.target / INDEX, 0o600)

    def _brought_its_index(self, portion: Portion) -> bool:
        """Whether the index at NEW is the very file that OLD had."""
        file = portion.source / INDEX
        came_alone = self.brought.get(file) == portion.target / INDEX
        return came_alone or portion.move.kind == "rename"

    def _index_before(self, file: Path, text: str, portion: Portion) -> str:
        """The original text of an index that is as the run left it, or this one with
        its paths back.
        """
        for operation in self.manifest.operations:
            if isinstance(operation, Wrote) and operation.ends == file:
                left = read_saved(self.directory, operation, "after")
                if operation.before is not None and as_text(left) == text:
                    return as_text(read_saved(self.directory, operation, "before"))
        return index.rewritten(text, *self._maps_back(portion))

    def _leaves(self, session: str, portion: Portion) -> bool:
        """Whether an entry of NEW's index goes back with the portion.

        Of an index that the run brought all goes but what is a session's that stays.
        """
        if session in self.since.brought:
            return self.since.brought[session] == portion.move
        if session in {session_of(item.name) for item in portion.items}:
            return True
        if not self._brought_its_index(portion):
            return False
        staying = {session_of(item.name) for item in portion.staying}
        return session not in staying | self.since.had

    # -- directories

    def _bring_part(self, portion: Portion) -> None:
        """Sessions one by one; what NEW had, and what stays, stays."""
        self._make_directory(portion)
        self._split_index(portion)
        for item in portion.items:
            path = portion.source / item.name
            is_merged = session_of(item.name) in self.since.had
            if is_merged and path not in self.brought:
                continue  # a folder that both had goes back part by part
            if self.tree.has(path):
                # It may have another name beside one that NEW had.
                final = self.brought.get(path, portion.target / item.name)
                self.placer.bring(path, final)

    def _make_directory(self, portion: Portion) -> None:
        """OLD's directory, if it is not there again."""
        if not self.tree.has(portion.target):
            self.tree.make_directory(portion.target, mode_of(portion.source))

    def _bring_things_back(
        self, directories: set[Path] | None, but_to: set[Path]
    ) -> None:
        """What the run renamed and is no session: notes, downloads, parts of folders.

        In these directories, or in those of no portion; not what goes back to a
        directory that goes whole.
        """
        known = {portion.source for portion in self.portions}
        for portion in self.portions if directories is not None else ():
            is_part = portion.move.kind == "rename" and not portion.is_whole
            if is_part and portion.source in (directories or ()):
                self._bring_notes_of_directory(portion)
        for end, start in self.brought.items():
            directory = self._project_directory(end)
            is_wanted = directory not in known
            if directories is not None:
                is_wanted = directory in directories
            goes_whole = self._project_directory(start) in but_to
            if not is_wanted or goes_whole or not self._is_in_place(end):
                continue
            if end == directory:
                if self._portion_from(directory) is None:
                    self.placer.bring(end, start)
            elif end.name != INDEX and not self._is_of_brought_session(end):
                self._bring_thing_back(end, start)

    def _bring_notes_of_directory(self, portion: Portion) -> None:
        """Notes that came with their whole directory, which stays."""
        for name in portion.move.notes:
            note = portion.source / name
            if name != INDEX and self._is_in_place(note):
                self._bring_note_back(note, portion.target / name)

    def _project_directory(self, path: Path) -> Path:
        projects = self.layout.projects
        return projects / path.relative_to(projects).parts[0]

    def _is_in_place(self, path: Path) -> bool:
        """Whether it is still where the run brought it, by then, too."""
        return self.tree.has(path) and self.tree.now(path) == path

    def _is_of_brought_session(self, path: Path) -> bool:
        """A session goes back as a whole, but for a folder that both had."""
        name = path.relative_to(self._project_directory(path)).parts[0]
        session = session_of(name)
        return session in self.since.brought and session not in self.since.had

    def _bring_thing_back(self, end: Path, start: Path) -> None:
        """A note, or a directory with what goes back of it."""
        if not self.tree.is_directory(end):
            self._bring_note_back(end, start)
            return
        files = [Path(name) for name in self.tree.files_below(end)]
        going = [name for name in files if self._goes_back(start / name)]
        is_whole = going == files and not any(self._parts(end / f) for f in files)
        if is_whole:
            self._make_parents(start)
            self.placer.bring(end, start)
            return
        for name in going:
            self._bring_note_back(end / name, start / name)

    def _goes_back(self, original: Path) -> bool:
        """Whether a file goes back to where it was: one that the run brought does; one
        that came since follows the folder.
        """
        directory = self._project_directory(original)
        portion = next((p for p in self.portions if p.target == directory), None)
        if portion is None or portion.follows:
            return True
        name = original.relative_to(directory)
        return is_of_session(name.parts[0]) or name.as_posix() in portion.move.notes

    def _parts(self, note: Path) -> SavedNote | None:
        """The saved note, where OLD gets that and NEW keeps what it became since."""
        portion = self._portion_from(self._project_directory(note))
        if portion is None or portion.follows or not is_there(note):
            return None
        for saved in self.manifest.notes_saved:
            if saved.ends == note and sha256_of(note) != saved.content.sha256:
                return saved
        return None

    def _bring_note_back(self, note: Path, final: Path) -> None:
        """One that has changed since stays where that stays; OLD gets the saved one."""
        self._make_parents(final)
        saved = self._parts(note)
        if saved is None:
            self.placer.bring(note, final)
        else:
            original = as_text(read_note(self.directory, saved))
            self.placer.add(original, note, final, saved.content.mode)
            if note.name == MEMORY_FILE:
                draft = self.placer.draft(note)
                draft.text = lines_lacking(draft.text, original)
        if lines := self.staying_lines.get(note):
            self.placer.add(lines, note, note, 0o600)

    def _bring_notes_of_since(self) -> None:
        """Notes that came since to a directory that NEW had, where they follow."""
        for portion in self.portions:
            if portion.is_whole or not portion.follows:
                continue
            own = self._own_notes(portion.move.new_path)
            for name in notes_among(portion.source, portion.directory.items):
                note = portion.source / name
                if name == INDEX or name in own or not self._is_in_place(note):
                    continue
                self._bring_note_back(note, portion.target / name)

    def _own_notes(self, path: str) -> tuple[str, ...]:
        for own in self.manifest.own:
            if own.path == path:
                return own.notes
        return ()

    def _bring_out_what_was_set_aside(self, *, directories: bool) -> None:
        """What was there before the run is there again, where its place is free.

        Directories are empty, and come first.
        """
        for operation in reversed(self._set_aside()):
            path, kept = operation.path, operation.target
            if not self.tree.has(kept) or self.tree.has(path):
                continue
            if self.tree.is_directory(kept) == directories:
                self._make_parents(path)
                self.placer.bring(kept, path)
                if path.name == INDEX:
                    self._forget_gone(kept)

    def _forget_gone(self, kept: Path) -> None:
        """Sessions that left for another project, or were deleted, are in no index."""
        draft = self.placer.draft(kept)
        try:
            draft.text = index.without(draft.text, self.gone)
        except NotJsonError:
            return

    def _make_parents(self, path: Path) -> None:
        """A directory that the client or its owner has removed since."""
        for parent in reversed(path.parents):
            is_ours = parent.is_relative_to(self.layout.run)
            if not self.tree.has(parent) and not is_ours:
                self.tree.make_directory(parent, 0o700)

    def _remove_what_was_made(self) -> None:
        """Directories that the run made go if they are empty again."""
        for operation in reversed(self.manifest.operations):
            if isinstance(operation, Mkdir) and self.tree.is_directory(operation.path):
                self._set_aside_if_empty(operation.path)

    def _set_aside_if_empty(self, directory: Path) -> None:
        """An empty directory in it is nothing."""
        for name in self.tree.names(directory):
            if self.tree.is_directory(directory / name):
                self._set_aside_if_empty(directory / name)
        if not self.tree.names(directory):
            self.placer.set_aside(directory)

    # -- project folders

    def _rename_folders_back(self) -> None:
        for operation in reversed(self.manifest.operations):
            holds = operation.holds if isinstance(operation, Rename) else None
            if isinstance(operation, Rename) and isinstance(holds, FolderHolds):
                self._rename_folder_back(operation, holds)

    def _rename_folder_back(self, rename: Rename, holds: FolderHolds) -> None:
        """A project folder goes back only if it is the one that was renamed, to a free
        place.
        """
        now = self.tree.now(rename.target)
        if now is None:
            self.warn(f"{rename.target} is gone; it can't go back to {rename.path}")
            return
        if not is_noted(now, holds):
            raise RefusedError(
                f"{rename.target} is not the folder that was renamed from "
                f"{rename.path}",
                run("ccmove", "backups", text="it stays; what else can be undone"),
            )
        self.placer.rename_folder(rename.target, rename.path)
        self.folders.append((rename.path, rename.target))
