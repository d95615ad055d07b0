"""Changes of a JSON text: what they are, where they stand, how to make and how to undo them.

An edit is both an exact splice of one particular text and a description by pointer that still
means something when the text has changed since. Everything between the splices stays byte for
byte. The four kinds are enough to say anything and each has an opposite:

    set     the value at the pointer        before -> after
    key     the name of the member there    before -> after
    add     the item at the pointer         (absent) -> after
    remove  the item at the pointer         before -> (absent)

Pointers are those of the text before, also where a key is renamed or an item removed above.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

from ccmove.rewrite.jsonspan import (
    Node,
    NotJsonError,
    Pointer,
    canonical,
    find,
    loads,
    parse,
    quote,
)

_COMMA = re.compile(r"[ \t\n\r]*,")


class Edit(NamedTuple):
    """text[start:end] becomes `text`; `before` and `after` are the JSON texts it is about."""

    kind: str
    pointer: Pointer
    before: str | None
    after: str | None
    start: int = -1
    end: int = -1
    text: str = ""
    anchor: str | None = None  # sessionId of the list element, which may move to another index
    place: int = -1  # which of its parent's items a renamed or removed one was
    lead: str = ""  # what stood between the item before and a removed value: comma, blanks, key
    tail: str = ""  # what stood behind a removed value, up to and with the comma

    def describe(self) -> tuple[Any, Any]:
        """Before and after as plain values, for people and for `--json`."""
        return _plain(self.before), _plain(self.after)

    def record(self) -> list[Any]:
        """What `undo` needs to know, as JSON can hold it: all but the splice."""
        what = (self.kind, list(self.pointer), self.before, self.after)
        return [*what, self.anchor, self.place, self.lead, self.tail]

    @classmethod
    def from_record(cls, record: list[Any]) -> Edit:
        """The edit that was recorded; it can be undone, but not applied."""
        kind, pointer, before, after, anchor, place, lead, tail = record
        what = (kind, tuple(pointer), before, after)
        return cls(*what, anchor=anchor, place=place, lead=lead, tail=tail)


def _plain(raw: str | None) -> Any:
    """The string that a JSON text stands for; any other value as it is spelled."""
    if raw is None:
        return None
    try:
        value = loads(raw)
    except NotJsonError:
        return raw
    return value if isinstance(value, str) else raw


# -- applying edits --------------------------------------------------------------------------------


def apply(text: str, edits: Iterable[Edit]) -> str:
    """`text` with every splice made; all else is untouched.

    Who adds and removes items needs to know nothing of others who do so in the same place: a
    comma that nothing stands before any more is dropped.
    """
    pieces: list[str] = []
    position = 0
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        if edit.start < position:
            raise AssertionError(f"edits overlap at character {edit.start}")
        pieces.append(_fitting(text[position : edit.start], pieces))
        pieces.append(_fitting(edit.text, pieces))
        position = edit.end
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


def apply_inside(text: str, node: Node, edits: Iterable[Edit]) -> str:
    """The text of one node with the edits that lie in it made."""
    inside = [e for e in edits if node.start <= e.start and e.end <= node.end]
    return apply(text[node.start : node.end], [_shifted(e, -node.start) for e in inside])


def _shifted(edit: Edit, by: int) -> Edit:
    start, end = edit.start + by, edit.end + by
    return Edit(edit.kind, edit.pointer, edit.before, edit.after, start, end, edit.text)


# -- making edits ----------------------------------------------------------------------------------


def set_raw(text: str, node: Node, pointer: Pointer, raw: str, anchor: str | None = None) -> Edit:
    """The edit that puts the JSON text `raw` in the place of `node`."""
    before = text[node.start : node.end]
    return Edit("set", pointer, before, raw, node.start, node.end, raw, anchor)


def set_string(
    text: str, node: Node, pointer: Pointer, value: str, anchor: str | None = None
) -> Edit:
    """The edit that puts a string in the place of `node`, spelled as the client does."""
    return set_raw(text, node, pointer, quote(value), anchor)


def rename_key(text: str, parent: Node, place: int, pointer: Pointer, name: str) -> Edit:
    """The edit that gives the member number `place` of `parent` another name."""
    key = parent.keys[place]
    before, raw = text[key.start : key.end], quote(name)
    return Edit("key", pointer, before, raw, key.start, key.end, raw, place=place)


def add_items(
    text: str, parent: Node, pointer: Pointer, items: list[tuple[str, str]]
) -> list[Edit]:
    """Edits that append (key, JSON text) to `parent`, spaced as its other items are."""
    edits: list[Edit] = []
    at = parent.items[-1].end if parent.items else parent.start + 1
    lead = _item_lead(text, parent)
    for number, (key, raw) in enumerate(items, len(parent.items)):
        if parent.opened == "{":
            head = f"{lead}{quote(key)}{_colon(text, parent)}"
            edits.append(Edit("add", (*pointer, key), None, raw, at, at, head + raw))
        else:
            edits.append(Edit("add", (*pointer, number), None, raw, at, at, lead + raw))
    return edits


def _item_lead(text: str, parent: Node) -> str:
    """Comma and blanks as between the first two items; of a single item, the blanks before it."""
    starts = parent.keys or parent.items
    if len(starts) > 1:
        return text[parent.items[0].end : starts[1].start]
    return "," + text[parent.start + 1 : starts[0].start] if starts else ","


def _colon(text: str, parent: Node) -> str:
    return text[parent.keys[0].end : parent.items[0].start] if parent.keys else ": "


def remove_items(text: str, parent: Node, pointer: Pointer, gone: set[int]) -> list[Edit]:
    """Edits that take the items with these indexes out, each with the comma before it."""
    return [_removal(text, parent, pointer, number) for number in sorted(gone)]


def _removal(text: str, parent: Node, pointer: Pointer, number: int) -> Edit:
    node = parent.items[number]
    start = parent.items[number - 1].end if number else parent.start + 1
    comma = _COMMA.match(text, node.end)
    return Edit(
        "remove",
        (*pointer, parent.keys[number].value if parent.keys else number),
        text[node.start : node.end],
        None,
        start,
        node.end,
        place=number,
        lead=text[start : node.start] if number else "," + text[start : node.start],
        tail=comma.group() if comma else "",
    )


# -- undoing them where life went on ---------------------------------------------------------------


def undo(text: str, edits: Iterable[Edit]) -> tuple[list[Edit], list[Edit]]:
    """Edits of `text` that take back `edits`, and those of `edits` that can't be taken back.

    Each is undone only where the value is still what the edit made of it, in whatever spelling.
    When nothing else has changed, the text becomes what it was before, to the byte.
    """
    made = list(edits)
    trail = _Trail(parse(text), made)
    parents: dict[int, _Parent] = {}
    lost: list[Edit] = []
    for edit in made:
        node = trail.parent_of(edit)
        if node is None:
            lost.append(edit)
            continue
        parent = parents.setdefault(id(node), _Parent(text, node))
        if not parent.take(edit, trail.token_of(edit), trail.place_of(edit)):
            lost.append(edit)
    for parent in parents.values():
        lost += parent.give_up_taken_names()
    unable = {id(edit) for edit in lost}
    back = [one for parent in parents.values() for one in parent.edits()]
    return _outermost(back), [edit for edit in made if id(edit) in unable]


class _Trail:
    """Where things are now whose pointers are those of the text before."""

    def __init__(self, root: Node, edits: Iterable[Edit]) -> None:
        self.root = root
        self.renamed: dict[Pointer, str] = {}
        self.gone: dict[Pointer, list[int]] = defaultdict(list)
        self._by_session: dict[int, dict[str, Node]] = {}
        for edit in edits:
            if edit.kind == "key":
                self.renamed[edit.pointer] = str(_plain(edit.after))
            elif edit.kind == "remove":
                self.gone[edit.pointer[:-1]].append(edit.place)
        for places in self.gone.values():
            places.sort()

    def parent_of(self, edit: Edit) -> Node | None:
        """The object or list that the edit's item is in now."""
        pointer = self._now(edit.pointer[:-1])
        node = find(self.root, pointer)
        if edit.anchor is None or (node is not None and _session(node) == edit.anchor):
            return node
        entries = find(self.root, pointer[:-1])
        return self._sessions(entries).get(edit.anchor) if entries is not None else None

    def token_of(self, edit: Edit) -> str | int:
        """Name or index of the edit's item, had nothing but the edits changed the text."""
        return self._token(edit.pointer, len(edit.pointer) - 1)

    def place_of(self, edit: Edit) -> int:
        """The number of the edit's item in its parent, had nothing else changed the text."""
        gone = self.gone.get(edit.pointer[:-1], [])
        token = edit.pointer[-1]
        place = token if isinstance(token, int) else edit.place
        return max(0, place - bisect_left(gone, place))  # forged ones may contradict each other

    def _now(self, pointer: Pointer) -> Pointer:
        return tuple(self._token(pointer, depth) for depth in range(len(pointer)))

    def _token(self, pointer: Pointer, depth: int) -> str | int:
        token = pointer[depth]
        if isinstance(token, int):
            return token - bisect_left(self.gone.get(pointer[:depth], []), token)
        return self.renamed.get(pointer[: depth + 1], token)

    def _sessions(self, entries: Node) -> dict[str, Node]:
        """The elements of a list by their sessionId; made once for each list."""
        if id(entries) not in self._by_session:
            named = [(_session(item), item) for item in entries.items]
            self._by_session[id(entries)] = {name: item for name, item in named if name}
        return self._by_session[id(entries)]


def _session(entry: Node) -> str | None:
    name = entry.get("sessionId")
    return name.value if name is not None and isinstance(name.value, str) else None


class _Parent:
    """One object or list of the text, and what is to be taken back in it."""

    def __init__(self, text: str, node: Node) -> None:
        self.text = text
        self.node = node
        self.values: dict[int, Edit] = {}
        self.names: dict[int, Edit] = {}
        self.added: dict[int, Edit] = {}
        self.removed: list[tuple[int, Edit]] = []  # with where it is to stand

    def take(self, edit: Edit, token: str | int, place: int) -> bool:
        """Put the edit down for undoing; False when its item is not what it was any more."""
        if self.node.opened != ("{" if isinstance(token, str) else "["):
            return False
        if edit.kind == "remove":
            self.removed.append((place, edit))
            return True
        found = {"set": self.values, "key": self.names, "add": self.added}[edit.kind]
        number = self._number(edit, token, place)
        # What was added is taken out again, so that nothing in it can be set back as well.
        others = (self.values, self.names) if edit.kind == "add" else (self.added,)
        if number is None or any(number in taken for taken in (found, *others)):
            return False
        found[number] = edit
        return True

    def _number(self, edit: Edit, token: str | int, place: int) -> int | None:
        """Which of the items is still what the edit made of it; None when that is not clear."""
        if isinstance(token, int):
            same = self._by_value[canonical(edit.after or "")]
        else:
            same = self._by_name[token]
            if edit.kind != "key":
                same = [i for i in same[-1:] if self._value(i) == canonical(edit.after or "")]
        if place in same:
            return place
        return same[0] if len(same) == 1 else None

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        return _numbers(key.value for key in self.node.keys)

    @cached_property
    def _by_value(self) -> dict[str, list[int]]:
        return _numbers(self._value(number) for number in range(len(self.node.items)))

    def _value(self, number: int) -> str:
        item = self.node.items[number]
        return canonical(self.text[item.start : item.end])

    def give_up_taken_names(self) -> list[Edit]:
        """Leave out, and return, what would bring a name that another member has now."""
        given_up: list[Edit] = []
        while True:
            leaving = self.names.keys() | self.added.keys()
            taken = {key.value for i, key in enumerate(self.node.keys) if i not in leaving}
            clash = {i for i, edit in self.names.items() if _plain(edit.before) in taken}
            late = [edit for _, edit in self.removed if edit.pointer[-1] in taken]
            if not clash and not late:
                return given_up
            given_up += [self.names.pop(i) for i in clash] + late
            self.removed = [one for one in self.removed if one[1].pointer[-1] not in taken]

    def edits(self) -> Iterator[Edit]:
        """What to do to the text."""
        for number, edit in self.values.items():
            yield set_raw(self.text, self.node.items[number], edit.pointer, edit.before or "")
        for number, edit in self.names.items():
            yield set_raw(self.text, self.node.keys[number], edit.pointer, edit.before or "")
        yield from remove_items(self.text, self.node, (), set(self.added))
        yield from self._returning()

    def _returning(self) -> Iterator[Edit]:
        """Removed items go back to where they were among those that stay."""
        staying = [i for i in range(len(self.node.items)) if i not in self.added]
        groups: dict[int, list[Edit]] = defaultdict(list)
        for place, edit in sorted(self.removed, key=lambda one: one[1].place):
            groups[min(place, len(staying))].append(edit)
        for index, group in groups.items():
            at = self.node.items[staying[index - 1]].end if index else self.node.start + 1
            raw = "".join(f"{edit.lead}{edit.before}" for edit in group)
            if index == 0 and staying[:1] == [0]:
                raw += group[-1].tail or ","  # the next one lost its comma when it became the first
            yield Edit("add", group[0].pointer, None, raw, at, at, raw)


def _numbers(values: Iterable[str]) -> dict[str, list[int]]:
    """Each value with the numbers of the places it is at."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for number, value in enumerate(values):
        numbers[value].append(number)
    return numbers


def _outermost(edits: Iterable[Edit]) -> list[Edit]:
    """Without those that lie inside a larger one: they go with it."""
    kept: list[Edit] = []
    for edit in sorted(edits, key=lambda e: (e.start, e.end > e.start, -e.end)):
        if not kept or edit.start >= kept[-1].end:
            kept.append(edit)
    return kept
