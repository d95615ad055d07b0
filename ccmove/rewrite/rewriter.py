"""Which string values of a file change in a move: pure functions from text to edits.

Nothing here reads or writes a disk. A value changes when it *is* a path in the move; a string
that merely contains one (a prompt, `--flag=/old/x`) never does. Of repeated keys the last counts,
as the client reads it; the others stay as they are.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from ccmove.rewrite import splice as make
from ccmove.rewrite.jsonspan import Node, Pointer, parse, parse_at, quote
from ccmove.rewrite.pathmap import PathMap
from ccmove.rewrite.splice import Edit

Mapper = Callable[[str], str | None]

_NO_MOVES = PathMap(())


class NameMap(NamedTuple):
    """Old -> new names of project directories, inside paths such as `…/projects/NAME/x.jsonl`."""

    names: tuple[tuple[str, str], ...]
    paths: PathMap = _NO_MOVES
    sessions: Mapping[tuple[str, str], str] = {}  # that leave their own; nobody changes it

    def map(self, path: str) -> str | None:
        """Where a path of the state itself is after the move, or None when it stays."""
        place = self.paths.map(path) or path
        for found in reversed(list(_DIRECTORY_NAME.finditer(place))):
            new = self._new_name(found["name"], found["entry"])
            if new is not None:
                place = place[: found.start()] + new + place[found.end() :]
                break
        return place if place != path else None

    def _new_name(self, name: str, entry: str) -> str | None:
        alone = self.sessions.get((name, entry.removesuffix(".jsonl")))
        return dict(self.names).get(name, alone)


_DIRECTORY_NAME = re.compile(
    r"(?<=[\\/]projects[\\/])(?P<name>[^\\/]+)(?=[\\/]?(?P<entry>[^\\/]*))"
)


def moved(text: str, node: Node, mapper: Mapper) -> str | None:
    """What the string at `node` becomes, or None when it stays."""
    new = mapper(node.value) if isinstance(node.value, str) else None
    if new is None or new == node.value:
        return None
    # Bytes that are no UTF-8 can't be spelled anew, and the client never wrote such a string.
    return None if _NO_UTF8.search(text, node.start, node.end) else new


_NO_UTF8 = re.compile("[\udc80-\udcff]")


# -- sessions-index.json ---------------------------------------------------------------------------


def index_edits(text: str, paths: PathMap, names: NameMap) -> list[Edit]:
    """`originalPath`, `projectPath`, `entries[].projectPath` and `entries[].fullPath`."""
    root = parse_index(text)
    edits = _member_edits(text, root, (), {"originalPath": paths.map, "projectPath": paths.map})
    entries = root.get("entries")
    if entries is not None and entries.opened == "[":
        for i, entry in enumerate(entries.items):
            edits += entry_edits(text, entry, ("entries", i), paths.map, names.map)
    return edits


def parse_index(text: str) -> Node:
    """The index with its entries as plain values: opening thousands of them would take long."""
    return parse(text, lambda pointer: pointer in ((), ("entries",)))


def entry_edits(
    text: str, entry: Node, pointer: Pointer, path: Mapper, full_path: Mapper
) -> list[Edit]:
    """The edits of one entry of the index."""
    wanted = {"projectPath": path, "fullPath": full_path}
    if isinstance(entry.value, dict):
        usual = _usual_entry_edits(text, entry, pointer, wanted)
        if usual is not None:
            return usual
        entry = parse_at(text, entry.start, lambda at: not at)
    session = entry.get("sessionId")
    anchor = session.value if session is not None and isinstance(session.value, str) else None
    return _member_edits(text, entry, pointer, wanted, anchor)


def _usual_entry_edits(
    text: str, entry: Node, pointer: Pointer, wanted: dict[str, Mapper]
) -> list[Edit] | None:
    """The edits of an entry that is spelled as the client spells it; None for any other."""
    edits = []
    session = entry.value.get("sessionId")
    anchor = session if isinstance(session, str) else None
    for key, mapper in wanted.items():
        value = entry.value.get(key)
        new = mapper(value) if isinstance(value, str) else None
        if new is None or new == value:
            continue
        node = _usual_member(text, entry, key, value)
        if node is None:
            return None
        edits.append(make.set_string(text, node, (*pointer, key), new, anchor))
    return edits


def _usual_member(text: str, entry: Node, key: str, value: str) -> Node | None:
    """Where `value` stands at `key`, without opening the entry; None when that is not plain.

    Without `\\u` a key has only one spelling. So if `"key":` is there once, it is the member.
    """
    inside = text[entry.start : entry.end]
    quoted = f'"{key}"'
    if inside.count(quoted) != 1 or "\\u" in inside:
        return None
    raw = quote(value)
    colon = _COLON.match(text, entry.start + inside.index(quoted) + len(quoted))
    if colon is None or not text.startswith(raw, colon.end()):
        return None
    return Node(colon.end(), colon.end() + len(raw))


_COLON = re.compile(r"[ \t\n\r]*:[ \t\n\r]*")


def _member_edits(
    text: str,
    node: Node,
    pointer: Pointer,
    wanted: dict[str, Mapper],
    anchor: str | None = None,
) -> list[Edit]:
    """Edits of the members of one object that have a mapper."""
    edits = []
    for key, mapper in wanted.items():
        item = node.get(key)
        new = moved(text, item, mapper) if item is not None else None
        if item is not None and new is not None:
            edits.append(make.set_string(text, item, (*pointer, key), new, anchor))
    return edits


# -- any JSON document -----------------------------------------------------------------------------


class Spot(NamedTuple):
    """A node and the way down to it; the pointer is made only when it is asked for."""

    node: Node
    above: Spot | None = None
    token: str | int = ""

    @property
    def pointer(self) -> Pointer:
        """The pointer from the node where the walk began."""
        tokens: list[str | int] = []
        spot = self
        while spot.above is not None:
            tokens.append(spot.token)
            spot = spot.above
        return tuple(reversed(tokens))


def walk(root: Node) -> Iterator[Spot]:
    """Every node of an opened tree that counts, parents first, without recursion."""
    waiting = [Spot(root)]
    while waiting:
        spot = waiting.pop()
        yield spot
        if spot.node.opened == "{":
            last_of_each = {key.value: item for key, item in spot.node.members()}
            below = [Spot(item, spot, name) for name, item in last_of_each.items()]
        else:
            below = [Spot(item, spot, i) for i, item in enumerate(spot.node.items)]
        waiting += reversed(below)


def string_edits(text: str, node: Node, pointer: Pointer, mapper: Mapper) -> list[Edit]:
    """Edits of every string value below `node` that the mapper changes, and of keys likewise."""
    edits = []
    for spot in walk(node):
        for place, name in new_names(text, spot.node, mapper).items():
            at = (*pointer, *spot.pointer, spot.node.keys[place].value)
            edits.append(make.rename_key(text, spot.node, place, at, name))
        new = moved(text, spot.node, mapper)
        if new is not None:
            edits.append(make.set_string(text, spot.node, (*pointer, *spot.pointer), new))
    return edits


def new_names(text: str, parent: Node, mapper: Mapper) -> dict[int, str]:
    """The members that get another name; not those that would hide another member by it."""
    mapped = {i: moved(text, key, mapper) for i, key in enumerate(parent.keys)}
    names = {i: name for i, name in mapped.items() if name is not None}
    while names:
        claims: dict[str, set[str]] = defaultdict(set)
        for i, key in enumerate(parent.keys):
            claims[names.get(i, key.value)].add(key.value)
        hiding = [i for i, name in names.items() if len(claims[name]) > 1]
        if not hiding:
            break
        for i in hiding:
            del names[i]
    return names


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
    """Edits of the values that the mapping changes and whose place is wanted."""
    edits = []
    for spot in walk(parse(text)):
        new = moved(text, spot.node, mapping.map)
        if new is not None and wanted(spot.pointer):
            edits.append(make.set_string(text, spot.node, spot.pointer, new))
    return edits


# -- files of the project itself -------------------------------------------------------------------


def project_file_edits(text: str, paths: PathMap, _: NameMap) -> list[Edit]:
    """Paths in settings and .mcp.json, also inside permission rules such as `Read(//old/**)`."""
    edits = string_edits(text, parse(text), (), lambda value: map_inside(value, paths))
    return [edit for edit in edits if not _is_command_line(edit)]


def _is_command_line(edit: Edit) -> bool:
    """A hook's command with arguments only looks like a path that has blanks in it."""
    before = edit.before
    return edit.pointer[-1:] == ("command",) and before is not None and " " in before


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
