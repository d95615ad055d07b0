"""Names from disk, made harmless for a terminal. Everything shown to people goes through here."""

from __future__ import annotations

import unicodedata

# Bidirectional controls and invisible joiners can make one name look like another.
_TRICKY = {*range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2060, 0x2070), 0xFEFF, 0x061C}


def printable(text: object) -> str:
    """`text` with every character that a terminal would act on written as an escape."""
    return "".join(_shown(char) for char in str(text))


def _shown(char: str) -> str:
    code = ord(char)
    if 0x20 <= code < 0x7F:
        return char
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was no UTF-8
        return f"\\x{code - 0xDC00:02x}"
    if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") or code in _TRICKY:
        return (
            f"\\x{code:02x}"
            if code < 0x100
            else f"\\u{code:04x}"
            if code < 0x10000
            else f"\\U{code:08x}"
        )
    return char


def size(number: int) -> str:
    """Bytes in the unit that reads best."""
    value = float(number)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            return f"{number} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    raise AssertionError("unreachable")


def plural(number: int, noun: str) -> str:
    if number == 1:
        return f"{number:,} {noun}"
    return f"{number:,} {noun[:-1]}ies" if noun.endswith("y") else f"{number:,} {noun}s"
