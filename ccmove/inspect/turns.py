"""What of a conversation a transcript holds: how much, from when to when, and what two share."""

import re
from collections.abc import Iterator
from itertools import takewhile
from operator import eq
from pathlib import Path

from ccmove.claude.reading import open_regular
from ccmove.text import plural

_MOMENT = re.compile(rb'"timestamp":\s*"([^"\\]*)"')


def read_turns(file: Path) -> tuple[int, str]:
    """How many lines a transcript has, and that in words with the first and the last moment."""
    lines, moments = 0, ["?", "?"]
    for line in _lines(file):
        lines += 1
        if found := _MOMENT.search(line):
            moments[1] = found[1].decode("utf-8", "replace")
            moments[0] = moments[1] if moments[0] == "?" else moments[0]
    return lines, f"{plural(lines, 'line')}, {moments[0]} to {moments[1]}"


def shared_lines(one: Path, two: Path) -> int:
    """With how many lines that are the same both begin."""
    return sum(takewhile(bool, map(eq, _lines(one), _lines(two))))


def _lines(file: Path) -> Iterator[bytes]:
    fd = open_regular(file)
    if fd is not None:
        with open(fd, "rb") as transcript:
            yield from transcript
