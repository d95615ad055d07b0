"""Two things of one name: what one is to the other, and what the moved one is called
where both stay.

Contents are compared by reading alone, in blocks: a transcript may be large, and is
never written, copied or re-dated.
"""

import os
import re
import stat
from collections.abc import Iterator
from enum import Enum
from io import BytesIO
from itertools import count
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import BinaryIO

from ccmove.claude.reading import open_again
from ccmove.rewrite.windows import is_windows
from ccmove.system import NOT_IN_NAMES

LONGEST_NAME = 255  # bytes, on every file system that is in use
LONGEST_SUFFIX = 32  # bytes; what is longer is no suffix
SHORTEST_ORIGIN = 24  # bytes; rather than make it shorter the name itself is cut
Content = Path | bytes  # what is on disk, or a text that is planned
_BLOCK = 1 << 20
_UNUSABLE = re.compile(rf"[\ud800-\udfff{re.escape(NOT_IN_NAMES)}]")
_BESIDE = re.compile(r" \(from [^/]+\)(?=(?:\.[^.]*)?\Z)")


class Relation(Enum):
    """What the one that is moved is to the one that is there."""

    BEGINNING = "all of it is in the other one: it is equal, or its beginning"
    LONGER = "it has all that the other one has, and more"
    DIFFERENT = "different"


def relation(moved: Content, there: Content) -> Relation:
    """What one of two is to the other; a directory differs from everything, and so does
    what is neither file nor link.
    """
    if isinstance(moved, Path) and isinstance(there, Path) and _are_one(moved, there):
        return Relation.BEGINNING
    if not is_file(moved) or not is_file(there):
        return Relation.DIFFERENT
    block = other = b""
    with _opened(moved) as one, _opened(there) as two:
        while block == other:
            block = one.read(_BLOCK)
            other = two.read(_BLOCK)
            if not block:
                return Relation.BEGINNING
    if other.startswith(block):
        return Relation.BEGINNING
    if block.startswith(other):
        return Relation.LONGER
    return Relation.DIFFERENT


def _are_one(link: Path, other: Path) -> bool:
    """Whether they are links with the same target, in the same words or not."""
    if not link.is_symlink() or not other.is_symlink():
        return False
    if os.readlink(link) == os.readlink(other):
        return True
    return os.path.realpath(link) == os.path.realpath(other)


def is_file(content: Content) -> bool:
    """Whether it is a regular file itself; a link to one is not."""
    if isinstance(content, bytes):
        return True
    return stat.S_ISREG(os.lstat(content).st_mode)


def _opened(content: Content) -> BinaryIO:
    if isinstance(content, bytes):
        return BytesIO(content)
    return open_again(content)


def last_part(path: str) -> str:
    """The last component of a project's path,
    as far as a name on this system can have it.
    """
    pure = PureWindowsPath(path) if is_windows(path) else PurePosixPath(path)
    return _UNUSABLE.sub("_", pure.name) or "_"


def names_beside(name: str, origin: str, *, has_suffix: bool) -> Iterator[str]:
    """`name (from X).ext`, then `name (from X 2).ext` and so on.

    Each fits into a directory: X is cut first, then the name.
    """
    suffix = ""
    if has_suffix:
        suffix = _suffix(name)
    stem = name.removesuffix(suffix)
    for number in count(1):
        ending = f"){suffix}"
        if number > 1:
            ending = f" {number}){suffix}"
        room = LONGEST_NAME - _size(f" (from {ending}")
        room_for_origin = max(room - _size(stem), SHORTEST_ORIGIN)
        shown = _cut(origin, room_for_origin)
        start = _cut(stem, room - _size(shown))
        yield f"{start} (from {shown}{ending}"


def name_of_both(name: str) -> str:
    """The name that `names_beside` was given, if this is one that it made."""
    return _BESIDE.sub("", name)


def _suffix(name: str) -> str:
    _, suffix = os.path.splitext(name)
    if _size(suffix) <= LONGEST_SUFFIX:
        return suffix
    return ""


def _cut(text: str, size: int) -> str:
    """As many whole characters as have room in so many bytes."""
    while _size(text) > size:
        text = text[:-1]
    return text


def _size(text: str) -> int:
    return len(os.fsencode(text))
