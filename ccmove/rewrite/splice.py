"""Changes of a JSON text: single values are replaced, added or removed, and nothing else.

Everything between the splices stays byte for byte. A string changes when it *is* what the mapper
knows; of repeated keys the last counts, as the client reads it, and the others stay.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from ccmove.rewrite.jsonspan import Node, parse, quote, walk

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


def apply_inside(node: Node, splices: Iterable[Splice]) -> str:
    """The text of one node with splices made that are all in it."""
    start = node.start
    return apply(node.raw, [Splice(s.start - start, s.end - start, s.text) for s in splices])


def set_raw(node: Node, raw: str) -> Splice:
    """The JSON text `raw` in the place of a value or key."""
    return Splice(node.start, node.end, raw)


def set_string(node: Node, value: str) -> Splice:
    """A string in the place of a value or key, spelled as the client does."""
    return set_raw(node, quote(value))


def add_items(parent: Node, items: Iterable[tuple[str, str]]) -> list[Splice]:
    """Append (key, JSON text) to an object or list, spaced as its other items are."""
    text, keys, values = parent.text, parent.keys, parent.items
    at = values[-1].end if values else parent.start + 1
    colon = text[keys[0].end : values[0].start] if keys else ": "
    starts = keys or values
    if len(starts) > 1:
        lead = text[values[0].end : starts[1].start]
    else:
        lead = "," + (text[parent.start + 1 : starts[0].start] if starts else "")
    is_object = parent.kind == "{"
    return [
        Splice(at, at, lead + (quote(k) + colon if is_object else "") + raw) for k, raw in items
    ]


def remove_items(parent: Node, gone: Iterable[int]) -> list[Splice]:
    """Take the items with these numbers out, each with the comma before it."""
    ends = [parent.start + 1, *(item.end for item in parent.items)]
    return [Splice(ends[number], ends[number + 1]) for number in sorted(gone)]


def remove_members(parent: Node, gone: Collection[str]) -> list[Splice]:
    """Take the members with these names out, also where a name is repeated."""
    return remove_items(parent, [i for i, key in enumerate(parent.keys) if key.value in gone])


def rename_members(parent: Node, names: Mapping[str, str]) -> list[Splice]:
    """Give members other names, also where a name is repeated."""
    return [set_string(key, names[key.value]) for key in parent.keys if key.value in names]


def changed(
    parent: Node,
    texts: Mapping[int, str | None],
    added: Iterable[tuple[str, str]],
    names: Mapping[str, str],
) -> str:
    """The text of a node with other texts for some items (None: they go), new ones, new names."""
    splices = [set_raw(parent.items[n], raw) for n, raw in texts.items() if raw is not None]
    splices += remove_items(parent, [n for n, raw in texts.items() if raw is None])
    splices += rename_members(parent, names)
    return apply_inside(parent, [*splices, *add_items(parent, added)])


def moved(node: Node, mapper: Mapper) -> str | None:
    """What a string becomes, or None when it stays."""
    new = mapper(node.value) if isinstance(node.value, str) else None
    # Bytes that are not UTF-8 can't be spelled again, and the client never wrote such a string.
    is_odd = new is not None and _NO_UTF8.search(node.text, node.start, node.end)
    return None if is_odd or new == node.value else new


def at_places(text: str, places: Mapping[str, Mapper]) -> str:
    """`text` with the strings at some places mapped: see `place_splices`."""
    return apply(text, place_splices(parse(text), places))


def place_splices(root: Node, places: Mapping[str, Mapper]) -> list[Splice]:
    """The strings at some places, such as `entries/[]/fullPath`, that their mappers change.

    `[]` is every item of a list, `*` every member of an object.
    """
    splices: list[Splice] = []
    for place, mapper in places.items():
        nodes = [root]
        for step in place.split("/"):
            nodes = [below for node in nodes for below in _below(node, step)]
        news = [(node, moved(node, mapper)) for node in nodes]
        splices += [set_string(node, new) for node, new in news if new is not None]
    return splices


def _below(node: Node, step: str) -> Iterable[Node]:
    if step == "[]":
        return node.items if node.kind == "[" else ()
    return [item for name, item in node.members().items() if step in (name, "*")]


def string_splices(
    root: Node, mapper: Mapper, wanted: Callable[[str | int, Node], bool] = lambda *_: True
) -> list[Splice]:
    """Every string in a node that the mapper changes, and the names of members."""
    splices: list[Splice] = []
    for token, node in walk(root):
        new, names = moved(node, mapper), new_names(node, mapper)
        if (new is not None or names) and wanted(token, node):
            splices += [set_string(node, new)] if new is not None else []
            splices += rename_members(node, names)
    return splices


def new_names(parent: Node, mapper: Mapper) -> dict[str, str]:
    """The members that get another name; not those that would hide another member by it."""
    mapped = {key.value: moved(key, mapper) for key in parent.keys}
    names = {name: new for name, new in mapped.items() if new is not None}
    while True:
        claims: dict[str, list[str]] = defaultdict(list)
        for name in mapped:
            claims[names.get(name, name)].append(name)
        hiding = [name for name, new in names.items() if len(claims[new]) > 1]
        if not hiding:
            return names
        for name in hiding:
            del names[name]
