"""Changes of a JSON text: single values are replaced, added or removed, and nothing
else.

Everything between the splices stays byte for byte. A string changes when it *is* what
the mapper knows; of repeated keys the last counts, as the client reads it, and the
others stay.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from ccmove.rewrite.jsonspan import Node, Pointer, parse, quote, walk

Mapper = Callable[[str], str | None]  # what a string becomes; None: it stays
MapperAt = Callable[[Pointer], Mapper | None]  # by which mapper, at each place
# The new texts of a member by its name, of an item by its number; None: it goes.
Texts = dict[str | int, str | None]
Splice = tuple[Node, str]  # a value or key, and the JSON text that comes in its place

# Members with text that people or models wrote, which is never rewritten.
TEXTS = frozenset({
    "description", "history", "lastSessionFirstPrompt", "prompt", "title",
})  # fmt: skip
_NO_UTF8 = re.compile("[\udc80-\udcff]")


def apply(text: str, splices: Iterable[Splice]) -> str:
    """`text` with every splice made; all else is untouched."""
    pieces = []
    position = 0
    for node, new in sorted(splices, key=lambda splice: splice[0].start):
        start = node.start
        assert start >= position, f"splices overlap at character {start}"
        pieces.append(text[position:start])
        pieces.append(new)
        position = node.end
    pieces.append(text[position:])
    return "".join(pieces)


def replaced(node: Node, new: str) -> str:
    """The whole text that a node is in, with another value in its place."""
    ahead = node.text[: node.start]
    behind = node.text[node.end :]
    return ahead + new + behind


def changed(
    parent: Node,
    texts: Texts,
    added: Iterable[tuple[str, str]] = (),
    names: Mapping[str, str] | None = None,
) -> str:
    """The text of an object or list with other items.

    `texts` are new ones by the member's name or the item's number, None for what goes;
    `added` come at the end, each with its name, spaced as the others are; `names` are
    new names.
    """
    pieces: list[str] = []
    staying = _items_left(parent, texts, names or {})
    for gap, item in staying:
        pieces += (gap, item)
    between, colon = _spacing(parent)
    for name, raw in added:
        pieces.append(between)
        if parent.kind == "{":
            pieces.append(quote(name) + colon)
        pieces.append(raw)
    if pieces:  # there is nothing ahead that a comma would part it from
        pieces[0] = pieces[0].rpartition(",")[2]
    end = parent.start + 1
    if parent.items:
        end = parent.items[-1].end
    inside = "".join(pieces)
    rest = parent.text[end : parent.end]
    return parent.kind + inside + rest


def _items_left(
    parent: Node, texts: Texts, names: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """The items that do not go: what stands ahead of each, and its new text."""
    text = parent.text
    counting = parent.members()
    keys = parent.keys
    end = parent.start + 1
    for number, item in enumerate(parent.items):
        start = item.start
        head = ""
        raw = texts.get(number, item.raw)
        if keys:
            key = keys[number]
            name = str(key.value)
            spelled = key.raw
            if name in names:
                spelled = quote(names[name])
            colon = text[key.end : item.start]
            start = key.start
            head = spelled + colon
            raw = texts.get(name, item.raw)
            if raw is not None and counting[name] is not item:
                raw = item.raw
        if raw is not None:
            yield text[end:start], head + raw
        end = item.end


def _spacing(parent: Node) -> tuple[str, str]:
    """What stands between two items, and between a name and its value."""
    text = parent.text
    keys = parent.keys
    items = parent.items
    colon = ": "
    if keys:
        colon = text[keys[0].end : items[0].start]
    starts = [node.start for node in keys or items]
    if not starts:
        return ",", colon
    if len(starts) == 1:
        ahead = text[parent.start + 1 : starts[0]]
        return "," + ahead, colon
    between = text[items[0].end : starts[1]]
    return between, colon


def moved(node: Node, mapper: Mapper) -> str | None:
    """What a string becomes, or None when it stays."""
    if node.kind != '"':
        return None
    value = str(node.value)
    new = mapper(value)
    if new is None or new == value:
        return None
    # Bytes that are not UTF-8 can't be spelled again, and the client never wrote such a
    # string.
    is_odd = _NO_UTF8.search(node.text, node.start, node.end)
    if is_odd:
        return None
    return new


def with_mapped(text: str, mapper_at: MapperAt) -> str:
    """`text` with the strings mapped, each by the mapper of its place;
    the names of members stay.
    """
    return apply(text, string_splices(parse(text), mapper_at))


def string_splices(root: Node, mapper_at: MapperAt, at: Pointer = ()) -> list[Splice]:
    """The strings in a value that change by the mapper of their place."""
    splices: list[Splice] = []
    for pointer, node in walk(root, at):
        if node.kind != '"' or not TEXTS.isdisjoint(pointer):
            continue
        mapper = mapper_at(pointer)
        if mapper is None:
            continue
        new = moved(node, mapper)
        if new is not None:
            splices.append((node, quote(new)))
    return splices


def at_pointers(text: str, mappers: Mapping[str, Mapper]) -> str:
    """`text` with the strings at pointers such as `entries/[]/fullPath` mapped.

    `[]` is every item of a list, `*` every member of an object.
    """

    def mapper_at(at: Pointer) -> Mapper | None:
        for pointer, mapper in mappers.items():
            if _is_at(pointer.split("/"), at):
                return mapper
        return None

    return with_mapped(text, mapper_at)


def _is_at(steps: list[str], at: Pointer) -> bool:
    if len(steps) != len(at):
        return False
    for step, token in zip(steps, at, strict=True):
        any_part = "*"
        if isinstance(token, int):
            any_part = "[]"
        if step not in (token, any_part):
            return False
    return True
