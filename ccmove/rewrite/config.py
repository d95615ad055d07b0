"""The config file (`~/.claude.json`): what a move changes in it,
and what it leaves alone.
"""

from ccmove.rewrite import splice as make
from ccmove.rewrite.jsonspan import Node, parse, quote
from ccmove.rewrite.pathmap import PathMap
from ccmove.rewrite.splice import Mapper, Splice

PROJECTS = "projects"
REPOS = "githubRepoPaths"


def rewritten(text: str, paths: PathMap, *, repos: bool = True) -> str:
    """The file with the keys of `projects`,
    the paths inside those values and the repositories'.
    """
    members = parse(text).members()
    splices = (
        repo_splices(members[REPOS], paths.map) if repos and REPOS in members else []
    )
    if PROJECTS in members:
        splices.append((members[PROJECTS], _projects(members[PROJECTS], paths)))
    return make.apply(text, splices)


def entries(text: str) -> dict[str, str]:
    """The JSON text of each project's entry, by its path."""
    projects = parse(text).members().get(PROJECTS)
    if projects is None:
        return {}
    return {path: node.raw for path, node in projects.members().items()}


def _projects(projects: Node, paths: PathMap) -> str:
    """The projects by their new keys; where several get one key,
    their values are merged.
    """
    members = projects.members()
    coming: dict[str, dict[str, str]] = {}  # new key -> old keys -> their values
    for key in projects.keys:
        new = make.moved(key, paths.map)
        if new is not None:
            value = make.with_strings(members[key.value].raw, paths.map)
            coming.setdefault(new, {})[key.value] = value
    names: dict[str, str] = {}
    texts: dict[str, str | None] = {}
    for new, values in coming.items():
        if new in members and not paths.covers(new):
            target, value = new, members[new].raw
        else:  # an object, if there is one, takes up the others
            target = min(values, key=lambda old: members[old].kind != "{")
            value, names[target] = values.pop(target), new
        for old, incoming in values.items():
            value, texts[old] = merged(value, incoming), None
        texts[target] = value
    return make.changed(projects, texts, names=names) if texts else projects.raw


def merged(text: str, incoming: str) -> str:
    """One value with what only the other has: lists without repeats, missing members.

    Scalars of the first win, except that trust and onboarding are true if either was.
    """
    mine, other = parse(text), parse(incoming)
    if other.kind != "{":
        return text
    if mine.kind != "{":
        return incoming
    have, texts = mine.members(), dict[str, str | None]()
    for key, theirs in other.members().items():
        if key in have and have[key].kind == theirs.kind and theirs.kind in "{[":
            # Whole members only: mixing the arguments of two servers of one name serves
            # nobody.
            coming = zip(theirs.known(), theirs.items, strict=True)
            known = set(have[key].known())
            lacking = {name: item.raw for name, item in coming if name not in known}
            texts[key] = make.changed(have[key], {}, lacking.items())
        elif ("Trust" in key or "Onboarding" in key) and theirs.raw == "true":
            texts[key] = "true"
    added = [
        (key, node.raw) for key, node in other.members().items() if key not in have
    ]
    return make.changed(mine, texts, added)


def repo_splices(repos: Node, mapper: Mapper) -> list[Splice]:
    """Paths of repositories; one that its list has already is not listed twice."""
    splices = make.place_splices(repos, {"*": mapper})
    for listed in repos.members().values():
        have = {
            repr(item.value)
            for item in listed.items
            if make.moved(item, mapper) is None
        }
        texts: dict[int, str | None] = {}
        for number, item in enumerate(listed.items if listed.kind == "[" else ()):
            if (new := make.moved(item, mapper)) is not None:
                texts[number] = None if repr(new) in have else quote(new)
                have.add(repr(new))
        splices += [(listed, make.changed(listed, texts))] if texts else []
    return splices
