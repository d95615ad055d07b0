"""What a move makes of a history, found in a slow and simple way: line by line, by
`json`.
"""

import json
import re
from collections.abc import Callable

Mapping = Callable[
    [str], str | None
]  # where a path is after the move, None when it stays


def stringify(value: object, indent: int | None = None) -> bytes:
    """JSON.stringify(value, null, indent): non-ASCII as it is, a lone surrogate as an
    escape.
    """
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(value, ensure_ascii=False, indent=indent, separators=separators)
    return re.sub(
        "[\ud800-\udfff]", lambda lone: f"\\u{ord(lone[0]):04x}", text
    ).encode()


def moved_history(data: bytes, mapping: Mapping) -> bytes:
    """All lines, each moved."""
    return b"\n".join(moved_line(line, mapping) for line in data.split(b"\n"))


def moved_line(line: bytes, mapping: Mapping) -> bytes:
    """The line with its `project` moved; as it is when it is not a JSON object."""
    try:
        text = line.decode()
        record = _DECODER.decode(text)
    except ValueError:
        return line
    span = _last_project(text) if isinstance(record, dict) else None
    new = mapping(record["project"]) if span else None
    if span is None or new is None:
        return line
    return text[: span[0]].encode() + stringify(new) + text[span[1] :].encode()


def _no_constant(name: str) -> None:
    raise ValueError(name)


_DECODER = json.JSONDecoder(parse_int=str, parse_constant=_no_constant)


def _last_project(text: str) -> tuple[int, int] | None:
    """The span of the last top-level `project`, if it is a string; found character by
    character.
    """
    position = text.index("{") + 1
    found = None
    while True:
        position = _skip_blanks(text, position)
        if text[position] == "}":
            return found
        if text[position] == ",":
            position = _skip_blanks(text, position + 1)
        key, position = _DECODER.raw_decode(text, position)
        start = _skip_blanks(text, _skip_blanks(text, position) + 1)
        value, position = _DECODER.raw_decode(text, start)
        if key == "project":
            found = (start, position) if isinstance(value, str) else None


def _skip_blanks(text: str, position: int) -> int:
    while text[position] in " \t\r\n":
        position += 1
    return position
