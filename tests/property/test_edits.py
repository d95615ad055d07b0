"""For any document and any edits: undoing gives back the text, and takes no more than it made."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ccmove.rewrite import splice as make
from ccmove.rewrite.jsonspan import Node, Pointer, parse, quote
from ccmove.rewrite.splice import Edit, apply, undo
from tests.property.strategies import BLANKS, LEAVES, json_texts, spellings

# Few names, so that they clash; a document as the client writes it never repeats one.
NAMES = st.sampled_from(["a", "b", "c", "/old", "/new", "x y", "\u00e9"])


def has_repeated_key(text: str) -> bool:
    repeated = []

    def look(pairs: list[tuple[str, Any]]) -> None:
        repeated.append(len(dict(pairs)) != len(pairs))

    json.loads(text, object_pairs_hook=look)
    return any(repeated)


DOCUMENTS = json_texts(LEAVES, spellings(NAMES), max_leaves=16).filter(
    lambda text: not has_repeated_key(text)
)


def containers(node: Node, pointer: Pointer = ()) -> Iterator[tuple[Node, Pointer]]:
    if node.opened:
        yield node, pointer
    for number, item in enumerate(node.items):
        token = node.keys[number].value if node.keys else number
        yield from containers(item, (*pointer, token))


@st.composite
def random_edits(draw: st.DrawFn, text: str) -> list[Edit]:
    """Edits of all kinds that do not lie in each other's way."""
    edits: list[Edit] = []
    removed: list[Node] = []
    for node, pointer in containers(parse(text)):
        if any(gone.start <= node.start < gone.end for gone in removed):
            continue
        gone = draw(st.sets(st.sampled_from(range(len(node.items))))) if node.items else set()
        edits += make.remove_items(text, node, pointer, gone)
        removed += [node.items[number] for number in gone]
        edits += _in_place(draw, text, node, pointer, gone, removed)
        fresh = draw(st.lists(LEAVES, max_size=2))
        edits += make.add_items(
            text, node, pointer, [(f"fresh{i}", raw) for i, raw in enumerate(fresh)]
        )
    added = [edit for edit in edits if edit.kind == "add"]  # these stand in the order given
    others = [edit for edit in edits if edit.kind != "add"]
    return [*added, *reversed(others)] if draw(st.booleans()) else edits


def _in_place(
    draw: st.DrawFn, text: str, node: Node, pointer: Pointer, gone: set[int], removed: list[Node]
) -> Iterator[Edit]:
    """Values that are set, and names that the members of an object exchange or get anew."""
    staying = [number for number in range(len(node.items)) if number not in gone]
    names = {number: node.keys[number].value for number in staying if node.keys}
    renamed = draw(st.permutations([*names.values(), "fresh name"]))
    for number, name in zip(names, renamed, strict=False):
        if name != names[number] and draw(st.booleans()):
            everyone = {**names, number: name}
            if len(set(everyone.values())) == len(everyone):
                names = everyone
    for number in staying:
        item = node.items[number]
        token = node.keys[number].value if node.keys else number
        if node.keys and names[number] != token:
            yield make.rename_key(text, node, number, (*pointer, token), names[number])
        if not item.opened and draw(st.booleans()):
            raw = draw(LEAVES)
            removed.append(item)
            yield make.set_raw(text, item, (*pointer, token), raw)


def recorded(edits: list[Edit]) -> list[Edit]:
    """The edits as they come back from the backup."""
    return [Edit.from_record(json.loads(json.dumps(edit.record()))) for edit in edits]


@given(DOCUMENTS, BLANKS, st.data())
def test_undoing_gives_back_the_text_to_the_byte(
    document: str, blank: str, data: st.DataObject
) -> None:
    text = f"{blank}{document}{blank}"
    edits = data.draw(random_edits(text))
    after = apply(text, edits)
    json.loads(after)
    back, lost = undo(after, recorded(edits))
    assert lost == []
    assert apply(after, back) == text


@given(DOCUMENTS, st.data())
def test_only_the_planned_spans_differ(document: str, data: st.DataObject) -> None:
    edits = [e for e in data.draw(random_edits(document)) if e.kind in ("set", "key")]
    expected = document
    for edit in sorted(edits, key=lambda e: -e.start):
        expected = expected[: edit.start] + (edit.after or "") + expected[edit.end :]
    assert apply(document, edits) == expected


LATER = "later"


@given(DOCUMENTS, st.data())
def test_what_came_later_is_kept(document: str, data: st.DataObject) -> None:
    """Members that were added anywhere since are all there after the undoing, and nothing else."""
    edits = data.draw(random_edits(document))
    after = apply(document, edits)
    objects = [(n, p) for n, p in containers(parse(after)) if n.opened == "{"]
    chosen = data.draw(st.lists(st.sampled_from(objects), unique_by=id)) if objects else []
    additions = []
    for number, (node, pointer) in enumerate(chosen):
        items = [(LATER, quote(f"{LATER} {number}"))]
        additions += make.add_items(after, node, pointer, items)
    later = apply(after, additions)
    back, lost = undo(later, recorded(edits))
    result = apply(later, back)
    expected = [f"{LATER} {number}" for number in range(len(chosen))]
    assert sorted(later_values(json.loads(result))) == sorted(expected)
    assert lost or without_later(json.loads(result)) == json.loads(document)


def later_values(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key == LATER:
                yield item
            else:
                yield from later_values(item)
    elif isinstance(value, list):
        for item in value:
            yield from later_values(item)


def without_later(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_later(item) for key, item in value.items() if key != LATER}
    if isinstance(value, list):
        return [without_later(item) for item in value]
    return value


@given(DOCUMENTS, DOCUMENTS, st.data())
def test_undoing_in_another_document_does_no_harm(
    document: str, other: str, data: st.DataObject
) -> None:
    """Whatever the text has become, the result is valid and what was not as made is as it was."""
    edits = data.draw(random_edits(document))
    back, lost = undo(other, recorded(edits))
    json.loads(apply(other, back))
    if len(lost) == len(edits):
        assert back == []
