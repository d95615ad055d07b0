"""In an undo each entry of an index goes where its session goes.

An index at NEW may be the file that OLD had, one that NEW had, or one that the run or
the client has made; OLD's own may be retired, there, or gone.
"""

import contextlib
from collections.abc import Collection, Iterator
from functools import cached_property
from pathlib import Path

from ccmove.claude.reading import is_there, names_in
from ccmove.claude.state import INDEX
from ccmove.plan.placing import Placer
from ccmove.plan.tree import ends_of
from ccmove.rewrite import index
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.rewrite.pathmap import NameMap, PathMap
from ccmove.run.past_run import PastRun
from ccmove.run.returning import PortionBack

Entry = tuple[str, str]  # what it is known by, and its JSON text


class IndexBack:
    """What becomes of one index in a directory of which something goes back."""

    def __init__(self, placer: Placer, past: PastRun, file: Path) -> None:
        """NotJsonError when it is no index."""
        self.placer = placer
        self.past = past
        self.file = file
        self.was_made = past.made(file)
        self.start = ends_of(file, past.came_from)
        if self.was_made:
            self.start = past.at_new[file.parent].target / INDEX
        # With this portion goes what is no session's that is here:
        self.home = past.at_old.get(self.start.parent)
        draft = placer.draft(file)
        wrote = past.writes.get(file)
        self.is_as_left = wrote is not None and wrote.left(draft.after)
        entries = index.entries(draft.text)
        self.going = list(self._going(entries))
        self.is_emptied = len(self.going) == len(entries)

    def _going(self, entries: index.Entries) -> Iterator[tuple[PortionBack, Entry]]:
        """The entries that go back, each with its portion.

        Of an index that the run brought, or made, all goes but what is a session's that
        stays; of one that NEW had only what is a session's that goes.
        """
        directory = self.file.parent
        there = set(names_in(directory))
        for entry in entries:
            session, _ = entry
            portion = self.past.portion_of_session.get((directory, session))
            if portion is None and f"{session}.jsonl" not in there:
                portion = self.home
            if portion is not None:
                yield portion, entry

    @property
    def goes(self) -> bool:
        """Whether it is the very file that OLD had, and nothing of it stays."""
        return self.is_emptied and not self.was_made and self.start != self.file

    @property
    def is_taken_back(self) -> bool:
        """Whether the run's change is taken out of it as of any other document."""
        return self.start == self.file or (self.goes and self.is_as_left)

    @cached_property
    def leaving(self) -> list[tuple[PortionBack, Entry]]:
        """The entries that leave the file; those of its own portion go with it."""
        leaving = []
        for portion, entry in self.going:
            is_at_home = portion is self.home
            if self.is_as_left:
                is_at_home = portion.target == self.start.parent
            if not self.goes or not is_at_home:
                leaving.append((portion, entry))
        return leaving

    def take_entries_out(self) -> None:
        """What is left is NEW's, or has OLD's paths where the file goes back.

        A file that the run made goes with the last entry.
        """
        draft = self.placer.draft(self.file)
        keys = [key for _, (key, _) in self.leaving]
        with contextlib.suppress(NotJsonError):
            draft.text = index.without(draft.text, keys)
            if self.goes and self.home and not self.is_taken_back:
                draft.text = self._with_paths_of_old(draft.text, self.home)
        if self.is_emptied and self.was_made:
            self.placer.retire(self.file)

    def bring_entries(self) -> None:
        """Add them to the index that will be at OLD, or to one that is made there."""
        for portion in self.past.moving:
            entries = [entry for going, entry in self.leaving if going is portion]
            if not entries:
                continue
            made = index.made(entries, portion.move.path)
            made = self._with_paths_of_old(made, portion)
            final = portion.target / INDEX
            self._forget_changed(final, made)
            self.placer.make_parents(final)
            self.placer.add(made, self.file, final, 0o600)

    def _forget_changed(self, final: Path, made: str) -> None:
        """Of two entries of one session the one that comes is the later one."""
        there = self.placer.draft_at(final)
        if there is None:
            return
        coming = dict(index.entries(made))
        with contextlib.suppress(NotJsonError):
            changed = []
            for session, text in index.entries(there.text):
                if coming.get(session, text) != text:
                    changed.append(session)
            there.text = index.without(there.text, changed)

    def _with_paths_of_old(self, text: str, portion: PortionBack) -> str:
        """An index with OLD's paths."""
        pair = portion.move.new_path, portion.move.path
        following = self.past.since.following
        paths = PathMap((pair, *following.moves), following.kept)
        names = ((portion.source.name, portion.target.name),)
        return index.rewritten(text, paths.map, NameMap(names, paths))


def forget(placer: Placer, file: Path, sessions: Collection[str]) -> None:
    """These have no entry any more in an index, but for those that are in its
    directory.
    """
    draft = placer.draft(file)
    gone = [name for name in sessions if not is_there(file.with_name(f"{name}.jsonl"))]
    with contextlib.suppress(NotJsonError):
        draft.text = index.without(draft.text, gone)
