"""What a finished run keeps of a history, and how its changes are taken out again."""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from array import array
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ccmove.rewrite.history import Read, Scan, Swap, blocks, project_values
from ccmove.rewrite.pathmap import PathMap

DIGEST = 8  # bytes for each line


@dataclass(frozen=True)
class Changed:
    """What a run changed in a history: as much as undoing it takes."""

    swaps: tuple[tuple[bytes, bytes], ...]  # the value as it was spelled, and as it is
    starts: array[int]  # of the values, in the file before
    which: array[int]  # for each its swap
    lines: bytes  # a digest of each changed line as it is after, without its end


def changed(read: Read, scan: Scan, start: int = 0) -> Changed:
    """What a scan of the file before, from `start` on, came to; that is read once more."""
    swaps = tuple((swap.old, swap.new) for swap in scan.swaps)
    lines = b"".join(_digests(read, scan, start))
    return Changed(swaps, scan.starts, scan.which, lines)


def joined(first: Changed, rest: Changed) -> Changed:
    """Both, one behind the other."""
    swaps = list(dict.fromkeys((*first.swaps, *rest.swaps)))
    which = [swaps.index(rest.swaps[place]) for place in rest.which]
    return Changed(
        tuple(swaps),
        first.starts + rest.starts,
        first.which + array("I", which),
        first.lines + rest.lines,
    )


def _digests(read: Read, scan: Scan, start: int) -> Iterator[bytes]:
    position = Scan(start)
    spans = scan.spans()
    begins, ends, raw = next(spans, (scan.size, 0, b""))
    for block in blocks(read, scan.size, position):
        while begins < position.size + len(block):
            at = begins - position.size
            end = block.find(b"\n", at)
            rest = block[ends - position.size : len(block) if end < 0 else end]
            yield _digest(block[block.rfind(b"\n", 0, at) + 1 : at] + raw + rest)
            begins, ends, raw = next(spans, (scan.size, 0, b""))


def _digest(line: bytes) -> bytes:
    return hashlib.blake2b(line.rstrip(b"\r"), digest_size=DIGEST).digest()


# -- on disk ---------------------------------------------------------------------------------------


def to_json(changed: Changed) -> dict[str, Any]:
    """As JSON can hold it."""
    return {
        "swaps": [[old.decode(), new.decode()] for old, new in changed.swaps],
        "starts": _packed(changed.starts),
        "which": _packed(changed.which),
        "lines": base64.b64encode(changed.lines).decode(),
    }


def from_json(record: Any) -> Changed:
    """What was kept; ValueError for anything that `to_json` can't have made."""
    if not isinstance(record, dict) or record.keys() != {"swaps", "starts", "which", "lines"}:
        raise ValueError("not what is kept of a history")
    swaps = record["swaps"]
    pairs = tuple(map(_pair, swaps if isinstance(swaps, list) else [None]))
    starts, which = _unpacked("Q", record["starts"]), _unpacked("I", record["which"])
    lines = _bytes(record["lines"])
    if not len(starts) == len(which) == len(lines) / DIGEST:
        raise ValueError("numbers that do not agree")
    end = 0
    for start, place in zip(starts, which, strict=True):
        if start < end or place >= len(pairs):
            raise ValueError("a change that can't be")
        end = start + len(pairs[place][0])
    return Changed(pairs, starts, which, lines)


def _pair(swap: Any) -> tuple[bytes, bytes]:
    if not isinstance(swap, list) or [type(raw) for raw in swap] != [str, str]:
        raise ValueError("not a pair of strings")
    if not all(isinstance(json.loads(raw), str) for raw in swap):
        raise ValueError("not a pair of JSON strings")
    return swap[0].encode(), swap[1].encode()


def _packed(numbers: array[int]) -> str:
    return base64.b64encode(_little(numbers).tobytes()).decode()


def _unpacked(code: str, text: Any) -> array[int]:
    numbers = array(code)
    numbers.frombytes(_bytes(text))  # ValueError when these are no whole numbers
    return _little(numbers)


def _little(numbers: array[int]) -> array[int]:
    """To or from the order of bytes on disk."""
    numbers = numbers[:]
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _bytes(text: Any) -> bytes:
    if not isinstance(text, str):
        raise ValueError("not a text")
    return base64.b64decode(text, validate=True)  # its errors are ValueErrors


# -- back ------------------------------------------------------------------------------------------


def spans_back(changed: Changed, size_after: int) -> Scan:
    """The way back in a file whose first `size_after` bytes are exactly what the run wrote."""
    found = Scan(size_after)
    swaps = _swaps_back(changed)
    shift = 0
    for start, place in zip(changed.starts, changed.which, strict=True):
        swap = swaps[place]
        found.add(start + shift, swap)
        shift += len(swap.old) - len(swap.new)
        if found.starts[-1] + len(swap.old) > size_after:
            raise ValueError("a change behind the end of the file")
    return found


def _swaps_back(changed: Changed) -> list[Swap]:
    return [Swap(new, old, (json.loads(new), json.loads(old))) for old, new in changed.swaps]


def lines_back(changed: Changed, read: Read, size: int, back: PathMap) -> Scan:
    """The way back in a history in which lines have come and gone.

    A line that the run wrote gets its old value; one that came since is mapped by `back`.
    """
    swaps = _swaps_back(changed)
    place_of, later = _written(changed)
    needles = [*back.needles()]
    needles += [s.move[0] for s in swaps if not any(n in s.move[0] for n in needles)]
    found = Scan()
    for value in project_values(read, size, needles, found):
        digest = _digest(value.line)
        place = place_of.get(digest)
        if later.get(digest):
            place_of[digest] = later[digest].popleft()
        new = back.map(value.path) if place is None else None
        if place is not None and swaps[place].old == value.raw:
            found.add(value.start, swaps[place])
        elif new is not None:
            found.add(value.start, value.swapped(new))
    return found


def _written(changed: Changed) -> tuple[dict[bytes, int], dict[bytes, deque[int]]]:
    """By the digest of each line that the run wrote its swap, and those of others like it.

    Lines that are the same, few, have theirs in the order of the file.
    """
    place_of: dict[bytes, int] = {}
    later: dict[bytes, deque[int]] = defaultdict(deque)
    for number, place in enumerate(changed.which):
        digest = changed.lines[number * DIGEST : (number + 1) * DIGEST]
        if digest in place_of:
            later[digest].append(place)
        else:
            place_of[digest] = place
    return place_of, later
