"""Every odd kind of history line, and what a correct move makes of each.

The rule: in a line that is valid UTF-8 and one JSON object, the top-level `project` (the last of
several, as JSON.parse has it), when it is a string that is OLD or is below it, is spelled again, as
JSON.stringify would; every other byte stays. A carriage return before the newline is JSON
whitespace, so such a line is rewritten like any other and keeps its CR.
"""

from __future__ import annotations

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
    return OddLine(kind, _filled(_KINDS[kind], number, path, session_id))


def kind_names() -> list[str]:
    """The names of all kinds, in the order in which `odd_line` gives them."""
    return list(_KINDS)


# In a template `@N` is the number of the line, `@S` the quoted session ID, and `@P` the path as JSON
# has it between quotes: with escaped slashes it is `@E`, with each unit escaped `@U`, in the other case
# `@C`. `@D` is its parent's path, `@R` the path as it is. No two lines are the same: each has its number.

# A line as the client writes it, up to the path and after it.
_HEAD = rb'{"display":"prompt @N","pastedContents":{},"timestamp":17947896@N,"project":'
_TAIL = b',"sessionId":@S}\n'
_LINE = _HEAD + b'"@P"' + _TAIL

# The two tables keep one kind to a line: they are read side by side.
REWRITTEN: dict[str, bytes] = {
    "canonical": _LINE,
    "spaced": b'  { "display" : "prompt @N",\t"project" :  "@P" , "sessionId" : @S }  \n',
    "other key order": b'{"project":"@P","sessionId":@S,"display":"prompt @N"}\n',
    "escaped slashes": _HEAD + b'"@E"' + _TAIL,
    "all escaped": _HEAD + b'"@U"' + _TAIL,
    "escaped key": rb'{"display":"prompt @N","pro\u006aect":"@P"' + _TAIL,
    "escaped letter below": _HEAD + rb'"@P/caf\u00e9"' + _TAIL,
    "astral letter below": _HEAD + rb'"@P/\ud83d\ude80"' + _TAIL,
    "lone surrogate below": _HEAD + rb'"@P/\uD83D!"' + _TAIL,
    "control character below": _HEAD + rb'"@P/tab\t\"quote\"\\\u0001"' + _TAIL,
    "below": _HEAD + b'"@P/packages/core"' + _TAIL,
    "trailing slash": _HEAD + b'"@P/"' + _TAIL,
    "duplicate display": b'{"display":"first @N","display":"second @N","project":"@P"' + _TAIL,
    "duplicate project": b'{"project":"/srv/elsewhere","display":"prompt @N","project":"@P"' + _TAIL,
    "nested project too": b'{"pastedContents":{"project":"@P"},"display":"prompt @N","project":"@P"' + _TAIL,
    "display with the path": (
        rb'{"display":"see @P and \"project\":\"@P\"","timestamp":@N,"project":"@P"' + _TAIL
    ),
    "carriage return": _HEAD + b'"@P","sessionId":@S}\r\n',
    "carriage return within": b'{"display":"prompt @N",\r"project":\r"@P"\r' + _TAIL,
    "line separators within": '{"display":"prompt @N a\u2028b\u2029c\u0085d","project":"@P"'.encode() + _TAIL,
    "numbers of any spelling": (
        b'{"display":"prompt @N","timestamp":1794789673127000000000000000001,"cost":1.10,"e":1E400,"z":-0.0,'
        b'"project":"@P"' + _TAIL
    ),
    "lone surrogate escapes": rb'{"display":"prompt @N \ud800 \uDFFF","project":"@P"' + _TAIL,
}  # fmt: skip

_LEFT: dict[str, bytes] = {
    "sibling with the same prefix": _HEAD + b'"@P-docker"' + _TAIL,
    "sibling with one more letter": _HEAD + b'"@P2"' + _TAIL,
    "parent": _HEAD + b'"@D"' + _TAIL,
    "other letter case": _HEAD + b'"@C"' + _TAIL,
    "other project": b'{"display":"@P","project":"/srv/elsewhere"' + _TAIL,
    "only a nested project": b'{"display":"@N","pastedContents":{"project":"@P"}}\n',
    "project is a list": b'{"display":"@N","project":["@P"]}\n',
    "project is an object": b'{"display":"@N","project":{"project":"@P"}}\n',
    "project is null": b'{"project":null,"display":"@P"' + _TAIL,
    "torn": _HEAD + b'"@P\n',
    "torn and continued": b'{"display":"prompt @N","proj' + _LINE,
    "two objects": b'{"display":"@N"}' + _LINE,
    "trailing comma": _HEAD + b'"@P","sessionId":@S,}\n',
    "not a number": b'{"display":"@N","timestamp":NaN,"project":"@P"' + _TAIL,
    "raw tab in a string": b'{"display":"prompt\t@N","project":"@P"' + _TAIL,
    "form feed between": b'{"display":"@N",\x0c"project":"@P"' + _TAIL,
    "line separator between": '{"display":"@N",\u2028"project":"@P"'.encode() + _TAIL,
    "byte order mark": b"\xef\xbb\xbf" + _LINE,
    "not JSON": b"project @R @N\n",
    "not UTF-8": b'{"display":"prompt @N \xff\xfe","project":"@P"' + _TAIL,
    "encoded surrogate": b'{"display":"prompt @N \xed\xa0\x80","project":"@P"' + _TAIL,
    "NUL bytes": b"\0\0\0\0\n",
    "empty": b"\n",
    "only a carriage return": b"\r\n",
    "a list": b'["project","@P",@N]\n',
    "a string": b'"@P"\n',
    "a number": b"@N\n",
}  # fmt: skip

_KINDS = {**REWRITTEN, **_LEFT}


def _between_quotes(text: str) -> bytes:
    return stringify(text)[1:-1]


def _each_unit_escaped(text: str) -> bytes:
    digits = text.encode("utf-16-be", "surrogatepass").hex(" ", 2)
    return b"".join(rb"\u" + unit.encode() for unit in digits.split())


def _filled(template: bytes, number: int, path: str, session_id: str) -> bytes:
    inside = _between_quotes(path)
    marks = {
        b"@N": str(number).encode(),
        b"@S": stringify(session_id),
        b"@P": inside,
        b"@E": inside.replace(b"/", rb"\/"),
        b"@U": _each_unit_escaped(path),
        b"@C": _between_quotes(path.swapcase()),
        b"@D": _between_quotes(path.rpartition("/")[0] or "/"),
        b"@R": path.encode("utf-8", "surrogatepass"),
    }
    for mark, text in marks.items():
        template = template.replace(mark, text)
    return template
