"""OLD -> NEW on path strings, by whole components: `/code/my-app` never matches `/code/my-app-docker`.

A map holds one or more moves that happen at the same moment, so a swap (A->B with B->A) and a
chain (A->B with B->C) mean what they say: each path is mapped once, by the longest OLD it lies in.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_WINDOWS = re.compile(r"(?:[A-Za-z]:[\\/]|\\\\)")


def is_windows(path: str) -> bool:
    """Whether `path` is spelled the Windows way (`C:\\x`, `C:/x`, `\\\\server\\share`)."""
    return _WINDOWS.match(path) is not None


@dataclass(frozen=True)
class PathMap:
    """The moves of one run. `kept` are projects below an OLD that stay where they are."""

    moves: tuple[tuple[str, str], ...]
    kept: frozenset[str] = field(default_factory=frozenset)

    def map(self, path: str) -> str | None:
        """Where `path` is after the moves, or None when they do not concern it."""
        best: tuple[int, str] | None = None
        for old, new in self.moves:
            tail = tail_below(path, old)
            if tail is not None and (best is None or len(old) > best[0]):
                best = (len(old), _join(path, old, new, tail))
        if best is None or self._is_kept(path):
            return None
        return best[1]

    def covers(self, path: str) -> bool:
        """Whether `path` is an OLD or lies below one."""
        return self.map(path) is not None

    def reversed(self) -> PathMap:
        """The moves that undo these."""
        return PathMap(tuple((new, old) for old, new in self.moves))

    def needles(self) -> tuple[str, ...]:
        """Strings of which every path that these moves concern contains one."""
        return tuple(dict.fromkeys(_needle(old) for old, _ in self.moves))

    def _is_kept(self, path: str) -> bool:
        return any(tail_below(path, kept) is not None for kept in self.kept)


def tail_below(path: str, parent: str) -> str | None:
    """What of `path` follows `parent`: "" when they are the same, None when it is not below."""
    if is_windows(parent):
        same = _windows_key(path[: len(parent)]) == _windows_key(parent)
        separators = "\\/"
    else:
        same = path.startswith(parent)
        separators = "/"
    if not same or len(path) < len(parent):
        return None
    tail = path[len(parent) :]
    return tail if not tail or tail[0] in separators else None


def is_named_in(text: str, path: str) -> bool:
    """Whether `path` stands in `text` as a whole path, not as the start of a longer name."""
    at = text.find(path)
    while at >= 0:
        following = text[at + len(path) : at + len(path) + 1]
        if not (following.isalnum() or following in ("-", "_", ".")):
            return True
        at = text.find(path, at + 1)
    return False


def _windows_key(path: str) -> str:
    return path[:1].upper() + path[1:].replace("/", "\\")


def _join(path: str, old: str, new: str, tail: str) -> str:
    """`new` + `tail`, in the separators and the drive-letter case that `path` is written with."""
    if not is_windows(old):
        return new + (tail.replace("/", "\\") if is_windows(new) else tail)
    if not is_windows(new):
        return new + tail.replace("\\", "/")
    if "/" in path and "\\" not in path:
        new = new.replace("\\", "/")
    if new[:1].upper() == path[:1].upper():
        new = path[:1] + new[1:]
    return new + tail


def _needle(old: str) -> str:
    """On Windows drive letter and separators vary; only the last component is sure to be there."""
    return re.split(r"[\\/]", old)[-1] if is_windows(old) else old
