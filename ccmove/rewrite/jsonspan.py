"""JSON text -> nodes that know where every value stands, so that one value can be spliced.

A document is never parsed and written again: that would change `1.10`, big numbers, escapes and
repeated keys. Text is bytes decoded with `surrogateescape`, so that any byte survives the way
there and back. What is valid is what the `json` module takes, without its NaN and Infinity, and
with a byte order mark at the beginning.

A node is opened when somebody looks into it; the C scanner passes over the rest at full speed.
Nesting costs no recursion here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from json.decoder import scanstring  # type: ignore[attr-defined]  # not in typeshed
from json.encoder import encode_basestring
from typing import Any

Pointer = tuple[str | int, ...]

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
    """One value, `text[start:end]`, and what is in it."""

    text: str = field(repr=False)
    start: int
    end: int = -1  # of an object or list that is still being read
    value: Any = None  # not of what is nested more deeply than the C scanner goes
    _is_open: bool = False
    _keys: list[Node] = field(default_factory=list, repr=False)
    _items: list[Node] = field(default_factory=list, repr=False)

    @property
    def raw(self) -> str:
        return self.text[self.start : self.end]

    @property
    def kind(self) -> str:
        """The character that it begins with."""
        return self.text[self.start]

    @property
    def items(self) -> list[Node]:
        """The values in a list or an object, those of repeated keys included."""
        if self.kind in _CLOSER and not self._is_open:
            _open(self)
        return self._items

    @property
    def keys(self) -> list[Node]:
        """Of an object: as many as items. Anything else has none."""
        return self._keys if self.items else []

    def members(self) -> dict[str, Node]:
        """What counts in an object: of repeated keys the last, as the client reads it."""
        return {key.value: item for key, item in zip(self.keys, self.items, strict=False)}

    @property
    def canonical(self) -> str:
        """The same for every spelling of one value: spacing and escapes may differ."""
        try:
            return repr(loads(self.raw))
        except RecursionError:  # just shallow enough to be read: then the spelling counts
            return self.raw

    def is_same(self, other: Node) -> bool:
        """Whether the values are the same, in whatever spelling."""
        return self.raw == other.raw or self.canonical == other.canonical


def parse(text: str) -> Node:
    """The one value that `text` is; NotJsonError when it is none."""
    try:
        root = _read(text, _blank(text, len(_BOM) if text.startswith(_BOM) else 0))
    except StopIteration as error:
        raise _unexpected(text, error.value) from None
    except IndexError:
        raise _unexpected(text, len(text)) from None
    except json.JSONDecodeError as error:
        raise _unexpected(text, error.pos, str(error)) from None
    if (end := _blank(text, root.end)) != len(text):
        raise _unexpected(text, end)
    return root


def loads(text: str) -> Any:
    """The value of `text`, with numbers as they are spelled; NotJsonError when there is none."""
    return _plain(parse(text))


def _plain(node: Node, depth: int = 0) -> Any:
    """The value of a node; of one that the C scanner can't read, as it is spelled deep down."""
    if node.value is not None or node.kind not in _CLOSER:
        return node.value
    if depth == DEEPEST:
        return Spelled(node.raw)
    if node.kind == "[":
        return [_plain(item, depth + 1) for item in node.items]
    return {name: _plain(item, depth + 1) for name, item in node.members().items()}


def strings(value: Any) -> Iterator[tuple[Pointer, str]]:
    """Every string in a value and every name of a member, with the pointer to it."""
    waiting: list[tuple[Pointer, Any]] = [((), value)]
    while waiting:
        at, value = waiting.pop()
        if at and isinstance(at[-1], str):
            yield at, at[-1]
        if isinstance(value, str):
            yield at, value
        elif isinstance(value, dict | list):
            below = value.items() if isinstance(value, dict) else enumerate(value)
            waiting += reversed([((*at, token), item) for token, item in below])


def walk(root: Node) -> Iterator[tuple[str | int, Node]]:
    """Every node that counts with its name or number, parents first, without recursion."""
    waiting: list[tuple[str | int, Node]] = [("", root)]
    while waiting:
        token, node = waiting.pop()
        yield token, node
        below = node.members().items() if node.kind == "{" else enumerate(node.items)
        waiting += reversed(list(below))


def _read(text: str, at: int) -> Node:
    try:
        value, end = _scan(text, at)
    except RecursionError:  # deeper than the C scanner goes: open all of it, at once
        node = Node(text, at)
        _open(node, everything=True)
        return node
    return Node(text, at, end, value)


def _open(root: Node, everything: bool = False) -> None:
    """Read what is in a node, and in that if `everything`, with a list of those being read."""
    reading = [root]
    while reading:
        parent = reading[-1]
        at = _next_item(parent)
        if at is None:
            reading.pop()
        elif everything and root.text[at] in _CLOSER:
            reading.append(Node(root.text, at))
            parent._items.append(reading[-1])
        else:
            parent._items.append(_read(root.text, at))


def _next_item(parent: Node) -> int | None:
    """Where the next item begins (its key is read on the way), or None when there is none."""
    text, items = parent.text, parent._items
    at = _blank(text, items[-1].end if items else parent.start + 1)
    if text[at] == _CLOSER[parent.kind]:
        parent.end, parent._is_open = at + 1, True
        return None
    if items:
        at = _after(text, at, ",")
    if parent.kind == "[":
        return at
    if text[at] != '"':
        raise _unexpected(text, at)
    key, end = scanstring(text, at + 1)
    parent._keys.append(Node(text, at, end, key))
    return _after(text, _blank(text, end), ":")


def _after(text: str, at: int, sign: str) -> int:
    if text[at] != sign:
        raise _unexpected(text, at)
    return _blank(text, at + 1)


def _blank(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    assert match is not None  # the pattern matches the empty string
    return match.end()


def _unexpected(text: str, at: int, message: str = "") -> NotJsonError:
    if _blank(text, at) == len(text):
        return NotJsonError("the text ends too early")
    return NotJsonError(message or f"unexpected text, or none, at character {at}")


def _no_constant(name: str) -> None:
    raise NotJsonError(f"{name} is not JSON")


_decoder = json.JSONDecoder(parse_int=Spelled, parse_float=Spelled, parse_constant=_no_constant)
_scan = _decoder.scan_once  # type: ignore[attr-defined]  # not in typeshed


def show(pointer: Pointer) -> str:
    """The pointer as RFC 6901 writes it."""
    return "".join("/" + str(t).replace("~", "~0").replace("/", "~1") for t in pointer)


def quote(value: str) -> str:
    """`value` as the client spells it (JSON.stringify): only what must be escaped is escaped."""
    return _LONE.sub(lambda m: f"\\u{ord(m.group()):04x}", encode_basestring(value))
