"""The entries of an index; tests/shapes/test_documents.py has the rest."""

import pytest

from ccmove.rewrite import index
from ccmove.rewrite.jsonspan import NotJsonError

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

    def test_entries_that_leave_an_index_are_cut_out(self) -> None:
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
