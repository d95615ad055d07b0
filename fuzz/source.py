"""Bytes -> decisions, so that any input means something and a small change of it a
small change.

A decision takes one byte, a text as many as it says. After the last byte everything is
the first choice, so an input may end anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeVar

from tests.support.oddlines import stringify

T = TypeVar("T")


class Source:
    """The bytes of one run and how far they are used up."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def byte(self) -> int:
        if self.position >= len(self.data):
            return 0
        self.position += 1
        return self.data[self.position - 1]

    def below(self, end: int) -> int:
        """A number from 0 to end - 1; more than 256 choices take two bytes."""
        value = self.byte() if end <= 256 else self.byte() << 8 | self.byte()
        return value % end

    def yes(self) -> bool:
        return self.byte() % 2 == 1

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self.below(len(choices))]

    def raw(self, most: int) -> bytes:
        """Some of the bytes as they are."""
        length = min(self.below(most + 1), len(self.data) - self.position)
        self.position += length
        return self.data[self.position - length : self.position]

    def rest(self) -> bytes:
        found = self.data[self.position :]
        self.position = len(self.data)
        return found


# -- JSON in every spelling ------------------------------------------------------------------------

BLANKS = ("", "", "", " ", "\n", "\t \r\n  ")
NUMBERS = ("0", "-0", "7", "1.10", "1e400", "12345678901234567890", "-3.5E-7", "9" * 40)
CONSTANTS = ("true", "false", "null")
TEXTS = (
    "",
    "x",
    "/code/app",
    "/code/app/web",
    "/code/app-docker",
    "/src/new-app",
    "see /code/app there",
    'q"x\\',
    "caf\u00e9",
    "\U0001f680",
    "\ud83d",
    "\u2028\x01\x7f\n",
)
DEEPEST = 6


def text(source: Source, texts: Sequence[str] = TEXTS) -> str:
    """One of the texts, or bytes of the input."""
    choice = source.below(len(texts) + 2)
    if choice < len(texts):
        return texts[choice]
    return source.raw(24).decode(
        "utf-8", "surrogateescape" if choice % 2 else "replace"
    )


def spelled(source: Source, value: str) -> str:
    """A JSON string: as the client writes it, all ASCII, with `\\/`, or with a letter
    escaped.
    """
    plain = _plain(value)
    way = source.below(4)
    if way == 1:
        return json.dumps(value)
    if way == 2:
        return plain.replace("/", "\\/")
    return plain.replace("p", "\\u0070") if way == 3 else plain


@lru_cache
def _plain(value: str) -> str:
    return stringify(value).decode()


def blank(source: Source) -> str:
    return source.pick(BLANKS)


def leaf(source: Source, texts: Sequence[str] = TEXTS) -> str:
    kind = source.below(6)
    if kind == 0:
        return source.pick(NUMBERS)
    if kind == 1:
        return source.pick(CONSTANTS)
    return spelled(source, text(source, texts))


def document(
    source: Source,
    names: Sequence[str] = TEXTS,
    texts: Sequence[str] = TEXTS,
    unique: bool = False,
    depth: int = 0,
) -> str:
    """A JSON text. With `unique` no object names a member twice, as the client writes
    them.
    """
    kind = source.below(5) if depth < DEEPEST else 0
    if kind < 1 or (kind < 2 and depth):
        return leaf(source, texts)
    is_object = kind < 4
    items = []
    used: set[str] = set()
    for _ in range(source.below(5)):
        head = ""
        if is_object:
            name = text(source, names)
            if unique and name in used:
                continue
            used.add(name)
            head = f"{spelled(source, name)}{blank(source)}:{blank(source)}"
        inner = document(source, names, texts, unique, depth + 1)
        items.append(f"{blank(source)}{head}{inner}{blank(source)}")
    inside = ",".join(items) or blank(source)
    return f"{{{inside}}}" if is_object else f"[{inside}]"
