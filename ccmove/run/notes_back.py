"""In an undo each note goes back with what it came with, or follows the folder.

Notes have no session ID. One that the run brought goes back to the name that it had;
one that came since follows the folder (`run.since`). Of one that a merge has saved, and
that has changed since, OLD gets the saved one where NEW keeps the present one; in a
MEMORY.md that is told line by line.
"""

from pathlib import Path

from ccmove.claude.reading import is_there, sha256_of
from ccmove.claude.state import INDEX, MEMORY, is_of_session
from ccmove.plan.placing import MEMORY_FILE, Draft, Placer
from ccmove.plan.tree import ends_of
from ccmove.rewrite.lines import appended, lines_lacking
from ccmove.run.manifest import SavedNote, Wrote
from ccmove.run.past_run import PastRun
from ccmove.run.saved import read_note, read_saved
from ccmove.text import as_text


class NotesBack:
    """Plans what becomes of notes, and of what else is no session's."""

    def __init__(self, placer: Placer, past: PastRun) -> None:
        self.placer = placer
        self.tree = placer.tree
        self.past = past
        self.staying_lines: dict[Path, str] = {}  # of a MEMORY.md that goes back

    def part_memory(self, wrote: Wrote, draft: Draft) -> None:
        """Of a MEMORY.md that was merged, the lines that came since follow the folder.

        `draft` is without the run's change.
        """
        portion = self.past.portion_with(wrote.ends)
        if portion is None or portion.is_whole:
            return
        goes_back = wrote.path != wrote.ends  # the file itself was brought
        if goes_back == portion.follows:
            return  # file and lines stay together
        before = as_text(read_saved(self.past.backup, wrote, "before"))
        since = lines_lacking(draft.text, before)
        draft.text = before
        if goes_back:
            self.staying_lines[wrote.ends] = since
            return
        original = self.past.retired.get(portion.target / MEMORY / MEMORY_FILE)
        if original is not None and is_there(original):
            there = self.placer.draft(original)
            there.text = appended(there.text, since)

    # -- which of a directory go

    def bring_from(self, source: Path, to: Path) -> None:
        """What is no session's, and what is of a session that both had."""
        for name in self.tree.names(source):
            if name == INDEX:
                continue
            path = source / name
            is_ones_alone = is_of_session(name) and not self.past.is_of_both(name)
            was_brought = path in self.past.brought
            if was_brought or not is_ones_alone:
                self.bring_back(path, to)

    def bring_back(self, path: Path, to: Path) -> None:
        """What goes back to a place below `to`: a file, or what of a directory does."""
        if not self.tree.is_directory(path):
            final = self._place_back(path)
            if final is not None and final.is_relative_to(to):
                self._bring_note(path, final)
            return
        start = ends_of(path, self.past.brought)
        was_brought = start != path and start.is_relative_to(to)
        if was_brought:
            self._bring_others(path, start)
            if self._goes_whole(path):
                self.placer.bring_again(path, start)
                return
        names = self.tree.names(path)
        for name in names:
            below = path / name
            self.bring_back(below, to)

    def _bring_others(self, directory: Path, start: Path) -> None:
        """What others have brought into it leaves it first."""
        for name in self.tree.names(directory):
            below = directory / name
            original = ends_of(below, self.past.brought)
            is_of_others = not original.is_relative_to(start)
            if is_of_others:
                to = self.past.project_directory(original)
                self.bring_back(below, to)
                continue
            if self.tree.is_directory(below):
                self._bring_others(below, start)

    def _goes_whole(self, directory: Path) -> bool:
        """Whether nothing of it stays, so that one rename does."""
        for name in self.tree.files_below(directory):
            file = directory / name
            if self._place_back(file) is None or self._leaves_something(file):
                return False
        return True

    def _leaves_something(self, note: Path) -> bool:
        lines = self.staying_lines.get(note)
        return bool(lines) or self._changed_note(note) is not None

    # -- where one goes

    def _place_back(self, file: Path) -> Path | None:
        """Where a file goes back to that is no brought session's; None: it stays.

        One that the run brought does; one that came since follows the folder.
        """
        if self.tree.now(file) != file:
            return None  # it has come here on its own way back
        original = ends_of(file, self.past.brought)
        if original == file:
            return self._place_of_since(file)
        directory = self.past.project_directory(original)
        portion = self.past.at_old.get(directory)
        if portion is None or portion.follows:
            return original
        name = original.relative_to(directory)
        was_note = name.as_posix() in portion.move.notes
        if was_note or is_of_session(name.parts[0]):
            return original
        return None

    def _place_of_since(self, file: Path) -> Path | None:
        """Of one that came since to a directory that NEW had; None: it stays."""
        portion = self.past.portion_with(file)
        if portion is None or not portion.follows:
            return None
        name = file.relative_to(portion.source).as_posix()
        own_notes = self.past.own_notes.get(portion.move.new_path, ())
        return None if name in own_notes else portion.target / name

    # -- one that changed since

    def _changed_note(self, note: Path) -> SavedNote | None:
        """The saved note, where OLD gets that and NEW keeps what it became since."""
        saved = self.past.saved_notes.get(note)
        portion = self.past.portion_with(note)
        if saved is None or portion is None:
            return None
        if portion.follows or not is_there(note):
            return None
        is_as_saved = sha256_of(note) == saved.content.sha256
        return None if is_as_saved else saved

    def _bring_note(self, note: Path, final: Path) -> None:
        """One that has changed since stays where that stays; OLD gets the saved one."""
        saved = self._changed_note(note)
        if saved is None:
            self.placer.bring_again(note, final)
        else:
            self.placer.make_parents(final)
            self._bring_saved_note(saved, note, final)
        lines = self.staying_lines.get(note)
        if lines:
            self.placer.add(lines, note, note, 0o600)

    def _bring_saved_note(self, saved: SavedNote, note: Path, final: Path) -> None:
        """Of a MEMORY.md only the lines stay that came since."""
        original = as_text(read_note(self.past.backup, saved))
        self.placer.add(original, note, final, saved.content.mode)
        if note.name == MEMORY_FILE:
            draft = self.placer.draft(note)
            draft.text = lines_lacking(draft.text, original)
