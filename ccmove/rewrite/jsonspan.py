"""JSON text -> nodes that know where every value stands, so that one value can be
spliced.

A document is never parsed and written again: that would change `1.10`, big numbers,
escapes and repeated keys. Text is bytes decoded with `surrogateescape`, so that any
byte survives the way there and back. What is valid is what the `json` module takes,
without its NaN and Infinity, with a byte order mark at the beginning, and nested so
little that recursion is safe.

The C scanner reads the whole; a node is opened when somebody looks into it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from json.encoder import encode_basestring
from typing import NamedTuple

Pointer = tuple[str | int, ...]
Scanner = Callable[[str, int], tuple[object, int]]  # what begins there, where it ends

DEEPEST = 100  # no file of the client comes near
_BLANK = re.compile(r"[ \t\n\r]*")
_BETWEEN = re.compile(r"[ \t\n\r,:]*")  # two tokens of a text that is known to be valid
_LONE = re.compile("[\ud800-\udfff]")


class NotJsonError(ValueError):
    """The text is not one JSON value."""


@dataclass(slots=True, unsafe_hash=True)
class Number:
    """A number as it is spelled:
    converting it could fail (10,000 digits) or lose digits.
    """

    text: str

    def __repr__(self) -> str:
        return self.text


@dataclass(eq=False)
class Node:
    """One value, `text[start:end]`, and what is in it."""

    text: str = field(repr=False)
    start: int
    end: int

    @cached_property
    def value(self) -> object:
        """What it is, read when somebody asks: a large document holds too much."""
        value, _ = _scan(self.text, self.start)
        return value

    @property
    def raw(self) -> str:
        return self.text[self.start : self.end]

    @property
    def kind(self) -> str:
        return self.text[self.start]

    @property
    def items(self) -> list[Node]:
        """The values in a list or an object, those of repeated keys included."""
        if self.kind == "{":
            return self._parts[1::2]
        return self._parts

    @property
    def keys(self) -> list[Node]:
        """Of an object: as many as items. Anything else has none."""
        if self.kind == "{":
            return self._parts[0::2]
        return []

    @cached_property
    def _parts(self) -> list[Node]:
        """All items, or keys and items in turn."""
        parts: list[Node] = []
        if self.kind not in "{[":
            return parts
        text = self.text
        at = _end(_BETWEEN, text, self.start + 1)
        while text[at] not in "}]":
            value, end = _skim(text, at)
            part = Node(text, at, end)
            if text[at] == '"':
                part.value = value
            parts.append(part)
            at = _end(_BETWEEN, text, end)
        return parts

    @property
    def names(self) -> list[str]:
        """Of an object: what its keys are when they are read."""
        return [str(key.value) for key in self.keys]

    def members(self) -> dict[str, Node]:
        """What counts in an object: of repeated keys the last,
        as the client reads it.
        """
        return dict(zip(self.names, self.items, strict=False))

    def string(self, name: str) -> str | None:
        """The member of this name, if it is a string."""
        value = None
        if isinstance(self.value, dict):
            value = self.value.get(name)
        if isinstance(value, str):
            return value
        return None

    @property
    def key(self) -> str:
        """What it is known by in a list: the session that it is about, else its value
        in whatever spelling.
        """
        session = self.string("sessionId")
        if session is None:
            return repr(self.value)
        return session

    def parts(self) -> Parts:
        """What counts in an object or a list."""
        if self.kind == "{":
            return [Part(*member) for member in self.members().items()]
        return [Part(*item) for item in enumerate(self.items)]

    def by_key(self) -> dict[str, Node]:
        """Its parts by what they are known by."""
        return {part.key: part.node for part in self.parts()}


class Part(NamedTuple):
    """A member of an object, or an item of a list."""

    token: str | int  # its name or number
    node: Node

    @property
    def key(self) -> str:
        """What it is known by: its name or, in a list, as the node itself."""
        if isinstance(self.token, str):
            return self.token
        return self.node.key


Parts = list[Part]


@lru_cache(maxsize=4)  # each step of a plan asks for the config file, mostly unchanged
def parse(text: str) -> Node:
    """The one value that `text` is; NotJsonError when it is none."""
    start, _, end = _whole(text, _skim)
    return Node(text, start, end)


def value_of(text: str) -> object:
    """What is in a text, where nobody asks where; NotJsonError as from `parse`."""
    _, value, _ = _whole(text, _scan)
    return value


def _whole(text: str, scan: Scanner) -> tuple[int, object, int]:
    """Where the one value begins, what it is, and where it ends."""
    start = _end(_BLANK, text, int(text.startswith("\ufeff")))
    try:
        value, end = scan(text, start)
    except RecursionError:
        raise NotJsonError("nested too deeply") from None
    except StopIteration as error:
        raise NotJsonError(f"character {error.value}") from None
    except json.JSONDecodeError as error:
        raise NotJsonError(f"character {error.pos}") from None
    rest = _end(_BLANK, text, end)
    if rest != len(text):
        raise NotJsonError(f"character {rest}")
    _check_depth(value)
    return start, value, end


def _check_depth(value: object) -> None:
    """How deep the scanner goes depends on the Python;
    what comes after it recurses, too.
    """
    level: list[dict[str, object] | list[object]] = [[value]]
    for _ in range(DEEPEST + 2):
        below = []
        for container in level:
            parts = container.values() if isinstance(container, dict) else container
            below += [part for part in parts if isinstance(part, dict | list)]
        if not below:
            return
        level = below
    raise NotJsonError("nested too deeply")


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    # It always matches.
    return pattern.match(text, position).end()  # type: ignore[union-attr]


def _no_constant(name: str) -> None:
    raise NotJsonError(f"{name} is not JSON")


_decoder = json.JSONDecoder(
    parse_int=Number, parse_float=Number, parse_constant=_no_constant
)
_scan = _decoder.scan_once  # type: ignore[attr-defined]  # not in typeshed
# Where a value ends: in half the time, since numbers stay text.
_skimmer = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_no_constant)
_skim = _skimmer.scan_once  # type: ignore[attr-defined]


def walk(node: Node, at: Pointer = ()) -> Iterator[tuple[Pointer, Node]]:
    """Every node that counts with the pointer to it, parents first."""
    yield at, node
    if node.kind in "{[":
        for token, part in node.parts():
            yield from walk(part, (*at, token))


def show(pointer: Pointer) -> str:
    shown = ""
    for token in pointer:
        escaped = str(token).replace("~", "~0").replace("/", "~1")
        shown += f"/{escaped}"
    return shown


def quote(value: str) -> str:
    """`value` as the client spells it (JSON.stringify):
    only what must be escaped is escaped.
    """
    return _LONE.sub(lambda m: f"\\u{ord(m.group()):04x}", encode_basestring(value))
