"""The other documents that know a project's path:
which of their strings follow a move.
"""

from collections.abc import Callable

from ccmove.rewrite.jsonspan import Pointer
from ccmove.rewrite.occurrences import Occurrences
from ccmove.rewrite.pathmap import NameMap, PathMap
from ccmove.rewrite.splice import Mapper, at_pointers, with_mapped

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

    def mapper_at(at: Pointer) -> Mapper | None:
        if at[-1:] in (("dir",), ("directory",)):
            return paths.map
        return None

    return with_mapped(text, mapper_at)


def project_file(text: str, paths: Occurrences, _: NameMap) -> str:
    """Settings or .mcp.json with their paths moved, also inside rules and commands."""
    return with_mapped(text, paths.mapper_at)
