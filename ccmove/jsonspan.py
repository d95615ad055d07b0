"""JSON text -> a tree that knows where every value stands, so that one value can be spliced.

A document is never parsed and written again: that would change `1.10`, big numbers, escapes and
repeated keys. Text is bytes decoded with `surrogateescape`, so that any byte survives the way
there and back.

Only what `descend` asks for is opened; the rest is skipped by the C scanner at full speed.
Nesting costs no recursion here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from json.decoder import scanstring  # type: ignore[attr-defined]  # not in typeshed
from typing import Any

Pointer = tuple[str | int, ...]
Descend = Callable[[Pointer], bool]

_BLANK = re.compile(r"[ \t\n\r]*")
_CLOSER = {"{": "}", "[": "]"}


class NotJsonError(ValueError):
    """The text is not one JSON value."""


class Number(str):
    """A number as it is spelled: converting it could fail (10,000 digits) or lose digits."""

    __slots__ = ()


@dataclass(slots=True)
class Node:
    """One value: text[start:end]. An opened object has `keys` beside its `items`."""

    start: int
    end: int = -1
    value: Any = None  # of a string or of what was not opened
    opened: str = ""  # "{" or "["
    items: list[Node] = field(default_factory=list)
    keys: list[Node] = field(default_factory=list)  # string nodes, as many as items

    def members(self) -> Iterator[tuple[Node, Node]]:
        """(key, value) of an opened object, repeated keys included."""
        return zip(self.keys, self.items, strict=True)

    def get(self, key: str) -> Node | None:
        """The member that counts: of repeated keys the last, as the client reads it."""
        for name, item in zip(reversed(self.keys), reversed(self.items), strict=True):
            if name.value == key:
                return item
        return None


def everything(_: Pointer) -> bool:
    return True


def nothing(_: Pointer) -> bool:
    return False


def parse(text: str, descend: Descend = everything) -> Node:
    """The one value that `text` is; NotJsonError when it is anything else."""
    start = _blank(text, 1 if text.startswith("\ufeff") else 0)
    root = parse_at(text, start, descend)
    if _blank(text, root.end) != len(text):
        raise NotJsonError(f"unexpected text at character {root.end}")
    return root


def parse_at(text: str, start: int, descend: Descend = everything, at: Pointer = ()) -> Node:
    """The value that begins at `start`, wherever it ends; `at` is its pointer."""
    try:
        return _parse_at(text, start, descend, at)
    except (IndexError, StopIteration, json.JSONDecodeError) as error:
        raise NotJsonError(str(error) or "the text ends too early") from None


def _parse_at(text: str, start: int, descend: Descend, at: Pointer) -> Node:
    open_nodes: list[Node] = []
    pointer = at
    position = start
    while True:
        node = _value(text, position, descend(pointer) if text[position] in "{[" else False)
        if open_nodes:
            open_nodes[-1].items.append(node)
        if node.opened:
            position = _blank(text, node.start + 1)
            if text[position] == _CLOSER[node.opened]:
                node.end = position + 1
            else:
                open_nodes.append(node)
                position, pointer = _step_in(text, position, node, pointer)
                continue
        position = node.end
        while open_nodes:
            top = open_nodes[-1]
            position = _blank(text, position)
            pointer = pointer[:-1]
            if text[position] == ",":
                position, pointer = _step_in(text, _blank(text, position + 1), top, pointer)
                break
            if text[position] != _CLOSER[top.opened]:
                raise NotJsonError(f"unexpected text at character {position}")
            position = top.end = position + 1
            node = open_nodes.pop()
        else:
            return node


def _step_in(text: str, position: int, parent: Node, pointer: Pointer) -> tuple[int, Pointer]:
    """Where the next item of `parent` begins, and its pointer; an object's key is read here."""
    if parent.opened == "[":
        return position, (*pointer, len(parent.items))
    if text[position] != '"':
        raise NotJsonError(f"no key at character {position}")
    key, end = scanstring(text, position + 1, True)
    parent.keys.append(Node(position, end, key))
    colon = _blank(text, end)
    if text[colon] != ":":
        raise NotJsonError(f"no colon at character {colon}")
    return _blank(text, colon + 1), (*pointer, key)


def _value(text: str, position: int, opened: bool) -> Node:
    if opened:
        return Node(position, opened=text[position])
    try:
        value, end = _scan(text, position)
    except RecursionError:  # deeper than the C scanner goes: walk it without recursion
        node = _parse_at(text, position, everything, ())
        return Node(position, node.end)
    return Node(position, end, value)


def _blank(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    assert match is not None  # the pattern matches the empty string
    return match.end()


def _no_constant(name: str) -> None:
    raise NotJsonError(f"{name} is not JSON")


_strict = json.JSONDecoder(parse_int=Number, parse_float=Number, parse_constant=_no_constant)
_scan = _strict.scan_once  # type: ignore[attr-defined]  # not in typeshed


def loads(text: str) -> Any:
    """The value of `text` with numbers as they are spelled; NotJsonError when there is none."""
    try:
        return _strict.decode(text)
    except RecursionError:
        raise NotJsonError("nested too deeply") from None
    except json.JSONDecodeError as error:
        raise NotJsonError(str(error)) from None


def find(node: Node, pointer: Pointer) -> Node | None:
    """The node at `pointer`, or None; only opened nodes can be looked into."""
    for token in pointer:
        found: Node | None = None
        if node.opened == "{" and isinstance(token, str):
            found = node.get(token)
        elif node.opened == "[" and isinstance(token, int) and 0 <= token < len(node.items):
            found = node.items[token]
        if found is None:
            return None
        node = found
    return node


def show(pointer: Pointer) -> str:
    """The pointer as RFC 6901 writes it."""
    return "".join("/" + str(t).replace("~", "~0").replace("/", "~1") for t in pointer)


def quote(value: str) -> str:
    """`value` as the client spells it (JSON.stringify): only what must be escaped is escaped."""
    return _LONE.sub(lambda m: f"\\u{ord(m.group()):04x}", json.dumps(value, ensure_ascii=False))


_LONE = re.compile("[\ud800-\udfff]")
