"""The config file: keys, values and repositories follow the move; two entries become one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ccmove.rewrite import config
from ccmove.rewrite.pathmap import PathMap
from ccmove.rewrite.threeway import taken_out

OLD, NEW = "/home/dev/code/my-app", "/home/dev/code/new-app"
PATHS = PathMap(((OLD, NEW),))
FACT = Path(__file__).parents[2] / "fixtures" / "facts" / "client-2.1.325" / "dot-claude.json"


def moved_text(text: str, paths: PathMap = PATHS) -> str:
    return config.rewritten(text, paths)


def moved(document: dict[str, Any], paths: PathMap = PATHS) -> dict[str, Any]:
    """The config after the move; what undoes it is checked on the way."""
    text = json.dumps(document, indent=2)
    after = moved_text(text, paths)
    back = taken_out("config", text, after, after + " ", paths.reversed().map, paths.map)
    assert (json.loads(back[0]), back[1]) == (document, [])
    found = json.loads(after)
    assert isinstance(found, dict)
    return found


def mentions(document: dict[str, Any], paths: PathMap = PATHS) -> dict[str, str]:
    return dict(config.mentions(moved_text(json.dumps(document), paths), paths))


class TestKeysAndValues:
    def test_the_client_s_own_file_changes_in_two_places(self) -> None:
        text = FACT.read_text("utf-8")
        assert text.count(f'"{OLD}"') == 2
        after = text.replace(f'"{OLD}"', f'"{NEW}"')
        assert moved_text(text) == after
        assert config.mentions(after, PATHS) == []

    def test_nested_projects_follow_and_siblings_stay(self) -> None:
        projects = {OLD: {}, OLD + "/web": {"a": 1}, OLD + "-docker": {"b": OLD}, "/srv": {}}
        assert moved({"projects": projects}) == {
            "projects": {NEW: {}, NEW + "/web": {"a": 1}, OLD + "-docker": {"b": OLD}, "/srv": {}}
        }

    def test_strings_that_are_paths_change_inside_the_moved_value_only(self) -> None:
        value = {
            "activeWorktreeSession": {"originalCwd": OLD, "worktreePath": OLD + "/.claude/w/x"},
            "mcpServers": {"s": {"command": OLD + "/run", "args": ["--root", OLD, f"--x={OLD}"]}},
            "note": f"see {OLD}",
            OLD: 1,
        }
        found = moved({"projects": {OLD: value}, "other": {"cwd": OLD}})
        assert found["other"] == {"cwd": OLD}
        assert found["projects"][NEW] == {
            "activeWorktreeSession": {"originalCwd": NEW, "worktreePath": NEW + "/.claude/w/x"},
            "mcpServers": {"s": {"command": NEW + "/run", "args": ["--root", NEW, f"--x={OLD}"]}},
            "note": f"see {OLD}",
            NEW: 1,
        }

    def test_every_other_byte_stays(self) -> None:
        text = (
            '\ufeff{ "n":1.10,"n" : 2 ,\r\n"projects":\t{"\\/home\\/dev\\/code\\/my-app" :{}} }\n'
        )
        expected = text.replace("\\/home\\/dev\\/code\\/my-app", NEW)
        assert moved_text(text) == expected

    @pytest.mark.parametrize(
        "text",
        [
            "{}",
            "[]",
            "null",
            '"x"',
            '{"projects": []}',
            f'{{"projects": "{OLD}"}}',
            '{"projects": null, "githubRepoPaths": null}',
            f'{{"x": {{"projects": {{"{OLD}": 1}}}}}}',
        ],
    )
    def test_another_shape_changes_nothing(self, text: str) -> None:
        assert moved_text(text) == text

    def test_a_swap_and_a_chain(self) -> None:
        swap = PathMap((("/a", "/b"), ("/b", "/a")))
        assert moved({"projects": {"/a": {"p": "/a"}, "/b": {"p": "/b"}}}, swap) == {
            "projects": {"/b": {"p": "/b"}, "/a": {"p": "/a"}}
        }
        chain = PathMap((("/a", "/b"), ("/b", "/c")))
        assert moved({"projects": {"/a": {"n": 1}, "/b": {"n": 2}}}, chain) == {
            "projects": {"/b": {"n": 1}, "/c": {"n": 2}}
        }

    def test_a_repeated_key_is_renamed_each_time(self) -> None:
        text = f'{{"projects": {{"{OLD}": {{"n": 1}}, "{OLD}": {{"n": 2}}}}}}'
        assert moved_text(text) == text.replace(OLD, NEW)

    def test_a_project_that_moved_down(self) -> None:
        paths = PathMap((("/a", "/a/main"),))
        assert moved({"projects": {"/a": {"p": "/a/x"}, "/a/main/sub": {}}}, paths) == {
            "projects": {"/a/main": {"p": "/a/main/x"}, "/a/main/sub": {}}
        }

    def test_a_key_with_bytes_that_are_no_utf8_stays(self) -> None:
        data = b'{"projects": {"%s/\xff": {"p": "%s"}}}' % (OLD.encode(), OLD.encode())
        text = data.decode("utf-8", "surrogateescape")
        assert moved_text(text) == text


class TestUniting:
    def test_lists_without_repeats_and_scalars_of_the_new_one(self) -> None:
        ours = {"allowedTools": ["a", "b"], "lastCost": 1, "only": {"x": [1]}, "n": None}
        theirs = {"allowedTools": ["b", "c", "c"], "lastCost": 2, "n": 7}
        found = moved({"projects": {OLD: ours, "/srv": {}, NEW: theirs}})
        assert found == {
            "projects": {
                "/srv": {},
                NEW: {
                    "allowedTools": ["b", "c", "c", "a"],
                    "lastCost": 2,
                    "n": 7,
                    "only": {"x": [1]},
                },
            }
        }

    @pytest.mark.parametrize("key", ["hasTrustDialogAccepted", "hasCompletedProjectOnboarding"])
    @pytest.mark.parametrize(
        ("ours", "theirs", "expected"),
        [
            (True, False, True),
            (False, True, True),
            (False, False, False),
            (True, None, True),
            (True, True, True),
        ],
    )
    def test_consent_is_given_if_either_had_it(
        self, key: str, ours: Any, theirs: Any, expected: Any
    ) -> None:
        found = moved({"projects": {OLD: {key: ours}, NEW: {key: theirs}}})
        assert found["projects"] == {NEW: {key: expected}}

    def test_other_flags_and_counts_are_the_new_one_s(self) -> None:
        ours = {"lastGracefulShutdown": True, "projectOnboardingSeenCount": 4}
        theirs = {"lastGracefulShutdown": False, "projectOnboardingSeenCount": 1}
        assert moved({"projects": {OLD: ours, NEW: theirs}})["projects"] == {NEW: theirs}

    def test_servers_are_united_by_name_and_never_mixed(self) -> None:
        ours = {"mcpServers": {"a": {"command": OLD + "/a"}, "b": {"command": OLD + "/b"}}}
        theirs: dict[str, Any] = {"mcpServers": {"b": {"args": []}}}
        assert moved({"projects": {OLD: ours, NEW: theirs}})["projects"] == {
            NEW: {"mcpServers": {"b": {"args": []}, "a": {"command": NEW + "/a"}}}
        }

    def test_a_path_is_changed_before_it_is_compared(self) -> None:
        found = moved({"projects": {OLD: {"dirs": [OLD, OLD + "/x"]}, NEW: {"dirs": [NEW]}}})
        assert found["projects"] == {NEW: {"dirs": [NEW, NEW + "/x"]}}

    def test_a_number_is_not_the_string_of_its_digits(self) -> None:
        found = moved({"projects": {OLD: {"l": [1, "1", [1], True]}, NEW: {"l": ["1"]}}})
        assert found["projects"][NEW]["l"] == ["1", 1, [1], True]

    def test_what_is_empty_is_filled(self) -> None:
        full = {"l": [1], "m": {"k": 1}}
        assert moved({"projects": {OLD: full, NEW: {"l": [], "m": {}}}})["projects"] == {NEW: full}
        assert moved({"projects": {OLD: full, NEW: {}}})["projects"] == {NEW: full}
        assert moved({"projects": {OLD: {}, NEW: full}})["projects"] == {NEW: full}

    @pytest.mark.parametrize("value", [None, [], "x", 3])
    def test_a_value_that_is_no_object_gives_way_to_one_that_is(self, value: Any) -> None:
        assert moved({"projects": {OLD: {"a": 1}, NEW: value}})["projects"] == {NEW: {"a": 1}}
        assert moved({"projects": {OLD: value, NEW: {"a": 1}}})["projects"] == {NEW: {"a": 1}}

    def test_the_values_of_a_repeated_key_do_not_come_back(self) -> None:
        text = f'{{"projects": {{"{OLD}": {{"a": 1}}, "{OLD}": {{"b": 2}}, "{NEW}": {{}}}}}}'
        assert json.loads(moved_text(text)) == {"projects": {NEW: {"b": 2}}}
        assert text.count(OLD) == 2
        assert OLD not in moved_text(text)

    def test_deeply_nested_values_are_carried_over(self) -> None:
        deep = "[" * 5_000 + "]" * 5_000
        text = f'{{"projects": {{"{OLD}": {{"l": [{deep}]}}, "{NEW}": {{"l": [{deep}, 1]}}}}}}'
        assert moved_text(text) == f'{{"projects": {{ "{NEW}": {{"l": [{deep}, 1]}}}}}}'

    def test_the_spacing_of_the_file_is_kept(self) -> None:
        document = {"projects": {OLD: {"x": 1}, NEW: {"y": {"z": 2}}}}
        text = json.dumps(document, indent=2)
        expected = json.dumps({"projects": {NEW: {"y": {"z": 2}, "x": 1}}}, indent=2)
        assert moved_text(text) == expected

    def test_it_works_on_any_two_texts(self) -> None:
        text = '{"a":[1]}'
        assert config.united(text, '{"a": [2], "b": "c"}') == '{"a":[1,2],"b":"c"}'


class TestTwoIntoOne:
    """Two projects that move to the same new path."""

    BOTH = PathMap((("/a", "/c"), ("/b", "/c")))

    def test_the_first_takes_up_the_second(self) -> None:
        one = {"l": ["/a", 1], "n": 1, "hasTrustDialogAccepted": False, "s": {}}
        other = {"l": ["/b", 2], "n": 2, "hasTrustDialogAccepted": True, "s": {"x": "/b/x"}, "o": 3}
        assert moved({"projects": {"/a": one, "/b": other}}, self.BOTH) == {
            "projects": {
                "/c": {
                    "l": ["/c", 1, 2],
                    "n": 1,
                    "hasTrustDialogAccepted": True,
                    "s": {"x": "/c/x"},
                    "o": 3,
                }
            }
        }

    def test_both_go_into_one_that_is_there(self) -> None:
        projects = {"/a": {"l": [1], "x": 1}, "/c": {"l": []}, "/b": {"l": [1, 2], "x": 2, "y": 3}}
        assert moved({"projects": projects}, self.BOTH) == {
            "projects": {"/c": {"l": [1, 2], "x": 1, "y": 3}}
        }

    def test_members_that_become_the_same_by_the_move_are_one(self) -> None:
        projects = {"/a": {"m": {"/a/x": 1}}, "/b": {"m": {"/b/x": 2, "/b/y": 3}}}
        assert moved({"projects": projects}, self.BOTH) == {
            "projects": {"/c": {"m": {"/c/x": 1, "/c/y": 3}}}
        }

    def test_three_of_which_the_first_is_no_object(self) -> None:
        paths = PathMap((("/a", "/d"), ("/b", "/d"), ("/c", "/d")))
        projects = {"/a": None, "/b": {"l": ["/b"]}, "/c": {"l": ["/c", "x"]}}
        assert moved({"projects": projects}, paths) == {"projects": {"/d": {"l": ["/d", "x"]}}}


class TestRepositories:
    def test_paths_follow(self) -> None:
        repos = {"a/b": [OLD, "/srv"], "c/d": [OLD + "/x"], "e/f": [OLD + "-docker"]}
        assert moved({"githubRepoPaths": repos}) == {
            "githubRepoPaths": {
                "a/b": [NEW, "/srv"],
                "c/d": [NEW + "/x"],
                "e/f": [OLD + "-docker"],
            }
        }

    def test_a_path_is_not_listed_twice(self) -> None:
        repos = {"a/b": [OLD, NEW], "c/d": [NEW, "/srv", OLD], "e/f": [OLD, OLD, 1]}
        assert moved({"githubRepoPaths": repos}) == {
            "githubRepoPaths": {"a/b": [NEW], "c/d": [NEW, "/srv"], "e/f": [NEW, 1]}
        }

    def test_another_shape_is_handled_too(self) -> None:
        assert moved({"githubRepoPaths": {"a/b": OLD}}) == {"githubRepoPaths": {"a/b": NEW}}


class TestMentions:
    """What names the old path and stays is listed, so that nobody has to look for it."""

    def test_strings_that_only_contain_the_path(self) -> None:
        value = {"args": [f"--root={OLD}", OLD], "allowedTools": [f"Read(/{OLD}/**)"]}
        document = {"projects": {OLD: value}, "tip": f"in {OLD}.", "other": f"{OLD}-docker"}
        assert mentions(document) == {
            "/projects/~1home~1dev~1code~1new-app/args/0": f"--root={OLD}",
            "/projects/~1home~1dev~1code~1new-app/allowedTools/0": f"Read(/{OLD}/**)",
            "/tip": f"in {OLD}.",
        }

    def test_whole_paths_in_places_that_do_not_follow(self) -> None:
        document = {"projects": {"/srv": {"link": OLD}}, "cache": {OLD: 1}}
        assert mentions(document) == {
            "/projects/~1srv/link": OLD,
            "/cache/~1home~1dev~1code~1my-app": OLD,
        }

    def test_strings_inside_a_value_that_was_united(self) -> None:
        document = {"projects": {OLD: {"args": [f"--root={OLD}", OLD]}, NEW: {}}}
        assert mentions(document) == {
            "/projects/~1home~1dev~1code~1new-app/args/0": f"--root={OLD}"
        }

    def test_a_repository_that_is_not_listed_twice_is_not_left_alone(self) -> None:
        assert mentions({"githubRepoPaths": {"a/b": [OLD, NEW]}}) == {}

    @pytest.mark.parametrize(
        "old", ['/code/q"x', "/code/caf\u00e9", "/code/tab\t", "/code/back\\slash"]
    )
    @pytest.mark.parametrize("ensure_ascii", [True, False])
    def test_however_the_path_is_spelled(self, old: str, ensure_ascii: bool) -> None:
        paths = PathMap(((old, "/new"),))
        text = json.dumps({"tip": f"in {old}"}, ensure_ascii=ensure_ascii)
        assert config.mentions(text, paths) == [("/tip", f"in {old}")]
        slashed = text.replace("/", "\\/")
        assert config.mentions(slashed, paths) == [("/tip", f"in {old}")]

    def test_windows_paths(self) -> None:
        paths = PathMap(((r"C:\Users\me\app", r"C:\Users\me\new"),))
        assert mentions({"tip": "--root=c:/Users/me/app/x"}, paths) == {
            "/tip": "--root=c:/Users/me/app/x"
        }

    def test_after_a_swap_only_what_did_not_move(self) -> None:
        swap = PathMap((("/a", "/b"), ("/b", "/a")))
        value = {"p": "/a/x", "q": "--x=/a", "/b": 1}
        document = {"projects": {"/a": value, "/c": {"p": "/a"}}, "githubRepoPaths": {"r": ["/a"]}}
        assert mentions(document, swap) == {"/projects/~1b/q": "--x=/a", "/projects/~1c/p": "/a"}

    def test_what_is_in_place_already_is_no_mention(self) -> None:
        paths = PathMap((("/a", "/a/main"),))
        assert mentions({"tip": "--root=/a/main", "top": "--root=/a"}, paths) == {
            "/top": "--root=/a"
        }
