"""The rules by which a change is taken out of a document, one by one."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from ccmove.rewrite import config
from ccmove.rewrite.pathmap import NameMap, PathMap
from ccmove.rewrite.threeway import taken_out

MOVE = PathMap((("/o", "/n"),))
SWAP = PathMap((("/a", "/b"), ("/b", "/a")))
CHAIN = PathMap((("/a", "/b"), ("/b", "/c")))
BOTH = PathMap((("/a", "/c"), ("/b", "/c")))
Life = Callable[[dict[str, Any]], object]


def lived(before: Any, life: Life, paths: PathMap = MOVE, native: bool = False) -> tuple[Any, Any]:
    """A config file was moved, life went on, and the move was taken out, twice."""
    text = json.dumps(before, indent=2)
    after = config.rewritten(text, paths)
    now = json.loads(after)
    life(now)
    back = (lambda _: None) if native else paths.reversed().map
    result, lost = taken_out("config", text, after, json.dumps(now, indent=2), back, paths.map)
    again, _ = taken_out("config", text, after, result, back, paths.map)
    assert again == result
    assert result == json.dumps(json.loads(result), indent=2)  # spaced as the rest
    return json.loads(result), lost


def projects(before: Any, life: Life, paths: PathMap = MOVE, native: bool = False) -> Any:
    found, lost = lived({"projects": before}, lambda c: life(c["projects"]), paths, native)
    return found["projects"], lost


class TestConfig:
    def test_a_value_that_was_changed_since_stays_and_is_named(self) -> None:
        found = projects({"/o": {"p": "/o", "q": "/o/q"}}, lambda p: p["/n"].update(p="else"))
        assert found == ({"/o": {"p": "else", "q": "/o/q"}}, ["projects > /o > p"])

    def test_a_path_that_came_in_its_place_follows(self) -> None:
        found = projects({"/o": {"p": "/o"}}, lambda p: p["/n"].update(p="/n/since"))
        assert found == ({"/o": {"p": "/o/since"}}, [])

    def test_a_string_that_was_there_before_or_after_is_not_one_that_came_since(self) -> None:
        before = {"/o": {"p": "/o", "q": "/n/lib"}}
        found = projects(before, lambda p: p["/n"].update(r="/n/lib", s="/n"))
        assert found == ({"/o": {"p": "/o", "q": "/n/lib", "r": "/n/lib", "s": "/n"}}, [])

    def test_an_old_path_that_is_used_again_keeps_its_later_value(self) -> None:
        again = {"tools": ["z"], "p": 1}
        found = projects({"/o": {"tools": ["a"], "p": "/o"}}, lambda p: p.update({"/o": again}))
        assert found == ({"/o": {"tools": ["z", "a"], "p": 1}}, ["projects > /o"])

    def test_a_new_project_stays_where_its_old_name_is_used_again(self) -> None:
        life = {"/n/s": {"a": "/n/s", "b": 1}, "/o/s": {"b": 2}}
        found = projects({"/o": {}}, lambda p: p.update(life))
        assert found == ({"/o": {}} | life, ["projects > /n/s"])

    def test_a_key_that_vanished_is_named(self) -> None:
        assert projects({"/o": {}, "/z": {}}, lambda p: p.pop("/n")) == (
            {"/z": {}},
            ["projects > /o"],
        )

    def test_a_value_that_vanished_is_named(self) -> None:
        found = projects({"/o": {"p": "/o", "q": 1}}, lambda p: p["/n"].pop("p"))
        assert found == ({"/o": {"q": 1}}, ["projects > /o > p"])

    def test_lists_are_sets_but_for_arguments(self) -> None:
        value = {"dirs": ["/o/a", "x"], "args": ["/o/a", "x"]}
        longer = {"dirs": ["y", "x", "/n/a"], "args": ["y", "/n/a", "x"]}
        found = projects({"/o": value}, lambda p: p.update({"/n": longer}))
        assert found == (
            {"/o": {"dirs": ["y", "x", "/o/a"], "args": ["y", "/n/a", "x"]}},
            ["projects > /o > args"],
        )

    def test_an_item_that_vanished_is_named_also_in_a_swap(self) -> None:
        """What another item goes back to is not the one that is missing."""
        found = projects({"/a": {"l": ["/a", "/b"]}}, lambda p: p["/b"]["l"].remove("/a"), SWAP)
        assert found == ({"/a": {"l": ["/a"]}}, ["projects > /a > l"])

    def test_an_item_goes_back_although_it_took_the_place_of_another(self) -> None:
        before = {"/o": {"l": [{"p": "/o"}, {"p": "/o/x"}]}}
        found = projects(before, lambda p: p["/n"]["l"].pop(0))
        assert found == ({"/o": {"l": [{"p": "/o/x"}]}}, ["projects > /o > l"])

    def test_a_project_that_came_since_follows_although_the_run_changed_none(self) -> None:
        before = {"projects": {"/z": {}}, "githubRepoPaths": {"a/b": ["/o"]}}
        since = {"/n/s": {"p": "/n/s/x"}}
        found = lived(before, lambda config: config["projects"].update(since))
        assert found == (before | {"projects": {"/z": {}, "/o/s": {"p": "/o/s/x"}}}, [])

    def test_what_was_brought_to_another_leaves_it(self) -> None:
        before = {
            "/o": {"tools": ["b", "/o"], "hasTrust": True, "only": 1},
            "/n": {"tools": ["a"], "hasTrust": False},
        }

        def life(found: dict[str, Any]) -> None:
            found["/n"]["tools"].append("c")
            found["/n"]["since"] = ["/n"]

        kept = {"tools": ["a", "c"], "hasTrust": False, "since": ["/n"]}
        assert projects(before, life, native=True) == ({"/n": kept, "/o": before["/o"]}, [])

    def test_two_that_became_one_are_two_again(self) -> None:
        """What came since can't be told apart: it stays where it is, and that is named."""
        before = {"/a": {"l": [1], "p": "/a"}, "/b": {"l": [2], "p": "/b"}}
        found, named = projects(before, lambda p: p["/c"].update(since=1), BOTH)
        assert {name: found[name] for name in before} == before
        assert found["/c"]["since"] == 1
        assert named == ["projects > /c"]

    @pytest.mark.parametrize("values", [({"v": 1}, {"v": 2}), ({"p": "/a"}, {})])
    def test_a_swap_with_paths_that_came_since(self, values: tuple[Any, Any]) -> None:
        def life(found: dict[str, Any]) -> None:
            found["/b"]["since"] = ["/b/x"]
            found["/a/sub"] = {"p": "/a/sub/y"}

        found = projects({"/a": values[0], "/b": values[1]}, life, SWAP)
        expected = {"/a": values[0] | {"since": ["/a/x"]}, "/b": values[1]}
        assert found == (expected | {"/b/sub": {"p": "/b/sub/y"}}, [])

    def test_every_other_byte_stays(self) -> None:
        before = '{ "n":1.10,"n" : 2 ,\r\n"projects":\t{"\\/o" :{"p":"/o"}} }\n'
        after = config.rewritten(before, MOVE)
        now = after.replace("2 ,", "2e0 ,").replace('"p"', '"p" ')
        result, lost = taken_out("config", before, after, now, MOVE.reversed().map, MOVE.map)
        expected = before.replace("2 ,", "2e0 ,").replace('"p"', '"p" ').replace("\\/o", "/o")
        assert (result, lost) == (expected, [])


class TestUndoOfAnUndo:
    def test_a_merge_that_was_undone_is_made_again(self) -> None:
        apart = {"projects": {"/o": {"l": ["b"], "x": 1}, "/n": {"l": ["a"]}}}
        text = json.dumps(apart, indent=2)
        merged = config.rewritten(text, MOVE)
        now = json.dumps(apart | {"since": 1}, indent=2)
        for renamed in (MOVE.reversed().map, lambda _: None):
            result, lost = taken_out("config", merged, text, now, MOVE.map, renamed)
            assert (json.loads(result), lost) == (json.loads(merged) | {"since": 1}, [])


class TestIndex:
    NAMES = NameMap((("-o", "-n"),), MOVE)

    @staticmethod
    def entry(key: str, path: str = "/o", **more: Any) -> dict[str, Any]:
        full = f"/c/projects/{path.replace('/', '-')}/{key}.jsonl"
        return {"sessionId": key, "projectPath": path, "fullPath": full, **more}

    def out(self, before: Any, after: Any, now: Any) -> tuple[Any, list[str]]:
        texts = [json.dumps({"entries": entries}) for entries in (before, after, now)]
        moves = MOVE.reversed()
        names = NameMap((("-n", "-o"),), moves)
        result, lost = taken_out("index", *texts, lambda s: moves.map(s) or names.map(s), MOVE.map)
        return json.loads(result)["entries"], lost

    def test_entries_go_back_also_when_the_client_has_rewritten_them(self) -> None:
        before = [self.entry("a"), self.entry("b")]
        now = [self.entry("c", "/n"), self.entry("b", "/n", summary="x")]
        found = self.out(before, [self.entry("a", "/n"), self.entry("b", "/n")], now)
        assert found == ([self.entry("c"), self.entry("b", summary="x")], [])

    def test_entries_that_came_in_leave_and_those_that_left_come_back(self) -> None:
        before = [self.entry("a", "/z"), self.entry("b", "/z")]
        after = [self.entry("b", "/z"), self.entry("c", "/n")]
        now = [self.entry("c", "/n", summary="x"), self.entry("b", "/z", summary="y")]
        found, lost = self.out(before, after, now)
        assert found == [self.entry("b", "/z", summary="y"), self.entry("a", "/z")]
        assert lost == []

    def test_a_session_that_is_listed_twice_leaves_twice(self) -> None:
        twice = [self.entry("c", "/n"), self.entry("b"), self.entry("c", "/n", summary="x")]
        after = [self.entry("b"), self.entry("c", "/n")]
        assert self.out([self.entry("b")], after, twice) == ([self.entry("b")], [])


class TestOtherDocuments:
    @pytest.mark.parametrize(
        ("before", "after", "now", "expected", "lost"),
        [
            ("new\n", "new\nx\n", "new\nx\nmore\n", "new\nmore\n", []),
            ("new\nx\n", "new\n", "new\nmore\n", "new\nmore\nx\n", []),
            ("new", "new\nx\n", "new\nmore\nx\n", "new\nmore\n", []),
            ("new\n", "new\nx\ny\n", "new\nx!\ny\n", "new\nx!\n", []),
            ("a\nb\n", "a\nB\n", "0\na\nB\n", "0\na\nb\n", []),
            ("a\r\nb\r\n", "A\r\nb\r\n", "A\r\nb\r\nc\r\n", "a\r\nb\r\nc\r\n", []),
            ("a\nb\n", "a\nB\n", "a\nC\n", "a\nC\n", ["line 2"]),
            ("a\nb\n", "a\nB\n", "x\na\nb\n", "x\na\nb\n", []),
        ],
    )
    def test_lines(self, before: str, after: str, now: str, expected: str, lost: list[str]) -> None:
        assert taken_out("lines", before, after, now, MOVE.map, MOVE.map) == (expected, lost)
