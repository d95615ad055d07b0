"""What a finished run keeps of a history, and how its changes are undone.

Kept is the scan: a line of JSON with the swaps, and the rows after it as they are.
"""

import json
import struct
from collections.abc import Iterator

from ccmove.rewrite.history import BLOCK, Read, Scan, Swap, decoded, encoded, project_values
from ccmove.rewrite.pathmap import PathMap


def to_record(scan: Scan) -> Iterator[bytes]:
    """What is kept, in pieces: a copy of millions of rows would be as large as all the rest."""
    swaps = [(swap.old.decode(), swap.new.decode()) for swap in scan.swaps]
    yield json.dumps(swaps).encode() + b"\n"
    for start in range(0, len(scan.rows), BLOCK):
        yield bytes(scan.rows[start : start + BLOCK])


def from_record(data: bytes) -> Scan:
    """What was kept of a history; ValueError for what is nothing of the kind."""
    head, _, rows = data.partition(b"\n")
    kept, end = Scan(), 0
    try:
        swaps = [Swap(old.encode(), new.encode()) for old, new in json.loads(head)]
        for start, number, line in Scan.ROW.iter_unpack(rows):
            if start < end:
                raise ValueError("values that overlap")
            kept.add(start, swaps[number], line)
            end = start + len(swaps[number].old)
        if not all(isinstance(path, str) for swap in swaps for path in swap.move):
            raise ValueError("a value that is not a string")
    except (AttributeError, IndexError, TypeError, struct.error):
        raise ValueError("not what is kept of a history") from None
    return kept


def spans_back(kept: Scan, size_after: int) -> Scan:
    """The way back in a file whose first `size_after` bytes are exactly what the run wrote."""
    found, shift = Scan(size_after), 0
    for start, swap, line in kept:
        found.add(start + shift, Swap(swap.new, swap.old), line)
        shift += len(swap.new) - len(swap.old)
    return found


def lines_back(kept: Scan, read: Read, size: int, back: PathMap) -> Scan:
    """The way back in a history in which lines have come and gone.

    A line that the run wrote gets its old value; one that came since is mapped by `back`.
    """
    written: dict[tuple[bytes, bytes], list[bytes]] = {}  # old values, by the new one and the line
    for _, swap, line in kept:
        written.setdefault((swap.new, line), []).append(swap.old)
    needles = [*back.needles()]
    for path in sorted({swap.move[1] for swap in kept.swaps}):
        if not any(needle in path for needle in needles):
            needles.append(path)
    found = Scan()
    for start, raw, line in project_values(read, size, needles, found):
        if olds := written.get((raw, line)):
            old = olds.pop(0) if len(olds) > 1 else olds[0]  # lines that repeat: in their order
        elif (new := back.map(decoded(raw))) is not None:
            old = encoded(new)
        else:
            continue
        found.add(start, Swap(raw, old), line)
    return found
