"""history.jsonl: find the `project` values that move, at about the speed of reading the file.

A line is looked at only if it can match: it holds OLD where a value may begin, or an escape
(`\\u`, `\\/`) in which OLD could be spelled. Every other byte is passed over in blocks. A line
ends at `\\n` only; one that is not a JSON object in valid UTF-8 stays as it is. Of repeated
`project` keys the last counts, as the client reads it; the others stay.
"""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ccmove.rewrite.jsonspan import NotJsonError, parse, quote
from ccmove.rewrite.pathmap import PathMap

BLOCK = 512 << 10  # half or four times as much measured no faster
PIECE = 2  # blocks that are written at once
LONGEST_LINE = 64 << 20  # a longer one is not a prompt any more; it is passed over
NEWLINE = ord("\n")
Read = Callable[[int, int], bytes]  # (offset, length) -> bytes, short only at the end

_PLAIN = re.compile(rb"[ !#-\[\]-~]*")  # printable ASCII that JSON.stringify never escapes
_ESCAPE = re.compile(rb"\\[/u]")
_PLAIN_ESCAPE = re.compile(rb"\\(?:/|u00[2-7])")  # the only escapes in which plain text is spelled

# A line as the client writes it; valid JSON if it is UTF-8. Not possessive, which some versions of
# Python 3.11 get wrong; for each escape it takes memory, so not for long lines.
_TEXT = rb'[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})[^"\\\x00-\x1f]*)*'
_NUMBER = rb"[1-9][0-9]{0,15}"
_PASTE = rb'"[0-9]+":\{"id":%b(?:,"[A-Za-z]+":"%b")*\}' % (_NUMBER, _TEXT)
_USUAL_LINE = re.compile(
    rb'\{"display":"%(text)b","pastedContents":\{(?:%(paste)b(?:,(?=")|(?=\})))*\},'
    rb'"timestamp":%(number)b,"project":("%(text)b")(?:,"sessionId":"[0-9a-f-]*")?\}\r?\Z'
    % {b"text": _TEXT, b"number": _NUMBER, b"paste": _PASTE}
)
_LONGEST_USUAL = 64 << 10


class Value(NamedTuple):
    """One `project` value in a line: line[start:end] is its JSON text."""

    start: int
    end: int
    before: str
    after: str


class Swap(NamedTuple):
    """One spelling of a path, and the bytes that come in its place."""

    length: int  # of the spelling, in bytes
    raw: bytes
    move: tuple[str, str] | None = None  # the path and the new one, where they are known


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
        self._places: dict[Swap, int] = {}

    @property
    def lines(self) -> int:
        """How many lines change."""
        return len(self.starts)

    @property
    def counts(self) -> dict[tuple[str, str], int]:
        """How many lines each old path has, with the new one."""
        counts: dict[tuple[str, str], int] = {}
        for place, number in Counter(self.which).items():
            move = self.swaps[place].move
            if move is not None:
                counts[move] = counts.get(move, 0) + number
        return counts

    def place(self, swap: Swap) -> int:
        """The number of a swap."""
        place = self._places.get(swap)
        if place is None:
            place = self._places[swap] = len(self.swaps)
            self.swaps.append(swap)
        return place

    def add(self, start: int, swap: Swap) -> None:
        """The value that begins here moves."""
        self.starts.append(start)
        self.which.append(self.place(swap))

    def extend(self, rest: Scan) -> None:
        """Go on with what was found from here on."""
        places = [self.place(swap) for swap in rest.swaps]
        self.starts += rest.starts
        same = places == [*range(len(places))]
        self.which.extend(rest.which if same else map(places.__getitem__, rest.which))
        self.size = rest.size
        self.unreadable += rest.unreadable
        self.too_long += rest.too_long

    def packed(self) -> tuple[Any, ...]:
        """For another process of the same program, in values that marshal knows; `size` first."""
        swaps = [tuple(swap) for swap in self.swaps]
        spans = (self.starts.tobytes(), self.which.tobytes())
        return (self.size, self.unreadable, self.too_long, swaps, *spans)

    @classmethod
    def unpacked(cls, packed: tuple[Any, ...]) -> Scan:
        found = cls()
        found.size, found.unreadable, found.too_long, swaps, starts, which = packed
        found.swaps = [Swap(*swap) for swap in swaps]
        found.starts.frombytes(starts)
        found.which.frombytes(which)
        return found

    def spans(self, first: int = 0, last: int | None = None) -> Iterator[tuple[int, int, bytes]]:
        """Start, end and new bytes of these values, by their number."""
        for start, place in zip(self.starts[first:last], self.which[first:last], strict=True):
            length, raw, _ = self.swaps[place]
            yield start, start + length, raw

    def grown_by(self) -> int:
        """How many bytes larger the file is after the move."""
        numbers = Counter(self.which).items()
        return sum(n * (len(self.swaps[i].raw) - self.swaps[i].length) for i, n in numbers)

    def new_size(self, start: int = 0) -> int:
        """How many bytes the part from `start` on has after the move."""
        return self.size - start + self.grown_by()


def encoded(path: str) -> bytes:
    """`path` as a JSON string in the bytes that the client writes."""
    return quote(path).encode()


def needles_of(paths: PathMap) -> list[bytes]:
    """The needles of a map as they stand in JSON text that the client wrote."""
    return [encoded(needle)[1:-1] for needle in paths.needles()]


def escapes_for(needles: list[bytes]) -> re.Pattern[bytes]:
    """The escapes by which one of the needles may be spelled in another way.

    The client itself escapes control characters only, so that plain needles skip its text.
    """
    plain = all(_PLAIN.fullmatch(needle) for needle in needles)
    return _PLAIN_ESCAPE if plain else _ESCAPE


# -- finding what moves ----------------------------------------------------------------------------


def scan(
    read: Read,
    size: int,
    paths: PathMap,
    start: int = 0,
    tick: Callable[[int], None] | None = None,
) -> Scan:
    """Look at the bytes from `start` to `size`; the last line may lack its newline.

    `tick` is told how many bytes were looked at.
    """
    found = Scan(size=start)
    finder = _Finder(paths, found)
    inside_long_line = False
    while found.size < size:
        block, end = _whole_lines(read, found.size, size)
        if not end:
            break  # the file has shrunk meanwhile; whoever compares sizes will notice
        first = (block.find(b"\n", 0, end) + 1 or end) if inside_long_line else 0
        ends_line = block[end - 1] == NEWLINE or found.size + end >= size
        if ends_line:
            finder.search(block, first, end)
        elif not inside_long_line:
            found.too_long += 1
        inside_long_line = not ends_line
        found.size += end
        if tick:
            tick(found.size - start)
    return found


def _whole_lines(read: Read, position: int, size: int) -> tuple[bytes, int]:
    """A block and where in it the last whole line ends; a part of a line when that is too long.

    What follows is read again with the next block, which takes less than a copy without it.
    """
    length = min(BLOCK, LONGEST_LINE)
    while True:
        block = read(position, min(length, size - position))
        newline = block.rfind(b"\n")
        if position + len(block) >= size:
            return block, len(block)
        if newline >= 0:
            return block, newline + 1
        if len(block) < length or length == LONGEST_LINE:
            return block, len(block)
        length = min(2 * length, LONGEST_LINE)


class _Finder:
    """Finds the values that one map moves."""

    def __init__(self, paths: PathMap, found: Scan) -> None:
        self.paths = paths
        self.found = found
        self.needles = needles_of(paths)
        self._escape = escapes_for(self.needles)
        self._places: dict[bytes, int | None] = {}  # which swap a spelling gets

    def search(self, block: bytes, first: int, last: int) -> None:
        """Add what moves in the whole lines block[first:last]; it begins at `found.size`."""
        end = first
        offset = self.found.size
        starts, which = self.found.starts, self.found.which
        for spot in self._spots(block, first, last):
            if spot < end:
                continue  # in a line that was seen already
            start = block.rfind(b"\n", first, spot) + 1 or first
            end = block.find(b"\n", spot, last)
            if end < 0:
                end = last
            usual = None
            if end - start < _LONGEST_USUAL:
                usual = _USUAL_LINE.match(block, start, end)
            if usual is None or not _is_utf8(block[start:end]):
                self._look_at(block[start:end], offset + start)
                continue
            spelling = usual[1]
            if spelling not in self._places:
                self._places[spelling] = self._place(spelling)
            place = self._places[spelling]
            if place is not None:
                starts.append(offset + usual.start(1))
                which.append(place)

    def _place(self, spelling: bytes) -> int | None:
        """Which swap a path in this spelling gets; None when it does not move."""
        path = json.loads(spelling)
        after = self.paths.map(path)
        return None if after is None else self.found.place(_swap(len(spelling), path, after))

    def _look_at(self, line: bytes, offset: int) -> None:
        """One line, in any form and spelling."""
        try:
            value = self.value(line)
        except (NotJsonError, UnicodeDecodeError):
            self.found.unreadable += any(needle in line for needle in self.needles)
            return
        if value is not None:
            start, end, before, after = value
            self.found.add(offset + start, _swap(end - start, before, after))

    def _spots(self, block: bytes, first: int, last: int) -> list[int]:
        """Where in a part of a block a path of the map may be spelled, in order."""
        spots: list[int] = []
        for needle in self.needles:
            spots += _value_starts(block, needle, first, last)
        if block.find(b"\\", first, last) >= 0:
            spots += [match.start() for match in self._escape.finditer(block, first, last)]
        spots.sort()
        return spots

    def value(self, line: bytes) -> Value | None:
        """The `project` of a line if it moves; raises on what is no JSON text."""
        text = line.decode()
        if text.startswith("\ufeff"):  # a file may begin with one, but this is a line
            raise NotJsonError("a byte order mark")
        root = parse(text, lambda pointer: not pointer)
        item = root.get("project")
        if item is None or not isinstance(item.value, str):
            return None
        after = self.paths.map(item.value)
        if after is None:
            return None
        start = len(text[: item.start].encode())
        end = start + len(text[item.start : item.end].encode())
        return Value(start, end, item.value, after)


def _swap(length: int, before: str, after: str) -> Swap:
    return Swap(length, encoded(after), (before, after))


def _is_utf8(line: bytes) -> bool:
    if line.isascii():
        return True
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _value_starts(block: bytes, needle: bytes, first: int, last: int) -> list[int]:
    """Where a string may begin with the needle: not in `/code/app-docker`, nor inside a prompt.

    The string may be torn off behind it. Of a Windows path the needle is the last component
    alone, which may stand anywhere.
    """
    is_whole = needle.startswith(b"/")
    if is_whole:
        needle = b'"' + needle
    length = len(needle)
    spots = []
    at = block.find(needle, first, last)
    while at >= 0:
        end = at + length
        if not is_whole:
            spots.append(at)
        elif block[end : end + 1] in b'"/\\\n':
            spots.append(at + 1)
        at = block.find(needle, end, last)
    return spots


def project_values(line: bytes, paths: PathMap) -> list[Value]:
    """The `project` of a line if it moves, else nothing; raises on what is no JSON text."""
    value = _Finder(paths, Scan()).value(line)
    return [value] if value is not None else []


# -- writing it ------------------------------------------------------------------------------------


def rewritten(read: Read, found: Scan, start: int = 0) -> Iterator[bytes]:
    """The bytes of `start`..`found.size` with every span replaced, in large pieces."""
    position = start
    first = 0
    while position < found.size:
        end = min(position + PIECE * BLOCK, found.size)
        last = bisect_left(found.starts, end, first)
        if last > first:
            ((_, last_end, _),) = found.spans(last - 1, last)
            end = max(end, last_end)
        yield _spliced(read(position, end - position), position, found, first, last)
        first, position = last, end


def _spliced(block: bytes, offset: int, found: Scan, first: int, last: int) -> bytes:
    """The block, which begins at `offset`, with these spans replaced."""
    if first == last:
        return block
    view = memoryview(block)
    pieces: list[bytes | memoryview] = []
    position = 0
    for start, end, raw in found.spans(first, last):
        pieces.append(view[position : start - offset])
        pieces.append(raw)
        position = end - offset
    pieces.append(view[position:])
    return b"".join(pieces)


def rewrite(data: bytes, paths: PathMap) -> bytes:
    """The whole of a history in memory, rewritten; for small files and for tests."""

    def read(offset: int, length: int) -> bytes:
        return data[offset : offset + length]

    return b"".join(rewritten(read, scan(read, len(data), paths)))
