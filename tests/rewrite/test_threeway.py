"""The rules by which a change is taken out of a document, one by one."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from ccmove.rewrite import config
from ccmove.rewrite.pathmap import NameMap, PathMap
from ccmove.rewrite.threeway import Following, taken_out

MOVE = PathMap((("/o", "/n"),))
BACK = Following(MOVE.reversed().map, MOVE.reversed().map)
SWAP = PathMap((("/a", "/b"), ("/b", "/a")))
CHAIN = PathMap((("/a", "/b"), ("/b", "/c")))
BOTH = PathMap((("/a", "/c"), ("/b", "/c")))
Life = Callable[[dict[str, Any]], object]


def lived(
    before: Any, life: Life, paths: PathMap = MOVE, native: bool = False
) -> tuple[Any, Any]:
    """A config file was moved, life went on, and the move was taken out, twice."""
    text = json.dumps(before, indent=2)
    after = config.rewritten(text, paths)
    now = json.loads(after)
    life(now)
    way = (lambda _: None) if native else paths.reversed().map
    back = Following(way, way)
    result, lost = taken_out(
        "config", text, after, json.dumps(now, indent=2), back, paths.map
    )
    again, _ = taken_out("config", text, after, result, back, paths.map)
    assert again == result
    assert result == json.dumps(json.loads(result), indent=2)  # spaced as the rest
    return json.loads(result), lost


def projects(
    before: Any, life: Life, paths: PathMap = MOVE, native: bool = False
) -> Any:
    found, lost = lived(
        {"projects": before}, lambda c: life(c["projects"]), paths, native
    )
    return found["projects"], lost


# What the projects were, what happened since, what is there afterwards, and what is
# named.
SINCE: dict[str, tuple[Any, Life, Any, list[str]]] = {
    "a value that was changed stays and is named": (
        {"/o": {"p": "/o", "q": "/o/q"}},
        lambda p: p["/n"].update(p="else"),
        {"/o": {"p": "else", "q": "/o/q"}}, ["projects > /o > p"],
    ),
    "a path that came in its place follows": (
        {"/o": {"p": "/o"}}, lambda p: p["/n"].update(p="/n/since"), {"/o": {"p": "/o/since"}}, [],
    ),
    "a string that was there before or after is not one that came since": (
        {"/o": {"p": "/o", "q": "/n/lib"}},
        lambda p: p["/n"].update(r="/n/lib", s="/n"),
        {"/o": {"p": "/o", "q": "/n/lib", "r": "/n/lib", "s": "/n"}}, [],
    ),
    "an old name that is used again gets what it lacks, and what it has otherwise stays": (
        {"/o": {}},
        lambda p: p.update({"/n/s": {"a": "/n/s", "b": 1}, "/o/s": {"b": 2}}),
        {"/o": {}, "/n/s": {"b": 1}, "/o/s": {"b": 2, "a": "/o/s"}}, ["projects > /o/s"],
    ),
    "lists of since go with the folder also where OLD is used again": (
        {"/o": {"l": ["a"]}},
        lambda p: p.update({"/n": {"l": ["a", "since"]}, "/o": {"l": ["again"]}}),
        {"/o": {"l": ["again", "a", "since"]}}, ["projects > /o"],
    ),
    "and where NEW had an entry, which gets back what it was": (
        {"/o": {"l": ["a"]}, "/n": {"l": ["n"]}},
        lambda p: p.update({"/n": {"l": ["n", "a", "since"]}, "/o": {"l": ["again"]}}),
        {"/n": {"l": ["n"]}, "/o": {"l": ["again", "a", "since"]}}, ["projects > /o"],
    ),
    "and where NEW had one and OLD had none": (
        {"/n": {"l": ["n"]}, "/o/s": {}},
        lambda p: p["/n"]["l"].append("since"),
        {"/n": {"l": ["n"]}, "/o": {"l": ["since"]}, "/o/s": {}}, [],
    ),
    "an item that was taken out of a list since leaves no entry behind": (
        {"/o": {"l": ["a", "b"]}},
        lambda p: p.update({"/n": {"l": ["a"]}, "/o": {"l": ["again"]}}),
        {"/o": {"l": ["again", "a", "b"]}}, ["projects > /o"],
    ),
    "a value that vanished is named": (
        {"/o": {"p": "/o", "q": 1}}, lambda p: p["/n"].pop("p"),
        {"/o": {"q": 1}}, ["projects > /o > p"],
    ),
    "lists are sets, but for arguments": (
        {"/o": {"dirs": ["/o/a", "x"], "args": ["/o/a", "x"]}},
        lambda p: p.update({"/n": {"dirs": ["y", "x", "/n/a"], "args": ["y", "/n/a", "x"]}}),
        {"/o": {"dirs": ["y", "x", "/o/a"], "args": ["y", "/n/a", "x"]}}, ["projects > /o > args"],
    ),
    "of an object in a list each value goes back by itself": (
        {"/o": {"l": [{"p": "/o", "n": 1}]}},
        lambda p: p["/n"]["l"][0].update(n=2),
        {"/o": {"l": [{"p": "/o", "n": 2}]}}, [],
    ),
    "an item goes back although it took the place of another": (
        {"/o": {"l": [{"p": "/o"}, {"p": "/o/x"}]}},
        lambda p: p["/n"]["l"].pop(0),
        {"/o": {"l": [{"p": "/o/x"}]}}, ["projects > /o > l"],
    ),
}  # fmt: skip


class TestConfig:
    @pytest.mark.parametrize("what", SINCE)
    def test_what_came_since_stays(self, what: str) -> None:
        before, life, expected, named = SINCE[what]
        assert projects(before, life) == (expected, named)

    def test_an_item_that_vanished_is_named_also_in_a_swap(self) -> None:
        """What another item goes back to is not the one that is missing."""
        found = projects(
            {"/a": {"l": ["/a", "/b"]}}, lambda p: p["/b"]["l"].remove("/a"), SWAP
        )
        assert found == ({"/a": {"l": ["/a"]}}, ["projects > /a > l"])

    def test_a_project_that_came_since_follows_although_the_run_changed_none(
        self,
    ) -> None:
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
        assert projects(before, life, native=True) == (
            {"/n": kept, "/o": before["/o"]},
            [],
        )

    def test_where_what_came_since_follows_it_goes_with_what_was_brought(self) -> None:
        """NEW was only trusted once before the move: it gets back what it had."""
        before = {"/o": {"tools": ["a"]}, "/n": {"tools": [], "hasTrust": True}}
        found = projects(before, lambda p: p["/n"]["tools"].append("since"))
        assert found == ({"/o": {"tools": ["a", "since"]}, "/n": before["/n"]}, [])

    def test_where_it_stays_old_gets_what_it_had_and_new_keeps_the_rest(self) -> None:
        """OLD's folder is in use again, and so is NEW's."""
        before = {"/o": {"tools": ["a"]}}
        found = projects(before, lambda p: p["/n"]["tools"].append("b"), native=True)
        assert found == ({"/o": {"tools": ["a"]}, "/n": {"tools": ["b"]}}, [])

    def test_of_what_new_did_not_have_at_all_it_keeps_what_came_since(self) -> None:
        """Found by a random merge: NEW kept the servers of OLD beside one of its own."""
        before = {"/o": {"tools": ["a"], "servers": {"db": {"run": 1}}}, "/n": {"v": 1}}

        def life(found: dict[str, Any]) -> None:
            found["/n"]["tools"].append("since")
            found["/n"]["servers"]["web"] = {"run": 2}

        kept = {"v": 1, "tools": ["since"], "servers": {"web": {"run": 2}}}
        found = projects(before, life, native=True)
        assert found == ({"/o": before["/o"], "/n": kept}, [])

    def test_a_server_that_was_changed_since_stays_whole(self) -> None:
        servers = {"db": {"run": 1, "args": [1]}, "web": {"run": 2}}
        before = {"/o": {"servers": servers}, "/n": {"v": 1}}

        def life(found: dict[str, Any]) -> None:
            found["/n"]["servers"]["db"] = {"run": 1, "args": [2]}

        kept = {"v": 1, "servers": {"db": {"run": 1, "args": [2]}}}
        named = ["projects > /n > servers"]
        found = projects(before, life, native=True)
        assert found == ({"/o": before["/o"], "/n": kept}, named)

    def test_a_server_of_news_own_that_was_changed_since_follows_whole(self) -> None:
        server = {"run": 1, "args": [1]}
        before = {"/o": {"v": 1}, "/n": {"servers": {"db": server}}}

        def life(found: dict[str, Any]) -> None:
            found["/n"]["servers"]["db"] = {"run": 1, "args": [2]}
            found["/o"] = {"again": 1}

        changed = {"db": {"run": 1, "args": [2]}}
        merged = {"again": 1, "v": 1, "servers": changed}
        found = projects(before, life)
        assert found == ({"/o": merged, "/n": before["/n"]}, ["projects > /o"])

    def test_two_that_became_one_are_two_again(self) -> None:
        """What came since stays where it is, if it follows neither."""
        before = {"/a": {"l": [1], "p": "/a"}, "/b": {"l": [2], "p": "/b"}}
        found, named = projects(
            before, lambda p: p["/c"].update(since=1), BOTH, native=True
        )
        assert {name: found[name] for name in before} == before
        assert found["/c"] == {"since": 1}
        assert named == []

    def test_what_came_since_follows_one_of_two_that_became_one(self) -> None:
        """The other one was a twin whose folder is gone: it had come along."""
        before = {"/a": {"l": [1], "p": "/a"}, "/b": {"l": [2], "p": "/b"}}
        found, named = projects(before, lambda p: p["/c"]["l"].append(3), BOTH)
        assert found == {"/a": {"l": [1, 3], "p": "/a"}, "/b": before["/b"]}
        assert named == []

    @pytest.mark.parametrize("values", [({"v": 1}, {"v": 2}), ({"p": "/a"}, {})])
    def test_a_swap_with_paths_that_came_since(self, values: tuple[Any, Any]) -> None:
        def life(found: dict[str, Any]) -> None:
            found["/b"]["since"] = ["/b/x"]
            found["/a/sub"] = {"p": "/a/sub/y"}

        found = projects({"/a": values[0], "/b": values[1]}, life, SWAP)
        expected = {"/a": values[0] | {"since": ["/a/x"]}, "/b": values[1]}
        assert found == (expected | {"/b/sub": {"p": "/b/sub/y"}}, [])

    @pytest.mark.parametrize("new", ["/b", "/a"])
    def test_a_key_that_two_values_want_is_there_once(self, new: str) -> None:
        """In a chain, or in a swap, where what came since stays at NEW."""
        paths = CHAIN if new == "/b" else SWAP
        before = {"/a": {"v": 1}, "/b": {"v": 2}}
        found, named = projects(before, lambda p: p[new].update(s=1), paths, True)
        assert found == {**before, new: {"s": 1} | before[new]}
        assert named == [f"projects > {new}"]

    def test_every_other_byte_stays(self) -> None:
        before = '{ "n":1.10,"n" : 2 ,\r\n"projects":\t{"\\/o" :{"p":"/o"}} }\n'
        after = config.rewritten(before, MOVE)
        now = after.replace("2 ,", "2e0 ,").replace('"p"', '"p" ')
        result, lost = taken_out("config", before, after, now, BACK, MOVE.map)
        expected = (
            before.replace("2 ,", "2e0 ,").replace('"p"', '"p" ').replace("\\/o", "/o")
        )
        assert (result, lost) == (expected, [])


class TestIndex:
    @staticmethod
    def entry(key: str, path: str = "/o", **more: Any) -> dict[str, Any]:
        full = f"/c/projects/{path.replace('/', '-')}/{key}.jsonl"
        return {"sessionId": key, "projectPath": path, "fullPath": full, **more}

    def out(self, before: Any, after: Any, now: Any) -> tuple[Any, list[str]]:
        texts = [json.dumps({"entries": entries}) for entries in (before, after, now)]
        moves = MOVE.reversed()
        names = NameMap((("-n", "-o"),), moves)

        def back(path: str) -> str | None:
            return moves.map(path) or names.map(path)

        result, lost = taken_out("index", *texts, Following(back, back), MOVE.map)
        return json.loads(result)["entries"], lost

    def test_entries_that_came_in_leave_and_those_that_left_come_back(self) -> None:
        before = [self.entry("a", "/z"), self.entry("b", "/z")]
        after = [self.entry("b", "/z"), self.entry("c", "/n")]
        now = [self.entry("c", "/n", summary="x"), self.entry("b", "/z", summary="y")]
        found, lost = self.out(before, after, now)
        assert found == [self.entry("b", "/z", summary="y"), self.entry("a", "/z")]
        assert lost == []

    def test_an_entry_without_a_session_is_known_however_it_is_spelled(self) -> None:
        before = '{"entries": [{"n": 0, "n": 1, "fullPath": "/o"}]}'
        after = before.replace("/o", "/n")
        now = json.dumps(json.loads(after))
        stays = Following(lambda _: None, lambda _: None)
        result, _ = taken_out("index", before, after, now, stays, MOVE.map)
        assert json.loads(result) == json.loads(before)

    def test_a_session_that_is_listed_twice_leaves_twice(self) -> None:
        twice = [
            self.entry("c", "/n"),
            self.entry("b"),
            self.entry("c", "/n", summary="x"),
        ]
        after = [self.entry("b"), self.entry("c", "/n")]
        assert self.out([self.entry("b")], after, twice) == ([self.entry("b")], [])


def test_an_entry_that_the_run_made_keeps_what_came_since_to_it() -> None:
    """An undo of a merge, rolled back after life went on at both."""
    undo = PathMap((("/n", "/o"),))
    ways = [Following(lambda _: None, lambda _: None)]
    ways.append(Following(undo.reversed().map, undo.reversed().map))
    before = {"/n": {"m": 1, "a": [1, 2]}}
    after = {"/o": {"a": [1]}, "/n": {"a": [2]}}
    now = {"/o": {"a": [1], "t": "o"}, "/n": {"a": [2], "t": "n"}}
    texts = [json.dumps({"projects": each}) for each in (before, after, now)]
    for back in ways:
        text, lost = taken_out("config", *texts, back, undo.map)
        expected = {"/o": {"t": "o"}, "/n": {"m": 1, "a": [1, 2], "t": "n"}}
        assert json.loads(text)["projects"] == expected
        assert lost == ["projects > /o"]


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
def test_a_change_of_lines_is_taken_out_and_later_lines_stay(
    before: str, after: str, now: str, expected: str, lost: list[str]
) -> None:
    assert taken_out("lines", before, after, now, BACK, MOVE.map) == (
        expected,
        lost,
    )
