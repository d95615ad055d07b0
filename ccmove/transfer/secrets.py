"""What of a project's config entry is packed only when that is asked for: secrets of
MCP servers. Their values become empty, so that who unpacks can name what is missing.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from ccmove.rewrite import config
from ccmove.rewrite.jsonspan import Node, parse, quote
from ccmove.rewrite.splice import Splice, apply

SERVERS = "mcpServers"
SECRET = ("env", "headers")  # all values in these
# The same as arguments: behind an option, in one with it (`-e NAME=value`), or where a
# program such as env gets them (`NAME=value`).
OPTIONS = ("-e", "--env", "-H", "--header")
_NAMED = r"[\w.-]+(?:=|: *)"
_OPTION = rf"(?:{'|'.join(OPTIONS)})[ =]|-e(?=[A-Z_])|-H(?=[A-Z])"
_BEHIND_OPTION = re.compile(rf"{_NAMED}(.*)", re.DOTALL)
_ARGUMENT = re.compile(rf"(?:(?:{_OPTION}){_NAMED}|[A-Z_][A-Z0-9_]*=)(.*)", re.DOTALL)
# The password of a URL, wherever it stands in a text; for https a name alone may be a
# token.
_PASSWORD = re.compile(r"(?<=://)([^\s/?#:@\"']*:)[^\s/?#\"']+@")
_TOKEN = re.compile(r"(?<=https://)[^\s/?#:@\"']+@")
_NO_PASSWORD = re.compile(r"://[^\s/?#:@\"']*:@|https://@")


def without_secrets(entry: str) -> tuple[str, tuple[str, ...]]:
    """The JSON text of a config entry without them, and what was left out, in words."""
    settings = _settings_of_servers(entry)
    secret = [setting for setting in settings if setting.has_secret]
    text = apply(entry, [setting.emptied for setting in secret])
    return text, _names_of(secret)


def left_out_of(entry: str) -> tuple[str, ...]:
    """What a config entry lacks that was packed without secrets, in words."""
    settings = _settings_of_servers(entry)
    return _names_of(setting for setting in settings if setting.lacks_secret)


def still_left_out(here: str, packed: str) -> tuple[str, ...]:
    """The same of the packed entry, where the one here does not have it."""
    lacking = left_out_of(config.merged(here, packed))
    return tuple(what for what in left_out_of(packed) if what in lacking)


@dataclass(frozen=True)
class _Setting:
    """A text or a number in a server, and the names that lead to it."""

    server: str
    names: tuple[str, ...]
    node: Node
    before: str  # the argument before it, in a list

    def __str__(self) -> str:
        return f"MCP server {self.server}, {' '.join(self.names)}".rstrip(" ,")

    @cached_property
    def text(self) -> str:
        value = self.node.value
        if isinstance(value, str):
            return value
        return self.node.raw

    @property
    def _is_secret(self) -> bool:
        return any(name.startswith(SECRET) for name in self.names)

    @property
    def _secret_argument(self) -> str | None:
        """What of an argument is the value of a variable, or of a header."""
        pattern = _ARGUMENT
        if self.before in OPTIONS:
            pattern = _BEHIND_OPTION
        argument = pattern.fullmatch(self.text)
        if argument is None:
            return None
        return argument[1]

    @cached_property
    def _without_secret(self) -> str:
        if self._is_secret:
            return ""
        text = self.text.removesuffix(self._secret_argument or "")
        text = _PASSWORD.sub(r"\1@", text)
        return _TOKEN.sub("@", text)

    @property
    def has_secret(self) -> bool:
        return self._without_secret != self.text

    @property
    def emptied(self) -> Splice:
        return self.node, quote(self._without_secret)

    @property
    def lacks_secret(self) -> bool:
        if self._is_secret:
            return not self.text
        is_empty = self._secret_argument == ""
        return is_empty or _NO_PASSWORD.search(self.text) is not None


def _settings_of_servers(entry: str) -> Iterator[_Setting]:
    """Everything in the servers of an entry: of repeated keys all, for each of them is
    in the text.
    """
    for key, servers in _members(parse(entry)):
        if key != SERVERS:
            continue
        for server, node in _members(servers):
            yield from _settings_in(_Setting(server, (), node, ""))


def _settings_in(whole: _Setting) -> Iterator[_Setting]:
    """What is in a setting, or the setting itself where that is a text or a number."""
    node = whole.node
    if node.kind == "[":
        before = ""
        for item in node.items:
            yield from _settings_in(replace(whole, node=item, before=before))
            before = str(item.value)
    elif node.kind == "{":
        for name, item in _members(node):
            names = (*whole.names, name)
            yield from _settings_in(replace(whole, names=names, node=item))
    elif node.value is not None:
        yield whole


def _names_of(settings: Iterable[_Setting]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(str, settings)))


def _members(node: Node) -> Iterator[tuple[str, Node]]:
    if node.kind == "{":
        for key, item in zip(node.keys, node.items, strict=True):
            yield str(key.value), item
