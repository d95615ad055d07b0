"""The other documents that know a project's path: which of their strings follow a move."""

from __future__ import annotations

import re
from collections.abc import Callable

from ccmove.rewrite.jsonspan import Pointer, parse
from ccmove.rewrite.pathmap import NameMap, PathMap
from ccmove.rewrite.splice import (
    Mapper,
    Splice,
    apply,
    moved,
    new_names,
    rename_key,
    set_string,
    walk,
)

_JOB_FOLDERS = (("cwd",), ("originCwd",), ("worktreePath",))
_JOB_ADDED = ("sessionPermissionRules", "addDirs")


def plugins(text: str, paths: PathMap, _: NameMap) -> str:
    """installed_plugins.json with `plugins[id][].projectPath` moved."""
    return apply(text, _where(text, paths.map, _is_plugin_path))


def _is_plugin_path(at: Pointer) -> bool:
    return len(at) == 4 and at[::3] == ("plugins", "projectPath")


def job(text: str, paths: PathMap, names: NameMap) -> str:
    """A background job's state.json with its folders and `linkScanPath`, its transcript, moved."""
    splices = _where(text, paths.map, lambda at: at in _JOB_FOLDERS or at[:2] == _JOB_ADDED)
    return apply(text, splices + _where(text, names.map, lambda at: at == ("linkScanPath",)))


def desktop(text: str, paths: PathMap, _: NameMap) -> str:
    """The desktop app's local_*.json with `cwd` and `originCwd` moved."""
    return apply(text, _where(text, paths.map, lambda at: at in (("cwd",), ("originCwd",))))


def _where(text: str, mapper: Mapper, wanted: Callable[[Pointer], bool]) -> list[Splice]:
    """The strings that the mapper changes and whose place is wanted."""
    splices = []
    for spot in walk(parse(text)):
        new = moved(text, spot.node, mapper)
        if new is not None and wanted(spot.pointer):
            splices.append(set_string(spot.node, new))
    return splices


# -- files of the project itself -------------------------------------------------------------------


def project_file(text: str, paths: PathMap, _: NameMap) -> str:
    """Settings or .mcp.json with their paths moved, also inside rules such as `Read(//old/**)`."""
    mapper: Mapper = lambda value: map_inside(value, paths)  # noqa: E731
    splices = []
    for spot in walk(parse(text)):
        names = new_names(text, spot.node, mapper)
        splices += [rename_key(spot.node, place, name) for place, name in names.items()]
        new = moved(text, spot.node, mapper)
        # A hook's command with arguments only looks like a path that has blanks in it.
        if new is not None and not (spot.token == "command" and " " in spot.node.value):
            splices.append(set_string(spot.node, new))
    return apply(text, splices)


_RULE = re.compile(r"(?P<tool>\w+)\((?P<content>.*)\)", re.DOTALL)
# A word of a shell command that is quoted as a whole or not at all, between blanks or operators.
_EDGE = r"\s;&|<>()"
_WORD = re.compile(rf"""(?<![^{_EDGE}])(?:"[^"\\]*"|'[^']*'|[^{_EDGE}"'\\`$]+)(?![^{_EDGE}])""")


def map_inside(value: str, paths: PathMap) -> str | None:
    """`value` with the path that it is, or that its permission rule is about, moved."""
    rule = _RULE.fullmatch(value)
    if rule is None:
        return paths.map(value)
    about_files = rule["tool"] != "Bash"
    content = (_moved_pattern if about_files else _moved_command)(rule["content"], paths)
    new = f"{rule['tool']}({content})"
    return new if new != value else None


def _moved_pattern(pattern: str, paths: PathMap) -> str:
    """A file pattern is one path; `//` is how a rule writes an absolute one."""
    slash = "/" if pattern.startswith("//") else ""
    new = paths.map(pattern.removeprefix(slash))
    return pattern if new is None else slash + new


def _moved_command(command: str, paths: PathMap) -> str:
    """Each word of a command that is a path; `:*` at the end is the rule's own."""
    words = command.removesuffix(":*")
    return _WORD.sub(lambda word: _moved_word(word[0], paths), words) + command[len(words) :]


def _moved_word(word: str, paths: PathMap) -> str:
    quoted = word[0] if word[0] in "\"'" else ""
    new = paths.map(word.strip(quoted))
    again = f"{quoted}{new}{quoted}"
    return again if new is not None and _WORD.fullmatch(again) else word


# -- plain lines -----------------------------------------------------------------------------------


def aliases(text: str, names: NameMap) -> str:
    """.session-aliases with the lines that name a moved project directory changed."""
    return "\n".join(_moved_line(line, names) for line in text.split("\n"))


def _moved_line(line: str, names: NameMap) -> str:
    plain = line.rstrip("\r")
    new = names.map(plain)
    return line if new is None else new + line[len(plain) :]


def appended(text: str, other: str) -> str:
    """The text, then the lines of `other` that it lacks; blank lines do not count."""
    have = {line.rstrip() for line in text.split("\n")}
    lacking = []
    for line in other.split("\n"):
        if line.strip() and line.rstrip() not in have:
            lacking.append(f"{line}\n")
            have.add(line.rstrip())
    gap = "\n" if lacking and text and not text.endswith("\n") else ""
    return text + gap + "".join(lacking)
