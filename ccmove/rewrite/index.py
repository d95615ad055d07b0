"""sessions-index.json: which paths change in a move, and its entries, each known by its session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ccmove.rewrite.jsonspan import Node, NotJsonError, parse, parse_at, quote
from ccmove.rewrite.pathmap import NameMap, PathMap
from ccmove.rewrite.splice import Mapper, Splice, add_items, apply, moved, remove_items, set_string

Entries = list[tuple[str, str]]  # what an entry is known by, and its JSON text
OWNERS = ("originalPath", "projectPath")  # at the top of an index


def _parse(text: str) -> Node:
    """The index with its entries as plain values: opening thousands of them would take long."""
    return parse(text, lambda pointer: pointer in ((), ("entries",)))


def entry_list(root: Node) -> Node:
    """The list of the entries; NotJsonError when there is none."""
    entries = root.get("entries") if root.opened == "{" else None
    if entries is None or entries.opened != "[":
        raise NotJsonError("an index without entries")
    return entries


def key_of(text: str, entry: Node) -> str:
    """What an entry is known by: its session, or else its very text."""
    session = entry.value.get("sessionId") if isinstance(entry.value, dict) else None
    return session if isinstance(session, str) else text[entry.start : entry.end]


# -- paths -----------------------------------------------------------------------------------------


def rewritten(text: str, paths: PathMap, names: NameMap) -> str:
    """The index with `originalPath`, `projectPath` and the paths of its entries moved."""
    root = _parse(text)
    splices = member_splices(text, root, dict.fromkeys(OWNERS, paths.map))
    entries = root.get("entries")
    for entry in entries.items if entries is not None and entries.opened == "[" else ():
        splices += entry_splices(text, entry, paths.map, names.map)
    return apply(text, splices)


def entry_rewritten(raw: str, paths: PathMap, names: NameMap) -> str:
    """One entry with its paths moved."""
    entry = parse(raw, lambda _: False)
    return apply(raw, entry_splices(raw, entry, paths.map, names.map))


def entry_splices(text: str, entry: Node, path: Mapper, full_path: Mapper) -> list[Splice]:
    """The paths of one entry; it is opened only when one may change, since there are thousands."""
    wanted = {"projectPath": path, "fullPath": full_path}
    if isinstance(entry.value, dict):
        strings = [(entry.value.get(key), mapper) for key, mapper in wanted.items()]
        if all(mapper(s) is None for s, mapper in strings if isinstance(s, str)):
            return []
        entry = parse_at(text, entry.start, lambda at: not at)
    return member_splices(text, entry, wanted)


def member_splices(text: str, node: Node, wanted: Mapping[str, Mapper]) -> list[Splice]:
    """The members of one object that have a mapper and change."""
    found = [(node.get(key), mapper) for key, mapper in wanted.items()]
    news = [(item, moved(text, item, mapper)) for item, mapper in found if item is not None]
    return [set_string(item, new) for item, new in news if new is not None]


def sessions_of(text: str, paths: set[str]) -> set[str]:
    """The sessions that the index says are of one of these paths."""
    listed = [entry for entry in entry_list(_parse(text)).items if isinstance(entry.value, dict)]
    named = [(key_of(text, entry), entry.value.get("projectPath")) for entry in listed]
    return {key for key, path in named if isinstance(path, str) and path in paths}


def owned_by(text: str, gone: set[str], owner: str) -> str:
    """The index as the owner's where it says that it is of a path that left."""
    mapper: Mapper = lambda path: owner if path in gone else None  # noqa: E731
    return apply(text, member_splices(text, _parse(text), dict.fromkeys(OWNERS, mapper)))


# -- entries ---------------------------------------------------------------------------------------


def entries(text: str) -> Entries:
    """The entries, each with what it is known by."""
    listed = entry_list(_parse(text)).items
    return [(key_of(text, entry), text[entry.start : entry.end]) for entry in listed]


def with_entries(text: str, added: Entries, instead: Iterable[str] = frozenset()) -> str:
    """The index with the entries that it lacks, and with those in `instead` replaced."""
    listed = entry_list(_parse(text))
    have = {key_of(text, entry): number for number, entry in enumerate(listed.items)}
    coming = {key: raw for key, raw in reversed(added) if key not in have or key in instead}
    gone = {have[key] for key in coming if key in have}
    new = [(key, coming.pop(key)) for key, _ in added if key in coming]
    return apply(text, [*remove_items(listed, gone), *add_items(text, listed, new)])


def without(text: str, keys: Iterable[str]) -> str:
    """The index without these entries."""
    listed = entry_list(_parse(text))
    gone = set(keys)
    numbers = {i for i, entry in enumerate(listed.items) if key_of(text, entry) in gone}
    return apply(text, remove_items(listed, numbers))


def made(entries: Entries, path: str) -> str:
    """A new index in the client's form."""
    listed = ",\n    ".join(raw for _, raw in entries)
    return (
        f'{{\n  "version": 1,\n  "entries": [\n    {listed}\n  ],\n'
        f'  "originalPath": {quote(path)}\n}}'
    )
