"""The history: exactly the `project` values of the move change, at the speed of
reading.
"""

import json

import pytest

from ccmove.errors import StaleLookError
from ccmove.rewrite import history
from ccmove.rewrite.history import ByPath
from ccmove.rewrite.pathmap import PathMap
from tests.rewrite.strategies import moved_bytes, reader
from tests.support.oddlines import kind_names, odd_line, stringify

OLD, NEW = "/home/dev/code/my-app", "/home/dev/code/new-app"
PATHS = PathMap(((OLD, NEW),))
SESSION = "1ebd2854-0a0b-4b48-ae8a-a54551583a56"
KINDS = kind_names()


def line(project: str, display: str = "fix it") -> bytes:
    record = {
        "display": display,
        "pastedContents": {},
        "timestamp": 1,
        "project": project,
    }
    return stringify(record) + b"\n"


def scan(data: bytes, paths: PathMap = PATHS, start: int = 0) -> history.Scan:
    return history.scan(reader(data), len(data), ByPath(paths), start)


class TestOddLines:
    @pytest.mark.parametrize("number", range(len(KINDS)), ids=KINDS)
    @pytest.mark.parametrize("newline", [True, False], ids=["", "no newline"])
    def test_each_kind_becomes_what_it_must(self, number: int, newline: bool) -> None:
        odd = odd_line(number, OLD, SESSION)
        if not newline:
            odd = odd.without_newline()
        assert moved_bytes(odd.raw, PATHS) == odd.expected(OLD, NEW)


class TestWhichPaths:
    def test_a_path_with_characters_that_json_escapes(self) -> None:
        old, new = '/code/a"b\\c\td\u00e9\U0001f680', "/code/x\ny"
        paths = PathMap(((old, new),))
        assert moved_bytes(line(old) + line(old + "/z"), paths) == line(new) + line(
            new + "/z"
        )
        escaped = json.dumps({"project": old}).encode()
        assert moved_bytes(escaped, paths) == b'{"project": ' + stringify(new) + b"}"
        tabbed = line("/code/a\tb").replace(b"\\t", b"\\u0009")
        assert moved_bytes(tabbed, PathMap((("/code/a\tb", new),))) == line(new)

    def test_windows_paths_are_found_in_either_spelling(self) -> None:
        paths = PathMap(((r"C:\Users\me\app", r"C:\Users\me\new"),))
        data = (
            line(r"C:\Users\me\app")
            + line("c:/Users/me/app/x")
            + line(r"C:\Users\me\app2")
        )
        expected = (
            line(r"C:\Users\me\new")
            + line("C:/Users/me/new/x")
            + line(r"C:\Users\me\app2")
        )
        assert moved_bytes(data, paths) == expected


class TestScan:
    def test_it_counts_what_moves(self) -> None:
        data = (
            line(OLD) * 3
            + line(OLD + "/x")
            + line("/srv/x")
            + line("/srv/x", display=OLD)
        )
        found = scan(data)
        assert found.lines == 4
        assert found.counts == {(OLD, NEW): 3, (OLD + "/x", NEW + "/x"): 1}
        assert found.size == len(data)
        assert found.new_size() - len(data) == len(moved_bytes(data, PATHS)) - len(data)
        with pytest.raises(StaleLookError):  # it was changed in place since
            b"".join(history.rewritten(reader(b" " + data), found))

    def test_it_counts_lines_that_name_the_path_and_cannot_be_read(self) -> None:
        torn = line(OLD)[:-3] + b"\n"
        data = (
            torn
            + b"\xff"
            + line(OLD)
            + b"\xef\xbb\xbf"
            + line(OLD)
            + b'{"a":NaN}\n'
            + b"x\n"
        )
        assert scan(data).unreadable == 3

    def test_a_line_too_long_is_passed_and_counted(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(history, "BLOCK", 64)
        monkeypatch.setattr(history, "LONGEST_LINE", 256)
        fits = line(OLD, display="x" * (256 - len(line(OLD, display=""))))
        longer = line(OLD, display="x" * 400)
        data = fits + longer + line(OLD) + longer * 2 + fits
        found = scan(data)
        assert (found.lines, found.unreadable) == (3, 3)
