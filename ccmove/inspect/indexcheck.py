"""What in a sessions-index.json is not true, and the edits that make it true."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from ccmove.claude.naming import may_be_name_of
from ccmove.rewrite import rewriter
from ccmove.rewrite import splice as make
from ccmove.rewrite.jsonspan import Node
from ccmove.rewrite.splice import Edit

_FULL_PATH = re.compile(r"(.*[\\/]projects[\\/])([^\\/]+)([\\/][^\\/]+)", re.DOTALL)


@dataclass(frozen=True)
class Truth:
    """What is known about the directory that an index lies in."""

    name: str
    sessions: Collection[str]  # whose transcripts lie in it
    places: Mapping[str, Sequence[str]]  # session -> names of the directories that have it
    owner: str | None  # whose the directory is, where that is one existing path
    is_gone: Callable[[str], bool]


@dataclass(frozen=True)
class Faults:
    """What is wrong, in words, and what puts it right."""

    lines: tuple[str, ...]
    edits: tuple[Edit, ...]


def index_faults(text: str, truth: Truth) -> Faults:
    """Entries that point nowhere or elsewhere, and gone paths; NotJsonError when not JSON."""
    root = rewriter.parse_index(text)
    lines: list[str] = []
    edits: list[Edit] = []
    for key, item in root.members() if root.opened == "{" else ():
        if key.value in ("originalPath", "projectPath") and _is_stale(item.value, truth):
            lines.append(f"{key.value} names {item.value}, which is gone")
            if truth.owner is not None:
                edits.append(make.set_string(text, item, (key.value,), truth.owner))
    entries = root.get("entries") if root.opened == "{" else None
    if entries is not None and entries.opened == "[":
        dropped = _dropped(entries, truth, lines)
        for i, entry in enumerate(entries.items):
            if i not in dropped:
                edits += _entry_edits(text, entry, i, truth, lines)
        # Last, because an entry that goes changes the numbers of those behind it.
        edits += make.remove_items(text, entries, ("entries",), dropped)
    return Faults(tuple(lines), tuple(edits))


def _is_stale(path: object, truth: Truth) -> bool:
    """A path of another directory that is gone: the index was moved here without being told."""
    return isinstance(path, str) and not may_be_name_of(truth.name, path) and truth.is_gone(path)


def _dropped(entries: Node, truth: Truth, lines: list[str]) -> set[int]:
    """Entries whose transcript is not in this directory."""
    dropped = set()
    for i, entry in enumerate(entries.items):
        session = entry.value.get("sessionId") if isinstance(entry.value, dict) else None
        if not isinstance(session, str) or session in truth.sessions:
            continue
        dropped.add(i)
        if session in truth.places:
            where = truth.places[session][0]
            lines.append(f"the entry of {session} belongs to {where}, where its transcript is")
        else:
            lines.append(f"the entry of {session} points nowhere: there is no such transcript")
    return dropped


def _entry_edits(text: str, entry: Node, i: int, truth: Truth, lines: list[str]) -> list[Edit]:
    if not isinstance(entry.value, dict):
        return []
    session = entry.value.get("sessionId")

    def full_path(value: str) -> str | None:
        match = _FULL_PATH.fullmatch(value)
        if match is None or match[2] == truth.name:
            return None
        lines.append(f"fullPath of {session} points at {match[2]}")
        return f"{match[1]}{truth.name}{match[3]}"

    def project_path(value: str) -> str | None:
        if not _is_stale(value, truth):
            return None
        lines.append(f"projectPath of {session} names {value}, which is gone")
        return truth.owner

    before = list(lines)
    edits = rewriter.entry_edits(text, entry, ("entries", i), project_path, full_path)
    lines[:] = [*before, *dict.fromkeys(lines[len(before) :])]  # a mapper may be asked twice
    return edits
