"""What people would miss of a project, counted in their words: notes, trust, allowed
tools, MCP servers, links of GitHub.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePath

from ccmove.claude.state import MEMORY, get
from ccmove.plan.meeting import name_of_both
from ccmove.plan.model import Plan, Write
from ccmove.plan.records import Count
from ccmove.rewrite.jsonspan import Node, NotJsonError, parse, value_of
from ccmove.rewrite.pathmap import at_or_below
from ccmove.text import as_text

SERVERS = "mcpServers"
TRUST = "hasTrustDialogAccepted"

Members = dict[str, Node]  # of the config file, or of an object in it


@dataclass(frozen=True, slots=True)
class Belongings:
    """What a run moves beside sessions and prompts, and how much of it."""

    notes: Count = 0
    entries: Count = 0  # of the config file
    trusted: Count = 0  # of these
    allowed_tools: Count = 0
    mcp_servers: Count = 0
    github_links: Count = 0
    others: Count = 0  # projects that stay, and whose settings named OLD


NOTHING = Belongings()


def belongings_of(plan: Plan) -> Belongings:
    """What this plan moves: what is at its old place before, or for an undo at its
    place of before when all is done.
    """
    amounts = Counter[str]()
    for project in plan.projects:
        for note in project.notes:
            first, *_ = PurePath(note).parts
            amounts["notes"] += name_of_both(first) == MEMORY
    for write in plan.writes:
        if write.form == "config":
            amounts += _of_config(plan, write)
    return Belongings(**amounts)


def _of_config(plan: Plan, config: Write) -> Counter[str]:
    """What the config file has on one side only: whole entries that are moved, and what
    came in an archive, also to an entry that was there.
    """
    here = _of_text(config.before)
    there = _of_text(config.after)
    # A move finds the projects there before, an archive brings them; an undo is the
    # other way round.
    if (plan.kind == "undo") != plan.is_of_archive:
        here, there = there, here
    entries = _members(here, "projects")
    entries_there = _members(there, "projects")
    changed = _changed(entries, entries_there)
    amounts = Counter[str]()
    for path, entry in entries.items():
        if path not in entries_there:
            amounts += _amounts(entry)
        elif plan.is_of_archive and path in changed:
            gain = _amounts(entry)
            gain.subtract(_amounts(entries_there[path]))
            gain["entries"] = 1
            amounts += gain  # what is less does not count
    concerned = at_or_below(chain(*plan.moves))
    for path in changed:
        amounts["others"] += not concerned.covers(path)
    servers = _changed(_members(here, SERVERS), _members(there, SERVERS))
    amounts["mcp_servers"] += len(servers)
    links = _links(here)
    amounts["github_links"] = len(links - _links(there))
    return amounts


def _amounts(entry: Node) -> Counter[str]:
    """How much an entry of the config file has of what people would miss."""
    value = value_of(entry.raw)  # its own would be kept, of thousands of entries
    return Counter(
        entries=1,
        trusted=int(get(value, TRUST) is True),
        allowed_tools=_length(value, "allowedTools"),
        mcp_servers=_length(value, SERVERS),
    )


def _length(entry: object, name: str) -> int:
    value = get(entry, name)
    if isinstance(value, list | dict):
        return len(value)
    return 0


def _of_text(text: bytes | None) -> Members:
    """What the config file holds; nothing when it is not there."""
    try:
        if text:
            return parse(as_text(text)).members()
        return {}
    except NotJsonError:
        return {}


def _members(holder: Members, name: str) -> Members:
    if name in holder:
        return holder[name].members()
    return {}


def _changed(one: Members, other: Members) -> set[str]:
    """The names that both have, with another value."""
    both = one.keys() & other.keys()
    return {name for name in both if one[name].raw != other[name].raw}


def _links(config: Members) -> set[tuple[str, str]]:
    links = set[tuple[str, str]]()
    for name, paths in _members(config, "githubRepoPaths").items():
        if paths.kind == "[":
            links.update((name, str(path.value)) for path in paths.items)
    return links
