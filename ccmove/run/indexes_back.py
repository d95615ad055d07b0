"""In an undo each entry of an index goes where its session goes.

An index at NEW may be the file that OLD had, one that NEW had, or one that the run or
the client has made; OLD's own may be retired, there, or gone. What the run did not
touch, and what is as it left it, becomes what it was, to the byte.
"""

import contextlib
from collections.abc import Set
from pathlib import Path

from ccmove.claude.reading import Document, is_there
from ccmove.claude.state import INDEX
from ccmove.plan.placing import Placer
from ccmove.rewrite import index
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.rewrite.pathmap import NameMap, PathMap
from ccmove.run.manifest import Wrote
from ccmove.run.past_run import PastRun
from ccmove.run.returning import PortionBack, sessions_of
from ccmove.run.saved import read_saved
from ccmove.text import as_text


class IndexesBack:
    """Plans what becomes of the indexes."""

    def __init__(self, placer: Placer, past: PastRun) -> None:
        self.placer = placer
        self.past = past

    def goes_by_entries(self, wrote: Wrote, document: Document) -> bool:
        """Whether it is an index of which only a part goes back, session by session.

        One that NEW had, and that is as the run left it, gets its bytes of before; not
        if an OLD of what is in it has lost its index since, with the entries of before.
        """
        file = wrote.ends
        if wrote.form != "index" or file.parent in self.past.emptied:
            return False
        portions = [part for part in self.past.parts if part.source == file.parent]
        if not portions:
            return False
        if wrote.path != file:
            return True
        for portion in portions:
            index_of_old = portion.target / INDEX
            if index_of_old in self.past.writes and not is_there(index_of_old):
                return True
        return not wrote.knows(document.data)

    # -- of a directory that goes back whole

    def rewrite(self, portion: PortionBack) -> None:
        """The index of a directory that goes back whole, with OLD's paths."""
        if portion.directory.index_file is None:
            return
        draft = self.placer.draft(portion.source / INDEX)
        with contextlib.suppress(NotJsonError):
            draft.text = self._with_paths_of_old(draft.text, portion)

    # -- of any other

    def split(self, portion: PortionBack) -> None:
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
            if all_leave and self.past.brought_index(portion):
                draft.text = self._text_before(draft.text, portion)
                self.placer.bring(file, portion.target / INDEX)
                return
            if leaving:
                self._bring_entries(leaving, portion)
                sessions = {session for session, _ in leaving}
                draft.text = index.without(draft.text, sessions)
        except NotJsonError:
            return
        if all_leave and self.past.made(file):
            self.placer.retire(file)

    def _leaves(self, session: str, portion: PortionBack) -> bool:
        """Whether an entry of NEW's index goes back with the portion.

        Of an index that the run brought, or made, all goes but what is a session's that
        stays.
        """
        move = self.past.since.brought.get(session)
        if move is not None:
            return move == portion.move
        going = self.past.portion_of_session.get(session)
        if going is not None:
            return going is portion
        if session in self.past.since.had:
            return False
        is_of_run = self.past.made(portion.source / INDEX)
        if not is_of_run and not self.past.brought_index(portion):
            return False
        return session not in sessions_of(portion.staying)

    def _text_before(self, text: str, portion: PortionBack) -> str:
        """The original of an index that is as the run left it, else OLD's paths."""
        wrote = self.past.writes.get(portion.source / INDEX)
        if wrote is None or wrote.before is None:
            return self._with_paths_of_old(text, portion)
        if as_text(read_saved(self.past.backup, wrote, "after")) != text:
            return self._with_paths_of_old(text, portion)
        return as_text(read_saved(self.past.backup, wrote, "before"))

    def _bring_entries(self, leaving: index.Entries, portion: PortionBack) -> None:
        """To OLD's own index, if that was retired, else to one that is there."""
        final = portion.target / INDEX
        coming = {session for session, _ in leaving}
        self._bring_out(final, coming)
        made = index.made(leaving, portion.move.path)
        made = self._with_paths_of_old(made, portion)
        self.placer.add(made, portion.source / INDEX, final, 0o600)

    def _bring_out(self, final: Path, coming: set[str]) -> None:
        """An index that was retired, without entries of these and of absent ones."""
        kept = self.past.retired.get(final)
        if kept is not None and not self.placer.tree.has(final):
            self.forget(kept, coming | self.past.absent)
            self.placer.bring(kept, final)

    def _with_paths_of_old(self, text: str, portion: PortionBack) -> str:
        """An index with OLD's paths; NotJsonError when it is none."""
        pair = portion.move.new_path, portion.move.path
        following = self.past.since.following
        paths = PathMap((pair, *following.moves), following.kept)
        names = ((portion.source.name, portion.target.name),)
        return index.rewritten(text, paths.map, NameMap(names, paths))

    # -- of sessions that are not there any more

    def forget_absent(self, file: Path) -> None:
        """Sessions that left or were deleted, but for those that came here."""
        absent: set[str] = set()
        for session in self.past.absent:
            if not is_there(file.with_name(f"{session}.jsonl")):
                absent.add(session)
        self.forget(file, absent)

    def forget(self, file: Path, sessions: Set[str]) -> None:
        """These sessions have no entry any more in an index that comes back."""
        draft = self.placer.draft(file)
        with contextlib.suppress(NotJsonError):
            draft.text = index.without(draft.text, sessions)
