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
from json.decoder import scanstring  # type: ignore[attr-defined]  # not in typeshed
from json.encoder import encode_basestring
from typing import Any

Pointer = tuple[str | int, ...]
Scan = Callable[[str, int], tuple[Any, int]]  # (text, start) -> value and end
Hook = Callable[[dict[str, Any]], Any]
Descend = Callable[[Pointer], bool]  # whether to open the object or list at the pointer

_BLANK = re.compile(r"[ \t\n\r]*")
_COMMA = re.compile(r"[ \t\n\r]*,[ \t\n\r]*")
_COLON = re.compile(r"[ \t\n\r]*:[ \t\n\r]*")
_CLOSER = {"{": "}", "[": "]"}
_CHARACTER = re.compile(rb"\\(?=u(?!00[01]))")  # so that only the backslash is searched for
_BOM = "\ufeff"
_BOM_BYTES = _BOM.encode()
DEEPEST = 100  # of a value that recursion can't deal with, so much is one


class NotJsonError(ValueError):
    """The text is not one JSON value."""


class Spelled:
    """A value that is kept as it is spelled.

    A number, because converting it could fail (10,000 digits) or lose digits; and what is nested
    too deeply, because recursion would fail on it.
    """

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Spelled({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spelled) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)


class Node:
    """One value: text[start:end]. An opened object has `keys` beside its `items`."""

    __slots__ = ("end", "items", "keys", "opened", "start", "value")

    def __init__(self, start: int, end: int = -1, value: Any = None, opened: str = "") -> None:
        self.start = start
        self.end = end  # -1 of an object or list that is still being read
        self.value = value  # of a string, a number or a constant, and of what was not opened
        self.opened = opened  # "{" or "["
        self.items: list[Node] = []
        self.keys: list[Node] = []  # string nodes, as many as items

    def members(self) -> Iterator[tuple[Node, Node]]:
        """(key, value) of an opened object, repeated keys included; a list has none."""
        return zip(self.keys, self.items, strict=False)

    def get(self, key: str) -> Node | None:
        """The member that counts: of repeated keys the last, as the client reads it."""
        for number in reversed(range(len(self.keys))):
            if self.keys[number].value == key:
                return self.items[number]
        return None


# -- reading ---------------------------------------------------------------------------------------


def parse(text: str, descend: Descend | None = None) -> Node:
    """The one value that `text` is; NotJsonError when it is anything else.

    Without `descend` everything is opened.
    """
    root = parse_at(text, _beginning(text), descend)
    _refuse_more(text, root.end)
    return root


def outline(data: bytes, descend: Descend) -> Node:
    """Where the values of JSON text stand, in bytes; of those only the keys are kept.

    Bytes are taken for characters, which is all the same to the syntax and far sooner done.
    """
    text = data.decode("latin-1")
    root = parse_at(
        text, _blank(text, len(_BOM_BYTES) if data.startswith(_BOM_BYTES) else 0), descend, _skip
    )
    _refuse_more(text, root.end)
    waiting = [root]
    while waiting:
        node = waiting.pop()
        for key in node.keys:
            raw = data[key.start : key.end]
            if not raw.isascii():
                key.value = unquote(raw.decode("utf-8", "surrogateescape"))
        waiting += [item for item in node.items if item.opened]
    return root


def parse_at(
    text: str, start: int, descend: Descend | None = None, scan: Scan | None = None
) -> Node:
    """The value that begins at `start`, wherever it ends."""
    try:
        return _tree(text, start, descend, scan or _scan)
    except StopIteration as error:
        raise _unexpected(error.value) from None
    except IndexError:
        raise NotJsonError("the text ends too early") from None
    except json.JSONDecodeError as error:
        raise NotJsonError(str(error)) from None


def member_at(text: str, start: int) -> tuple[Node, Node]:
    """The key and the value of the member that begins at `start`; the value is only passed over."""
    key = parse_at(text, start)
    colon = _COLON.match(text, key.end)
    if colon is None or not isinstance(key.value, str):
        raise _unexpected(start)
    return key, parse_at(text, colon.end(), lambda _: False, _skip)


def loads(text: str) -> Any:
    """The value of `text`, with numbers as they are spelled; NotJsonError when there is none."""
    try:
        value, end = _scan(text, _beginning(text))
    except StopIteration as error:
        raise _unexpected(error.value) from None
    except json.JSONDecodeError as error:
        raise NotJsonError(str(error)) from None
    except RecursionError:
        return _shallow(text, parse(text))
    _refuse_more(text, end)
    return value


def byte_values(data: bytes, hook: Hook | None = None) -> dict[str, Any] | None:
    """The value of JSON text, far sooner than by decoding it: strings are Latin-1 of their bytes.

    Numbers are bytes, as they are spelled. None where that would mislead, or where a longer look
    is needed: not an object at once, nested too deeply, or with a `\\u` that stands for more than a
    control character, which the client writes so.
    What `hook` makes of an object stands in its place.
    """
    if _CHARACTER.search(data):
        return None
    text = data.decode("latin-1")
    try:
        value, end = _byte_scanner(hook)(text, 0)
        _refuse_more(text, end)
    except (StopIteration, ValueError, RecursionError):
        return None
    return value if type(value) is dict else None


def _shallow(text: str, node: Node, depth: int = 0) -> Any:
    """The value of an opened node; what lies too deep in it stays as it is spelled."""
    if not node.opened:
        return node.value
    if depth == DEEPEST:
        return Spelled(text[node.start : node.end])
    if node.opened == "[":
        return [_shallow(text, item, depth + 1) for item in node.items]
    return {key.value: _shallow(text, item, depth + 1) for key, item in node.members()}


def canonical(text: str) -> str:
    """The same for every spelling of one value: spacing and escapes may differ."""
    try:
        return repr(loads(text))
    except RecursionError:  # just shallow enough to be read: then the spelling counts
        return text


def _tree(text: str, start: int, descend: Descend | None, scan: Scan) -> Node:
    """Walks down and up again with a list of the nodes that are still being read."""
    reading: list[tuple[Node, Pointer]] = []
    pointer: Pointer = ()
    root = _value(text, start, pointer, descend, scan)
    position = start + 1
    if root.end < 0:
        reading.append((root, pointer))
    while reading:
        parent, above = reading[-1]
        at = _next_item(text, parent, position)
        if at is None:
            position = parent.end
            reading.pop()
            continue
        if descend is not None:  # nobody else asks for pointers, and deep ones cost
            pointer = (*above, parent.keys[-1].value if parent.keys else len(parent.items))
        node = _value(text, at, pointer, descend, scan)
        parent.items.append(node)
        position = node.end
        if node.end < 0:
            reading.append((node, pointer))
            position = at + 1
    return root


def _value(text: str, at: int, pointer: Pointer, descend: Descend | None, scan: Scan) -> Node:
    """The value at `at`: one to be opened has no end yet, the others are complete."""
    opener = text[at]
    if opener in _CLOSER and (descend is None or descend(pointer)):
        return Node(at, opened=opener)
    try:
        value, end = scan(text, at)
    except RecursionError:  # deeper than the C scanner goes: open it after all
        return _tree(text, at, None, scan)
    return Node(at, end, value)


def _next_item(text: str, parent: Node, position: int) -> int | None:
    """Where the next item begins (its key is read on the way), or None when there is none."""
    comma = _COMMA.match(text, position) if parent.items else None
    at = comma.end() if comma is not None else _blank(text, position)
    if comma is None:
        if text[at] == _CLOSER[parent.opened]:
            parent.end = at + 1
            return None
        if parent.items:
            raise _unexpected(at)
    return at if parent.opened == "[" else _read_key(text, parent, at)


def _read_key(text: str, parent: Node, at: int) -> int:
    """Adds the key at `at` to its object; returns where its value begins."""
    if text[at] != '"':
        raise _unexpected(at)
    key, end = scanstring(text, at + 1)
    parent.keys.append(Node(at, end, key))
    colon = _COLON.match(text, end)
    if colon is None:
        raise _unexpected(_blank(text, end))
    return colon.end()


def _beginning(text: str) -> int:
    if text.startswith("{"):
        return 0  # the usual case, made fast
    return _blank(text, len(_BOM) if text.startswith(_BOM) else 0)


def _refuse_more(text: str, end: int) -> None:
    if end != len(text) and _blank(text, end) != len(text):
        raise _unexpected(_blank(text, end))


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


# Numbers are not converted, which could fail, nor kept, which takes time: `len` does neither.
_skip_scan: Scan = json.JSONDecoder(
    parse_int=len, parse_float=len, parse_constant=_no_constant
).scan_once  # type: ignore[attr-defined]  # not in typeshed


def _skip(text: str, at: int) -> tuple[Any, int]:
    """Where the value ends; what it is nobody wants to know."""
    return None, _skip_scan(text, at)[1]


def _byte_scanner(hook: Hook | None) -> Any:
    spelled = str.encode
    decoder = json.JSONDecoder(
        object_hook=hook, parse_int=spelled, parse_float=spelled, parse_constant=_no_constant
    )
    return decoder.scan_once  # type: ignore[attr-defined]  # not in typeshed


# -- pointers and writing --------------------------------------------------------------------------


def find(node: Node, pointer: Pointer) -> Node | None:
    """The node at `pointer`, or None; only opened nodes can be looked into."""
    for token in pointer:
        found: Node | None = None
        if isinstance(token, str):
            found = node.get(token)
        elif node.opened == "[" and 0 <= token < len(node.items):
            found = node.items[token]
        if found is None:
            return None
        node = found
    return node


def show(pointer: Pointer) -> str:
    """The pointer as RFC 6901 writes it."""
    return "".join("/" + str(t).replace("~", "~0").replace("/", "~1") for t in pointer)


_LONE = re.compile("[\ud800-\udfff]")


def unquote(raw: str) -> str:
    """The string that the JSON string `raw` is."""
    value: str = scanstring(raw, 1)[0]
    return value


def quote(value: str) -> str:
    """`value` as the client spells it (JSON.stringify): only what must be escaped is escaped."""
    return _LONE.sub(lambda m: f"\\u{ord(m.group()):04x}", encode_basestring(value))
