"""The config file (`~/.claude.json`): what a move changes in it,
and what it leaves alone.
"""

import re

from ccmove.rewrite import splice as make
from ccmove.rewrite.jsonspan import Node, Pointer, parse, quote
from ccmove.rewrite.occurrences import HOLDERS, Occurrences, value_splices
from ccmove.rewrite.pathmap import PathMap
from ccmove.rewrite.splice import Mapper, Splice, Texts

PROJECTS = "projects"
REPOS = "githubRepoPaths"
_TRUE_IF_EITHER = re.compile("Trust|Onboarding")


def projects_in(root: Node) -> Node | None:
    return root.members().get(PROJECTS)


def rewritten(text: str, paths: PathMap) -> str:
    """The file with the keys of `projects`, values of theirs that are paths, and the
    repositories'. Values that hold paths are for `with_values`.
    """
    root = parse(text)
    splices = repo_splices(root, paths.map)
    projects = projects_in(root)
    if projects is not None:
        new = _projects(projects, paths)
        splices.append((projects, new))
    return make.apply(text, splices)


def with_values(text: str, ours: Occurrences, others: Occurrences) -> str:
    """The file with the values that hold paths moved, in every project's entry.

    Others' values, and those of user scope, go by moves whose OLD is gone.
    """
    root = parse(text)
    splices = value_splices(root, others)
    entries = _entries(root)
    for path, entry in entries.items():
        moves = others
        if ours.covers(path):
            moves = ours
        splices += value_splices(entry, moves)
    return make.apply(text, splices)


def entries(text: str) -> dict[str, str]:
    """The JSON text of each project's entry, by its path."""
    nodes = _entries(parse(text))
    return {path: node.raw for path, node in nodes.items()}


def _entries(root: Node) -> dict[str, Node]:
    projects = projects_in(root)
    if projects is None:
        return {}
    return projects.members()


def _projects(projects: Node, paths: PathMap) -> str:
    """The projects by their new keys; where several get one key, their values are
    merged.
    """

    def mapper_at(at: Pointer) -> Mapper | None:
        if HOLDERS.isdisjoint(at[:1]):
            return mapper
        return None

    mapper = paths.map
    members = projects.members()
    keys = dict(zip(projects.names, projects.keys, strict=True))
    place: dict[str, str] = {}  # of a new key: whose place it takes
    names: dict[str, str] = {}
    values: dict[str, str] = {}
    texts: Texts = {}
    for old, key in keys.items():
        new = make.moved(key, mapper)
        if new is None:
            continue
        entry = members[old]
        value = make.with_mapped(entry.raw, mapper_at)
        if new in members and not paths.covers(new):
            # It stays where it is, and takes up the other.
            place[new] = new
            resident = members[new]
            values.setdefault(new, resident.raw)
        first = place.setdefault(new, old)
        if first != old:
            both = merged(values[first], value)
            values[first] = both
            texts[old] = None
            continue
        names[old] = new
        values[old] = value
    for place_before, value in values.items():
        texts[place_before] = value
    return make.changed(projects, texts, names=names)


def merged(text: str, incoming: str) -> str:
    """One value with what only the other has: lists without repeats, missing members.

    Scalars of the first win, except that trust and onboarding are true if either was.
    """
    ours = parse(text)
    theirs = parse(incoming)
    if theirs.kind != "{":
        return text
    if ours.kind != "{":
        return incoming
    our_members = ours.members()
    texts: Texts = {}
    added: dict[str, str] = {}
    for name, coming in theirs.members().items():
        mine = our_members.get(name)
        if mine is None:
            added[name] = coming.raw
        elif mine.kind in "{[" and mine.kind == coming.kind:
            both = _with_lacking(mine, coming)
            texts[name] = both
        elif coming.raw == "true" and _TRUE_IF_EITHER.search(name):
            texts[name] = "true"
    return make.changed(ours, texts, added.items())


def _with_lacking(ours: Node, theirs: Node) -> str:
    """A list or object with the items that it lacks.

    Whole ones: mixing the arguments of two servers of one name serves nobody.
    """
    lacking = theirs.by_key()
    for key in ours.by_key():
        lacking.pop(key, None)
    added = [(name, node.raw) for name, node in lacking.items()]
    return make.changed(ours, {}, added)


def repo_splices(root: Node, mapper: Mapper) -> list[Splice]:
    """Paths of repositories; one that its list has already is not listed twice."""
    repos = root.members().get(REPOS)
    if repos is None:
        return []
    splices: list[Splice] = []
    for folders in repos.members().values():
        new = make.moved(folders, mapper)
        if folders.kind == "[":
            paths = _moved_once(folders, mapper)
            splices.append((folders, paths))
        elif new is not None:
            splices.append((folders, quote(new)))
    return splices


def _moved_once(folders: Node, mapper: Mapper) -> str:
    """A list with its paths moved; one that is there already goes."""
    staying: list[object] = []
    news: dict[int, str] = {}
    for number, item in enumerate(folders.items):
        new = make.moved(item, mapper)
        if new is None:
            staying.append(item.value)
        else:
            news[number] = new
    texts: Texts = {}
    for number, new in news.items():
        is_listed = new in staying
        texts[number] = None if is_listed else quote(new)
        staying.append(new)
    return make.changed(folders, texts)
