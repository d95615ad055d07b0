"""history.jsonl: find the `project` values that move, write the new ones, and undo
that.

A line is looked at only if it can match: it holds OLD where a value may begin, or an
escape (`\\u`, `\\/`) in which OLD could be spelled. Every other byte is passed over in
blocks. A line ends at `\\n` only; one that is not a JSON object in valid UTF-8 stays as
it is. Of repeated `project` keys the last counts, as the client reads it; the others
stay.
"""

import hashlib
import json
import re
import struct
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import ClassVar, NamedTuple, Protocol

from ccmove.errors import StaleLookError
from ccmove.rewrite.jsonspan import NotJsonError, parse, quote
from ccmove.rewrite.pathmap import PathMap

BLOCK = 256 << 10  # larger ones leave the processor's cache: half as much again
PIECE = 1 << 20  # for writing, where each is handed to another thread as well
FIRST_BYTES = 4096  # by which another encoding is known
LATEST = 1e14  # milliseconds; no real moment is beyond
LONGEST_LINE = 64 << 20  # a longer one is not a prompt any more: its parts are no JSON
Read = Callable[[int, int], bytes]  # (offset, length) -> bytes, short only at the end
Tick = Callable[[int], None] | None  # told how many bytes were read
_Line = tuple[bytes, bytes]  # its path, and the digest of the rest
Sign = bytes | re.Pattern[bytes]  # by which a line is worth a look

_ESCAPE = re.compile(rb"\\(?:/|u(?!00[01]))")
_CONTROL = re.compile(
    rb"\\u00[01]"
)  # a character that JSON has to escape: many, in few paths
_ENDS = (b'"', b"/", b"\\", b"\n")  # what may come after a whole path
# A line as the client writes it. In text an escape that needs a second look is not
# usual; possessive, so that a failure is quick and a long line takes no memory.
_TEXT = r'"(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt])*+"'
_PASTED = rf'"[1-9]\d*":\{{"id":[1-9]\d*,"type":"text","content":{_TEXT}\}}'
_USUAL = re.compile(
    rf'^\{{"display":{_TEXT},'
    rf'"pastedContents":\{{(?:{_PASTED}(?:,{_PASTED}){{0,9}})?\}},'
    r'"timestamp":([1-9]\d{0,13}),"project":("[^"\\\x00-\x1f]*")'
    rf'(?:,"sessionId":({_TEXT}))?\}}$'.encode(),
    re.MULTILINE,
)
_GROUPS = 4  # of a split by it: text between, timestamp, project, session


class Prompt(NamedTuple):
    """One line of the history whose `project` is a string."""

    start: int  # where the value of `project` begins
    project: bytes  # its JSON text
    digest: bytes  # of the rest of the line, by which it is known again
    raw_session: bytes | None

    @property
    def session(self) -> str | None:
        if self.raw_session is None:
            return None
        return decoded(self.raw_session)

    def with_path(self, line: bytes, path: str) -> bytes:
        """The line that it is, from its own beginning, with another path."""
        before = line[: self.start]
        behind = line[self.start + len(self.project) :]
        return before + encoded(path) + behind


class Rule(Protocol):
    """Which prompts get another path."""

    by_session: ClassVar[bool]  # prompts of one path may go to several

    @property
    def needles(self) -> tuple[str, ...]:
        """Strings of which every path that changes contains one."""

    def new_path(self, path: str, session: str | None) -> str | None:
        """What the path of a prompt becomes; None: it stays."""


@dataclass(frozen=True)
class ByPath:
    """The rule of a move: prompts follow their path."""

    paths: PathMap
    by_session: ClassVar[bool] = False

    @property
    def needles(self) -> tuple[str, ...]:
        return self.paths.needles()

    def new_path(self, path: str, session: str | None) -> str | None:  # noqa: ARG002
        return self.paths.map(path)


class Swap(NamedTuple):
    """A value as it is spelled in the file, and what comes in its place; or a whole
    line that comes, or goes, where there is nothing on the other side.
    """

    old: bytes
    new: bytes

    @property
    def move(self) -> tuple[str, str]:
        return _path_in(self.old), _path_in(self.new)

    @property
    def texts(self) -> tuple[str, str]:
        return self.old.decode(), self.new.decode()

    @property
    def growth(self) -> int:
        return len(self.new) - len(self.old)


@dataclass(eq=False, repr=False)
class Scan:
    """What changes in a history: a row for each line,
    of maybe millions, with few swaps.
    """

    # Where the value begins, the number of its swap, its line.
    ROW = struct.Struct("<QI8s")

    size: int = 0  # how much of the file was looked at
    rows: bytearray = field(default_factory=bytearray)
    swaps: dict[Swap, int] = field(default_factory=dict)  # with their numbers
    unreadable: int = 0  # lines with OLD that are not valid JSON, or too long
    is_utf16: bool = False  # as an editor may save it: no path is found in it
    staying: set[bytes] = field(
        default_factory=set
    )  # `project`s that were met and stay
    met: list[bytes] = field(default_factory=list)  # digests of their lines
    # How many lines each swap changes, by its number.
    _times: list[int] = field(default_factory=list)

    @property
    def lines(self) -> int:
        return len(self.rows) // self.ROW.size

    @property
    def counts(self) -> dict[tuple[str, str], int]:
        """How many lines change from what to what."""
        counts: Counter[tuple[str, str]] = Counter()
        for swap, number in self.swaps.items():
            counts[swap.move] += self._times[number]
        return dict(counts)

    def new_size(self) -> int:
        size = self.size
        for swap, number in self.swaps.items():
            size += swap.growth * self._times[number]
        return size

    def add(self, start: int, swap: Swap, line: bytes) -> None:
        """The value that begins here changes; by its digest the line is known again."""
        number = self.swaps.setdefault(swap, len(self.swaps))
        if number == len(self._times):
            self._times.append(0)
        self._times[number] += 1
        self.rows += self.ROW.pack(start, number, line)

    def take(self, prompt: Prompt, swap: Swap | None) -> None:
        """The path of a prompt changes, or was met and stays."""
        if swap is None:
            self.staying.add(prompt.project)
            self.met.append(prompt.digest)
        else:
            self.add(prompt.start, swap, prompt.digest)

    def __iter__(self) -> Iterator[tuple[int, Swap, bytes]]:
        swaps = list(self.swaps)
        for start, number, line in self.ROW.iter_unpack(self.rows):
            yield start, swaps[number], line

    def copy(self) -> "Scan":
        """One that can be extended, while this stays as it is."""
        rows = bytearray(self.rows)
        swaps = dict(self.swaps)
        times = list(self._times)
        return replace(self, rows=rows, swaps=swaps, _times=times)

    def extend(self, rest: "Scan") -> None:
        for row in rest:
            self.add(*row)
        self.size = rest.size


def _path_in(raw: bytes) -> str:
    """The path that a value is, or that a line has; "" where there is nothing."""
    line = raw.strip(b"\n")
    if not line.startswith(b"{"):
        if line:
            return decoded(line)
        return ""
    prompt = prompt_of(line)
    if prompt is None:
        raise NotJsonError("a line without a path")
    return decoded(prompt.project)


def prompt_of(line: bytes) -> Prompt | None:
    """The prompt that a line is, from its own beginning; None for any other line."""
    try:
        return _prompt(line, 0)
    except (NotJsonError, UnicodeDecodeError):
        return None


def encoded(path: str) -> bytes:
    return quote(path).encode()


def decoded(raw: bytes) -> str:
    path: str = json.loads(raw.decode())
    return path


def scan(read: Read, size: int, rule: Rule, start: int = 0, tick: Tick = None) -> Scan:
    """Look at the bytes from `start` to `size`; `tick` is told how many so far."""
    # JSON has no NUL.
    changes = Scan(start, is_utf16=b"\0" in read(start, FIRST_BYTES))
    swap_of = cache(partial(_swap_by, rule))  # few paths, maybe millions of lines
    for prompt in prompts_with(read, size, rule.needles, changes, tick):
        session = prompt.session if rule.by_session else None
        changes.take(prompt, swap_of(prompt.project, session))
    return changes


def _swap_by(rule: Rule, project: bytes, session: str | None) -> Swap | None:
    """What the rule makes of a prompt's path; None: it stays."""
    path = decoded(project)
    new = rule.new_path(path, session)
    if new is None or new == path:
        return None
    return Swap(project, encoded(new))


def prompts_with(
    read: Read, size: int, needles: Iterable[str], scan: Scan, tick: Tick = None
) -> Iterator[Prompt]:
    """Every prompt whose path may hold a needle.

    It goes on from `scan.size`, which follows, and counts there what can't be read.
    """
    needles = list(needles)
    signs = [_sign(needle) for needle in needles]
    worth_a_look = [*signs, _ESCAPE]
    if not "".join(needles).isprintable():
        worth_a_look.append(_CONTROL)
    for start, block, end in blocks(read, scan.size, size):
        for at, line in _lines_with(block, end, worth_a_look):
            try:
                prompt = _prompt(line, start + at)
            except (NotJsonError, UnicodeDecodeError):
                scan.unreadable += any(_spots(line, len(line), sign) for sign in signs)
                continue
            if prompt is not None:
                yield prompt
        scan.size = start + end
        if tick:
            tick(scan.size)


def _sign(needle: str) -> Sign:
    """What a string begins with that may name the needle; it may be cut off after it.

    Of a Windows path it is a part of the last component, which may stand anywhere, in
    any case.
    """
    spelled = encoded(needle)[1:-1]
    if needle.startswith("/"):
        return b'"' + spelled
    return re.compile(re.escape(spelled), re.IGNORECASE)


def _spots(block: bytes, end: int, sign: Sign) -> list[int]:
    """Where the sign is, and a whole component ends: not in `/code/app-docker`."""
    if isinstance(sign, re.Pattern):
        matches = sign.finditer(block, 0, end)
        return [match.start() for match in matches]
    spots: list[int] = []
    after = 0
    while True:  # in a third of the time that a pattern takes
        spot = block.find(sign, after, end)
        if spot < 0:
            return spots
        after = spot + len(sign)
        is_last = after == len(block)
        if is_last or block.startswith(_ENDS, after):
            spots.append(spot)


def blocks(
    read: Read, start: int, size: int, most: int = 0
) -> Iterator[tuple[int, bytes, int]]:
    """All from `start` on: where a block begins, its bytes, and where its last whole
    line ends.

    It is not cut there: copying takes longer than reading. A line that is too long
    comes in parts.
    """
    most = most or BLOCK
    length = most
    while start < size:
        block = read(start, min(length, size - start))
        if not block:
            return
        end = block.rfind(b"\n") + 1
        is_last = start + len(block) >= size
        is_too_long = length >= LONGEST_LINE
        if not (end or is_last or is_too_long):
            length *= 2
            continue
        if is_last or not end:
            end = len(block)
        yield start, block, end
        start += end
        length = most


def _lines_with(
    block: bytes, end: int, signs: list[Sign]
) -> Iterator[tuple[int, bytes]]:
    """Every line that holds a sign, and where it begins."""
    spots: set[int] = set()
    for sign in signs:
        spots.update(_spots(block, end, sign))
    done = 0
    for spot in sorted(spots):
        if spot < done:
            continue
        start = block.rfind(b"\n", 0, spot) + 1
        stop = block.find(b"\n", spot, end)
        if stop < 0:
            stop = end
        yield start, block[start:stop]
        done = stop + 1


def _prompt(line: bytes, start: int) -> Prompt | None:
    """The prompt that a line is, if its `project` is a string; raises on no JSON."""
    text = line.decode()
    usual = _USUAL.fullmatch(line)
    if usual is not None:
        begin, end = usual.span(2)
        session = usual[3]
    elif text.startswith("\ufeff"):  # a file may begin with one, but this is a line
        raise NotJsonError("a byte order mark")
    else:
        root = parse(text)
        if root.string("project") is None:
            return None
        project = root.members()["project"]
        ahead = text[: project.start]
        begin = len(ahead.encode())
        end = begin + len(project.raw.encode())
        name = root.string("sessionId")
        session = None if name is None else encoded(name)
    value = line[begin:end]
    digest = _digest(line, begin, end)
    return Prompt(start + begin, value, digest, session)


def _digest(line: bytes, begin: int, end: int) -> bytes:
    """By this a line is known again, whatever its value at `begin` is by then."""
    ahead = line[:begin]
    behind = line[end:].rstrip(b"\r")
    rest = ahead + b"\0" + behind  # valid JSON holds no NUL
    return hashlib.blake2b(rest, digest_size=8).digest()


def rewritten(read: Read, scan: Scan, start: int = 0) -> Iterator[bytes]:
    """The bytes of `start`..`scan.size` with the new values, block by block."""
    rows = iter(scan)
    row = next(rows, None)
    for position, block, end in blocks(read, start, scan.size, PIECE):
        view = memoryview(block)
        pieces: list[bytes | memoryview] = []
        done = 0
        next_position = position + end
        while row is not None and row[0] < next_position:
            value_start, swap, _ = row
            begin = value_start - position
            as_before = view[done:begin]
            pieces.append(as_before)
            pieces.append(swap.new)
            done = begin + len(swap.old)
            is_as_seen = block.startswith(swap.old, begin)
            if not is_as_seen:
                raise StaleLookError("the history has changed since it was looked at")
            row = next(rows, None)
        pieces.append(view[done:end])
        yield b"".join(pieces)
    while row is not None:  # lines that are added at the end
        yield row[1].new
        row = next(rows, None)


def to_record(scan: Scan) -> Iterator[bytes]:
    """What a backup keeps: a line of JSON with the swaps,
    and the rows as they are, in pieces.
    """
    swaps = [swap.texts for swap in scan.swaps]
    head = json.dumps(swaps)
    yield head.encode() + b"\n"
    for start in range(0, len(scan.rows), BLOCK):
        piece = scan.rows[start : start + BLOCK]
        yield bytes(piece)


def from_record(data: bytes, before: int, after: int) -> Scan:
    """What was kept of a history that had these sizes;
    ValueError for what can't be that.
    """
    head, _, rows = data.partition(b"\n")
    kept = Scan(before)
    end = 0
    try:
        swaps = [_swap_of(*pair) for pair in json.loads(head)]
        for start, number, line in Scan.ROW.iter_unpack(rows):
            if start < end:
                raise ValueError("values that overlap")
            kept.add(start, swaps[number], line)
            end = start + len(swaps[number].old)
    except (AttributeError, IndexError, TypeError, struct.error):
        raise ValueError("not what is kept of a history") from None
    if end > before:
        raise ValueError("values behind the end")
    if kept.new_size() != after:
        raise ValueError("not what is kept of this history")
    return kept


def _swap_of(old: str, new: str) -> Swap:
    """A swap as it was kept; ValueError when its values are no strings of JSON."""
    swap = Swap(old.encode(), new.encode())
    if not all(isinstance(path, str) for path in swap.move):
        raise ValueError("not what is kept of a history")
    return swap


def spans_back(kept: Scan, size_after: int) -> Scan:
    """The way back in a file whose first `size_after`
    bytes are exactly what the run wrote.
    """
    changes = Scan(size_after)
    shift = 0
    for start, swap, line in kept:
        back = Swap(swap.new, swap.old)
        changes.add(start + shift, back, line)
        shift += swap.growth
    return changes


@dataclass(frozen=True)
class WayBack:
    """How an undo decides about prompts that are at NEW now."""

    rule: Rule  # for those that came since
    met: frozenset[bytes] = frozenset()  # digests of those that were at NEW before
    elsewhere: frozenset[str] = frozenset()  # sessions that left NEW


def lines_back(kept: Scan, read: Read, size: int, way: WayBack) -> Scan:
    """The way back, line by line.

    A line that the run wrote gets its old value, lines that repeat in order; one that
    came since, or of a session that left, goes by the rule; what was at NEW before
    stays.
    """
    written: dict[_Line, list[bytes]] = defaultdict(list)
    for _, swap, line in kept:
        key = swap.new, line
        written[key].append(swap.old)
    changes = Scan()
    needles = _needles_back(kept, way.rule)
    for prompt in prompts_with(read, size, needles, changes):
        project = prompt.project
        digest = prompt.digest
        session = prompt.session
        key = project, digest
        olds = written.get(key, [])
        back: Swap | None = None
        if olds and session not in way.elsewhere:
            back = Swap(project, olds[0])
            if len(olds) > 1:
                del olds[0]
        elif digest not in way.met:
            back = _swap_by(way.rule, project, session)
        changes.take(prompt, back)
    return changes


def _needles_back(kept: Scan, rule: Rule) -> list[str]:
    """What a line must hold that may go back."""
    needles = [*rule.needles]
    for path in sorted({swap.move[1] for swap in kept.swaps}):
        if not path.startswith(tuple(needles)):
            needles.append(path)
    return needles


def count_prompts(
    read: Read, size: int, tick: Callable[[int, int], None] | None = None
) -> dict[str, tuple[int, int]]:
    """Of every `project`: how many lines, and the newest in ns or 0."""
    lines: Counter[bytes] = Counter()
    newest: Counter[bytes] = Counter()
    for start, block, end in blocks(read, 0, size):
        if tick:
            tick(start, size)
        whole_lines = block[:end]
        for raw, time in _prompts_in(whole_lines):
            lines[raw] += 1
            if time > newest[raw]:
                newest[raw] = time
    counts = {}
    for raw, count in lines.items():
        nanoseconds = newest[raw] * 1_000_000
        counts[decoded(raw)] = count, nanoseconds
    return counts


def _prompts_in(block: bytes) -> Iterator[tuple[bytes, int]]:
    """Project, as the client spells it, and time (ms, or 0) of every line that is valid
    JSON.
    """
    try:
        block.decode()
        parts = _USUAL.split(block)  # which takes half the time of decoding every line
    except UnicodeDecodeError:
        parts = [block]
    times = map(int, parts[1::_GROUPS])
    yield from zip(parts[2::_GROUPS], times, strict=True)
    rest = b"".join(parts[0::_GROUPS])
    for line in rest.split(b"\n"):
        try:
            record = json.loads(line or b"0")
        except (ValueError, RecursionError):
            continue
        if not isinstance(record, dict):
            continue
        path = record.get("project")
        time = record.get("timestamp")
        if not isinstance(time, int | float) or not 0 < time < LATEST:
            time = 0
        if isinstance(path, str):
            yield encoded(path), int(time)
