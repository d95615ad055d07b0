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
from dataclasses import dataclass
from pathlib import Path

from ccmove.claude.reading import Document, is_there, sha256_of
from ccmove.claude.state import INDEX, MEMORY, State
from ccmove.errors import RefusedError
from ccmove.hints import to_type
from ccmove.plan.meeting import last_part, name_of_both
from ccmove.plan.model import FolderHolds, Mkdir, ProjectMove
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
from ccmove.run.saved import document_back, following, read_note, read_saved
from ccmove.text import as_text


@dataclass(frozen=True)
class Text:
    """A text from `source` that is added to what will be at `final`."""

    text: str
    source: Path
    final: Path
    mode: int = 0o600


class Undoing:
    """Plans the operations that bring everything back."""

    def __init__(self, state: State, past: PastRun) -> None:
        self.state = state
        self.past = past
        self.layout = past.layout
        self.manifest = past.manifest
        self.placer = Placer(state)
        self.tree = self.placer.tree
        self.folders: list[PathMove] = []
        self.warnings: list[str] = []
        # Indexes of which something goes back, by where they are now:
        self.indexes: dict[Path, IndexBack] = {}
        # Notes that stay, of which OLD gets this, with its mode:
        self.originals: dict[Path, tuple[str, int]] = {}
        self.texts: list[Text] = []
        # What goes back by renames, each thing with its place:
        self.ways: dict[PathMove, None] = {}

    def plan(self) -> None:
        """All the operations, in such an order that each place is free by then."""
        for portion in self.past.portions:
            name = last_part(portion.move.new_path)
            self.placer.came_from[portion.source] = name
        self._take_changes_out()
        self._bring_back()
        self._bring_out()
        for text in self.texts:
            self.placer.make_parents(text.final)
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
        for directory in self.past.at_new:
            file = directory / INDEX
            if self.state.document(file) is not None:
                with contextlib.suppress(NotJsonError):
                    self.indexes[file] = IndexBack(self.placer, self.past, file)
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
        config = self.state.config
        if config is not None and self.layout.real_config_file not in self.past.writes:
            own = {own.path: own.config for own in self.manifest.own_at_new}
            had = {path: text for path, text in own.items() if text}
            draft = self.placer.draft(config.path)
            with contextlib.suppress(NotJsonError):
                back = following(self.layout, self.past.since)
                draft.text = settings_of_since(draft.text, back, had)

    def _take_out(self, wrote: Wrote, document: Document) -> None:
        """The document as it is now without the run's change.

        Of an index that only a part of goes back nothing but its entries leaves.
        """
        file = document.path
        index = self.indexes.get(file)
        if wrote.before is None:
            if index is None and wrote.left(document.data):
                self._take_out_copy(file)
            return
        if index is not None and not index.is_taken_back:
            return
        past = self.past
        back = document_back(self.layout, past.backup, past.since, wrote, document.data)
        self.warnings += back.stays
        draft = self.placer.draft(file)
        draft.text = back.text
        draft.mtime_ns = back.mtime_ns
        if wrote.form == "index" and wrote.path == wrote.ends:  # entries come to it
            forget(self.placer, file, past.absent)
        if wrote.path.name == MEMORY_FILE:
            self._part_memory(wrote, draft)

    def _take_out_copy(self, copy: Path) -> None:
        """A copy that the run made, and nobody changed, goes unless it is the only one.

        It may have got a name beside another.
        """
        original = copy
        portion = self.past.at_new.get(self.past.project_directory(copy))
        if portion is not None:
            original = portion.target / copy.relative_to(portion.source)
            original = original.with_name(name_of_both(copy.name))
        if self.tree.has(original):
            self.placer.retire(copy)
        else:
            self.placer.bring_again(copy, original)

    # -- notes of which something goes, and something stays

    def _part_memory(self, wrote: Wrote, draft: Draft) -> None:
        """Of a MEMORY.md that was merged, the lines that came since follow the folder.

        `draft` is without the run's change.
        """
        portion = self.past.at_new.get(wrote.ends.parent.parent)
        goes = wrote.path != wrote.ends  # the file itself was brought
        if portion is None or goes == portion.follows:
            return  # file and lines stay together
        before = as_text(read_saved(self.past.backup, wrote, "before"))
        since = lines_lacking(draft.text, before)
        if goes and since:
            draft.text = since
            self.originals[wrote.ends] = before, 0o600
            return
        draft.text = before
        if since:
            final = portion.target / MEMORY / MEMORY_FILE
            self.texts.append(Text(since, wrote.ends, final))

    def _keep_changed_note(self, saved: SavedNote) -> None:
        """Of a note that changed since, and stays, OLD gets the saved one; of a
        MEMORY.md only the lines stay that came since.
        """
        note = saved.ends
        portion = self.past.at_new.get(self.past.project_directory(note))
        if portion is None or portion.follows or not is_there(note):
            return
        if sha256_of(note) == saved.content.sha256:
            return
        original = as_text(read_note(self.past.backup, saved))
        self.originals[note] = original, saved.content.mode
        if note.name == MEMORY_FILE:
            draft = self.placer.draft(note)
            draft.text = lines_lacking(draft.text, original)

    # -- sessions, notes, directories

    def _bring_back(self) -> None:
        """What goes back, in such an order that each place is free by then.

        A directory that was emptied comes out of the backup ahead of what goes into it.
        """
        directories = map(self.past.project_directory, self.past.came_from)
        for directory in dict.fromkeys([*self.past.at_new, *directories]):
            if self.tree.has(directory):
                self.ways |= dict.fromkeys(self._ways_back(directory))
        moves = [way for way in self.ways if way[0] != way[1]]
        for path, kept in reversed(self.manifest.retired.items()):
            if self.tree.is_directory(kept):
                moves.append((kept, path))
        parked = self.layout.run_dir / "parked"
        for path, final in in_order(moves, lambda _, number: parked / str(number)):
            if path.parent.name == "retired" and self.tree.has(final):
                continue
            now = self.tree.now(path)
            if now is not None and final.parent.parent == self.layout.projects:
                self.placer.make_directory(final.parent, now.parent)
            self.placer.bring_again(path, final)

    def _ways_back(self, path: Path) -> list[PathMove]:
        """Where all that is in it goes, or stays: one rename where that does.

        A directory goes to where it came from unless something in it stays. What goes
        elsewhere leaves it first.
        """
        if not self.tree.is_directory(path) or self.past.goes_with_session(path):
            return [(path, self._way_back(path))]
        ways: list[PathMove] = []
        for name in self.tree.names(path):
            ways += self._ways_back(path / name)
        start = ends_of(path, self.past.came_from)
        if start == path or any(below == final for below, final in ways):
            return ways
        leaving = []
        for below, final in ways:
            if final != start / below.relative_to(path):
                leaving.append((below, final))
        return [*leaving, (path, start)]

    def _way_back(self, path: Path) -> Path:
        """Where it goes, but for what is told of it already."""
        final = self.past.way_back(path)
        index = self.indexes.get(path)
        if index is not None:
            return ends_of(path, self.past.came_from) if index.goes else path
        if path in self.originals and final != path:
            original, mode = self.originals[path]
            self.texts.append(Text(original, path, final, mode))
            return path
        return final

    def _bring_out(self) -> None:
        """Files that were retired go back to their place, if that is free by now. An
        index joins the one that is there, without sessions that left or were deleted.
        """
        for path, kept in reversed(self.manifest.retired.items()):
            if not self.tree.has(kept) or self.tree.is_directory(kept):
                continue
            if path.name == INDEX:
                forget(self.placer, kept, self.past.absent)
            elif self.tree.has(path):
                continue
            self.placer.bring_again(kept, path)

    def _remove_what_was_made(self) -> None:
        """Directories that the run made go if there is no file in them again."""
        for operation in reversed(self.manifest.operations):
            if not isinstance(operation, Mkdir):
                continue
            path = operation.path
            if self.tree.is_directory(path) and not [*self.tree.files_below(path)]:
                self.placer.retire(path)

    # -- project folders

    def _rename_folders_back(self) -> None:
        """A project folder goes back only if it is the one that was renamed, to a free
        place.
        """
        for rename in reversed(self.manifest.renames):
            path, target, holds = rename.path, rename.target, rename.holds
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
