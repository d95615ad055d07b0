"""OLD -> NEW on path strings, by whole components: `/code/my-app` is not part of
`/code/my-app-2`.

A map holds one or more moves that happen at the same moment, so a swap (A->B with B->A)
and a chain (A->B with B->C) mean what they say: each path is mapped once, by the
longest OLD it is in. Moves are absolute paths without a separator at the end.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial

from ccmove.rewrite.windows import compared, in_bash, is_windows, native, slashed

Move = tuple[str, str]

_SEPARATORS = re.compile(r"[\\/]+")
_ROOT = re.compile(r"(?:[A-Za-z]:)?[\\/]*")
HOME_SIGNS = ("~", "$HOME", "${HOME}")


def client_spelling(path: str) -> str:
    """A path of the system as the client writes it:
    U+FFFD where a name is not UTF-8.
    """
    return os.fsencode(path).decode("utf-8", "replace")


def is_root(path: str) -> bool:
    """Whether everything would be in `path`: `/`, a drive, or nothing at all."""
    return _ROOT.fullmatch(path) is not None


@dataclass(frozen=True)
class PathMap:
    """The moves of one run.
    `kept` are projects below an OLD that stay where they are.
    """

    moves: tuple[Move, ...]
    kept: frozenset[str] = frozenset()
    # An OLD without what is below it: its folder is gone, and its sessions come along.
    alone: frozenset[str] = frozenset()

    def map(self, path: str) -> str | None:
        """Where `path` is after the moves, or None when they do not concern it."""
        if not compared(path).startswith(self._beginning):
            return None  # as most of thousands do
        for above in with_parents(path):
            if above in self._kept:
                return None
            for move in self._by_old.get(above, ()):
                if self._concerns(move, path):
                    return join(path, *move)
        return None

    def _concerns(self, move: Move, path: str) -> bool:
        """Whether this move takes a path that is in its OLD along.

        What is in a NEW below that OLD is in place already.
        """
        old, new = move
        if old in self.alone and path != old:
            return False
        if tail_below(path, old) is None:
            return False
        if not tail_below(new, old):
            return True
        return tail_below(path, new) is None

    @cached_property
    def _by_old(self) -> dict[str, list[Move]]:
        """The moves by OLD, so that thousands of them are looked up, not tried."""
        by_old: dict[str, list[Move]] = {}
        for move in self.moves:
            old, _ = move
            moves = by_old.setdefault(compared(old), [])
            moves.append(move)
        return by_old

    @cached_property
    def _beginning(self) -> str:
        """What every path begins with that the moves concern."""
        olds = [*self._by_old]
        return os.path.commonprefix(olds)  # noqa: RUF071 - a part of a name will do

    @cached_property
    def _kept(self) -> frozenset[str]:
        """What is kept; a move of its very OLD comes first."""
        kept = frozenset(map(compared, self.kept))
        return kept - self._by_old.keys()

    def covers(self, path: str) -> bool:
        return self.map(path) is not None

    def reversed(self) -> PathMap:
        """The way back; what is by then where a kept project
        would be now is another one.
        """
        without_kept = PathMap(self.moves)
        kept = filter(None, map(without_kept.map, self.kept))
        back = [(new, old) for old, new in self.moves if old not in self.alone]
        return PathMap(tuple(back), frozenset(kept))

    def as_people_write(self, home: str) -> PathMap:
        """These moves, also with `~`, `$HOME` and `${HOME}` for the home, and `/c/` for
        a drive.

        A new path that is not in the home is absolute in every spelling.
        """
        moves = list(self.moves)
        kept = set(self.kept)
        alone = set(self.alone)
        for spelled in spellings(home):
            kept.update(map(spelled, self.kept))
            alone.update(map(spelled, self.alone))
            for old, new in self.moves:
                other = spelled(old)
                if other in HOME_SIGNS:
                    continue
                if other == old:
                    continue
                move = other, spelled(new)
                moves.append(move)
        return PathMap(tuple(moves), frozenset(kept), frozenset(alone))

    def needles(self) -> tuple[str, ...]:
        """Strings of which every path that these moves concern contains one."""
        needles = [_needle(old) for old, _ in self.moves]
        return tuple(dict.fromkeys(needles))

    def named_in(self, text: str) -> list[str]:
        """Each OLD that stands in `text` as a whole path,
        not as a part of another one.
        """
        return [old for old, new in self.moves if self._is_named(old, new, text)]

    def _is_named(self, old: str, new: str, text: str) -> bool:
        """Whether OLD is there, and not only as the beginning of a path that stays."""
        may_be_there = old in text or is_windows(old)
        if not may_be_there:
            return False  # a quick look first, which a pattern is not
        starts = _starts(old, text)
        for path in (*self.kept, new):
            if starts and tail_below(path, old):
                starts -= _starts(path, text)
        return bool(starts)


def at_or_below(paths: Iterable[str]) -> PathMap:
    """What covers each of these paths and what is below them, and moves nothing."""
    moves = [(path, path) for path in paths]
    return PathMap(tuple(moves))


def with_parents(path: str) -> Iterator[str]:
    """`path` and all that it is in, the longest first, as they are compared."""
    whole = compared(path)
    separator = "/"
    if is_windows(path):
        separator = "\\"
    end = len(whole)
    while end > 0:
        yield whole[:end]
        end = whole.rfind(separator, 0, end)


def fewest(moves: tuple[Move, ...]) -> tuple[Move, ...]:
    """The same places by the folders that all is in, where that says it, too."""
    above = tuple(dict.fromkeys(map(_where_they_part, moves)))
    paths = PathMap(above)
    is_said = all(paths.map(old) == new for old, new in moves)
    if is_said:
        return above
    return moves


def _where_they_part(move: Move) -> Move:
    """OLD and NEW without what is the same at their ends."""
    old, new = move
    above, _, name = old.rpartition("/")
    new_above, _, new_name = new.rpartition("/")
    if name != new_name:
        return move
    if not above or not new_above:
        return move
    return _where_they_part((above, new_above))


def tail_below(path: str, parent: str) -> str | None:
    """What of `path` follows `parent`: "" when they are the same,
    None when it is not below.
    """
    end = len(parent)
    tail = path[end:]
    if compared(path[:end]) != compared(parent):
        return None
    separator = tail[:1]
    if separator == "\\" and not is_windows(parent):
        return None
    if separator in ("", "/", "\\"):
        return tail
    return None


def are_nested(one: str, other: str) -> bool:
    """Whether they are the same path, or one is below the other."""
    if tail_below(one, other) is not None:
        return True
    return tail_below(other, one) is not None


def spellings(home: str) -> Iterator[Callable[[str], str]]:
    """How else a path in the home is written; on Windows with either slash."""
    for sign in HOME_SIGNS:
        yield partial(_with_sign, home=home, sign=sign)
    if is_windows(home):
        yield in_bash
        for sign in HOME_SIGNS:
            yield partial(_with_sign, home=home, sign=sign, spell=slashed)


def _with_sign(
    path: str, home: str, sign: str, spell: Callable[[str], str] = str
) -> str:
    tail = tail_below(path, home)
    if tail is not None:
        path = sign + tail
    return spell(path)


# Not after a character of a name, unless that is a flag (`-I/x`) or an escape (`\n/x`)
# in JSON.
_BEGINS = r"(?:(?<![\w.~-])|(?<=-[A-Za-z])|(?<=\\[nrt]))"
# Not before a character of a name; a full stop ends a sentence, or goes on to `.bak`.
_ENDS = r"(?![\w+@~-]|\.[\w-])"


def _starts(path: str, text: str) -> set[int]:
    """Where in the text the path stands as a whole."""
    pattern = _whole_path(path)
    return {match.start() for match in pattern.finditer(text)}


@lru_cache
def _whole_path(path: str) -> re.Pattern[str]:
    pattern = re.escape(path)
    if is_windows(path):  # in JSON a backslash is written twice
        parts = map(re.escape, _SEPARATORS.split(path))
        pattern = f"(?i:{_SEPARATORS.pattern.join(parts)})"
    return re.compile(_BEGINS + pattern + _ENDS)


def _needle(old: str) -> str:
    """On Windows only the letters of the last component are sure to be there,
    in any case.
    """
    if not is_windows(old):
        return old
    name = _SEPARATORS.split(old)[-1]
    parts = re.findall(r"[\w.-]+", name, re.ASCII)
    return max(parts, key=len, default=":")


def join(path: str, old: str, new: str) -> str:
    """`path` below `new`; on Windows `new` has the separators that were there,
    the rest stays.
    """
    end = len(old)
    tail = path[end:]
    moved = new + tail
    if not is_windows(old):
        if "\\" in new:
            return native(moved)
        return moved
    if not is_windows(new):
        return moved.replace("\\", "/")
    spelled = slashed(new)
    if "\\" in path[:end]:
        spelled = native(new)
    return spelled + tail


@dataclass(frozen=True)
class NameMap:
    """Old -> new names of project directories,
    inside paths such as `…/projects/NAME/x.jsonl`.
    """

    names: tuple[tuple[str, str], ...]
    paths: PathMap = PathMap(())
    # (directory, session) -> the directory to which that session goes alone.
    sessions: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def map(self, path: str) -> str | None:
        """Where a path of the state itself is after the move, or None when it stays."""
        new_path = self.paths.map(path) or path
        names = list(_DIRECTORY_NAME.finditer(new_path))
        for match in reversed(names):
            name = match["name"]
            session = match["entry"].removesuffix(".jsonl")
            alone = self.sessions.get((name, session))
            new = self._by_name.get(name, alone)
            if new is None:
                continue
            before = new_path[: match.start()]
            behind = new_path[match.end() :]
            new_path = before + new + behind
            break
        if new_path != path:
            return new_path
        return None

    @cached_property
    def _by_name(self) -> dict[str, str]:
        return dict(self.names)


_DIRECTORY_NAME = re.compile(
    r"(?<=[\\/]projects[\\/])(?P<name>[^\\/]+)(?=[\\/]?(?P<entry>[^\\/]*))"
)


def still_moved(runs: Iterable[Iterable[Move]]) -> Iterator[Move]:
    """What moves brought from where to where, of runs of which the newest comes first.

    Not of a path to which the same run, or a later one, brought another project, as in
    a swap: what is known there now is that one's. Found by random lives.
    """
    arrivals: set[str] = set()
    for run in runs:
        pairs = list(run)
        arrivals.update(new for _, new in pairs)
        for old, new in pairs:
            if old not in arrivals:
                yield old, new
