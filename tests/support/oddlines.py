"""Every odd kind of history line, each with what a correct move makes of it.

The rule: in a line that is valid UTF-8 and one JSON object, the top-level `project` (the last of
several, as JSON.parse has it), when it is a string that is OLD or is below it, is spelled again, as
JSON.stringify would; every other byte stays. A carriage return before the newline is JSON
whitespace, so such a line is rewritten like any other and keeps its CR.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

# Bytes that any move copies, or a `project` value that counts, with the bytes it is written as.
Piece = bytes | tuple[str, bytes]
Pieces = tuple[Piece, ...]


@dataclass(frozen=True)
class OddLine:
    """A line with its newline, if it has one, and what a correct move makes of it."""

    kind: str
    pieces: Pieces

    @property
    def raw(self) -> bytes:
        """The line as it stands in the file."""
        return b"".join(piece if isinstance(piece, bytes) else piece[1] for piece in self.pieces)

    def expected(self, old: str, new: str) -> bytes:
        """The line as a move from `old` to `new` must leave it."""
        return b"".join(
            piece if isinstance(piece, bytes) else _moved(piece, old, new) for piece in self.pieces
        )

    def without_newline(self) -> OddLine:
        """The same line as the last of a file that lacks its final newline."""
        last = self.pieces[-1]
        assert isinstance(last, bytes)
        return OddLine(
            f"{self.kind}, no final newline", (*self.pieces[:-1], last.removesuffix(b"\n"))
        )


def stringify(value: object, indent: int | None = None) -> bytes:
    """JSON.stringify(value, null, indent): non-ASCII as it is, a lone surrogate as an escape."""
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(value, ensure_ascii=False, indent=indent, separators=separators)
    return re.sub("[\ud800-\udfff]", lambda lone: f"\\u{ord(lone[0]):04x}", text).encode()


def odd_line(number: int, path: str, session_id: str) -> OddLine:
    """The `number`-th odd line about the project at `path`; all kinds come round in turn."""
    assert "@" not in path, "the templates below use @ as their mark"
    kinds = list(_KINDS)
    kind = kinds[number % len(kinds)]
    line = _KINDS[kind](path)
    fill = {b"@N": str(number).encode(), b"@S": stringify(session_id)}
    return OddLine(kind, tuple(_filled(piece, fill) for piece in line))


def kind_names() -> list[str]:
    """The names of all kinds, in the order in which `odd_line` gives them."""
    return list(_KINDS)


def _moved(project: tuple[str, bytes], old: str, new: str) -> bytes:
    value, spelling = project
    head, tail = value[: len(old)], value[len(old) :]
    is_same = head.lower() == old.lower() if old[1:2] == ":" else head == old
    if is_same and tail[:1] in ("", "/"):
        return stringify(new + value[len(old) :])
    return spelling


def _filled(piece: Piece, fill: dict[bytes, bytes]) -> Piece:
    if isinstance(piece, tuple):
        return piece
    for mark, text in fill.items():
        piece = piece.replace(mark, text)
    return piece


# `@N` becomes the line's number and `@S` the session id, so that no two lines are the same.
_HEAD = b'{"display":"prompt @N","pastedContents":{},"timestamp":17947896@N,"project":'
_TAIL = b',"sessionId":@S}\n'


def _plain(value: str) -> Pieces:
    return (_HEAD, (value, stringify(value)), _TAIL)


def _spelled(value: str, spelling: bytes) -> Pieces:
    return (_HEAD, (value, spelling), _TAIL)


def _between(head: bytes, path: str, tail: bytes) -> Pieces:
    return (head, (path, stringify(path)), tail)


def _unchanged(head: bytes, path: str, tail: bytes = _TAIL) -> Pieces:
    return (head + stringify(path) + tail,)


def _each_unit_escaped(text: str) -> bytes:
    digits = text.encode("utf-16-be", "surrogatepass").hex(" ", 2)
    return b'"' + b"".join(rb"\u" + unit.encode() for unit in digits.split()) + b'"'


# The two tables keep one kind to a line: they are read side by side.
_REWRITTEN: dict[str, Callable[[str], Pieces]] = {
    "canonical": _plain,
    "spaced": lambda p: _between(b'  { "display" : "prompt @N",\t"project" :  ', p, b' , "sessionId" : @S }  \n'),
    "other key order": lambda p: _between(b'{"project":', p, b',"sessionId":@S,"display":"prompt @N"}\n'),
    "escaped slashes": lambda p: _spelled(p, stringify(p).replace(b"/", rb"\/")),
    "all escaped": lambda p: _spelled(p, _each_unit_escaped(p)),
    "escaped key": lambda p: _between(b'{"display":"prompt @N","pro\\u006aect":', p, _TAIL),
    "escaped letter below": lambda p: _spelled(p + "/caf\u00e9", stringify(p)[:-1] + rb'/caf\u00e9"'),
    "astral letter below": lambda p: _spelled(p + "/\U0001f680", stringify(p)[:-1] + rb'/\ud83d\ude80"'),
    "lone surrogate below": lambda p: _spelled(p + "/\ud83d!", stringify(p)[:-1] + rb'/\uD83D!"'),
    "control character below": lambda p: _plain(p + '/tab\t"quote"\\\x01'),
    "below": lambda p: _plain(p + "/packages/core"),
    "trailing slash": lambda p: _plain(p + "/"),
    "duplicate display": lambda p: _between(b'{"display":"first @N","display":"second @N","project":', p, _TAIL),
    "duplicate project": lambda p: (
        b'{"project":"/srv/elsewhere","display":"prompt @N","project":', (p, stringify(p)), _TAIL,
    ),
    "nested project too": lambda p: _between(
        b'{"pastedContents":{"project":' + stringify(p) + b'},"display":"prompt @N","project":', p, _TAIL
    ),
    "display with the path": lambda p: _between(
        b'{"display":' + stringify(f'see {p} and "project":"{p}"') + b',"timestamp":@N,"project":', p, _TAIL
    ),
    "carriage return": lambda p: _between(_HEAD, p, b',"sessionId":@S}\r\n'),
    "carriage return within": lambda p: _between(b'{"display":"prompt @N",\r"project":\r', p, b"\r" + _TAIL),
    "line separators within": lambda p: _between(
        '{"display":"prompt @N a\u2028b\u2029c\u0085d","project":'.encode(), p, _TAIL
    ),
    "numbers of any spelling": lambda p: _between(
        b'{"display":"prompt @N","timestamp":1794789673127000000000000000001,"cost":1.10,"e":1E400,"z":-0.0,"project":',
        p,
        _TAIL,
    ),
    "lone surrogate escapes": lambda p: _between(rb'{"display":"prompt @N \ud800 \uDFFF","project":', p, _TAIL),
}  # fmt: skip

_LEFT: dict[str, Callable[[str], Pieces]] = {
    "sibling with the same prefix": lambda p: _plain(p + "-docker"),
    "sibling with one more letter": lambda p: _plain(p + "2"),
    "parent": lambda p: _plain(p.rpartition("/")[0] or "/"),
    "other letter case": lambda p: _plain(p.swapcase()),
    "other project": lambda p: _between(
        b'{"display":' + stringify(p) + b',"project":', "/srv/elsewhere", _TAIL
    ),
    "only a nested project": lambda p: _unchanged(b'{"display":"@N","pastedContents":{"project":', p, b"}}\n"),
    "project is a list": lambda p: _unchanged(b'{"display":"@N","project":[', p, b"]}\n"),
    "project is an object": lambda p: _unchanged(b'{"display":"@N","project":{"project":', p, b"}}\n"),
    "project is null": lambda p: _unchanged(b'{"project":null,"display":', p),
    "torn": lambda p: (_HEAD + stringify(p)[:-1] + b"\n",),
    "torn and continued": lambda p: _unchanged(b'{"display":"prompt @N","proj' + _HEAD, p),
    "two objects": lambda p: _unchanged(b'{"display":"@N"}' + _HEAD, p),
    "trailing comma": lambda p: _unchanged(_HEAD, p, b',"sessionId":@S,}\n'),
    "not a number": lambda p: _unchanged(b'{"display":"@N","timestamp":NaN,"project":', p),
    "raw tab in a string": lambda p: _unchanged(b'{"display":"prompt\t@N","project":', p),
    "form feed between": lambda p: _unchanged(b'{"display":"@N",\x0c"project":', p),
    "line separator between": lambda p: _unchanged('{"display":"@N",\u2028"project":'.encode(), p),
    "byte order mark": lambda p: _unchanged(b"\xef\xbb\xbf" + _HEAD, p),
    "not JSON": lambda p: (b"project " + p.encode("utf-8", "surrogatepass") + b" @N\n",),
    "not UTF-8": lambda p: _unchanged(b'{"display":"prompt @N \xff\xfe","project":', p),
    "encoded surrogate": lambda p: _unchanged(b'{"display":"prompt @N \xed\xa0\x80","project":', p),
    "NUL bytes": lambda _: (b"\0\0\0\0\n",),
    "empty": lambda _: (b"\n",),
    "only a carriage return": lambda _: (b"\r\n",),
    "a list": lambda p: _unchanged(b'["project",', p, b",@N]\n"),
    "a string": lambda p: _unchanged(b"", p, b"\n"),
    "a number": lambda _: (b"@N\n",),
}  # fmt: skip

_KINDS = {**_REWRITTEN, **_LEFT}
