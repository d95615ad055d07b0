"""history.jsonl: find the `project` values that move, and write it with the new ones.

A line is looked at only if it can match: it holds OLD where a value may begin, or an escape
(`\\u`, `\\/`) in which OLD could be spelled. Every other byte is passed over in blocks. A line
ends at `\\n` only; one that is not a JSON object in valid UTF-8 stays as it is. Of repeated
`project` keys the last counts, as the client reads it; the others stay.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ccmove.rewrite.jsonspan import NotJsonError, loads, parse, quote
from ccmove.rewrite.pathmap import PathMap

BLOCK = 512 << 10  # half or four times as much measured no faster
LONGEST_LINE = 64 << 20  # a longer one is not a prompt any more; it is passed over
Read = Callable[[int, int], bytes]  # (offset, length) -> bytes, short only at the end
Tick = Callable[[int], None]

_ESCAPE = re.compile(rb"\\[/u]")
# How a line ends that the client wrote. In valid JSON this is the last member but one of the
# outermost object: the quote follows a comma or brace, and the line ends with the brace.
_USUAL_END = re.compile(rb'[,{]"project":("[^"\\]*")(?:,"sessionId":"[^"\\]*")?\}\r?\Z')


@dataclass(frozen=True, slots=True)
class Swap:
    """One spelling of a path, and the bytes that come in its place."""

    old: bytes
    new: bytes
    move: tuple[str, str]  # the path and the new one


class Scan:
    """What moves in a history: where values begin, and for each which swap it gets.

    There may be millions of them, and few different ones.
    """

    def __init__(self, size: int = 0) -> None:
        self.starts = array("Q")
        self.which = array("I")
        self.swaps: list[Swap] = []
        self.size = size  # how much of the file was looked at
        self.unreadable = 0  # lines that hold OLD but are no valid JSON
        self.too_long = 0
        self.watched: set[str] = set()  # paths that stay, of those that were watched for
        self._places: dict[Swap, int] = {}

    @property
    def lines(self) -> int:
        """How many lines change."""
        return len(self.starts)

    @property
    def counts(self) -> dict[tuple[str, str], int]:
        """How many lines each old path has, with the new one."""
        return dict(Counter(self.swaps[place].move for place in self.which))

    def add(self, start: int, swap: Swap) -> None:
        """The value that begins here moves."""
        place = self._places.setdefault(swap, len(self.swaps))
        if place == len(self.swaps):
            self.swaps.append(swap)
        self.starts.append(start)
        self.which.append(place)

    def extend(self, rest: Scan) -> None:
        """Go on with what was found from here on."""
        for start, place in zip(rest.starts, rest.which, strict=True):
            self.add(start, rest.swaps[place])
        self.size = rest.size
        self.unreadable += rest.unreadable
        self.too_long += rest.too_long

    def spans(self, first: int = 0, last: int | None = None) -> Iterator[tuple[int, int, bytes]]:
        """Start, end and new bytes of these values, by their number."""
        for start, place in zip(self.starts[first:last], self.which[first:last], strict=True):
            swap = self.swaps[place]
            yield start, start + len(swap.old), swap.new

    def new_size(self) -> int:
        """How many bytes the file has after the move."""
        growth = [len(swap.new) - len(swap.old) for swap in self.swaps]
        return self.size + sum(growth[place] for place in self.which)


def encoded(path: str) -> bytes:
    """`path` as a JSON string in the bytes that the client writes."""
    return quote(path).encode()


# -- finding what moves ----------------------------------------------------------------------------


def scan(
    read: Read,
    size: int,
    paths: PathMap,
    start: int = 0,
    tick: Tick | None = None,
    watch: PathMap | None = None,
) -> Scan:
    """Look at the bytes from `start` to `size`; the last line may lack its newline.

    `tick` is told how many bytes were looked at. Which paths of `watch` are there is noted too.
    """
    found = Scan(start)
    needles = (*paths.needles(), *(watch.needles() if watch is not None else ()))
    swaps: dict[bytes, Swap | None] = {}  # by the spelling
    for value in project_values(read, size, needles, found, tick):
        if value.raw not in swaps:
            after = paths.map(value.path)
            swaps[value.raw] = None if after is None else value.swapped(after)
            if after is None and watch is not None and watch.covers(value.path):
                found.watched.add(value.path)
        swap = swaps[value.raw]
        if swap is not None:
            found.add(value.start, swap)
    return found


@dataclass(frozen=True, slots=True)
class Value:
    """The `project` of a line, whose JSON text `raw` begins at `start` in the file."""

    line: bytes
    start: int
    raw: bytes
    path: str

    def swapped(self, after: str) -> Swap:
        return Swap(self.raw, encoded(after), (self.path, after))


def project_values(
    read: Read, size: int, needles: Iterable[str], found: Scan, tick: Tick | None = None
) -> Iterator[Value]:
    """The `project` of every line that may hold a needle.

    It goes on from `found.size` and counts there what can't be read.
    """
    signs = [encoded(needle)[1:-1] for needle in needles]
    patterns = [_ESCAPE, *map(_beginning_with, signs)]
    begin = found.size
    for block in blocks(read, size, found):
        for start, line in _lines_with(block, patterns):
            try:
                value = _project(line, found.size + start)
            except (NotJsonError, UnicodeDecodeError):
                found.unreadable += any(sign in line for sign in signs)
                continue
            if value is not None:
                yield value
        if tick:
            tick(found.size + len(block) - begin)


def blocks(read: Read, size: int, found: Scan) -> Iterator[bytes]:
    """Whole lines from `found.size` on, which follows; lines that are too long are only counted."""
    in_long_line = False
    while found.size < size:
        block = _whole_lines(read, found.size, size)
        if not block:
            return  # the file has shrunk meanwhile; whoever compares sizes will notice
        is_whole = block.endswith(b"\n") or found.size + len(block) >= size
        if in_long_line:
            rest = block.find(b"\n") + 1 or len(block)
            block, found.size = block[rest:], found.size + rest
        elif not is_whole:
            found.too_long += 1
        if is_whole:
            yield block
        found.size += len(block)
        in_long_line = not is_whole


def _whole_lines(read: Read, position: int, size: int) -> bytes:
    """A block that ends where a line does; a part of a line when that is too long."""
    length = min(BLOCK, LONGEST_LINE)
    while True:
        block = read(position, min(length, size - position))
        if position + len(block) >= size:
            return block
        if b"\n" in block:
            return block[: block.rfind(b"\n") + 1]
        if len(block) < length or length == LONGEST_LINE:
            return block
        length = min(2 * length, LONGEST_LINE)


def _beginning_with(sign: bytes) -> re.Pattern[bytes]:
    """A string that may begin with the sign: not in `/code/app-docker`, nor inside a prompt.

    The string may be torn off behind it. Of a Windows path the sign is the last component
    alone, which may stand anywhere.
    """
    is_whole = sign.startswith(b"/")
    return re.compile(b'"%b(?=["/\\\\\n]|\\Z)' % re.escape(sign) if is_whole else re.escape(sign))


def _lines_with(block: bytes, patterns: list[re.Pattern[bytes]]) -> Iterator[tuple[int, bytes]]:
    """Every line in which one of the patterns is found, and where it begins."""
    end = 0
    for spot in sorted(match.start() for one in patterns for match in one.finditer(block)):
        if spot >= end:
            start = block.rfind(b"\n", 0, spot) + 1
            end = block.find(b"\n", spot) + 1 or len(block) + 1
            yield start, block[start : end - 1]


def _project(line: bytes, start: int) -> Value | None:
    """The `project` of a line if it is a string; raises on what is no JSON text."""
    text = line.decode()
    if text.startswith("\ufeff"):  # a file may begin with one, but this is a line
        raise NotJsonError("a byte order mark")
    usual = _USUAL_END.match(line, line.rfind(b'"project":') - 1)
    if usual is not None:
        loads(text)  # it must be JSON
        return Value(line, start + usual.start(1), usual[1], usual[1][1:-1].decode())
    item = parse(text).members().get("project")
    if item is None or not isinstance(item.value, str):
        return None
    before, raw = text[: item.start].encode(), text[item.start : item.end].encode()
    return Value(line, start + len(before), raw, item.value)


def paths_in(read: Read, size: int, paths: PathMap) -> dict[str, int]:
    """Every path that the map covers and a history names, with how many lines name it."""
    return {before: n for (before, _), n in scan(read, size, paths).counts.items()}


# -- writing it ------------------------------------------------------------------------------------


def rewritten(read: Read, found: Scan, start: int = 0) -> Iterator[bytes]:
    """The bytes of `start`..`found.size` with every span replaced, in large pieces."""
    position = start
    first = 0
    while position < found.size:
        end = min(position + 2 * BLOCK, found.size)
        last = bisect_left(found.starts, end, first)
        if last > first:
            end = max(end, next(found.spans(last - 1, last))[1])
        block = memoryview(read(position, end - position))
        pieces: list[bytes | memoryview] = []
        done = position
        for begins, ends, raw in found.spans(first, last):
            pieces += (block[done - position : begins - position], raw)
            done = ends
        yield b"".join([*pieces, block[done - position :]])
        first, position = last, end
