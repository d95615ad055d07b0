"""Names from disk, made harmless for a terminal. Everything shown to people goes through here."""

from __future__ import annotations


def printable(text: object) -> str:
    """`text` with every character that a terminal would act on, or hide, written as an escape."""
    plain = str(text)
    if plain.isprintable():
        return plain
    return "".join(char if char.isprintable() else _escape(ord(char)) for char in plain)


def _escape(code: int) -> str:
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was no UTF-8
        code -= 0xDC00
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def size(number: int) -> str:
    """Bytes in the unit that reads best."""
    if number < 1000:
        return f"{number} B"
    value = number / 1000
    for unit in ("kB", "MB"):
        if value < 999.95:  # more would be rounded to 1000.0
            return f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def plural(number: int, noun: str) -> str:
    """The number and its noun, in the plural unless there is exactly one."""
    if number != 1:
        is_like_entry = noun.endswith("y") and noun[-2:-1] not in "aeiou"
        noun = f"{noun[:-1]}ies" if is_like_entry else f"{noun}s"
    return f"{number:,} {noun}"
