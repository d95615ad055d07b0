"""Every odd kind of history line, and what a correct move makes of each.

The rule: in a line that is valid UTF-8 and one JSON object, the top-level `project` (the last of
several, as JSON.parse has it), when it is a string that is OLD or is below it, is spelled again, as
JSON.stringify would; every other byte stays. A carriage return before the newline is JSON
whitespace, so such a line is rewritten like any other and keeps its CR.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.support.history_oracle import moved_line, stringify

__all__ = ["REWRITTEN", "OddLine", "kind_names", "odd_line", "stringify"]


@dataclass(frozen=True)
class OddLine:
    """A line as it stands in the file, with its newline, if it has one."""

    kind: str
    raw: bytes

    def expected(self, old: str, new: str) -> bytes:
        """The line as a move from `old` to `new` must leave it."""

        def moved(path: str) -> str | None:
            head, tail = path[: len(old)], path[len(old) :]
            is_same = head.lower() == old.lower() if old[1:2] == ":" else head == old
            return new + tail if is_same and tail[:1] in ("", "/") else None

        text = self.raw.removesuffix(b"\n")
        return moved_line(text, moved) + self.raw[len(text) :]

    def without_newline(self) -> OddLine:
        """The same line as the last of a file that lacks its final newline."""
        return OddLine(f"{self.kind}, no final newline", self.raw.removesuffix(b"\n"))


def odd_line(number: int, path: str, session_id: str) -> OddLine:
    """The `number`-th odd line about the project at `path`; all kinds come round in turn."""
    assert "@" not in path, "the templates below use @ as their mark"
    kind = kind_names()[number % len(_KINDS)]
    line = _KINDS[kind](path).replace(b"@N", str(number).encode())
    return OddLine(kind, line.replace(b"@S", stringify(session_id)))


def kind_names() -> list[str]:
    """The names of all kinds, in the order in which `odd_line` gives them."""
    return list(_KINDS)


# `@N` becomes the line's number and `@S` the session id, so that no two lines are the same.
_HEAD = b'{"display":"prompt @N","pastedContents":{},"timestamp":17947896@N,"project":'
_TAIL = b',"sessionId":@S}\n'


def _line(path: str, head: bytes = _HEAD, tail: bytes = _TAIL) -> bytes:
    return head + stringify(path) + tail


def _spelled(spelling: bytes) -> bytes:
    return _HEAD + spelling + _TAIL


def _each_unit_escaped(text: str) -> bytes:
    digits = text.encode("utf-16-be", "surrogatepass").hex(" ", 2)
    return b'"' + b"".join(rb"\u" + unit.encode() for unit in digits.split()) + b'"'


# The two tables keep one kind to a line: they are read side by side.
REWRITTEN: dict[str, Callable[[str], bytes]] = {
    "canonical": _line,
    "spaced": lambda p: _line(p, b'  { "display" : "prompt @N",\t"project" :  ', b' , "sessionId" : @S }  \n'),
    "other key order": lambda p: _line(p, b'{"project":', b',"sessionId":@S,"display":"prompt @N"}\n'),
    "escaped slashes": lambda p: _spelled(stringify(p).replace(b"/", rb"\/")),
    "all escaped": lambda p: _spelled(_each_unit_escaped(p)),
    "escaped key": lambda p: _line(p, b'{"display":"prompt @N","pro\\u006aect":'),
    "escaped letter below": lambda p: _spelled(stringify(p)[:-1] + rb'/caf\u00e9"'),
    "astral letter below": lambda p: _spelled(stringify(p)[:-1] + rb'/\ud83d\ude80"'),
    "lone surrogate below": lambda p: _spelled(stringify(p)[:-1] + rb'/\uD83D!"'),
    "control character below": lambda p: _line(p + '/tab\t"quote"\\\x01'),
    "below": lambda p: _line(p + "/packages/core"),
    "trailing slash": lambda p: _line(p + "/"),
    "duplicate display": lambda p: _line(p, b'{"display":"first @N","display":"second @N","project":'),
    "duplicate project": lambda p: _line(p, b'{"project":"/srv/elsewhere","display":"prompt @N","project":'),
    "nested project too": lambda p: _line(p, _line(p, b'{"pastedContents":{"project":', b'},"display":"prompt @N","project":')),
    "display with the path": lambda p: _line(p, _line(f'see {p} and "project":"{p}"', b'{"display":', b',"timestamp":@N,"project":')),
    "carriage return": lambda p: _line(p, tail=b',"sessionId":@S}\r\n'),
    "carriage return within": lambda p: _line(p, b'{"display":"prompt @N",\r"project":\r', b"\r" + _TAIL),
    "line separators within": lambda p: _line(p, '{"display":"prompt @N a\u2028b\u2029c\u0085d","project":'.encode()),
    "numbers of any spelling": lambda p: _line(
        p, b'{"display":"prompt @N","timestamp":1794789673127000000000000000001,"cost":1.10,"e":1E400,"z":-0.0,"project":'
    ),
    "lone surrogate escapes": lambda p: _line(p, rb'{"display":"prompt @N \ud800 \uDFFF","project":'),
}  # fmt: skip

_LEFT: dict[str, Callable[[str], bytes]] = {
    "sibling with the same prefix": lambda p: _line(p + "-docker"),
    "sibling with one more letter": lambda p: _line(p + "2"),
    "parent": lambda p: _line(p.rpartition("/")[0] or "/"),
    "other letter case": lambda p: _line(p.swapcase()),
    "other project": lambda p: _line("/srv/elsewhere", _line(p, b'{"display":', b',"project":')),
    "only a nested project": lambda p: _line(p, b'{"display":"@N","pastedContents":{"project":', b"}}\n"),
    "project is a list": lambda p: _line(p, b'{"display":"@N","project":[', b"]}\n"),
    "project is an object": lambda p: _line(p, b'{"display":"@N","project":{"project":', b"}}\n"),
    "project is null": lambda p: _line(p, b'{"project":null,"display":'),
    "torn": lambda p: _HEAD + stringify(p)[:-1] + b"\n",
    "torn and continued": lambda p: _line(p, b'{"display":"prompt @N","proj' + _HEAD),
    "two objects": lambda p: _line(p, b'{"display":"@N"}' + _HEAD),
    "trailing comma": lambda p: _line(p, tail=b',"sessionId":@S,}\n'),
    "not a number": lambda p: _line(p, b'{"display":"@N","timestamp":NaN,"project":'),
    "raw tab in a string": lambda p: _line(p, b'{"display":"prompt\t@N","project":'),
    "form feed between": lambda p: _line(p, b'{"display":"@N",\x0c"project":'),
    "line separator between": lambda p: _line(p, '{"display":"@N",\u2028"project":'.encode()),
    "byte order mark": lambda p: _line(p, b"\xef\xbb\xbf" + _HEAD),
    "not JSON": lambda p: b"project " + p.encode("utf-8", "surrogatepass") + b" @N\n",
    "not UTF-8": lambda p: _line(p, b'{"display":"prompt @N \xff\xfe","project":'),
    "encoded surrogate": lambda p: _line(p, b'{"display":"prompt @N \xed\xa0\x80","project":'),
    "NUL bytes": lambda _: b"\0\0\0\0\n",
    "empty": lambda _: b"\n",
    "only a carriage return": lambda _: b"\r\n",
    "a list": lambda p: _line(p, b'["project",', b",@N]\n"),
    "a string": lambda p: _line(p, b"", b"\n"),
    "a number": lambda _: b"@N\n",
}  # fmt: skip

_KINDS = {**REWRITTEN, **_LEFT}
