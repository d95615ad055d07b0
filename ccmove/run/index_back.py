"""In an undo each entry of an index goes where its session goes.

An index at NEW may be the file that OLD had, one that NEW had, or one that the run or
the client has made; OLD's own may be retired, there, or gone.
"""

import contextlib
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from ccmove.claude.reading import names_in
from ccmove.claude.state import INDEX
from ccmove.plan.placing import Placer
from ccmove.plan.tree import Draft, ends_of
from ccmove.rewrite import index
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.rewrite.pathmap import NameMap, PathMap
from ccmove.run.returning import PastRun, PortionBack


@dataclass(eq=False)
class IndexBack:
    """What becomes of one index in a directory of which something goes back."""

    placer: Placer
    past: PastRun
    file: Path

    def __post_init__(self) -> None:
        """Tell which entries go, and with what; NotJsonError when it is no index."""
        self.home = self._find_home()
        # Entries that leave the file, by what they go with:
        self.leaving: dict[PortionBack, index.Entries] = defaultdict(list)
        self.all_go = self._find_leaving()
        for portion in [*self.leaving]:
            if portion.target == self.final.parent:
                del self.leaving[portion]

    @property
    def was_made(self) -> bool:
        return self.past.made(self.file)

    def _find_home(self) -> PortionBack | None:
        """What goes with nothing else goes with this; None for an index that NEW had,
        or has got since.
        """
        if self.was_made:
            return self.past.at_new[self.file.parent]
        start = ends_of(self.file, self.past.starts)
        if start == self.file:
            return None
        return self.past.at_old.get(start.parent)

    @property
    def final(self) -> Path:
        """The very file that OLD had goes back there, if nothing of it stays."""
        if self.home is None or self.was_made or not self.all_go:
            return self.file
        return self.home.target / INDEX

    @property
    def is_taken_apart(self) -> bool:
        """Whether it loses nothing but its entries: it neither goes nor was NEW's."""
        return self.home is not None and self.final == self.file

    def _find_leaving(self) -> bool:
        """Sort the entries by what they go with; whether none of them stays.

        Of an index that the run brought, or made, all goes but what is a session's that
        stays; of one that NEW had only what is a session's that goes.
        """
        draft = self.placer.draft(self.file)
        directory = self.file.parent
        there = names_in(directory)
        all_go = True
        for session, text in index.entries(draft.text):
            portion = self.past.portion_of_session.get((directory, session))
            if portion is None and f"{session}.jsonl" not in there:
                portion = self.home
            if portion is None:
                all_go = False
            else:
                self.leaving[portion].append((session, text))
        return all_go

    def take_entries_out(self) -> None:
        """What is left is NEW's, or has OLD's paths where the file goes back.

        A file that the run made goes with the last entry.
        """
        draft = self.placer.draft(self.file)
        for entries in self.leaving.values():
            _forget(draft, dict(entries))
        if self.home is None:
            return
        if self.was_made and self.all_go:
            self.placer.retire(self.file)
        elif not self.is_taken_apart:
            draft.text = self._as_at_old(draft.text, self.home)

    def _as_at_old(self, text: str, portion: PortionBack) -> str:
        """What the run wrote has OLD's paths by now, but for names of directories."""
        if self.file in self.past.writes:
            return _rewritten(text, portion, PathMap(()))
        return self._with_paths_of_old(text, portion)

    def bring_entries(self) -> None:
        """Add them to the index that will be at OLD, or to one that is made there."""
        placer = self.placer
        for portion, entries in self.leaving.items():
            path = portion.move.new_path
            made = index.made(entries, path)
            made = self._with_paths_of_old(made, portion)
            final = portion.target / INDEX
            there = placer.draft_at(final)
            if there is not None:
                _forget_former(there, made)
            placer.add(made, self.file, final, 0o600)

    def _with_paths_of_old(self, text: str, portion: PortionBack) -> str:
        pair = portion.move.new_path, portion.move.path
        following = self.past.since.following
        paths = PathMap((pair, *following.moves), following.kept)
        return _rewritten(text, portion, paths)


def _forget_former(there: Draft, made: str) -> None:
    """Of two entries of one session the one that comes is the later one."""
    coming = dict(index.entries(made))
    with contextlib.suppress(NotJsonError):
        entries = index.entries(there.text)
        former = [key for key, text in entries if coming.get(key, text) != text]
        _forget(there, former)


def _forget(draft: Draft, sessions: Collection[str]) -> None:
    with contextlib.suppress(NotJsonError):
        draft.text = index.without(draft.text, sessions)


def _rewritten(text: str, portion: PortionBack, paths: PathMap) -> str:
    names = ((portion.source.name, portion.target.name),)
    return index.rewritten(text, paths.map, NameMap(names, paths))


def forget_absent(placer: Placer, file: Path, sessions: Iterable[str]) -> None:
    """These have no entry any more in an index, but for those that are in its
    directory.
    """
    there = names_in(file.parent)
    gone = [session for session in sessions if f"{session}.jsonl" not in there]
    _forget(placer.draft(file), gone)
