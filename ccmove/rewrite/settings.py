"""The other documents that know a project's path:
which of their strings follow a move.
"""

import re
from collections.abc import Callable
from functools import partial

from ccmove.rewrite.pathmap import NameMap, PathMap
from ccmove.rewrite.splice import at_places, with_strings
from ccmove.rewrite.windows import in_bash

Rewrite = Callable[[str, PathMap, NameMap], str]  # the text with what moves


def _paths_at(*places: str) -> Rewrite:
    return lambda text, paths, _: at_places(text, dict.fromkeys(places, paths.map))


plugins = _paths_at("plugins/*/[]/projectPath", "plugins/*/[]/installPath")
marketplaces = _paths_at("*/installLocation", "*/source/path")
desktop = _paths_at("cwd", "originCwd")


def job(text: str, paths: PathMap, names: NameMap) -> str:
    """A background job's state.json with its folders,
    its transcript, flags and rules moved.
    """
    places = dict.fromkeys(("cwd", "originCwd", "worktreePath"), paths.map)
    return at_places(
        text,
        {
            **places,
            "linkScanPath": names.map,
            "respawnFlags/[]": lambda flag: names.map(flag) or map_inside(flag, paths),
            "sessionPermissionRules/*/[]": partial(map_inside, paths=paths),
        },
    )


def folders(text: str, paths: PathMap, _: NameMap) -> str:
    """daemon.json or bridge-pointer.json with every
    `dir` and `directory` in it moved.
    """
    names = (("dir",), ("directory",))
    return with_strings(text, paths.map, lambda at, _: at[-1:] in names)


def project_file(text: str, paths: PathMap, _: NameMap) -> str:
    """Settings or .mcp.json with their paths moved,
    also inside rules such as `Read(//old/**)`.
    """
    # A hook's command with arguments only looks like a path that has blanks in it.
    return with_strings(
        text,
        partial(map_inside, paths=paths),
        lambda at, node: at[-1:] != ("command",) or " " not in node.raw,
    )


_RULE = re.compile(r"(?P<tool>\w+)\((?P<content>.*)\)", re.DOTALL)
_NEEDS_NO_QUOTES = re.compile(r"(?:\$HOME|\$\{HOME\})?[\w@%+=:,./~-]*")


def map_inside(value: str, paths: PathMap) -> str | None:
    """`value` with the path that it is, or that its permission rule is about, moved."""
    rule = _RULE.fullmatch(value)
    if rule is None:
        return paths.map(value)
    about_files = rule["tool"] != "Bash"
    content = (_moved_pattern if about_files else _moved_command)(
        rule["content"], paths
    )
    new = f"{rule['tool']}({content})"
    return new if new != value else None


def _moved_pattern(pattern: str, paths: PathMap) -> str:
    """A file pattern is one path; `//` is how a rule writes an absolute one."""
    slash = "/" if pattern.startswith("//") else ""
    new = paths.map(pattern.removeprefix(slash))
    if new is None:
        return pattern
    new = in_bash(new) if pattern[0] in "~$" else new
    leaves_home = new.startswith("/") and not pattern.startswith(
        "/"
    )  # `~/x` has become absolute
    return f"/{new}" if slash or leaves_home else new


def _moved_command(command: str, paths: PathMap) -> str:
    """Each word of a command that begins with a path;
    `:*` at the end is the rule's own.
    """
    if not all(_NEEDS_NO_QUOTES.fullmatch(in_bash(new)) for _, new in paths.moves):
        return command
    words = command.removesuffix(":*")
    moved = [paths.map(word) or word for word in words.split(" ")]
    return " ".join(moved) + command[len(words) :]
