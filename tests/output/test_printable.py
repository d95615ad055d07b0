"""Nothing that comes from disk can act on a terminal."""

import sys
import unicodedata
from pathlib import Path

import pytest

from ccmove.text import plural, printable
from ccmove.text import readable_size as size


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/code/my-app", "/code/my-app"),
        ("caf\u00e9 \u65e5\u672c \U0001f680", "caf\u00e9 \u65e5\u672c \U0001f680"),
        ("[red]x[/red]", "[red]x[/red]"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\nb\rc\td\0", "a\\nb\\rc\\td\\x00"),
        ("\x7f\x9b", "\\x7f\\x9b"),
        ("a\u202eb\u2066c\u200dd\u00ade", "a\\u202eb\\u2066c\\u200dd\\xade"),
        ("\u2028\ufeff\u061c", "\\u2028\\ufeff\\u061c"),
        ("\ud83d", "\\ud83d"),
        ("\udcff", "\\udcff"),
        ("\U000e0001", "\\U000e0001"),
        ("\ue000", "\\ue000"),
        ("a\u00a0b\u3000c", "a\\xa0b\\u3000c"),
    ],
)
def test_what_a_terminal_would_act_on_is_escaped(text: str, expected: str) -> None:
    assert printable(text) == expected


@pytest.mark.slow
def test_no_character_at_all_gets_through_that_controls_something() -> None:
    shown = set(printable("".join(map(chr, range(sys.maxunicode + 1)))))
    assert {unicodedata.category(char)[0] for char in shown - {" "}} == set("LMNPS")
    assert {" ", "\u00e9", "\U0001f680"} <= shown


def test_what_is_no_text_is_shown_as_text() -> None:
    assert printable(Path("/a")) == str(Path("/a"))
    assert printable(7) == "7"
    assert printable("") == ""


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (1550, "1.6 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (123_456_789, "123.5 MB"),
        (2_000_000_000, "2.0 GB"),
        (5_000_000_000_000, "5000.0 GB"),
    ],
)
def test_sizes_read_well(number: int, expected: str) -> None:
    assert size(number) == expected


@pytest.mark.parametrize(
    ("number", "noun", "expected"),
    [
        (0, "line", "0 lines"),
        (1, "line", "1 line"),
        (1234, "line", "1,234 lines"),
        (2, "entry", "2 entries"),
        (1, "entry", "1 entry"),
        (2, "key", "2 keys"),
        (2, "project directory", "2 project directories"),
    ],
)
def test_numbers_agree_with_their_nouns(number: int, noun: str, expected: str) -> None:
    assert plural(number, noun) == expected
