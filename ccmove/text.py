"""What files hold, as text. Words for people: names from disk made printable, sizes,
plurals, and commands for a shell.
"""

import difflib
import os
import re
import shlex
from collections.abc import Collection, Iterable

from ccmove.system import WINDOWS

# What cmd and PowerShell both know.
_FOR_WINDOWS = {"ls": "dir", "df": "dir", "mv": "move", "mkdir": "mkdir"}
_SPECIAL = re.compile(r"[^\w.:\\/=~+-]")  # for one of the two


def as_text(data: bytes) -> str:
    """What a file holds as text, in which any byte survives the way there and back."""
    return data.decode("utf-8", "surrogateescape")


def as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def printable(text: object) -> str:
    """`text` with every character that a terminal would act on,
    or hide, written as an escape.
    """
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode()
        for char in str(text)
    )


def at_home(text: str) -> str:
    """Paths below the home with ~, also in commands:
    a shell expands it where a word begins.
    """
    home = os.environ.get("HOME", "")
    if len(home) < 2 or home not in text:
        return text
    return re.sub(rf"(?<!\S){re.escape(home)}(?=/|\s|$)", "~", text)


def readable_size(number: int) -> str:
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
        if is_like_entry:
            noun = f"{noun[:-1]}ies"
        else:
            noun = f"{noun}s"
    return f"{number:,} {noun}"


def amounts(*numbers: tuple[int, str]) -> list[str]:
    """Each number with its noun, but for what there is none of."""
    return [plural(number, noun) for number, noun in numbers if number]


def sessions_in_words(number: int, size: int) -> list[str]:
    """As amounts, with how large they are together."""
    return [
        f"{words} ({readable_size(size)})" for words in amounts((number, "session"))
    ]


def alike(name: str, names: Collection[str], *, least: float = 0.6) -> list[str]:
    """Those that are spelled almost like it, the nearest first."""
    return difflib.get_close_matches(name, names, len(names) + 1, least)


def command_line(words: Iterable[str]) -> str:
    """The words as one command line that can be typed as it stands."""
    words = list(words)
    if WINDOWS and words and words[0] in _FOR_WINDOWS:
        program, *rest = words
        names = [word for word in rest if not word.startswith("-")]
        words = [_FOR_WINDOWS[program], *names]
    return " ".join(quote(word) for word in words)


def bringing_all(source: str, target: str) -> str:
    """What brings all of a directory to its right place, and overwrites nothing."""
    if not os.path.lexists(target):
        return command_line(["mv", "-n", source, target])
    if WINDOWS:  # nothing there does that by renaming: robocopy would copy transcripts
        return command_line(["ls", source])
    start = quote(source)
    end = quote(f"{target}/")
    each = "-mindepth 1 -maxdepth 1 -exec mv -n '{}'"
    return f"find {start} {each} {end} ';' && rmdir {start}"


def quote(word: str) -> str:
    """One word; what can't be printed is written in bash's `$'…'` form."""
    if WINDOWS:
        is_plain = word and not _SPECIAL.search(word)
        if is_plain:
            return word
        return f'"{printable(word)}"'
    if printable(word) == word:
        return shlex.quote(word)
    try:
        raw = as_bytes(word)
    except UnicodeEncodeError:  # a surrogate that no file name can hold
        raw = word.encode("utf-8", "replace")
    letters = []
    for byte in raw:
        is_plain = 0x20 <= byte < 0x7F and byte not in b"\\'"
        letters.append(chr(byte) if is_plain else f"\\x{byte:02x}")
    return f"$'{''.join(letters)}'"
