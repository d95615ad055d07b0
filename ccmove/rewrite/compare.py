"""What differs in a file, value by value: the same list for people and for `--json`.

A move says itself which values it changes. A restore puts saved bytes back, so there the two
texts are compared: objects and arrays side by side, so that a renamed key is one difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ccmove.plan.model import FileChange
from ccmove.rewrite.jsonspan import Node, NotJsonError, Pointer, parse, show
from ccmove.rewrite.splice import Edit
from ccmove.text import plural
from ccmove.text import readable_size as size


class Difference(NamedTuple):
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


def differences(change: FileChange) -> list[Difference]:
    """Every value that changes in one file."""
    rows = [_of_edit(edit) for edit in change.edits]
    rows += [_line(number, before, after) for number, before, after in change.lines]
    if change.appended:
        rows.append(_named("end of the file", None, change.appended.strip("\n")))
    if rows:
        return rows
    if change.before is None:
        made = change.after or b""
        return [_named("whole file", None, f"new, {size(len(made))}")]
    return compare(change.before, change.after or b"")


def number_of_differences(change: FileChange) -> int:
    """How many there are, without making any where that is known."""
    known = len(change.edits) + len(change.lines) + bool(change.appended)
    return known or len(differences(change))


def _of_edit(edit: Edit) -> Difference:
    return Difference(edit.pointer, *edit.describe(), is_key=edit.kind == "key")


def _line(index: int, before: str | None, after: str | None) -> Difference:
    return _named(f"line {index + 1}", before, after)


def _named(place: str, before: object, after: object) -> Difference:
    return Difference((), before, after, line=place)


# -- two texts -----------------------------------------------------------------------------------


def compare(before: bytes, after: bytes) -> list[Difference]:
    """What differs between two contents of one file: as JSON when both are, else line by line."""
    one = before.decode("utf-8", "surrogateescape")
    other = after.decode("utf-8", "surrogateescape")
    try:
        rows = list(_values(one, parse(one), other, parse(other), ()))
    except (NotJsonError, RecursionError):
        rows = list(_lines(one.split("\n"), other.split("\n")))
    return rows or [_named("whole file", *_spacing(before, after))]


def _spacing(before: bytes, after: bytes) -> tuple[object, object]:
    """The same values, spelled or spaced in another way."""
    return plural(len(before), "byte"), f"{plural(len(after), 'byte')}, the same values"


def _values(one: str, a: Node, other: str, b: Node, at: Pointer) -> Iterator[Difference]:
    if one[a.start : a.end] == other[b.start : b.end]:
        return
    if a.opened == b.opened == "{":
        yield from _members(one, a, other, b, at)
    elif a.opened == b.opened == "[":
        yield from _items(one, a, other, b, at)
    else:
        yield Difference(at, _shown(one, a), _shown(other, b))


def _members(one: str, a: Node, other: str, b: Node, at: Pointer) -> Iterator[Difference]:
    """Members in the same order are compared in pairs: one whose name alone differs was renamed."""
    names, others = [key.value for key in a.keys], [key.value for key in b.keys]
    for tag, i, j, k, m in _opcodes(names, others):
        in_pairs = j - i == m - k
        for key, item in list(a.members())[i:j] if not in_pairs else ():
            yield Difference((*at, key.value), _shown(one, item), None)
        for key, item in list(b.members())[k:m] if not in_pairs else ():
            yield Difference((*at, key.value), None, _shown(other, item))
        for x, y in zip(range(i, j), range(k, m), strict=False) if in_pairs else ():
            place = (*at, a.keys[x].value)
            if tag == "replace":
                yield Difference(place, a.keys[x].value, b.keys[y].value, is_key=True)
            yield from _values(one, a.items[x], other, b.items[y], place)


def _items(one: str, a: Node, other: str, b: Node, at: Pointer) -> Iterator[Difference]:
    raws = [one[n.start : n.end] for n in a.items]
    for tag, i, j, k, m in _opcodes(raws, [other[n.start : n.end] for n in b.items]):
        if tag == "equal":
            continue
        both = min(j - i, m - k)
        for x, y in zip(range(i, i + both), range(k, k + both), strict=True):
            yield from _values(one, a.items[x], other, b.items[y], (*at, x))
        for x in range(i + both, j):
            yield Difference((*at, x), _shown(one, a.items[x]), None)
        for y in range(k + both, m):
            yield Difference((*at, y), None, _shown(other, b.items[y]))


def _opcodes(one: list[str], other: list[str]) -> Sequence[tuple[str, int, int, int, int]]:
    import difflib

    return difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes()


def _shown(text: str, node: Node) -> object:
    """A string as it reads, anything else as it is spelled."""
    return node.value if type(node.value) is str else text[node.start : node.end]


def _lines(one: list[str], other: list[str]) -> Iterator[Difference]:
    for tag, i, j, k, m in _opcodes(one, other):
        if tag == "equal":
            continue
        for number in range(max(j - i, m - k)):
            before = one[i + number] if i + number < j else None
            after = other[k + number] if k + number < m else None
            yield _line((i if before is not None else k) + number, before, after)
