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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ccmove.jsonspan import NotJsonError, loads, parse, quote
from ccmove.pathmap import PathMap

BLOCK = 512 << 10  # larger ones cost more in fresh memory than they save in calls
LONGEST_LINE = 64 << 20  # a longer one is not a prompt any more; it is passed over
Read = Callable[[int, int], bytes]  # (offset, length) -> bytes, short only at the end

_USUAL = re.compile(rb'"project":("[^"\\]*")')
_PLAIN = re.compile(rb"[ !#-\[\]-~]*")  # printable ASCII that JSON.stringify never escapes
_ESCAPE = re.compile(rb"\\[/u]")
_PLAIN_ESCAPE = re.compile(rb"\\(?:/|u00[2-7])")  # the only escapes in which plain text is spelled


class Value(NamedTuple):
    """One `project` value in a line: line[start:end] is its JSON text."""

    start: int
    end: int
    before: str
    after: str


@dataclass
class Scan:
    """What moves in a history: spans in the file, and for each which replacement it gets."""

    starts: array[int] = field(default_factory=lambda: array("Q"))
    ends: array[int] = field(default_factory=lambda: array("Q"))
    which: array[int] = field(default_factory=lambda: array("L"))
    replacements: list[bytes] = field(default_factory=list)
    counts: dict[tuple[str, str], int] = field(default_factory=dict)
    size: int = 0  # how much of the file was looked at
    lines: int = 0  # lines that change
    unreadable: int = 0  # lines that hold OLD but are no valid JSON
    too_long: int = 0
    _places: dict[str, int] = field(default_factory=dict)
    _known: dict[bytes, int] = field(default_factory=dict)

    def add(self, offset: int, value: Value) -> None:
        """The value of a line that begins at `offset` moves."""
        start, end, before, after = value
        if after not in self._places:
            self._places[after] = self._place_of(encoded(after))
        self._add(offset + start, offset + end, self._places[after])
        self.counts[before, after] = self.counts.get((before, after), 0) + 1

    def add_raw(self, start: int, end: int, raw: bytes) -> None:
        """One span that gets these bytes; for lines that were found by other means."""
        self._add(start, end, self._place_of(raw))

    def _add(self, start: int, end: int, place: int) -> None:
        self.lines += 1
        self.starts.append(start)
        self.ends.append(end)
        self.which.append(place)

    def _place_of(self, raw: bytes) -> int:
        if raw not in self._known:
            self._known[raw] = len(self.replacements)
            self.replacements.append(raw)
        return self._known[raw]

    def grown_by(self) -> int:
        """How many bytes larger the file is after the move."""
        after = sum(len(self.replacements[i]) for i in self.which)
        return after - (sum(self.ends) - sum(self.starts))

    def new_size(self, start: int = 0) -> int:
        """How many bytes the part from `start` on has after the move."""
        return self.size - start + self.grown_by()


def encoded(path: str) -> bytes:
    """`path` as a JSON string in the bytes that the client writes."""
    return quote(path).encode()


# -- finding what moves ----------------------------------------------------------------------------


def scan(
    read: Read,
    size: int,
    paths: PathMap,
    start: int = 0,
    tick: Callable[[int], None] | None = None,
) -> Scan:
    """Look at the bytes from `start` to `size`; the last line may lack its newline."""
    found = Scan(size=start)
    finder = _Finder(paths)
    inside_long_line = False
    while found.size < size:
        block = _whole_lines(read, found.size, size)
        if not block:
            break  # the file has shrunk meanwhile; whoever compares sizes will notice
        first = (block.find(b"\n") + 1 or len(block)) if inside_long_line else 0
        ends_line = block.endswith(b"\n") or found.size + len(block) >= size
        if ends_line:
            finder.search(block[first:] if first else block, found.size + first, found)
        elif not inside_long_line:
            found.too_long += 1
        inside_long_line = not ends_line
        found.size += len(block)
        if tick:
            tick(found.size - start)
    return found


def _whole_lines(read: Read, position: int, size: int) -> bytes:
    """A block that ends with a line or the file; a part of a line when that is too long."""
    length = min(BLOCK, LONGEST_LINE)
    while True:
        block = read(position, min(length, size - position))
        newline = block.rfind(b"\n")
        if position + len(block) >= size:
            return block
        if newline >= 0:
            return block[: newline + 1]
        if len(block) < length or length == LONGEST_LINE:
            return block
        length = min(2 * length, LONGEST_LINE)


class _Finder:
    """Finds the values that one map moves; each spelling of a value is mapped only once."""

    def __init__(self, paths: PathMap) -> None:
        self.paths = paths
        self.needles = [encoded(needle)[1:-1] for needle in paths.needles()]
        plain = all(_PLAIN.fullmatch(needle) for needle in self.needles)
        # The client itself escapes control characters only, so that plain OLDs skip its lines.
        self._escape = _PLAIN_ESCAPE if plain else _ESCAPE
        self._moves: dict[bytes, tuple[str, str] | None] = {}

    def search(self, block: bytes, offset: int, found: Scan) -> None:
        """Add what moves in a block of whole lines that begins at `offset` in the file."""
        end = -1
        for spot in self._spots(block):
            if spot < end:
                continue  # in a line that was looked at already
            start = block.rfind(b"\n", 0, spot) + 1
            end = block.find(b"\n", spot)
            end = len(block) if end < 0 else end
            line = block[start:end]
            try:
                value = self.value(line)
            except (NotJsonError, UnicodeDecodeError):
                found.unreadable += any(needle in line for needle in self.needles)
                continue
            if value is not None:
                found.add(offset + start, value)

    def _spots(self, block: bytes) -> list[int]:
        """Where in a block a path of the map may be spelled, in order."""
        spots = [spot for needle in self.needles for spot in _value_starts(block, needle)]
        if b"\\" in block:
            spots += [match.start() for match in self._escape.finditer(block)]
        spots.sort()
        return spots

    def value(self, line: bytes) -> Value | None:
        """The `project` of a line if it moves; raises on what is no JSON text."""
        text = line.decode()
        if text.startswith("\ufeff"):  # a file may begin with one, but this is a line
            raise NotJsonError("a byte order mark")
        span = _usual_span(line)
        if span is None:
            return self._walk(text)
        start, end = span
        try:
            record = _record(text)
        except NotJsonError:  # or nested too deeply to be a value
            return self._walk(text)
        if not isinstance(record, dict) or not isinstance(record.get("project"), str):
            return None  # what was found stands deeper down, or inside a string
        raw = line[start:end]
        if raw not in self._moves:
            self._moves[raw] = self._move(record["project"])
        move = self._moves[raw]
        return Value(start, end, *move) if move is not None else None

    def _move(self, before: str) -> tuple[str, str] | None:
        after = self.paths.map(before)
        return (before, after) if after is not None else None

    def _walk(self, text: str) -> Value | None:
        """The slow way, for any spelling."""
        root = parse(text, lambda pointer: not pointer)
        item = root.get("project")
        move = self._move(item.value) if item and isinstance(item.value, str) else None
        if item is None or move is None:
            return None
        start = len(text[: item.start].encode())
        return Value(start, start + len(text[item.start : item.end].encode()), *move)


def _usual_span(line: bytes) -> tuple[int, int] | None:
    """Where the value of `project` stands, if it is spelled in the client's way and only once.

    Without `\\u` a key has only one spelling, so no other member can be `project` too.
    """
    usual = _USUAL.search(line)
    if usual is None or line.count(b'"project"') > 1:
        return None
    if b"\\" in line and b"\\u" in line:  # one byte is found ten times faster than two
        return None
    return usual.span(1)


def _value_starts(block: bytes, needle: bytes) -> Iterator[int]:
    """Where a string may begin with the needle: not in `/code/app-docker`, nor inside a prompt.

    The string may be torn off behind it. Of a Windows path the needle is the last component
    alone, which may stand anywhere.
    """
    is_whole = needle.startswith(b"/")
    at = block.find(needle)
    while at >= 0:
        end = at + len(needle)
        if not is_whole or (block[at - 1 : at] == b'"' and block[end : end + 1] in b'"/\\\n'):
            yield at
        at = block.find(needle, end)


def _no_constant(name: str) -> None:
    raise NotJsonError(f"{name} is not JSON")


_scan_once: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder(
    parse_constant=_no_constant
).scan_once  # type: ignore[attr-defined]  # not in typeshed


def _record(text: str) -> Any:
    """The value of a line. Its numbers do not matter here, and the scanner's own are faster."""
    try:
        record, end = _scan_once(text, 0)
    except (ValueError, StopIteration, RecursionError):  # blanks around it, huge numbers, no JSON
        return loads(text)
    return record if end == len(text) else loads(text)


def project_values(line: bytes, paths: PathMap) -> list[Value]:
    """The `project` of a line if it moves, else nothing; raises on what is no JSON text."""
    value = _Finder(paths).value(line)
    return [value] if value is not None else []


# -- writing it ------------------------------------------------------------------------------------


def rewritten(read: Read, found: Scan, start: int = 0) -> Iterator[bytes]:
    """The bytes of `start`..`found.size` with every span replaced, in large pieces."""
    position = start
    spans = zip(found.starts, found.ends, found.which, strict=True)
    span = next(spans, None)
    while position < found.size:
        end = min(position + BLOCK, found.size)
        inside = []
        while span is not None and span[0] < end:
            inside.append(span)
            end = max(end, span[1])
            span = next(spans, None)
        yield _spliced(read(position, end - position), position, inside, found.replacements)
        position = end


def _spliced(
    block: bytes, offset: int, spans: list[tuple[int, int, int]], replacements: list[bytes]
) -> bytes:
    view = memoryview(block)
    pieces: list[bytes | memoryview] = []
    position = 0
    for start, end, which in spans:
        pieces += (view[position : start - offset], replacements[which])
        position = end - offset
    pieces.append(view[position:])
    return b"".join(pieces)


def rewrite(data: bytes, paths: PathMap) -> bytes:
    """The whole of a history in memory, rewritten; for small files and for tests."""

    def read(offset: int, length: int) -> bytes:
        return data[offset : offset + length]

    return b"".join(rewritten(read, scan(read, len(data), paths)))
