"""The span walker: where every value of a JSON text stands, and edits that are made and undone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ccmove.rewrite import jsonspan
from ccmove.rewrite import splice as make
from ccmove.rewrite.jsonspan import Node, NotJsonError, Pointer
from ccmove.rewrite.splice import Edit, apply, undo
from fuzz.source import Source, blank, document, leaf

LONGEST_INPUT = 96
# Few names, so that they clash.
NAMES = ("a", "b", "/old", "/new", "x y", "\u00e9", "sessionId", "")
LATER = "later"


def check(data: bytes) -> None:
    """One way of looking at it, chosen by the first byte."""
    source = Source(data)
    ways = (_any_bytes, _torn, _spans, _undone, _undone_elsewhere, _undone_later)
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
    data = text.encode("utf-8", "surrogateescape")
    try:
        expected = reference(text.removeprefix("\ufeff"))
    except ValueError:
        for read in (jsonspan.parse, _unopened, jsonspan.loads, _outlined):
            try:
                read(text)
            except NotJsonError:
                continue
            raise AssertionError(f"{read} takes {text!r}") from None
        assert jsonspan.byte_values(data) is None
        return
    _check_bytes(text, data, expected)
    for root in (jsonspan.parse(text), _unopened(text)):
        assert _value(text, root) == expected
        assert text[root.start : root.end] == text.removeprefix("\ufeff").strip(" \t\r\n")
    assert _plain(jsonspan.loads(text)) == expected
    jsonspan.canonical(text)


def _unopened(text: str) -> Node:
    return jsonspan.parse(text, lambda _: False)


def _outlined(text: str) -> Node:
    return jsonspan.outline(text.encode("utf-8", "surrogateescape"), lambda _: True)


def _check_bytes(text: str, data: bytes, expected: Any) -> None:
    """By bytes everything stands where it stands by characters, and is the same."""
    waiting = [(jsonspan.parse(text), _outlined(text))]
    while waiting:
        node, other = waiting.pop()
        raw = data[other.start : other.end]
        assert raw == text[node.start : node.end].encode("utf-8", "surrogateescape")
        assert [key.value for key in node.keys] == [key.value for key in other.keys]
        waiting += zip(node.items, other.items, strict=True)
    values = jsonspan.byte_values(data)
    assert values is None or _from_bytes(values) == expected
    assert values is not None or not data.startswith(b"{") or b"\\u" in data


def _from_bytes(value: Any) -> Any:
    """A value as `reference` gives it, of strings that are Latin-1 of their bytes."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, str):
        return value.encode("latin-1").decode("utf-8", "surrogateescape")
    if isinstance(value, dict):
        return {_from_bytes(key): _from_bytes(item) for key, item in value.items()}
    return [_from_bytes(item) for item in value] if isinstance(value, list) else value


def _value(text: str, node: Node) -> Any:
    """The value of a tree, put together from its spans."""
    if node.opened == "{":
        assert len(node.keys) == len(node.items)
        for key in node.keys:
            assert key.value == reference(text[key.start : key.end])
        return {key.value: _value(text, item) for key, item in node.members()}
    if node.opened == "[":
        return [_value(text, item) for item in node.items]
    value = reference(text[node.start : node.end])
    assert _plain(node.value) == value
    return value


def _plain(value: Any) -> Any:
    """A value as `reference` gives it."""
    if isinstance(value, jsonspan.Spelled):
        return value.text
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _spans(source: Source) -> None:
    """All of a valid text, some of it opened; pointers lead to what they name."""
    opened = source.byte()
    text = blank(source) + document(source, NAMES) + blank(source)
    _same_verdict(text)
    root = jsonspan.parse(text, lambda pointer: opened >> min(len(pointer), 7) & 1 == 0)
    expected = reference(text)
    assert _value(text, root) == expected
    for node, pointer in containers(root):
        assert jsonspan.find(root, (*pointer, "no such name")) is None
        for number, item in enumerate(node.items):
            token = node.keys[number].value if node.keys else number
            found = jsonspan.find(root, (*pointer, token))
            assert found is not None
            if isinstance(token, int) or _names(node).count(token) == 1:
                assert _deep(expected, (*pointer, token)) == _value(text, item)


def _deep(value: Any, pointer: Pointer) -> Any:
    for token in pointer:
        value = value[token]
    return value


def _names(node: Node) -> list[str]:
    return [key.value for key in node.keys]


def containers(node: Node, pointer: Pointer = ()) -> Iterator[tuple[Node, Pointer]]:
    """Objects and lists with their pointers; of members with one name only the one that counts."""
    if not node.opened:
        return
    yield node, pointer
    for number, item in enumerate(node.items):
        token = node.keys[number].value if node.keys else number
        if isinstance(token, int) or node.get(token) is item:
            yield from containers(item, (*pointer, token))


# -- edits -----------------------------------------------------------------------------------------


def _undone(source: Source) -> None:
    """Undoing gives the text back to the byte; between the splices nothing changes."""
    text = blank(source) + document(source, NAMES, unique=True) + blank(source)
    edits = _edits(source, text)
    after = apply(text, edits)
    reference(after)
    back, lost = undo(after, _recorded(edits))
    assert lost == []
    assert apply(after, back) == text
    in_place = [edit for edit in edits if edit.kind in ("set", "key")]
    expected = text
    for edit in sorted(in_place, key=lambda e: -e.start):
        expected = expected[: edit.start] + (edit.after or "") + expected[edit.end :]
    assert apply(text, in_place) == expected


def _undone_elsewhere(source: Source) -> None:
    """In any other text: the result is valid, and where nothing is undone nothing changes."""
    text = document(source, NAMES)
    edits = _edits(source, text)
    if source.yes():
        other = document(source, NAMES)
    else:  # the same one, after others have changed it as well
        other = apply(text, edits)
        other = apply(other, _edits(source, other))
    back, lost = undo(other, _recorded(edits))
    reference(apply(other, back))
    assert len(lost) < len(edits) or back == []


def _undone_later(source: Source) -> None:
    """Members that came later are all there afterwards, and nothing else that was not before."""
    text = document(source, NAMES, unique=True)
    edits = _edits(source, text)
    after = apply(text, edits)
    added: list[Edit] = []
    for node, pointer in containers(jsonspan.parse(after)):
        if node.opened == "{" and source.yes():
            added += make.add_items(after, node, pointer, [(LATER, str(len(added)))])
    later = apply(after, added)
    back, lost = undo(later, _recorded(edits))
    result = reference(apply(later, back))
    assert sorted(_later_values(result)) == sorted(str(n) for n in range(len(added)))
    assert lost or _without_later(result) == reference(text)


def _recorded(edits: list[Edit]) -> list[Edit]:
    """The edits as they come back from a backup."""
    return [Edit.from_record(json.loads(json.dumps(edit.record()))) for edit in edits]


def _edits(source: Source, text: str) -> list[Edit]:
    """Edits of all kinds that are not in each other's way."""
    edits: list[Edit] = []
    removed: list[Node] = []
    for node, pointer in containers(jsonspan.parse(text)):
        if any(gone.start <= node.start < gone.end for gone in removed):
            continue
        gone = {n for n in range(len(node.items)) if _may_go(node, n) and source.below(3) == 1}
        edits += make.remove_items(text, node, pointer, gone)
        removed += [node.items[number] for number in gone]
        edits += _in_place(source, text, node, pointer, gone)
        fresh = [(f"fresh{i}", leaf(source)) for i in range(source.below(3))]
        edits += make.add_items(text, node, pointer, fresh)
    added = [edit for edit in edits if edit.kind == "add"]  # these stand in the order given
    others = [edit for edit in edits if edit.kind != "add"]
    return [*added, *reversed(others)] if source.yes() else edits


def _may_go(node: Node, number: int) -> bool:
    """Whether the item may be changed; a session stays known by its ID, and of two items with one
    name neither can be told from the other later."""
    return not node.keys or (
        node.keys[number].value != "sessionId" and _names(node).count(node.keys[number].value) == 1
    )


def _in_place(
    source: Source, text: str, node: Node, pointer: Pointer, gone: set[int]
) -> Iterator[Edit]:
    """Values that are set, and names that the members of an object exchange or get anew."""
    names = _names(node)
    session = node.get("sessionId")
    anchor = session.value if session is not None and isinstance(session.value, str) else None
    if not pointer or isinstance(pointer[-1], str):
        anchor = None  # only the elements of a list are found by their session
    for number in [n for n in range(len(node.items)) if n not in gone and _may_go(node, n)]:
        token = node.keys[number].value if node.keys else number
        name = source.pick(["", "", "fresh name", *names]) if node.keys else ""
        if name and name not in names:
            names[number] = name
            yield make.rename_key(text, node, number, (*pointer, token), name)
        if not node.items[number].opened and source.yes():
            found = node.items[number]
            yield make.set_raw(text, found, (*pointer, token), leaf(source), anchor)


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


def _without_later(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_later(item) for key, item in value.items() if key != LATER}
    return [_without_later(item) for item in value] if isinstance(value, list) else value
