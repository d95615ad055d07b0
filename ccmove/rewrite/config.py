"""The config file (`~/.claude.json`): what a move changes in it, and what it leaves alone."""

from __future__ import annotations

from collections.abc import Iterator

from ccmove.rewrite import splice as make
from ccmove.rewrite.jsonspan import Node, Pointer, canonical, parse, parse_at, quote, show
from ccmove.rewrite.pathmap import PathMap
from ccmove.rewrite.splice import Mapper, Splice, add_items, apply, moved, remove_items, set_raw

PROJECTS = "projects"
REPOS = "githubRepoPaths"


def _parse(text: str) -> Node:
    """Only the top and `projects` are opened: the rest may be large."""
    return parse(text, lambda pointer: pointer in ((), (PROJECTS,)))


def rewritten(text: str, paths: PathMap) -> str:
    """The file with the keys of `projects`, the paths inside those values and the repositories'."""
    root = _parse(text)
    splices: list[Splice] = []
    projects, repos = root.get(PROJECTS), root.get(REPOS)
    if projects is not None:
        splices += _Arrivals(text, projects, paths).splices()
    if repos is not None:
        splices += repo_splices(text, parse_at(text, repos.start), paths.map)
    return apply(text, splices)


def project_paths(text: str) -> tuple[str, ...]:
    """The keys of `projects`."""
    projects = _parse(text).get(PROJECTS)
    return tuple(key.value for key in projects.keys) if projects is not None else ()


# -- projects --------------------------------------------------------------------------------------


_Places = dict[str, list[int]]  # old key -> which members have it


class _Arrivals:
    """The members of `projects` on the way to their new keys."""

    def __init__(self, text: str, projects: Node, paths: PathMap) -> None:
        self.text = text
        self.projects = projects
        self.paths = paths
        self.gone: set[int] = set()  # members that become part of another

    def splices(self) -> list[Splice]:
        """Rename the keys; where several members come to one key, unite their values."""
        coming: dict[str, _Places] = {}  # by new key
        for place, key in enumerate(self.projects.keys):
            new_key = moved(self.text, key, self.paths.map)
            if new_key is not None:
                coming.setdefault(new_key, {}).setdefault(key.value, []).append(place)
        splices: list[Splice] = []
        for new_key, places_of in coming.items():
            splices += self._arrive(new_key, places_of)
        return splices + remove_items(self.projects, self.gone)

    def _arrive(self, new_key: str, places_of: _Places) -> list[Splice]:
        """All that one new key gets."""
        settled = None if self.paths.covers(new_key) else self.projects.get(new_key)
        if settled is not None:
            splices: list[Splice] = []
            target, value = settled, self.text[settled.start : settled.end]
        else:
            places = places_of.pop(self._first(places_of))
            splices = [make.rename_key(self.projects, place, new_key) for place in places]
            target, value = self.projects.items[places[-1]], self._value(places)
        for places in places_of.values():
            self.gone.update(places)
            value = united(value, self._value(places))
        return [*splices, set_raw(target, value)]

    def _first(self, places_of: _Places) -> str:
        """The old key whose value takes up the others: an object, if there is one."""
        for old, places in places_of.items():
            if self.text[self.projects.items[places[-1]].start] == "{":
                return old
        return next(iter(places_of))

    def _value(self, places: list[int]) -> str:
        """The value with its paths changed; of a repeated key the last, as the client reads it."""
        node = parse_at(self.text, self.projects.items[places[-1]].start)
        return make.apply_inside(
            self.text, node, make.string_splices(self.text, node, self.paths.map)
        )


def united(text: str, incoming: str) -> str:
    """One value with what only the other has: lists without repeats, missing members.

    Scalars of the first win, except that trust and onboarding are true if either was.
    """
    mine, other = parse(text), parse(incoming)
    if other.opened != "{":
        return text
    if mine.opened != "{":
        return incoming
    have = {key.value: item for key, item in mine.members()}
    splices: list[Splice] = []
    for key, item in {key.value: item for key, item in other.members()}.items():
        if key not in have:
            splices += add_items(text, mine, [(key, incoming[item.start : item.end])])
        else:
            splices += _united_member(key, text, have[key], incoming, item)
    return apply(text, splices)


def _united_member(key: str, text: str, mine: Node, incoming: str, other: Node) -> list[Splice]:
    lacking: list[tuple[str, str]] = []
    if mine.opened == other.opened == "[":
        have = {canonical(text[item.start : item.end]) for item in mine.items}
        for raw in (incoming[item.start : item.end] for item in other.items):
            if canonical(raw) not in have:
                have.add(canonical(raw))
                lacking.append(("", raw))
    elif mine.opened == other.opened == "{":
        # Whole members only: mixing the arguments of two servers of one name would serve nobody.
        have = {name.value for name in mine.keys}
        members = {name.value: incoming[item.start : item.end] for name, item in other.members()}
        lacking = [(name, raw) for name, raw in members.items() if name not in have]
    elif ("Trust" in key or "Onboarding" in key) and other.value is True:
        return [set_raw(mine, "true")]
    return add_items(text, mine, lacking)


# -- githubRepoPaths -------------------------------------------------------------------------------


def repo_splices(text: str, repos: Node, mapper: Mapper) -> list[Splice]:
    """Paths of repositories; one that its list has already is not listed twice."""
    splices = []
    for spot in make.walk(repos):
        names = make.new_names(text, spot.node, mapper)
        splices += [make.rename_key(spot.node, place, name) for place, name in names.items()]
        if spot.node.opened == "[":
            splices += _list_splices(text, spot.node, mapper)
        elif not isinstance(spot.token, int):
            new = moved(text, spot.node, mapper)
            splices += [make.set_string(spot.node, new)] if new is not None else []
    return splices


def _list_splices(text: str, node: Node, mapper: Mapper) -> list[Splice]:
    mapped = [(item, moved(text, item, mapper)) for item in node.items]
    listed = {item.value for item, new in mapped if new is None and isinstance(item.value, str)}
    splices = []
    gone = set()
    for number, (item, new) in enumerate(mapped):
        if new in listed:
            gone.add(number)
        elif new is not None:
            listed.add(new)
            splices.append(make.set_string(item, new))
    return splices + remove_items(node, gone)


# -- what is left alone ----------------------------------------------------------------------------


def mentions(after: str, paths: PathMap) -> list[tuple[str, str]]:
    """(pointer, string) of what still names an old path in the file after the move."""
    back = paths.reversed()
    found = []
    for at, node in _suspects(after, paths):
        # In a swap or a chain what was moved names an old path again.
        follows = at[0] == REPOS or (at[0] == PROJECTS and back.covers(str(at[-1])))
        for spot in make.walk(parse_at(after, node.start)):
            for one in (*spot.node.keys, spot.node):
                value = one.value
                if not isinstance(value, str) or not paths.is_named_in(value):
                    continue
                if not (follows and paths.covers(value) and back.covers(value)):
                    name = () if one is spot.node else (value,)
                    found.append((show((*at, *spot.pointer, *name)), value))
    return found


def _suspects(text: str, paths: PathMap) -> Iterator[tuple[Pointer, Node]]:
    """Keys and values of the top and of `projects` that may name a path, plainly or in escapes."""
    signs = [*(quote(needle)[1:-1] for needle in paths.needles()), "\\u", "\\/"]
    root = _parse(text)
    projects = root.get(PROJECTS)
    for above, parent in (((), root), ((PROJECTS,), projects)):
        for key, item in parent.members() if parent is not None else ():
            for node in (key, item) if item is not projects else (key,):
                if any(text.find(sign, node.start, node.end) >= 0 for sign in signs):
                    yield (*above, key.value), node
