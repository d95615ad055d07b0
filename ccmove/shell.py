"""Commands for people to type: words as a shell takes them, and nothing a terminal would act on."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from ccmove.printable import printable


def join(words: Iterable[str]) -> str:
    """The words as one command line."""
    return " ".join(quote(word) for word in words)


def quote(word: str) -> str:
    """One word; what can't be printed is written in the `$'…'` form of bash and zsh."""
    if printable(word) == word:
        return shlex.quote(word)
    return f"$'{''.join(_escaped(byte) for byte in _raw(word))}'"


def _raw(word: str) -> bytes:
    try:
        return word.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a surrogate that no file name can hold
        return word.encode("utf-8", "replace")


def _escaped(byte: int) -> str:
    char = chr(byte)
    return char if 0x20 <= byte < 0x7F and char not in "\\'" else f"\\x{byte:02x}"
