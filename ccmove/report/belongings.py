"""What people would miss of a project, counted in their words: notes, trust, allowed
tools, MCP servers, links of GitHub.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePath

from ccmove.claude.state import MEMORY, get, members
from ccmove.plan.meeting import name_of_both
from ccmove.plan.model import Plan, Write
from ccmove.plan.records import Count
from ccmove.rewrite.jsonspan import NotJsonError, parse
from ccmove.rewrite.pathmap import at_or_below
from ccmove.text import as_text

SERVERS = "mcpServers"
TRUST = "hasTrustDialogAccepted"


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
    entries = members(here, "projects")
    entries_there = members(there, "projects")
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


def _beside_projects(here: object, there: object) -> Counter[str]:
    """What belongs to no project's entry: servers of the user, and links."""
    servers = _changed(members(here, SERVERS), members(there, SERVERS))
    links = set(_links(here))
    links.difference_update(_links(there))
    return Counter(mcp_servers=len(servers), github_links=len(links))


def _sides(plan: Plan, config: Write) -> tuple[object, object]:
    """What the config file holds where the projects are, and where they are not: a move
    finds them there, an archive brings them, and an undo is the other way round.
    """
    before = _values(config.before)
    after = _values(config.after)
    is_undo = plan.kind == "undo"
    return (before, after) if is_undo == plan.is_of_archive else (after, before)


def _gain(entry: object, there_already: object) -> Counter[str]:
    """How much more an entry has than one that is there already."""
    gain = Counter(_amounts(entry))
    gain.subtract(_amounts(there_already))
    gain["entries"] = int(entry != there_already)
    return gain


def _amounts(entry: object) -> dict[str, int]:
    """How much an entry of the config file has of what people would miss."""
    return {
        "trusted": int(get(entry, TRUST) is True),
        "allowed_tools": _length(entry, "allowedTools"),
        "mcp_servers": _length(entry, SERVERS),
    }


def _values(text: bytes | None) -> object:
    """What the config file holds; nothing when it is not there."""
    try:
        return parse(as_text(text)).value if text else None
    except NotJsonError:
        return None


def _changed(one: dict[str, object], other: dict[str, object]) -> list[str]:
    """The names that both have, with another value."""
    in_both = filter(other.__contains__, one)
    return [name for name in in_both if one[name] != other[name]]


def _links(values: object) -> Iterator[tuple[str, str]]:
    for name, paths in members(values, "githubRepoPaths").items():
        if isinstance(paths, list):
            for path in paths:
                yield name, str(path)


def _length(entry: object, name: str) -> int:
    value = get(entry, name)
    return len(value) if isinstance(value, list | dict) else 0
