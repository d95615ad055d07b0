"""Prompts that a run added to the history, known again and taken out of it.

A prompt is known by its path and by the rest of its line, wherever it is by now.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from ccmove.rewrite.history import (
    Prompt,
    Read,
    Scan,
    Swap,
    decoded,
    prompt_of,
    prompts_with,
)
from ccmove.rewrite.pathmap import at_or_below
from ccmove.rewrite.windows import compared

Key = tuple[str, bytes]  # the path as it is compared, and the digest of the rest
Stays = Callable[[str | None], bool]  # whether prompts of a session stay


def key_of(prompt: Prompt) -> Key:
    return compared(decoded(prompt.project)), prompt.digest


def needles_of(keys: Iterable[Key]) -> tuple[str, ...]:
    """What a line must hold that may be one of these."""
    paths = dict.fromkeys(path for path, _ in keys)
    return at_or_below(paths).needles()


class Added(NamedTuple):
    """A line that a run added: where its path begins, and what is ahead of the line."""

    line: bytes
    path_at: int
    ahead: bytes  # a newline, where it came after a line without one


Cut = tuple[int, Added, bytes]  # where the line begins by now, and its digest


def without_added(kept: Scan, read: Read, size: int, stays: Stays) -> Scan:
    """What takes the lines out again that a run added, but for those that stay."""
    added = _added_by(kept, stays)
    scan = Scan()
    cuts = list(_cuts(added, read, size, scan))
    tail = scan.size  # where the lines begin that go, and after which nothing stays
    for start, row, _ in reversed(cuts):
        if start + len(row.line) == tail:
            tail = start
    for start, row, digest in cuts:
        ahead = b""
        if start >= tail:  # then a torn line is the last one again
            ahead = row.ahead
        swap = Swap(ahead + row.line, b"")
        scan.add(start - len(ahead), swap, digest)
    return scan


def _cuts(
    added: Mapping[Key, list[Added]], read: Read, size: int, scan: Scan
) -> Iterator[Cut]:
    """Each of these lines where it begins by now, as it was added."""
    needles = needles_of(added)
    for here in prompts_with(read, size, needles, scan):
        lines = added.get(key_of(here))
        if not lines:
            continue
        row = lines[0]
        start = here.start - row.path_at
        there = read(start, len(row.line))
        if there == row.line:
            lines.remove(row)
            yield start, row, here.digest


def _added_by(kept: Scan, stays: Stays) -> dict[Key, list[Added]]:
    """The lines that a run added, and that do not stay, in their order."""
    added: dict[Key, list[Added]] = defaultdict(list)
    for _, swap, _ in kept:
        line = swap.new.lstrip(b"\n")
        bare = line.rstrip(b"\n")
        prompt = prompt_of(bare)
        if prompt is None or stays(prompt.session):
            continue
        ahead = swap.new.removesuffix(line)
        row = Added(line, prompt.start, ahead)
        key = key_of(prompt)
        lines = added[key]
        lines.append(row)
    return added
