"""What a finished run keeps of a history, and how its changes are taken out again.

Kept is the scan: a line of JSON with the swaps, and the rows behind it as they are.
"""

from __future__ import annotations

import json
import struct
from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Any

from ccmove.rewrite.history import BLOCK, Read, Scan, Swap, encoded, project_values
from ccmove.rewrite.pathmap import PathMap


def to_record(scan: Scan) -> Iterator[bytes]:
    """What is kept, in pieces: a copy of millions of rows would be as large as all the rest."""
    swaps = [(swap.old.decode(), swap.new.decode()) for swap in scan.swaps]
    yield json.dumps(swaps).encode() + b"\n"
    for start in range(0, len(scan.rows), BLOCK):
        yield bytes(scan.rows[start : start + BLOCK])


def from_record(data: bytes) -> Scan:
    """What was kept; ValueError for anything that `to_record` can't have made."""
    head, newline, rows = data.partition(b"\n")
    pairs = json.loads(head)
    if not newline or not isinstance(pairs, list):
        raise ValueError("not what is kept of a history")
    swaps = [_swap(pair) for pair in pairs]
    kept = Scan()
    end = 0
    try:
        for start, number, line in Scan.ROW.iter_unpack(rows):
            if start < end:
                raise ValueError("values that overlap")
            kept.add(start, swaps[number], line)
            end = start + len(swaps[number].old)
    except (struct.error, IndexError):
        raise ValueError("a part of a row, or one without its swap") from None
    return kept


def _swap(pair: Any) -> Swap:
    if not isinstance(pair, list) or [type(raw) for raw in pair] != [str, str]:
        raise ValueError("not a pair of strings")
    swap = Swap(pair[0].encode(), pair[1].encode())
    if not all(isinstance(path, str) for path in swap.move):
        raise ValueError("not a pair of JSON strings")
    return swap


def spans_back(kept: Scan, size_after: int) -> Scan:
    """The way back in a file whose first `size_after` bytes are exactly what the run wrote."""
    found = Scan(size_after)
    shift = 0
    for start, swap, line in kept:
        if start + shift + len(swap.new) > size_after:
            raise ValueError("a change behind the end of the file")
        found.add(start + shift, Swap(swap.new, swap.old), line)
        shift += len(swap.new) - len(swap.old)
    return found


def lines_back(kept: Scan, read: Read, size: int, back: PathMap) -> Scan:
    """The way back in a history in which lines have come and gone.

    A line that the run wrote gets its old value; one that came since is mapped by `back`.
    """
    written: dict[tuple[bytes, bytes], bytes] = {}
    later: dict[tuple[bytes, bytes], deque[bytes]] = defaultdict(deque)  # of lines that repeat
    for _, swap, line in kept:
        if (swap.new, line) in written:
            later[swap.new, line].append(swap.old)
        else:
            written[swap.new, line] = swap.old
    needles = [*back.needles()]
    for path in dict.fromkeys(swap.move[1] for swap in kept.swaps):
        if not any(needle in path for needle in needles):
            needles.append(path)
    found = Scan()
    for value in project_values(read, size, needles, found):
        key = value.raw, value.digest()
        old = written.get(key)
        if later.get(key):
            written[key] = later[key].popleft()
        if old is None and (new := back.map(value.path)) is not None:
            old = encoded(new)
        if old is not None:
            found.add(value.start, Swap(value.raw, old), key[1])
    return found
