"""What differs between two contents of a file, value by value: for people, `--json`, the verifier.

Objects and lists are compared side by side, so that a renamed key is one difference.
"""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ccmove.rewrite.index import key_of
from ccmove.rewrite.jsonspan import Node, NotJsonError, Pointer, parse, show
from ccmove.text import plural, readable_size

_Parts = Sequence[tuple[str | int, Node]]


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
        rows = list(_differences(parse(one), parse(other), ()))
    except (NotJsonError, RecursionError):
        rows = list(_lines(one, other))
    spacing = plural(len(before), "byte"), f"{plural(len(after), 'byte')}, the same values"
    return rows or [_named("whole file", *spacing)]


def _named(place: str, before: object, after: object) -> Difference:
    return Difference((), before, after, line=place)


def _differences(a: Node, b: Node, at: Pointer) -> Iterator[Difference]:
    """Only what differs is opened: a config file may be large."""
    if a.raw == b.raw:
        return
    if a.kind == b.kind == "{":
        yield from _members(a, b, at)
    elif a.kind == b.kind == "[":
        yield from _items(a, b, at)
    elif _shown(a) != _shown(b):
        yield Difference(at, _shown(a), _shown(b))


def _members(a: Node, b: Node, at: Pointer) -> Iterator[Difference]:
    """Members in the same place whose names alone differ were renamed."""
    names, others = ([key.value for key in node.keys] for node in (a, b))
    ours = list(zip(names, a.items, strict=True))
    theirs = list(zip(others, b.items, strict=True))
    in_place = len(ours) == len(theirs) and not _has_wandered(ours, theirs)
    whole = [(0, len(ours), 0, len(theirs))]
    for i, j, k, m in whole if in_place else _segments(names, others):
        if j - i != m - k:
            yield from _alone(ours[i:j], theirs[k:m], at)
            continue
        for (name, one), (new, other) in zip(ours[i:j], theirs[k:m], strict=True):
            if name != new:
                yield Difference((*at, name), name, new, is_key=True)
            yield from _differences(one, other, (*at, name))


def _has_wandered(ours: list[tuple[str, Node]], theirs: list[tuple[str, Node]]) -> bool:
    """Whether a member is the same under its name elsewhere: our changes stay in place.

    In a swap or a chain another one has its name, and it has another.
    """
    raws = {name: part.raw for name, part in theirs}
    return any(
        name != new and raws.get(name) == one.raw != other.raw
        for (name, one), (new, other) in zip(ours, theirs, strict=True)
    )


def _items(a: Node, b: Node, at: Pointer) -> Iterator[Difference]:
    ours, theirs = list(enumerate(a.items)), list(enumerate(b.items))
    names, others = ([key_of(p) for _, p in items] for items in (ours, theirs))
    for i, j, k, m in _segments(names, others):
        both = min(j - i, m - k)
        for (x, one), (_, other) in zip(ours[i : i + both], theirs[k : k + both], strict=True):
            yield from _differences(one, other, (*at, x))
        yield from _alone(ours[i + both : j], theirs[k + both : m], at)


def _alone(ours: _Parts, theirs: _Parts, at: Pointer) -> Iterator[Difference]:
    """What only one of them has."""
    yield from (Difference((*at, token), _shown(part), None) for token, part in ours)
    yield from (Difference((*at, token), None, _shown(part)) for token, part in theirs)


def _shown(part: Node) -> object:
    """A string as it reads, anything else as it is spelled."""
    return part.value if isinstance(part.value, str) else part.raw


def _segments(one: list[str], other: list[str]) -> list[tuple[int, int, int, int]]:
    """one[i:j] and other[k:m] that belong together: what both have, or what is between."""
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
    return [(i, j, k, m) for _, i, j, k, m in matcher.get_opcodes()]


def _lines(one: str, other: str) -> Iterator[Difference]:
    if one and other.startswith(one):
        yield _named("end of the file", None, other[len(one) :].strip("\n"))
        return
    for i, k, old, new in changed_lines(one.split("\n"), other.split("\n")):
        yield _named(f"line {(k if old is None else i) + 1}", old, new)


def changed_lines(
    before: list[str], after: list[str]
) -> Iterator[tuple[int, int, str | None, str | None]]:
    """(number before, number after, before, after) of the lines that differ, side by side."""
    for i, j, k, m in _segments(before, after):
        for number in range(max(j - i, m - k) if before[i:j] != after[k:m] else 0):
            old = before[i + number] if i + number < j else None
            new = after[k + number] if k + number < m else None
            yield i + number, k + number, old, new
