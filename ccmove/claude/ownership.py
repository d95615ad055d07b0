"""Whose is a project directory? Decided by evidence, because the encoded name is lossy.

`/a/my-app`, `/a/my_app` and `/a/my/app` share one directory, and `-a-my-app-docker` looks as if
it lay below `/a/my-app`. So a path has a claim on a directory only if something says so: a
transcript, the index, the config file, the history, or a move of our own. The client's rule for
transcripts holds: one whose path encodes to this very directory is that path's; one that names
some other place (it was moved here) belongs to the directory it lies in.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ccmove.claude.naming import LONGEST_NAME, encode, may_be_name_of, possible_names, sieve
from ccmove.claude.state import INDEX, MEMORY, SESSION_ID, Item, ProjectDirectory, State
from ccmove.plan.model import LeftAlone
from ccmove.plan.tree import ignores_case
from ccmove.rewrite.pathmap import PathMap, is_windows
from ccmove.text import command_line, plural


class Ledger:
    """What our own earlier moves say: whose an entry of a directory is, and who lives there."""

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str], str] = {}
        self.owners: dict[str, set[str]] = {}


class Share(NamedTuple):
    """What one path of the move owns of a directory."""

    path: str
    new_path: str
    entries: tuple[str, ...]


class Portion(NamedTuple):
    """What of a directory goes to one place: the whole of it, or the shares of some paths."""

    directory: ProjectDirectory
    target: str  # the name of the directory under `projects` that it goes to
    shares: tuple[Share, ...]
    whole: bool
    heir: str | None = None  # who has the rest, where that is a single path

    @property
    def entries(self) -> tuple[str, ...]:
        return tuple(entry for share in self.shares for entry in share.entries)


class Findings:
    """What moves, and the reasons for what is taken or left."""

    def __init__(self) -> None:
        self.portions: list[Portion] = []
        self.left_alone: list[LeftAlone] = []
        self.notes: list[str] = []


def find_portions(
    state: State, paths: PathMap, history_paths: Iterable[str], ledger: Ledger
) -> Findings:
    """Every directory, or part of one, that belongs to the moves."""
    prompts = list(history_paths)
    _refuse_links(state, paths, [*prompts, *state.config_paths])
    evidence = Evidence(state, paths, prompts, ledger)
    findings = Findings()
    for name in state.directory_names:
        if evidence.may_concern(name):
            _judge(Case(evidence, state.directory(name)), findings)
    return findings


def _refuse_links(state: State, paths: PathMap, listed: Iterable[str]) -> None:
    """Neither a directory that is to be moved nor the one that it goes to may be a link."""
    for path in dict.fromkeys([*(old for old, _ in paths.moves), *listed]):
        new = paths.map(path)
        if new is not None:
            state.refuse_links_named([*possible_names(path), encode(new)])


def session_of(name: str) -> str:
    """The session that an entry belongs to: `<id>.jsonl`, the folder `<id>`, `<id>.jsonl.…`."""
    match = SESSION_ID.match(name)
    return match.group() if match else name.removesuffix(".jsonl")


# -- evidence ------------------------------------------------------------------------------


class Evidence:
    """What the lists outside of the directories say about whose a directory is."""

    def __init__(
        self, state: State, paths: PathMap, history_paths: Iterable[str], ledger: Ledger
    ) -> None:
        self.paths = paths
        self.ledger = ledger
        self._folds = ignores_case(state.layout.projects)
        self._lower = PathMap(tuple((old.lower(), new.lower()) for old, new in paths.moves))
        self._prompts = [path for path in history_paths if paths.covers(path)]
        self._config = state.config_paths
        olds = [spelled for old, _ in paths.moves for spelled in _spellings(old)]
        self._passes = sieve(*map(self._fold, olds))
        self._names = {self._fold(name): old for old in olds for name in possible_names(old)}

    def may_concern(self, name: str) -> bool:
        """A first sieve by the name alone, never a proof."""
        return self._passes(self._fold(name))

    def fits(self, name: str, path: str) -> bool:
        """Whether some client may have kept `path` under `name`."""
        return may_be_name_of(name, path) or (
            self._folds and may_be_name_of(name.lower(), path.lower())
        )

    def is_other_case(self, path: str) -> bool:
        """Whether `path` is one of the move in other letters, which means the same folder here.

        To the client such a path has another name, so what names it belongs to its directory.
        """
        return self._folds and not self.paths.covers(path) and self._lower.covers(path.lower())

    def is_same_name(self, one: str, other: str) -> bool:
        return self._fold(one) == self._fold(other)

    def named_alone(self, name: str) -> str | None:
        """The OLD whose exact name this is, for a directory that nobody else claims."""
        return self._names.get(self._fold(name))

    def listed(self, name: str) -> Iterator[tuple[str, str]]:
        """(path, evidence) from the lists; an unknown suffix of a long name proves nothing here."""
        for path in self._named(name, self._prompts):
            yield path, "the prompt history"
        for path in self._named(name, self._config):
            yield path, "the config file"
        for path in sorted(self.ledger.owners.get(name, ())):
            yield path, "an earlier move"

    def _fold(self, name: str) -> str:
        return name.lower() if self._folds else name

    def _named(self, name: str, paths: Iterable[str]) -> Iterator[str]:
        """Which of the paths some client keeps under `name`."""
        folded = self._fold(name)
        for path in paths:
            # There may be thousands: of a short plain path the name is as long as itself.
            if len(path) != len(name) and path.isascii() and len(path) <= LONGEST_NAME:
                continue
            if folded in (self._fold(possible) for possible in possible_names(path)):
                yield path


def _spellings(path: str) -> list[str]:
    """A Windows path with its drive letter in either case: editors write it small."""
    if not is_windows(path) or path.startswith("\\"):
        return [path]
    return [path[0].upper() + path[1:], path[0].lower() + path[1:]]


# -- one directory ---------------------------------------------------------------------------


class Case:
    """One directory and all that is known about whose it is."""

    def __init__(self, evidence: Evidence, directory: ProjectDirectory) -> None:
        self.evidence = evidence
        self.paths = evidence.paths
        self.directory = directory
        self._owners: dict[str | None, str | None] = {}  # by the path that a transcript names
        self.owner_of = {session_of(t.name): self._owner(t) for t in directory.transcripts}
        self.claims = self._claims()
        self.moving = sorted(path for path in self.claims if self.paths.covers(path))
        self.staying = sorted(path for path in self.claims if not self.paths.covers(path))

    def _owner(self, item: Item) -> str | None:
        """Whose a transcript is, or None when it goes with its directory."""
        moved_here = self.evidence.ledger.entries.get((self.directory.name, item.name))
        if moved_here is not None:
            return moved_here
        if item.path not in self._owners:
            self._owners[item.path] = self._named(item.path)
        return self._owners[item.path]

    def _named(self, path: str | None) -> str | None:
        """The path that a transcript names, if this directory may be its own."""
        if path is None or self.evidence.is_other_case(path):
            return None
        return path if self._fits(path) else None

    def _claims(self) -> dict[str, str]:
        """Paths with a claim on the directory, each with its evidence.

        A path outside the move that only some list still names counts while its folder exists:
        stale entries are common, and they keep nothing in the directory.
        """
        name = self.directory.name
        claims = {path: "its transcripts" for path in self.owner_of.values() if path is not None}
        index = [path for path in sorted(self.directory.index_paths) if self._fits(path)]
        for path, evidence in [*self.evidence.listed(name), *((p, "its index") for p in index)]:
            stays = os.path.isdir(path) and not self.evidence.is_other_case(path)
            if self.paths.covers(path) or stays:
                claims.setdefault(path, evidence)
        alone = self.evidence.named_alone(name)
        if not claims and alone is not None and self.paths.covers(alone):
            claims[alone] = "its name, which nobody else claims"
        return claims

    def _fits(self, path: str) -> bool:
        return self.evidence.fits(self.directory.name, path)

    def target(self, path: str) -> str:
        """The name of the directory that has this path's sessions after the move."""
        new = self.paths.map(path)
        return encode(new) if new is not None else self.directory.name

    def stays(self, path: str) -> bool:
        return self.evidence.is_same_name(self.target(path), self.directory.name)

    def stays_together(self) -> bool:
        """Whether everyone who has a claim is in one directory after the move, too."""
        name, *others = [self.target(path) for path in self.claims]
        return all(self.evidence.is_same_name(name, other) for other in others)

    def share(self, path: str) -> Share:
        """What is this path's; a path without others beside it has everything."""
        alone = len(self.claims) == 1
        entries = [
            item.name
            for item in self.directory.items
            if alone or self.owner_of.get(session_of(item.name)) == path
        ]
        new_path = self.paths.map(path)
        assert new_path is not None  # only paths of the move have shares
        return Share(path, new_path, tuple(entries))

    def unowned(self) -> list[str]:
        """Entries of which nothing says whose they are; index and memory are dealt with."""
        return [
            item.name
            for item in self.directory.items
            if item.name not in (INDEX, MEMORY) and not self.owner_of.get(session_of(item.name))
        ]


def _judge(case: Case, findings: Findings) -> None:
    name = case.directory.name
    if not case.claims:
        findings.notes.append(f"{name}: left, nothing says that it belongs to a path of the move")
    elif not case.moving:
        findings.notes.append(f"{name}: left, it belongs to {', '.join(case.staying)}")
    else:
        findings.notes += [f"{name}: {path} by {case.claims[path]}" for path in case.moving]
        findings.portions += _portions(case)
        findings.left_alone += _left_behind(case)


def _portions(case: Case) -> Iterator[Portion]:
    if case.stays_together():
        shares = tuple(case.share(path) for path in case.moving)
        yield Portion(case.directory, case.target(case.moving[0]), shares, True)
        return
    heirs = [*case.staying, *(case.paths.map(p) for p in case.moving if case.stays(p))]
    heir = heirs[0] if len(heirs) == 1 else None
    for target in dict.fromkeys(case.target(path) for path in case.moving):
        shares = tuple(case.share(path) for path in case.moving if case.target(path) == target)
        yield Portion(case.directory, target, shares, False, heir)


def _left_behind(case: Case) -> Iterator[LeftAlone]:
    """What stays in a directory that is shared, and how to bring it along where that is likely."""
    if case.stays_together():
        return
    others = ", ".join(case.staying) or "several paths of this move"
    for entry in case.unowned():
        what = f"in a directory shared with {others}; nothing says whose it is"
        yield LeftAlone(str(case.directory.path / entry), what)
    new_paths = list({share.new_path for portion in _portions(case) for share in portion.shares})
    for path in case.staying:
        if case.claims[path] == "its transcripts" and not os.path.lexists(path):
            number = sum(owner == path for owner in case.owner_of.values())
            what = f"{plural(number, 'session')} of {path}, whose folder is gone"
            hint = command_line(["ccmove", path, *new_paths]) if len(new_paths) == 1 else ""
            yield LeftAlone(str(case.directory.path), what, hint)
