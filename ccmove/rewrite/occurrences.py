"""Paths inside longer values: rules of tools, servers' commands and addresses, lists.

An occurrence of OLD begins at the start, after `=`, `,`, `;`, a quote, an opening
bracket, a blank, a flag (`-I`), `//`, or a `:` that follows an absolute path, `=` or a
scheme. It ends at the end, at `/`, `\\`, a quote, `:`, `;`, `,`, a closing bracket,
`*`, or at a blank unless the longer text is a path that is known. What is plainly a
part of another path (`OLD-docker`, `xOLD`) is none. Where one is neither plainly whole
nor plainly longer the value stays as it is: a value is never half rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from ccmove.rewrite.jsonspan import Node, Pointer
from ccmove.rewrite.pathmap import HOME_SIGNS, PathMap, join, tail_below
from ccmove.rewrite.splice import Mapper, Splice, string_splices
from ccmove.rewrite.windows import compared, in_bash, is_windows

# Members of a project's entry, of settings, of .mcp.json whose values hold paths.
HOLDERS = frozenset({
    "activeWorktreeSession", "additionalDirectories", "allowedTools", "apiKeyHelper",
    "deniedTools", "disallowedTools", "env", "extraKnownMarketplaces", "hooks",
    "mcpServers", "permissions", "sandbox", "statusLine",
})  # fmt: skip
# A `:` after one of these leads to a path; after any other word it may be a host's.
SCHEMES = frozenset({
    "duckdb", "file", "git+file", "ipc", "jdbc", "link", "path", "sqlite", "unix",
})  # fmt: skip

LONGEST_NAME = 255
LONGEST_PATH = 4096
FEW_NAMES = 8
_SLASHES = ("/", "\\")
_QUOTES = "\"'`"
_OPENERS = f"=,;([{{<{_QUOTES}"
_CLOSERS = ":;,)]}>*"
# What no name goes on with; all else after OLD is a longer name.
_BOUND = r"[\s!-$&-*,/:-?\[-^`{-}]"
_BOUNDARY = re.compile(rf"{_BOUND}|\.(?={_BOUND}|\Z)|\Z")
_AFTER_PATH = re.compile(r"[\s:;,\"'`<>|)\]}]")
_AFTER_PATH_WITH_BLANKS = re.compile(r"[^\S ]|[:;,\"'`<>|)\]}]| (?!\w)")
_START = re.compile(r"(?=[/~\\]|\$HOME|\$\{HOME\}|[A-Za-z]:[\\/])")
_UP = re.compile(r"(?:[\\/]+\.)*[\\/]+\.\.(?![^\s\\/\"'`:;,)\]}>*])")
_WORD_BEGINS = re.compile(r"[\s=,;:\"'`(\[<]|(?<!\$)\{")
_FLAG = re.compile(r"-[A-Za-z]\Z")
_VARIABLE = re.compile(r"\$\w+|\$\{\w+\}")
_RULE = re.compile(r"\w+\(")
_FILE_RULE = re.compile(r"(?!Bash\()\w+\(")
_NEEDS_NO_QUOTES = re.compile(r"(?:\$HOME|\$\{HOME\})?[\w@%+=:,./~-]*")


class _UnclearError(ValueError):
    """Nobody can say whether OLD is meant."""


@dataclass(frozen=True, kw_only=True)
class Occurrences(PathMap):
    """Moves as people write them, that are also found inside longer values."""

    home: str
    is_path: Callable[[str], bool]  # known, or on disk

    @classmethod
    def of(
        cls, paths: PathMap, home: str, is_path: Callable[[str], bool]
    ) -> Occurrences:
        spelled = paths.as_people_write(home)
        rows = spelled.moves, spelled.kept, spelled.alone
        return cls(*rows, home=home, is_path=is_path)

    def mapper_at(self, at: Pointer) -> Mapper | None:
        """By what a string in settings, or in a project's entry, moves.

        Elsewhere than in values that hold paths it moves if all of it is one. A hook's
        command is a line for a shell; a server's is a path.
        """
        if HOLDERS.isdisjoint(at[:1]):
            return self.map
        is_line = at[-1] == "command" and at[0] in ("hooks", "statusLine")
        if is_line:
            return self.in_command
        return self.inside

    def inside(self, value: str) -> str | None:
        """The value with every whole occurrence moved; None: it stays."""
        return self._moved(value, is_shell=value.startswith("Bash("))

    def in_command(self, value: str) -> str | None:
        """The same of a line for a shell."""
        return self._moved(value, is_shell=True)

    def _moved(self, value: str, *, is_shell: bool) -> str | None:
        pieces: list[str] = []
        done = 0
        try:
            for start, end, new in self._replacements(value, is_shell):
                pieces += (value[done:start], new)
                done = end
        except _UnclearError:
            return None
        if pieces:
            return "".join(pieces) + value[done:]
        return None

    def _replacements(
        self, value: str, is_shell: bool
    ) -> Iterator[tuple[int, int, str]]:
        """Where each occurrence begins and ends, and what comes in its place."""
        done = 0
        for match in _START.finditer(value):
            start = match.start()
            if start < done:
                continue
            end, old = self._longest(value, start)
            if old is None:
                continue
            if not _begins(value, start):
                continue
            done = end
            new = self._table[old]
            is_below = value.startswith(_SLASHES, end)
            if new is None or (is_below and old in self._alone):
                continue  # it stays where it is
            if self._ends(value, start, end):
                if is_shell:
                    _refuse_quotes(value, start, new)
                text = value[start:end]
                if is_windows(text) != is_windows(new):
                    done = _end_of_path(value, start, end)
                spelled = join(value[start:done], text, new)
                yield start, done, _in_rule(value, start, spelled)

    def _longest(self, value: str, start: int) -> tuple[int, str | None]:
        """The longest path of ours that stands here, and where it ends."""
        is_folded = is_windows(value[start : start + 8])
        last = start
        longest: str | None = None
        for match in _BOUNDARY.finditer(value, start + 1):
            end = match.start()
            text = value[start:end]
            if is_folded:  # as `compared`, of what is only the beginning of a path
                text = text.replace("/", "\\").lower()
            if text in self._table:
                last = end
                longest = text
            if text not in self._beginnings:
                break
        return last, longest

    def _ends(self, value: str, start: int, end: int) -> bool:
        """Whether it ends there, and is not a longer path."""
        after = value[end : end + 1]
        if not after:
            return True
        if after in "/\\":
            is_escape = after == "\\" and value[end + 1 : end + 2].isspace()
            if is_escape or _UP.match(value, end):
                raise _UnclearError
            return True
        if after.isspace():
            if _FILE_RULE.match(value):
                return False
            return not self._goes_on(value, start, end)
        is_closed = after in _QUOTES and value.count(after, 0, end) % 2 == 1
        if after in _CLOSERS or is_closed:
            return True
        raise _UnclearError

    def _goes_on(self, value: str, start: int, end: int) -> bool:
        """Whether OLD and what comes after a blank are a path that is known."""
        for match in _BOUNDARY.finditer(value, end + 1, end + LONGEST_NAME):
            longer = value[start : match.start()]
            for sign in HOME_SIGNS:
                if tail_below(longer, sign):
                    longer = self.home + longer.removeprefix(sign)
            if self.is_path(longer):
                return True
            if match[0] in _SLASHES:
                break
        return False

    @cached_property
    def _table(self) -> dict[str, str | None]:
        """What each path of ours becomes; None for one that stays."""
        table: dict[str, str | None] = {}
        for old, new in self.moves:
            table.setdefault(compared(old), new)
        staying = set(self.kept)
        for old, new in self.moves:
            if tail_below(new, old):
                staying.add(new)
        for path in staying:
            table.setdefault(compared(path), None)
        return table

    def may_be_in(self, raw: str) -> bool:
        """Whether JSON text may hold a path of ours: a quick look, for few moves."""
        if "\\" in raw or len(self._names) > FEW_NAMES:
            return True
        return any(name in raw for name in self._names)

    @cached_property
    def _names(self) -> frozenset[str]:
        """The last part of each OLD; on Windows nothing is sure to be there."""
        olds = [old for old, _ in self.moves]
        if any(map(is_windows, olds)):
            return frozenset({""})
        return frozenset(old.rpartition("/")[2] for old in olds)

    @cached_property
    def _alone(self) -> frozenset[str]:
        return frozenset(map(compared, self.alone))

    @cached_property
    def _beginnings(self) -> frozenset[str]:
        """Every part of such a path that may come ahead of a boundary."""
        beginnings = set()
        for path in self._table:
            for match in _BOUNDARY.finditer(path, 1):
                beginnings.add(path[: match.start()])
        return frozenset(beginnings)


def _begins(value: str, start: int) -> bool:
    """Whether a path begins there, and is not the end of another one."""
    before = value[:start]
    last = before[-1:]
    if _is_free(before):
        return True
    if last == "/":
        return _begins_after_slashes(before)
    if last == ":":
        return _begins_after_colon(before)
    if last in "@!&|>#^$?":
        raise _UnclearError
    if not _FLAG.search(before):
        return False
    return _is_free(before[:-2])


def _is_free(before: str) -> bool:
    """Whether something of its own begins after this."""
    last = before[-1:]
    return not last or last.isspace() or last in _OPENERS


def _begins_after_slashes(before: str) -> bool:
    """After the `//` of a rule, of which OLD has the second, or of an address."""
    bare = before.rstrip("/")
    if not bare.endswith(":"):
        return _is_free(bare)
    slashes = len(before) - len(bare)
    has_host = slashes < 2 or "@" in _last_word(bare[:-1])
    return not has_host


def _begins_after_colon(before: str) -> bool:
    """After an absolute path, `=` or a scheme; not after a host or a drive."""
    bare = before[:-1]
    word = _last_word(bare)
    if not word:
        if bare.endswith("="):
            return True
        raise _UnclearError
    if "@" in word or len(word) == 1:
        return False
    is_path = word.startswith(("/", "~")) or is_windows(word)
    if is_path or _VARIABLE.match(word) or word in SCHEMES:
        return True
    raise _UnclearError


def _last_word(before: str) -> str:
    return _WORD_BEGINS.split(before[-LONGEST_PATH:])[-1]


def _end_of_path(value: str, start: int, end: int) -> int:
    """Where a path ends of which all has to get other separators: it comes from another
    kind of system. Blanks are in it if the value begins with it.
    """
    closing = _AFTER_PATH
    if start == 0:
        closing = _AFTER_PATH_WITH_BLANKS
    after = value[end:]
    tail = closing.split(after)[0]
    return end + len(tail)


def _in_rule(value: str, start: int, new: str) -> str:
    """A rule about files writes an absolute path with `//`, and for one about commands
    bash reads it; a path that begins with a slash has the first one already.
    """
    if new[:1] in "~$" or not _RULE.match(value):
        return new
    if value[start] == "/":
        return in_bash(new)
    was_short = value[start] in "~$"
    leaves_windows = new[0] == "/" and is_windows(value[start:])
    is_of_files = _FILE_RULE.match(value) is not None
    if is_of_files and (was_short or leaves_windows):
        return f"/{in_bash(new)}"
    return new


def _refuse_quotes(value: str, start: int, new: str) -> None:
    """In a shell's line a path with a blank needs quotes that are there already."""
    is_quoted = start > 0 and value[start - 1] in "\"'"
    if not is_quoted and not _NEEDS_NO_QUOTES.fullmatch(in_bash(new)):
        raise _UnclearError


def value_splices(root: Node, paths: Occurrences) -> list[Splice]:
    """What changes in the values that hold paths: of an entry, or of settings."""
    splices: list[Splice] = []
    if not paths.may_be_in(root.raw):
        return splices
    members = root.members()
    for name in HOLDERS.intersection(members):
        at = (name,)
        splices += string_splices(members[name], paths.mapper_at, at)
    return splices
