"""Bugs to plant, for each target: the kept inputs must find them, and so must a short
fuzzing.

Each takes `setattr`, or something that also takes the change back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from ccmove.claude import naming as encoding
from ccmove.plan import records
from ccmove.rewrite import history, jsonspan, pathmap, splice
from ccmove.run import roots
from ccmove.transfer import archive, roles, tar

Patch = Callable[[Any, str, Any], None]
Bug = Callable[[Patch], None]


def _prefix(path: str, parent: str) -> str | None:
    """Without the look at where a component ends."""
    return path[len(parent) :] if path.startswith(parent) else None


# Without a look at what else the line holds.
_ANY = re.compile(rb'(.*?)[,{]"project":("[^"\\]*").*')


def _whole(needle: str) -> re.Pattern[bytes]:
    return re.compile(re.escape(f'"{needle}"'.encode()))


def _parts(read: history.Read, start: int, size: int) -> Iterator[tuple[int, bytes]]:
    for at in range(start, size, history.BLOCK):
        yield at, read(at, min(history.BLOCK, size - at))


_is_name = records.is_name


def _is_name_or_up(value: object) -> bool:
    return value == ".." or _is_name(value)


_value = records._value


def _value_or_anything(hint: object, value: object, path: records.ReadPath) -> object:
    try:
        return _value(hint, value, path)
    except ValueError:
        return value


# Whatever is in the state, and in what is ours in it.
ANYWHERE: roots.Kinds = {"", "project", "folder", *roots.MOVED, *roots.REPLACED}


def _pass_over_sums(reader: archive.Reader) -> None:
    reader._whole(archive.SUMS, 1 << 20)


class _AllNames:
    def add(self, _: str) -> bool:
        return True


BUGS: dict[str, dict[str, Bug]] = {
    "spans": {
        "a carriage return is not a blank": lambda patch: patch(
            jsonspan, "_BETWEEN", re.compile(r"[ \t\n,:]*")
        ),
        "an item comes without a comma": lambda patch: patch(
            splice, "_spacing", lambda _: ("", ":")
        ),
    },
    "history": {
        "any project counts": lambda patch: patch(history, "_USUAL", _ANY),
        "nothing lies below OLD": lambda patch: patch(history, "_sign", _whole),
        "a block may end in a line": lambda patch: patch(history, "blocks", _parts),
        "no escape is looked at": lambda patch: patch(
            history, "_ESCAPE", re.compile(b"$^")
        ),
    },
    "manifests": {
        "a path may lead up again": lambda patch: patch(
            roots, "is_name", _is_name_or_up
        ),
        "any file may be rewritten": lambda patch: patch(
            roots, "DOCUMENTS", {**roots.DOCUMENTS, "other": ANYWHERE}
        ),
        "anything may be renamed": lambda patch: patch(roots, "MOVED", ANYWHERE),
        "a value may be anything": lambda patch: patch(
            records, "_value", _value_or_anything
        ),
    },
    "paths": {
        "part of a name counts": lambda patch: patch(pathmap, "tail_below", _prefix),
        "names are cut a unit later": lambda patch: patch(
            encoding, "LONGEST_NAME", 201
        ),
        "a name may go on": lambda patch: patch(pathmap, "_ENDS", ""),
        "separators are those of NEW": lambda patch: patch(
            pathmap, "join", lambda path, old, new: new + path[len(old) :]
        ),
    },
    "archives": {
        "any name will do": lambda patch: patch(roles, "is_portable", lambda _: True),
        "hashes are not compared": lambda patch: patch(
            archive.Reader, "_check_sums", _pass_over_sums
        ),
        "a link is a file": lambda patch: patch(tar, "_REGULAR", (b"0", b"1", b"2")),
        "one name may be there twice": lambda patch: patch(archive, "Names", _AllNames),
    },
}
