"""Two contents of a file are compared value by value: that is what a restore puts back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccmove.rewrite.compare import Difference, compare


def rows(before: str, after: str) -> list[tuple[str, object, object]]:
    found = compare(before.encode("utf-8", "surrogateescape"), after.encode())
    return [(row.where, row.before, row.after) for row in found]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ('{"a": "x", "b": 1}', '{"a": "y", "b": 1}', [("/a", "x", "y")]),
        ('{"a": 1.10}', '{"a": 1.1}', [("/a", "1.10", "1.1")]),
        (
            '{"a": {"b": ["x", "z"]}}',
            '{"a": {"b": ["y", "z"]}}',
            [("/a/b/0", "x", "y")],
        ),
        ('["x"]', '["x", "y"]', [("/1", None, "y")]),
        ('["x", "y"]', '["y"]', [("/0", "x", None)]),
        ('{"a": 1}', '{"a": 1, "b": [2]}', [("/b", None, "[2]")]),
        ('{"a": 1, "b": 2}', '{"b": 2}', [("/a", "1", None)]),
        ('{"a": "x"}', '{"a": null}', [("/a", "x", "null")]),
    ],
)
def test_each_value_that_differs_is_named(
    before: str, after: str, expected: list[tuple[str, object, object]]
) -> None:
    assert rows(before, after) == expected


def test_a_renamed_key_is_one_difference_and_what_is_inside_is_compared() -> None:
    found = compare(
        b'{"p": {"/old": {"x": "/old/a"}}}', b'{"p": {"/new": {"x": "/new/a"}}}'
    )
    assert found == [
        Difference(("p", "/old"), "/old", "/new", is_key=True),
        Difference(("p", "/old", "x"), "/old/a", "/new/a"),
    ]


def test_a_file_that_is_not_json_is_compared_line_by_line() -> None:
    assert rows("a\nb\nc", "a\nx\nc\nd") == [
        ("line 2", "b", "x"),
        ("line 4", None, "d"),
    ]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner)
    ),
    max_leaves=12,
)


@pytest.mark.slow
@given(values, values)
def test_no_difference_is_found_exactly_where_there_is_none(
    one: object, other: object
) -> None:
    before, after = json.dumps(one), json.dumps(other)
    found = compare(before.encode(), after.encode())
    assert (found == []) == (before == after)
    assert all(row.line != "whole file" for row in found)
