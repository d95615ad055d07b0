"""What differs between two contents of a file, value by value: for people, `--json`,
the verifier.

Objects and lists are compared side by side, so that a renamed key is one difference.
"""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from ccmove.rewrite.jsonspan import Node, NotJsonError, Parts, Pointer, parse, show
from ccmove.text import as_text, readable_size


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
    one = as_text(before)
    other = as_text(after)
    try:
        differences = _differences(parse(one), parse(other), ())
        return list(differences)
    except NotJsonError:
        return list(_differing_lines(one, other))


def _differing_lines(before: str, after: str) -> Iterator[Difference]:
    for row in changed_lines(before, after):
        line = f"line {row.number + 1}"
        yield Difference((), row.before, row.after, line=line)


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
    ours = a.parts()
    theirs = b.parts()
    if len(ours) == len(theirs):
        yield from _side_by_side(ours, theirs, at)
        return
    our_keys = [part.key for part in ours]
    their_keys = [part.key for part in theirs]
    for our_slice, their_slice in _segments(our_keys, their_keys):
        olds = ours[our_slice]
        news = theirs[their_slice]
        if len(olds) == len(news):
            yield from _side_by_side(olds, news, at)
            continue
        for token, node in olds:
            pointer = (*at, token)
            yield Difference(pointer, _shown(node), None)
        for token, node in news:
            pointer = (*at, token)
            yield Difference(pointer, None, _shown(node))


def _side_by_side(ours: Parts, theirs: Parts, at: Pointer) -> Iterator[Difference]:
    for our, their in zip(ours, theirs, strict=True):
        pointer = (*at, our.token)
        if isinstance(our.token, str) and our.token != their.token:
            yield Difference(pointer, our.key, their.key, is_key=True)
        yield from _differences(our.node, their.node, pointer)


def _shown(part: Node) -> str:
    if part.kind == '"':
        return str(part.value)
    return part.raw


def _segments(ours: list[str], theirs: list[str]) -> list[tuple[slice, slice]]:
    """What belongs together of ours and of theirs: what both have, or what is
    between.
    """
    matcher = difflib.SequenceMatcher(None, ours, theirs, autojunk=False)
    segments = []
    for _, start, end, their_start, their_end in matcher.get_opcodes():
        segments.append((slice(start, end), slice(their_start, their_end)))
    return segments


def changed_lines(before: str, after: str) -> Iterator[ChangedLine]:
    """The lines that differ, side by side."""
    lines_before = before.split("\n")
    lines_after = after.split("\n")
    for slice_before, slice_after in _segments(lines_before, lines_after):
        olds = lines_before[slice_before]
        news = lines_after[slice_after]
        if olds == news:
            continue
        rows = zip_longest(olds, news)
        for number, (old, new) in enumerate(rows):
            first = slice_before.start
            if old is None:
                first = slice_after.start
            yield ChangedLine(first + number, old, new)
