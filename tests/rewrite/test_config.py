"""The config file: keys, values and repositories follow the move; two entries become one."""

from __future__ import annotations

import json
from typing import Any

from ccmove.rewrite import config
from ccmove.rewrite.pathmap import PathMap
from ccmove.rewrite.threeway import taken_out

OLD, NEW = "/home/dev/code/my-app", "/home/dev/code/new-app"
PATHS = PathMap(((OLD, NEW),))


def moved(document: dict[str, Any], paths: PathMap = PATHS) -> dict[str, Any]:
    """The config after the move; what undoes it is checked on the way."""
    text = json.dumps(document, indent=2)
    after = config.rewritten(text, paths)
    back = taken_out("config", text, after, after + " ", paths.reversed().map, paths.map)
    assert (json.loads(back[0]), back[1]) == (document, [])
    found = json.loads(after)
    assert isinstance(found, dict)
    return found


def mentions(document: dict[str, Any], paths: PathMap = PATHS) -> dict[str, str]:
    return dict(config.mentions(config.rewritten(json.dumps(document), paths), paths))


class TestProjects:
    """What tests/shapes/test_config_values.py does not try by a whole run."""

    def test_a_project_that_moved_down(self) -> None:
        paths = PathMap((("/a", "/a/main"),))
        assert moved({"projects": {"/a": {"p": "/a/x"}, "/a/main/sub": {}}}, paths) == {
            "projects": {"/a/main": {"p": "/a/main/x"}, "/a/main/sub": {}}
        }

    def test_counts_are_the_new_one_s(self) -> None:
        ours, theirs = {"projectOnboardingSeenCount": 4}, {"projectOnboardingSeenCount": 1}
        assert moved({"projects": {OLD: ours, NEW: theirs}})["projects"] == {NEW: theirs}

    def test_the_spacing_of_the_file_is_kept(self) -> None:
        text = json.dumps({"projects": {OLD: {"x": 1}, NEW: {"y": {"z": 2}}}}, indent=2)
        expected = json.dumps({"projects": {NEW: {"y": {"z": 2}, "x": 1}}}, indent=2)
        assert config.rewritten(text, PATHS) == expected

    def test_any_two_texts_are_united(self) -> None:
        assert config.united('{"a":[1]}', '{"a": [2], "b": "c"}') == '{"a":[1,2],"b":"c"}'

    def test_three_of_which_the_first_is_no_object(self) -> None:
        paths = PathMap((("/a", "/d"), ("/b", "/d"), ("/c", "/d")))
        projects = {"/a": None, "/b": {"l": ["/b"]}, "/c": {"l": ["/c", "x"]}}
        assert moved({"projects": projects}, paths) == {"projects": {"/d": {"l": ["/d", "x"]}}}

    def test_a_number_among_repositories_stays(self) -> None:
        repos = {"a/b": [OLD, OLD, 1]}
        assert moved({"githubRepoPaths": repos}) == {"githubRepoPaths": {"a/b": [NEW, 1]}}


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

    def test_a_repository_that_is_not_listed_twice_is_not_left_alone(self) -> None:
        assert mentions({"githubRepoPaths": {"a/b": [OLD, NEW]}}) == {}

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
