"""What the property tests are fed with: JSON values and texts in every spelling, paths,
lines.
"""

import json
from typing import Any

from hypothesis import strategies as st

from ccmove.rewrite import history
from ccmove.rewrite.history import ByPath
from ccmove.rewrite.jsonspan import Node
from ccmove.rewrite.pathmap import PathMap
from ccmove.rewrite.splice import Mapper, MapperAt
from tests.support.oddlines import stringify

OLD = "/code/app"
NEW = "/src/new-app"

# Components that look alike on purpose, and odd ones.
ODD = ["caf\u00e9", "a b", 'q"x', "\U0001f680", "\ud83d", "."]
COMPONENTS = st.sampled_from(["app", "app-docker", "app2", "main", "web", *ODD])
BASES = st.sampled_from(
    ["/code", "/src", "/code/app", "/src/new-app", "/code/app-docker", ""]
)
PATHS = st.builds(
    lambda base, parts: "/".join([base, *parts]),
    BASES,
    st.lists(COMPONENTS, max_size=3),
)
TEXTS = st.one_of(
    PATHS,
    st.builds("--flag={}".format, PATHS),
    st.builds("see {} there".format, PATHS),
    st.text(max_size=8),
    st.text(st.characters(codec=None), max_size=4),  # lone surrogates too
)
NUMBERS = st.sampled_from(
    ["0", "-0", "1.10", "1e400", "12345678901234567890", "-3.5E-7"]
)
BLANKS = st.text(" \t\r\n", max_size=3)


def everywhere(mapper: Mapper) -> MapperAt:
    """Every string may change, wherever it is."""
    return lambda _: mapper


def json_texts(
    leaves: st.SearchStrategy[str], keys: st.SearchStrategy[str], max_leaves: int = 12
) -> st.SearchStrategy[str]:
    """JSON texts with any white space, made of these leaves (texts) and keys (texts)."""

    def extend(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        spaced = st.builds("{}{}{}".format, BLANKS, children, BLANKS)
        spaced_key = st.builds("{}{}{}".format, BLANKS, keys, BLANKS)
        members = st.builds("{}:{}".format, spaced_key, spaced)
        return st.one_of(
            st.builds(_joined("[", "]"), BLANKS, st.lists(spaced, max_size=4)),
            st.builds(_joined("{", "}"), BLANKS, st.lists(members, max_size=4)),
        )

    return st.recursive(leaves, extend, max_leaves=max_leaves)


def _joined(opening: str, closing: str) -> Any:
    def join(blank: str, items: list[str]) -> str:
        return opening + (",".join(items) or blank) + closing

    return join


@st.composite
def spellings(draw: st.DrawFn, values: st.SearchStrategy[str] = TEXTS) -> str:
    """A JSON string in some spelling: as the client writes it, all ASCII, or with
    `\\/`.
    """
    value = draw(values)
    plain = stringify(value).decode()
    return draw(
        st.sampled_from([plain, plain, json.dumps(value), plain.replace("/", "\\/")])
    )


LEAVES = st.one_of(spellings(), NUMBERS, st.sampled_from(["true", "false", "null"]))
DOCUMENTS = json_texts(LEAVES, spellings())


def node_at(node: Node, *pointer: str | int) -> Node:
    for token in pointer:
        node = node.members()[token] if isinstance(token, str) else node.items[token]
    return node


def reader(data: bytes) -> history.Read:
    """Reads a file that is in memory."""
    return lambda offset, length: data[offset : offset + length]


def moved_bytes(data: bytes, paths: PathMap) -> bytes:
    """The whole of a history, rewritten."""
    return rewritten(data, history.scan(reader(data), len(data), ByPath(paths)))


def rewritten(data: bytes, found: history.Scan, start: int = 0) -> bytes:
    """The bytes from `start` on with the changes that were found."""
    return b"".join(history.rewritten(reader(data), found, start))
