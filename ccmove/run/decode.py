"""JSON <-> frozen dataclasses, strictly: every value has its type, nothing is missing or unknown.

What a run wrote may come from another machine, or from someone with bad intent. So a type says
all that can be said of a value alone: `Annotated[str, is_name]` has a function that it satisfies.
"""

import dataclasses
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

LARGEST_NUMBER = 1 << 63
NAME = "kind_of"  # the member of an object that says which record it is
ReadPath = Callable[[str], Path]


def decode(kind: Any, value: Any, read_path: ReadPath) -> Any:
    """The `kind` that `value` spells; ValueError when it spells none."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return decode(_meant(arguments, value), value, read_path)
    if origin is tuple and type(value) is list:
        kinds = arguments[:1] * len(value) if arguments[-1] is Ellipsis else arguments
        pairs = zip(kinds, value, strict=True)  # other lengths are a ValueError
        return tuple(decode(one, item, read_path) for one, item in pairs)
    if dataclasses.is_dataclass(kind) and type(value) is dict:
        return _record(kind, value, read_path)
    if kind is Path and type(value) is str:
        return read_path(value)
    if not _fits(kind, value):
        raise ValueError(f"{value!r} is not {getattr(kind, '__name__', kind)}")
    return value


def _fits(kind: Any, value: Any) -> bool:
    if typing.get_origin(kind) is typing.Annotated:
        plain, check = typing.get_args(kind)
        return _fits(plain, value) and bool(check(value))
    return type(value) is kind and (kind is not int or abs(value) < LARGEST_NUMBER)


def _record(kind: Any, value: dict[str, Any], read_path: ReadPath) -> Any:
    hints = typing.get_type_hints(kind, include_extras=True)
    given = {name: item for name, item in value.items() if name != NAME}
    if given.keys() != hints.keys():
        wrong = sorted(given.keys() ^ hints.keys())
        raise ValueError(f"{kind.__name__} has {wrong} too few or too many")
    return kind(**{name: decode(hints[name], item, read_path) for name, item in given.items()})


def _meant(kinds: tuple[Any, ...], value: Any) -> Any:
    """Which of several kinds a value is: a record says so, and of the others there is one."""
    if type(value) is dict:
        fitting = [one for one in kinds if one.__name__ == value.get(NAME)]
    elif value is None:
        fitting = [one for one in kinds if one is type(None)]
    else:
        fitting = [one for one in kinds if not dataclasses.is_dataclass(one)]
    if not fitting:
        raise ValueError(f"{value!r} is none of {kinds}")
    return fitting[0]


def encode(value: Any, write_path: Callable[[Path], str]) -> Any:
    """The JSON values that `decode` reads again."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        rows = {f.name: encode(getattr(value, f.name), write_path) for f in fields}
        return {NAME: type(value).__name__, **rows}
    if isinstance(value, tuple):
        return [encode(item, write_path) for item in value]
    return write_path(value) if isinstance(value, Path) else value
