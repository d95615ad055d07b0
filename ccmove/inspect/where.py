"""Where Claude Code keeps one project: its directory, memory and config entry.

Sessions are kept for the very folder in which they were begun. Memory, trust and the
entry of the config file belong to the main checkout of its repository, which worktrees
and subfolders share: tests/client/test_where.py asks the client.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ccmove.claude.gitfiles import main_checkout
from ccmove.claude.layout import Layout
from ccmove.claude.naming import encode, is_of_downloads
from ccmove.claude.owners import Holding, Owners
from ccmove.claude.state import MEMORY, Item, State, get, members
from ccmove.inspect.survey import ancestors, folded, owners_of
from ccmove.rewrite.pathmap import Move
from ccmove.rewrite.windows import compared, slashed
from ccmove.run.backups import Backup, all_backups, moves_by_us


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where one project is kept, or would be."""

    path: str
    is_known: bool
    directory: Path
    exists: bool  # the directory
    sessions: int  # of this path: others may share the directory
    bytes: int  # of its transcripts
    memory: Path | None
    config_key: str
    trusted: bool  # Claude Code does not ask
    former_paths: tuple[str, ...]  # by our own moves, the last one first
    known_paths: frozenset[str]  # all others, where this one is not known
    problems: tuple[str, ...]


def find_whereabouts(layout: Layout, *spellings: str) -> Whereabouts:
    """Of the first of these spellings of a path that is known, else of the first."""
    state = State(layout)
    backups: list[Backup] = []
    with state.problems_of(layout.backups):
        backups = all_backups(layout)
    owners = owners_of(state, backups)
    path = spellings[0]
    known = None
    for spelling in spellings:
        known = known or _known_spelling(spelling, owners)
    path = known or path
    name = encode(path)
    items: list[Item] = []
    holding = _best(path, _holdings(path, owners))
    if holding is not None:
        name = holding.directory.name
        items = list(holding.items_of(path))
    directory = layout.projects / name
    checkout = main_checkout(path)
    key, trusted = _config_entry(state, path, checkout)
    others = frozenset[str]()
    if known is None:
        others = frozenset(state.known_paths())
    # Claude Code reads the memory of the main checkout.
    memories = [layout.projects / encode(checkout) / MEMORY, directory / MEMORY]
    return Whereabouts(
        path,
        known is not None,
        directory,
        directory.is_dir(),
        sessions=sum(item.is_conversation for item in items),
        bytes=sum(item.size or 0 for item in items),
        memory=next(filter(Path.is_dir, memories), None),
        config_key=key,
        trusted=trusted,
        former_paths=tuple(_former(path, moves_by_us(layout, backups))),
        known_paths=others,
        problems=tuple(f"{file}: {what}" for file, what in state.problems.items()),
    )


def _known_spelling(path: str, owners: Owners) -> str | None:
    """How Claude Code spells this path, which may be another case or Unicode form of
    one folder's name; None when it does not know it.
    """
    known = set(owners.state.named)
    for holding in _holdings(path, owners):
        known.update(holding.claims)
    if path in known:
        return path
    for other in sorted(known):
        if compared(other) == compared(path):
            return other
        with contextlib.suppress(OSError):
            # What looks alike may be one folder, for this file system.
            if folded(other) == folded(path) and os.path.samefile(other, path):
                return other
    return None


def _holdings(path: str, owners: Owners) -> list[Holding]:
    """The directories in which some client may keep this path."""
    holdings: list[Holding] = []
    state = owners.state
    for name in state.directory_names:
        if is_of_downloads(name):
            continue
        if not owners.fits(name, path):
            continue
        directory = state.layout.projects / name
        with state.problems_of(directory):
            holding = owners.of(name)
            holdings.append(holding)
    return holdings


def _best(path: str, holdings: Iterable[Holding]) -> Holding | None:
    """The directory with sessions of this path, of several the one with the name that
    the current client gives it; without sessions the one that is the path's.
    """
    best = None
    most = -1
    for holding in holdings:
        if path not in holding.claims:
            continue
        number = len(holding.sessions_of(path))
        if number and holding.directory.name == encode(path):
            return holding
        if number > most:
            best = holding
            most = number
    return best


def _config_entry(state: State, path: str, checkout: str) -> tuple[str, bool]:
    """The key of the entry that counts for a path, and whether the path is trusted:
    it, its main checkout, or a folder above one of them.
    """
    entries = {}
    with state.problems_of(state.layout.config_file):
        entries = members(state.config_values, "projects")
    keys = {}
    for key in entries:
        keys[compared(key)] = key
    trusted = False
    folders = ancestors(path) + ancestors(checkout)
    for folder in folders:
        entry = entries.get(keys.get(compared(folder), folder))
        if get(entry, "hasTrustDialogAccepted") is True:
            trusted = True
    for owner in (checkout, path):
        if compared(owner) in keys:
            return keys[compared(owner)], trusted
    return slashed(checkout), trusted


def _former(path: str, runs: list[list[Move]]) -> Iterator[str]:
    """Where that was which is at this path now; `runs` are the oldest first.

    Going back in time: what a run brought was at its old path before, and what left a
    path was no longer there.
    """
    paths = {path}
    told = {path}
    for pairs in reversed(runs):
        came, left = set(), set()
        for old, new in pairs:
            left.add(old)
            if new in paths:
                came.add(old)
        yield from sorted(came - told)
        told |= came
        paths -= left
        paths |= came
