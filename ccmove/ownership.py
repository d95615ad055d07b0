"""Whose is a project directory? Decided by evidence, because the encoded name is lossy.

`/a/my-app`, `/a/my_app` and `/a/my/app` share one directory, and `-a-my-app-docker` looks as if
it lay below `/a/my-app`. So a path has a claim on a directory only if something says so: a
transcript, the index, the config file, the history, or a move of our own. The client's rule for
transcripts holds: one whose path encodes to this very directory is that path's; one that names
some other place (it was moved here) belongs to the directory it lies in.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field

from ccmove.encoding import may_be_name_of, possible_names, sieve
from ccmove.pathmap import PathMap
from ccmove.plan import LeftAlone
from ccmove.state import INDEX, MEMORY, Item, ProjectDirectory, State


@dataclass(frozen=True)
class Ledger:
    """What our own earlier moves say: whose an entry of a directory is, and who lives there."""

    entries: dict[tuple[str, str], str] = field(default_factory=dict)
    owners: dict[str, set[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Share:
    """What one path owns of a directory: the whole of it, or these entries."""

    directory: ProjectDirectory
    path: str
    entries: tuple[str, ...]
    whole: bool


@dataclass
class Findings:
    """Shares that move, and the reasons for what is taken or left."""

    shares: list[Share] = field(default_factory=list)
    left_alone: list[LeftAlone] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def find_shares(
    state: State, paths: PathMap, history_paths: Iterable[str], ledger: Ledger
) -> Findings:
    """Every directory, or part of one, that belongs to the moves."""
    findings = Findings()
    sieves = [sieve(old) for old, _ in paths.moves]
    prompts = [path for path in history_paths if paths.covers(path)]
    for name in state.directory_names:
        if any(may_concern(name) for may_concern in sieves):
            _judge(state, state.directory(name), paths, prompts, ledger, findings)
    return findings


def _judge(
    state: State,
    directory: ProjectDirectory,
    paths: PathMap,
    prompts: list[str],
    ledger: Ledger,
    findings: Findings,
) -> None:
    owner_of = {item.name: _owner(directory, item, ledger) for item in directory.transcripts}
    claims = _claims(state, directory, paths, prompts, ledger, owner_of.values())
    moving = sorted(path for path in claims if paths.covers(path))
    staying = sorted(path for path in claims if not paths.covers(path))
    name = directory.name
    if not moving and not staying:
        moving = [old for old, _ in paths.moves if name in possible_names(old)][:1]
        if not moving:
            findings.notes.append(f"{name}: left, nothing in it names a path of the move")
            return
        claims[moving[0]] = "the name, which nobody else claims"
    if not moving:
        findings.notes.append(f"{name}: left, it belongs to {', '.join(staying)}")
        return
    targets = {paths.map(path) for path in moving}
    whole = not staying and len(targets) == 1
    for path in moving:
        findings.notes.append(f"{name}: {path} by {claims[path]}")
    if whole or (not staying and len(moving) == 1):
        names = tuple(item.name for item in directory.items)
        findings.shares.append(Share(directory, moving[0], names, True))
        return
    _split(directory, owner_of, moving, staying, findings)


def _owner(directory: ProjectDirectory, item: Item, ledger: Ledger) -> str | None:
    """Whose a transcript is, or None when it goes with its directory."""
    moved_here = ledger.entries.get((directory.name, item.name))
    if moved_here is not None:
        return moved_here
    if item.path is not None and may_be_name_of(directory.name, item.path):
        return item.path
    return None


def _claims(
    state: State,
    directory: ProjectDirectory,
    paths: PathMap,
    prompts: list[str],
    ledger: Ledger,
    owners: Iterable[str | None],
) -> dict[str, str]:
    """Paths with a claim on the directory, each with its evidence.

    A path outside the move that only some list still names counts while its folder exists:
    stale entries are common, and they keep nothing in the directory.
    """
    claims = {path: "its transcripts" for path in owners if path is not None}
    name = directory.name
    lists = {
        "the prompt history": prompts,
        "the config file": state.config_paths_named(name),
        "its index": sorted(directory.index_paths),
        "an earlier move": sorted(ledger.owners.get(name, ())),
    }
    for evidence, listed in lists.items():
        for path in listed:
            counts = paths.covers(path) or os.path.isdir(path)
            if counts and may_be_name_of(name, path):
                claims.setdefault(path, evidence)
    return claims


def _split(
    directory: ProjectDirectory,
    owner_of: dict[str, str | None],
    moving: list[str],
    staying: list[str],
    findings: Findings,
) -> None:
    sessions = {name.removesuffix(".jsonl"): owner for name, owner in owner_of.items()}
    stays: list[str] = []
    for path in moving:
        entries = tuple(
            item.name
            for item in directory.items
            if (item.is_transcript or item.is_dir) and sessions.get(item.session) == path
        )
        findings.shares.append(Share(directory, path, entries, False))
    for item in directory.items:
        unowned = sessions.get(item.session) is None
        if unowned and item.name not in (INDEX, MEMORY):
            stays.append(item.name)
    others = ", ".join(staying) or "several paths of this move"
    for entry in stays:
        findings.left_alone.append(
            LeftAlone(
                str(directory.path / entry),
                f"in a directory shared with {others}; nothing says whose it is",
                "",
            )
        )
