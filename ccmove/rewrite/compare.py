"""What differs between two contents of a file, value by value: for people, `--json`, the verifier.

Objects and lists are compared side by side, so that a renamed key is one difference.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from ccmove.rewrite.jsonspan import Node, NotJsonError, Pointer, parse, parse_at, show
from ccmove.text import plural, readable_size

Segment = tuple[bool, int, int, int, int]  # whether the names are the same; one[i:j], other[k:m]


@dataclass(frozen=True, slots=True)
class Difference:
    """One value before and after; None for what is not there on that side."""

    pointer: Pointer
    before: object
    after: object
    is_key: bool = False  # the name of the member, not its value
    line: str = ""  # the place in a file that is not JSON

    @property
    def place(self) -> str:
        """The pointer as RFC 6901 writes it."""
        return self.line or show(self.pointer)

    @property
    def pattern(self) -> Pointer:
        """The pointer with every array index as `*`: alike differences can be shown as one."""
        return tuple("*" if isinstance(token, int) else token for token in self.pointer)


def compare(before: bytes | None, after: bytes) -> list[Difference]:
    """What differs, as JSON when both are, else line by line; `before` is None of a new file."""
    if before is None:
        return [_named("whole file", None, f"new, {readable_size(len(after))}")]
    if before == after:
        return []
    one = before.decode("utf-8", "surrogateescape")
    other = after.decode("utf-8", "surrogateescape")
    try:
        a, b = (parse(text, lambda _: False) for text in (one, other))
        rows = list(_Values(one, other).differences(a, b, ()))
    except (NotJsonError, RecursionError):
        rows = list(_lines(one, other))
    spacing = plural(len(before), "byte"), f"{plural(len(after), 'byte')}, the same values"
    return rows or [_named("whole file", *spacing)]


def _named(place: str, before: object, after: object) -> Difference:
    return Difference((), before, after, line=place)


class _Values:
    """Two JSON texts. Only what differs is opened: a config file may be large."""

    def __init__(self, one: str, other: str) -> None:
        self.one = one
        self.other = other

    def differences(self, a: Node, b: Node, at: Pointer) -> Iterator[Difference]:
        if self.one[a.start : a.end] == self.other[b.start : b.end]:
            return
        opened = self.one[a.start] + self.other[b.start]
        if opened == "{{":
            yield from self._members(_opened(self.one, a), _opened(self.other, b), at)
        elif opened == "[[":
            yield from self._items(_opened(self.one, a), _opened(self.other, b), at)
        elif _shown(self.one, a) != _shown(self.other, b):
            yield Difference(at, _shown(self.one, a), _shown(self.other, b))

    def _members(self, a: Node, b: Node, at: Pointer) -> Iterator[Difference]:
        """Members in the same place whose names alone differ were renamed."""
        names, others = [key.value for key in a.keys], [key.value for key in b.keys]
        for same, i, j, k, m in self._segments(a, b, names, others):
            if j - i == m - k:
                for x, y in zip(range(i, j), range(k, m), strict=True):
                    place = (*at, names[x])
                    if not same and names[x] != others[y]:
                        yield Difference(place, names[x], others[y], is_key=True)
                    yield from self.differences(a.items[x], b.items[y], place)
                continue
            for x in range(i, j):
                yield Difference((*at, names[x]), _shown(self.one, a.items[x]), None)
            for y in range(k, m):
                yield Difference((*at, others[y]), None, _shown(self.other, b.items[y]))

    def _segments(self, a: Node, b: Node, names: list[str], others: list[str]) -> list[Segment]:
        """A swap or a chain of names is seen where the members stay: our changes are in place."""
        if len(names) == len(others) and not any(
            self._is_at_home(a, b, number) for number in range(len(names))
        ):
            return [(False, 0, len(names), 0, len(others))]
        return _segments(names, others)

    def _is_at_home(self, a: Node, b: Node, number: int) -> bool:
        """Whether a member is the same under its name elsewhere, and not in its own place."""
        name, item = a.keys[number].value, a.items[number]
        if name == b.keys[number].value:
            return False
        raw, place = self.one[item.start : item.end], b.items[number]
        there = b.get(name)
        if there is None:
            return False
        same = raw == self.other[there.start : there.end]
        return same and raw != self.other[place.start : place.end]

    def _items(self, a: Node, b: Node, at: Pointer) -> Iterator[Difference]:
        names = [_name(self.one, item) for item in a.items]
        others = [_name(self.other, item) for item in b.items]
        for _, i, j, k, m in _segments(names, others):
            both = min(j - i, m - k)
            for x, y in zip(range(i, i + both), range(k, k + both), strict=True):
                yield from self.differences(a.items[x], b.items[y], (*at, x))
            for x in range(i + both, j):
                yield Difference((*at, x), _shown(self.one, a.items[x]), None)
            for y in range(k + both, m):
                yield Difference((*at, y), None, _shown(self.other, b.items[y]))


def _opened(text: str, node: Node) -> Node:
    return node if node.opened else parse_at(text, node.start, lambda at: not at)


def _name(text: str, item: Node) -> str:
    """An item of a list is known by its session, else by its text."""
    session = item.value.get("sessionId") if isinstance(item.value, dict) else None
    return session if isinstance(session, str) else text[item.start : item.end]


def _shown(text: str, node: Node) -> object:
    """A string as it reads, anything else as it is spelled."""
    return node.value if type(node.value) is str else text[node.start : node.end]


def _segments(one: list[str], other: list[str]) -> list[Segment]:
    """Runs of names that both have and of those that only one has.

    Where those that both have stand in the same order that takes no search.
    """
    have, theirs = set(one), set(other)
    common = [name for name in one if name in theirs]
    if common != [name for name in other if name in have]:
        codes = difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
        return [(tag == "equal", i, j, k, m) for tag, i, j, k, m in codes]
    segments: list[Segment] = []
    i = k = 0
    for name in [*common, None]:
        j = one.index(name, i) if name is not None else len(one)
        m = other.index(name, k) if name is not None else len(other)
        if j > i or m > k:
            segments.append((False, i, j, k, m))
        if name is not None:
            segments.append((True, j, j + 1, m, m + 1))
        i, k = j + 1, m + 1
    return segments


def _lines(one: str, other: str) -> Iterator[Difference]:
    if one and other.startswith(one):
        yield _named("end of the file", None, other[len(one) :].strip("\n"))
        return
    before, after = one.split("\n"), other.split("\n")
    for same, i, j, k, m in _segments(before, after):
        for number in range(max(j - i, m - k) if not same else 0):
            old = before[i + number] if i + number < j else None
            new = after[k + number] if k + number < m else None
            line = (i if old is not None else k) + number + 1
            yield _named(f"line {line}", old, new)
