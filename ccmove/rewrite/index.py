"""sessions-index.json: which paths change in a move,
and its entries, each known by its session.
"""

from collections.abc import Collection

from ccmove.rewrite.jsonspan import Node, NotJsonError, parse, quote
from ccmove.rewrite.pathmap import NameMap
from ccmove.rewrite.splice import Mapper, Texts, at_pointers, changed, replaced

Entries = list[tuple[str, str]]  # what an entry is known by, and its JSON text
OWNERS = ("originalPath", "projectPath")  # at the top of an index


def _entry_list(text: str) -> Node:
    """The list of the entries; NotJsonError when there is none."""
    entries = parse(text).members().get("entries")
    if entries is None or entries.kind != "[":
        raise NotJsonError("an index without entries")
    return entries


def rewritten(text: str, new_path: Mapper, names: NameMap) -> str:
    """The index with the path of its owner, and those of its entries, moved."""
    mappers = dict.fromkeys(OWNERS, new_path)
    mappers["entries/[]/projectPath"] = new_path
    mappers["entries/[]/fullPath"] = names.map
    return at_pointers(text, mappers)


def with_owner(text: str, new_path: Mapper) -> str:
    """The index with what it says about whose it is, renamed."""
    return at_pointers(text, dict.fromkeys(OWNERS, new_path))


def sessions_of(text: str, paths: set[str]) -> set[str]:
    """The sessions whose entries name one of these paths."""
    sessions = set()
    for entry in _entry_list(text).items:
        if entry.string("projectPath") in paths:
            sessions.add(entry.key)
    return sessions


def entries(text: str) -> Entries:
    return [(entry.key, entry.raw) for entry in _entry_list(text).items]


def with_entries(text: str, added: Entries) -> str:
    """The index with the entries that it lacks; of two of one session the first."""
    entry_list = _entry_list(text)
    keys = {item.key for item in entry_list.items}
    lacking: Entries = []
    for key, entry in added:
        if key not in keys:
            keys.add(key)
            lacking.append((key, entry))
    longer = changed(entry_list, {}, lacking)
    return replaced(entry_list, longer)


def joined(text: str, addition: str) -> str:
    """The index with the entries of another one that it lacks."""
    return with_entries(text, entries(addition))


def without(text: str, keys: Collection[str]) -> str:
    """The index without some entries."""
    entry_list = _entry_list(text)
    texts: Texts = {}
    for number, item in enumerate(entry_list.items):
        if item.key in keys:
            texts[number] = None
    shorter = changed(entry_list, texts)
    return replaced(entry_list, shorter)


def made(entries: Entries, path: str) -> str:
    """A new index in the client's form."""
    rows = ",\n    ".join(raw for _, raw in entries)
    return (
        f'{{\n  "version": 1,\n  "entries": [\n    {rows}\n  ],\n'
        f'  "originalPath": {quote(path)}\n}}'
    )
