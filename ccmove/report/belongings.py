"""What people would miss of a project, counted in their words: notes, trust, allowed
tools, MCP servers, links of GitHub.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath

from ccmove.claude.state import MEMORY, get, members
from ccmove.plan.meeting import name_of_both
from ccmove.plan.model import Plan, Write
from ccmove.plan.records import Count
from ccmove.rewrite.jsonspan import NotJsonError, parse
from ccmove.rewrite.pathmap import tail_below
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
    if plan.is_of_archive:
        return _gained(plan, config, notes)
    return _with_config(plan, config, notes)


def _with_config(plan: Plan, config: Write, notes: int) -> Belongings:
    """What is in the entries of the config file that only one side has."""
    here, there = _sides(plan, config)
    entries = members(here, "projects")
    entries_there = members(there, "projects")
    servers = _changed(members(here, SERVERS), members(there, SERVERS))
    links = set(_links(here)) - set(_links(there))
    moved = [path for path in entries if path not in entries_there]
    amounts = Counter(mcp_servers=len(servers))
    for path in moved:
        amounts.update(_amounts(entries[path]))
    others = 0
    for path in _changed(entries, entries_there):
        others += not _concerns(plan, path)
    return Belongings(
        notes=notes,
        entries=len(moved),
        github_links=len(links),
        others=others,
        **amounts,
    )


def _gained(plan: Plan, config: Write, notes: int) -> Belongings:
    """What entries of the config file have on one side only: it came in an archive, or
    goes out again.
    """
    less, more = _sides(plan, config)
    before = members(less, "projects")
    after = members(more, "projects")
    gains = [_gain(entry, before.get(path)) for path, entry in after.items()]
    total = sum(gains, Counter[str]())  # what is less does not count
    return Belongings(notes=notes, **total)


def _sides(plan: Plan, config: Write) -> tuple[object, object]:
    """What the config file holds before and after; for an undo the other way round."""
    before = _values(config.before)
    after = _values(config.after)
    return (after, before) if plan.kind == "undo" else (before, after)


def _gain(entry: object, before: object) -> Counter[str]:
    """How much more an entry has than before."""
    gain = Counter(_amounts(entry))
    gain.subtract(_amounts(before))
    gain["entries"] = int(entry != before)
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


def _concerns(plan: Plan, path: str) -> bool:
    """Whether it is one of the paths that are moved, or that they are moved to."""
    for move in plan.moves:
        for base in move:
            if tail_below(path, base) is not None:
                return True
    return False
