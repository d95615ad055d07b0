"""The command as it was typed, for hints: the same again, with an option more or another path."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ccmove.text import command_line

words: list[str] = []  # what followed `ccmove`; the command line sets it, other callers leave it


def again(*options: str, instead: Mapping[str, str] | None = None) -> str:
    """The command to type: as before, with these options, and paths replaced by absolute path."""
    if not words:
        return command_line(["ccmove", *options, "OLD", "NEW"])
    replaced = [_replaced(word, instead or {}) for word in words]
    return command_line(["ccmove", *options, *replaced])


def _replaced(word: str, instead: Mapping[str, str]) -> str:
    return word if word.startswith("-") else instead.get(os.path.abspath(word), word)


def look_at(path: object) -> str:
    """The hint for a file that is not what it should be."""
    return f"look at it: {command_line(['ls', '-ld', str(path)])}"
