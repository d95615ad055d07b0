"""Values of JSON, each of them read as what it has to be: ValueError when it is
something else, or missing.
"""

import re
from collections.abc import Callable
from typing import TypeVar

LARGEST_NUMBER = 1 << 63
T = TypeVar("T")


class Members:
    """The members of a JSON object."""

    def __init__(self, value: object) -> None:
        if type(value) is not dict:
            raise ValueError(f"{value!r:.200} is not an object")
        self._members: dict[str, object] = value

    def value(self, name: str) -> object:
        if name not in self._members:
            raise ValueError(f"{name} is missing")
        return self._members[name]

    def has(self, name: str) -> bool:
        return self.value(name) is not None

    def text(self, name: str) -> str:
        return read_text(self.value(name))

    def text_if_any(self, name: str) -> str | None:
        return self.text(name) if self.has(name) else None

    def texts(self, name: str) -> tuple[str, ...]:
        return self.each(name, read_text)

    def one_of(self, name: str, *choices: str) -> str:
        text = self.text(name)
        if text not in choices:
            raise ValueError(f"{text!r:.200} is none of {', '.join(choices)}")
        return text

    def number(self, name: str) -> int:
        return read_number(self.value(name))

    def count(self, name: str, limit: int = LARGEST_NUMBER) -> int:
        number = self.number(name)
        if not 0 <= number < limit:
            raise ValueError(f"{name} can't be {number}")
        return number

    def flag(self, name: str) -> bool:
        value = self.value(name)
        if not isinstance(value, bool):
            raise ValueError(f"{name} is neither true nor false")
        return value

    def items(self, name: str) -> list[object]:
        return read_items(self.value(name))

    def each(self, name: str, read: Callable[[object], T]) -> tuple[T, ...]:
        return tuple(read(item) for item in self.items(name))


def read_items(value: object) -> list[object]:
    if type(value) is not list:
        raise ValueError(f"{value!r:.200} is not a list")
    return value


def read_text(value: object) -> str:
    if type(value) is not str:
        raise ValueError(f"{value!r:.200} is not a text")
    return value


def read_match(value: object, pattern: re.Pattern[str]) -> str:
    text = read_text(value)
    if not pattern.fullmatch(text):
        raise ValueError(f"{text!r:.200} is not {pattern.pattern}")
    return text


def read_number(value: object) -> int:
    if type(value) is not int or abs(value) >= LARGEST_NUMBER:
        raise ValueError(f"{value!r:.200} is not a number")
    return value
