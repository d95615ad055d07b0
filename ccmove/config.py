"""The config file (`~/.claude.json`): which bytes of it a move changes, and what it leaves alone."""

from __future__ import annotations

from dataclasses import dataclass

from ccmove import edits as make
from ccmove.edits import Edit
from ccmove.jsonspan import Node, Pointer, loads, parse, show
from ccmove.pathmap import PathMap, is_named_in
from ccmove.rewriter import string_edits, walk

PROJECTS = "projects"
REPOS = "githubRepoPaths"


@dataclass(frozen=True)
class ConfigChange:
    """The edits, and the strings that name a path of the move without being one."""

    edits: tuple[Edit, ...]
    mentions: tuple[tuple[str, str], ...]  # (pointer, string)


def config_change(text: str, paths: PathMap) -> ConfigChange:
    """Keys of `projects`, paths inside the moved projects' values, and `githubRepoPaths`."""
    root = parse(text, lambda at: _is_opened(at, paths))
    edits: list[Edit] = []
    projects = root.get(PROJECTS) if root.opened == "{" else None
    if projects is not None and projects.opened == "{":
        edits += _project_edits(text, projects, paths)
    repos = root.get(REPOS) if root.opened == "{" else None
    if repos is not None:
        edits += string_edits(text, repos, (REPOS,), paths.map)
    return ConfigChange(tuple(edits), tuple(_mentions(text, edits, paths)))


def _is_opened(at: Pointer, paths: PathMap) -> bool:
    """Only what can change is opened; the rest of a large file is skipped at full speed."""
    if len(at) < 2 or at[0] != PROJECTS:
        return not at or at[0] in (PROJECTS, REPOS)
    key = at[1]
    return isinstance(key, str) and (paths.covers(key) or paths.reversed().covers(key))


def _project_edits(text: str, projects: Node, paths: PathMap) -> list[Edit]:
    """Rename the keys; where the new one exists already and does not move, unite the values."""
    edits: list[Edit] = []
    settled = {k.value: item for k, item in projects.members() if not paths.covers(k.value)}
    gone: set[int] = set()
    for number, (key, item) in enumerate(projects.members()):
        new_key = paths.map(key.value)
        if new_key is None:
            continue
        pointer = (PROJECTS, key.value)
        inside = string_edits(text, item, pointer, paths.map)
        target = settled.get(new_key)
        if target is None:
            edits += [make.rename_key(text, key, pointer, new_key), *inside]
            settled[new_key] = item
        elif projects.get(key.value) is item:
            moved = make.apply_inside(text, item, inside)
            edits += unite(text, target, (PROJECTS, new_key), moved)
            gone.add(number)
    return edits + make.remove_items(text, projects, (PROJECTS,), gone)


def unite(text: str, target: Node, pointer: Pointer, incoming: str) -> list[Edit]:
    """Edits that give `target` what only `incoming` has: lists without repeats, missing members.

    Scalars of the target win, except that trust and onboarding are true if either was.
    """
    other = parse(incoming)
    if target.opened != "{" or other.opened != "{":
        return []
    edits: list[Edit] = []
    lacking: list[tuple[str, str]] = []
    for key, item in other.members():
        raw = incoming[item.start : item.end]
        mine = target.get(key.value)
        at = (*pointer, key.value)
        if mine is None:
            lacking.append((key.value, raw))
        elif mine.opened == "[" and item.opened == "[":
            edits += _unite_lists(text, mine, at, incoming, item)
        elif mine.opened == "{" and item.opened == "{":
            edits += _unite_members(text, mine, at, incoming, item)
        elif _is_consent(key.value) and raw == "true" and mine.value is False:
            edits.append(make.set_raw(text, mine, at, "true"))
    return edits + make.add_items(text, target, pointer, lacking)


def _is_consent(key: str) -> bool:
    return "Trust" in key or "Onboarding" in key


def _unite_lists(text: str, mine: Node, at: Pointer, incoming: str, other: Node) -> list[Edit]:
    have = [loads(text[item.start : item.end]) for item in mine.items]
    lacking = []
    for item in other.items:
        raw = incoming[item.start : item.end]
        if loads(raw) not in have:
            have.append(loads(raw))
            lacking.append(("", raw))
    return make.add_items(text, mine, at, lacking)


def _unite_members(text: str, mine: Node, at: Pointer, incoming: str, other: Node) -> list[Edit]:
    """Whole members only: mixing the arguments of two servers of one name would serve nobody."""
    lacking = [
        (key.value, incoming[item.start : item.end])
        for key, item in other.members()
        if mine.get(key.value) is None
    ]
    return make.add_items(text, mine, at, lacking)


def _mentions(text: str, edits: list[Edit], paths: PathMap) -> list[tuple[str, str]]:
    """Strings anywhere in the file that hold OLD and do not change."""
    needles = paths.needles()
    spots = sum(text.count(needle) for needle in needles)
    changed = [(edit.start, edit.end) for edit in edits]
    if spots <= sum(any(n in text[a:b] for n in needles) for a, b in changed):
        return []
    found = []
    for node, at, is_key in walk(parse(text)):
        if is_key or any(a <= node.start < b for a, b in changed):
            continue
        if any(is_named_in(node.value, old) for old, _ in paths.moves):
            found.append((show(at), node.value))
    return found
