"""The other documents that know a project's path: which of their strings follow a move."""

from __future__ import annotations

import re
from collections.abc import Callable

from ccmove.rewrite import splice as make
from ccmove.rewrite.compare import changed_lines
from ccmove.rewrite.jsonspan import Pointer, parse
from ccmove.rewrite.pathmap import NameMap, PathMap

_JOB_FOLDERS = (("cwd",), ("originCwd",), ("worktreePath",))
_JOB_ADDED = ("sessionPermissionRules", "addDirs")


def plugins(text: str, paths: PathMap, _: NameMap) -> str:
    """installed_plugins.json with `plugins[id][].projectPath` moved."""
    return make.apply(text, _where(text, paths.map, _is_plugin_path))


def _is_plugin_path(at: Pointer) -> bool:
    return len(at) == 4 and at[::3] == ("plugins", "projectPath")


def job(text: str, paths: PathMap, names: NameMap) -> str:
    """A background job's state.json with its folders and `linkScanPath`, its transcript, moved."""
    splices = _where(text, paths.map, lambda at: at in _JOB_FOLDERS or at[:2] == _JOB_ADDED)
    return make.apply(text, splices + _where(text, names.map, lambda at: at == ("linkScanPath",)))


def desktop(text: str, paths: PathMap, _: NameMap) -> str:
    """The desktop app's local_*.json with `cwd` and `originCwd` moved."""
    return make.apply(text, _where(text, paths.map, lambda at: at in (("cwd",), ("originCwd",))))


def _where(text: str, mapper: make.Mapper, wanted: Callable[[Pointer], bool]) -> list[make.Splice]:
    return make.string_splices(text, parse(text), mapper, lambda spot: wanted(spot.pointer))


# -- files of the project itself -------------------------------------------------------------------


def project_file(text: str, paths: PathMap, _: NameMap) -> str:
    """Settings or .mcp.json with their paths moved, also inside rules such as `Read(//old/**)`."""
    mapper: make.Mapper = lambda value: map_inside(value, paths)  # noqa: E731
    return make.apply(text, make.string_splices(text, parse(text), mapper, _is_no_command))


def _is_no_command(spot: make.Spot) -> bool:
    """A hook's command with arguments only looks like a path that has blanks in it."""
    value = spot.node.value
    return not (spot.token == "command" and isinstance(value, str) and " " in value)


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


def without_lines(before: str, after: str, now: str) -> tuple[str, list[str]]:
    """`now` with the run taken out, and what could not be: see `threeway`.

    Lines that the run added go, those that it replaced or took out come back.
    """
    lines = now.split("\n")
    lost: list[str] = []
    missing: list[str] = []
    for _, number, old, new in reversed([*changed_lines(before.split("\n"), after.split("\n"))]):
        if not (old or new or "").strip():
            continue
        is_there = new is not None and new in lines
        place = number if lines[number : number + 1] == [new] else len(lines) - 1
        while is_there and lines[place] != new:
            place -= 1
        if new is None and old is not None:
            missing.insert(0, old)
        elif is_there:
            lines[place : place + 1] = [old] if old is not None else []
        elif old is not None and old not in lines:
            lost.append(f"line {number + 1}")
    return appended("\n".join(lines), "\n".join(missing)), lost
