"""Prompts that a run adds to a history, and takes out of it again."""

import json
import sys
from types import FrameType

import pytest

from ccmove.rewrite.added import without_added
from ccmove.rewrite.history import ByPath, Scan
from ccmove.rewrite.pathmap import PathMap
from ccmove.transfer.coming import coming_prompts, with_lacking
from tests.rewrite.strategies import reader, rewritten

MOVE = ByPath(PathMap((("/there", "/here"),)))
TORN = b'{"display": "no end'
LATER = b'{"display": "later", "project": "/here"}\n'


def prompts(number: int) -> bytes:
    lines = b""
    for each in range(number):
        prompt = {"display": f"prompt {each}", "project": "/there"}
        lines += json.dumps(prompt).encode() + b"\n"
    return lines


def added(data: bytes, number: int) -> tuple[bytes, Scan]:
    """A history to which so many prompts were added, and what was added."""
    coming = list(coming_prompts(prompts(number), MOVE))
    scan = with_lacking(reader(data), len(data), coming)
    return rewritten(data, scan), scan


def taken_out(now: bytes, scan: Scan) -> bytes:
    back = without_added(scan, reader(now), len(now), lambda _: False)
    return rewritten(now, back)


@pytest.mark.parametrize("before", [b"", LATER, TORN], ids=["empty", "whole", "torn"])
def test_what_was_added_goes_again_to_the_last_byte(before: bytes) -> None:
    now, scan = added(before, 3)
    assert taken_out(now, scan) == before


def test_a_torn_line_stays_ended_where_something_came_since() -> None:
    now, scan = added(TORN, 3)
    assert taken_out(now + LATER, scan) == TORN + b"\n" + LATER


def test_one_more_prompt_costs_no_more_to_take_out_than_the_ones_before() -> None:
    work = []
    for number in (50, 100, 150):
        now, scan = added(TORN, number)
        calls = 0

        def count(_frame: FrameType, event: str, _function: object) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        sys.setprofile(count)
        try:
            taken_out(now, scan)
        finally:
            sys.setprofile(None)
        work.append(calls)
    assert work[2] - work[1] <= 1.1 * (work[1] - work[0]), work
