"""Frozen dataclasses as JSON, and back.

Whoever reads believes nothing. Each value is what the type of its field says: text, a
number, a flag, a path, None, a tuple, another such class. `Annotated` adds what must be
true of it as well. Where one of several classes may be, `kind_of` tells which it is.

Only here are values reached by the names of their fields, so that what is written and
what is read can't come apart.
"""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path, PurePath
from types import NoneType, UnionType
from typing import Annotated, TypeVar, Union, get_args, get_origin, get_type_hints

LARGEST_NUMBER = 1 << 63

Record = dict[str, object]
ReadPath = Callable[[object], Path]
WritePath = Callable[[object, str, Path], object]  # what it is a field of, and which
Hints = tuple[object, ...]  # what may be there, as types say it
T = TypeVar("T")


def is_name(text: object) -> bool:
    """Whether it is one component of a path, which a disk can hold.

    Half a character is none: that error is a ValueError too.
    """
    if type(text) is not str or text in ("", ".."):
        return False
    os.fsencode(text)
    return PurePath(text).name == text and "\0" not in text


def is_below(text: str) -> bool:
    """Whether these are names with strokes between them, which lead only down."""
    path = PurePath(text)
    return not path.anchor and ".." not in path.parts


def one_of(*choices: str) -> Callable[[str], bool]:
    return choices.__contains__


def matching(pattern: str) -> Callable[[str], object]:
    return re.compile(pattern).fullmatch


Name = Annotated[str, is_name]  # of something in a directory
Below = Annotated[str, is_below]
Hash = Annotated[str, matching("[0-9a-f]{64}")]
Count = Annotated[int, range(LARGEST_NUMBER).__contains__]
Mode = Annotated[int, range(0o10000).__contains__]


class OneOfSeveral:
    """A class that may be where others may be, too: its record has its name."""

    __slots__ = ()


def _no_path(*_: object) -> Path:
    raise ValueError("there is no path in this")


def write(row: object, path: WritePath = _no_path) -> Record:
    """The record of a dataclass; `path` tells how each path in it is written."""
    record: Record = {}
    if isinstance(row, OneOfSeveral):
        record["kind_of"] = type(row).__name__
    assert is_dataclass(row)
    for field in fields(row):
        name = field.name
        value: object = getattr(row, name)
        record[name] = _written(value, path, row, name)
    return record


def _written(value: object, path: WritePath, row: object, name: str) -> object:
    match value:
        case Path():
            return path(row, name, value)
        case tuple():
            return [_written(item, path, row, name) for item in value]
        case None | str() | int():
            return value
    return write(value, path)


def read(row_type: type[T], record: object, path: ReadPath = _no_path) -> T:
    """What a record holds; ValueError when that is not what the class has.

    What else is in it nobody looks at.
    """
    if type(record) is not dict:
        raise ValueError(f"{record!r:.200} is not an object")
    values: Record = {}
    hints = _hints_of(row_type)  # type: ignore[arg-type]
    for name, hint in hints.items():
        if name not in record:
            raise ValueError(f"{name} is missing")
        value = record[name]
        values[name] = _value(hint, value, path)
    return row_type(**values)


@cache
def _hints_of(row_type: type) -> dict[str, object]:
    return get_type_hints(row_type, include_extras=True)


def _value(hint: object, value: object, path: ReadPath) -> object:
    """The value of a field that has this type."""
    kind: object = get_origin(hint) or hint
    hints = get_args(hint)
    if kind is Annotated:
        base, is_right = hints
        checked = _value(base, value, path)
        if is_right(checked):
            return checked
    if kind is tuple:
        return tuple(_items(hints, value, path))
    if kind in (Union, UnionType):
        return _one_of_several(hints, value, path)
    if kind is Path:
        return path(value)
    if isinstance(kind, type) and is_dataclass(kind):
        return read(kind, value, path)
    is_huge = isinstance(value, int) and abs(value) >= LARGEST_NUMBER
    if type(value) is kind and not is_huge:
        return value
    raise ValueError(f"{value!r:.200} is not what can be there")


def _items(hints: Hints, value: object, path: ReadPath) -> Iterator[object]:
    if type(value) is not list:
        raise ValueError(f"{value!r:.200} is not a list")
    if hints[-1] is ...:
        hints = hints[:1] * len(value)
    for hint, item in zip(hints, value, strict=True):
        yield _value(hint, item, path)


def _one_of_several(hints: Hints, value: object, path: ReadPath) -> object:
    """None, where that may be, or what it says it is."""
    if value is None and NoneType in hints:
        return None
    first, *others = hints
    if others == [NoneType]:
        return _value(first, value, path)
    kind = None
    if type(value) is dict:
        kind = value.get("kind_of")
    for hint in hints:
        if isinstance(hint, type) and hint.__name__ == kind:
            return _value(hint, value, path)
    raise ValueError(f"{kind!r:.200} is none of what may be there")
