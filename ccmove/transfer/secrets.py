"""What of a project's config entry is packed only when that is asked for: secrets of
MCP servers. Their values become empty, so that who unpacks can name what is missing.
"""

import re
from collections.abc import Iterator

from ccmove.rewrite import config
from ccmove.rewrite.jsonspan import Node, parse, quote
from ccmove.rewrite.splice import Splice, apply

SERVERS = "mcpServers"
SECRET = ("env", "headers")  # all values in these
# The password of a URL, wherever it stands in a text; for https a name alone may be a
# token.
_PASSWORD = re.compile(r"(?<=://)([^\s/?#:@\"']*:)[^\s/?#\"']+@")
_TOKEN = re.compile(r"(?<=https://)[^\s/?#:@\"']+@")
_NO_PASSWORD = re.compile(r"://[^\s/?#:@\"']*:@|https://@")


def without_secrets(entry: str) -> tuple[str, tuple[str, ...]]:
    """The JSON text of a config entry without them, and what was left out, in words."""
    splices: list[Splice] = []
    left_out: list[str] = []
    for what, node in _strings_of_servers(entry):
        value = str(node.value)
        new = "" if _is_secret(what) else _without_password(value)
        if new == value:
            continue
        splice = node, quote(new)
        splices.append(splice)
        left_out.append(what)
    text = apply(entry, splices)
    return text, tuple(dict.fromkeys(left_out))


def left_out_of(entry: str) -> tuple[str, ...]:
    """What a config entry lacks that was packed without secrets, in words."""
    lacking: list[str] = []
    for what, node in _strings_of_servers(entry):
        value = str(node.value)
        if _lacks(what, value):
            lacking.append(what)
    return tuple(dict.fromkeys(lacking))


def still_left_out(here: str, packed: str) -> tuple[str, ...]:
    """The same of the packed entry, where the one here does not have it."""
    lacking = left_out_of(config.merged(here, packed))
    return tuple(what for what in left_out_of(packed) if what in lacking)


def _lacks(what: str, value: str) -> bool:
    if _is_secret(what):
        return not value
    return _NO_PASSWORD.search(value) is not None


def _is_secret(what: str) -> bool:
    _, _, place = what.partition(", ")
    return place.startswith(SECRET)


def _without_password(text: str) -> str:
    text = _PASSWORD.sub(r"\1@", text)
    return _TOKEN.sub("@", text)


def _strings_of_servers(entry: str) -> Iterator[tuple[str, Node]]:
    """Every string in the servers of an entry, with words for its place: of repeated
    keys all, for each of them is in the text.
    """
    for key, servers in _members(parse(entry)):
        if key != SERVERS:
            continue
        for name, server in _members(servers):
            yield from _strings_in(server, f"MCP server {name}, ")


def _strings_in(node: Node, what: str) -> Iterator[tuple[str, Node]]:
    """Every string in a value, with the names that lead to it."""
    if isinstance(node.value, str):
        yield what.rstrip(" ,"), node
    elif node.kind == "[":
        for item in node.items:
            yield from _strings_in(item, what)
    else:
        for name, item in _members(node):
            below = f"{what}{name} "
            yield from _strings_in(item, below)


def _members(node: Node) -> Iterator[tuple[str, Node]]:
    if node.kind == "{":
        for key, item in zip(node.keys, node.items, strict=True):
            yield str(key.value), item
