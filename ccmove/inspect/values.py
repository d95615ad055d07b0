"""Values of settings in the words of people: which of them name a moved path."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from ccmove.rewrite.jsonspan import Node, Pointer, walk
from ccmove.rewrite.pathmap import PathMap
from ccmove.rewrite.splice import TEXTS
from ccmove.text import plural

SERVERS = "mcpServers"
MCP_SERVER = "MCP server"
# By the name of the member that they are in:
KINDS = {
    "additionalDirectories": "additional directory",
    "permissions": "permission rule",
    "allowedTools": "allowed tool",
    "deniedTools": "denied tool",
    "disallowedTools": "denied tool",
    "hooks": "hook",
    "extraKnownMarketplaces": "marketplace",
    SERVERS: MCP_SERVER,
}
CONTAINERS = ("{", "[")
SETTING = "setting"  # anything else
MOST_BY_HAND = 5  # that are named one by one

Value = tuple[Pointer, str]  # where it is, and what it says


def named_values(root: Node, paths: PathMap) -> Iterator[Value]:
    """The values that name an old path, but for text that people or models wrote; a
    name of a member counts as one.
    """
    for at, node in walk(root):
        if not TEXTS.isdisjoint(at):
            continue
        name = ""
        if at:
            name = str(at[-1])
        if paths.named_in(name):
            yield at, name
        if node.kind in CONTAINERS:
            continue
        if paths.named_in(node.raw):
            yield at, str(node.value)


def counted(pointers: Iterable[Sequence[object]]) -> str:
    """How many of each kind; of MCP servers each value has a name."""
    kinds: Counter[str] = Counter()
    servers: dict[str, None] = {}
    for pointer in pointers:
        names = list(map(str, pointer))
        kind = kind_of(names)
        if kind == MCP_SERVER:
            server = _of_server(names)
            servers[server] = None
        else:
            kinds[kind] += 1
    in_numbers = [plural(number, kind) for kind, number in kinds.items()]
    words = list(servers)
    if in_numbers:
        words.insert(0, ", ".join(in_numbers))
    return "; ".join(words)


def one_by_one(values: Iterable[Value]) -> str:
    """Each value on its own, for whoever has to find it."""
    described: dict[str, None] = {}
    for pointer, text in values:
        words = _described(list(map(str, pointer)), text)
        described[words] = None
    shown = list(described)
    hidden = len(shown) - MOST_BY_HAND
    if hidden > 0:
        shown[MOST_BY_HAND:] = [f"and {hidden} more"]
    return "; ".join(shown)


def kind_of(names: Sequence[str]) -> str:
    """What a value of a settings file is, by the names that lead to it."""
    for name, noun in KINDS.items():
        if name in names[:-1]:
            return noun
    return SETTING


def _described(names: Sequence[str], text: str) -> str:
    """The kind of a value and what it says, or where there is no kind its name."""
    kind = kind_of(names)
    if kind == MCP_SERVER:
        return _of_server(names)
    if kind == SETTING:
        return f"{kind} {'.'.join(names)}"
    return f"{kind} {text}{_of_project(names)}"


def _of_server(names: Sequence[str]) -> str:
    """Such as `MCP server db, env DB`."""
    position = names.index(SERVERS)
    server, *members = names[position + 1 :]
    words = f"{MCP_SERVER} {server}"
    if members:  # `args`, not which of them
        named = [name for name in members if not name.isdigit()]
        words += f", {' '.join(named)}"
    return words + _of_project(names)


def _of_project(names: Sequence[str]) -> str:
    """Whose value it is, in the config file."""
    is_of_project = names[0] == "projects" and len(names) > 1
    if is_of_project:
        return f" of {names[1]}"
    return ""
