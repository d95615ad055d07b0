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


class TestProjects:
    """What tests/shapes/test_config_values.py does not try by a whole run."""

    def test_three_of_which_the_first_is_not_an_object(self) -> None:
        paths = PathMap((("/a", "/d"), ("/b", "/d"), ("/c", "/d")))
        projects = {"/a": None, "/b": {"l": ["/b"]}, "/c": {"l": ["/c", "x"]}}
        assert moved({"projects": projects}, paths) == {"projects": {"/d": {"l": ["/d", "x"]}}}
