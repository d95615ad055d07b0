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

    def test_three_of_which_the_first_is_no_object(self) -> None:
        paths = PathMap((("/a", "/d"), ("/b", "/d"), ("/c", "/d")))
        projects = {"/a": None, "/b": {"l": ["/b"]}, "/c": {"l": ["/c", "x"]}}
        assert moved({"projects": projects}, paths) == {"projects": {"/d": {"l": ["/d", "x"]}}}


class TestMentions:
    """What names the old path and stays is listed, so that nobody has to look for it."""

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
