"""In an undo each entry of an index goes where its session goes.

An index at NEW may be the file that OLD had, one that NEW had, or one that the run or
the client has made; OLD's own may be retired, there, or gone.
"""

import contextlib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from ccmove.claude.reading import names_in
from ccmove.claude.state import INDEX
from ccmove.plan.placing import Placer
from ccmove.plan.tree import ends_of
from ccmove.rewrite import index
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.rewrite.pathmap import NameMap, PathMap
from ccmove.run.past_run import PastRun
from ccmove.run.returning import PortionBack


class IndexBack:
    """What becomes of one index in a directory of which something goes back."""

    def __init__(self, placer: Placer, past: PastRun, file: Path) -> None:
        """Tell which entries go, and with what; NotJsonError when it is no index."""
        self.placer = placer
        self.past = past
        self.file = file
        was_made = past.made(file)
        self.start = ends_of(file, past.came_from)
        if was_made:
            self.start = past.at_new[file.parent].target / INDEX
        self.home = past.at_old.get(self.start.parent)
        self.leaving: dict[PortionBack, index.Entries] = defaultdict(list)
        all_go = self._find_leaving()
        self.is_emptied = was_made and all_go
        # The very file that OLD had goes, with the entries of that:
        self.goes = self.start != file and not was_made and all_go
        for portion in [*self.leaving]:
            if self.goes and portion.target == self.start.parent:
                del self.leaving[portion]

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
        sessions: set[str] = set()
        for entries in self.leaving.values():
            sessions.update(dict(entries))
        with contextlib.suppress(NotJsonError):
            draft.text = index.without(draft.text, sessions)
            if self.goes and self.home is not None:
                paths = self._paths_of_old(self.home)
                if self.file in self.past.writes:
                    paths = PathMap(())  # which it has, but for a directory's name
                draft.text = _rewritten(draft.text, self.home, paths)
        if self.is_emptied:
            self.placer.retire(self.file)

    def bring_entries(self) -> None:
        """Add them to the index that will be at OLD, or to one that is made there."""
        for portion, entries in self.leaving.items():
            made = index.made(entries, portion.move.path)
            paths = self._paths_of_old(portion)
            made = _rewritten(made, portion, paths)
            final = portion.target / INDEX
            self._forget_former(final, made)
            self.placer.make_parents(final)
            self.placer.add(made, self.file, final, 0o600)

    def _forget_former(self, final: Path, made: str) -> None:
        """Of two entries of one session the one that comes is the later one."""
        there = self.placer.draft_at(final)
        if there is None:
            return
        coming = dict(index.entries(made))
        former = []
        with contextlib.suppress(NotJsonError):
            for session, text in index.entries(there.text):
                if coming.get(session, text) != text:
                    former.append(session)
            there.text = index.without(there.text, former)

    def _paths_of_old(self, portion: PortionBack) -> PathMap:
        pair = portion.move.new_path, portion.move.path
        following = self.past.since.following
        return PathMap((pair, *following.moves), following.kept)


def _rewritten(text: str, portion: PortionBack, paths: PathMap) -> str:
    names = ((portion.source.name, portion.target.name),)
    return index.rewritten(text, paths.map, NameMap(names, paths))


def forget(placer: Placer, file: Path, sessions: Iterable[str]) -> None:
    """These have no entry any more in an index, but for those that are in its
    directory.
    """
    draft = placer.draft(file)
    there = names_in(file.parent)
    gone = [session for session in sessions if f"{session}.jsonl" not in there]
    with contextlib.suppress(NotJsonError):
        draft.text = index.without(draft.text, gone)
