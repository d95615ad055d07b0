"""A history is undone to the byte, and line by line when lines have come and gone."""

import json
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccmove.rewrite import history
from ccmove.rewrite.history import (
    ByPath,
    Scan,
    WayBack,
    from_record,
    lines_back,
    spans_back,
    to_record,
)
from ccmove.rewrite.pathmap import PathMap
from tests.rewrite.strategies import NEW, OLD, reader
from tests.rewrite.strategies import rewritten as apply
from tests.rewrite.test_history_properties import BLOCKS, HISTORIES, MOVES
from tests.support.history_oracle import moved_line
from tests.support.oddlines import stringify

MOVE = PathMap(((OLD, NEW),))
BOTH_WAYS = PathMap(((OLD, NEW), (NEW, OLD)))
BOTH = PathMap((("/a", "/c"), ("/b", "/c")))


def moved(data: bytes, paths: PathMap = MOVE) -> tuple[bytes, Scan]:
    """The history after the move, and what was kept of it on disk."""
    found = history.scan(reader(data), len(data), ByPath(paths))
    return apply(data, found), from_record(
        b"".join(to_record(found)), len(data), found.new_size()
    )


def all_since(back: PathMap) -> WayBack:
    """Whatever the run did not write came since, and follows its path."""
    return WayBack(ByPath(back))


def line(path: str, display: str = "x") -> bytes:
    return stringify({"display": display, "project": path}) + b"\n"


@given(HISTORIES, MOVES, BLOCKS)
def test_what_the_run_wrote_becomes_the_original_bytes(
    data: bytes, moves: tuple[tuple[str, str], ...], block: int
) -> None:
    with mock.patch.object(history, "BLOCK", block):
        after, kept = moved(data, PathMap(moves))
        found = spans_back(kept, len(after))
        assert apply(after, found) == data
        assert found.size == len(after)
        assert found.new_size() == len(data)


@given(HISTORIES, MOVES, BLOCKS, st.data())
def test_lines_that_are_still_there_get_their_old_values(
    data: bytes, moves: tuple[tuple[str, str], ...], block: int, draw: st.DataObject
) -> None:
    """In any order, with others between them that came since."""
    paths = PathMap(moves)
    back = paths.reversed()
    before = data.split(b"\n")
    after = [moved_line(one, paths.map) for one in before]
    number = draw.draw(st.permutations(range(len(before))))
    staying = [n for n in number if draw.draw(st.booleans())]
    fresh = [
        line(path, f"since {n}")[:-1] for n, path in enumerate((OLD, NEW, "/src", "/z"))
    ]
    now = [*fresh, *(after[n] for n in staying)]
    written = {new: old for old, new in zip(before, after, strict=True) if old != new}
    with mock.patch.object(history, "BLOCK", block):
        _, kept = moved(data, paths)
        text = b"\n".join(now)
        result = apply(text, lines_back(kept, reader(text), len(text), all_since(back)))
    assert result.split(b"\n") == [
        written[one] if one in written else moved_line(one, back.map) for one in now
    ]


def test_two_that_became_one_go_back_each_to_its_own() -> None:
    data = line("/a", "1") + line("/b", "2") + line("/c", "3") + line("/b/x", "4")
    after, kept = moved(data, BOTH)
    nothing = PathMap(())
    assert apply(after, spans_back(kept, len(after))) == data
    lines = after.splitlines(keepends=True)
    now = b"".join(reversed(lines)) + line("/c", "since")
    found = lines_back(kept, reader(now), len(now), all_since(nothing))
    before = data.splitlines(keepends=True)
    assert apply(now, found) == b"".join(reversed(before)) + line("/c", "since")
    assert found.counts == {("/c", "/a"): 1, ("/c", "/b"): 1, ("/c/x", "/b/x"): 1}


def test_a_line_that_was_changed_since_is_one_that_came_since() -> None:
    after, kept = moved(line(OLD + "/x", "1") + line(OLD, "2"))
    now = after.replace(b'"1"', b'"one"')
    stay, follow = PathMap(()), MOVE.reversed()
    for back, path in ((stay, NEW), (follow, OLD)):
        result = apply(now, lines_back(kept, reader(now), len(now), all_since(back)))
        assert result == line(path + "/x", "one") + line(OLD, "2")


def test_a_spelling_of_its_own_comes_back() -> None:
    data = line(OLD).replace(b"/", b"\\/")
    after, kept = moved(data)
    now = line("/z") + after
    assert (
        apply(now, lines_back(kept, reader(now), len(now), all_since(MOVE.reversed())))
        == line("/z") + data
    )


GOOD = b"".join(to_record(moved(line(OLD) + line(OLD + "/x"))[1]))
ROWS = GOOD.partition(b"\n")[2]
FIRST, SECOND = ROWS[: Scan.ROW.size], ROWS[Scan.ROW.size :]


PAIR, OTHER = ['"a"', '"b"'], ['"c"', '"d"']


def record(*swaps: Any, rows: bytes = ROWS) -> bytes:
    return json.dumps(swaps).encode() + b"\n" + rows


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\n", b"null\n", b"7\n", b"[\n]\n", b"\xff\n",
        GOOD.replace(b"\n", b"", 1), GOOD + b" ", GOOD[:-1], record(), record(None, None),
        record(PAIR),
        *(
            record(PAIR, other)
            for other in (
                ["a", "b"], ['"a"', "1"], ['"a"'], ['"a"', '"b"', '"c"'], ['"a"', 1],
                ['"c"', "[]"], ['"a"', '"b" x'], ['"\ud800"', '"b"'], ['"\0c\0"\0', '"d"'],
            )
        ),
        record(PAIR, OTHER, rows=SECOND + FIRST), record(PAIR, OTHER, rows=FIRST + FIRST),
        record(PAIR, OTHER, rows=FIRST + Scan.ROW.pack(1 << 40, 2, b"")),
    ],
)  # fmt: skip
def test_what_was_not_kept_like_this_is_refused(data: bytes) -> None:
    from_record(record(PAIR, OTHER), 1000, 1000)
    with pytest.raises(ValueError):
        from_record(data, 1000, 1000)


def test_a_line_is_known_by_everything_but_its_value_and_its_end() -> None:
    lines = [line(OLD), line(NEW), line(OLD).replace(b"\n", b"\r\n"), line(OLD, "y")]
    same, also, ended, other = (
        [
            digest
            for _, _, digest in history.scan(reader(one), len(one), ByPath(BOTH_WAYS))
        ]
        for one in lines
    )
    assert same == also == ended != other
