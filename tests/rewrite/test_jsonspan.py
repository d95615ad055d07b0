"""Every value's place in the text is exact, whatever the text."""

import pytest

from ccmove.rewrite.jsonspan import NotJsonError, Number, parse, quote, show


def test_of_repeated_keys_the_last_counts_and_all_are_there() -> None:
    text = '{"a": 1, "b": 2, "a": 3}'
    root = parse(text)
    assert {name: node.raw for name, node in root.members().items()} == {
        "a": "3",
        "b": "2",
    }
    assert [key.value for key in root.keys] == ["a", "b", "a"]
    assert [item.raw for item in root.items] == ["1", "2", "3"]


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


def test_a_byte_order_mark_may_stand_at_the_beginning() -> None:
    assert parse('\ufeff{"a": "b"}').value == {"a": "b"}
    root = parse('\ufeff{"a": "b"}')
    assert (root.start, root.end) == (1, 11)


def test_bytes_that_are_not_utf8_survive_inside_strings() -> None:
    data = b'{"a": "x\xff\xfe", "b": "\xed\xa0\x80"}'
    text = data.decode("utf-8", "surrogateescape")
    assert (
        parse(text).members()["a"].raw.encode("utf-8", "surrogateescape")
        == b'"x\xff\xfe"'
    )
    assert text.encode("utf-8", "surrogateescape") == data


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "[" * 102 + "]" * 102, '{"a":' * 200 + "1" + "}" * 200]
)
def test_what_is_nested_too_deeply_is_refused(text: str) -> None:
    with pytest.raises(NotJsonError, match="deeply"):
        parse(text)


def test_items_of_a_list_are_known_by_their_values() -> None:
    values = ["{}", "[]", '"{}"', "1", "1.0", '"1"', '{"a": 1}', '{"a": 2}', '{"b": 1}']
    assert len(parse(f"[{','.join(values)}]").by_key()) == len(values)
    assert (
        parse('[{"a":1}]').by_key().keys()
        == parse('[{ "\\u0061" : 1 }]').by_key().keys()
    )


@pytest.mark.parametrize("text", ["1.10", "1E400", "-0.0", "9" * 10_000, "1e5", "0"])
def test_a_number_keeps_its_spelling(text: str) -> None:
    """Converting it could fail or lose digits."""
    assert parse(text).value == Number(text)
    assert parse(f"[{text}]").items[0].raw == text


def test_a_pointer_is_shown_as_the_standard_writes_it() -> None:
    assert show(()) == ""
    assert show(("projects", "/a/b~c", 0)) == "/projects/~1a~1b~0c/0"


def test_a_lone_surrogate_is_written_as_an_escape() -> None:
    assert quote("\ud83d!") == '"\\ud83d!"'
    for code in (0xD800, 0xDBFF, 0xDC00, 0xDCFF, 0xDFFF):
        assert quote(chr(code)) == f'"\\u{code:04x}"'
    assert quote("\ud7ff\ue000") == '"\ud7ff\ue000"'
