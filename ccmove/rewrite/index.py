"""sessions-index.json: which paths change in a move,
and its entries, each known by its session.
"""

from collections.abc import Collection, Iterable

from ccmove.rewrite.jsonspan import Node, NotJsonError, parse, quote
from ccmove.rewrite.pathmap import NameMap
from ccmove.rewrite.splice import Mapper, apply, at_pointers, changed

Entries = list[tuple[str, str]]  # what an entry is known by, and its JSON text
OWNERS = ("originalPath", "projectPath")  # at the top of an index


def _listed(text: str) -> Node:
    """The list of the entries; NotJsonError when there is none."""
    entries = parse(text).members().get("entries")
    if entries is None or entries.kind != "[":
        raise NotJsonError("an index without entries")
    return entries


def key_of(entry: Node) -> str:
    """What an entry is known by: its session, or else its very text."""
    session = entry.value.get("sessionId") if entry.kind == "{" else None
    return session if isinstance(session, str) else entry.raw


def rewritten(text: str, new_path: Mapper, names: NameMap) -> str:
    """The index with the path of its owner, and those of its entries, moved."""
    return entries_moved(with_owner(text, new_path), new_path, names)


def with_owner(text: str, new_path: Mapper) -> str:
    """The index with what it says about whose it is, renamed."""
    return at_pointers(text, dict.fromkeys(OWNERS, new_path))


def entries_moved(text: str, new_path: Mapper, names: NameMap) -> str:
    """The index with the paths of its entries moved."""
    moving = {"entries/[]/projectPath": new_path, "entries/[]/fullPath": names.map}
    return at_pointers(text, moving)


def sessions_of(text: str, paths: set[str]) -> set[str]:
    """The sessions whose entries name one of these paths."""
    sessions = set()
    for entry in _listed(text).items:
        if entry.kind == "{" and str(entry.value.get("projectPath")) in paths:
            sessions.add(key_of(entry))
    return sessions


def entries(text: str) -> Entries:
    return [(key_of(entry), entry.raw) for entry in _listed(text).items]


def with_entries(text: str, added: Entries) -> str:
    have = {key for key, _ in entries(text)}
    lacking = {key: raw for key, raw in reversed(added) if key not in have}
    return without(text, (), reversed(lacking.items()))


def without(
    text: str, keys: Collection[str], added: Iterable[tuple[str, str]] = ()
) -> str:
    """The index without some entries, and with others at the end."""
    listed = _listed(text)
    numbers = [i for i, item in enumerate(listed.items) if key_of(item) in keys]
    entries = changed(listed, dict.fromkeys(numbers), added)
    return apply(text, [(listed, entries)])


def made(entries: Entries, path: str) -> str:
    """A new index in the client's form."""
    listed = ",\n    ".join(raw for _, raw in entries)
    return (
        f'{{\n  "version": 1,\n  "entries": [\n    {listed}\n  ],\n'
        f'  "originalPath": {quote(path)}\n}}'
    )
