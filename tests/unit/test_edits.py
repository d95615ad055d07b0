"""An edit changes its own bytes only, and can be taken back also when life went on."""

from __future__ import annotations

import json

import pytest

from ccmove.rewrite import splice as make
from ccmove.rewrite.jsonspan import Node, Pointer, find, parse
from ccmove.rewrite.splice import Edit, apply, undo


def node_at(text: str, *pointer: str | int) -> Node:
    found = find(parse(text), pointer)
    assert found is not None
    return found


def set_at(text: str, pointer: Pointer, value: str) -> Edit:
    return make.set_string(text, node_at(text, *pointer), pointer, value)


def rename(text: str, pointer: Pointer, name: str) -> Edit:
    parent = node_at(text, *pointer[:-1])
    number = [key.value for key in parent.keys].index(pointer[-1])
    return make.rename_key(text, parent, number, pointer, name)


def add(text: str, pointer: Pointer, *items: tuple[str, str]) -> list[Edit]:
    return make.add_items(text, node_at(text, *pointer), pointer, list(items))


def remove(text: str, pointer: Pointer, *gone: int) -> list[Edit]:
    return make.remove_items(text, node_at(text, *pointer), pointer, set(gone))


def undone(text: str, edits: list[Edit]) -> str:
    """`text` with all of `edits` taken back."""
    back, lost = undo(text, recorded(edits))
    assert lost == []
    return apply(text, back)


def recorded(edits: list[Edit]) -> list[Edit]:
    """The edits as they come back from the backup."""
    return [Edit.from_record(json.loads(json.dumps(edit.record()))) for edit in edits]


PRETTY = '{\n  "a": 1,\n  "b": [\n    "x",\n    "y"\n  ],\n  "c": {}\n}'


class TestSplices:
    def test_everything_between_the_splices_stays(self) -> None:
        text = '{ "p" :"\\/old", "n": 1.10 ,"q":"/old"  }'
        edits = [set_at(text, ("q",), "/new"), set_at(text, ("p",), "/new")]
        assert apply(text, edits) == '{ "p" :"/new", "n": 1.10 ,"q":"/new"  }'

    def test_edits_that_overlap_are_a_bug_and_noticed(self) -> None:
        text = '{"a": {"b": "x"}}'
        whole = make.set_raw(text, node_at(text, "a"), ("a",), "1")
        with pytest.raises(AssertionError, match="overlap"):
            apply(text, [whole, set_at(text, ("a", "b"), "y")])

    def test_one_node_can_be_changed_by_itself(self) -> None:
        text = '{"a": {"b": "x"}, "c": "x"}'
        edits = [set_at(text, ("a", "b"), "y"), set_at(text, ("c",), "z")]
        assert make.apply_inside(text, node_at(text, "a"), edits) == '{"b": "y"}'

    def test_an_edit_describes_itself_in_plain_words(self) -> None:
        text = '{"a": "\\/old", "n": 1.10}'
        assert set_at(text, ("a",), "/new").describe() == ("/old", "/new")
        assert remove(text, (), 1)[0].describe() == ("1.10", None)
        assert rename(text, ("a",), "b").describe() == ("a", "b")


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


class TestUndo:
    """Each kind is taken back to the byte when nothing else has changed."""

    @pytest.mark.parametrize("text", [PRETTY, json.dumps(json.loads(PRETTY))])
    def test_all_kinds_at_once(self, text: str) -> None:
        edits = [
            rename(text, ("b",), "B"),
            set_at(text, ("b", 1), "z"),
            *remove(text, (), 0),
            *remove(text, ("b",), 0),
            *add(text, ("b",), ("", "[1]")),
            *add(text, ("c",), ("k", "2"), ("l", "3")),
            *add(text, (), ("d", "{}")),
        ]
        after = apply(text, edits)
        assert json.loads(after) == {"B": ["z", [1]], "c": {"k": 2, "l": 3}, "d": {}}
        assert undone(after, edits) == text

    def test_removed_items_come_back_where_they_were(self) -> None:
        text = "[1 ,2, 3 , 4]"
        for gone in ({0}, {1}, {3}, {0, 1}, {1, 2}, {0, 3}, {0, 1, 2, 3}):
            edits = remove(text, (), *gone)
            assert undone(apply(text, edits), edits) == text

    def test_a_removed_member_keeps_the_spelling_of_its_key(self) -> None:
        text = '{"\\/old" :1, "b":2}'
        edits = remove(text, (), 0)
        assert undone(apply(text, edits), edits) == text

    def test_swapped_keys_are_swapped_back(self) -> None:
        text = '{"A": 1, "B": 2}'
        edits = [rename(text, ("A",), "B"), rename(text, ("B",), "A")]
        assert apply(text, edits) == '{"B": 1, "A": 2}'
        assert undone(apply(text, edits), edits) == text

    def test_a_chain_of_keys_with_a_merge_at_its_end(self) -> None:
        text = '{"A": {"x": 1}, "B": {"x": 2}, "C": {}}'
        edits = [
            rename(text, ("A",), "B"),
            *add(text, ("C",), ("x", "2")),
            *remove(text, (), 1),
        ]
        after = apply(text, edits)
        assert json.loads(after) == {"B": {"x": 1}, "C": {"x": 2}}
        assert undone(after, edits) == text

    def test_repeated_keys_are_renamed_back_each(self) -> None:
        text = '{"A": 1, "A": 2}'
        parent = parse(text)
        edits = [make.rename_key(text, parent, n, ("A",), "B") for n in (0, 1)]
        assert apply(text, edits) == '{"B": 1, "B": 2}'
        assert undone(apply(text, edits), edits) == text

    def test_values_below_a_renamed_key_are_followed(self) -> None:
        text = '{"A": {"p": "/old", "l": ["/old"]}}'
        edits = [
            rename(text, ("A",), "B"),
            set_at(text, ("A", "p"), "/new"),
            set_at(text, ("A", "l", 0), "/new"),
        ]
        assert undone(apply(text, edits), edits) == text


class TestUndoWhenLifeWentOn:
    def test_what_was_changed_since_stays_and_is_named(self) -> None:
        text = '{"a": "/old", "b": "/old"}'
        edits = [set_at(text, ("a",), "/new"), set_at(text, ("b",), "/new")]
        later = '{"a": "/new", "b": "/elsewhere", "c": 1}'
        back, lost = undo(later, edits)
        assert apply(later, back) == '{"a": "/old", "b": "/elsewhere", "c": 1}'
        assert [edit.pointer for edit in lost] == [("b",)]

    def test_another_spelling_of_the_same_value_is_no_change(self) -> None:
        text = '{"p":"/old","x":{}}'
        edits = [set_at(text, ("p",), "/new"), *add(text, ("x",), ("k", '{"a":[1,2]}'))]
        later = '{\n  "p": "\\/new",\n  "x": {\n    "k": {\n      "a": [1, 2]\n    }\n  }\n}'
        back, lost = undo(later, edits)
        assert lost == []
        assert json.loads(apply(later, back)) == json.loads(text)

    def test_a_number_in_place_of_a_string_is_a_change(self) -> None:
        text = '{"p": "x"}'
        edits = [set_at(text, ("p",), "1")]
        assert undo('{"p": 1}', edits) == ([], edits)

    def test_a_key_that_is_taken_again_is_not_renamed_back(self) -> None:
        text = '{"/old": {"a": 1}}'
        edits = [rename(text, ("/old",), "/new")]
        later = '{"/new": {"a": 1}, "/old": {"fresh": 1}}'
        assert undo(later, edits) == ([], edits)

    def test_what_depends_on_a_name_that_is_not_given_free_stays_too(self) -> None:
        text = '{"A": 1, "B": 2}'
        edits = [rename(text, ("A",), "B"), rename(text, ("B",), "C")]
        later = '{"B": 1, "C": 2, "A": 3}'
        back, lost = undo(later, edits)
        assert (back, lost) == ([], edits)

    def test_a_member_that_is_there_again_is_not_added_twice(self) -> None:
        text = '{"a": 1, "b": 2}'
        edits = remove(text, (), 0)
        later = '{"b": 2, "a": 5}'
        assert undo(later, edits) == ([], edits)

    def test_indexes_that_have_shifted_are_found_by_the_value(self) -> None:
        text = '{"l": ["/old", "x"]}'
        edits = [set_at(text, ("l", 0), "/new")]
        later = '{"l": ["fresh", "/new", "x"]}'
        assert undone(later, edits) == '{"l": ["fresh", "/old", "x"]}'

    def test_of_several_that_could_be_meant_none_is_touched(self) -> None:
        text = '{"l": ["/old", "/new"]}'
        edits = [set_at(text, ("l", 0), "/new")]
        later = '{"l": ["fresh", "/new", "/new"]}'
        assert undo(later, edits) == ([], edits)

    def test_entries_are_found_by_their_session(self) -> None:
        text = '{"entries": [{"sessionId": "s1", "p": "/old"}, {"sessionId": "s2", "p": "/old"}]}'
        edits = [
            make.set_string(
                text, node_at(text, "entries", i, "p"), ("entries", i, "p"), "/new", f"s{i + 1}"
            )
            for i in (0, 1)
        ]
        later = '{"entries": [{"sessionId": "s0", "p": "/new"}, {"sessionId": "s2", "p": "/new"}]}'
        back, lost = undo(later, recorded(edits))
        assert json.loads(apply(later, back))["entries"] == [
            {"sessionId": "s0", "p": "/new"},
            {"sessionId": "s2", "p": "/old"},
        ]
        assert [edit.anchor for edit in lost] == ["s1"]

    def test_additions_are_taken_out_from_between_later_ones(self) -> None:
        text = '{"l": [1], "m": {}}'
        edits = [*add(text, ("l",), ("", "2")), *add(text, ("m",), ("k", "3"))]
        later = '{"l": [1, 2, 9], "m": {"k": 3, "z": 9}}'
        assert undone(later, edits) == '{"l": [1, 9], "m": { "z": 9}}'

    def test_removed_items_come_back_beside_later_ones(self) -> None:
        text = '{"l": [1, 2, 3]}'
        edits = remove(text, ("l",), 0, 2)
        assert undone('{"l": [ 2, 9]}', edits) == '{"l": [1, 2, 3, 9]}'
        assert undone('{"l": []}', edits) == '{"l": [1, 3]}'

    def test_an_addition_that_was_changed_since_stays_whole(self) -> None:
        text = '{"m": {}}'
        edits = add(text, ("m",), ("k", '{"a": 1}'))
        assert undo('{"m": {"k": {"a": 1, "b": 2}}}', edits) == ([], edits)

    def test_a_parent_that_is_gone_takes_its_edits_along(self) -> None:
        text = '{"m": {"p": "/old"}, "l": [1]}'
        edits = [set_at(text, ("m", "p"), "/new"), *remove(text, ("l",), 0)]
        for later in ("{}", '{"m": "x", "l": "x"}', "[]", '"x"', '{"m": [], "l": {}}'):
            assert undo(later, edits) == ([], edits)

    def test_thousands_of_entries_take_no_time(self) -> None:
        entries = [{"sessionId": f"s{i}", "p": "/old", "q": "/old"} for i in range(3000)]
        text = json.dumps({"entries": entries})
        root = parse(text)
        edits = []
        for i in range(3000):
            for key in ("p", "q"):
                node = find(root, ("entries", i, key))
                assert node is not None
                edits.append(make.set_string(text, node, ("entries", i, key), "/new", f"s{i}"))
        after = apply(text, edits)
        assert undone(after, edits) == text  # in seconds; by the minute when each looks through all


def test_an_item_that_stands_for_two_edits_is_taken_back_once() -> None:
    """The text was changed since: what was set and what was added look alike, and one is left."""
    before = '["x", "y", "z", "old"]'
    edits = [set_at(before, (3,), "new"), *add(before, (), ("", '"new"'), ("", "0"))]
    edits += remove(before, (), 1, 2)
    later = '["new",0]'
    back, lost = undo(later, recorded(edits))
    json.loads(apply(later, back))
    assert [edit.kind for edit in lost] == ["add"]


def test_removals_that_contradict_each_other_do_no_harm() -> None:
    """Only a forged list of edits has two items that were in the same place."""
    forged = [
        Edit("remove", (0,), "0", None, place=0, lead=","),
        Edit("remove", (1,), "1", None, place=0, lead=","),
    ]
    back, lost = undo("[]", forged)
    assert json.loads(apply("[]", back)) == [0, 1]
    assert lost == []
