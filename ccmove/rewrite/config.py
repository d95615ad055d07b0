"""The config file (`~/.claude.json`): what a move changes in it, and what it leaves alone."""

from ccmove.rewrite.jsonspan import Node, loads, parse, show, strings
from ccmove.rewrite.pathmap import PathMap
from ccmove.rewrite.splice import (
    Mapper,
    Splice,
    add_items,
    apply,
    apply_inside,
    moved,
    place_splices,
    remove_items,
    remove_members,
    rename_members,
    set_raw,
    set_string,
    string_splices,
)

PROJECTS = "projects"
REPOS = "githubRepoPaths"


def rewritten(text: str, paths: PathMap) -> str:
    """The file with the keys of `projects`, the paths inside those values and the repositories'."""
    members = parse(text).members()
    splices = _project_splices(members[PROJECTS], paths) if PROJECTS in members else []
    splices += repo_splices(members[REPOS], paths.map) if REPOS in members else []
    return apply(text, splices)


def _project_splices(projects: Node, paths: PathMap) -> list[Splice]:
    """Rename the keys; where several members get one key, merge their values."""
    members = projects.members()
    coming: dict[str, dict[str, str]] = {}  # new key -> old keys -> their values
    for key in projects.keys:
        new = moved(key, paths.map)
        if new is not None:
            values = coming.setdefault(new, {})
            values[key.value] = _moved_value(members[key.value], paths)
    splices: list[Splice] = []
    for new, values in coming.items():
        if new in members and not paths.covers(new):
            target, value = new, members[new].raw
        else:  # an object, if there is one, takes up the others
            target = min(values, key=lambda old: members[old].kind != "{")
            value = values.pop(target)
            splices += rename_members(projects, {target: new})
        for incoming in values.values():
            value = united(value, incoming)
        splices += remove_members(projects, values)
        splices.append(set_raw(members[target], value))
    return splices


def _moved_value(value: Node, paths: PathMap) -> str:
    return apply_inside(value, string_splices(value, paths.map))


def united(text: str, incoming: str) -> str:
    """One value with what only the other has: lists without repeats, missing members.

    Scalars of the first win, except that trust and onboarding are true if either was.
    """
    mine, other = parse(text), parse(incoming)
    if other.kind != "{":
        return text
    if mine.kind != "{":
        return incoming
    have = mine.members()
    splices: list[Splice] = []
    for key, theirs in other.members().items():
        if key not in have:
            splices += add_items(mine, [(key, theirs.raw)])
        elif have[key].kind == theirs.kind and theirs.kind in "{[":
            # Whole members only: mixing the arguments of two servers of one name serves nobody.
            names, coming = _named(have[key]), _named(theirs)
            lacking = [(name, raw) for name, raw in coming.items() if name not in names]
            splices += add_items(have[key], lacking)
        elif ("Trust" in key or "Onboarding" in key) and theirs.raw == "true":
            splices.append(set_raw(have[key], "true"))
    return apply(text, splices)


def _named(node: Node) -> dict[str, str]:
    """What a list or an object holds, by what it is known by."""
    if node.kind == "[":
        return {item.canonical: item.raw for item in node.items}
    return {name: item.raw for name, item in node.members().items()}


def repo_splices(repos: Node, mapper: Mapper) -> list[Splice]:
    """Paths of repositories; one that its list has already is not listed twice."""
    splices = place_splices(repos, {"*": mapper})
    for listed in repos.members().values():
        paths = [(number, item) for number, item in enumerate(listed.items) if item.kind == '"']
        have = {item.value for _, item in paths if moved(item, mapper) is None}
        for number, item in paths:
            new = moved(item, mapper)
            if new in have:
                splices += remove_items(listed, [number])
            elif new is not None:
                have.add(new)
                splices.append(set_string(item, new))
    return splices


def mentions(after: str, paths: PathMap) -> list[tuple[str, str]]:
    """(pointer, string) of what still names an old path in the file after the move."""
    back = paths.reversed()
    found = []
    for at, string in strings(loads(after)):
        if paths.is_named_in(string):
            # In a swap or a chain what was moved names an old path again.
            is_project = at[:1] == (PROJECTS,) and len(at) > 1 and back.covers(str(at[1]))
            follows = is_project or at[:1] == (REPOS,)
            if not (follows and paths.covers(string) and back.covers(string)):
                found.append((show(at), string))
    return found
