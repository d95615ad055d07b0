"""A config file is planned from an excerpt and verified in parts, as if it were looked at whole."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ccmove.rewrite.config import Excerpt, config_change, is_opened
from ccmove.rewrite.jsonspan import Node, NotJsonError, outline, parse
from ccmove.rewrite.pathmap import PathMap
from ccmove.rewrite.splice import Edit, apply
from ccmove.run.verifier import _explains, json_problems
from tests.property.strategies import BLANKS, NEW, OLD, TEXTS, json_texts, spellings
from tests.property.test_rewriter import CONFIGS, DOCUMENTS, FEW, LEAVES, MAPS
from tests.support.oddlines import stringify

PLACES = st.one_of(FEW, FEW, st.sampled_from(["/caf\u00e9", "C:\\code\\app", "c:/code/app/x"]))
VALUES = json_texts(st.one_of(spellings(PLACES), LEAVES), spellings(st.one_of(PLACES, TEXTS)), 6)
MEMBERS = st.builds("{}{} : {}".format, BLANKS, spellings(PLACES), VALUES)
ODD_CONFIGS = st.builds(
    '{}{{{}:{{{}}},"githubRepoPaths":{}, {}:{},"projects":{{{}}} }}\n'.format,
    st.sampled_from(["", "\ufeff", " \r\n"]),
    st.sampled_from(['"projects"', '"proj\\u0065cts"', '"other"']),
    st.lists(MEMBERS, max_size=4).map(",".join),
    VALUES,
    spellings(),
    VALUES,
    st.lists(MEMBERS, max_size=4).map(",\n".join),
)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """The bytes of a config file, some of which may be no UTF-8."""
    usual = st.builds(lambda config, indent: stringify(config, indent).decode(), CONFIGS, INDENTS)
    text = draw(st.one_of(usual, ODD_CONFIGS, DOCUMENTS))
    data = text.encode("utf-8", "surrogatepass")
    return data.replace(b"app", draw(st.sampled_from([b"app", b"app", b"a\xffp"])), 1)


INDENTS = st.sampled_from([None, 2])
OTHER_MAPS = st.sampled_from(
    [PathMap((("C:\\code\\app", "D:\\x"),)), PathMap((("/caf\u00e9", "/x"),))]
)


def bare(edits: tuple[Edit, ...]) -> list[Edit]:
    """The edits without where they stand: an excerpt is shorter."""
    return [edit._replace(start=-1, end=-1) for edit in edits]


@given(files(), st.one_of(MAPS, OTHER_MAPS))
@example(b'{"tip": "see /caf\\u00e9 there"}', PathMap((("/caf\u00e9", "/x"),)))
@example(b'{"tip": "see /a\\u000ab there"}', PathMap((("/a\nb", "/x"),)))
@example(b'{"tip": "see \\u002fa there"}', PathMap((("/a", "/x"),)))
@example(b'{"projects": {"/b": {}, "/b": "/a", "/b": 1}}', PathMap((("/a", "/x"),)))
@example(b'{"projects": {"left o\\u0075t 0": "in /a", "/b": 1}}', PathMap((("/a", "/x"),)))
def test_an_excerpt_tells_all_that_the_whole_file_tells(data: bytes, paths: PathMap) -> None:
    text = data.decode("utf-8", "surrogateescape")
    whole = config_change(text, paths)
    excerpt = Excerpt(data, outline(data, is_opened), paths)
    part = config_change(excerpt.text, paths)
    assert bare(excerpt.placed(part.edits)) == bare(whole.edits)
    assert part.mentions == whole.mentions
    after = apply(text, whole.edits).encode("utf-8", "surrogateescape")
    assert excerpt.completed(apply(excerpt.text, part.edits)) == after
    assert excerpt.completed(excerpt.text) == data


def test_what_has_nothing_to_do_with_a_move_is_left_out() -> None:
    """The control: an excerpt is not the whole file."""
    projects = {OLD: {"a": "kept"}, "/else": {"history": ["x \u001b"] * 99, "b": '"left out 0"'}}
    data = stringify({"projects": projects, "tip": "y" * 99, "seen": f"in {OLD}"}, 2)
    excerpt = Excerpt(data, outline(data, is_opened), PathMap(((OLD, NEW),)))
    assert len(excerpt.left_out) == 2
    assert len(excerpt.text) < 200
    assert "kept" in excerpt.text
    assert excerpt.completed(excerpt.text) == data


@given(st.lists(st.sampled_from(['"left out 0"', '"left out. 0"', f'"{OLD}"', "1"])))
def test_a_mark_is_never_taken_for_a_string_of_the_file(strings: list[str]) -> None:
    data = f'{{"a": {{}}, "githubRepoPaths": [{",".join(strings)}], "b": 1}}'.encode()
    excerpt = Excerpt(data, outline(data, is_opened), PathMap(((OLD, "/left out 0"),)))
    assert len(excerpt.left_out) == 2
    assert excerpt.completed(excerpt.text) == data


@given(files(), st.sampled_from(["", "x", "]", "{", ", "]))
def test_an_outline_has_the_spans_of_a_whole_parse_in_bytes(data: bytes, more: str) -> None:
    data += more.encode()
    text = data.decode("utf-8", "surrogateescape")
    try:
        expected = parse(text, is_opened)
    except NotJsonError:
        with pytest.raises(NotJsonError):
            outline(data, is_opened)
        return
    same_tree(data, outline(data, is_opened), text, expected)


def same_tree(data: bytes, node: Node, text: str, expected: Node) -> None:
    for position, character in ((node.start, expected.start), (node.end, expected.end)):
        assert data[:position] == text[:character].encode("utf-8", "surrogateescape")
    assert [key.value for key in node.keys] == [key.value for key in expected.keys]
    assert len(node.items) == len(expected.items)
    for item, other in zip(node.items, expected.items, strict=True):
        same_tree(data, item, text, other)


@given(files(), MAPS)
def test_what_is_explained_at_once_is_explained_by_a_longer_look(
    data: bytes, paths: PathMap
) -> None:
    text = data.decode("utf-8", "surrogateescape")
    edits = config_change(text, paths).edits
    after = apply(text, edits)
    if _explains(edits, data, after.encode("utf-8", "surrogateescape")):
        assert list(json_problems(text, after, edits)) == []


@given(files(), MAPS, st.integers(0), st.sampled_from([b"0", b"x", b"/", b" ", b'"', b""]))
def test_only_what_was_planned_is_explained(
    data: bytes, paths: PathMap, position: int, byte: bytes
) -> None:
    text = data.decode("utf-8", "surrogateescape")
    edits = config_change(text, paths).edits
    after = apply(text, edits).encode("utf-8", "surrogateescape")
    at = position % len(after)
    other = after[:at] + byte + after[at + 1 :]
    if _explains(edits, data, other):
        assert list(json_problems(text, other.decode("utf-8", "surrogateescape"), edits)) == []


@given(st.builds(stringify, CONFIGS, INDENTS), MAPS)
def test_the_usual_change_is_explained_without_a_longer_look(data: bytes, paths: PathMap) -> None:
    """The control: the short look is worth something, and sees what is missing."""
    edits = config_change(data.decode(), paths).edits
    after = apply(data.decode(), edits).encode()
    assert _explains(edits, data, after)
    assert not edits or not _explains(edits, data, data)
