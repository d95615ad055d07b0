"""JSON text -> a tree that knows where every value stands, so that one value can be spliced.

A document is never parsed and written again: that would change `1.10`, big numbers, escapes and
repeated keys. Text is bytes decoded with `surrogateescape`, so that any byte survives the way
there and back. What is valid is what the `json` module takes, without its NaN and Infinity, and
with a byte order mark at the beginning.

Only what `descend` asks for is opened; the rest is skipped by the C scanner at full speed.
Nesting costs no recursion here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from json.decoder import scanstring  # type: ignore[attr-defined]  # not in typeshed
from json.encoder import encode_basestring
from typing import Any

Pointer = tuple[str | int, ...]
Descend = Callable[[Pointer], bool]  # whether to open the object or list at the pointer

_BLANK = re.compile(r"[ \t\n\r]*")
_CLOSER = {"{": "}", "[": "]"}
_BOM = "\ufeff"
_LONE = re.compile("[\ud800-\udfff]")
DEEPEST = 100  # of a value that recursion can't deal with, so much is one


class NotJsonError(ValueError):
    """The text is not one JSON value."""


@dataclass(slots=True, unsafe_hash=True)
class Spelled:
    """A value that is kept as it is spelled.

    A number, because converting it could fail (10,000 digits) or lose digits; and what is nested
    too deeply, because recursion would fail on it.
    """

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(slots=True, eq=False)
class Node:
    """One value: text[start:end]. An opened object has `keys` beside its `items`."""

    start: int
    end: int = -1  # of an object or list that is still being read
    value: Any = None  # of a string, a number or a constant, and of what was not opened
    opened: str = ""  # "{" or "["
    items: list[Node] = field(default_factory=list)
    keys: list[Node] = field(default_factory=list)  # string nodes, as many as items

    def members(self) -> Iterator[tuple[Node, Node]]:
        """(key, value) of an opened object, repeated keys included; a list has none."""
        return zip(self.keys, self.items, strict=False)

    def get(self, key: str) -> Node | None:
        """The member that counts: of repeated keys the last, as the client reads it."""
        return {name.value: item for name, item in self.members()}.get(key)


# -- reading ---------------------------------------------------------------------------------------


def parse(text: str, descend: Descend | None = None) -> Node:
    """The one value that `text` is, opened where `descend` says so, or everywhere; NotJsonError."""
    root = parse_at(text, _blank(text, len(_BOM) if text.startswith(_BOM) else 0), descend)
    if (end := _blank(text, root.end)) != len(text):
        raise _unexpected(end)
    return root


def parse_at(text: str, start: int, descend: Descend | None = None) -> Node:
    """The value that begins at `start`, wherever it ends."""
    try:
        return _tree(text, start, descend)
    except StopIteration as error:
        raise _unexpected(error.value) from None
    except IndexError:
        raise NotJsonError("the text ends too early") from None
    except json.JSONDecodeError as error:
        raise NotJsonError(str(error)) from None


def loads(text: str) -> Any:
    """The value of `text`, with numbers as they are spelled; NotJsonError when there is none."""
    return _plain(text, parse(text, lambda _: False))


def _plain(text: str, node: Node, depth: int = 0) -> Any:
    """The value of a node; of one that had to be opened, what lies too deep is as it is spelled."""
    if not node.opened:
        return node.value
    if depth == DEEPEST:
        return Spelled(text[node.start : node.end])
    if node.opened == "[":
        return [_plain(text, item, depth + 1) for item in node.items]
    return {key.value: _plain(text, item, depth + 1) for key, item in node.members()}


def canonical(text: str) -> str:
    """The same for every spelling of one value: spacing and escapes may differ."""
    try:
        return repr(loads(text))
    except RecursionError:  # just shallow enough to be read: then the spelling counts
        return text


def _tree(text: str, start: int, descend: Descend | None) -> Node:
    """Walks down and up again with a list of the nodes that are still being read."""
    pointer: Pointer = ()
    root = _value(text, start, pointer, descend)
    reading = [(root, pointer)] if root.end < 0 else []
    position = start + 1
    while reading:
        parent, above = reading[-1]
        at = _next_item(text, parent, position)
        if at is None:
            position = parent.end
            reading.pop()
            continue
        if descend is not None:  # nobody else asks for pointers, and deep ones cost
            pointer = (*above, parent.keys[-1].value if parent.keys else len(parent.items))
        node = _value(text, at, pointer, descend)
        parent.items.append(node)
        position = node.end
        if node.end < 0:
            reading.append((node, pointer))
            position = at + 1
    return root


def _value(text: str, at: int, pointer: Pointer, descend: Descend | None) -> Node:
    """The value at `at`: one to be opened has no end yet, the others are complete."""
    opener = text[at]
    if opener in _CLOSER and (descend is None or descend(pointer)):
        return Node(at, opened=opener)
    try:
        value, end = _scan(text, at)
    except RecursionError:  # deeper than the C scanner goes: open it after all
        return _tree(text, at, None)
    return Node(at, end, value)


def _next_item(text: str, parent: Node, position: int) -> int | None:
    """Where the next item begins (its key is read on the way), or None when there is none."""
    at = _blank(text, position)
    if text[at] == _CLOSER[parent.opened]:
        parent.end = at + 1
        return None
    if parent.items:
        at = _after(text, at, ",")
    if parent.opened == "[":
        return at
    if text[at] != '"':
        raise _unexpected(at)
    key, end = scanstring(text, at + 1)
    parent.keys.append(Node(at, end, key))
    return _after(text, _blank(text, end), ":")


def _after(text: str, at: int, sign: str) -> int:
    if text[at] != sign:
        raise _unexpected(at)
    return _blank(text, at + 1)


def _blank(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    assert match is not None  # the pattern matches the empty string
    return match.end()


def _unexpected(at: int) -> NotJsonError:
    return NotJsonError(f"unexpected text, or none, at character {at}")


def _no_constant(name: str) -> None:
    raise NotJsonError(f"{name} is not JSON")


_decoder = json.JSONDecoder(parse_int=Spelled, parse_float=Spelled, parse_constant=_no_constant)
_scan = _decoder.scan_once  # type: ignore[attr-defined]  # not in typeshed


# -- writing ---------------------------------------------------------------------------------------


def show(pointer: Pointer) -> str:
    """The pointer as RFC 6901 writes it."""
    return "".join("/" + str(t).replace("~", "~0").replace("/", "~1") for t in pointer)


def quote(value: str) -> str:
    """`value` as the client spells it (JSON.stringify): only what must be escaped is escaped."""
    return _LONE.sub(lambda m: f"\\u{ord(m.group()):04x}", encode_basestring(value))


# -- values with their texts -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Part:
    """A value and the text that it stands in; it is opened only when somebody looks into it."""

    text: str
    node: Node

    @classmethod
    def whole(cls, text: str) -> Part:
        """The one value that `text` is. Two levels at once, since each look takes time."""
        return cls(text, parse(text, lambda at: len(at) < 2))

    @property
    def raw(self) -> str:
        return self.text[self.node.start : self.node.end]

    @property
    def kind(self) -> str:
        return self.text[self.node.start]

    def is_same(self, other: Part) -> bool:
        """Whether the values are the same, in whatever spelling."""
        return self.raw == other.raw or canonical(self.raw) == canonical(other.raw)

    def opened(self) -> Node:
        return (
            self.node
            if self.node.opened
            else parse_at(self.text, self.node.start, lambda at: not at)
        )

    def items(self) -> list[Part]:
        return [Part(self.text, item) for item in self.opened().items]

    def members(self) -> dict[str, Part]:
        """Those that count, by name; what is no object has none."""
        node = self.opened() if self.kind == "{" else self.node
        return {key.value: Part(self.text, item) for key, item in node.members()}
