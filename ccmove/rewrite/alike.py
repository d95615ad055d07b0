"""An index whose entries all change alike: one replacement of bytes instead of thousands of edits.

This is a short cut. It is taken only where it is sure to do what `rewriter.index_edits` does;
whatever is spelled or nested in another way than the client does it goes the long way.

Sure it is by counting. Where no letter is written as `\\u`, a key has only one spelling. So where
`"projectPath"` occurs as often as the objects that we know of have such a key, each of them is one
of those keys. And where `"projectPath": "/old"` occurs as often as those keys have that value, each
is spelled so.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, overload

from ccmove.rewrite.jsonspan import byte_values, parse, quote, show
from ccmove.rewrite.pathmap import PathMap, is_windows
from ccmove.rewrite.rewriter import NameMap, Spot, walk
from ccmove.rewrite.splice import Edit, set_raw

Record = dict[str, Any]
CHUNK = 1 << 16
_COLON = re.compile(rb"[ \t\n\r]*:[ \t\n\r]*")
_CONTROL = re.compile(r"[\x00-\x1f]")  # each has several spellings


class _OtherwiseError(Exception):
    """Something in the index is not as it usually is."""


class Replacement(NamedTuple):
    """One text that stands in the place of another, so many times."""

    old: bytes
    new: bytes
    number: int


class Alike(Sequence[Edit]):
    """The edits of an index. Each is made only for who asks for it; their number is known.

    Strings are those of `jsonspan.byte_values`: Latin-1 of their bytes.
    """

    def __init__(self, values: Record, exactly: Callable[[], list[Edit]]) -> None:
        self.values = values  # of the index before
        self.exactly = exactly  # the long way
        self.after = b""
        self.replaced: list[Replacement] = []
        self.paths: dict[str, str] = {}  # values that become others
        self.directories: dict[str, str] = {}  # of a fullPath, with the slash

    def __len__(self) -> int:
        return sum(one.number for one in self.replaced)

    @overload
    def __getitem__(self, index: int) -> Edit: ...
    @overload
    def __getitem__(self, index: slice) -> list[Edit]: ...
    def __getitem__(self, index: int | slice) -> Edit | list[Edit]:
        return self._edits[index]

    @cached_property
    def _edits(self) -> list[Edit]:
        return self.exactly()

    # -- by values alone, without a look at the replaced bytes --------------------------------

    def explain(self, after: bytes) -> bool:
        """Whether the values after are those before with the planned changes, and no others."""
        entries = iter([entry for entry in self._planned["entries"] if type(entry) is dict])
        awaited = next(entries, None)

        def known(found: Record) -> Record:
            """The planned entry, once the same is found: so memory is used again."""
            nonlocal awaited
            if found != awaited:
                return found
            same, awaited = awaited, next(entries, None)
            return same

        return byte_values(after, known) == self._planned

    @cached_property
    def _planned(self) -> Record:
        """The values that the index is to have; those before are given up for them."""
        self._move(self.values, "originalPath")
        for record in (self.values, *self.values["entries"]):
            if type(record) is dict:
                self._move(record, "projectPath")
        return self.values

    def _move(self, record: Record, key: str) -> None:
        path = record.get(key)
        if path in self.paths:
            record[key] = self.paths[path]
        path = record.get("fullPath")
        if path is not None:
            cut = path.rfind("/") + 1
            directory = self.directories.get(path[:cut])
            if directory is not None:
                record["fullPath"] = directory + path[cut:]


def alike(
    data: bytes,
    values: Record,
    paths: PathMap,
    names: NameMap,
    exactly: Callable[[], list[Edit]],
) -> Alike | None:
    """All that `rewriter.index_edits` changes in the index, or None when that is not plain.

    `values` is what `jsonspan.byte_values` makes of the data.
    """
    entries = values.get("entries")
    if type(entries) is not list:
        return None
    found = Alike(values, exactly)
    listed = [entry for entry in entries if type(entry) is dict]
    members = {
        key: [record[key] for record in records if key in record]
        for key, records in (
            ("originalPath", [values]),
            ("projectPath", [values, *listed]),
            ("fullPath", listed),
        )
    }
    try:
        _check_numbers(data, members)
        for key, strings in members.items():
            changes = _directories if key == "fullPath" else _paths
            for before, after, number in changes(found, strings, paths, names):
                start = _start(data, key)
                old, new = start + before.encode(), start + after.encode()
                found.replaced.append(Replacement(old, new, number))
        found.after = _replaced(data, found.replaced)
    except _OtherwiseError:
        return None
    return found


def _check_numbers(data: bytes, members: dict[str, list[Any]]) -> None:
    """Whether these are all the members of such names, and strings all of them."""
    if any(not {*map(type, values)} <= {str} for values in members.values()):
        raise _OtherwiseError
    if data.count(b'Path"') == sum(map(len, members.values())):
        return  # one search instead of three, unless some prompt ends like this
    for key, values in members.items():
        if data.count(f'"{key}"'.encode()) != len(values):
            raise _OtherwiseError


_Change = tuple[str, str, int]  # JSON text before and after, without its end; how often


def _paths(found: Alike, values: list[str], paths: PathMap, _: NameMap) -> Iterator[_Change]:
    for value, number in Counter(values).items():
        path = _decoded(value)
        new = paths.map(path) if path is not None else None
        if path is not None and new is not None and new != path:
            found.paths[value] = _latin(new)
            yield quote(path), quote(new), number


def _directories(found: Alike, values: list[str], _: PathMap, names: NameMap) -> Iterator[_Change]:
    """A fullPath keeps its last part, so that those of one directory change alike."""
    together = "|".join(values)
    if "\\" in together or _CONTROL.search(together) or _decoded(together) is None:
        raise _OtherwiseError
    for value, number in Counter([path[: path.rfind("/") + 1] for path in values]).items():
        directory = _decoded(value) or ""
        new = _new_directory(directory, names)
        if new is not None:
            found.directories[value] = _latin(new)
            yield quote(directory)[:-1], quote(new)[:-1], number


def _new_directory(directory: str, names: NameMap) -> str | None:
    """Where whatever lies in the directory is after the move; None when it stays."""
    if names.sessions or directory.endswith("/projects/"):
        raise _OtherwiseError
    for old, _ in names.paths.moves:
        if is_windows(old) or old.startswith(directory) or directory.startswith(old):
            raise _OtherwiseError
    return names.map(directory)


def _start(data: bytes, key: str) -> bytes:
    """The key up to its value, as it is spaced where it occurs first."""
    quoted = f'"{key}"'.encode()
    colon = _COLON.match(data, data.find(quoted) + len(quoted))
    if colon is None:
        raise _OtherwiseError
    return quoted + colon.group()


def _replaced(data: bytes, changes: list[Replacement]) -> bytes:
    """The data with every replacement made, each as often as it should be.

    One after the other, so what one of them makes must not be taken for the next. By chunks that
    fit into the processor's cache: copies of the whole would take as long as all the rest.
    """
    texts = [text for change in changes for text in (change.old, change.new)]
    for i, one in enumerate(texts):
        if any(one.startswith(other) for j, other in enumerate(texts) if i // 2 != j // 2):
            raise _OtherwiseError
    after = io.BytesIO()
    numbers = [0] * len(changes)
    for chunk in _chunks(data):
        piece = chunk
        for i, (old, new, _) in enumerate(changes):
            before, piece = piece, piece.replace(old, new)
            longer = len(new) - len(old)
            numbers[i] += (len(piece) - len(before)) // longer if longer else before.count(old)
        after.write(piece)
    if numbers != [change.number for change in changes]:
        raise _OtherwiseError
    return after.getvalue()


def _chunks(data: bytes) -> Iterator[bytes]:
    """The data in pieces that begin with a key, so that none of what is replaced is cut."""
    start = 0
    while start < len(data):
        end = data.find(b'"projectPath"', start + CHUNK)
        yield data[start : end if end >= 0 else len(data)]
        start = end if end >= 0 else len(data)


def _decoded(latin: str) -> str | None:
    """The string whose bytes these are; None when they are no UTF-8."""
    if latin.isascii():
        return latin
    try:
        return latin.encode("latin-1").decode()
    except UnicodeDecodeError:
        return None


def _latin(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("latin-1")


# -- from what was replaced to the edits again -----------------------------------------------------


def differing_values(before: str, after: str) -> Iterator[Edit]:
    """The edits that make one index the other; ValueError when more than single values differ."""
    for one, other in zip(walk(parse(before)), walk(parse(after)), strict=True):
        a, b = one.node, other.node
        names = [key.value for key in a.keys], [key.value for key in b.keys]
        is_whole = not (a.opened or one.pointer)  # nothing is above it in which it could be set
        if a.opened != b.opened or names[0] != names[1] or is_whole:
            raise ValueError(f"{show(one.pointer)} became something else")
        raw = after[b.start : b.end]
        if not a.opened and before[a.start : a.end] != raw:
            yield set_raw(before, a, one.pointer, raw, _anchor(one))


def _anchor(spot: Spot) -> str | None:
    """The session of the entry in which the value stands."""
    if spot.above is None or spot.pointer[0] != "entries":
        return None
    session = spot.above.node.get("sessionId")
    return session.value if session is not None and type(session.value) is str else None
