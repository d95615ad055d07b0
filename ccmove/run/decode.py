"""JSON -> frozen dataclasses, strictly: every value has its type, nothing is missing or unknown.

What a run wrote may come from another machine, or from someone with bad intent.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

LARGEST_NUMBER = 1 << 63
ReadPath = Callable[[str], Path]


def decode(kind: Any, value: object, read_path: ReadPath) -> Any:
    """The `kind` that `value` spells; ValueError when it spells none."""
    origin = typing.get_origin(kind)
    if dataclasses.is_dataclass(kind):
        return _record(kind, value, read_path)
    if origin in (typing.Union, types.UnionType):
        return _one_of(kind, value, read_path)
    if origin is tuple:
        return _sequence(typing.get_args(kind), value, read_path)
    if kind is type(None) and value is None:
        return None
    if kind is Path and isinstance(value, str):
        return read_path(value)
    if kind is bool and type(value) is bool:
        return value
    if kind is int and type(value) is int and abs(value) < LARGEST_NUMBER:
        return value
    if kind is str and isinstance(value, str):
        return value
    raise ValueError(f"{value!r} is not {getattr(kind, '__name__', kind)}")


def _record(kind: Any, value: object, read_path: ReadPath) -> Any:
    if not isinstance(value, dict):
        raise ValueError(f"{value!r} is not {kind.__name__}")
    hints = typing.get_type_hints(kind)
    known = {field.name for field in dataclasses.fields(kind)}
    if "kind_of" in value:  # which of several records it is
        value = {key: item for key, item in value.items() if key != "kind_of"}
    if set(value) != known:
        raise ValueError(f"{kind.__name__} has {sorted(set(value) ^ known)} too few or too many")
    return kind(**{name: decode(hints[name], value[name], read_path) for name in known})


def _one_of(kind: Any, value: object, read_path: ReadPath) -> Any:
    """Records say which one they are; of anything else the first that fits."""
    kinds: tuple[Any, ...] = typing.get_args(kind)
    records: list[Any] = [one for one in kinds if dataclasses.is_dataclass(one)]
    if len(records) > 1:
        name = value.get("kind_of") if isinstance(value, dict) else None
        kinds = tuple(one for one in records if one.__name__ == name)
    if value is None and type(None) in kinds:
        return None
    for one in kinds:
        if one is not type(None):
            return decode(one, value, read_path)
    raise ValueError(f"{value!r} is none of {kind}")


def _sequence(kinds: tuple[Any, ...], value: object, read_path: ReadPath) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise ValueError(f"{value!r} is not a list")
    if kinds[-1] is Ellipsis:
        return tuple(decode(kinds[0], item, read_path) for item in value)
    if len(value) != len(kinds):
        raise ValueError(f"{value!r} is not a list of {len(kinds)}")
    return tuple(decode(one, item, read_path) for one, item in zip(kinds, value, strict=True))


def encode(value: Any, write_path: Callable[[Path], str]) -> Any:
    """The JSON values that `decode` reads again."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        rows = {f.name: encode(getattr(value, f.name), write_path) for f in fields}
        return {"kind_of": type(value).__name__, **rows}
    if isinstance(value, tuple):
        return [encode(item, write_path) for item in value]
    return write_path(value) if isinstance(value, Path) else value
