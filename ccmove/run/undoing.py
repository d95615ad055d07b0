"""The operations of an undo: what goes back becomes renames and new content.

After a merge, say, these are in NEW's directory: sessions that the run brought, those
that NEW had, and some that came since. `run.returning` has told them apart, so that
there is a portion for each project that came here:

1. Every document that the run wrote loses its change: config file, plugins, MEMORY.md.
2. Directories that were emptied, and retired for that, come out of the backup.
3. A directory that came whole, and of which nothing stays, is renamed back. Of any
   other the sessions of its portions go one by one, with their entries of the index
   (`run.indexes_back`).
4. Notes go back with what they came with, or follow the folder (`run.notes_back`).
5. What became one with something at NEW comes out of the backup, where its place is
   free; what the run made and is empty again goes.
6. Project folders get their old names.

All of it goes by `plan.placing`, as in a move: nothing is ever overwritten.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ccmove.claude.reading import Document
from ccmove.claude.state import INDEX, State
from ccmove.errors import RefusedError
from ccmove.hints import to_type
from ccmove.plan.meeting import last_part, name_of_both
from ccmove.plan.model import FolderHolds, Mkdir, ProjectMove, Rename
from ccmove.plan.placing import MEMORY_FILE, Placer, refuse_conflicts
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.rewrite.pathmap import PathMap
from ccmove.rewrite.threeway import settings_of_since
from ccmove.run.indexes_back import IndexesBack
from ccmove.run.manifest import Wrote
from ccmove.run.notes_back import NotesBack
from ccmove.run.past_run import PastRun
from ccmove.run.recognise import is_noted
from ccmove.run.returning import PortionBack
from ccmove.run.saved import document_back, following


@dataclass(eq=False)
class Undoing:
    """Plans the operations that bring everything back."""

    state: State
    past: PastRun
    folders: list[tuple[Path, Path]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.layout = self.past.layout
        self.manifest = self.past.manifest
        self.placer = Placer(self.state)
        self.tree = self.placer.tree
        self.indexes = IndexesBack(self.placer, self.past)
        self.notes = NotesBack(self.placer, self.past)

    def plan(self) -> None:
        """All the operations, in such an order that each place is free by then.

        A portion that leaves a directory which goes back whole makes way for that.
        """
        for portion in self.past.portions:
            name = last_part(portion.move.new_path)
            self.placer.came_from[portion.source] = name
        self._take_changes_out()
        self._bring_out()
        for portion in self.past.parts:
            if portion.source in self.past.emptied:
                self._bring_part(portion)
        moves = [(portion.source, portion.target) for portion in self.past.whole]
        self.placer.bring_all(dict.fromkeys(moves))  # each once
        self._bring_out()
        for portion in self.past.parts:
            if portion.source not in self.past.emptied:
                self._bring_part(portion)
        self._bring_downloads_back()
        self._bring_out(files=True)
        self._remove_what_was_made()
        self._rename_folders_back()
        refuse_conflicts(self.placer)

    def projects(self) -> Iterator[ProjectMove]:
        """What goes back, in the words of a move."""
        for portion in self.past.portions:
            kind = "merge"
            if portion.is_in_place:
                kind = "same"
            elif not portion.is_whole:
                kind = "split"
            elif self.tree.now(portion.target) == portion.source:
                kind = "rename"
            yield portion.back(kind)

    # -- documents

    def _take_changes_out(self) -> None:
        """Of each document that the run wrote; and settings and indexes that it did not
        write, in which something came since.
        """
        for wrote in self.past.writes.values():
            document = self._document_now(wrote)
            if document is None:
                what = "is gone; its old content is in the backup"
                self.warnings.append(f"{wrote.ends} {what}")
            elif wrote.before is None:
                self._take_out_made(wrote, document)
            elif not self.indexes.goes_by_entries(wrote, document):
                self._take_out(wrote, document)
        if self.layout.real_config_file not in self.past.writes:
            self._bring_settings_of_since()
        for portion in self.past.whole:
            if portion.source / INDEX not in self.past.writes:
                self.indexes.rewrite(portion)

    def _bring_settings_of_since(self) -> None:
        if self.state.config is None:
            return
        back = following(self.layout, self.past.since)
        draft = self.placer.draft(self.state.config.path)
        with contextlib.suppress(NotJsonError):
            draft.text = settings_of_since(draft.text, back, self.past.own_config)

    @cached_property
    def _way_back(self) -> PathMap:
        return self.manifest.paths.reversed()

    def _document_now(self, wrote: Wrote) -> Document | None:
        """What the run wrote; its owner may have renamed the folder back."""
        document = self.state.document(wrote.ends)
        old = self._way_back.map(str(wrote.ends))
        if document is None and old is not None:
            return self.state.document(Path(old))
        return document

    def _take_out(self, wrote: Wrote, document: Document) -> None:
        """The document as it is now without the run's change."""
        back = document_back(
            self.layout, self.past.backup, self.past.since, wrote, document.data
        )
        self.warnings += back.stays
        file = document.path
        draft = self.placer.draft(file)
        draft.text = back.text
        draft.mtime_ns = back.mtime_ns
        was_brought = wrote.path != wrote.ends
        if wrote.form == "index" and not was_brought:  # entries come back to it
            self.indexes.forget_absent(file)
        if wrote.path.name == MEMORY_FILE:
            self.notes.part_memory(wrote, draft)

    def _take_out_made(self, wrote: Wrote, document: Document) -> None:
        """A copy that the run made goes, unless it was changed, or is the only one.

        An index is no copy: its entries go session by session.
        """
        copy = document.path
        if copy.name == INDEX or not wrote.left(document.data):
            return
        portion = self.past.portion_with(copy)
        if portion is None:  # it came with nothing that goes back
            self.placer.retire(copy)
            return
        # It may have got a name beside another.
        original = portion.target / copy.relative_to(portion.source)
        original = original.with_name(name_of_both(copy.name))
        if self.tree.has(original):
            self.placer.retire(copy)
        else:
            self.placer.bring_again(copy, original)

    # -- project directories

    def _bring_part(self, portion: PortionBack) -> None:
        """Sessions one by one, then the notes; what NEW had, and what stays, stays."""
        source = portion.source
        target = portion.target
        self.placer.make_directory(target, source)
        self.indexes.split(portion)
        for item in portion.items:
            if self.past.is_of_both(item.name):
                continue
            path = source / item.name
            if self.tree.has(path):
                final = self.past.brought.get(path, target / item.name)
                self.placer.bring(path, final)
        self.notes.bring_from(source, target)

    def _bring_downloads_back(self) -> None:
        """What connectors have saved: in directories of no project."""
        directories = map(self.past.project_directory, self.past.brought)
        for directory in dict.fromkeys(directories):
            if directory not in self.past.at_new:
                self.notes.bring_back(directory, self.layout.projects)

    # -- what was retired, and what was made

    def _bring_out(self, *, files: bool = False) -> None:
        """What was retired goes back to its place, if that is free; the outer first.

        Directories, which were emptied, come before what goes into them.
        """
        for path, kept in reversed(self.past.retired.items()):
            if self.tree.is_directory(kept) or (files and self.tree.has(kept)):
                self._bring_out_one(path, kept)

    def _bring_out_one(self, path: Path, kept: Path) -> None:
        """An index joins the one that is there by now, without sessions that left or
        were deleted.
        """
        if path.name == INDEX:
            self.indexes.forget(kept, self.past.absent)
            self.placer.bring_again(kept, path)
        elif not self.tree.has(path):
            self.placer.bring_again(kept, path)

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
