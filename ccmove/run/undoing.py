"""The operations of an undo: what goes back becomes renames and new content.

After a merge, say, these are in NEW's directory: sessions that the run brought, those
that NEW had, and some that came since. `run.returning` has told them apart, so that
there is a portion for each project that came here; `run.past_run` knows where each
thing goes.

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
from functools import cached_property
from pathlib import Path

from ccmove.claude.reading import Document, sha256_of
from ccmove.claude.state import INDEX, MEMORY, State
from ccmove.errors import RefusedError
from ccmove.hints import to_type
from ccmove.plan.meeting import last_part, name_of_both
from ccmove.plan.model import FolderHolds, Mkdir, ProjectMove, Rename
from ccmove.plan.placing import (
    MEMORY_FILE,
    Draft,
    PathMove,
    Placer,
    in_order,
    refuse_conflicts,
)
from ccmove.plan.tree import ends_of
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.rewrite.lines import lines_lacking
from ccmove.rewrite.threeway import settings_of_since
from ccmove.run.index_back import IndexBack, forget
from ccmove.run.manifest import SavedNote, Wrote
from ccmove.run.past_run import PastRun
from ccmove.run.recognise import is_noted
from ccmove.run.returning import PortionBack
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
    folders: list[tuple[Path, Path]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    # Indexes of which something goes back, by where they are now:
    indexes: dict[Path, IndexBack] = field(default_factory=dict)
    # Text that comes where something went, or stays where it came from:
    texts: list[Text] = field(default_factory=list)
    # What goes back by renames, each thing with its place:
    ways: dict[PathMove, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.layout = self.past.layout
        self.manifest = self.past.manifest
        self.placer = Placer(self.state)
        self.tree = self.placer.tree
        for portion in self.past.portions:
            name = last_part(portion.move.new_path)
            self.placer.came_from[portion.source] = name

    def plan(self) -> None:
        """All the operations, in such an order that each place is free by then."""
        self._find_indexes()
        self._take_changes_out()
        self._bring_everything()
        self._add_texts()
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

    def _find_indexes(self) -> None:
        for directory in self.past.at_new:
            file = directory / INDEX
            if self.state.document(file) is not None:
                with contextlib.suppress(NotJsonError):
                    self.indexes[file] = IndexBack(self.placer, self.past, file)

    def _take_changes_out(self) -> None:
        """Of each document that the run wrote; and settings that it did not write, in
        which something came since.

        An index that stays loses only its entries, unless NEW had it.
        """
        for wrote in self.past.writes.values():
            document = self._document_now(wrote)
            index = self.indexes.get(wrote.ends)
            if document is None:
                what = "is gone; its old content is in the backup"
                self.warnings.append(f"{wrote.ends} {what}")
            elif wrote.before is None:
                self._take_out_made(wrote, document)
            elif index is None or index.is_taken_back:
                self._take_out(wrote, document)
        for index in self.indexes.values():
            index.take_entries_out()
        if self.state.config is not None and self._config_is_unwritten():
            back = following(self.layout, self.past.since)
            own = {
                own.path: own.config for own in self.manifest.own_at_new if own.config
            }
            draft = self.placer.draft(self.state.config.path)
            with contextlib.suppress(NotJsonError):
                draft.text = settings_of_since(draft.text, back, own)

    def _config_is_unwritten(self) -> bool:
        return self.layout.real_config_file not in self.past.writes

    def _document_now(self, wrote: Wrote) -> Document | None:
        """What the run wrote; its owner may have renamed the folder back."""
        document = self.state.document(wrote.ends)
        old = self.manifest.paths.reversed().map(str(wrote.ends))
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
        if wrote.form == "index" and wrote.path == wrote.ends:  # entries come to it
            forget(self.placer, file, self.past.absent)
        portion = self.past.at_new.get(file.parent.parent)
        if wrote.path.name == MEMORY_FILE and portion is not None:
            self._part_memory(wrote, draft, portion)

    def _take_out_made(self, wrote: Wrote, document: Document) -> None:
        """A copy that the run made goes, unless it was changed, or is the only one.

        An index is no copy: its entries go session by session.
        """
        copy = document.path
        if copy.name == INDEX or not wrote.left(document.data):
            return
        portion = self.past.at_new.get(self.past.project_directory(copy))
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

    # -- notes that are in both places

    def _part_memory(self, wrote: Wrote, draft: Draft, portion: PortionBack) -> None:
        """Of a MEMORY.md that was merged, the lines that came since follow the folder.

        `draft` is without the run's change.
        """
        note = wrote.ends
        goes = wrote.path != note  # the file itself was brought
        if goes == portion.follows:
            return  # file and lines stay together
        before = as_text(read_saved(self.past.backup, wrote, "before"))
        since = lines_lacking(draft.text, before)
        draft.text = before
        if since:
            final = note if goes else portion.target / MEMORY / MEMORY_FILE
            self.texts.append(Text(since, note, final))

    def _keep_changed_note(self, saved: SavedNote, final: Path) -> None:
        """OLD gets the saved one, where NEW keeps what it became since; of a MEMORY.md
        only the lines stay that came since.
        """
        note = saved.ends
        original = as_text(read_note(self.past.backup, saved))
        self.texts.append(Text(original, note, final, saved.content.mode))
        if note.name == MEMORY_FILE:
            draft = self.placer.draft(note)
            draft.text = lines_lacking(draft.text, original)

    def _add_texts(self) -> None:
        for text in self.texts:
            self.placer.make_parents(text.final)
            self.placer.add(text.text, text.source, text.final, text.mode)
        for index in self.indexes.values():
            index.bring_entries()

    # -- sessions, notes, directories

    def _bring_everything(self) -> None:
        """What goes back, and what was retired, if its place is free by then.

        A directory that was emptied comes out ahead of what goes into it.
        """
        retired = self.manifest.retired
        directories = map(self.past.project_directory, self.past.came_from)
        for directory in dict.fromkeys([*self.past.at_new, *directories]):
            if self.tree.has(directory):
                ways = self._ways_back(directory)
                self.ways |= {way: None for way in ways if way[0] != way[1]}
        emptied = [
            (kept, path)
            for path, kept in reversed(retired.items())
            if self.tree.is_directory(kept)
        ]
        parked = self.layout.run_dir / "parked"
        moves = [*self.ways, *emptied]
        for path, final in in_order(moves, lambda _, number: parked / str(number)):
            if path.parent.name == "retired" and self.tree.has(final):
                continue
            now = self.tree.now(path)
            if now is not None and final.parent.parent == self.layout.projects:
                self.placer.make_directory(final.parent, now.parent)
            self.placer.bring_again(path, final)
        for path, kept in reversed(retired.items()):
            if not self.tree.has(kept) or self.tree.is_directory(kept):
                continue
            if path.name == INDEX:  # it joins the one that is there by now
                forget(self.placer, kept, self.past.absent)
                self.placer.bring_again(kept, path)
            elif not self.tree.has(path):
                self.placer.bring_again(kept, path)

    def _ways_back(self, path: Path) -> list[PathMove]:
        """Where all that is in it goes, or stays: one rename where that does.

        A directory goes where it came from unless something in it stays; what goes
        elsewhere leaves it first.
        """
        if not self.tree.is_directory(path) or self.past.is_ones_alone(path):
            return self._way_of_one(path)
        ways: list[PathMove] = []
        for name in self.tree.names(path):
            ways += self._ways_back(path / name)
        start = ends_of(path, self.past.came_from)
        if start == path or any(below == final for below, final in ways):
            return ways
        elsewhere = []
        for below, final in ways:
            if final != start / below.relative_to(path):
                elsewhere.append((below, final))
        return [*elsewhere, (path, start)]

    def _way_of_one(self, path: Path) -> list[PathMove]:
        final = self.past.way_back(path)
        index = self.indexes.get(path)
        if index is not None:
            final = ends_of(path, self.past.came_from) if index.goes else path
        saved = self._changed_note(path)
        if saved is not None and final != path:
            self._keep_changed_note(saved, final)
            return [(path, path)]
        ways = [(path, final)]
        if any(text.final == path for text in self.texts):
            ways.append((path, path))  # some lines of it stay
        return ways

    def _changed_note(self, note: Path) -> SavedNote | None:
        """The saved note, where OLD gets that and NEW keeps what it became since."""
        saved = self._saved_notes.get(note)
        portion = self.past.at_new.get(self.past.project_directory(note))
        if saved is None or portion is None or portion.follows:
            return None
        return None if sha256_of(note) == saved.content.sha256 else saved

    @cached_property
    def _saved_notes(self) -> dict[Path, SavedNote]:
        return {saved.ends: saved for saved in self.manifest.notes_saved}

    # -- what the run made

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
