"""history.jsonl: find the `project` values that move, at about the speed of reading the file.

A line is looked at only if it can match: it holds the bytes of OLD, or an escape (`\\u`, `\\/`)
in which OLD could be spelled. Every other byte is passed over in large blocks. A line ends at
`\\n` only; one that is not a JSON object in valid UTF-8 stays as it is. Of repeated `project`
keys the last counts, as the client reads it; the others stay.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from ccmove.jsonspan import NotJsonError, loads, parse, quote
from ccmove.pathmap import PathMap

BLOCK = 4 << 20
LONGEST_LINE = 64 << 20  # a longer one is not a prompt any more; it is passed over
Read = Callable[[int, int], bytes]  # (offset, length) -> bytes, short only at the end

_USUAL = re.compile(rb'"project":("[^"\\]*")')
_ESCAPE = re.compile(rb"\\[u/]")


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
    _spelled: dict[str, bytes] = field(default_factory=dict)
    _known: dict[bytes, int] = field(default_factory=dict)

    def add(self, offset: int, value: Value) -> None:
        """The value of a line that begins at `offset` moves."""
        if value.after not in self._spelled:
            self._spelled[value.after] = encoded(value.after)
        spelled = self._spelled[value.after]
        self.add_raw(offset + value.start, offset + value.end, spelled)
        move = (value.before, value.after)
        self.counts[move] = self.counts.get(move, 0) + 1

    def add_raw(self, start: int, end: int, raw: bytes) -> None:
        """One span that gets these bytes; for lines that were found by other means."""
        self.lines += 1
        self.starts.append(start)
        self.ends.append(end)
        self.which.append(self._place_of(raw))

    def _place_of(self, raw: bytes) -> int:
        if raw not in self._known:
            self._known[raw] = len(self.replacements)
            self.replacements.append(raw)
        return self._known[raw]

    def grown_by(self) -> int:
        """How many bytes larger the file is after the move."""
        after = sum(len(self.replacements[i]) for i in self.which)
        return after - (sum(self.ends) - sum(self.starts))


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
        self._moves: dict[bytes, tuple[str, str] | None] = {}

    def search(self, block: bytes, offset: int, found: Scan) -> None:
        """Add what moves in a block of whole lines that begins at `offset` in the file."""
        for start, end in _candidate_lines(block, self.needles):
            line = block[start:end]
            try:
                value = self.value(line)
            except (NotJsonError, UnicodeDecodeError):
                found.unreadable += any(needle in line for needle in self.needles)
                continue
            if value is not None:
                found.add(offset + start, value)

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
            record = loads(text)
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
    if usual is None or line.count(b'"project"') > 1 or b"\\u" in line:
        return None
    return usual.span(1)


def _candidate_lines(block: bytes, needles: list[bytes]) -> Iterator[tuple[int, int]]:
    """Lines that hold one of the needles or an escape, in order, each once."""
    none = len(block)
    finders = [partial(_find, block, needle) for needle in needles]
    finders.append(partial(_find_escape, block))
    nexts = [find(0) for find in finders]
    while (at := min(nexts)) < none:
        start = block.rfind(b"\n", 0, at) + 1
        end = block.find(b"\n", at)
        end = none if end < 0 else end
        yield start, end
        for i, position in enumerate(nexts):
            if position < end:
                nexts[i] = finders[i](end)


def _find(block: bytes, needle: bytes, position: int) -> int:
    at = block.find(needle, position)
    return at if at >= 0 else len(block)


def _find_escape(block: bytes, position: int) -> int:
    match = _ESCAPE.search(block, position)
    return match.start() if match else len(block)


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
