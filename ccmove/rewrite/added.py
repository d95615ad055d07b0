"""Prompts that come from another history, and go again.

A line that comes gets the path that it has here. It is known again by that and by the
rest of it, so that none comes twice, and each is found again wherever it is by then.
"""

import io
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from ccmove.rewrite.history import (
    Prompt,
    Read,
    Rule,
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


class ComingPrompt(NamedTuple):
    """A prompt that comes from elsewhere, as it will be here."""

    path: str
    digest: bytes
    line: bytes

    @property
    def key(self) -> Key:
        return compared(self.path), self.digest


def coming_prompts(text: bytes, rule: Rule) -> Iterator[ComingPrompt]:
    """The prompts of another history that have a path here, by this rule."""
    for raw in io.BytesIO(text):  # which ends a line at `\n` only
        line = raw.rstrip(b"\n")
        prompt = prompt_of(line)
        if prompt is None:
            continue
        path = rule.new_path(decoded(prompt.project), prompt.session)
        if path is None:
            continue
        moved = prompt.with_path(line, path)
        yield ComingPrompt(path, prompt.digest, moved + b"\n")


def with_lacking(read: Read, size: int, coming: list[ComingPrompt]) -> Scan:
    """What adds those of these prompts, in their order, that the history lacks."""
    lacking = Counter(prompt.key for prompt in coming)
    needles = _needles(lacking)
    scan = Scan()
    for here in prompts_with(read, size, needles, scan):
        lacking[_key(here)] -= 1
    start = b""
    if size and read(size - 1, 1) != b"\n":
        start = b"\n"  # ends a line that is there in part
    for prompt in coming:
        key = prompt.key
        if lacking[key] <= 0:
            continue
        lacking[key] -= 1
        swap = Swap(b"", start + prompt.line)
        scan.add(size, swap, prompt.digest)
        start = b""
    return scan


def _needles(keys: Iterable[Key]) -> tuple[str, ...]:
    """What a line must hold that may be one of these."""
    paths = dict.fromkeys(path for path, _ in keys)
    return at_or_below(paths).needles()


def _key(prompt: Prompt) -> Key:
    return compared(decoded(prompt.project)), prompt.digest


class Added(NamedTuple):
    """A line that a run added: where its path begins, and what is ahead of the line."""

    line: bytes
    path_at: int
    ahead: bytes  # a newline, where it came after a line without one


class Cut(NamedTuple):
    """A line as it is found again."""

    start: int
    added: Added
    digest: bytes

    @property
    def end(self) -> int:
        return self.start + len(self.added.line)


def without_added(kept: Scan, read: Read, size: int, stays: Stays) -> Scan:
    """What takes the lines out again that a run added, but for those that stay."""
    added = _added_by(kept, stays)
    scan = Scan()
    cuts = list(_cuts(added, read, size, scan))
    tail = _tail(cuts, scan.size)
    for cut in cuts:
        line = cut.added.line
        start = cut.start
        if start >= tail:  # then a torn line is the last one again
            ahead = cut.added.ahead
            line = ahead + line
            start -= len(ahead)
        swap = Swap(line, b"")
        scan.add(start, swap, cut.digest)
    return scan


def _tail(cuts: list[Cut], size: int) -> int:
    """Where the lines begin that go, and after which nothing stays."""
    tail = size
    for cut in reversed(cuts):
        if cut.end != tail:
            break
        tail = cut.start
    return tail


def _cuts(
    added: Mapping[Key, list[Added]], read: Read, size: int, scan: Scan
) -> Iterator[Cut]:
    """Each of these lines where it is by now, as it was added."""
    needles = _needles(added)
    for here in prompts_with(read, size, needles, scan):
        lines = added.get(_key(here))
        if not lines:
            continue
        row = lines[0]
        start = here.start - row.path_at
        there = read(start, len(row.line))
        if there == row.line:
            lines.remove(row)
            yield Cut(start, row, here.digest)


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
        key = _key(prompt)
        lines = added[key]
        lines.append(row)
    return added
