"""Where what came since a run belongs: by session, or with the folder.

Sessions, their prompts, index entries and settings are decided here, once and together:

- What the run brought goes back to OLD, by session ID.
- What NEW had before the run stays at NEW.
- What came since, at or below NEW, follows the folder. It goes to OLD if NEW's folder
  is gone, or goes back with the undo, or if OLD's folder does not exist and NEW had no
  sessions of its own. Where two OLDs came together it stays at NEW.

In a list of moves an OLD that is another's NEW counts as not existing, and what left
NEW in the same run is not its own.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import ClassVar

from ccmove.claude.owners import folder_exists, session_of
from ccmove.claude.state import is_of_session
from ccmove.plan.model import Own, ProjectMove
from ccmove.rewrite.pathmap import Move, PathMap, at_or_below, tail_below
from ccmove.run.manifest import Manifest


@dataclass(frozen=True)
class Since:
    """The decisions about one run."""

    manifest: Manifest
    # Sessions that it brought, and that are not undone: they left NEW for another
    # project or, where they were unpacked, went on.
    elsewhere: frozenset[str] = frozenset()
    # And for one at or below a NEW of the run: they came there since.
    followed: frozenset[str] = frozenset()

    @cached_property
    def brought(self) -> dict[str, ProjectMove]:
        """Session -> the move that brought it.

        Not one that left NEW since, nor one whose transcript was retired on the way:
        NEW had it, too.
        """
        retired = {(path.parent.name, path.name) for path in self.manifest.retired}
        gone = self.elsewhere | self.followed
        sessions: dict[str, ProjectMove] = {}
        for move in self.manifest.projects:
            for entry in filter(is_of_session, move.entries):
                session = session_of(entry)
                if session in gone:
                    continue
                transcript = f"{session}.jsonl"
                if (move.source, transcript) not in retired:
                    sessions[session] = move
        return sessions

    @cached_property
    def moves_to(self) -> dict[str, list[ProjectMove]]:
        """By the name of each directory that the run filled, what came to it."""
        moves_to: dict[str, list[ProjectMove]] = defaultdict(list)
        for move in self.manifest.projects:
            moves_to[move.target].append(move)
        return moves_to

    @cached_property
    def own(self) -> dict[str, Own]:
        """What was at or below a NEW before the run, and did not leave, by its path."""
        return {own.path: own for own in self.manifest.own_at_new}

    @cached_property
    def had(self) -> frozenset[str]:
        """Sessions that NEW had before the run."""
        sessions: set[str] = set()
        for own in self.own.values():
            sessions.update(own.sessions)
        return frozenset(sessions)

    @cached_property
    def own_sessions(self) -> frozenset[str]:
        """Those that stay: where both had one, the file that lives on counts."""
        return self.had - self.brought.keys()

    def stays(self, session: str | None) -> bool:
        """Whether a session stays where it is: NEW's own, or one of `elsewhere`.

        The undo of an unpack asks that.
        """
        return session in self.elsewhere or session in self.own_sessions

    @cached_property
    def following(self) -> PathMap:
        """NEW -> OLD for every path at which what came since goes back.

        A twin whose folder is gone has no say: it came along, it was not asked for.
        """
        asked = self.manifest.asked
        pairs = dict.fromkeys(asked.moves)
        for move in self.manifest.projects:
            if asked.covers(move.path):
                pairs[move.pair] = None
        coming = Counter(new for _, new in pairs)
        back: list[Move] = []
        staying = set(self.own)
        for old, new in pairs:
            is_alone = coming[new] == 1
            is_free = old in coming or folder_exists(old) is False
            if is_alone and self._follows(new, is_free=is_free):
                there = new, old
                back.append(there)
            else:
                staying.add(new)
        kept = self.manifest.paths.reversed().kept
        return PathMap(tuple(back), kept | staying)

    def _follows(self, new: str, *, is_free: bool) -> bool:
        """Whether what came since at NEW goes to its OLD, which is free.

        Never where it was unpacked: OLD is on another machine.
        """
        if self.manifest.is_unpack:
            return False
        if folder_exists(new) is False:
            return True
        for _, folder in self.manifest.folders:
            if tail_below(new, str(folder)) is not None:
                return True  # the folder itself goes back, too
        own = self.own.get(new)
        if own is not None and own.sessions:
            return False
        return is_free

    @cached_property
    def all_back(self) -> PathMap:
        """NEW -> OLD of the moves, whatever follows."""
        pairs = [(new, old) for old, new in self.manifest.moves]
        return PathMap(tuple(pairs))

    @cached_property
    def renamed(self) -> PathMap:
        """What became of paths here: an archive's are those of another machine."""
        if self.manifest.is_unpack:
            return PathMap(())
        return self.manifest.paths

    def takes_back(self, move: Move) -> bool:
        """Whether what came since at its NEW goes to its OLD."""
        old, new = move
        return self.following.map(new) == old

    # -- prompts: the rule of `rewrite.history`

    by_session: ClassVar[bool] = True

    @property
    def needles(self) -> tuple[str, ...]:
        news = [new for _, new in self.manifest.moves]
        news += [move.new_path for move in self.brought.values()]
        return at_or_below(topmost(news)).needles()

    def new_path(self, path: str, session: str | None) -> str | None:
        """Where a prompt that came since belongs; None: it stays. It goes with its
        session, if that goes.

        What a session has left behind at NEW follows the folder. Where it was unpacked
        OLD is on another machine, so all stays.
        """
        if self.manifest.is_unpack or session in self.own_sessions:
            return None
        move = self.brought.get(session or "")
        if move is not None:
            return PathMap(((move.new_path, move.path),)).map(path)
        return self.following.map(path)


def topmost(paths: Iterable[str]) -> list[str]:
    """Those of the paths that are below none of the others."""
    folders = dict.fromkeys(paths)
    highest = []
    for path in folders:
        above = map(str, PurePath(path).parents)
        if not any(folder in folders for folder in above):
            highest.append(path)
    return highest
