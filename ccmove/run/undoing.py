"""The operations of an undo: what goes back becomes renames and new content.

After a merge, say, these are in NEW's directory: sessions that the run brought, those
that NEW had, and some that came since. `run.returning` has told them apart: there is a
portion for each project that came here, and a way back for each thing.

1. Every document that the run wrote loses its change: config file, plugins, MEMORY.md,
   indexes.
2. Each thing goes back by a rename, a directory by one where nothing in it stays. What
   became one with something at NEW comes out of the backup, where its place is free.
3. Text that goes without its file is added: entries of an index, lines of a MEMORY.md,
   a note that changed at NEW since.
4. What the run made and is empty again goes, and project folders get their old names.

All of it goes by `plan.placing`, as in a move: nothing is ever overwritten.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ccmove.claude.reading import Document, is_there, sha256_of
from ccmove.claude.state import INDEX, MEMORY, State
from ccmove.errors import RefusedError
from ccmove.hints import to_type
from ccmove.plan.meeting import name_of_both
from ccmove.plan.model import FolderHolds, Mkdir, ProjectMove
from ccmove.plan.placing import (
    MEMORY_FILE,
    PathMove,
    Placer,
    in_order,
    refuse_conflicts,
)
from ccmove.plan.tree import Draft, ends_of
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.rewrite.lines import lines_lacking
from ccmove.rewrite.threeway import settings_of_since
from ccmove.run.index_back import IndexBack, forget_absent
from ccmove.run.manifest import SavedNote, Wrote
from ccmove.run.recognise import is_noted
from ccmove.run.returning import PastRun
from ccmove.run.saved import document_back, following, read_note, read_saved
from ccmove.text import as_text


@dataclass(frozen=True)
class Text:
    """A text from `source` that is added to what will be at `final`."""

    text: str
    source: Path
    final: Path
    mode: int = 0o600


@dataclass(eq=False)
class Undoing:
    """Plans the operations that bring everything back."""

    state: State
    past: PastRun
    folders: list[PathMove] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    # Indexes of which something goes back, by where they are now:
    indexes: dict[Path, IndexBack] = field(default_factory=dict)
    # Notes that stay if OLD gets this, with its mode:
    originals: dict[Path, tuple[str, int]] = field(default_factory=dict)
    texts: list[Text] = field(default_factory=list)
    # Where each thing goes, or stays:
    ways: dict[PathMove, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.layout = self.past.layout
        self.manifest = self.past.manifest
        self.placer = Placer(self.state)
        self.tree = self.placer.tree

    def plan(self) -> None:
        """All the operations, in such an order that each place is free by then."""
        for portion in self.past.portions:
            self.placer.came_from[portion.source] = portion.move.new_path
        self._take_changes_out()
        self._bring_back()
        for text in self.texts:
            self.placer.add(text.text, text.source, text.final, text.mode)
        for index in self.indexes.values():
            index.bring_entries()
        self._remove_what_was_made()
        self._rename_folders_back()
        refuse_conflicts(self.placer)

    def projects(self) -> Iterator[ProjectMove]:
        """What goes back, in the words of a move."""
        for portion in self.past.portions:
            kind = "merge"
            if portion.is_in_place:
                kind = "same"
            elif (portion.source, portion.target) not in self.ways:
                kind = "split"
            elif self.tree.now(portion.target) == portion.source:
                kind = "rename"
            yield portion.back(kind)

    # -- documents

    def _take_changes_out(self) -> None:
        """Of each document that the run wrote; and settings that it did not write, in
        which something came since.
        """
        self._find_indexes()
        renamed_back = self.manifest.paths.reversed()
        for wrote in self.past.writes.values():
            document = self.state.document(wrote.ends)
            old = renamed_back.map(str(wrote.ends))
            if document is None and old is not None:  # the folder may be at OLD again
                document = self.state.document(Path(old))
            if document is not None:
                self._take_out(wrote, document)
            else:
                what = "is gone; its old content is in the backup"
                self.warnings.append(f"{wrote.ends} {what}")
        for index in self.indexes.values():
            index.take_entries_out()
        for saved in self.manifest.notes_saved:
            self._keep_changed_note(saved)
        if self.layout.real_config_file not in self.past.writes:
            self._bring_settings_of_since()

    def _find_indexes(self) -> None:
        for directory in self.past.at_new:
            file = directory / INDEX
            if self.state.document(file) is not None:
                with contextlib.suppress(NotJsonError):
                    self.indexes[file] = IndexBack(self.placer, self.past, file)

    def _bring_settings_of_since(self) -> None:
        if self.state.config is None:
            return
        had: dict[str, str] = {}
        for own in self.manifest.own_at_new:
            if own.config:
                had[own.path] = own.config
        back = following(self.layout, self.past.since)
        file = self.state.config.path
        draft = self.placer.draft(file)
        with contextlib.suppress(NotJsonError):
            draft.text = settings_of_since(draft.text, back, had)

    def _take_out(self, wrote: Wrote, document: Document) -> None:
        """The document as it is now without the run's change.

        An index of which only a part goes back loses nothing but its entries.
        """
        file = document.path
        index = self.indexes.get(file)
        if index is not None and index.is_taken_apart:
            return
        if wrote.before is None:
            if wrote.left(document.data):
                self._take_out_copy(file)
            return
        past = self.past
        back = document_back(self.layout, past.backup, past.since, wrote, document.data)
        self.warnings += back.stays
        draft = self.placer.draft(file)
        draft.text = back.text
        draft.mtime_ns = back.mtime_ns
        if wrote.form == "index" and wrote.path == wrote.ends:
            forget_absent(
                self.placer, file, past.absent
            )  # entries have come back to it
        if wrote.path.name == MEMORY_FILE:
            self._part_memory(wrote, draft)

    def _take_out_copy(self, copy: Path) -> None:
        """A copy that the run made, and nobody changed, goes unless it is the only one.

        It may have got a name beside another.
        """
        original = copy
        directory = self.past.project_directory(copy)
        portion = self.past.at_new.get(directory)
        if portion is not None:
            inside = copy.relative_to(portion.source)
            name = name_of_both(copy.name)
            original = portion.target / inside.with_name(name)
        if self.tree.has(original):
            self.placer.retire(copy)
        else:
            self.placer.bring(copy, original)

    # -- notes of which something goes, and something stays

    def _part_memory(self, wrote: Wrote, draft: Draft) -> None:
        """Of a MEMORY.md that was merged, the lines that came since follow the folder.

        `draft` is without the run's change.
        """
        note = wrote.ends
        portion = self.past.at_new.get(note.parent.parent)
        # Brought, the file goes; NEW's own, into which lines were merged, stays.
        goes = wrote.path != note
        if portion is None or goes == portion.follows:
            return  # file and lines stay together
        before = as_text(read_saved(self.past.backup, wrote, "before"))
        if goes:
            self.originals[note] = before, 0o600
            return
        since = lines_lacking(draft.text, before)
        draft.text = before
        if since:
            final = portion.target / MEMORY / MEMORY_FILE
            self.texts.append(Text(since, note, final))

    def _keep_changed_note(self, saved: SavedNote) -> None:
        """Of a note that changed since, and stays, OLD gets the saved one."""
        note = saved.ends
        directory = self.past.project_directory(note)
        portion = self.past.at_new.get(directory)
        if portion is None or portion.follows:
            return
        if not is_there(note):
            return
        if sha256_of(note) == saved.content.sha256:
            return
        original = as_text(read_note(self.past.backup, saved))
        self.originals[note] = original, saved.content.mode

    # -- sessions, notes, directories

    def _bring_back(self) -> None:
        """What goes back, and what was retired: an emptied directory comes ahead of
        what goes into it.
        """
        self.ways = dict.fromkeys(self._all_ways())
        moves = [way for way in self.ways if way[0] != way[1]]
        moves += self._places_of_retired()
        for path, final in in_order(moves, self._parking_space):
            if not self._has_no_place(path, final):
                self.placer.bring(path, final)

    def _has_no_place(self, path: Path, final: Path) -> bool:
        """Whether what was retired has no place any more; an index joins another."""
        if path.parent.name != "retired":
            return False
        if final.name == INDEX:
            return False
        return self.tree.has(final)

    def _places_of_retired(self) -> Iterator[PathMove]:
        for path, kept in reversed(self.manifest.retired.items()):
            if self.tree.has(kept):
                yield kept, path
                if path.name == INDEX:  # of which the sessions may have left
                    forget_absent(self.placer, kept, self.past.absent)

    def _parking_space(self, _: Path, number: int) -> Path:
        return self.layout.run_dir / "parked" / str(number)

    def _all_ways(self) -> Iterator[PathMove]:
        directories = map(self.past.project_directory, self.past.starts)
        for directory in dict.fromkeys([*self.past.at_new, *directories]):
            if self.tree.has(directory):
                yield from self._ways_back(directory)

    def _ways_back(self, path: Path) -> list[PathMove]:
        """Where all that is in it goes, or stays: one rename where that does.

        A directory goes to where it came from unless something in it stays. What goes
        elsewhere leaves it first.
        """
        is_directory = self.tree.is_directory(path)
        if not is_directory or self.past.goes_with_session(path):
            return [(path, self._destination(path))]
        ways: list[PathMove] = []
        for name in self.tree.names(path):
            ways += self._ways_back(path / name)
        start = ends_of(path, self.past.starts)
        if start == path:
            return ways
        leaving = []
        for below, final in ways:
            inside = below.relative_to(path)
            if final == below:
                return ways
            if final != start / inside:
                leaving.append((below, final))
        return [*leaving, (path, start)]

    def _destination(self, path: Path) -> Path:
        """Where a file goes, or all of a session.

        A note of which OLD gets the original stays; of a MEMORY.md only the lines that
        came since.
        """
        final = self.past.destination(path)
        index = self.indexes.get(path)
        if index is not None:
            return index.final
        if path not in self.originals or final == path:
            return final
        original, mode = self.originals[path]
        if path.name == MEMORY_FILE:
            draft = self.placer.draft(path)
            since = lines_lacking(draft.text, original)
            draft.text = since or original
            if not since:
                return final
        text = Text(original, path, final, mode)
        self.texts.append(text)
        return path

    def _remove_what_was_made(self) -> None:
        """Directories that the run made go if there is no file in them again."""
        for operation in reversed(self.manifest.operations):
            if not isinstance(operation, Mkdir):
                continue
            path = operation.path
            if not self.tree.is_directory(path):
                continue
            if next(self.tree.files_below(path), None) is None:
                self.placer.retire(path)

    # -- project folders

    def _rename_folders_back(self) -> None:
        """A project folder goes back only if it is the one that was renamed, to a free
        place; else nothing is undone. One that is gone is named.
        """
        for rename in reversed(self.manifest.renames):
            path = rename.path
            target = rename.target
            holds = rename.holds
            if not isinstance(holds, FolderHolds):
                continue
            now = self.tree.now(target)
            if now is None:
                what = f"is gone; it can't go back to {path}"
                self.warnings.append(f"{target} {what}")
                continue
            if not is_noted(now, holds):
                raise RefusedError(
                    f"{target} is not the folder that was renamed from {path}",
                    to_type(
                        "ccmove", "backups", text="it stays; what else can be undone"
                    ),
                )
            self.placer.rename_folder(target, path)
            self.folders.append((target, path))
