"""Which string values of a file change in a move: pure functions from text to edits.

Nothing here reads or writes a disk. A value changes when it *is* a path in the move; a string
that merely contains one (a prompt, `--flag=/old/x`) never does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from ccmove import edits as make
from ccmove.edits import Edit
from ccmove.jsonspan import Node, Pointer, everything, parse, parse_at
from ccmove.pathmap import PathMap

Mapper = Callable[[str], str | None]


@dataclass(frozen=True)
class NameMap:
    """Old -> new names of project directories, inside paths such as `…/projects/NAME/x.jsonl`."""

    names: tuple[tuple[str, str], ...]
    paths: PathMap = PathMap(())
    sessions: Mapping[tuple[str, str], str] = field(default_factory=dict)  # that leave their own

    def map(self, path: str) -> str | None:
        """Where a path of the state itself is after the move, or None when it stays."""
        moved = self.paths.map(path) or path
        match = _PROJECT_PATH.fullmatch(moved)
        new = self._new_name(match["name"], match["after"]) if match else None
        if match and new is not None:
            moved = f"{match['before']}{new}{match['after']}"
        return moved if moved != path else None

    def _new_name(self, name: str, inside: str) -> str | None:
        for old, new in self.names:
            if name == old:
                return new
        session = re.split(r"[\\/]", inside)[1].removesuffix(".jsonl") if inside else ""
        return self.sessions.get((name, session))


_PROJECT_PATH = re.compile(
    r"(?P<before>.*[\\/]projects[\\/])(?P<name>[^\\/]+)(?P<after>(?:[\\/].*)?)", re.DOTALL
)


# -- sessions-index.json ------------------------------------------------------------------------


def index_edits(text: str, paths: PathMap, names: NameMap) -> list[Edit]:
    """`originalPath`, `projectPath`, `entries[].projectPath` and `entries[].fullPath`."""
    root = parse_index(text)
    edits = _member_edits(text, root, (), {"originalPath": paths.map, "projectPath": paths.map})
    entries = root.get("entries") if root.opened == "{" else None
    for i, entry in enumerate(entries.items if entries is not None else ()):
        edits += entry_edits(text, entry, ("entries", i), paths.map, names.map)
    return edits


def parse_index(text: str) -> Node:
    """The index with its entries as plain values: opening 5,000 of them would take long."""
    return parse(text, lambda pointer: pointer in ((), ("entries",)))


def entry_edits(
    text: str, entry: Node, pointer: Pointer, path: Mapper, full_path: Mapper
) -> list[Edit]:
    """The edits of one entry of the index."""
    if not isinstance(entry.value, dict):
        return []
    wanted = {"projectPath": path, "fullPath": full_path}
    moving = {k: m for k, m in wanted.items() if _moved(entry.value.get(k), m) is not None}
    if not moving:
        return []
    anchor = entry.value.get("sessionId")
    anchor = anchor if isinstance(anchor, str) else None
    found = {key: flat_member(text, entry, key) for key in moving}
    edits = []
    for key, node in found.items():
        if node is None:  # spelled in some unusual way: open the whole entry
            opened = parse_at(text, entry.start)
            return _member_edits(text, opened, pointer, wanted, anchor)
        new = moving[key](node.value)
        assert new is not None  # that is what `moving` holds
        edits.append(make.set_string(text, node, (*pointer, key), new, anchor))
    return edits


def flat_member(text: str, entry: Node, key: str) -> Node | None:
    """The string at `key` of an object that was not opened, or None when it is not plain to see.

    Without `\\u` a key has only one spelling, so a single `"key":` can only be the member.
    """
    quoted = f'"{key}"'
    at = text.find(quoted, entry.start, entry.end)
    if at < 0 or text.find(quoted, at + 1, entry.end) >= 0:
        return None
    colon = _COLON.match(text, at + len(quoted))
    if colon is None or text.find("\\u", entry.start, entry.end) >= 0:
        return None
    node = parse_at(text, colon.end())
    return node if isinstance(node.value, str) else None


_COLON = re.compile(r'[ \t\n\r]*:[ \t\n\r]*(?=")')


def _moved(value: object, mapper: Mapper) -> str | None:
    return mapper(value) if isinstance(value, str) and type(value) is str else None


def _member_edits(
    text: str,
    node: Node,
    pointer: Pointer,
    wanted: dict[str, Mapper],
    anchor: str | None = None,
) -> list[Edit]:
    """Edits of the members of one opened object that have a mapper."""
    edits = []
    for key, item in node.members():
        mapper = wanted.get(key.value)
        new = _moved(item.value, mapper) if mapper else None
        if new is not None:
            edits.append(make.set_string(text, item, (*pointer, key.value), new, anchor))
    return edits


# -- any JSON document ----------------------------------------------------------------------------


def walk(node: Node, pointer: Pointer = ()) -> Iterator[tuple[Node, Pointer, bool]]:
    """Every string of an opened tree as (node, pointer, is a key), in the order of the text."""
    stack: list[tuple[Node, Pointer, bool]] = [(node, pointer, False)]
    while stack:
        current, at, is_key = stack.pop()
        if is_key or type(current.value) is str:
            yield current, at, is_key
        below: list[tuple[Node, Pointer, bool]] = []
        if current.opened == "{":
            for key, item in current.members():
                below += [(key, (*at, key.value), True), (item, (*at, key.value), False)]
        else:
            below = [(item, (*at, i), False) for i, item in enumerate(current.items)]
        stack += reversed(below)


def string_edits(text: str, node: Node, pointer: Pointer, mapper: Mapper) -> list[Edit]:
    """Edits of every string value below `node` that the mapper changes, and of keys likewise."""
    edits = []
    for found, at, is_key in walk(node, pointer):
        new = mapper(found.value)
        if new is None:
            continue
        if is_key:
            edits.append(make.rename_key(text, found, at, new))
        else:
            edits.append(make.set_string(text, found, at, new))
    return edits


def plugin_edits(text: str, paths: PathMap, _: NameMap) -> list[Edit]:
    """`plugins[id][].projectPath` of installed_plugins.json."""
    return _edits_where(
        text, paths, lambda at: len(at) == 4 and at[::3] == ("plugins", "projectPath")
    )


def job_edits(text: str, paths: PathMap, names: NameMap) -> list[Edit]:
    """The folders of a background job's state.json, and `linkScanPath`, its transcript."""
    edits = _edits_where(text, paths, lambda at: at in _JOB_FOLDERS or at[:2] == _JOB_ADDED)
    return edits + _edits_where(text, names, lambda at: at == ("linkScanPath",))


_JOB_FOLDERS = (("cwd",), ("originCwd",), ("worktreePath",))
_JOB_ADDED = ("sessionPermissionRules", "addDirs")


def desktop_edits(text: str, paths: PathMap, _: NameMap) -> list[Edit]:
    """`cwd` and `originCwd` of the desktop app's local_*.json."""
    return _edits_where(text, paths, lambda at: at in (("cwd",), ("originCwd",)))


def _edits_where(
    text: str, mapping: PathMap | NameMap, wanted: Callable[[Pointer], bool]
) -> list[Edit]:
    edits = []
    for node, at, is_key in walk(parse(text, everything)):
        new = mapping.map(node.value) if not is_key and wanted(at) else None
        if new is not None:
            edits.append(make.set_string(text, node, at, new))
    return edits


# -- files of the project itself ------------------------------------------------------------------


def project_file_edits(text: str, paths: PathMap, _: NameMap) -> list[Edit]:
    """Paths in settings and .mcp.json, also inside permission rules such as `Read(//old/**)`."""
    root = parse(text, everything)
    return string_edits(text, root, (), lambda value: map_inside(value, paths))


_RULE = re.compile(r"(?P<tool>\w+)\((?P<slash>/(?=/))?(?P<path>.*)\)", re.DOTALL)
_PATH_END = re.compile(r"[/\\:*?\s\"')]|$")


def map_inside(value: str, paths: PathMap) -> str | None:
    """`value` with the path that it is, or that its permission rule begins with, moved."""
    whole = paths.map(value)
    if whole is not None:
        return whole
    rule = _RULE.fullmatch(value)
    if rule is None:
        return None
    for old, new in sorted(paths.moves, key=lambda move: -len(move[0])):
        path = rule["path"]
        if path.startswith(old) and _PATH_END.match(path, len(old)):
            return f"{rule['tool']}({rule['slash'] or ''}{new}{path[len(old) :]})"
    return None


# -- plain lines -----------------------------------------------------------------------------------


def alias_lines(text: str, names: NameMap) -> list[tuple[int, str, str]]:
    """Lines of .session-aliases that name a moved project directory: (number, before, after)."""
    changed = []
    for number, line in enumerate(text.split("\n")):
        new = names.map(line.rstrip("\r"))
        if new is not None:
            changed.append((number, line, new + line[len(line.rstrip("\r")) :]))
    return changed


def change_lines(text: str, changes: list[tuple[int, str, str]]) -> str:
    """`text` with these lines replaced, each only where it still is what is said to be before."""
    lines = text.split("\n")
    for number, before, after in changes:
        if number < len(lines) and lines[number] == before:
            lines[number] = after
        elif lines.count(before) == 1:
            lines[lines.index(before)] = after
    return "\n".join(lines)


def appendix(theirs: str, ours: str) -> str:
    """What to put after `theirs` so that it has every line of `ours`; blank lines do not count."""
    have = {line.rstrip() for line in theirs.split("\n")}
    lacking = []
    for line in ours.split("\n"):
        if line.strip() and line.rstrip() not in have:
            lacking.append(f"{line}\n")
            have.add(line.rstrip())
    gap = "\n" if lacking and theirs and not theirs.endswith("\n") else ""
    return gap + "".join(lacking)
