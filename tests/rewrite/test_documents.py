"""The entries of an index, and permission rules; tests/shapes/test_documents.py has the
rest.
"""

import pytest

from ccmove.rewrite import index
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.rewrite.pathmap import PathMap
from ccmove.rewrite.settings import map_inside

OLD, NEW = "/home/dev/code/my-app", "/home/dev/code/new-app"


class TestEntries:
    """The entries of an index come and go by their sessions."""

    A, B, C = (f'{{"sessionId": "{key}", "projectPath": "{OLD}"}}' for key in "abc")
    TEXT = f'{{"entries": [{A}, {B}, [7]], "originalPath": "{OLD}"}}'

    def test_each_is_known_by_its_session_or_its_text(self) -> None:
        assert index.entries(self.TEXT) == [
            ("a", self.A),
            ("b", self.B),
            ("[7]", "[7]"),
        ]
        assert index.sessions_of(self.TEXT, {OLD}) == {"a", "b"}
        assert index.sessions_of(self.TEXT, {NEW}) == set()

    def test_what_it_lacks_is_added_once(self) -> None:
        other_a = self.A.replace(OLD, NEW)
        entries = [("a", other_a), ("c", self.C), ("c", "{}"), ("[7]", "[7]")]
        expected = self.TEXT.replace("[7]", f"[7], {self.C}")
        assert index.with_entries(self.TEXT, entries) == expected
        assert index.with_entries(expected, entries) == expected

    def test_some_leave(self) -> None:
        assert index.entries(index.without(self.TEXT, {"a", "[7]", "x"})) == [
            ("b", self.B)
        ]
        assert index.without(self.TEXT, {"a", "b", "[7]"}) == self.TEXT.replace(
            f"{self.A}, {self.B}, [7]", ""
        )

    def test_a_new_one_is_an_index(self) -> None:
        made = index.made([("a", self.A), ("b", self.B)], OLD)
        assert index.entries(made) == [("a", self.A), ("b", self.B)]

    @pytest.mark.parametrize("text", ["[]", "{}", '{"entries": {}}', "7", "{"])
    def test_what_is_not_an_index_has_none(self, text: str) -> None:
        with pytest.raises(NotJsonError):
            index.entries(text)


class TestPermissionRules:
    @pytest.mark.parametrize(
        ("rule", "becomes"),
        [
            ("Read(//c/Users/dev/a/**)", "Read(//d/work/b/**)"),
            ("Read(~/a/**)", "Read(//d/work/b/**)"),
            (r"Read(C:\Users\dev\a\**)", r"Read(D:\work\b\**)"),
            ("Bash(cd /c/Users/dev/a && make:*)", "Bash(cd /d/work/b && make:*)"),
            ("Bash(C:/Users/dev/a/run.sh:*)", "Bash(D:/work/b/run.sh:*)"),
            ("Read(//c/Users/dev/a-2/**)", None),
        ],
    )
    def test_rules_of_windows_however_a_drive_is_put(
        self, rule: str, becomes: str | None
    ) -> None:
        moves = PathMap(((r"C:\Users\dev\a", r"D:\work\b"),))
        assert map_inside(rule, moves.as_people_write(r"C:\Users\dev")) == becomes

    def test_several_words_move_each_by_its_own_move(self) -> None:
        swap = PathMap((("/a", "/b"), ("/b", "/a")))
        assert map_inside("Bash(cp /a/x /b/y)", swap) == "Bash(cp /b/x /a/y)"


def test_a_rule_of_several_lines_is_about_its_path_too() -> None:
    paths = PathMap((("/code/app", "/new"),))
    assert map_inside("Read(//code/app/a\nb)", paths) == "Read(//new/a\nb)"
