"""The operations of an undo: what goes back becomes renames and new content.

After a merge, say, these are in NEW's directory: sessions that the run brought, those
that NEW had, and some that came since. `run.returning` has told them apart, so that
there is a portion for each project that came here:

1. Every document that the run wrote loses its change: config file, plugins, MEMORY.md.
2. Directories that were emptied, and retired for that, come out of the backup.
3. A directory that came whole, and of which nothing stays, is renamed back. Of any
   other the sessions of its portions go one by one, with their entries of the index,
   then the notes that came with them.
4. Notes that came since follow, where the sessions that came since do.
5. What became one with something at NEW comes out of the backup, where its place is
   free; what the run made and is empty again goes.
6. Project folders get their old names.

All of it goes by `plan.placing`, as in a move: nothing is ever overwritten.
"""

import contextlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Set
from functools import cached_property
from pathlib import Path

from ccmove.claude.owners import session_of
from ccmove.claude.reading import Document, is_there, sha256_of
from ccmove.claude.state import (
    INDEX,
    MEMORY,
    Item,
    State,
    is_of_session,
    notes_among,
)
from ccmove.errors import RefusedError
from ccmove.hints import to_type
from ccmove.plan.meeting import last_part, name_of_both
from ccmove.plan.model import FolderHolds, Mkdir, ProjectMove, Rename
from ccmove.plan.placing import (
    MEMORY_FILE,
    Draft,
    Placer,
    refuse_conflicts,
)
from ccmove.plan.tree import ends_of
from ccmove.rewrite import index
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.rewrite.lines import appended, lines_lacking
from ccmove.rewrite.pathmap import NameMap, PathMap
from ccmove.rewrite.threeway import settings_of_since
from ccmove.run.manifest import SavedNote, Wrote, sha256
from ccmove.run.recognise import is_noted
from ccmove.run.returning import Absent, PortionBack, sessions_of
from ccmove.run.saved import document_back, following, read_note, read_saved
from ccmove.run.since import Since
from ccmove.text import as_text

PortionsBack = dict[Path, PortionBack]


class Undoing:
    """Plans the operations that bring everything back."""

    def __init__(
        self, state: State, since: Since, portions: list[PortionBack], absent: Absent
    ) -> None:
        self.state = state
        self.layout = state.layout
        self.since = since
        self.manifest = since.manifest
        self.directory = self.layout.backups / self.manifest.id
        self.absent = absent.sessions
        self.placer = Placer(state)
        self.tree = self.placer.tree
        self.portions = portions
        # By the directory at NEW, and by the one at OLD; the first of several.
        self.portion_from: PortionsBack = {}
        self.portion_to: PortionsBack = {}
        self.whole: list[PortionBack] = []
        self.parts: list[PortionBack] = []
        self.emptied: set[Path] = set()  # directories at NEW that go back whole
        for portion in portions:
            self._sort(portion)
        self.staying_lines: dict[Path, str] = {}  # of a MEMORY.md that goes back
        self.folders: list[tuple[Path, Path]] = []
        self.warnings: list[str] = []

    def _sort(self, portion: PortionBack) -> None:
        """By place; nothing is renamed where OLD and NEW have one directory."""
        source = portion.source
        self.placer.came_from[source] = last_part(portion.move.new_path)
        if portion.is_in_place:
            return
        self.portion_from.setdefault(source, portion)
        self.portion_to.setdefault(portion.target, portion)
        if portion.is_whole:
            self.whole.append(portion)
            self.emptied.add(source)
        else:
            self.parts.append(portion)

    def plan(self) -> None:
        """All the operations, in such an order that each place is free by then.

        A portion that leaves a directory which goes back whole makes way for that.
        """
        # What a directory came with leaves it last.
        parts = sorted(self.parts, key=lambda portion: portion.move.kind == "rename")
        self._take_changes_out()
        self._bring_out_directories()
        for portion in parts:
            if portion.source in self.emptied:
                self._bring_part(portion)
        self._bring_whole_directories()
        self._bring_out_directories()
        for portion in parts:
            if portion.source not in self.emptied:
                self._bring_part(portion)
        self._bring_downloads_back()
        self._bring_notes_of_since()
        self._bring_out_the_rest()
        self._remove_what_was_made()
        self._rename_folders_back()
        refuse_conflicts(self.placer)

    def projects(self) -> Iterator[ProjectMove]:
        """What goes back, in the words of a move."""
        for portion in self.portions:
            kind = "merge"
            if portion.is_in_place:
                kind = "same"
            elif not portion.is_whole:
                kind = "split"
            elif self.tree.now(portion.target) == portion.source:
                kind = "rename"
            yield portion.back(kind)

    # -- what the run did, by place

    @cached_property
    def _writes(self) -> dict[Path, Wrote]:
        """What the run wrote, by where it was when the run was done."""
        writes = [op for op in self.manifest.operations if isinstance(op, Wrote)]
        return {wrote.ends: wrote for wrote in writes}

    @cached_property
    def _renames(self) -> list[Rename]:
        return [op for op in self.manifest.operations if isinstance(op, Rename)]

    @cached_property
    def _retired(self) -> dict[Path, Path]:
        """Where things were that the run retired -> where they are kept."""
        retired = self.directory / "retired"
        renames = [op for op in self._renames if op.target.parent == retired]
        return {op.path: op.target for op in renames}

    @cached_property
    def _brought(self) -> dict[Path, Path]:
        """Where things in project directories ended that were renamed -> and began."""
        began: dict[Path, Path] = {}
        for rename in self._renames:
            start = ends_of(rename.path, began)
            began.pop(rename.path, None)
            began[rename.target] = start
        brought: dict[Path, Path] = {}
        projects = self.layout.projects
        for end, start in began.items():
            was_inside = start.is_relative_to(projects)
            if was_inside and end.is_relative_to(projects):
                brought[end] = start
        return brought

    @cached_property
    def _brought_to(self) -> dict[Path, list[Path]]:
        """The same things by the project directory in which they ended."""
        ends: dict[Path, list[Path]] = defaultdict(list)
        for end in self._brought:
            ends[self._project_directory(end)].append(end)
        return ends

    def _project_directory(self, path: Path) -> Path:
        projects = self.layout.projects
        return projects / path.relative_to(projects).parts[0]

    def _portion_of(self, path: Path) -> PortionBack | None:
        """The one in whose directory at NEW this is."""
        return self.portion_from.get(self._project_directory(path))

    # -- documents

    def _take_changes_out(self) -> None:
        """Of each document that the run wrote; and settings and indexes that it did not
        write, in which something came since.
        """
        writes = self._writes
        for wrote in writes.values():
            self._take_out(wrote)
        if self.layout.real_config_file not in writes:
            self._bring_settings_of_since()
        for portion in self.whole:
            if portion.source / INDEX not in writes:
                self._rewrite_index(portion)

    def _bring_settings_of_since(self) -> None:
        file = self.layout.real_config_file
        if self.state.document(file) is None:
            return
        draft = self.placer.draft(file)
        back = following(self.layout, self.since)
        had: dict[str, str] = {}
        for own in self.manifest.own_at_new:
            if own.config:
                had[own.path] = own.config
        with contextlib.suppress(NotJsonError):
            draft.text = settings_of_since(draft.text, back, had)

    def _take_out(self, wrote: Wrote) -> None:
        """The document as it is now without the run's change."""
        document = self.state.document(wrote.ends)
        if document is None:  # its owner may have renamed the folder back
            old = self.manifest.paths.reversed().map(str(wrote.ends))
            document = self.state.document(Path(old)) if old is not None else None
        if document is None:
            what = "is gone; its old content is in the backup"
            self.warnings.append(f"{wrote.ends} {what}")
            return
        if wrote.before is None:
            self._take_out_made(wrote, document)
            return
        data = document.data
        is_changed = sha256(data) not in (wrote.before.sha256, wrote.after.sha256)
        was_brought = wrote.path != wrote.ends
        is_lost = self._has_lost_index(wrote.ends.parent)
        if self._is_index_of_parts(wrote) and (is_changed or was_brought or is_lost):
            return  # its entries go session by session
        content, named, mtime = document_back(
            self.layout, self.directory, self.since, wrote, data
        )
        draft = self.placer.draft(document.path)
        draft.text = as_text(content)
        draft.mtime_ns = mtime
        if wrote.form == "index" and not was_brought:  # entries come back to it
            self._forget(document.path, self._absent_from(document.path.parent))
        for place in named:
            what = f"{place} has changed since, so it stays"
            self.warnings.append(f"{wrote.ends}: {what}")
        if wrote.path.name == MEMORY_FILE:
            self._part_memory(wrote, draft)

    def _is_index_of_parts(self, wrote: Wrote) -> bool:
        directory = wrote.ends.parent
        is_part = directory in self.portion_from and directory not in self.emptied
        return is_part and wrote.form == "index"

    def _has_lost_index(self, directory: Path) -> bool:
        """Whether an OLD of what is in it has lost its index since, with the entries
        of before.
        """
        finals = [
            portion.target / INDEX
            for portion in self.parts
            if portion.source == directory
        ]
        return any(final in self._writes and not is_there(final) for final in finals)

    def _take_out_made(self, wrote: Wrote, document: Document) -> None:
        """A copy that the run made goes, unless it was changed, or is the only one.

        An index is no copy: its entries go session by session.
        """
        copy = document.path
        if copy.name == INDEX:
            return
        if sha256(document.data) != wrote.after.sha256:
            return
        original = self._place_at_old(copy)
        if original is None or self.tree.has(original):
            self.placer.retire(copy)
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

    def _part_memory(self, wrote: Wrote, draft: Draft) -> None:
        """Of a MEMORY.md that was merged, the lines that came since follow the folder.

        `draft` is without the run's change.
        """
        portion = self._portion_of(wrote.ends)
        if portion is None or portion.is_whole:
            return
        goes_back = wrote.path != wrote.ends  # the file itself was brought
        if goes_back == portion.follows:
            return  # file and lines stay together
        before = as_text(read_saved(self.directory, wrote, "before"))
        since = lines_lacking(draft.text, before)
        draft.text = before
        if goes_back:
            self.staying_lines[wrote.ends] = since
            return
        original = self._retired.get(portion.target / MEMORY / MEMORY_FILE)
        if original is not None and is_there(original):
            there = self.placer.draft(original)
            there.text = appended(there.text, since)

    # -- index entries

    def _index_back(self, text: str, portion: PortionBack) -> str:
        """An index with OLD's paths; NotJsonError when it is none."""
        paths = PathMap(((portion.move.new_path, portion.move.path),))
        names = ((portion.source.name, portion.target.name),)
        return index.rewritten(text, paths.map, NameMap(names, paths))

    def _rewrite_index(self, portion: PortionBack) -> None:
        """The index of a directory that goes back whole."""
        if portion.directory.index_file is None:
            return
        draft = self.placer.draft(portion.source / INDEX)
        with contextlib.suppress(NotJsonError):
            draft.text = self._index_back(draft.text, portion)

    def _split_index(self, portion: PortionBack) -> None:
        """Entries of sessions that go back leave the index at NEW, with their paths.

        The file itself goes back where it is the one that OLD had, and all entries
        leave; one that the run made goes with the last of them.
        """
        file = portion.source / INDEX
        if portion.directory.index_file is None:
            return
        draft = self.placer.draft_at(file)
        if draft is None:
            return
        try:
            entries = index.entries(draft.text)
            leaving = [entry for entry in entries if self._leaves(entry[0], portion)]
            all_leave = len(leaving) == len(entries)
            if all_leave and self._brought_its_index(portion):
                draft.text = self._index_before(draft.text, portion)
                self.placer.bring(file, portion.target / INDEX)
                return
            if leaving:
                self._bring_entries(leaving, portion)
                sessions = {session for session, _ in leaving}
                draft.text = index.without(draft.text, sessions)
        except NotJsonError:
            return
        if all_leave and self._made(file):
            self.placer.retire(file)

    def _bring_entries(self, leaving: index.Entries, portion: PortionBack) -> None:
        """To OLD's own index, if that was retired, else to one that is there."""
        final = portion.target / INDEX
        self._bring_out_index(final, {session for session, _ in leaving})
        made = index.made(leaving, portion.move.path)
        made = self._index_back(made, portion)
        self.placer.add(made, portion.source / INDEX, final, 0o600)

    def _bring_out_index(self, final: Path, coming: set[str]) -> None:
        """An index that was retired, without entries of these and of absent ones."""
        kept = self._retired.get(final)
        if kept is not None and not self.tree.has(final):
            self._forget(kept, coming | self.absent)
            self.placer.bring(kept, final)

    def _brought_its_index(self, portion: PortionBack) -> bool:
        """Whether the index at NEW is the very file that OLD had."""
        start = self._brought.get(portion.source / INDEX)
        return start == portion.target / INDEX or portion.move.kind == "rename"

    def _owns_index(self, portion: PortionBack) -> bool:
        """Whether the run brought or made the index at NEW."""
        return self._brought_its_index(portion) or self._made(portion.source / INDEX)

    def _made(self, file: Path) -> bool:
        wrote = self._writes.get(file)
        return wrote is not None and wrote.before is None

    def _index_before(self, text: str, portion: PortionBack) -> str:
        """The original of an index that is as the run left it, else OLD's paths."""
        wrote = self._writes.get(portion.source / INDEX)
        if wrote is None or wrote.before is None:
            return self._index_back(text, portion)
        if as_text(read_saved(self.directory, wrote, "after")) != text:
            return self._index_back(text, portion)
        return as_text(read_saved(self.directory, wrote, "before"))

    @cached_property
    def _portion_of_session(self) -> dict[str, PortionBack]:
        """The portion with which each session goes back that does."""
        portion_of: dict[str, PortionBack] = {}
        for portion in self.portions:
            portion_of.update(dict.fromkeys(sessions_of(portion.items), portion))
        return portion_of

    def _leaves(self, session: str, portion: PortionBack) -> bool:
        """Whether an entry of NEW's index goes back with the portion.

        Of an index that the run brought, or made, all goes but what is a session's that
        stays.
        """
        move = self.since.brought.get(session)
        if move is not None:
            return move == portion.move
        going = self._portion_of_session.get(session)
        if going is not None:
            return going is portion
        if session in self.since.had or not self._owns_index(portion):
            return False
        return session not in sessions_of(portion.staying)

    def _absent_from(self, directory: Path) -> set[str]:
        """Sessions that left or were deleted, but for those that came here."""
        absent: set[str] = set()
        for session in self.absent:
            if not is_there(directory / f"{session}.jsonl"):
                absent.add(session)
        return absent

    def _forget(self, kept: Path, sessions: Set[str]) -> None:
        """These sessions have no entry any more in an index that comes back."""
        draft = self.placer.draft(kept)
        with contextlib.suppress(NotJsonError):
            draft.text = index.without(draft.text, sessions)

    # -- directories

    def _bring_whole_directories(self) -> None:
        moves = [(portion.source, portion.target) for portion in self.whole]
        self.placer.bring_all(dict.fromkeys(moves))  # each once

    def _bring_part(self, portion: PortionBack) -> None:
        """Sessions one by one, then the notes; what NEW had, and what stays, stays."""
        source = portion.source
        target = portion.target
        self.placer.make_directory(target, source)
        self._split_index(portion)
        for item in portion.items:
            self._bring_item(portion, item)
        if portion.move.kind == "rename":  # notes came with the directory, which stays
            self._bring_notes(portion, portion.move.notes)
        for end in self._brought_to[source]:
            start = self._brought[end]
            if end != source and start.is_relative_to(target):
                self._bring_thing_back(end, start)

    def _bring_item(self, portion: PortionBack, item: Item) -> None:
        """A transcript, or what else is a session's.

        It may have got another name, beside one that NEW had. A folder that both had
        goes back part by part.
        """
        name = item.name
        path = portion.source / name
        final = portion.target / name
        if path in self._brought:
            final = self._brought[path]
        elif session_of(name) in self.since.had:
            return
        if self.tree.has(path):
            self.placer.bring(path, final)

    def _bring_downloads_back(self) -> None:
        """What connectors have saved: in directories of no project."""
        for directory, ends in self._brought_to.items():
            if directory in self.portion_from:
                continue
            for end in ends:
                if end == directory and self._is_still_there(end):
                    self.placer.bring(end, self._brought[end])
                else:
                    self._bring_thing_back(end, self._brought[end])

    def _is_still_there(self, path: Path) -> bool:
        """Whether it is still where the run brought it, by then, too."""
        return self.tree.has(path) and self.tree.now(path) == path

    def _bring_thing_back(self, end: Path, start: Path) -> None:
        """What the run renamed but sessions: a note, or a directory with what goes back
        of it.
        """
        if not self._is_still_there(end):
            return
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

    def _is_of_brought_session(self, path: Path) -> bool:
        """A session goes back as a whole, but for a folder that both had."""
        name = path.relative_to(self._project_directory(path)).parts[0]
        session = session_of(name)
        return session in self.since.brought and session not in self.since.had

    def _goes_whole(self, end: Path, start: Path, files: list[Path]) -> bool:
        """Whether nothing of a directory stays, so that one rename does."""
        if not all(self._goes_back(start / name) for name in files):
            return False
        return not any(self._changed_note(end / name) for name in files)

    def _goes_back(self, original: Path) -> bool:
        """Whether a file goes back to where it was: one that the run brought does; one
        that came since follows the folder.
        """
        directory = self._project_directory(original)
        portion = self.portion_to.get(directory)
        if portion is None or portion.follows:
            return True
        name = original.relative_to(directory)
        return is_of_session(name.parts[0]) or name.as_posix() in portion.move.notes

    # -- notes

    @cached_property
    def _saved_notes(self) -> dict[Path, SavedNote]:
        """Notes that a merge moved, by where each was when the run was done."""
        return {saved.ends: saved for saved in self.manifest.notes_saved}

    def _changed_note(self, note: Path) -> SavedNote | None:
        """The saved note, where OLD gets that and NEW keeps what it became since."""
        saved = self._saved_notes.get(note)
        portion = self._portion_of(note)
        if saved is None or portion is None or portion.follows:
            return None
        if not is_there(note) or sha256_of(note) == saved.content.sha256:
            return None
        return saved

    def _bring_note_back(self, note: Path, final: Path) -> None:
        """One that has changed since stays where that stays; OLD gets the saved one."""
        self._make_parents(final)
        saved = self._changed_note(note)
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
        own_notes = {own.path: own.notes for own in self.manifest.own_at_new}
        for portion in self.parts:
            if portion.follows:
                notes = notes_among(portion.source, portion.directory.items)
                own = own_notes.get(portion.move.new_path, ())
                self._bring_notes(portion, [name for name in notes if name not in own])

    def _bring_notes(self, portion: PortionBack, names: Iterable[str]) -> None:
        """Those that are in their place; an index goes by its entries."""
        for name in names:
            note = portion.source / name
            if name != INDEX and self._is_still_there(note):
                self._bring_note_back(note, portion.target / name)

    # -- what was retired, and what was made

    def _bring_out_directories(self) -> None:
        """Empty ones that were there before the run are again, the outer first."""
        for path, kept in reversed(self._retired.items()):
            if self.tree.has(kept) and self.tree.is_directory(kept):
                self._bring_out(kept, path)

    def _bring_out_the_rest(self) -> None:
        """What became one with something at NEW. An index joins the one that is there
        by now, without sessions that left or were deleted.
        """
        for path, kept in reversed(self._retired.items()):
            if not self.tree.has(kept):
                continue
            if path.name == INDEX:
                self._forget(kept, self.absent)
                self._make_parents(path)
                self.placer.bring(kept, path)
            else:
                self._bring_out(kept, path)

    def _bring_out(self, kept: Path, path: Path) -> None:
        """Back to its place, if that is free."""
        if not self.tree.has(path):
            self._make_parents(path)
            self.placer.bring(kept, path)

    def _make_parents(self, path: Path) -> None:
        """A directory that the client or its owner has removed since."""
        for parent in reversed(path.parents):
            is_ours = parent.is_relative_to(self.layout.run_dir)
            if not self.tree.has(parent) and not is_ours:
                self.tree.make_directory(parent, 0o700)

    def _remove_what_was_made(self) -> None:
        """Directories that the run made go if they are empty again."""
        for operation in reversed(self.manifest.operations):
            if isinstance(operation, Mkdir) and self.tree.is_directory(operation.path):
                self._retire_if_empty(operation.path)

    def _retire_if_empty(self, directory: Path) -> None:
        """An empty directory in it is nothing."""
        for name in self.tree.names(directory):
            if self.tree.is_directory(directory / name):
                self._retire_if_empty(directory / name)
        if not self.tree.names(directory):
            self.placer.retire(directory)

    # -- project folders

    def _rename_folders_back(self) -> None:
        for rename in reversed(self._renames):
            if isinstance(rename.holds, FolderHolds):
                self._rename_folder_back(rename, rename.holds)

    def _rename_folder_back(self, rename: Rename, holds: FolderHolds) -> None:
        """A project folder goes back only if it is the one that was renamed, to a free
        place.
        """
        now = self.tree.now(rename.target)
        if now is None:
            what = f"is gone; it can't go back to {rename.path}"
            self.warnings.append(f"{rename.target} {what}")
            return
        if not is_noted(now, holds):
            raise RefusedError(
                f"{rename.target} is not the folder that was renamed from "
                f"{rename.path}",
                to_type("ccmove", "backups", text="it stays; what else can be undone"),
            )
        self.placer.rename_folder(rename.target, rename.path)
        self.folders.append((rename.path, rename.target))
