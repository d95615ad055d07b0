"""The operations of an undo: what goes back becomes renames and new content.

Project directories go back whole or session by session, notes and documents lose the
run's change, what was set aside comes back where its place is free, project folders get
their old names. Nothing is ever overwritten.
"""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.owners import session_of
from ccmove.claude.reading import Document, is_there, read_document, sha256_of
from ccmove.claude.state import INDEX, MEMORY, is_of_session, notes_among
from ccmove.errors import RefusedError, run
from ccmove.plan.meeting import last_part, name_of_both
from ccmove.plan.model import FolderHolds, Mkdir, ProjectMove, Rename
from ccmove.plan.placing import (
    MEMORY_FILE,
    Draft,
    Placer,
    in_order,
    mode_of,
    refuse_conflicts,
)
from ccmove.plan.tree import ends_of
from ccmove.rewrite import index
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.rewrite.lines import appended, lines_lacking
from ccmove.rewrite.pathmap import NameMap, PathMap
from ccmove.rewrite.threeway import settings_of_since
from ccmove.run.manifest import Manifest, SavedNote, Wrote, sha256
from ccmove.run.recognise import is_noted
from ccmove.run.saved import as_text, document_back, following, read_note, read_saved
from ccmove.run.since import Since
from ccmove.run.whereabouts import Portion, Whereabouts, sessions_of


def brought_things(layout: Layout, manifest: Manifest) -> Iterator[tuple[Path, Path]]:
    """Where things in project directories ended that the run renamed, and began."""
    began: dict[Path, Path] = {}
    for operation in manifest.operations:
        if not isinstance(operation, Rename):
            continue
        start = ends_of(operation.path, began)
        began.pop(operation.path, None)
        began[operation.target] = start
    for end, start in began.items():
        if not end.is_relative_to(layout.projects):
            continue
        if not start.is_relative_to(layout.projects):
            continue
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
        self.layout = layout
        self.since = since
        self.manifest = since.manifest
        self.directory = layout.backups / self.manifest.id
        self.gone = sessions.elsewhere | sessions.deleted
        self.brought = dict(brought_things(layout, self.manifest))
        self.placer = Placer(layout)
        self.tree = self.placer.tree
        self.portions: list[Portion] = []
        self.unmoved: list[Portion] = []  # OLD and NEW have one directory
        for portion in portions:
            name = last_part(portion.move.new_path)
            self.placer.came_from[portion.source] = name
            if portion.source == portion.target:
                self.unmoved.append(portion)
            else:
                self.portions.append(portion)
        self.by_source = {portion.source: portion for portion in self.portions[::-1]}
        self.staying_lines: dict[Path, str] = {}  # of a MEMORY.md that goes back
        self.folders: list[tuple[Path, Path]] = []
        self.warnings: list[str] = []

    def warn(self, what: str) -> None:
        self.warnings.append(what)

    def plan(self) -> None:
        """All the operations, in such an order that each place is free by then."""
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
                self._bring_things_back(portion)
        parked = self.layout.run / "parked"
        moves = dict.fromkeys((portion.source, portion.target) for portion in whole)
        for path, final in in_order(moves, lambda _, number: parked / str(number)):
            self.placer.bring(path, final)
        self._bring_out_what_was_set_aside(directories=True)
        for portion in parts:
            if portion.source not in emptied:
                self._bring_part(portion)
                self._bring_things_back(portion)
        self._bring_downloads_back()
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
        is_config_written = False
        for wrote in self._writes.values():
            self._take_out(wrote)
            if wrote.place == "config":
                is_config_written = True
        if not is_config_written:
            self._bring_settings_of_since()

    @cached_property
    def _writes(self) -> dict[Path, Wrote]:
        """What the run wrote, by where it was when the run was done."""
        writes = [op for op in self.manifest.operations if isinstance(op, Wrote)]
        return {wrote.ends: wrote for wrote in writes}

    def _bring_settings_of_since(self) -> None:
        """What was made at NEW since, in a config file that the run did not write."""
        file = self.layout.real_config_file
        document = read_document(file)
        if document is None:
            return
        draft = self.placer.draft(file, document)
        had = {own.path: own.config for own in self.manifest.own if own.config}
        try:
            back = following(self.layout, self.since)
            draft.text = settings_of_since(draft.text, back, had)
        except NotJsonError:
            return

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
        data = document.data
        is_changed = sha256(data) not in (wrote.before.sha256, wrote.after.sha256)
        was_brought = wrote.path != wrote.ends
        if self._is_index_of_a_part(wrote) and (is_changed or was_brought):
            return  # its entries go session by session
        content, named, mtime = document_back(
            self.layout, self.directory, self.since, wrote, data
        )
        draft = self.placer.draft(document.path, document)
        draft.text = as_text(content)
        draft.mtime_ns = mtime
        for place in named:
            self.warn(f"{wrote.ends}: {place} has changed since, so it stays")
        if wrote.path.name == MEMORY_FILE:
            self._part_memory(wrote, draft)

    def _take_out_made(self, wrote: Wrote, document: Document) -> None:
        """A copy that the run made goes, unless it was changed, or is the only one."""
        if sha256(document.data) != wrote.after.sha256:
            return
        copy = document.path
        original = self._place_at_old(copy)
        if original is None or self.tree.has(original):
            self.placer.set_aside(copy)
        else:
            self._make_parents(original)
            self.placer.bring(copy, original)

    def _place_at_old(self, path: Path) -> Path | None:
        """Where a file was that got a name beside another; None: it came with nothing
        that goes back.
        """
        portion = self._portion_of(path)
        if portion is None:
            return None
        inside = path.relative_to(portion.source)
        original = portion.target / inside
        return original.with_name(name_of_both(inside.name))

    def _is_index_of_a_part(self, wrote: Wrote) -> bool:
        if wrote.place != "index":
            return False
        is_of_a_portion = False
        for portion in self.portions:
            if portion.source == wrote.ends.parent:
                is_of_a_portion = True
                if portion.is_whole:
                    return False
        return is_of_a_portion

    def _part_memory(self, wrote: Wrote, draft: Draft) -> None:
        """Of a MEMORY.md that was merged, the lines that came since follow the folder.

        `draft` is without the run's change.
        """
        portion = self._portion_of(wrote.ends)
        if portion is None or portion.is_whole:
            return
        before = as_text(read_saved(self.directory, wrote, "before"))
        since = lines_lacking(draft.text, before)
        goes_back = wrote.path != wrote.ends  # the file itself was brought
        if goes_back == portion.follows:
            return  # file and lines stay together
        draft.text = before
        if goes_back:
            self.staying_lines[wrote.ends] = since
            return
        original = self._aside_of(portion.target / MEMORY / MEMORY_FILE)
        if original is not None:
            there = self.placer.draft(original)
            there.text = appended(there.text, since)

    def _portion_of(self, path: Path) -> Portion | None:
        """The one in whose directory at NEW this is."""
        return self._portion_from(self._project_directory(path))

    def _portion_from(self, source: Path) -> Portion | None:
        return self.by_source.get(source)

    def _aside_of(self, path: Path) -> Path | None:
        """Where the run keeps what it set aside from this place."""
        kept = self._set_aside.get(path)
        if kept is None or not is_there(kept):
            return None
        return kept

    @cached_property
    def _set_aside(self) -> dict[Path, Path]:
        """Where things were that the run set aside -> where they are kept."""
        aside = self.directory / "aside"
        renames = [op for op in self.manifest.operations if isinstance(op, Rename)]
        return {op.path: op.target for op in renames if op.target.parent == aside}

    # -- index entries

    def _index_back(self, text: str, portion: Portion) -> str:
        """An index with OLD's paths; NotJsonError when it is none."""
        paths = PathMap(((portion.move.new_path, portion.move.path),))
        names = ((portion.source.name, portion.target.name),)
        return index.rewritten(text, paths.map, NameMap(names, paths))

    def _rewrite_index(self, portion: Portion) -> None:
        """The index of a directory that goes back whole, unless it is as before."""
        file = portion.source / INDEX
        document = portion.directory.index_file
        if document is None or file in self._writes:
            return
        draft = self.placer.draft(file, document)
        try:
            draft.text = self._index_back(draft.text, portion)
        except NotJsonError:
            return

    def _split_index(self, portion: Portion) -> None:
        """Entries of sessions that go back leave the index at NEW, with their paths."""
        file = portion.source / INDEX
        final = portion.target / INDEX
        draft = self._draft_of_index(portion)
        if draft is None:
            return
        try:
            leaving = self._entries_leaving(draft.text, portion)
            if not leaving:
                return
            listed = {session for session, _ in leaving}
            rest = index.without(draft.text, listed)
            made = index.made(leaving, portion.move.path)
            made = self._index_back(made, portion)
        except NotJsonError:
            return
        if self._brought_its_index(portion) and not index.entries(rest):
            draft.text = self._index_before(draft.text, portion)
            self.placer.bring(file, final)
            return
        draft.text = rest
        original = self._aside_of(final)
        if original is not None and not self.tree.has(final):
            self.placer.bring(original, final)
            there = self.placer.draft(original)
            there.text = index.without(there.text, listed | self.gone)
        self.placer.add(made, file, final, 0o600)

    def _brought_its_index(self, portion: Portion) -> bool:
        """Whether the index at NEW is the very file that OLD had."""
        file = portion.source / INDEX
        came_alone = self.brought.get(file) == portion.target / INDEX
        return came_alone or portion.move.kind == "rename"

    def _index_before(self, text: str, portion: Portion) -> str:
        """The original of an index that is as the run left it, else OLD's paths."""
        wrote = self._writes.get(portion.source / INDEX)
        if wrote is None or wrote.before is None:
            return self._index_back(text, portion)
        if as_text(read_saved(self.directory, wrote, "after")) != text:
            return self._index_back(text, portion)
        return as_text(read_saved(self.directory, wrote, "before"))

    def _draft_of_index(self, portion: Portion) -> Draft | None:
        file = portion.source / INDEX
        if portion.directory.index_file is None:
            return None
        if not self.tree.has(file):
            return None
        return self.placer.draft_at(file)

    def _entries_leaving(self, text: str, portion: Portion) -> index.Entries:
        entries = index.entries(text)
        return [entry for entry in entries if self._leaves(entry[0], portion)]

    def _leaves(self, session: str, portion: Portion) -> bool:
        """Whether an entry of NEW's index goes back with the portion.

        Of an index that the run brought all goes but what is a session's that stays.
        """
        move = self.since.brought.get(session)
        if move is not None:
            return move == portion.move
        if session in sessions_of(portion.items):
            return True
        if not self._brought_its_index(portion):
            return False
        if session in self.since.had:
            return False
        return session not in sessions_of(portion.staying)

    # -- directories

    def _bring_part(self, portion: Portion) -> None:
        """Sessions one by one; what NEW had, and what stays, stays."""
        self._make_directory(portion)
        self._split_index(portion)
        for item in portion.items:
            path = portion.source / item.name
            if path in self.brought:
                # It may have another name beside one that NEW had.
                final = self.brought[path]
            elif session_of(item.name) in self.since.had:
                continue  # a folder that both had goes back part by part
            else:
                final = portion.target / item.name
            if self.tree.has(path):
                self.placer.bring(path, final)

    def _make_directory(self, portion: Portion) -> None:
        """OLD's directory, if it is not there again."""
        if not self.tree.has(portion.target):
            self.tree.make_directory(portion.target, mode_of(portion.source))

    def _bring_things_back(self, portion: Portion) -> None:
        """What the run renamed but sessions: notes, and parts of folders."""
        if portion.move.kind == "rename":
            self._bring_notes_of_directory(portion)
        for end, start in self.brought.items():
            if not start.is_relative_to(portion.target):
                continue
            if end == portion.source or not end.is_relative_to(portion.source):
                continue
            if self._is_in_place(end):
                self._bring_thing_back(end, start)

    def _bring_downloads_back(self) -> None:
        """What connectors have saved: in directories of no project."""
        sources = {portion.source for portion in self.portions}
        for end, start in self.brought.items():
            directory = self._project_directory(end)
            if directory in sources or not self._is_in_place(end):
                continue
            if end == directory:
                self.placer.bring(end, start)
            else:
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
        if end.name == INDEX or self._is_of_brought_session(end):
            return  # it goes by its entries, or with its session
        if not self.tree.is_directory(end):
            self._bring_note_back(end, start)
            return
        files = list(map(Path, self.tree.files_below(end)))
        if self._goes_whole(end, start, files):
            self._make_parents(start)
            self.placer.bring(end, start)
            return
        for name in files:
            if self._goes_back(start / name):
                self._bring_note_back(end / name, start / name)

    def _goes_whole(self, end: Path, start: Path, files: list[Path]) -> bool:
        """Whether nothing of a directory stays, so that one rename does."""
        if not all(self._goes_back(start / name) for name in files):
            return False
        return not any(self._parts(end / name) for name in files)

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
        portion = self._portion_of(note)
        if portion is None or portion.follows:
            return None
        if not is_there(note):
            return None
        for saved in self.manifest.notes_saved:
            if saved.ends != note:
                continue
            if sha256_of(note) != saved.content.sha256:
                return saved
        return None

    def _bring_note_back(self, note: Path, final: Path) -> None:
        """One that has changed since stays where that stays; OLD gets the saved one."""
        self._make_parents(final)
        saved = self._parts(note)
        if saved is None:
            self.placer.bring(note, final)
        else:
            self._bring_saved_note(saved, note, final)
        lines = self.staying_lines.get(note)
        if lines:
            self.placer.add(lines, note, note, 0o600)

    def _bring_saved_note(self, saved: SavedNote, note: Path, final: Path) -> None:
        """Of a MEMORY.md only the lines stay that came since."""
        original = as_text(read_note(self.directory, saved))
        self.placer.add(original, note, final, saved.content.mode)
        if note.name == MEMORY_FILE:
            draft = self.placer.draft(note)
            draft.text = lines_lacking(draft.text, original)

    def _bring_notes_of_since(self) -> None:
        """Notes that came since to a directory that NEW had, where they follow."""
        for portion in self.portions:
            if portion.follows and not portion.is_whole:
                self._bring_new_notes(portion)

    def _bring_new_notes(self, portion: Portion) -> None:
        own = self._own_notes(portion.move.new_path)
        for name in notes_among(portion.source, portion.directory.items):
            if name == INDEX or name in own:
                continue
            note = portion.source / name
            final = portion.target / name
            if self._is_in_place(note):
                self._bring_note_back(note, final)

    def _own_notes(self, path: str) -> tuple[str, ...]:
        for own in self.manifest.own:
            if own.path == path:
                return own.notes
        return ()

    def _bring_out_what_was_set_aside(self, *, directories: bool) -> None:
        """What was there before the run is there again, where its place is free.

        Directories are empty, and come first.
        """
        for path, kept in reversed(self._set_aside.items()):
            if not self.tree.has(kept):
                continue
            if self.tree.is_directory(kept) != directories:
                continue
            is_index = path.name == INDEX
            if self.tree.has(path) and not is_index:
                continue
            if is_index:  # which joins the one that is there by now
                self._forget_gone(kept)
            self._make_parents(path)
            self.placer.bring(kept, path)

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
            if not isinstance(operation, Rename):
                continue
            if isinstance(operation.holds, FolderHolds):
                self._rename_folder_back(operation, operation.holds)

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
