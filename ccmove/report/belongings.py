"""What people would miss of a project, counted in their words: notes, trust, allowed
tools, MCP servers, links of GitHub.
"""

from collections import Counter
from collections.abc import Iterator
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
    notes = 0
    for project in plan.projects:
        for note in project.notes:
            first, *_ = PurePath(note).parts
            notes += name_of_both(first) == MEMORY
    config = None
    for write in plan.writes:
        if write.form == "config":
            config = write
    if config is None:
        return Belongings(notes)
    return _with_config(plan, config, notes)


def _with_config(plan: Plan, config: Write, notes: int) -> Belongings:
    """What the config file has on one side only: whole entries that are moved, and what
    came in an archive, also to an entry that was there.
    """
    here, there = _sides(plan, config)
    entries = _members(here, "projects")
    entries_there = _members(there, "projects")
    amounts = _beside_projects(here, there)
    for path, entry in entries.items():
        there_already = entries_there.get(path)
        is_moved = there_already is None
        if is_moved or plan.is_of_archive:
            gain = _gain(entry, there_already)
            amounts += gain  # what is less does not count
    concerned = at_or_below(chain(*plan.moves))
    others = 0
    changed = _changed(entries, entries_there)
    for path in changed:
        others += not concerned.covers(path)
    return Belongings(notes=notes, others=others, **amounts)


def _beside_projects(here: Members, there: Members) -> Counter[str]:
    """What belongs to no project's entry: servers of the user, and links."""
    servers = _changed(_members(here, SERVERS), _members(there, SERVERS))
    links = set(_links(here))
    links.difference_update(_links(there))
    return Counter(mcp_servers=len(servers), github_links=len(links))


def _sides(plan: Plan, config: Write) -> tuple[Members, Members]:
    """What the config file holds where the projects are, and where they are not: a move
    finds them there, an archive brings them, and an undo is the other way round.
    """
    before = _of_text(config.before)
    after = _of_text(config.after)
    is_undo = plan.kind == "undo"
    return (before, after) if is_undo == plan.is_of_archive else (after, before)


def _gain(entry: Node, there_already: Node | None) -> Counter[str]:
    """How much more an entry has than one that is there already."""
    value = value_of(entry.raw)  # its own would be kept, of thousands of entries
    value_there = None
    if there_already is not None:
        value_there = value_of(there_already.raw)
    gain = Counter(_amounts(value))
    gain.subtract(_amounts(value_there))
    gain["entries"] = int(value != value_there)
    return gain


def _amounts(entry: object) -> dict[str, int]:
    """How much an entry of the config file has of what people would miss."""
    return {
        "trusted": int(get(entry, TRUST) is True),
        "allowed_tools": _length(entry, "allowedTools"),
        "mcp_servers": _length(entry, SERVERS),
    }


def _of_text(text: bytes | None) -> Members:
    """What the config file holds; nothing when it is not there."""
    try:
        return parse(as_text(text)).members() if text else {}
    except NotJsonError:
        return {}


def _members(holder: Members, name: str) -> Members:
    return holder[name].members() if name in holder else {}


def _changed(one: Members, other: Members) -> list[str]:
    """The names that both have, with another value."""
    changed = []
    for name, node in one.items():
        if name not in other or node.raw == other[name].raw:
            continue
        if node.value != other[name].value:
            changed.append(name)
    return changed


def _links(values: Members) -> Iterator[tuple[str, str]]:
    for name, paths in _members(values, "githubRepoPaths").items():
        if paths.kind == "[":
            for path in paths.items:
                yield name, str(path.value)


def _length(entry: object, name: str) -> int:
    value = get(entry, name)
    return len(value) if isinstance(value, list | dict) else 0
