"""What differs between two contents of a file, value by value: for people, `--json`,
the verifier.

Objects and lists are compared side by side, so that a renamed key is one difference.
"""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from ccmove.rewrite.index import key_of
from ccmove.rewrite.jsonspan import Node, NotJsonError, Pointer, parse, show
from ccmove.text import readable_size


@dataclass(frozen=True, slots=True)
class Difference:
    """One value before and after; None for what is not there on that side."""

    pointer: Pointer
    before: str | None
    after: str | None
    is_key: bool = False  # the name of the member, not its value
    line: str = ""  # the place in a file that is not JSON

    @property
    def place(self) -> str:
        return self.line or show(self.pointer)


def compare(before: bytes | None, after: bytes) -> list[Difference]:
    """What differs, as JSON when both are, else line by line;
    `before` is None of a new file.
    """
    if before is None:
        return [
            Difference((), None, f"new, {readable_size(len(after))}", line="whole file")
        ]
    if before == after:
        return []
    one, other = (data.decode("utf-8", "surrogateescape") for data in (before, after))
    try:
        return list(_differences(parse(one), parse(other), ()))
    except NotJsonError:
        return [
            Difference((), old, new, line=f"line {(k if old is None else i) + 1}")
            for i, k, old, new in changed_lines(one.split("\n"), other.split("\n"))
        ]


def _differences(a: Node, b: Node, at: Pointer) -> Iterator[Difference]:
    """Only what differs is opened: a config file may be large."""
    if a.raw == b.raw:
        return
    if a.kind == b.kind and a.kind in "{[":
        yield from _inside(a, b, at)
    elif _shown(a) != _shown(b):
        yield Difference(at, _shown(a), _shown(b))


def _inside(a: Node, b: Node, at: Pointer) -> Iterator[Difference]:
    """Side by side where as many belong together, so that a name may have changed."""
    ours, theirs = _parts(a), _parts(b)
    whole = [(0, len(ours), 0, len(theirs))]
    known = [[name for _, name, _ in parts] for parts in (ours, theirs)]
    for i, j, k, m in whole if len(ours) == len(theirs) else _segments(*known):
        if j - i != m - k:
            yield from (
                Difference((*at, token), _shown(one), None)
                for token, _, one in ours[i:j]
            )
            yield from (
                Difference((*at, token), None, _shown(one))
                for token, _, one in theirs[k:m]
            )
            continue
        for (token, _, one), (new, _, other) in zip(
            ours[i:j], theirs[k:m], strict=True
        ):
            is_named = isinstance(token, str) and isinstance(new, str)
            if is_named and token != new:
                yield Difference((*at, token), str(token), str(new), is_key=True)
            yield from _differences(one, other, (*at, token))


def _parts(node: Node) -> list[tuple[str | int, str, Node]]:
    """Name or number, what it is known by, and the value of all that is in a node."""
    if node.kind == "{":
        return [
            (key.value, key.value, item)
            for key, item in zip(node.keys, node.items, strict=True)
        ]
    return [(number, key_of(item), item) for number, item in enumerate(node.items)]


def _shown(part: Node) -> str:
    return part.value if isinstance(part.value, str) else part.raw


def _segments(one: list[str], other: list[str]) -> list[tuple[int, int, int, int]]:
    """one[i:j] and other[k:m] that belong together:
    what both have, or what is between.
    """
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
    return [(i, j, k, m) for _, i, j, k, m in matcher.get_opcodes()]


def changed_lines(
    before: list[str], after: list[str]
) -> Iterator[tuple[int, int, str | None, str | None]]:
    """(number before, number after, before,
    after) of the lines that differ, side by side.
    """
    for i, j, k, m in _segments(before, after):
        for number in range(max(j - i, m - k) if before[i:j] != after[k:m] else 0):
            old = before[i + number] if i + number < j else None
            new = after[k + number] if k + number < m else None
            yield i + number, k + number, old, new
