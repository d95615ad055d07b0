"""For any bytes and any block size: the scan agrees with a simple slow oracle."""

from unittest import mock

from hypothesis import example, given
from hypothesis import strategies as st

from ccmove.rewrite import history
from ccmove.rewrite.history import ByPath
from ccmove.rewrite.pathmap import PathMap
from tests.rewrite.strategies import LEAVES as VALUES
from tests.rewrite.strategies import (
    NEW,
    OLD,
    PATHS,
    TEXTS,
    json_texts,
    moved_bytes,
    reader,
    rewritten,
    spellings,
)
from tests.support.history_oracle import moved_history
from tests.support.oddlines import kind_names, odd_line, stringify

MOVE = PathMap(((OLD, NEW),))
SESSION = "1ebd2854-0a0b-4b48-ae8a-a54551583a56"
ODD_LINES = st.integers(0, len(kind_names()) - 1).map(
    lambda n: odd_line(n, OLD, SESSION).raw
)
OBJECTS = json_texts(
    VALUES,
    st.one_of(st.sampled_from(['"project"', '"pro\\u006aect"']), spellings(TEXTS)),
)
PLAIN_LINES = PATHS.map(
    lambda path: stringify({"display": path, "project": path}) + b"\n"
)
JSON_LINES = OBJECTS.map(
    lambda text: text.encode("utf-8", "surrogatepass").replace(b"\n", b" ") + b"\n"
)
PASTES = st.dictionaries(
    st.sampled_from(["1", "22", "x"]),
    st.fixed_dictionaries(
        {"id": st.integers(-1, 23)},
        optional={
            "type": st.just("text"),
            "content": TEXTS,
            "project": PATHS,
            "size": st.none(),
        },
    ),
    max_size=3,
)
CLIENT_LINES = st.builds(
    lambda values, ends: stringify(values) + ends,
    st.fixed_dictionaries(
        {
            "display": st.one_of(TEXTS, PATHS),
            "pastedContents": PASTES,
            "timestamp": st.just(1780000061003),
            "project": PATHS,
            "sessionId": st.just(SESSION),
        }
    ),
    st.sampled_from([b"\n", b"\n", b"\r\n", b" \n", b""]),
)
TORN_LINES = st.builds(lambda line, cut: line[:cut], PLAIN_LINES, st.integers(0, 80))
SPOILED_LINES = st.builds(  # the client's, but for a few bytes somewhere
    lambda line, at, gone, put: line[:at] + put + line[at + gone :],
    CLIENT_LINES,
    st.integers(0, 300),
    st.integers(0, 3),
    st.one_of(
        st.binary(max_size=2),
        st.sampled_from([b'"', b"0", b"\\", b"\\u", b"\x7f", b","]),
    ),
)
JSON_OR_NOT = (JSON_LINES, TORN_LINES, st.binary(max_size=20))
LINES = st.one_of(PLAIN_LINES, CLIENT_LINES, SPOILED_LINES, ODD_LINES, *JSON_OR_NOT)
HISTORIES = st.lists(LINES, max_size=12).map(b"".join)
BLOCKS = st.sampled_from([1, 2, 3, 7, 16, 50, 100, 4 << 20])

MOVES = st.sampled_from(
    [
        ((OLD, NEW),),
        ((OLD, OLD + "/main"),),
        ((OLD + "/main", OLD),),
        (("/code", "/src"), (OLD, "/lib")),
        (("/code", "/src"), ("/src", "/code")),
        ((OLD, '/code/q"x'), ("/src/new-app", "/z")),
        (("/code/caf\u00e9", "/code/\U0001f680"),),
    ]
)


def rewrite(data: bytes, paths: PathMap, block: int) -> bytes:
    with mock.patch.object(history, "BLOCK", block):
        return moved_bytes(data, paths)


@given(HISTORIES, MOVES, BLOCKS)
@example(b'{"project" : "/code/app", "a":{"project":"/srv"}}', ((OLD, NEW),), 100)
@example(b'{"a":{"project":"/code/app"}, "project" : "/srv"}', ((OLD, NEW),), 100)
def test_the_scan_agrees_with_the_oracle(
    data: bytes, moves: tuple[tuple[str, str], ...], block: int
) -> None:
    paths = PathMap(moves)
    assert rewrite(data, paths, block) == moved_history(data, paths.map)


@given(HISTORIES, BLOCKS)
def test_rewriting_twice_is_rewriting_once(data: bytes, block: int) -> None:
    once = rewrite(data, MOVE, block)
    assert rewrite(once, MOVE, block) == once


@given(HISTORIES, BLOCKS)
def test_only_the_planned_spans_differ(data: bytes, block: int) -> None:
    with mock.patch.object(history, "BLOCK", block):
        found = history.scan(reader(data), len(data), ByPath(MOVE))
        after = rewritten(data, found)
    expected, position = b"", 0
    for start, swap, _ in found:
        position, gap = start + len(swap.old), data[position:start]
        assert data[start:position] == swap.old
        expected += gap + swap.new
    assert after == expected + data[position:]
    assert found.new_size() - len(data) == len(after) - len(data)
    assert found.lines == len(list(found)) == sum(found.counts.values())


@given(st.lists(PLAIN_LINES, max_size=12).map(b"".join), BLOCKS)
def test_there_and_back_again_is_where_it_began(data: bytes, block: int) -> None:
    """When NEW was nowhere before, the opposite move undoes the move to the byte."""
    if NEW.encode() in data:
        data = data.replace(NEW.encode(), b"/srv/other")
    assert rewrite(rewrite(data, MOVE, block), MOVE.reversed(), block) == data


@given(HISTORIES, st.integers(0, 12), BLOCKS)
def test_a_tail_alone_is_the_tail_of_the_whole(
    data: bytes, skip: int, block: int
) -> None:
    lines = data.split(b"\n")
    head = b"".join(line + b"\n" for line in lines[: min(skip, len(lines) - 1)])

    with mock.patch.object(history, "BLOCK", block):
        tail = history.scan(reader(data), len(data), ByPath(MOVE), len(head))
        after = rewritten(data, tail, len(head))
    assert moved_history(head, MOVE.map) + after == moved_history(data, MOVE.map)
