"""The config file (`~/.claude.json`): what a move changes in it, and what it leaves alone."""

from __future__ import annotations

from typing import Any

from ccmove.rewrite import splice as make
from ccmove.rewrite.jsonspan import Node, Part, Pointer, canonical, loads, parse, parse_at, show
from ccmove.rewrite.pathmap import PathMap
from ccmove.rewrite.splice import Mapper, Splice, Spot, add_items, moved, remove_items, set_string

PROJECTS = "projects"
REPOS = "githubRepoPaths"


def rewritten(text: str, paths: PathMap) -> str:
    """The file with the keys of `projects`, the paths inside those values and the repositories'."""
    root = parse(text, lambda pointer: pointer in ((), (PROJECTS,)))  # the rest may be large
    projects, repos = root.get(PROJECTS), root.get(REPOS)
    splices = _project_splices(text, projects, paths) if projects is not None else []
    if repos is not None:
        splices += repo_splices(text, parse_at(text, repos.start), paths.map)
    return make.apply(text, splices)


# -- projects --------------------------------------------------------------------------------------


def _project_splices(text: str, projects: Node, paths: PathMap) -> list[Splice]:
    """Rename the keys; where several members come to one key, unite their values."""
    coming: dict[str, dict[str, list[int]]] = {}  # new key -> old keys -> which members have it
    for place, key in enumerate(projects.keys):
        new_key = moved(text, key, paths.map)
        if new_key is not None:
            coming.setdefault(new_key, {}).setdefault(key.value, []).append(place)
    splices: list[Splice] = []
    for new_key, places_of in coming.items():
        # Of a repeated key the last counts, as the client reads it.
        items = {old: projects.items[places[-1]] for old, places in places_of.items()}
        target = None if paths.covers(new_key) else projects.get(new_key)
        if target is None:  # an object, if there is one, takes up the others
            first = min(items, key=lambda old: text[items[old].start] != "{")
            splices += [set_string(projects.keys[i], new_key) for i in places_of.pop(first)]
            target = items.pop(first)
            value = _moved_value(text, target, paths)
        else:
            value = text[target.start : target.end]
        for old, item in items.items():
            splices += remove_items(projects, places_of[old])
            value = united(value, _moved_value(text, item, paths))
        splices.append(make.set_raw(target, value))
    return splices


def _moved_value(text: str, item: Node, paths: PathMap) -> str:
    node = parse_at(text, item.start)
    return make.apply_inside(text, node, make.string_splices(text, node, paths.map))


def united(text: str, incoming: str) -> str:
    """One value with what only the other has: lists without repeats, missing members.

    Scalars of the first win, except that trust and onboarding are true if either was.
    """
    mine, other = Part.whole(text), Part.whole(incoming)
    if other.kind != "{":
        return text
    if mine.kind != "{":
        return incoming
    have = mine.members()
    splices: list[Splice] = []
    for key, theirs in other.members().items():
        if key not in have:
            splices += add_items(text, mine.node, [(key, theirs.raw)])
        elif have[key].kind == theirs.kind and theirs.kind in "{[":
            # Whole members only: mixing the arguments of two servers of one name serves nobody.
            names, coming = _named(have[key]), _named(theirs)
            lacking = [(name, raw) for name, raw in coming.items() if name not in names]
            splices += add_items(text, have[key].node, lacking)
        elif ("Trust" in key or "Onboarding" in key) and theirs.raw == "true":
            splices.append(make.set_raw(have[key].node, "true"))
    return make.apply(text, splices)


def _named(part: Part) -> dict[str, str]:
    """What a list or an object holds, by what it is known by."""
    if part.kind == "[":
        return {canonical(item.raw): item.raw for item in part.items()}
    return {name: item.raw for name, item in part.members().items()}


# -- githubRepoPaths -------------------------------------------------------------------------------


def repo_splices(text: str, repos: Node, mapper: Mapper) -> list[Splice]:
    """Paths of repositories; one that its list has already is not listed twice."""
    splices = make.string_splices(text, repos, mapper, lambda spot: not _is_listed(spot))
    for spot in make.walk(repos):
        if spot.node.opened == "[":
            splices += _list_splices(text, spot.node, mapper)
    return splices


def _is_listed(spot: Spot) -> bool:
    return isinstance(spot.token, int) and isinstance(spot.node.value, str)


def _list_splices(text: str, node: Node, mapper: Mapper) -> list[Splice]:
    mapped = [(item, moved(text, item, mapper)) for item in node.items]
    listed = {item.value for item, new in mapped if new is None and isinstance(item.value, str)}
    splices = []
    for number, (item, new) in enumerate(mapped):
        if new in listed:
            splices += remove_items(node, [number])
        elif new is not None:
            listed.add(new)
            splices.append(set_string(item, new))
    return splices


# -- what is left alone ----------------------------------------------------------------------------


def mentions(after: str, paths: PathMap) -> list[tuple[str, str]]:
    """(pointer, string) of what still names an old path in the file after the move."""
    back = paths.reversed()
    found = []
    waiting: list[tuple[Pointer, Any]] = [((), loads(after))]
    while waiting:
        at, value = waiting.pop()
        if isinstance(value, str) and paths.is_named_in(value):
            # In a swap or a chain what was moved names an old path again.
            is_project = at[:1] == (PROJECTS,) and len(at) > 1 and back.covers(str(at[1]))
            follows = is_project or at[:1] == (REPOS,)
            if not (follows and paths.covers(value) and back.covers(value)):
                found.append((show(at), value))
        elif isinstance(value, list):
            waiting += [((*at, n), item) for n, item in reversed([*enumerate(value)])]
        elif isinstance(value, dict):
            for name, item in reversed(value.items()):
                waiting += [((*at, name), item), ((*at, name), name)]
    return found
