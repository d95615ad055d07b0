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
from collections.abc import Iterator, Set
from functools import cached_property
from pathlib import Path

from ccmove.claude.owners import session_of
from ccmove.claude.reading import Document, is_there, sha256_of
from ccmove.claude.state import (
    INDEX,
    MEMORY,
    State,
    is_of_session,
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
from ccmove.plan.tree import ends_of, moved_by
from ccmove.rewrite import index
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.rewrite.lines import appended, lines_lacking
from ccmove.rewrite.pathmap import NameMap, PathMap
from ccmove.rewrite.threeway import settings_of_since
from ccmove.run.manifest import SavedNote, Wrote
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
        self.retired = self.manifest.retired
        self.way_back = self.manifest.paths.reversed()
        self.absent = absent.sessions
        self.placer = Placer(state)
        self.tree = self.placer.tree
        self.folders: list[tuple[Path, Path]] = []
        self.warnings: list[str] = []
        self.staying_lines: dict[Path, str] = {}  # of a MEMORY.md that goes back
        self.portions = portions
        # By the directory at NEW, and by the one at OLD; the first of several:
        self.portion_from: PortionsBack = {}
        self.portion_to: PortionsBack = {}
        self.whole: list[PortionBack] = []
        self.parts: list[PortionBack] = []
        self.emptied: set[Path] = set()  # directories at NEW that go back whole
        for portion in portions:
            self._sort(portion)

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
        self.parts.sort(key=lambda portion: portion.move.kind == "rename")
        self._take_changes_out()
        self._bring_out()
        for portion in self.parts:
            if portion.source in self.emptied:
                self._bring_part(portion)
        moves = [(portion.source, portion.target) for portion in self.whole]
        self.placer.bring_all(dict.fromkeys(moves))  # each once
        self._bring_out()
        for portion in self.parts:
            if portion.source not in self.emptied:
                self._bring_part(portion)
        self._bring_downloads_back()
        self._bring_out(files=True)
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

    # -- what the run did, by where each thing was when it was done

    @property
    def _backup(self) -> Path:
        return self.layout.backups / self.manifest.id

    @cached_property
    def _writes(self) -> dict[Path, Wrote]:
        return {wrote.ends: wrote for wrote in self.manifest.writes}

    @cached_property
    def _saved_notes(self) -> dict[Path, SavedNote]:
        return {saved.ends: saved for saved in self.manifest.notes_saved}

    @cached_property
    def _own_notes(self) -> dict[str, tuple[str, ...]]:
        """Of NEW before, by its path."""
        return {own.path: own.notes for own in self.manifest.own_at_new}

    @cached_property
    def _brought(self) -> dict[Path, Path]:
        """Where things in project directories ended that were renamed -> and began."""
        projects = self.layout.projects
        return {
            end: start
            for start, end in moved_by(self.manifest.operations).items()
            if start.is_relative_to(projects) and end.is_relative_to(projects)
        }

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
        for wrote in self._writes.values():
            document = self._document_now(wrote)
            if document is None:
                what = "is gone; its old content is in the backup"
                self.warnings.append(f"{wrote.ends} {what}")
            elif wrote.before is None:
                self._take_out_made(wrote, document)
            elif not self._goes_by_entries(wrote, document):
                self._take_out(wrote, document)
        if self.layout.real_config_file not in self._writes:
            self._bring_settings_of_since()
        for portion in self.whole:
            if portion.source / INDEX not in self._writes:
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

    def _document_now(self, wrote: Wrote) -> Document | None:
        """What the run wrote; its owner may have renamed the folder back."""
        document = self.state.document(wrote.ends)
        old = self.way_back.map(str(wrote.ends))
        if document is None and old is not None:
            return self.state.document(Path(old))
        return document

    def _goes_by_entries(self, wrote: Wrote, document: Document) -> bool:
        """Whether it is an index of which only a part goes back, session by session.

        One that NEW had, and that is as the run left it, gets its bytes of before; not
        if an OLD of what is in it has lost its index since, with the entries of before.
        """
        file = wrote.ends
        portions = [part for part in self.parts if part.source == file.parent]
        is_split = bool(portions) and file.parent not in self.emptied
        if not is_split or wrote.form != "index":
            return False
        if wrote.path != file:
            return True
        for portion in portions:
            index_of_old = portion.target / INDEX
            if index_of_old in self._writes and not is_there(index_of_old):
                return True
        return not wrote.knows(document.data)

    def _take_out(self, wrote: Wrote, document: Document) -> None:
        """The document as it is now without the run's change."""
        back = document_back(
            self.layout, self._backup, self.since, wrote, document.data
        )
        self.warnings += back.stays
        file = document.path
        draft = self.placer.draft(file)
        draft.text = back.text
        draft.mtime_ns = back.mtime_ns
        was_brought = wrote.path != wrote.ends
        if wrote.form == "index" and not was_brought:  # entries come back to it
            absent = self._absent_from(file.parent)
            self._forget(file, absent)
        if wrote.path.name == MEMORY_FILE:
            self._part_memory(wrote, draft)

    def _take_out_made(self, wrote: Wrote, document: Document) -> None:
        """A copy that the run made goes, unless it was changed, or is the only one.

        An index is no copy: its entries go session by session.
        """
        copy = document.path
        if copy.name == INDEX or not wrote.left(document.data):
            return
        portion = self._portion_of(copy)
        if portion is None:  # it came with nothing that goes back
            self.placer.retire(copy)
            return
        # It may have got a name beside another.
        original = portion.target / copy.relative_to(portion.source)
        original = original.with_name(name_of_both(copy.name))
        if self.tree.has(original):
            self.placer.retire(copy)
        else:
            self._bring(copy, original)

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
        before = as_text(read_saved(self._backup, wrote, "before"))
        since = lines_lacking(draft.text, before)
        draft.text = before
        if goes_back:
            self.staying_lines[wrote.ends] = since
            return
        original = self.retired.get(portion.target / MEMORY / MEMORY_FILE)
        if original is not None and is_there(original):
            there = self.placer.draft(original)
            there.text = appended(there.text, since)

    # -- index entries

    def _index_back(self, text: str, portion: PortionBack) -> str:
        """An index with OLD's paths; NotJsonError when it is none."""
        pair = portion.move.new_path, portion.move.path
        following = self.since.following
        paths = PathMap((pair, *following.moves), following.kept)
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
        kept = self.retired.get(final)
        if kept is not None and not self.tree.has(final):
            self._forget(kept, coming | self.absent)
            self.placer.bring(kept, final)

    def _brought_its_index(self, portion: PortionBack) -> bool:
        """Whether the index at NEW is the very file that OLD had."""
        start = ends_of(portion.source / INDEX, self._brought)
        return start == portion.target / INDEX

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
        if as_text(read_saved(self._backup, wrote, "after")) != text:
            return self._index_back(text, portion)
        return as_text(read_saved(self._backup, wrote, "before"))

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

    # -- sessions and notes

    def _bring_part(self, portion: PortionBack) -> None:
        """Sessions one by one, then the notes; what NEW had, and what stays, stays."""
        source = portion.source
        target = portion.target
        self.placer.make_directory(target, source)
        self._split_index(portion)
        for item in portion.items:
            path = source / item.name
            if self._is_of_both(item.name) or not self.tree.has(path):
                continue
            final = self._brought.get(path, target / item.name)
            self.placer.bring(path, final)
        self._bring_notes(source, target)

    def _bring_downloads_back(self) -> None:
        """What connectors have saved: in directories of no project."""
        directories = dict.fromkeys(map(self._project_directory, self._brought))
        for directory in directories:
            if directory not in self.portion_from:
                self._bring_back(directory, self.layout.projects)

    def _bring_notes(self, source: Path, to: Path) -> None:
        """What is no session's, and what is of a session that both had."""
        for name in self.tree.names(source):
            path = source / name
            if name == INDEX:
                continue
            is_ones_alone = is_of_session(name) and not self._is_of_both(name)
            if path in self._brought or not is_ones_alone:
                self._bring_back(path, to)

    def _is_of_both(self, name: str) -> bool:
        """Whether OLD and NEW both had something of the session of this name."""
        session = session_of(name)
        return session in self.since.had and session in self.since.brought

    def _bring_back(self, path: Path, to: Path) -> None:
        """What goes back to a place below `to`: a file, or what of a directory does."""
        if not self.tree.is_directory(path):
            final = self._place_back(path)
            if final is not None and final.is_relative_to(to):
                self._bring_note_back(path, final)
            return
        start = ends_of(path, self._brought)
        was_brought = start != path and start.is_relative_to(to)
        if was_brought and self._goes_whole(path):
            self._bring(path, start)
            return
        for name in self.tree.names(path):
            below = path / name
            self._bring_back(below, to)

    def _goes_whole(self, directory: Path) -> bool:
        """Whether nothing of it stays, so that one rename does."""
        for name in self.tree.files_below(directory):
            file = directory / name
            if self._place_back(file) is None or self._leaves_something(file):
                return False
        return True

    def _is_still_there(self, path: Path) -> bool:
        """Not so what has come here on its own way back."""
        return self.tree.now(path) == path

    def _leaves_something(self, note: Path) -> bool:
        return note in self.staying_lines or self._changed_note(note) is not None

    def _place_back(self, file: Path) -> Path | None:
        """Where a file goes back to that is no brought session's; None: it stays.

        One that the run brought does; one that came since follows the folder.
        """
        if not self._is_still_there(file):
            return None
        original = ends_of(file, self._brought)
        if original == file:
            return self._place_of_since(file)
        directory = self._project_directory(original)
        portion = self.portion_to.get(directory)
        if portion is None or portion.follows:
            return original
        name = original.relative_to(directory)
        was_note = name.as_posix() in portion.move.notes
        if was_note or is_of_session(name.parts[0]):
            return original
        return None

    def _place_of_since(self, file: Path) -> Path | None:
        """Of one that came since to a directory that NEW had; None: it stays."""
        portion = self._portion_of(file)
        if portion is None or not portion.follows:
            return None
        name = file.relative_to(portion.source)
        own = self._own_notes.get(portion.move.new_path, ())
        if name.as_posix() in own:
            return None
        return portion.target / name

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
        saved = self._changed_note(note)
        if saved is None:
            self._bring(note, final)
        else:
            self._make_parents(final)
            self._bring_saved_note(saved, note, final)
        lines = self.staying_lines.get(note)
        if lines:
            self.placer.add(lines, note, note, 0o600)

    def _bring_saved_note(self, saved: SavedNote, note: Path, final: Path) -> None:
        """Of a MEMORY.md only the lines stay that came since."""
        original = as_text(read_note(self._backup, saved))
        self.placer.add(original, note, final, saved.content.mode)
        if note.name == MEMORY_FILE:
            draft = self.placer.draft(note)
            draft.text = lines_lacking(draft.text, original)

    # -- what was retired, and what was made

    def _bring_out(self, *, files: bool = False) -> None:
        """What was retired goes back to its place, if that is free; the outer first.

        Directories, which were emptied, come before what goes into them. An index joins
        the one that is there by now, without sessions that left or were deleted.
        """
        for path, kept in reversed(self.retired.items()):
            if not self.tree.has(kept):
                continue
            if not files and not self.tree.is_directory(kept):
                continue
            is_free = not self.tree.has(path)
            if path.name == INDEX:
                self._forget(kept, self.absent)
                self._bring(kept, path)
            elif is_free:
                self._bring(kept, path)

    def _bring(self, path: Path, final: Path) -> None:
        self._make_parents(final)
        self.placer.bring(path, final)

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
        for rename in reversed(self.manifest.renames):
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
