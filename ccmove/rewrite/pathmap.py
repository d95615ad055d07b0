"""OLD -> NEW on path strings, by whole components: `/code/my-app` is not part of
`/code/my-app-2`.

A map holds one or more moves that happen at the same moment, so a swap (A->B with B->A)
and a chain (A->B with B->C) mean what they say: each path is mapped once, by the
longest OLD it is in. Moves are absolute paths without a separator at the end.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

Move = tuple[str, str]

_WINDOWS = re.compile(r"[A-Za-z]:[\\/]|\\\\|//[^/]|(?:~|\$HOME|\$\{HOME\})\\")
_SEPARATORS = re.compile(r"[\\/]+")
_ROOT = re.compile(r"(?:[A-Za-z]:)?[\\/]*")
_HOME = ("~", "$HOME", "${HOME}")


def client_spelling(path: str) -> str:
    """A path of the system as the client writes it:
    U+FFFD where a name is not UTF-8.
    """
    return os.fsencode(path).decode("utf-8", "replace")


def is_windows(path: str) -> bool:
    """Whether `path` is spelled the Windows way (`C:\\x`,
    `C:/x`, `\\\\server\\share`).
    """
    return _WINDOWS.match(path) is not None


def native(path: str) -> str:
    """A path of Windows with its own separators:
    the keys of the config file have others.
    """
    return path.replace("/", "\\") if is_windows(path) else path


def in_bash(path: str) -> str:
    """A path of Windows as Git's bash and the client's rules have it:
    `/c/work/x`, `~/x`.
    """
    path = path.replace("\\", "/") if is_windows(path) else path
    return f"/{path[0].lower()}{path[2:]}" if path[1:3] == ":/" else path


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
        for above in with_parents(path):
            if above in self._kept:
                return None
            for old, new in self._by_old.get(above, ()):
                is_alone = old in self.alone and path != old
                if not is_alone and _concerns((old, new), path):
                    return _join(path, old, new)
        return None

    @cached_property
    def _by_old(self) -> dict[str, list[Move]]:
        """The moves by OLD, so that thousands of them are looked up, not tried."""
        by_old: dict[str, list[Move]] = {}
        for move in self.moves:
            by_old.setdefault(compared(move[0]), []).append(move)
        return by_old

    @cached_property
    def _kept(self) -> frozenset[str]:
        """What is kept; a move of its very OLD comes first."""
        return frozenset(map(compared, self.kept)) - self._by_old.keys()

    def covers(self, path: str) -> bool:
        return self.map(path) is not None

    def reversed(self) -> PathMap:
        """The way back; what is by then where a kept project
        would be now is another one.
        """
        kept = frozenset(filter(None, map(PathMap(self.moves).map, self.kept)))
        moves = [move for move in self.moves if move[0] not in self.alone]
        return PathMap(tuple((new, old) for old, new in moves), kept)

    def as_people_write(self, home: str) -> PathMap:
        """These moves, also with `~`, `$HOME` and `${HOME}` for the home, and `/c/` for
        a drive.

        A new path that is not in the home is absolute in every spelling.
        """
        inside = [move for move in self.moves if tail_below(move[0], home)]
        spelled = [
            (_spelled(old, home, sign), _spelled(new, home, sign))
            for sign in _HOME
            for old, new in inside
        ]
        kept = {_spelled(path, home, sign) for sign in _HOME for path in self.kept}
        if is_windows(
            home
        ):  # its shells differ in the slash, and in how they write a drive
            spelled += [
                (old.replace("\\", "/"), new.replace("\\", "/")) for old, new in spelled
            ]
            spelled += [(in_bash(old), in_bash(new)) for old, new in self.moves]
            kept |= {in_bash(path) for path in kept | self.kept}
        alone = {_spelled(path, home, sign) for sign in _HOME for path in self.alone}
        return PathMap((*self.moves, *spelled), self.kept | kept, self.alone | alone)

    def needles(self) -> tuple[str, ...]:
        """Strings of which every path that these moves concern contains one."""
        return tuple(dict.fromkeys(_needle(old) for old, _ in self.moves))

    def named_in(self, text: str) -> list[str]:
        """Each OLD that stands in `text` as a whole path,
        not as a part of another one.
        """
        named = []
        for old, new in self.moves:
            if old in text or is_windows(
                old
            ):  # a quick look first, which a pattern is not
                staying = [
                    _whole_path(path)
                    for path in (*self.kept, new)
                    if tail_below(path, old)
                ]
                places = [found.start() for found in _whole_path(old).finditer(text)]
                if any(
                    not any(path.match(text, place) for path in staying)
                    for place in places
                ):
                    named.append(old)
        return named


def compared(path: str) -> str:
    """A path as it is compared: on Windows neither case nor the slash counts."""
    return native(path).lower() if is_windows(path) else path


def with_parents(path: str) -> Iterator[str]:
    """`path` and all that it is in, the longest first, as they are compared."""
    whole = compared(path)
    separator = "\\" if is_windows(path) else "/"
    end = len(whole)
    while end > 0:
        yield whole[:end]
        end = whole.rfind(separator, 0, end)


def _concerns(move: Move, path: str) -> bool:
    """Whether `path` is in OLD; what is in a NEW below that OLD is already in place."""
    old, new = move
    in_place = tail_below(new, old) and tail_below(path, new) is not None
    return tail_below(path, old) is not None and not in_place


def tail_below(path: str, parent: str) -> str | None:
    """What of `path` follows `parent`: "" when they are the same,
    None when it is not below.
    """
    head, tail = path[: len(parent)], path[len(parent) :]
    if is_windows(
        parent
    ):  # where neither case nor the kind of slash makes another folder
        is_same = is_windows(path) and native(head).lower() == native(parent).lower()
        return tail if is_same and tail[:1] in ("", "/", "\\") else None
    return tail if head == parent and tail[:1] in ("", "/") else None


def are_nested(one: str, other: str) -> bool:
    """Whether they are the same path, or one is below the other."""
    return tail_below(one, other) is not None or tail_below(other, one) is not None


def _spelled(path: str, home: str, sign: str) -> str:
    tail = tail_below(path, home)
    return path if tail is None else sign + tail


# Not after a character of a name, unless that is a flag (`-I/x`) or an escape (`\n/x`)
# in JSON.
_BEGINS = r"(?:(?<![\w.~-])|(?<=-[A-Za-z])|(?<=\\[nrt]))"
# Not before a character of a name; a full stop ends a sentence, or goes on to `.bak`.
_ENDS = r"(?![\w+@~-]|\.[\w-])"


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
    return max(
        re.findall(r"[\w.-]+", _SEPARATORS.split(old)[-1], re.ASCII),
        key=len,
        default=":",
    )


def _join(path: str, old: str, new: str) -> str:
    """`path` below `new`; on Windows `new` has the separators that were there,
    the rest stays.
    """
    head, tail = path[: len(old)], path[len(old) :]
    if is_windows(old) and is_windows(new):
        return (native(new) if "\\" in head else new.replace("\\", "/")) + tail
    if is_windows(old):
        return (new + tail).replace("\\", "/")
    return native(new + tail) if "\\" in new else new + tail


@dataclass(frozen=True)
class NameMap:
    """Old -> new names of project directories,
    inside paths such as `…/projects/NAME/x.jsonl`.
    """

    names: tuple[tuple[str, str], ...]
    paths: PathMap = PathMap(())
    sessions: Mapping[tuple[str, str], str] = field(
        default_factory=dict
    )  # that leave their own

    def map(self, path: str) -> str | None:
        """Where a path of the state itself is after the move, or None when it stays."""
        place = self.paths.map(path) or path
        for found in reversed(list(_DIRECTORY_NAME.finditer(place))):
            alone = self.sessions.get(
                (found["name"], found["entry"].removesuffix(".jsonl"))
            )
            new = dict(self.names).get(found["name"], alone)
            if new is not None:
                place = place[: found.start()] + new + place[found.end() :]
                break
        return place if place != path else None


_DIRECTORY_NAME = re.compile(
    r"(?<=[\\/]projects[\\/])(?P<name>[^\\/]+)(?=[\\/]?(?P<entry>[^\\/]*))"
)
