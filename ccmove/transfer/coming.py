"""Prompts that come from another history.

A line that comes gets the path that it has here. It is known again by that and by the
rest of it, so that none comes twice.
"""

import io
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from ccmove.rewrite.added import Key, key_of, needles_of
from ccmove.rewrite.history import (
    Read,
    Rule,
    Scan,
    Swap,
    decoded,
    prompt_of,
    prompts_with,
)
from ccmove.rewrite.windows import compared


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
    needles = needles_of(lacking)
    scan = Scan()
    for here in prompts_with(read, size, needles, scan):
        lacking[key_of(here)] -= 1
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
