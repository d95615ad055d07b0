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
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from ccmove.errors import StaleLookError
from ccmove.rewrite.jsonspan import Node, NotJsonError, parse, quote
from ccmove.rewrite.pathmap import PathMap

BLOCK = 256 << 10  # larger ones leave the processor's cache: half as much again
PIECE = 1 << 20  # for writing, where each is handed to another thread as well
FIRST_BYTES = 4096  # by which another encoding is known
LATEST = 1e14  # milliseconds; no real moment is beyond
LONGEST_LINE = 64 << 20  # a longer one is not a prompt any more: its parts are no JSON
Read = Callable[[int, int], bytes]  # (offset, length) -> bytes, short only at the end
Tick = Callable[[int], None] | None
Sign = bytes | re.Pattern[bytes]  # by which a line is worth a look

_ESCAPE = re.compile(rb"\\(?:/|u(?!00[01]))")
_CONTROL = re.compile(
    rb"\\u00[01]"
)  # a character that JSON has to escape: many, in few paths
_ENDS = (b'"', b"/", b"\\", b"\n", b"")  # what may come after a whole path
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
    session: str | None


class Rule(Protocol):
    """Which prompts get another path."""

    @property
    def needles(self) -> tuple[str, ...]:
        """Strings of which every path that changes contains one."""

    def new_path(self, path: str, session: str | None) -> str | None:
        """What the path of a prompt becomes; None: it stays."""


@dataclass(frozen=True)
class ByPath:
    """The rule of a move: prompts follow their path."""

    paths: PathMap

    @property
    def needles(self) -> tuple[str, ...]:
        return self.paths.needles()

    def new_path(self, path: str, session: str | None) -> str | None:  # noqa: ARG002
        return self.paths.map(path)


class Swap(NamedTuple):
    """A value as it is spelled in the file, and what comes in its place."""

    old: bytes
    new: bytes

    @property
    def move(self) -> tuple[str, str]:
        return decoded(self.old), decoded(self.new)


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
    staying: set[str] = field(default_factory=set)  # paths that were met and stay
    met: list[bytes] = field(default_factory=list)  # digests of their lines
    # How many lines each swap changes, by its number.
    _times: list[int] = field(default_factory=list)

    @property
    def lines(self) -> int:
        return len(self.rows) // self.ROW.size

    @property
    def counts(self) -> dict[tuple[str, str], int]:
        found: Counter[tuple[str, str]] = Counter()
        for swap, number in self.swaps.items():
            found[swap.move] += self._times[number]
        return dict(found)

    def new_size(self) -> int:
        times = zip(self.swaps, self._times, strict=True)
        return self.size + sum((len(swap.new) - len(swap.old)) * n for swap, n in times)

    def add(self, start: int, swap: Swap, line: bytes) -> None:
        """The value that begins here changes; by its digest the line is known again."""
        number = self.swaps.setdefault(swap, len(self.swaps))
        if number == len(self._times):
            self._times.append(0)
        self._times[number] += 1
        self.rows += self.ROW.pack(start, number, line)

    def __iter__(self) -> Iterator[tuple[int, Swap, bytes]]:
        swaps = list(self.swaps)
        for start, number, line in self.ROW.iter_unpack(self.rows):
            yield start, swaps[number], line

    def copy(self) -> "Scan":
        twin = Scan(self.size)
        twin.rows = bytearray(self.rows)
        twin.swaps = dict(self.swaps)
        twin.unreadable = self.unreadable
        twin.staying = set(self.staying)
        twin.met = list(self.met)
        twin._times = list(self._times)
        return twin

    def extend(self, rest: "Scan") -> None:
        for row in rest:
            self.add(*row)
        self.size = rest.size


def encoded(path: str) -> bytes:
    return quote(path).encode()


def decoded(raw: bytes) -> str:
    path: str = json.loads(raw.decode())
    return path


def scan(read: Read, size: int, rule: Rule, start: int = 0, tick: Tick = None) -> Scan:
    """Look at the bytes from `start` to `size`; `tick` is told how many so far."""
    changes = Scan(start)
    changes.is_utf16 = b"\0" in read(start, FIRST_BYTES)  # which JSON has not
    swaps: dict[tuple[bytes, str | None], Swap | None] = {}
    for prompt in prompts_with(read, size, rule.needles, changes, tick):
        key = prompt.project, prompt.session
        if key not in swaps:
            path = decoded(prompt.project)
            new = rule.new_path(path, prompt.session)
            swaps[key] = _swap(prompt.project, path, new)
            if swaps[key] is None:
                changes.staying.add(path)
        swap = swaps[key]
        if swap is None:
            changes.met.append(prompt.digest)
        else:
            changes.add(prompt.start, swap, prompt.digest)
    return changes


def _swap(raw: bytes, path: str, new: str | None) -> "Swap | None":
    return Swap(raw, encoded(new)) if new not in (None, path) else None


def prompts_with(
    read: Read, size: int, needles: Iterable[str], found: Scan, tick: Tick = None
) -> Iterator[Prompt]:
    """Every prompt whose path may hold a needle.

    It goes on from `found.size`, which follows, and counts there what can't be read.
    """
    needles = list(needles)
    signs = [_sign(needle) for needle in needles]
    worth_a_look = [*signs, _ESCAPE]
    if not "".join(needles).isprintable():
        worth_a_look.append(_CONTROL)
    for start, block, end in blocks(read, found.size, size):
        for at, line in _lines_with(block, end, worth_a_look):
            try:
                prompt = _prompt(line, start + at)
            except (NotJsonError, UnicodeDecodeError):
                if _holds_one(line, signs):
                    found.unreadable += 1
                continue
            if prompt is not None:
                yield prompt
        found.size = start + end
        if tick:
            tick(found.size)


def _holds_one(line: bytes, signs: list[Sign]) -> bool:
    return any(_spots(line, len(line), sign) for sign in signs)


def _sign(needle: str) -> Sign:
    """What a string begins with that may name the needle; it may be cut off after it.

    Of a Windows path it is a part of the last component, which may stand anywhere, in
    any case.
    """
    spelled = encoded(needle)[1:-1]
    is_windows = not needle.startswith("/")
    return (
        re.compile(re.escape(spelled), re.IGNORECASE) if is_windows else b'"' + spelled
    )


def _spots(block: bytes, end: int, sign: Sign) -> list[int]:
    """Where the sign is, and a whole component ends: not in `/code/app-docker`."""
    if isinstance(sign, re.Pattern):
        return [match.start() for match in sign.finditer(block, 0, end)]
    spots = []
    spot = block.find(sign, 0, end)  # in a third of the time that a pattern takes
    while spot >= 0:
        after = spot + len(sign)
        if block[after : after + 1] in _ENDS:
            spots.append(spot)
        spot = block.find(sign, after, end)
    return spots


def blocks(
    read: Read, start: int, size: int, most: int = 0
) -> Iterator[tuple[int, bytes, int]]:
    """All from `start` on: where a block begins, its bytes, and where its last whole
    line ends.

    It is not cut there: copying takes longer than reading. A line that is too long
    comes in parts.
    """
    length = most = most or BLOCK
    while start < size and (block := read(start, min(length, size - start))):
        end = block.rfind(b"\n") + 1
        is_last = start + len(block) >= size
        if not end and not is_last and length < LONGEST_LINE:
            length *= 2
            continue
        end = len(block) if is_last or not end else end
        yield start, block, end
        start, length = start + end, most


def _lines_with(
    block: bytes, end: int, signs: list[Sign]
) -> Iterator[tuple[int, bytes]]:
    """Every line that holds a sign, and where it begins."""
    done = 0
    for spot in sorted(spot for sign in signs for spot in _spots(block, end, sign)):
        if spot >= done:
            start = block.rfind(b"\n", 0, spot) + 1
            done = block.find(b"\n", spot, end) + 1 or end + 1
            yield start, block[start : done - 1]


def _prompt(line: bytes, start: int) -> Prompt | None:
    """The prompt that a line is, if its `project` is a string; raises on no JSON."""
    text = line.decode()
    session = None
    if usual := _USUAL.fullmatch(line):
        begin, end = usual.span(2)
        if usual[3]:
            session = decoded(usual[3])
    elif text.startswith("\ufeff"):  # a file may begin with one, but this is a line
        raise NotJsonError("a byte order mark")
    else:
        members = parse(text).members()
        project = members.get("project")
        if project is None or not isinstance(project.value, str):
            return None
        ahead = text[: project.start]
        begin = len(ahead.encode())
        end = begin + len(project.raw.encode())
        session = _string(members.get("sessionId"))
    value = line[begin:end]
    digest = _digest(line, begin, end)
    return Prompt(start + begin, value, digest, session)


def _string(node: Node | None) -> str | None:
    if node is None or not isinstance(node.value, str):
        return None
    return node.value


def _digest(line: bytes, begin: int, end: int) -> bytes:
    """By this a line is known again, whatever its value at `begin` is by then."""
    ahead = line[:begin]
    behind = line[end:].rstrip(b"\r")
    rest = ahead + b"\0" + behind  # valid JSON holds no NUL
    return hashlib.blake2b(rest, digest_size=8).digest()


def rewritten(read: Read, found: Scan, start: int = 0) -> Iterator[bytes]:
    """The bytes of `start`..`found.size` with the new values, block by block."""
    rows = iter(found)
    at, swap, _ = next(rows, (found.size, None, b""))
    for position, block, end in blocks(read, start, found.size, PIECE):
        view, done = memoryview(block), 0
        pieces: list[bytes | memoryview] = []
        while swap is not None and at < position + end:
            pieces += (view[done : at - position], swap.new)
            done = at - position + len(swap.old)
            if block[at - position : done] != swap.old:
                raise StaleLookError("the history has changed since it was looked at")
            at, swap, _ = next(rows, (found.size, None, b""))
        yield b"".join((*pieces, view[done:end]))


def to_record(scan: Scan) -> Iterator[bytes]:
    """What a backup keeps: a line of JSON with the swaps,
    and the rows as they are, in pieces.
    """
    swaps = [(swap.old.decode(), swap.new.decode()) for swap in scan.swaps]
    yield json.dumps(swaps).encode() + b"\n"
    for start in range(0, len(scan.rows), BLOCK):
        yield bytes(scan.rows[start : start + BLOCK])


def from_record(data: bytes, before: int, after: int) -> Scan:
    """What was kept of a history that had these sizes;
    ValueError for what can't be that.
    """
    head, _, rows = data.partition(b"\n")
    kept, end = Scan(before), 0
    try:
        swaps = [Swap(old.encode(), new.encode()) for old, new in json.loads(head)]
        for start, number, line in Scan.ROW.iter_unpack(rows):
            if start < end:
                raise ValueError("values that overlap")
            kept.add(start, swaps[number], line)
            end = start + len(swaps[number].old)
    except (AttributeError, IndexError, TypeError, struct.error):
        raise ValueError("not what is kept of a history") from None
    are_strings = all(isinstance(path, str) for swap in swaps for path in swap.move)
    if kept.new_size() != after or end > before or not are_strings:
        raise ValueError("not what is kept of this history")
    return kept


def spans_back(kept: Scan, size_after: int) -> Scan:
    """The way back in a file whose first `size_after`
    bytes are exactly what the run wrote.
    """
    found, shift = Scan(size_after), 0
    for start, swap, line in kept:
        found.add(start + shift, Swap(swap.new, swap.old), line)
        shift += len(swap.new) - len(swap.old)
    return found


@dataclass(frozen=True)
class WayBack:
    """How an undo decides about prompts that are at NEW now."""

    rule: Rule  # for those that came since
    met: frozenset[bytes] = frozenset()  # digests of those that were at NEW before
    elsewhere: frozenset[str] = frozenset()  # sessions that stay with their prompts


def lines_back(kept: Scan, read: Read, size: int, way: WayBack) -> Scan:
    """The way back, line by line.

    A line that the run wrote gets its old value; one that came since goes by the rule;
    what was at NEW before stays.
    """
    written: dict[
        tuple[bytes, bytes], list[bytes]
    ] = {}  # (new value, line) -> old ones
    for _, swap, line in kept:
        written.setdefault((swap.new, line), []).append(swap.old)
    changes = Scan()
    needles = _needles_back(kept, way.rule)
    for prompt in prompts_with(read, size, needles, changes):
        if prompt.session in way.elsewhere:
            continue
        if olds := written.get((prompt.project, prompt.digest)):
            # Lines that repeat get theirs in their order.
            old = olds.pop(0) if len(olds) > 1 else olds[0]
            changes.add(prompt.start, Swap(prompt.project, old), prompt.digest)
        elif prompt.digest not in way.met:
            path = decoded(prompt.project)
            new = way.rule.new_path(path, prompt.session)
            later = _swap(prompt.project, path, new)
            if later is not None:
                changes.add(prompt.start, later, prompt.digest)
    return changes


def _needles_back(kept: Scan, rule: Rule) -> list[str]:
    """What a line must hold that may go back."""
    needles = [*rule.needles]
    for path in sorted({swap.move[1] for swap in kept.swaps}):
        if not any(path.startswith(needle) for needle in needles):
            needles.append(path)
    return needles


def count_prompts(
    read: Read, size: int, tick: Callable[[int, int], None] | None = None
) -> dict[str, tuple[int, int]]:
    """Of every `project`: how many lines, and the newest in ns or 0."""
    number: Counter[bytes] = Counter()
    newest: dict[bytes, int] = {}
    for start, block, end in blocks(read, 0, size):
        if tick:
            tick(start, size)
        for raw, time in _prompts_in(block[:end]):
            number[raw] += 1
            newest[raw] = max(time, newest.get(raw, 0))
    return {
        decoded(raw): (number[raw], time * 1_000_000) for raw, time in newest.items()
    }


def _prompts_in(block: bytes) -> Iterator[tuple[bytes, int]]:
    """Project, as the client spells it, and time (ms,
    or 0) of every line that is valid JSON.
    """
    try:
        block.decode()
        parts = _USUAL.split(block)  # which takes half the time of decoding every line
    except UnicodeDecodeError:
        parts = [block]
    projects, times = parts[2::_GROUPS], parts[1::_GROUPS]
    yield from zip(projects, map(int, times), strict=True)
    for line in b"".join(parts[0::_GROUPS]).split(b"\n"):
        try:
            record = json.loads(line) if line else None
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and isinstance(path := record.get("project"), str):
            time: Any = record.get("timestamp")
            is_date = isinstance(time, int | float) and 0 < time < LATEST
            yield encoded(path), int(time) if is_date else 0
