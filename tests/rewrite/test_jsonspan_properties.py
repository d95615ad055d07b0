"""For any text: the same verdict as `json`, and spans that are exact."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ccmove.rewrite.jsonspan import Node, NotJsonError, parse, quote, walk
from tests.rewrite.strategies import BLANKS, DOCUMENTS

pytestmark = pytest.mark.slow

ALMOST_JSON = st.text('{}[]",:\\u0e1-.+tfn \n\t\ufeff\0\ud800', max_size=14)


def no_constant(name: str) -> None:
    raise ValueError(name)


def reference(text: str) -> Any:
    """What `json` makes of it; numbers as text, so that none is too large."""
    return json.loads(text, parse_int=str, parse_float=str, parse_constant=no_constant)


def is_json(text: str) -> bool:
    try:
        reference(text.removeprefix("\ufeff"))
    except ValueError:
        return False
    return True


def all_nodes(root: Node) -> Iterator[Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [*node.keys, *node.items]


def value_of(text: str, node: Node) -> Any:
    """The value of an opened tree, put together from its parts."""
    if node.kind == "{":
        return {name: value_of(text, item) for name, item in node.members().items()}
    if node.kind == "[":
        return [value_of(text, item) for item in node.items]
    return reference(text[node.start : node.end])


@given(DOCUMENTS, BLANKS)
def test_spans_are_exact(document: str, blank: str) -> None:
    text = f"{blank}{document}{blank}"
    root = parse(text)
    assert text[root.start : root.end] == document
    assert value_of(text, root) == reference(text)
    for node in all_nodes(root):
        reference(text[node.start : node.end])
        if isinstance(node.value, str):
            assert node.value == reference(text[node.start : node.end])


@given(st.one_of(ALMOST_JSON, DOCUMENTS))
@example("\ufeff1")
@example('{"a":1,}')
@example("[1]\ufeff")
def test_the_verdict_is_that_of_json(text: str) -> None:
    try:
        list(walk(parse(text)))
    except NotJsonError:
        assert not is_json(text)
    else:
        assert is_json(text)


@given(st.text(st.characters(codec=None)))
def test_a_quoted_string_is_that_string_again(value: str) -> None:
    assert parse(quote(value)).value == value
    quote(value).encode("utf-8")  # never holds a bare surrogate
