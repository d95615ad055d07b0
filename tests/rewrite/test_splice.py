"""A splice changes its own bytes only; what is added is spaced as the rest is."""

import pytest

from ccmove.rewrite.jsonspan import parse
from ccmove.rewrite.pathmap import PathMap
from ccmove.rewrite.splice import apply, changed, with_mapped
from tests.rewrite.strategies import everywhere, node_at


def test_everything_between_the_splices_stays() -> None:
    text = '{ "p" :"\\/old", "n": 1.10 ,"q":"/old"  }'
    splices = [(node_at(parse(text), name), '"/new"') for name in "qp"]
    assert apply(text, splices) == '{ "p" :"/new", "n": 1.10 ,"q":"/new"  }'


def test_splices_that_overlap_are_a_bug_and_noticed() -> None:
    root = parse('{"a": {"b": "x"}}')
    with pytest.raises(AssertionError, match="overlap"):
        apply(root.text, [(node_at(root, "a"), "1"), (node_at(root, "a", "b"), "2")])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[]", '["x","y"]'),
        ("[ ]", '["x","y" ]'),
        ("[1]", '[1,"x","y"]'),
        ("[1, 2]", '[1, 2, "x", "y"]'),
        ("[\n  1\n]", '[\n  1,\n  "x",\n  "y"\n]'),
        ("{}", '{"k": "x","l": "y"}'),
        ('{"a":1}', '{"a":1,"k":"x","l":"y"}'),
        (
            '{\n  "a": 1,\n  "b": 2\n}',
            '{\n  "a": 1,\n  "b": 2,\n  "k": "x",\n  "l": "y"\n}',
        ),
    ],
)
def test_what_is_added_is_spaced_as_the_others_are(text: str, expected: str) -> None:
    assert changed(parse(text), {}, [("k", '"x"'), ("l", '"y"')]) == expected


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
def test_an_item_goes_with_one_comma(gone: set[int], expected: str) -> None:
    assert changed(parse("[ 1 , 2 , 3 ]"), dict.fromkeys(gone)) == expected


def test_all_may_go_and_others_come() -> None:
    root = parse("[\n  1,\n  2\n]")
    assert (
        changed(root, {0: None, 1: None}, [("", "3"), ("", "4")]) == "[\n  3,\n  4\n]"
    )


def test_members_are_known_by_their_names_and_of_repeated_ones_the_last_changes() -> (
    None
):
    root = parse('{"a": 1, "b" :2, "a": 3, "b":4, "c,": 5}')
    texts = {"a": "7", "b": None}
    assert (
        changed(root, texts, names={"a": "x", "c,": "y"}) == '{"x": 1, "x": 7, "y": 5}'
    )


def test_values_that_are_paths_change_names_stay_and_so_do_repeated_keys_but_the_last() -> (
    None
):
    text = '{"/o": 1, "a": ["/o/x", {"b": "/o"}], "c": "--x=/o", "k": "/o", "k": "/o"}'
    after = '{"/o": 1, "a": ["/n/x", {"b": "/n"}], "c": "--x=/o", "k": "/o", "k": "/n"}'
    assert with_mapped(text, everywhere(PathMap((("/o", "/n"),)).map)) == after


@pytest.mark.parametrize("edge", [0xDC80, 0xDCFF])
def test_a_string_with_a_byte_that_is_not_utf_8_stays(edge: int) -> None:
    text = f'{{"a": "{chr(edge)}", "b": "x"}}'
    assert with_mapped(text, everywhere(lambda _: "new")) == text.replace(
        '"x"', '"new"'
    )
