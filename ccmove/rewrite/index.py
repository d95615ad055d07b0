"""sessions-index.json: which paths change in a move, and its entries, each known by its session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ccmove.rewrite.jsonspan import NotJsonError, Part, quote
from ccmove.rewrite.pathmap import NameMap, PathMap
from ccmove.rewrite.splice import Mapper, Splice, add_items, apply, moved, remove_items, set_string

Entries = list[tuple[str, str]]  # what an entry is known by, and its JSON text
OWNERS = ("originalPath", "projectPath")  # at the top of an index


def _entry_list(root: Part) -> Part:
    """The list of the entries; NotJsonError when there is none."""
    entries = root.members().get("entries")
    if entries is None or entries.kind != "[":
        raise NotJsonError("an index without entries")
    return entries


def _string(part: Part, key: str) -> str | None:
    found = part.members().get(key)
    return found.node.value if found and isinstance(found.node.value, str) else None


def key_of(entry: Part) -> str:
    """What an entry is known by: its session, or else its very text."""
    session = _string(entry, "sessionId")
    return entry.raw if session is None else session


# -- paths -----------------------------------------------------------------------------------------


def rewritten(text: str, paths: PathMap, names: NameMap) -> str:
    """The index with `originalPath`, `projectPath` and the paths of its entries moved."""
    root = Part.whole(text)
    splices = _member_splices(root, dict.fromkeys(OWNERS, paths.map))
    listed = root.members().get("entries")
    for entry in listed.items() if listed is not None and listed.kind == "[" else ():
        splices += entry_splices(entry, paths.map, names.map)
    return apply(text, splices)


def entry_rewritten(raw: str, paths: PathMap, names: NameMap) -> str:
    """One entry with its paths moved."""
    return apply(raw, entry_splices(Part.whole(raw), paths.map, names.map))


def entry_splices(entry: Part, path: Mapper, full_path: Mapper) -> list[Splice]:
    """The paths of one entry."""
    return _member_splices(entry, {"projectPath": path, "fullPath": full_path})


def _member_splices(part: Part, wanted: Mapping[str, Mapper]) -> list[Splice]:
    """The members of one object that have a mapper and change."""
    found = [(item.node, wanted[key]) for key, item in part.members().items() if key in wanted]
    news = [(node, moved(part.text, node, mapper)) for node, mapper in found]
    return [set_string(node, new) for node, new in news if new is not None]


def sessions_of(text: str, paths: set[str]) -> set[str]:
    """The sessions that the index says are of one of these paths."""
    listed = _entry_list(Part.whole(text)).items()
    return {key_of(entry) for entry in listed if _string(entry, "projectPath") in paths}


def owned_by(text: str, gone: set[str], owner: str) -> str:
    """The index as the owner's where it says that it is of a path that left."""
    mapper: Mapper = lambda path: owner if path in gone else None  # noqa: E731
    return apply(text, _member_splices(Part.whole(text), dict.fromkeys(OWNERS, mapper)))


# -- entries ---------------------------------------------------------------------------------------


def entries(text: str) -> Entries:
    """The entries, each with what it is known by."""
    return [(key_of(entry), entry.raw) for entry in _entry_list(Part.whole(text)).items()]


def with_entries(text: str, added: Entries, instead: Iterable[str] = frozenset()) -> str:
    """The index with the entries that it lacks, and with those in `instead` replaced."""
    listed = _entry_list(Part.whole(text))
    have = {key_of(entry): number for number, entry in enumerate(listed.items())}
    coming = {key: raw for key, raw in reversed(added) if key not in have or key in instead}
    gone = {have[key] for key in coming if key in have}
    new = [(key, coming.pop(key)) for key, _ in added if key in coming]
    return apply(text, [*remove_items(listed.node, gone), *add_items(text, listed.node, new)])


def without(text: str, keys: Iterable[str]) -> str:
    """The index without these entries."""
    listed, gone = _entry_list(Part.whole(text)), set(keys)
    numbers = [i for i, entry in enumerate(listed.items()) if key_of(entry) in gone]
    return apply(text, remove_items(listed.node, numbers))


def made(entries: Entries, path: str) -> str:
    """A new index in the client's form."""
    listed = ",\n    ".join(raw for _, raw in entries)
    return (
        f'{{\n  "version": 1,\n  "entries": [\n    {listed}\n  ],\n'
        f'  "originalPath": {quote(path)}\n}}'
    )
