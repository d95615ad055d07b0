"""The other documents that know a project's path:
which of their strings follow a move.
"""

from collections.abc import Callable

from ccmove.rewrite.jsonspan import Node, Pointer, parse, walk
from ccmove.rewrite.occurrences import Occurrences, is_plain, value_splices
from ccmove.rewrite.pathmap import NameMap, PathMap
from ccmove.rewrite.splice import (
    Mapper,
    apply,
    at_pointers,
    string_splices,
    with_strings,
)

Rewrite = Callable[[str, Occurrences, NameMap], str]  # the text with what moves


def _paths_at(*pointers: str) -> Rewrite:
    return lambda text, paths, _: at_pointers(text, dict.fromkeys(pointers, paths.map))


plugins = _paths_at("plugins/*/[]/projectPath", "plugins/*/[]/installPath")
marketplaces = _paths_at("*/installLocation", "*/source/path")
desktop = _paths_at("cwd", "originCwd")


def job(text: str, paths: Occurrences, names: NameMap) -> str:
    """A background job's state.json with its folders,
    its transcript, flags and rules moved.
    """

    def flag(value: str) -> str | None:
        return names.map(value) or paths.inside(value)

    mappers: dict[str, Mapper] = {
        "cwd": paths.map,
        "originCwd": paths.map,
        "worktreePath": paths.map,
        "linkScanPath": names.map,
        "respawnFlags/[]": flag,
        "sessionPermissionRules/*/[]": paths.inside,
    }
    return at_pointers(text, mappers)


def folders(text: str, paths: PathMap, _: NameMap) -> str:
    """daemon.json or bridge-pointer.json with every
    `dir` and `directory` in it moved.
    """
    return with_strings(text, paths.map, _is_folder)


def _is_folder(at: Pointer, _: Node) -> bool:
    return at[-1:] in (("dir",), ("directory",))


def project_file(text: str, paths: Occurrences, _: NameMap) -> str:
    """Settings or .mcp.json with their paths moved, also inside rules and commands."""
    root = parse(text)
    inside = value_splices(root, paths)
    plain = [node for at, node in walk(root) if is_plain(at, node)]
    return apply(text, inside + string_splices(plain, paths.map))
