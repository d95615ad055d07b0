"""Every value's place in the text is exact, whatever the text."""

from __future__ import annotations

import json
import os
import sys

import pytest

from ccmove.rewrite import jsonspan
from ccmove.rewrite.jsonspan import (
    DEEPEST,
    Node,
    NotJsonError,
    Spelled,
    loads,
    parse,
    quote,
    show,
)
from tests.rewrite.strategies import node_at


def get(node: Node, name: str) -> str:
    return node.members()[name].raw


def canonical(text: str) -> str:
    return parse(text).canonical


def test_every_value_knows_where_it_stands() -> None:
    text = ' { "a" : [ 1 , "x\\/y" ] ,\r\n\t"b": {} } '
    root = parse(text)
    assert root.raw == text.strip()
    assert [key.raw for key in root.keys] == ['"a"', '"b"']
    assert get(root, "a") == '[ 1 , "x\\/y" ]'
    assert node_at(root, "a", 1).raw == '"x\\/y"'
    assert get(root, "b") == "{}"
    assert node_at(root, "a", 1).value == "x/y"


def test_only_what_is_looked_into_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    real = jsonspan._open

    def noted(node: Node, everything: bool = False) -> None:
        opened.append(node.raw)
        real(node, everything)

    monkeypatch.setattr(jsonspan, "_open", noted)
    root = parse('{"a": {"b": {"c": 1}}, "d": [[2]], "e": "s"}')
    assert opened == []
    assert root.members()["a"].value == {"b": {"c": Spelled("1")}}
    assert root.members()["d"].items[0].value == [Spelled("2")]
    assert opened == [root.raw, "[[2]]"]


def test_of_repeated_keys_the_last_counts_and_all_are_there() -> None:
    text = '{"a": 1, "b": 2, "a": 3}'
    root = parse(text)
    assert {name: node.raw for name, node in root.members().items()} == {"a": "3", "b": "2"}
    assert [key.value for key in root.keys] == ["a", "b", "a"]
    assert [item.raw for item in root.items] == ["1", "2", "3"]


@pytest.mark.parametrize("text", ["[1, 2]", "{}", '"a"', "1", "null"])
def test_what_is_no_object_has_no_members(text: str) -> None:
    assert parse(text).members() == {}
    assert parse(text).keys == []


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
def test_what_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(NotJsonError) as refusal:
        parse(text)
    assert " " in str(refusal.value), "a message is a sentence, not a number"
    with pytest.raises(NotJsonError):
        loads(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1 2]", "Expecting ',' delimiter: line 1 column 4 (char 3)"),
        ("[1]] ", "unexpected text, or none, at character 3"),
        ("{} x", "unexpected text, or none, at character 3"),
        ("[tru]", "unexpected text, or none, at character 1"),
        ("[", "the text ends too early"),
        ('{"a": 1, \n', "the text ends too early"),
    ],
)
def test_where_the_text_is_wrong_is_said(text: str, message: str) -> None:
    with pytest.raises(NotJsonError) as refusal:
        parse(text)
    assert str(refusal.value) == message


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


def test_a_byte_order_mark_may_stand_at_the_beginning() -> None:
    assert loads('\ufeff{"a": "b"}') == {"a": "b"}
    root = parse('\ufeff{"a": "b"}')
    assert (root.start, root.end) == (1, 11)


def test_bytes_that_are_no_utf8_survive_inside_strings() -> None:
    data = b'{"a": "x\xff\xfe", "b": "\xed\xa0\x80"}'
    text = data.decode("utf-8", "surrogateescape")
    root = parse(text)
    assert get(root, "a").encode("utf-8", "surrogateescape") == b'"x\xff\xfe"'
    assert text.encode("utf-8", "surrogateescape") == data


DEPTH = int(os.environ.get("CCMOVE_TEST_DEPTH", "20000"))


class TestDeepNesting:
    """Deeper than any recursion goes, and without taking ages."""

    LISTS = "[" * DEPTH + '"/old"' + "]" * DEPTH
    OBJECTS = '{"a":' * DEPTH + '"/old"' + "}" * DEPTH

    @pytest.mark.parametrize("text", [LISTS, OBJECTS], ids=["lists", "objects"])
    def test_it_can_be_opened(self, text: str) -> None:
        node, depth = parse(text), 0
        while node.items:
            node, depth = node.items[0], depth + 1
        assert depth == DEPTH
        assert node.raw == '"/old"'

    @pytest.mark.parametrize("text", [LISTS, OBJECTS], ids=["lists", "objects"])
    def test_it_can_be_passed_over(self, text: str) -> None:
        whole = f'{{"deep": {text}, "after": "/old"}}'
        root = parse(whole)
        assert get(root, "deep") == text
        assert get(root, "after") == '"/old"'

    @pytest.mark.parametrize("text", [LISTS[:-1], OBJECTS[:-1], LISTS + "]", "[" * DEPTH])
    def test_it_can_be_refused(self, text: str) -> None:
        with pytest.raises(NotJsonError):
            parse(text)

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
        assert parse(f"[{text}]").items[0].raw == text

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
