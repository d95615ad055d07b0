"""In an undo each entry of an index goes where its session goes.

An index at NEW may be the file that OLD had, one that NEW had, or one that the run or
the client has made; OLD's own may be retired, there, or gone.
"""

import contextlib
from collections.abc import Collection
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


class IndexBack:
    """What becomes of one index in a directory of which something goes back."""

    def __init__(self, placer: Placer, past: PastRun, file: Path) -> None:
        """Tell which entries go, and with what; NotJsonError when it is no index.

        Of an index that the run brought, or made, all goes but what is a session's that
        stays; of one that NEW had only what is a session's that goes.
        """
        self.placer = placer
        self.past = past
        self.file = file
        start = ends_of(file, past.came_from)
        was_brought = start != file
        self.home: PortionBack | None = None
        if was_brought:
            self.home = past.at_old.get(start.parent)
        elif past.made(file):
            self.home = past.at_new[file.parent]
        draft = placer.draft(file)
        entries = index.entries(draft.text)
        there = set(names_in(file.parent))
        going = []
        for session, text in entries:
            portion = past.portion_of_session.get((file.parent, session))
            if portion is None and f"{session}.jsonl" not in there:
                portion = self.home
            if portion is not None:
                going.append((portion, (session, text)))
        all_go = len(going) == len(entries)
        self.is_emptied = all_go and past.made(file)
        self.goes = all_go and was_brought  # the very file that OLD had
        wrote = past.writes.get(file)
        is_as_left = wrote is not None and wrote.left(draft.after)
        # Whether it is as any other document, of which the run's change is taken out:
        self.is_taken_back = not was_brought or (self.goes and is_as_left)
        self.leaving = []  # entries that leave the file, each with its portion
        for portion, entry in going:
            stays = portion is self.home
            if is_as_left:
                stays = portion.target == start.parent
            if not self.goes or not stays:
                self.leaving.append((portion, entry))

    def take_entries_out(self) -> None:
        """What is left is NEW's, or has OLD's paths where the file goes back.

        A file that the run made goes with the last entry.
        """
        draft = self.placer.draft(self.file)
        with contextlib.suppress(NotJsonError):
            draft.text = index.without(
                draft.text, {key for _, (key, _) in self.leaving}
            )
            if self.home and self.goes and not self.is_taken_back:
                draft.text = self._with_paths_of_old(draft.text, self.home)
        if self.is_emptied:
            self.placer.retire(self.file)

    def bring_entries(self) -> None:
        """To an index that will be at OLD by now, else to one that is made; of two
        entries of one session this is the later one.
        """
        for portion in self.past.moving:
            entries = [entry for going, entry in self.leaving if going is portion]
            if not entries:
                continue
            final = portion.target / INDEX
            made = index.made(entries, portion.move.path)
            made = self._with_paths_of_old(made, portion)
            there = self.placer.draft_at(final)
            if there is not None:
                coming = dict(index.entries(made))
                with contextlib.suppress(NotJsonError):
                    for session, text in index.entries(there.text):
                        if coming.get(session, text) != text:
                            there.text = index.without(there.text, {session})
            self.placer.make_parents(final)
            self.placer.add(made, self.file, final, 0o600)

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
