"""The span walker: where every value of a JSON text stands; splices that are made and undone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ccmove.rewrite import jsonspan
from ccmove.rewrite import splice as make
from ccmove.rewrite.jsonspan import Node, NotJsonError, Pointer
from ccmove.rewrite.splice import Splice, apply
from ccmove.rewrite.threeway import EVERYTHING, taken_out
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
        for read in (jsonspan.parse, jsonspan.loads):
            try:
                read(text)
            except NotJsonError:
                continue
            raise AssertionError(f"{read} takes {text!r}") from None
        return
    root = jsonspan.parse(text)
    assert _value(text, root) == expected
    assert root.raw == text.removeprefix("\ufeff").strip(" \t\r\n")
    assert root.canonical
    assert _plain(jsonspan.loads(text)) == expected


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
    for pointer, string in jsonspan.strings(jsonspan.loads(text)):
        assert string in (_deep(expected, pointer), *pointer[-1:])


def _deep(value: Any, pointer: Pointer) -> Any:
    for token in pointer:
        value = value[token]
    return value


def _names(node: Node) -> list[str]:
    return [key.value for key in node.keys]


def containers(text: str) -> list[Node]:
    """Objects and lists; of members with one name only the one that counts."""
    return [node for _, node in jsonspan.walk(jsonspan.parse(text)) if node.kind in "{["]


# -- splices ---------------------------------------------------------------------------------------


def _spliced(source: Source) -> None:
    """Between the splices nothing changes, the result is valid, and it can be taken back."""
    text = blank(source) + document(source, NAMES, unique=True) + blank(source)
    in_place, others = _splices(source, text)
    after = apply(text, [*in_place, *others])
    reference(after)
    assert _taken_out(text, after, after) == (text, [])
    expected = text
    for splice in sorted(in_place, key=lambda s: -s.start):
        expected = expected[: splice.start] + splice.text + expected[splice.end :]
    assert apply(text, in_place) == expected
    sizes = [len(splice.text) - (splice.end - splice.start) for splice in others]
    assert len(text) + sum(sizes) >= len(apply(text, others)), "only a comma may go besides"


def _undone_elsewhere(source: Source) -> None:
    """In any other text: the result is valid, and taking out once more changes nothing."""
    text = document(source, NAMES)
    after = apply(text, _all_splices(source, text))
    other = document(source, NAMES) if source.yes() else apply(after, _all_splices(source, after))
    result, _ = _taken_out(text, after, other)
    reference(result)
    if other == text:
        assert result == text


def _undone_later(source: Source) -> None:
    """Members that came later are all there afterwards."""
    text = document(source, NAMES, unique=True)
    after = apply(text, _all_splices(source, text))
    added: list[Splice] = []
    for node in containers(after):
        if node.kind == "{" and source.yes():
            added += make.add_items(node, [(LATER, str(len(added)))])
    result, lost = _taken_out(text, after, apply(after, added))
    assert EVERYTHING not in lost
    assert sorted(_later_values(reference(result))) == sorted(str(n) for n in range(len(added)))


def _taken_out(before: str, after: str, now: str) -> tuple[str, list[str]]:
    return taken_out("json", before, after, now, lambda _: None, lambda _: None)


def _all_splices(source: Source, text: str) -> list[Splice]:
    in_place, others = _splices(source, text)
    return [*others, *in_place] if source.yes() else [*in_place, *others]


def _splices(source: Source, text: str) -> tuple[list[Splice], list[Splice]]:
    """Splices of all kinds that are not in each other's way: in place, and that add or remove."""
    in_place: list[Splice] = []
    others: list[Splice] = []
    removed: list[Node] = []
    for node in containers(text):
        if any(gone.start <= node.start < gone.end for gone in removed):
            continue
        gone = {n for n in range(len(node.items)) if source.below(3) == 1}
        others += make.remove_items(node, gone)
        removed += [node.items[number] for number in gone]
        in_place += _in_place(source, node, gone)
        fresh = [(f"fresh{i}", leaf(source)) for i in range(source.below(3))]
        others += make.add_items(node, fresh)
    return in_place, others


def _in_place(source: Source, node: Node, gone: set[int]) -> Iterator[Splice]:
    """Values that are set, and names that the members of an object get anew."""
    names = _names(node)
    for number in [n for n in range(len(node.items)) if n not in gone]:
        name = source.pick(["", "", "fresh name", *names]) if node.keys else ""
        if name and name not in names:
            names[number] = name
            yield make.set_string(node.keys[number], name)
        if node.items[number].kind not in "{[" and source.yes():
            yield make.set_raw(node.items[number], leaf(source))


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
