"""Path mapping and encoded names,
against oracles that go by components and by single units.
"""

from __future__ import annotations

import os
import unicodedata

from ccmove.claude import naming as encoding
from ccmove.rewrite import pathmap
from ccmove.rewrite.pathmap import PathMap
from fuzz.source import Source, text
from tests.support.state import encoded_name

LONGEST_INPUT = 80
# Names that look alike on purpose, and odd ones; none holds a slash.
PARTS = (
    "a",
    "b",
    "a-b",
    "a b",
    "A",
    ".",
    "app",
    "app.bak",
    "app-2",
    "e\u0301",
    "\u00e9",
    "\U0001f680",
    "\ud83d",
    "x" * 190,
    "a\\b",
    "a\nb",
    "C:",
    "[a]*",
)
WINDOWS_PARTS = tuple(part for part in PARTS if not set(part) & set("\\:*\n"))
# The last are capitals in disguise: upper() makes I and S of them.
DRIVES = ("C:", "c:", "D:", "\\\\server", "", "I:", "\u0131:", "\u017f:")
AROUND = (
    "",
    " ",
    "/",
    "\\",
    "-",
    ".",
    ". ",
    ".x",
    "x",
    "-I",
    "=",
    '"',
    "\\n",
    "\n",
    "~",
    "@",
    "_",
)
Parts = list[str]


def check(data: bytes) -> None:
    """One way of looking at it, chosen by the first byte."""
    source = Source(data)
    source.pick((_posix, _windows, _named, _windows_named, _encoded))(source)


# -- mapping ---------------------------------------------------------------------------------------


def _parts(source: Source, parts: tuple[str, ...]) -> Parts:
    found = []
    for _ in range(1 + source.below(4)):
        part = text(source, parts).replace("/", "").replace("\0", "")
        found.append(part or "a")
    return found


def _posix(source: Source) -> None:
    """By whole components, the longest OLD, all at one moment."""
    moves = _moves(source, PARTS)
    kept = [_near(source, moves, PARTS) for _ in range(source.below(3))]
    paths = PathMap(
        tuple((_slashed(old), _slashed(new)) for old, new in moves),
        frozenset(map(_slashed, kept)),
    )
    for _ in range(3):
        path = _near(source, moves, PARTS)
        _compare(paths, moves, kept, path)
        there = [
            there for one in kept if (there := _oracle(moves, [], one)) is not None
        ]
        _compare(paths.reversed(), [(new, old) for old, new in moves], there, path)
    if len(moves) == 1:
        _check_way_back(paths, moves[0], _near(source, moves, PARTS))


def _moves(source: Source, parts: tuple[str, ...]) -> list[tuple[Parts, Parts]]:
    moves: list[tuple[Parts, Parts]] = []
    for _ in range(1 + source.below(3)):
        old, new = _near(source, moves, parts), _near(source, moves, parts)
        if old not in [known for known, _ in moves]:
            moves.append((old, new))
    return moves


def _near(
    source: Source, moves: list[tuple[Parts, Parts]], parts: tuple[str, ...]
) -> Parts:
    """Any path, or one at, above, below or beside one that moves."""
    known = [path for move in moves for path in move]
    if not known or source.below(4) == 0:
        return _parts(source, parts)
    base, way = source.pick(known), source.below(5)
    if way == 0:
        return base
    if way == 1:
        return base[:-1] or base
    if way == 2:
        return [*base[:-1], base[-1] + source.pick(("-2", "x", " ", "."))]
    if way == 3:
        return [*base[:-1], base[-1][:-1] or "a"]
    return base + _parts(source, parts)


def _slashed(parts: Parts) -> str:
    return "".join(f"/{part}" for part in parts)


def _oracle(
    moves: list[tuple[Parts, Parts]], kept: list[Parts], path: Parts
) -> Parts | None:
    """On lists: the longest OLD, unless the path is in a NEW below it,
    or in something kept.
    """
    best: tuple[Parts, Parts] | None = None
    for old, new in moves:
        in_place = new[: len(old)] == old and new != old and path[: len(new)] == new
        if (
            path[: len(old)] == old
            and not in_place
            and (not best or len(old) > len(best[0]))
        ):
            best = (old, new)
    if best is None or any(
        len(stays) > len(best[0]) and path[: len(stays)] == stays for stays in kept
    ):
        return None
    return best[1] + path[len(best[0]) :]


def _compare(
    paths: PathMap, moves: list[tuple[Parts, Parts]], kept: list[Parts], path: Parts
) -> None:
    expected = _oracle(moves, kept, path)
    found = paths.map(_slashed(path))
    assert found == (None if expected is None else _slashed(expected))
    assert paths.covers(_slashed(path)) == (expected is not None)
    if expected is not None:
        assert any(needle in _slashed(path) for needle in paths.needles())


def _check_way_back(paths: PathMap, move: tuple[Parts, Parts], path: Parts) -> None:
    """There and back is where it began; a second time nothing moves,
    unless NEW is above OLD.
    """
    old, new = move
    there = paths.map(_slashed(path))
    if there is None:
        return
    back = paths.reversed().map(there)
    assert back in (None, _slashed(path))
    assert back is not None or old[: len(new)] == new
    assert paths.map(there) is None or old[: len(new)] == new


# -- Windows paths ---------------------------------------------------------------------------------


def _windows(source: Source) -> None:
    """Drive letter and separators vary; the rest goes by components,
    also from one to the other.
    """
    moves: list[tuple[str, str]] = []
    for old, new in _moves(source, WINDOWS_PARTS):
        moves.append((_start(source) + "\\".join(old), _start(source) + "\\".join(new)))
    moves = [
        (_own_slashes(source, old), _own_slashes(source, new)) for old, new in moves
    ]
    paths = PathMap(tuple(moves))
    base = [_split(path, path)[_depth(path) :] for move in moves for path in move]
    for _ in range(3):
        parts = _near(source, [(old, old) for old in base if old], WINDOWS_PARTS)
        separator = source.pick("\\/")
        path = separator.join((source.pick(DRIVES).replace("\\", separator), *parts))
        path = (
            path if source.below(4) else path.replace(separator, source.pick("\\/"), 2)
        )
        _compare_windows(paths, path)


def _start(source: Source) -> str:
    return source.pick(("C:\\", "c:\\", "D:\\", "\\\\server\\", "I:\\", "/"))


def _own_slashes(source: Source, path: str) -> str:
    return path.replace("\\", "/") if path[0] == "/" or source.below(4) == 1 else path


def _depth(path: str) -> int:
    return 3 if path[:2] in ("\\\\", "//") else 1


def _is_windows(path: str) -> bool:
    is_share = path[:2] == "\\\\" or (path[:2] == "//" and path[2:3] not in ("", "/"))
    return is_share or (path[1:2] == ":" and path[2:3] in ("\\", "/"))


def _split(path: str, parent: str) -> Parts:
    """The components of `path`, read as the way `parent` is written says."""
    if not _is_windows(parent):
        return path.split("/")
    return path.replace("\\", "/").lower().split("/")


def _tail(path: str, parent: str) -> Parts | None:
    """The components of `path` below `parent`, None when it is not in it."""
    parts, above = _split(path, parent), _split(parent, parent)
    return parts[len(above) :] if parts[: len(above)] == above else None


def _compare_windows(paths: PathMap, path: str) -> None:
    best: tuple[str, str] | None = None
    for old, new in paths.moves:
        in_place = bool(_tail(new, old)) and _tail(path, new) is not None
        if (
            _tail(path, old) is not None
            and not in_place
            and (not best or len(old) > len(best[0]))
        ):
            best = (old, new)
    found = paths.map(path)
    assert (found is None) == (best is None)
    if found is None or best is None:
        return
    old, new = best
    tail = _tail(path, old) or []
    if _is_windows(
        new
    ):  # a backslash in a name of the other world is one that parts names here
        tail = [piece for part in tail for piece in part.split("\\")]
    expected = _split(new, new) + tail
    assert "/".join(_split(found, new)).lower() == "/".join(expected).lower()
    line = f'"project":"{path}"'.lower()  # what is looked for in any case
    assert any(needle.lower() in line for needle in paths.needles())
    used = set("\\/") & set(path)
    if _is_windows(old) and _is_windows(new) and len(used) == 1:
        assert used == set("\\/") & set(found)


# -- paths in a longer text ------------------------------------------------------------------------


def _named(source: Source) -> None:
    """A path is named where it stands whole; letters around it make it another one."""
    path = _slashed(_parts(source, PARTS))
    pieces = []
    for _ in range(1 + source.below(4)):
        pieces += [
            source.pick(AROUND),
            source.pick((path, path, path + "x", "/" + path, "z")),
        ]
    pieces.append(source.pick(AROUND))
    line = "".join(pieces)
    expected = any(_stands_whole(line, at, path) for at in range(len(line)))
    new = source.pick(("/elsewhere", path + "/below", path + "-2"))
    kept = frozenset({path + "/" + source.pick(PARTS)} if source.yes() else ())
    paths = PathMap(((path, new),), kept)
    assert not paths.named_in(line) or expected
    assert bool(PathMap(((path, "/elsewhere"),)).named_in(line)) == expected


def _windows_named(source: Source) -> None:
    """Whatever its separators and its drive letter,
    and as JSON spells it; but only whole.
    """
    drive, parts = (
        source.pick(("C:", "d:", "\\\\server")),
        _parts(source, WINDOWS_PARTS),
    )
    path = "\\".join([drive, *(part.replace("\\", "") or "a" for part in parts)])
    spelling = path.swapcase()[0] + path[1:]
    spelling = spelling.replace("\\", source.pick(("\\", "/", "\\\\")))
    paths = PathMap(((path, "/elsewhere"),))
    before, after = (
        source.pick(("", " ", "=", '"')),
        source.pick(("", " ", "\\", "/", '"', ", ")),
    )
    assert paths.named_in(before + spelling + after)
    assert not paths.named_in(before + spelling + source.pick("x_-+2@~") + after)
    if drive != "\\\\server":
        assert not paths.named_in(source.pick("x_.~2") + spelling + after)


def _stands_whole(line: str, at: int, path: str) -> bool:
    if not line.startswith(path, at):
        return False
    before, after = line[:at], line[at + len(path) :]
    is_flag = before[-2:-1] == "-" and before[-1:].isascii() and before[-1:].isalpha()
    is_escape = before[-2:] in ("\\n", "\\r", "\\t")
    begins = is_flag or is_escape or not _is_of_a_name(before[-1:], ".~-")
    goes_on = after[:1] == "." and _is_of_a_name(after[1:2], "-")
    return begins and not goes_on and not _is_of_a_name(after[:1], "+@~-")


def _is_of_a_name(character: str, others: str) -> bool:
    return character.isalnum() or (character != "" and character in "_" + others)


# -- encoded names ---------------------------------------------------------------------------------


def _encoded(source: Source) -> None:
    """Names are those of the independent encoder;
    what is below a path passes its sieve.
    """
    path, below = _slashed(_parts(source, PARTS)), _slashed(_parts(source, PARTS))
    name = encoding.encode(path)
    assert name == encoded_name(path)
    assert len(name) <= 200 or name[200] == "-"
    names = encoding.possible_names(path)
    assert names[0] == name
    assert encoded_name(unicodedata.normalize("NFC", path)) in names
    sieve = encoding.sieve(path)
    for one in names:
        assert encoding.may_be_name_of(one, path)
        assert sieve(one)
    assert all(sieve(one) for one in encoding.possible_names(path + below))
    other = name[:200] + source.pick(("", "-x", "-1b2", ".0123456789abcdef", "x", "-"))
    if other not in names and encoding.may_be_name_of(other, path):
        assert len(other) > 201
        assert other[200] == "-"
        assert "." not in other
    if all(not 0xD800 <= ord(letter) < 0xE000 for letter in path):
        assert pathmap.client_spelling(os.fsdecode(path.encode())) == path
