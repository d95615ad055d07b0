"""The history: exactly the `project` values of the move change, at the speed of reading."""

from __future__ import annotations

import itertools
import json
import tracemalloc

import pytest

from ccmove.rewrite import history
from ccmove.rewrite.pathmap import PathMap
from tests.rewrite.strategies import moved_bytes, reader, rewritten
from tests.support.history_oracle import moved_history
from tests.support.oddlines import kind_names, odd_line, stringify
from tests.support.state import StateBuilder

OLD, NEW = "/home/dev/code/my-app", "/home/dev/code/new-app"
PATHS = PathMap(((OLD, NEW),))
SESSION = "1ebd2854-0a0b-4b48-ae8a-a54551583a56"
KINDS = kind_names()


def line(project: str, display: str = "fix it") -> bytes:
    record = {"display": display, "pastedContents": {}, "timestamp": 1, "project": project}
    return stringify(record) + b"\n"


def scan(data: bytes, paths: PathMap = PATHS, start: int = 0) -> history.Scan:
    return history.scan(reader(data), len(data), paths, start)


class TestOddLines:
    @pytest.mark.parametrize("number", range(len(KINDS)), ids=KINDS)
    @pytest.mark.parametrize("newline", [True, False], ids=["", "no newline"])
    def test_each_kind_becomes_what_it_must(self, number: int, newline: bool) -> None:
        odd = odd_line(number, OLD, SESSION)
        if not newline and isinstance(odd.pieces[-1], bytes):
            odd = odd.without_newline()
        assert moved_bytes(odd.raw, PATHS) == odd.expected(OLD, NEW)

    def test_all_of_them_in_one_file(self, state: StateBuilder) -> None:
        odd = state.odd_history(OLD, 3 * len(KINDS) + 1)
        expected = b"".join(one.expected(OLD, NEW) for one in odd)
        data = state.history.read_bytes()
        assert moved_bytes(data, PATHS) == expected
        assert scan(data).lines == sum(one.raw != one.expected(OLD, NEW) for one in odd)

    @pytest.mark.parametrize("rest", [b"]", b"] x", b"],", b"],[1"])
    def test_a_line_that_goes_on_behind_a_bracket_stays(self, rest: bytes) -> None:
        usual, torn = line(OLD), line(OLD)[:-1] + rest + b"\n"
        for data in (torn, usual + torn, torn + usual, usual + torn + usual):
            moved = data.replace(usual, line(NEW))
            assert moved_bytes(data, PATHS) == moved
            assert scan(data).unreadable == 1

    @pytest.mark.parametrize(
        "raw",
        [
            b'{"project" : "/srv/x", "a":{"project":"%s"}}' % OLD.encode(),
            b'{"a":{"project":"%s"}, "project" : "/srv/x"}' % OLD.encode(),
            b'{"project":"%s","project":"/srv/x"}' % OLD.encode(),
            b'{"project":"%s","project":7}' % OLD.encode(),
            b'{"project":"%s","pro\\u006aect":"/srv/x"}' % OLD.encode(),
            b'{"display":"\\"project\\":\\"%s\\""}' % OLD.encode(),
            b'["project","%s"]' % OLD.encode(),
        ],
    )
    def test_a_path_that_is_not_the_project_stays(self, raw: bytes) -> None:
        assert moved_bytes(raw, PATHS) == raw

    def test_only_the_last_of_repeated_keys_changes(self) -> None:
        raw = b'{"project":"%s","x":1,"project" : "%s"}'
        data = raw % (OLD.encode(), OLD.encode())
        assert moved_bytes(data, PATHS) == raw % (OLD.encode(), NEW.encode())

    def test_a_number_of_ten_thousand_digits_is_only_a_number(self) -> None:
        long = b'{"x":' + b"9" * 10_000 + b',"project":"%s"}\n'
        assert moved_bytes(long % OLD.encode(), PATHS) == long % NEW.encode()


class TestTheClientsOwnForm:
    """Lines that look like the client's are known by a pattern, which must not know more."""

    MEMBERS = ("display", "content", "project", "sessionId")

    def line(self, *, pastes: str | None = None, **spelled: str) -> bytes:
        display, content, project, session = (
            spelled.get(name, usual)
            for name, usual in zip(self.MEMBERS, ("fix it", "it", OLD, SESSION), strict=True)
        )
        if pastes is None:
            pastes = f'"1":{{"id":1,"type":"text","content":"{content}"}}'
        return (
            f'{{"display":"{display}","pastedContents":{{{pastes}}},"timestamp":1780000061003,'
            f'"project":"{project}","sessionId":"{session}"}}\n'
        ).encode("utf-8", "surrogateescape")

    @pytest.mark.parametrize("name", MEMBERS)
    def test_every_short_text_of_quotes_and_escapes_is_read_as_json_is(self, name: str) -> None:
        """Python 3.11.2 had a fault that took `\\u` without digits for an escape."""
        texts = ["".join(t) for n in range(6) for t in itertools.product('\\u"0z', repeat=n)]
        start = f"{OLD}/" if name == "project" else ""
        data = b"".join(self.line(**{name: start + text}) for text in texts)
        assert moved_bytes(data, PATHS) == moved_history(data, PATHS.map)

    @pytest.mark.parametrize("name", MEMBERS)
    @pytest.mark.parametrize("text", ["\udcff", "caf\udcc3", "\x1f", "\t", "\\x", '"', "\\ud83"])
    def test_what_is_no_text_leaves_the_line_as_it_is(self, name: str, text: str) -> None:
        spoiled = self.line(**{name: f"{OLD}/{text}"})
        assert moved_bytes(spoiled + self.line(), PATHS) == spoiled + self.line(project=NEW)
        assert scan(spoiled).unreadable == 1

    @pytest.mark.parametrize(
        "text", ["\x7f", "é", "🚀", "\\ud83d", "\\ud83d\\ude80", "\\u0000", "\\/"]
    )
    def test_any_text_may_stand_there(self, text: str) -> None:
        moved = self.line(display=text, project=NEW)
        assert moved_bytes(self.line(display=text), PATHS) == moved

    @pytest.mark.parametrize("number", ["01", "+1", "1.", "", "0x1", "1 2", "-"])
    def test_what_is_no_number_leaves_the_line_as_it_is(self, number: str) -> None:
        spoiled = self.line().replace(b"1780000061003", number.encode())
        assert moved_bytes(spoiled, PATHS) == spoiled

    def test_whatever_stands_for_pastes_is_read_as_json_is(self) -> None:
        pieces = ('"1":{"id":1}', f'"2":{{"id":2,"project":"{OLD}"}}', ",", "{", "}", '"id"', "0")
        rows = ["".join(row) for n in range(5) for row in itertools.product(pieces, repeat=n)]
        data = b"".join(self.line(pastes=pastes) for pastes in rows)
        assert moved_bytes(data, PATHS) == moved_history(data, PATHS.map)

    @pytest.mark.parametrize("number", ["01", "+1", "", "1 2", "-", '"1"'])
    def test_a_paste_has_a_number(self, number: str) -> None:
        data = self.line(pastes=f'"1":{{"id":{number},"type":"text"}}')
        assert moved_bytes(data, PATHS) == moved_history(data, PATHS.map)

    def test_length_makes_no_difference(self) -> None:
        for length in (300, (64 << 10) - 1, 64 << 10, 3 * history.BLOCK):
            display = "x" * (length - len(self.line(display="")) + 1)
            long = self.line(display=display)
            assert moved_bytes(long, PATHS) == self.line(display=display, project=NEW)

    def test_many_escapes_need_no_memory_to_speak_of(self) -> None:
        """For each of them the pattern would remember a way back."""
        line = self.line(display="\\n" * 2_000_000)
        tracemalloc.start()
        try:
            assert scan(line).lines == 1
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 10 * len(line)


class TestWhichPaths:
    def test_a_path_with_characters_that_json_escapes(self) -> None:
        old, new = '/code/a"b\\c\td\u00e9\U0001f680', "/code/x\ny"
        paths = PathMap(((old, new),))
        assert moved_bytes(line(old) + line(old + "/z"), paths) == line(new) + line(new + "/z")
        escaped = json.dumps({"project": old}).encode()
        assert moved_bytes(escaped, paths) == b'{"project": ' + stringify(new) + b"}"

    def test_windows_paths_in_either_spelling(self) -> None:
        paths = PathMap(((r"C:\Users\me\app", r"C:\Users\me\new"),))
        data = line(r"C:\Users\me\app") + line("c:/Users/me/app/x") + line(r"C:\Users\me\app2")
        expected = line(r"C:\Users\me\new") + line("C:/Users/me/new/x") + line(r"C:\Users\me\app2")
        assert moved_bytes(data, paths) == expected

    def test_several_moves_at_the_same_moment(self) -> None:
        swap = PathMap((("/a", "/b"), ("/b", "/a")))
        assert moved_bytes(line("/a") + line("/b/x"), swap) == line("/b") + line("/a/x")

    def test_a_project_that_moved_down_is_not_moved_into_itself(self) -> None:
        paths = PathMap((("/a", "/a/main"),))
        once = moved_bytes(line("/a") + line("/a/x") + line("/a/main"), paths)
        assert once == line("/a/main") + line("/a/main/x") + line("/a/main")
        assert moved_bytes(once, paths) == once


class TestScan:
    def test_it_counts_what_moves(self) -> None:
        data = line(OLD) * 3 + line(OLD + "/x") + line("/srv/x") + line("/srv/x", display=OLD)
        found = scan(data)
        assert found.lines == 4
        assert found.counts == {(OLD, NEW): 3, (OLD + "/x", NEW + "/x"): 1}
        assert found.size == len(data)
        assert found.new_size() - len(data) == len(moved_bytes(data, PATHS)) - len(data)

    def test_it_counts_lines_that_name_the_path_and_cannot_be_read(self) -> None:
        torn = line(OLD)[:-3] + b"\n"
        data = torn + b"\xff" + line(OLD) + b"\xef\xbb\xbf" + line(OLD) + b'{"a":NaN}\n' + b"x\n"
        assert scan(data).unreadable == 3

    def test_it_can_begin_in_the_middle(self) -> None:
        head, tail = line(OLD) * 2, line("/srv/x") + line(OLD)
        found = scan(head + tail, start=len(head))
        assert found.lines == 1
        assert rewritten(head + tail, found, len(head)) == line("/srv/x") + line(NEW)

    def test_it_tells_how_far_it_is(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(history, "BLOCK", 100)
        data = line(OLD) * 20
        ticks: list[int] = []
        history.scan(lambda o, n: data[o : o + n], len(data), PATHS, tick=ticks.append)
        assert len(ticks) > 5
        assert ticks == sorted(ticks)
        assert ticks[-1] == len(data)

    def test_a_file_that_has_shrunk_ends_the_scan(self) -> None:
        data = line(OLD) * 3
        found = history.scan(lambda o, n: data[o : o + n], 10 * len(data), PATHS)
        assert found.size == len(data)
        assert found.lines == 3 or found.unreadable == 1

    def test_a_line_that_is_too_long_is_passed_over_and_counted(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(history, "BLOCK", 64)
        monkeypatch.setattr(history, "LONGEST_LINE", 256)
        fits = line(OLD, display="x" * (256 - len(line(OLD, display=""))))
        longer = line(OLD, display="x" * 400)
        data = fits + longer + line(OLD) + longer * 2 + fits
        found = scan(data)
        assert (found.lines, found.unreadable) == (3, 3)

    def test_lines_end_at_a_newline_only(self) -> None:
        data = line(OLD, display="a\u2028b\u0085c\x0b") + line(OLD).replace(b"\n", b"\r\n")
        assert scan(data).lines == 2


def test_a_span_that_was_found_by_other_means_is_replaced_too() -> None:
    data = line(OLD) + line("/srv/x")
    at = data.index(b'"/srv/x"')
    found = history.Scan(size=len(data))
    found.add(at, history.Swap(b'"/srv/x"', b'"/y"'), b"8 bytes.")
    assert rewritten(data, found) == line(OLD) + line("/y")
    assert found.counts == {("/srv/x", "/y"): 1}
