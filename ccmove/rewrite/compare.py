"""What differs between two contents of a file, value by value: for people, `--json`,
the verifier.

Objects and lists are compared side by side, so that a renamed key is one difference.
"""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from ccmove.rewrite.index import key_of
from ccmove.rewrite.jsonspan import Node, NotJsonError, Pointer, parse, show
from ccmove.text import readable_size

_Segment = tuple[slice, slice]  # of the one and of the other


@dataclass(frozen=True, slots=True)
class Difference:
    """One value before and after; None for what is not there on that side."""

    pointer: Pointer
    before: str | None
    after: str | None
    is_key: bool = False  # the name of the member, not its value
    line: str = ""  # where it is in a file that is not JSON

    @property
    def where(self) -> str:
        return self.line or show(self.pointer)


class ChangedLine(NamedTuple):
    """A line before and after, with its numbers; None for what is not there."""

    number: int  # of a new line the one it has now
    before: str | None
    after: str | None


def compare(before: bytes | None, after: bytes) -> list[Difference]:
    """What differs, as JSON when both are, else line by line;
    `before` is None of a new file.
    """
    if before is None:
        size = readable_size(len(after))
        return [Difference((), None, f"new, {size}", line="whole file")]
    if before == after:
        return []
    one = before.decode("utf-8", "surrogateescape")
    other = after.decode("utf-8", "surrogateescape")
    try:
        return list(_differences(parse(one), parse(other), ()))
    except NotJsonError:
        rows = changed_lines(one, other)
        return [
            Difference((), row.before, row.after, line=f"line {row.number + 1}")
            for row in rows
        ]


def _differences(a: Node, b: Node, at: Pointer) -> Iterator[Difference]:
    """Only what differs is opened: a config file may be large."""
    if a.raw == b.raw:
        return
    if a.kind == b.kind and a.kind in "{[":
        yield from _inside(a, b, at)
    elif _shown(a) != _shown(b):
        yield Difference(at, _shown(a), _shown(b))


class _Part(NamedTuple):
    """A member of an object or an item of a list."""

    token: str | int  # its name or number
    key: str  # by which it is known again
    node: Node


_Parts = list[_Part]


def _inside(a: Node, b: Node, at: Pointer) -> Iterator[Difference]:
    """Side by side where as many belong together, so that a name may have changed."""
    for ours, theirs in _groups(_parts(a), _parts(b)):
        if len(ours) == len(theirs):
            yield from _side_by_side(ours, theirs, at)
        else:
            yield from _gone_and_new(ours, theirs, at)


def _gone_and_new(ours: _Parts, theirs: _Parts, at: Pointer) -> Iterator[Difference]:
    for gone in ours:
        yield Difference((*at, gone.token), _shown(gone.node), None)
    for new in theirs:
        yield Difference((*at, new.token), None, _shown(new.node))


def _side_by_side(ours: _Parts, theirs: _Parts, at: Pointer) -> Iterator[Difference]:
    for one, other in zip(ours, theirs, strict=True):
        below = (*at, one.token)
        if isinstance(one.token, str) and one.token != other.token:
            yield Difference(below, one.token, str(other.token), is_key=True)
        yield from _differences(one.node, other.node, below)


def _parts(node: Node) -> _Parts:
    if node.kind == "{":
        rows = zip(node.keys, node.items, strict=True)
        return [_Part(key.value, key.value, item) for key, item in rows]
    return [_Part(i, key_of(item), item) for i, item in enumerate(node.items)]


def _groups(ours: _Parts, theirs: _Parts) -> list[tuple[_Parts, _Parts]]:
    """Those that belong together."""
    if len(ours) == len(theirs):
        return [(ours, theirs)]
    keys = [part.key for part in ours]
    their_keys = [part.key for part in theirs]
    segments = _segments(keys, their_keys)
    return [(ours[i], theirs[k]) for i, k in segments]


def _shown(part: Node) -> str:
    return part.value if isinstance(part.value, str) else part.raw


def _segments(one: list[str], other: list[str]) -> list[_Segment]:
    """What belongs together: what both have, or what is between."""
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
    return [(slice(i, j), slice(k, m)) for _, i, j, k, m in matcher.get_opcodes()]


def changed_lines(before: str, after: str) -> Iterator[ChangedLine]:
    """The lines that differ, side by side."""
    lines_before = before.split("\n")
    lines_after = after.split("\n")
    for i, k in _segments(lines_before, lines_after):
        olds = lines_before[i]
        news = lines_after[k]
        if olds == news:
            continue
        rows = zip_longest(olds, news)
        for number, (old, new) in enumerate(rows):
            start = i.start
            if old is None:
                start = k.start
            yield ChangedLine(start + number, old, new)
