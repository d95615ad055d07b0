"""A splice changes its own bytes only; what is added is spaced as the rest is."""

from __future__ import annotations

import json

import pytest

from ccmove.rewrite import splice as make
from ccmove.rewrite.jsonspan import Node, Pointer, parse
from ccmove.rewrite.splice import Splice, apply
from tests.rewrite.strategies import node_at as at


def node_at(text: str, *pointer: str | int) -> Node:
    return at(parse(text), *pointer)


def set_at(text: str, pointer: Pointer, value: str) -> Splice:
    return make.set_string(node_at(text, *pointer), value)


def rename(text: str, pointer: Pointer, name: str) -> Splice:
    parent = node_at(text, *pointer[:-1])
    number = [key.value for key in parent.keys].index(pointer[-1])
    return make.set_string(parent.keys[number], name)


def add(text: str, pointer: Pointer, *items: tuple[str, str]) -> list[Splice]:
    return make.add_items(node_at(text, *pointer), items)


def remove(text: str, pointer: Pointer, *gone: int) -> list[Splice]:
    return make.remove_items(node_at(text, *pointer), gone)


PRETTY = '{\n  "a": 1,\n  "b": [\n    "x",\n    "y"\n  ],\n  "c": {}\n}'


class TestSplices:
    def test_everything_between_the_splices_stays(self) -> None:
        text = '{ "p" :"\\/old", "n": 1.10 ,"q":"/old"  }'
        edits = [set_at(text, ("q",), "/new"), set_at(text, ("p",), "/new")]
        assert apply(text, edits) == '{ "p" :"/new", "n": 1.10 ,"q":"/new"  }'

    def test_edits_that_overlap_are_a_bug_and_noticed(self) -> None:
        text = '{"a": {"b": "x"}}'
        whole = make.set_raw(node_at(text, "a"), "1")
        with pytest.raises(AssertionError, match="overlap"):
            apply(text, [whole, set_at(text, ("a", "b"), "y")])

    def test_one_node_can_be_changed_by_itself(self) -> None:
        text = '{"a": {"b": "x"}, "c": "x"}'
        edit = set_at(text, ("a", "b"), "y")
        assert make.apply_inside(node_at(text, "a"), [edit]) == '{"b": "y"}'


class TestAdding:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("[]", '["x","y"]'),
            ("[ ]", '["x","y" ]'),
            ("[1]", '[1,"x","y"]'),
            ("[1, 2]", '[1, 2, "x", "y"]'),
            ("[\n  1\n]", '[\n  1,\n  "x",\n  "y"\n]'),
            ("[\n  1,\n  2\n]", '[\n  1,\n  2,\n  "x",\n  "y"\n]'),
        ],
    )
    def test_items_are_spaced_as_the_others_are(self, text: str, expected: str) -> None:
        assert apply(text, add(text, (), ("", '"x"'), ("", '"y"'))) == expected

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("{}", '{"k": 7}'),
            ('{"a":1}', '{"a":1,"k":7}'),
            ('{\n  "a": 1,\n  "b": 2\n}', '{\n  "a": 1,\n  "b": 2,\n  "k": 7\n}'),
        ],
    )
    def test_members_are_spaced_as_the_others_are(self, text: str, expected: str) -> None:
        assert apply(text, add(text, (), ("k", "7"))) == expected

    def test_two_who_add_to_one_empty_list_get_along(self) -> None:
        text = '{"a": []}'
        edits = [*add(text, ("a",), ("", "1")), *add(text, ("a",), ("", "2"))]
        assert json.loads(apply(text, edits)) == {"a": [1, 2]}


class TestRemoving:
    @pytest.mark.parametrize(
        ("gone", "expected"),
        [
            ({0}, "[ 2 , 3 ]"),
            ({1}, "[ 1 , 3 ]"),
            ({2}, "[ 1 , 2 ]"),
            ({0, 1}, "[ 3 ]"),
            ({0, 2}, "[ 2 ]"),
            ({1, 2}, "[ 1 ]"),
            ({0, 1, 2}, "[ ]"),
        ],
    )
    def test_an_item_goes_with_one_comma(self, gone: set[int], expected: str) -> None:
        text = "[ 1 , 2 , 3 ]"
        assert apply(text, remove(text, (), *gone)) == expected

    def test_two_who_remove_from_one_list_get_along(self) -> None:
        text = "[1, 2, 3, 4]"
        assert apply(text, [*remove(text, (), 2), *remove(text, (), 3)]) == "[1, 2]"
        assert apply(text, [*remove(text, (), 3), *remove(text, (), 2)]) == "[1, 2]"
        assert apply(text, [*remove(text, (), 0), *remove(text, (), 1)]) == "[ 3, 4]"

    def test_all_may_go_and_others_come(self) -> None:
        text = '{"a": [\n  1,\n  2\n]}'
        edits = [*remove(text, ("a",), 0, 1), *add(text, ("a",), ("", "3"), ("", "4"))]
        assert apply(text, edits) == '{"a": [\n  3,\n  4\n]}'

    def test_a_member_goes_with_its_key(self) -> None:
        assert apply(PRETTY, remove(PRETTY, (), 1)) == '{\n  "a": 1,\n  "c": {}\n}'
        assert apply(PRETTY, remove(PRETTY, (), 0, 1, 2)) == "{\n}"
