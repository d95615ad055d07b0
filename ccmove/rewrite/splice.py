"""Changes of a JSON text: single values are replaced, added or removed, and nothing else.

Everything between the splices stays byte for byte. A string changes when it *is* what the mapper
knows; of repeated keys the last counts, as the client reads it, and the others stay.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ccmove.rewrite.jsonspan import Node, Pointer, quote

Mapper = Callable[[str], str | None]  # what a string becomes; None: it stays

_COMMA = re.compile(r"[ \t\n\r]*,")
_NO_UTF8 = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True, slots=True)
class Splice:
    """text[start:end] becomes `text`."""

    start: int
    end: int
    text: str = ""


def apply(text: str, splices: Iterable[Splice]) -> str:
    """`text` with every splice made; all else is untouched.

    Who adds and removes items needs to know nothing of others who do so in the same place: a
    comma that nothing stands before any more is dropped.
    """
    pieces: list[str] = []
    position = 0
    for splice in sorted(splices, key=lambda s: (s.start, s.end)):
        if splice.start < position:
            raise AssertionError(f"splices overlap at character {splice.start}")
        pieces.append(_fitting(text[position : splice.start], pieces))
        pieces.append(_fitting(splice.text, pieces))
        position = splice.end
    pieces.append(_fitting(text[position:], pieces))
    return "".join(pieces)


def _fitting(piece: str, pieces: list[str]) -> str:
    """`piece` without the comma it begins with, when it follows an opening bracket.

    Only removals make that happen: pieces begin and end between JSON tokens.
    """
    comma = _COMMA.match(piece)
    if comma is None:
        return piece
    for before in reversed(pieces):
        if content := before.rstrip(" \t\n\r"):
            return piece[comma.end() :] if content[-1] in "{[" else piece
    return piece


def apply_inside(text: str, node: Node, splices: Iterable[Splice]) -> str:
    """The text of one node with the splices that lie in it made."""
    inside = [
        Splice(s.start - node.start, s.end - node.start, s.text)
        for s in splices
        if node.start <= s.start and s.end <= node.end
    ]
    return apply(text[node.start : node.end], inside)


# -- making them -----------------------------------------------------------------------------------


def set_raw(node: Node, raw: str) -> Splice:
    """The JSON text `raw` in the place of a value or key."""
    return Splice(node.start, node.end, raw)


def set_string(node: Node, value: str) -> Splice:
    """A string in the place of a value or key, spelled as the client does."""
    return set_raw(node, quote(value))


def add_items(text: str, parent: Node, items: Iterable[tuple[str, str]]) -> list[Splice]:
    """Append (key, JSON text) to an object or list, spaced as its other items are."""
    at = parent.items[-1].end if parent.items else parent.start + 1
    lead = _item_lead(text, parent)
    colon = text[parent.keys[0].end : parent.items[0].start] if parent.keys else ": "
    is_object = parent.opened == "{"
    return [
        Splice(at, at, f"{lead}{quote(key)}{colon}{raw}" if is_object else lead + raw)
        for key, raw in items
    ]


def _item_lead(text: str, parent: Node) -> str:
    """Comma and blanks as between the first two items; of a single item, the blanks before it."""
    starts = parent.keys or parent.items
    if len(starts) > 1:
        return text[parent.items[0].end : starts[1].start]
    return "," + text[parent.start + 1 : starts[0].start] if starts else ","


def remove_items(parent: Node, gone: Iterable[int]) -> list[Splice]:
    """Take the items with these numbers out, each with the comma before it."""
    ends = [parent.start + 1, *(item.end for item in parent.items)]
    return [Splice(ends[number], ends[number + 1]) for number in sorted(gone)]


# -- strings ---------------------------------------------------------------------------------------


def moved(text: str, node: Node | None, mapper: Mapper) -> str | None:
    """What the string at `node` becomes, or None when it stays."""
    new = mapper(node.value) if node is not None and isinstance(node.value, str) else None
    if node is None or new is None or new == node.value:
        return None
    # Bytes that are no UTF-8 can't be spelled anew, and the client never wrote such a string.
    return None if _NO_UTF8.search(text, node.start, node.end) else new


@dataclass(frozen=True, slots=True)
class Spot:
    """A node and the way down to it; the pointer is made only when it is asked for."""

    node: Node
    above: Spot | None = None
    token: str | int = ""

    @property
    def pointer(self) -> Pointer:
        """The pointer from the node where the walk began."""
        tokens: list[str | int] = []
        spot = self
        while spot.above is not None:
            tokens.append(spot.token)
            spot = spot.above
        return tuple(reversed(tokens))


def walk(root: Node) -> Iterator[Spot]:
    """Every node of an opened tree that counts, parents first, without recursion."""
    waiting = [Spot(root)]
    while waiting:
        spot = waiting.pop()
        yield spot
        below: dict[str | int, Node] = dict(enumerate(spot.node.items))
        if spot.node.opened == "{":
            below = {key.value: item for key, item in spot.node.members()}
        waiting += [Spot(item, spot, token) for token, item in reversed(below.items())]


def string_splices(
    text: str, node: Node, mapper: Mapper, wanted: Callable[[Spot], bool] = lambda _: True
) -> list[Splice]:
    """Every string below an opened node that the mapper changes, and the keys of its objects."""
    splices: list[Splice] = []
    for spot in walk(node):
        names = new_names(text, spot.node, mapper)
        new = moved(text, spot.node, mapper)
        if (names or new is not None) and wanted(spot):
            splices += [set_string(spot.node.keys[place], name) for place, name in names.items()]
            splices += [set_string(spot.node, new)] if new is not None else []
    return splices


def new_names(text: str, parent: Node, mapper: Mapper) -> dict[int, str]:
    """The members that get another name; not those that would hide another member by it."""
    mapped = {i: moved(text, key, mapper) for i, key in enumerate(parent.keys)}
    names = {i: name for i, name in mapped.items() if name is not None}
    while names:
        claims: dict[str, set[str]] = defaultdict(set)
        for i, key in enumerate(parent.keys):
            claims[names.get(i, key.value)].add(key.value)
        hiding = [i for i, name in names.items() if len(claims[name]) > 1]
        if not hiding:
            break
        for i in hiding:
            del names[i]
    return names
