"""The short cut for an index does what the long way does, or is not taken."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ccmove.claude.reading import Document, Fingerprint
from ccmove.claude.state import _index_paths as index_paths
from ccmove.rewrite.alike import Alike, alike, differing_values
from ccmove.rewrite.jsonspan import byte_values
from ccmove.rewrite.pathmap import PathMap
from ccmove.rewrite.rewriter import NameMap, index_edits
from ccmove.rewrite.splice import Edit, apply
from tests.property.strategies import BLANKS, NEW, OLD, PATHS, TEXTS, json_texts, spellings
from tests.property.test_rewriter import DOCUMENTS, FIELDS, INDEX_LEAVES, INDEXES, MAPS
from tests.support.oddlines import stringify

STATE = "/home/dev/.claude/projects"
MOVED_NAMES = st.sampled_from(
    [
        (),
        (("-code-app", "-src-new-app"),),
        (("-code-app", "-src-new-app"), ("-src-new-app", "-code-app")),
    ]
)
FULL_PATHS = st.builds(
    "{}/{}{}".format,
    st.sampled_from([STATE, STATE + "/-code-app/projects", OLD + "/projects", "projects", "/code"]),
    st.sampled_from(["-code-app", "-src-new-app", "-code-app-docker", "app", "caf\u00e9"]),
    st.sampled_from(["/a.jsonl", "/b.jsonl", "/caf\u00e9.jsonl", "/a/b.jsonl", "", "\\a", '/"q']),
)
# As the client writes it, with few paths, so that many entries have the same.
FEW_PATHS = st.sampled_from([OLD, OLD, NEW, OLD + "/web", OLD + "-docker", OLD + '/q"x', "/src"])
USUAL_FULL_PATHS = st.sampled_from([f"{STATE}/-code-app/{x}.jsonl" for x in ("a", "caf\u00e9")])


def usual_indexes(full_paths: st.SearchStrategy[str]) -> st.SearchStrategy[bytes]:
    entry = st.fixed_dictionaries(
        {"sessionId": st.sampled_from(["s1", "s2"]), "projectPath": FEW_PATHS},
        optional={
            "fullPath": full_paths,
            "firstPrompt": st.one_of(TEXTS, st.just('say "projectPath": "/code/app"')),
            "messageCount": st.integers(0, 9),
        },
    )
    return st.builds(
        lambda entries, owner, indent: stringify(
            {"version": 1, "entries": entries, "originalPath": owner}, indent
        ),
        st.lists(entry, max_size=6),
        FEW_PATHS,
        st.sampled_from([None, 2]),
    )


USUAL_INDEXES = st.one_of(usual_indexes(USUAL_FULL_PATHS), usual_indexes(FULL_PATHS))
ODD_ENTRIES = json_texts(
    st.one_of(spellings(PATHS), spellings(FULL_PATHS), INDEX_LEAVES), spellings(FIELDS), 8
)
ODD_INDEXES = st.builds(
    '{}{{"originalPath":{},"entries" :[{}], "projectPath":{} }}{}'.format,
    BLANKS,
    INDEX_LEAVES,
    st.lists(ODD_ENTRIES, max_size=4).map(" ,\n".join),
    INDEX_LEAVES,
    BLANKS,
).map(lambda text: text.encode("utf-8", "surrogatepass"))
ANY = st.one_of(INDEXES, DOCUMENTS).map(lambda text: text.encode("utf-8", "surrogatepass"))


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A usual index with a few bytes put in or exchanged: no UTF-8, repeats, other spellings."""
    data = draw(USUAL_INDEXES)
    for _ in range(draw(st.integers(0, 2))):
        one, other = draw(
            st.sampled_from(
                [
                    (b"code", b"c\xffode"),
                    (b"a.jsonl", b"\xc3.jsonl"),
                    (b"/code", b"\\/code"),
                    (b'"projectPath"', b'"project\\u0050ath"'),
                    (b'"projectPath"', b'"projectPath":"/x","projectPath"'),
                    (b'"fullPath"', b'"x":{"fullPath":"/code/app"},"fullPath"'),
                    (b'"projectPath"', b'"x":"\\"projectPath","projectPath"'),
                    (b'"projectPath":', b'"projectPath" : '),
                    (b"\n", b"\r\n"),
                    (b"{", b"\xef\xbb\xbf{"),
                    (b"}", b"}}"),
                    (b"s1", b"\\u001b\\u000A"),
                    (b"a.jsonl", b"\\u001B.jsonl"),
                    (b"/code/app", b"/code/app\\u001B"),
                    (b"s1", b"\\u00e9\\ud83d"),
                    (b"caf\xc3\xa9", b"caf\\u00e9"),
                    (b'"version":', b'"version":1e400,"fullPath":'),
                ]
            )
        )
        data = data.replace(one, other, draw(st.sampled_from([1, 2, -1])))
    return data


CASES = st.tuples(
    st.one_of(USUAL_INDEXES, damaged(), ODD_INDEXES, ANY), st.one_of(MAPS, MAPS), MOVED_NAMES
)


def short_cut(data: bytes, paths: PathMap, names: NameMap) -> Alike | None:
    values = byte_values(data)
    if values is None:
        return None
    text = data.decode("utf-8", "surrogateescape")
    return alike(data, values, paths, names, lambda: index_edits(text, paths, names))


@given(CASES)
def test_the_short_cut_does_what_the_long_way_does(
    case: tuple[bytes, PathMap, tuple[tuple[str, str], ...]],
) -> None:
    data, paths, pairs = case
    names = NameMap(pairs, paths)
    short = short_cut(data, paths, names)
    if short is None:
        return
    text = data.decode("utf-8", "surrogateescape")
    edits = index_edits(text, paths, names)
    assert short.after == apply(text, edits).encode("utf-8", "surrogateescape")
    assert len(short) == len(edits)
    assert list(short) == edits
    assert not edits or not short.explain(data)
    again = differing_values(text, short.after.decode("utf-8", "surrogateescape"))
    assert sorted(again, key=place) == sorted(edits, key=place)


def place(edit: Edit) -> int:
    return edit.start


@given(usual_indexes(USUAL_FULL_PATHS))
def test_the_usual_index_goes_the_short_way(data: bytes) -> None:
    """The control: the comparison above is not about nothing."""
    paths = PathMap(((OLD, NEW),))
    names = NameMap((("-code-app", "-src-new-app"),), paths)
    short = short_cut(data, paths, names)
    if not re.search(rb"\\u(?!00[01])", data):
        assert short is not None
        assert short.explain(short.after)


@given(CASES, st.integers(0), st.sampled_from([b"0", b"x", b"/", b" ", b'"']))
def test_only_what_was_planned_is_explained(
    case: tuple[bytes, PathMap, tuple[tuple[str, str], ...]], position: int, byte: bytes
) -> None:
    data, paths, pairs = case
    short = short_cut(data, paths, NameMap(pairs, paths))
    if short is None:
        return
    at = position % len(short.after)
    other = short.after[:at] + byte + short.after[at + 1 :]
    if short.explain(other):
        assert byte_values(other) == byte_values(short.after)


@given(st.one_of(USUAL_INDEXES, damaged(), ODD_INDEXES, ANY))
@example(b'{"entries": {"a": {"projectPath": "/x"}}}')
@example(b'{"projectPath": "/x", "projectPath": "/y"}')
def test_the_paths_of_an_index_are_the_same_either_way(data: bytes) -> None:
    document = Document(Path("x"), data, Fingerprint(0, 0, 0))
    slow = Document(Path("x"), data, Fingerprint(0, 0, 0))
    slow.__dict__["values"] = None
    assert index_paths(document) == index_paths(slow)


@pytest.mark.parametrize("text", ["[]", '{"a": 1} x', "{", "", r'{"a": "\u0041"}', "NaN"])
def test_what_needs_a_longer_look_has_no_byte_values(text: str) -> None:
    assert byte_values(text.encode()) is None


def test_a_single_value_is_no_index_that_changes_alike() -> None:
    """Undoing such an edit would fail, as it has no place to be in."""
    with pytest.raises(ValueError, match="became something else"):
        list(differing_values('"a"', '"b"'))
