"""history.jsonl: find the `project` values that move, at about the speed of reading the file.

A line is looked at only if it can match: it holds the bytes of OLD, or an escape (`\\u`, `\\/`)
in which OLD could be spelled. Every other byte is passed over in large blocks. A line ends at
`\\n` only; one that is not a JSON object in valid UTF-8 stays as it is.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ccmove.jsonspan import NotJsonError, loads, parse, quote
from ccmove.pathmap import PathMap

BLOCK = 4 << 20
LONGEST_LINE = 64 << 20  # a longer one is not a prompt any more; it is passed over
Read = Callable[[int, int], bytes]  # (offset, length) -> bytes, short only at the end


@dataclass(frozen=True)
class Value:
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
    unreadable: int = 0  # lines that hold OLD but are no valid JSON object
    too_long: int = 0
    _known: dict[bytes, int] = field(default_factory=dict)

    def add(self, offset: int, values: list[Value]) -> None:
        self.lines += 1
        for value in values:
            self.starts.append(offset + value.start)
            self.ends.append(offset + value.end)
            self.which.append(self._place_of(encoded(value.after)))
            key = (value.before, value.after)
            self.counts[key] = self.counts.get(key, 0) + 1

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
    return quote(path).encode("utf-8", "surrogateescape")


def scan(
    read: Read,
    size: int,
    paths: PathMap,
    start: int = 0,
    tick: Callable[[int], None] | None = None,
) -> Scan:
    """Look at the bytes from `start` to `size`; the last line may lack its newline."""
    found = Scan(size=start)
    needles = [encoded(n)[1:-1] for n in paths.needles()]
    position = start
    long_line = False  # inside a line too long to look at: pass over the rest of it
    while position < size:
        block = _whole_lines(read, position, size)
        if not block:
            break  # the file has shrunk meanwhile; whoever compares sizes will notice
        first = (block.find(b"\n") + 1 or len(block)) if long_line else 0
        ends_line = block.endswith(b"\n") or position + len(block) >= size
        found.too_long += not ends_line and not long_line
        long_line = not ends_line
        if ends_line:
            _scan_block(block[first:] if first else block, position + first, needles, paths, found)
        position += len(block)
        found.size = position
        if tick:
            tick(position - start)
    return found


def _whole_lines(read: Read, position: int, size: int) -> bytes:
    """A block that ends with a line (or the file), unless that line is longer than any should be."""
    length = BLOCK
    while True:
        block = read(position, min(length, size - position))
        if not block or position + len(block) >= size:
            return block
        newline = block.rfind(b"\n")
        if newline >= 0:
            return block[: newline + 1]
        if length >= LONGEST_LINE:
            return block
        length *= 2


def _scan_block(
    block: bytes, offset: int, needles: list[bytes], paths: PathMap, found: Scan
) -> None:
    for start, end in _candidate_lines(block, needles):
        line = block[start:end]
        try:
            values = project_values(line, paths)
        except (NotJsonError, UnicodeDecodeError):
            found.unreadable += any(needle in line for needle in needles)
            continue
        if values:
            found.add(offset + start, values)


def _candidate_lines(block: bytes, needles: list[bytes]) -> Iterator[tuple[int, int]]:
    """Lines that hold one of the needles or an escape, in order, each once."""
    wanted = [*needles, b"\\u", b"\\/"]
    nexts = [block.find(needle) for needle in wanted]
    while True:
        hits = [at for at in nexts if at >= 0]
        if not hits:
            return
        at = min(hits)
        start = block.rfind(b"\n", 0, at) + 1
        end = block.find(b"\n", at)
        end = len(block) if end < 0 else end
        yield start, end
        for i, position in enumerate(nexts):
            if 0 <= position < end:
                nexts[i] = block.find(wanted[i], end)


def project_values(line: bytes, paths: PathMap) -> list[Value]:
    """The top-level `project` values of a line that move; raises on what is no JSON text."""
    text = line.decode()
    record = loads(text)
    if not isinstance(record, dict):
        return []
    before = record.get("project")
    if line.count(b'"project"') == 1 and b"\\u" not in line and isinstance(before, str):
        plain = _plain_value(line, before, paths)
        if plain is not None:
            return plain
    return _exact_values(text, paths)


def _plain_value(line: bytes, before: str, paths: PathMap) -> list[Value] | None:
    """The usual spelling, found without walking the line; None when it is not the usual one."""
    after = paths.map(before)
    if after is None:
        return []
    spelled = encoded(before)
    start = line.find(b'"project":' + spelled)
    if start < 0:
        return None
    start += len(b'"project":')
    return [Value(start, start + len(spelled), before, after)]


def _exact_values(text: str, paths: PathMap) -> list[Value]:
    values = []
    root = parse(text, lambda pointer: not pointer)
    for key, item in root.members():
        if key.value != "project" or type(item.value) is not str:
            continue
        after = paths.map(item.value)
        if after is not None:
            start = len(text[: item.start].encode())
            length = len(text[item.start : item.end].encode())
            values.append(Value(start, start + length, item.value, after))
    return values


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
