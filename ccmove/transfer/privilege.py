"""What of a packed entry of the config file would allow something here.

That is never taken without being asked for. What is harmless is a short list; all the
rest of an entry counts as a privilege, also what a client of tomorrow writes there.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ccmove.claude.state import get
from ccmove.rewrite import config, splice
from ccmove.rewrite.jsonspan import parse

HARMLESS = re.compile(
    r"last[A-Z]\w*|exampleFiles\w*|projectOnboardingSeenCount"
    r"|hasCompletedProjectOnboarding"
)


@dataclass(frozen=True, slots=True)
class Privilege:
    """One thing by its name, and what it would allow."""

    name: str
    allows: str
    value: Any = None  # where the name does not say all of it


def in_words(all_of_them: Iterable[Privilege]) -> str:
    """Their names, those together that would allow the same."""
    names: dict[str, dict[str, None]] = {}
    for privilege in all_of_them:
        names.setdefault(privilege.allows, {})[privilege.name] = None
    return "; ".join(f"{', '.join(names[allows])} ({allows})" for allows in names)


def harmless(entry: str) -> str:
    """The entry without all that would allow something."""
    node = parse(entry)
    out: splice.Texts = {}
    for name in node.members():
        if not HARMLESS.fullmatch(name):
            out[name] = None
    return splice.changed(node, out)


def withheld(here: str, packed: str) -> list[Privilege]:
    """What a packed entry would allow beyond the one here, if they were merged."""
    allowed = _privileges(here)
    whole = config.merged(here, packed)
    return [privilege for privilege in _privileges(whole) if privilege not in allowed]


def _privileges(entry: str) -> list[Privilege]:
    """What an entry allows, by name."""
    found: list[Privilege] = []
    for name, node in parse(entry).members().items():
        if HARMLESS.fullmatch(name) or not _says_something(node.value):
            continue
        found += _named(name, node.value)
    return found


def _says_something(value: Any) -> bool:
    return value not in (None, False, "", [], {})


def _named(name: str, value: Any) -> Iterator[Privilege]:
    """One member of an entry; a list or an object item by item."""
    match name:
        case "hasTrustDialogAccepted":
            yield Privilege("trust", "Claude Code would not ask before working here")
        case "allowedTools" if isinstance(value, list):
            for rule in value:
                yield Privilege(f"allowed tool {rule}", "would run without asking")
        case "mcpServers" if isinstance(value, dict):
            for server, settings in value.items():
                yield Privilege(f"MCP server {server}", _of_server(settings))
        case "hooks" if isinstance(value, dict):
            for event in value:
                yield Privilege(f"hooks for {event}", "would run commands")
        case _:
            yield Privilege(f"setting {name}", "may allow something", value)


def _of_server(settings: object) -> str:
    url = get(settings, "url")
    if isinstance(url, str):
        return f"would connect to {url}"
    words = [get(settings, "command")]
    arguments = get(settings, "args")
    if isinstance(arguments, list):
        words += arguments
    command = " ".join(word for word in words if isinstance(word, str))
    return f"would start {command}"
