"""The span walker: where every value of a JSON text stands; splices that are made and
undone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from ccmove.rewrite import jsonspan
from ccmove.rewrite.jsonspan import Node, NotJsonError, Pointer
from ccmove.rewrite.splice import Texts, changed
from ccmove.rewrite.threeway import EVERYTHING, Following, taken_out
from fuzz.source import Source, blank, document, leaf

LONGEST_INPUT = 96
# Few names, so that they clash.
NAMES = ("a", "b", "/old", "/new", "x y", "\u00e9", "sessionId", "")
LATER = "later"


def check(data: bytes) -> None:
    """One way of looking at it, chosen by the first byte."""
    source = Source(data)
    ways = (_any_bytes, _torn, _spans, _spliced, _undone_elsewhere, _undone_later)
    source.pick(ways)(source)


# -- reading ---------------------------------------------------------------------------------------


def _no_constant(name: str) -> None:
    raise ValueError(name)


_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_no_constant)


def reference(text: str) -> Any:
    """What `json` makes of it; numbers as text, so that none is too large."""
    return _DECODER.decode(text)


def _any_bytes(source: Source) -> None:
    _same_verdict(source.rest().decode("utf-8", "surrogateescape"))


def _torn(source: Source) -> None:
    """A text with a piece taken out or put in."""
    at, length = source.byte(), source.below(4)
    put = source.raw(3).decode("utf-8", "surrogateescape")
    text = document(source)
    _same_verdict(text[:at] + put + text[at + length :])


def _same_verdict(text: str) -> None:
    """Valid is what `json` takes, however much of it is opened."""
    try:
        expected = reference(text.removeprefix("\ufeff"))
    except ValueError:
        try:
            jsonspan.parse(text)
        except NotJsonError:
            return
        raise AssertionError(f"it takes {text!r}") from None
    root = jsonspan.parse(text)
    assert _value(text, root) == expected
    assert root.raw == text.removeprefix("\ufeff").strip(" \t\r\n")
    assert _plain(jsonspan.parse(text).value) == expected


def _value(text: str, node: Node) -> Any:
    """The value of a tree, put together from its spans."""
    assert _plain(node.value) == reference(text[node.start : node.end])
    if node.kind == "{":
        assert len(node.keys) == len(node.items)
        for key in node.keys:
            assert key.value == reference(text[key.start : key.end])
        return {name: _value(text, item) for name, item in node.members().items()}
    if node.kind == "[":
        return [_value(text, item) for item in node.items]
    return reference(text[node.start : node.end])


def _plain(value: Any) -> Any:
    """A value as `reference` gives it."""
    if isinstance(value, jsonspan.Number):
        return value.text
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _spans(source: Source) -> None:
    """All of a valid text; pointers lead to what they name."""
    source.byte()  # the kept inputs have one more
    text = blank(source) + document(source, NAMES) + blank(source)
    _same_verdict(text)
    expected = reference(text)
    for pointer, node in jsonspan.walk(jsonspan.parse(text)):
        assert _plain(node.value) == _deep(expected, pointer)


def _deep(value: Any, pointer: Pointer) -> Any:
    for token in pointer:
        value = value[token]
    return value


def _names(node: Node) -> list[str]:
    return node.names


# -- splices ---------------------------------------------------------------------------------------


def _spliced(source: Source) -> None:
    """The result is valid, and it can be undone."""
    text = document(source, NAMES, unique=True)
    after = _edited(source, jsonspan.parse(text))
    reference(after)
    assert _taken_out(text, after, after) == (text, [])


def _undone_elsewhere(source: Source) -> None:
    """In any other text: the result is valid."""
    text = document(source, NAMES)
    after = _edited(source, jsonspan.parse(text))
    other = (
        document(source, NAMES)
        if source.yes()
        else _edited(source, jsonspan.parse(after))
    )
    result, _ = _taken_out(text, after, other)
    reference(result)
    if other == text:
        assert result == text


def _undone_later(source: Source) -> None:
    """Members that came later are all there afterwards."""
    text = document(source, NAMES, unique=True)
    after = _edited(source, jsonspan.parse(text))
    numbers = iter(range(LONGEST_INPUT))
    now = _with_later(source, jsonspan.parse(after), numbers)
    result, lost = _taken_out(text, after, now)
    assert EVERYTHING not in lost
    came = map(str, range(next(numbers)))
    assert sorted(_later_values(reference(result))) == sorted(came)


def _stays(_: str) -> None:
    return None


NOTHING = Following(_stays, _stays)


def _taken_out(before: str, after: str, now: str) -> tuple[str, list[str]]:
    return taken_out("json", before, after, now, NOTHING, _stays)


def _edited(source: Source, node: Node) -> str:
    """Changes of all kinds anywhere in a node."""
    if node.kind not in "{[":
        return leaf(source) if source.yes() else node.raw
    known: Iterable[str | int] = _names(node) or range(len(node.items))
    texts: dict[Any, str | None] = {}
    for name, item in zip(known, node.items, strict=True):
        texts[name] = None if source.below(3) == 1 else _edited(source, item)
    fresh = [(f"fresh{i}", leaf(source)) for i in range(source.below(3))]
    names = {name: f"{name}-new" for name in _names(node) if source.below(3) == 1}
    return changed(node, texts, fresh, names)


def _with_later(source: Source, node: Node, numbers: Iterator[int]) -> str:
    """The text of a node with members added anywhere."""
    if node.kind not in "{[":
        return node.raw
    known: Iterable[str | int] = _names(node) or range(len(node.items))
    texts: Texts = {}
    for name, item in zip(known, node.items, strict=True):
        texts[name] = _with_later(source, item, numbers)
    added = [(LATER, str(next(numbers)))] if node.kind == "{" and source.yes() else []
    return changed(node, texts, added)


def _later_values(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key == LATER:
                yield item
            else:
                yield from _later_values(item)
    elif isinstance(value, list):
        for item in value:
            yield from _later_values(item)
