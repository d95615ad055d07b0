"""What of a conversation a transcript holds: how much, from when to when, and what two share."""

import json
from collections.abc import Iterator
from itertools import takewhile
from operator import eq
from pathlib import Path
from typing import NamedTuple

from ccmove.claude.reading import open_regular
from ccmove.claude.state import get
from ccmove.text import plural


class Turns(NamedTuple):
    """The lines of a transcript, with the first and the last moment that they name."""

    lines: int
    first: str
    last: str

    def __str__(self) -> str:
        return f"{plural(self.lines, 'line')}, {self.first} to {self.last}"


def read_turns(file: Path) -> Turns:
    """Only the first and the last dated line are decoded: a transcript may be large."""
    lines, first, dated = 0, "?", b""
    for line in _lines(file):
        lines += 1
        if b'"timestamp"' in line:
            dated = line
            first = _moment(line) if first == "?" else first
    return Turns(lines, first, _moment(dated))


def shared_lines(one: Path, two: Path) -> int:
    """With how many lines that are the same both begin."""
    return sum(takewhile(bool, map(eq, _lines(one), _lines(two))))


def _lines(file: Path) -> Iterator[bytes]:
    fd = open_regular(file)
    if fd is not None:
        with open(fd, "rb") as transcript:
            yield from transcript


def _moment(line: bytes) -> str:
    try:
        moment = get(json.loads(line), "timestamp")
    except (ValueError, RecursionError):
        moment = None
    return moment if isinstance(moment, str) else "?"
