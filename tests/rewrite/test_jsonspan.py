"""Every value's place in the text is exact, whatever the text."""

from __future__ import annotations

import json
import os
import sys

import pytest

from ccmove.rewrite.jsonspan import (
    DEEPEST,
    Node,
    NotJsonError,
    Spelled,
    canonical,
    loads,
    parse,
    parse_at,
    quote,
    show,
)
from tests.rewrite.strategies import node_at


def raw(text: str, node: Node | None) -> str:
    assert node is not None
    return text[node.start : node.end]


def test_every_value_knows_where_it_stands() -> None:
    text = ' { "a" : [ 1 , "x\\/y" ] ,\r\n\t"b": {} } '
    root = parse(text)
    assert raw(text, root) == text.strip()
    assert [raw(text, key) for key in root.keys] == ['"a"', '"b"']
    assert raw(text, root.get("a")) == '[ 1 , "x\\/y" ]'
    assert raw(text, node_at(root, "a", 1)) == '"x\\/y"'
    assert raw(text, root.get("b")) == "{}"
    assert node_at(root, "a", 1).value == "x/y"


def test_only_what_is_asked_for_is_opened() -> None:
    asked = []
    text = '{"a": {"b": {"c": 1}}, "d": [[2]], "e": "s"}'

    def descend(pointer: tuple[str | int, ...]) -> bool:
        asked.append(pointer)
        return pointer in ((), ("d",))

    root = parse(text, descend)
    assert asked == [(), ("a",), ("d",), ("d", 0)]
    opened, skipped = root.get("d"), root.get("a")
    assert opened is not None
    assert skipped is not None
    assert opened.opened == "["
    assert not skipped.opened
    assert skipped.value == {"b": {"c": Spelled("1")}}
    assert opened.items[0].value == [Spelled("2")]


def test_of_repeated_keys_the_last_counts_and_all_are_there() -> None:
    text = '{"a": 1, "b": 2, "a": 3}'
    root = parse(text)
    assert raw(text, root.get("a")) == "3"
    assert [(key.value, raw(text, item)) for key, item in root.members()] == [
        ("a", "1"),
        ("b", "2"),
        ("a", "3"),
    ]
    assert root.get("c") is None


def test_a_list_has_no_members() -> None:
    root = parse("[1, 2]")
    assert list(root.members()) == []
    assert root.get("a") is None


def test_parse_at_ends_where_the_value_ends() -> None:
    text = 'x [1, {"a": 2}] and more'
    assert raw(text, parse_at(text, 2)) == '[1, {"a": 2}]'
    assert parse_at(text, 2, lambda _: False).value == [Spelled("1"), {"a": Spelled("2")}]


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "\ufeff", "{", "[", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[}", "{]", '{"a"',
        '{"a":', '{"a":1', '{"a":1,', '{"a":1,}', '{"a" 1}', '{,"a":1}', "{1:2}",
        '{"a":1 "b":2}', "[1]]", '"a', '"a\nb"', '"\\x"', '"\\u12"', "01", "1.", "-", "+1",
        ".5", "1e", "tru", "True", "NaN", "[Infinity]", '{"a": -Infinity}', "\0", '"\0"',
        "\f{}", "\u2028{}", "{}\u00a0", "[1\f,2]", "[1,\u00a02]", '{"a"\f:1}', '{"a":\u00a01}',
        "\ufeff\ufeff{}", "// x\n{}", "\udcff",
    ],
)  # fmt: skip
@pytest.mark.parametrize("opens", [True, False])
def test_what_is_not_json_is_refused(text: str, opens: bool) -> None:
    with pytest.raises(NotJsonError) as refusal:
        parse(text, lambda _: opens)
    assert " " in str(refusal.value), "a message is a sentence, not a number"
    with pytest.raises(NotJsonError):
        loads(text)


@pytest.mark.parametrize(
    ("text", "character"),
    [("[1 2]", 3), ("{1:2}", 1), ('{"a" 1}', 5), ("[1]] ", 3), ("{} x", 3), ("[tru]", 1)],
)
def test_where_the_text_is_wrong_is_said(text: str, character: int) -> None:
    with pytest.raises(NotJsonError) as refusal:
        parse(text)
    assert str(refusal.value) == f"unexpected text, or none, at character {character}"


def test_what_is_wrong_is_said_by_every_way_to_read() -> None:
    messages = {
        "tru": "unexpected text, or none, at character 0",
        '"a': "Unterminated string starting at: line 1 column 1 (char 0)",
        "NaN": "NaN is not JSON",
    }
    for text, message in messages.items():
        for read in (parse, loads):
            with pytest.raises(NotJsonError) as refusal:
                read(text)
            assert str(refusal.value) == message
    with pytest.raises(NotJsonError) as refusal:
        parse("[")
    assert str(refusal.value) == "the text ends too early"


def test_a_byte_order_mark_may_stand_at_the_beginning() -> None:
    assert loads('\ufeff{"a": "b"}') == {"a": "b"}
    root = parse('\ufeff{"a": "b"}')
    assert (root.start, root.end) == (1, 11)


def test_bytes_that_are_no_utf8_survive_inside_strings() -> None:
    data = b'{"a": "x\xff\xfe", "b": "\xed\xa0\x80"}'
    text = data.decode("utf-8", "surrogateescape")
    root = parse(text)
    assert raw(text, root.get("a")).encode("utf-8", "surrogateescape") == b'"x\xff\xfe"'
    assert text.encode("utf-8", "surrogateescape") == data


DEPTH = int(os.environ.get("CCMOVE_TEST_DEPTH", "20000"))


class TestDeepNesting:
    """Deeper than any recursion goes, and without taking ages."""

    LISTS = "[" * DEPTH + '"/old"' + "]" * DEPTH
    OBJECTS = '{"a":' * DEPTH + '"/old"' + "}" * DEPTH

    @pytest.mark.parametrize("text", [LISTS, OBJECTS], ids=["lists", "objects"])
    def test_it_can_be_opened(self, text: str) -> None:
        node, depth = parse(text), 0
        while node.opened:
            node, depth = node.items[0], depth + 1
        assert depth == DEPTH
        assert raw(text, node) == '"/old"'

    @pytest.mark.parametrize("text", [LISTS, OBJECTS], ids=["lists", "objects"])
    def test_it_can_be_passed_over(self, text: str) -> None:
        whole = f'{{"deep": {text}, "after": "/old"}}'
        root = parse(whole, lambda pointer: not pointer)
        assert raw(whole, root.get("deep")) == text
        assert raw(whole, root.get("after")) == '"/old"'

    @pytest.mark.parametrize("text", [LISTS[:-1], OBJECTS[:-1], LISTS + "]", "[" * DEPTH])
    def test_it_can_be_refused(self, text: str) -> None:
        for descend in (None, lambda _: False):
            with pytest.raises(NotJsonError):
                parse(text, descend)

    @pytest.mark.parametrize("text", [LISTS, OBJECTS], ids=["lists", "objects"])
    def test_its_value_ends_in_what_is_spelled(self, text: str) -> None:
        value, depth = loads(f'{{"a": {text}, "b": 1}}'), 0
        assert value == loads(f'{{"b":1, "a":{text}}}')
        assert value != loads(f'{{"a": {text}, "b": 2}}')
        while not isinstance(value, Spelled):
            value, depth = value["a"] if isinstance(value, dict) else value[0], depth + 1
        assert depth == DEEPEST
        assert value.text in text

    def test_its_value_has_one_canonical_form(self) -> None:
        assert canonical(f'[{self.LISTS},"\\/a"]') == canonical(f' [ {self.LISTS} , "/a"]')

    def test_other_values_have_another_canonical_form(self) -> None:
        values = ["{}", "[]", '"{}"', "1", "1.0", '"1"', '{"a": 1}', '{"a": 2}', '{"b": 1}']
        assert len({canonical(text) for text in values}) == len(values)
        assert canonical('{"a":1}') == canonical('{ "\\u0061" : 1 }')

    def test_what_recursion_can_do_is_not_refused(self) -> None:
        depth = sys.getrecursionlimit() // 4
        assert loads("[" * depth + "]" * depth) is not None


class TestNumbers:
    """A number is its spelling: converting it could fail or lose digits."""

    @pytest.mark.parametrize("text", ["1.10", "1E400", "-0.0", "9" * 10_000, "1e5", "0"])
    def test_a_number_keeps_its_spelling(self, text: str) -> None:
        assert loads(text) == Spelled(text)
        assert raw(f"[{text}]", parse(f"[{text}]").items[0]) == text

    def test_a_number_is_not_the_string_of_its_digits(self) -> None:
        assert loads("1") != loads('"1"')
        assert loads("[1]") != loads('["1"]')
        assert loads('{"a": 1}') != loads('{"a": "1"}')
        assert loads("1") == loads(" 1 ")
        assert loads("1") != loads("1.0")

    def test_numbers_can_be_counted(self) -> None:
        assert len({Spelled("1"), Spelled("1"), Spelled("1.0")}) == 2

    def test_a_number_is_no_string(self) -> None:
        assert not isinstance(loads("1"), str)
        assert str(Spelled("1.10")) == "1.10"


def test_a_pointer_is_shown_as_the_standard_writes_it() -> None:
    assert show(()) == ""
    assert show(("projects", "/a/b~c", 0)) == "/projects/~1a~1b~0c/0"


@pytest.mark.parametrize(
    "value", ["", "/a/b", "caf\u00e9 \U0001f680", 'tab\t"quote"\\\x01\x7f', "\u2028\u0085"]
)
def test_a_string_is_quoted_as_the_client_does(value: str) -> None:
    assert json.loads(quote(value)) == value
    assert quote(value) == json.dumps(value, ensure_ascii=False)


def test_a_lone_surrogate_is_written_as_an_escape() -> None:
    assert quote("\ud83d!") == '"\\ud83d!"'
    for code in (0xD800, 0xDBFF, 0xDC00, 0xDCFF, 0xDFFF):
        assert quote(chr(code)) == f'"\\u{code:04x}"'
    assert quote("\ud7ff\ue000") == '"\ud7ff\ue000"'
