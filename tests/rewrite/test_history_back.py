"""A history is taken back to the byte, and line by line when lines have come and gone."""

from __future__ import annotations

import json
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccmove.rewrite import history, history_back
from ccmove.rewrite.history_back import Changed, changed, from_json, lines_back, spans_back, to_json
from ccmove.rewrite.pathmap import PathMap
from tests.rewrite.strategies import NEW, OLD, reader
from tests.rewrite.test_history_properties import BLOCKS, HISTORIES, MOVES
from tests.support.history_oracle import moved_line
from tests.support.oddlines import stringify

MOVE = PathMap(((OLD, NEW),))
BOTH = PathMap((("/a", "/c"), ("/b", "/c")))


def moved(data: bytes, paths: PathMap = MOVE) -> tuple[bytes, Changed]:
    """The history after the move, and what was kept of it on disk."""
    read = reader(data)
    found = history.scan(read, len(data), paths)
    kept = json.loads(json.dumps(to_json(changed(read, found))))
    return b"".join(history.rewritten(read, found)), from_json(kept)


def apply(data: bytes, found: history.Scan) -> bytes:
    return b"".join(history.rewritten(reader(data), found))


def line(path: str, display: str = "x") -> bytes:
    return stringify({"display": display, "project": path}) + b"\n"


@given(HISTORIES, MOVES, BLOCKS)
def test_what_the_run_wrote_becomes_the_bytes_of_before(
    data: bytes, moves: tuple[tuple[str, str], ...], block: int
) -> None:
    with mock.patch.object(history, "BLOCK", block):
        after, kept = moved(data, PathMap(moves))
        found = spans_back(kept, len(after))
        assert apply(after, found) == data
        assert found.size == len(after)
        assert found.new_size() == len(data)


@given(HISTORIES, MOVES, BLOCKS, st.data())
def test_lines_that_survived_get_their_old_values(
    data: bytes, moves: tuple[tuple[str, str], ...], block: int, draw: st.DataObject
) -> None:
    """In any order, with others between them that came since."""
    paths = PathMap(moves)
    back = paths.reversed()
    before = data.split(b"\n")
    after = [moved_line(one, paths.map) for one in before]
    number = draw.draw(st.permutations(range(len(before))))
    staying = [n for n in number if draw.draw(st.booleans())]
    fresh = [line(path, f"since {n}")[:-1] for n, path in enumerate((OLD, NEW, "/src", "/z"))]
    now = [*fresh, *(after[n] for n in staying)]
    written = {new: old for old, new in zip(before, after, strict=True) if old != new}
    with mock.patch.object(history, "BLOCK", block):
        _, kept = moved(data, paths)
        text = b"\n".join(now)
        result = apply(text, lines_back(kept, reader(text), len(text), back))
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
    found = lines_back(kept, reader(now), len(now), nothing)
    before = data.splitlines(keepends=True)
    assert apply(now, found) == b"".join(reversed(before)) + line("/c", "since")
    assert found.counts == {("/c", "/a"): 1, ("/c", "/b"): 1, ("/c/x", "/b/x"): 1}


def test_lines_that_became_the_same_get_their_values_in_order() -> None:
    data = line("/a") + line("/a") + line("/b") + line("/a")
    after, kept = moved(data, BOTH)
    now = line("/z") + after
    result = apply(now, lines_back(kept, reader(now), len(now), PathMap(())))
    assert result == line("/z") + data


def test_a_line_that_was_changed_since_is_one_that_came_since() -> None:
    after, kept = moved(line(OLD + "/x", "1") + line(OLD, "2"))
    now = after.replace(b'"1"', b'"one"')
    stay, follow = PathMap(()), MOVE.reversed()
    for back, path in ((stay, NEW), (follow, OLD)):
        result = apply(now, lines_back(kept, reader(now), len(now), back))
        assert result == line(path + "/x", "one") + line(OLD, "2")


def test_line_ends_make_no_difference() -> None:
    after, kept = moved(line(OLD).replace(b"\n", b"\r\n") + line(OLD, "y"))
    now = after.replace(b"\r\n", b"\n").removesuffix(b"\n")
    result = apply(now, lines_back(kept, reader(now), len(now), PathMap(())))
    assert result == (line(OLD) + line(OLD, "y")).removesuffix(b"\n")


def test_a_spelling_of_its_own_comes_back() -> None:
    data = line(OLD).replace(b"/", b"\\/")
    after, kept = moved(data)
    now = line("/z") + after
    assert apply(now, lines_back(kept, reader(now), len(now), MOVE.reversed())) == line("/z") + data


def test_no_change_is_nothing_to_keep() -> None:
    after, kept = moved(line("/z"))
    assert to_json(kept) == {"swaps": [], "starts": "", "which": "", "lines": ""}
    assert spans_back(kept, len(after)).lines == 0


GOOD = to_json(moved(line(OLD) + line(OLD + "/x"))[1])


@pytest.mark.parametrize(
    "record",
    [
        None,
        [],
        {},
        GOOD | {"more": 1},
        GOOD | {"swaps": None},
        GOOD | {"swaps": []},
        GOOD | {"swaps": [["a", "b"]] * 2},
        GOOD | {"swaps": [['"a"', "1"]] * 2},
        GOOD | {"swaps": [['"a"']] * 2},
        GOOD | {"swaps": [['"a"', '"b" x']] * 2},
        GOOD | {"swaps": [['"\ud800"', '"b"']] * 2},
        GOOD | {"starts": 7},
        GOOD | {"starts": "x"},
        GOOD | {"starts": "AAAA"},
        GOOD | {"starts": ""},
        GOOD | {"starts": "AAAAAAAAAAAAAAAAAAAAAA=="},
        GOOD | {"starts": "é"},
        GOOD | {"which": "AAAA"},
        GOOD | {"which": "/////wAAAAA="},
        GOOD | {"lines": "AAAA"},
        GOOD | {"lines": None},
    ],
)
def test_what_was_not_kept_like_this_is_refused(record: Any) -> None:
    from_json(GOOD)
    with pytest.raises(ValueError):
        from_json(record)


def test_a_change_behind_the_end_is_refused() -> None:
    after, kept = moved(line(OLD))
    with pytest.raises(ValueError, match="behind the end"):
        spans_back(kept, len(after) - 10)


def test_paths_in_a_history_are_counted() -> None:
    data = line(OLD) * 2 + line(OLD + "/x") + line(NEW) + line("/z")
    both = PathMap((*MOVE.moves, *MOVE.reversed().moves))
    assert history.paths_in(reader(data), len(data), both) == {OLD: 2, OLD + "/x": 1, NEW: 1}


def test_the_digest_is_that_of_the_whole_line() -> None:
    _, kept = moved(line(OLD) + line("/z") + line(OLD, "y"))
    digests = [history_back._digest(one[:-1]) for one in (line(NEW), line(NEW, "y"))]
    assert kept.lines == b"".join(digests)
