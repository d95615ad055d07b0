"""Whose is a project directory? Decided by evidence, because the encoded name is lossy.

`/a/my-app`, `/a/my_app` and `/a/my/app` share one directory, and `-a-my-app-docker`
looks as if it were below `/a/my-app`. So a path has a claim on a directory only if
something says so: a transcript, the index, the config file, the history, or a move of
our own. The client's rule for transcripts holds: one whose path encodes to this very
directory is that path's; one that names some other place (it was moved here) belongs to
the directory it is in.
"""

import os
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property

from ccmove.claude.layout import Layout
from ccmove.claude.naming import (
    encode,
    is_of_downloads,
    may_be_name_of,
    possible_names,
    sieve,
)
from ccmove.claude.reading import ignores_case, refuse_link
from ccmove.claude.state import SESSION_ID, Item, ProjectDirectory, State
from ccmove.rewrite.pathmap import PathMap, is_windows, native

BY_TRANSCRIPTS = "its transcripts"
BY_NAME = "its name, which nobody else claims"


@dataclass(frozen=True, slots=True)
class Ledger:
    """What our own earlier moves say: whose an entry of a directory is,
    and who lives there.
    """

    entries: dict[tuple[str, str], str] = field(default_factory=dict)
    owners: dict[str, set[str]] = field(default_factory=dict)
    problem: str = ""  # with what was kept of them


def cases_of_moves(
    state: State, paths: PathMap, prompts: Iterable[str], ledger: Ledger
) -> list["Case"]:
    """Every directory that may concern the moves;
    `prompts` are paths that the history names.
    """
    listed = [(native(p), "the prompt history") for p in prompts if paths.covers(p)]
    listed += [(path, "the config file") for path in state.config_paths]
    for path in dict.fromkeys(
        [*(old for old, _ in paths.moves), *(path for path, _ in listed)]
    ):
        new = paths.map(path)
        if (
            new is not None
        ):  # neither a directory that is moved nor where it goes may be a link
            for name in (*possible_names(path), encode(new)):
                refuse_link(state.layout.projects / name)
    evidence = Evidence(state.layout, ledger, paths, listed)
    names = filter(evidence.may_concern, state.directory_names)
    cases = [Case(evidence, directory) for directory in state.readable(names)]
    for closed in state.closed:  # of another project, or else it is an error
        if any(closed.name in possible_names(old) for old, _ in paths.moves):
            state.directory(closed.name)
    return cases


def session_of(name: str) -> str:
    """The session that an entry belongs to: `<id>.jsonl`,
    the folder `<id>`, `<id>.jsonl.…`.
    """
    match = SESSION_ID.match(name)
    return match.group() if match else name.removesuffix(".jsonl")


def folder_exists(path: str) -> bool | None:
    """Whether a project's folder is there; None when that can't be told from here."""
    if "\ufffd" in path or (is_windows(path) and os.sep == "/"):
        return None
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return None


class Evidence:
    """What the lists outside of the directories say about whose a directory is."""

    def __init__(
        self,
        layout: Layout,
        ledger: Ledger,
        paths: PathMap,  # the moves that are asked about
        listed: Iterable[tuple[str, str]],  # paths, each with the list that names it
        # Named too, but nowhere that Claude Code finds sessions by: they get what
        # nobody claims.
        others: Iterable[str] = (),
    ) -> None:
        self.paths = paths
        self.ledger = ledger
        self.exists = cache(folder_exists)
        olds = [old for old, _ in paths.moves]
        self._folds = ignores_case(layout.projects) or any(map(is_windows, olds))
        self._lower = PathMap(
            tuple((old.lower(), new.lower()) for old, new in paths.moves)
        )
        self._listed = self._by_name(listed)
        for name, owners in ledger.owners.items():
            self._listed[self.fold(name)] += [
                (path, "an earlier move") for path in sorted(owners)
            ]
        self._others = self._by_name((path, "a list") for path in others)
        self._asked = self._by_name((old, BY_NAME) for old in olds if paths.covers(old))
        self._passes = sieve(*map(self.fold, olds))

    def _by_name(
        self, listed: Iterable[tuple[str, str]]
    ) -> dict[str, list[tuple[str, str]]]:
        """By each name that some client gives the path;
        a long name's unknown suffix is none.
        """
        found: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for path, evidence in listed:
            for name in set(map(self.fold, possible_names(path))):
                found[name].append((path, evidence))
        return found

    def may_concern(self, name: str) -> bool:
        """A first sieve by the name alone, never a proof."""
        return self._passes(self.fold(name)) and not is_of_downloads(name)

    def fits(self, name: str, path: str) -> bool:
        return may_be_name_of(self.fold(name), self.fold(path))

    def is_other_case(self, path: str) -> bool:
        """Whether `path` is one of the move in other letters:
        the same folder, another name.
        """
        return (
            self._folds
            and not self.paths.covers(path)
            and self._lower.covers(path.lower())
        )

    def claims(
        self, directory: ProjectDirectory, owners: Iterable[str]
    ) -> dict[str, str]:
        """Paths with a claim on the directory, each with its evidence."""
        name = self.fold(directory.name)
        claims = dict.fromkeys(owners, BY_TRANSCRIPTS)
        index = [
            path
            for path in sorted(directory.index_paths)
            if self.fits(directory.name, path)
        ]
        listed = [*self._listed.get(name, ()), *((path, "its index") for path in index)]
        for (
            path,
            evidence,
        ) in listed:  # stale ones are common: they keep nothing in the directory
            if self.paths.covers(path) or (
                self.exists(path) and not self.is_other_case(path)
            ):
                claims.setdefault(path, evidence)
        if not claims:
            claims = dict(self._asked.get(name, ()))
        if not claims:
            left = [*listed, *self._others.get(name, ())]
            claims = dict([claim for claim in left if self.exists(claim[0])] or left)
        return claims

    def fold(self, name: str) -> str:
        return name.lower() if self._folds else name


class Case:
    """One directory and all that is known about whose it is."""

    def __init__(self, evidence: Evidence, directory: ProjectDirectory) -> None:
        self.evidence = evidence
        self.paths = evidence.paths
        self.directory = directory
        self.owner_of = {
            session_of(t.name): self._owner(t) for t in directory.transcripts
        }
        owners = sorted(
            {owner for owner in self.owner_of.values() if owner is not None}
        )
        self.claims = evidence.claims(directory, owners)
        self.moving = sorted(path for path in self.claims if self.paths.covers(path))
        self.staying = sorted(
            path for path in self.claims if not self.paths.covers(path)
        )

    def _owner(self, item: Item) -> str | None:
        """Whose a transcript is, or None when it goes with its directory."""
        moved_here = self.evidence.ledger.entries.get((self.directory.name, item.name))
        if (
            moved_here is not None
            or item.path is None
            or self.evidence.is_other_case(item.path)
        ):
            return moved_here
        return item.path if self.evidence.fits(self.directory.name, item.path) else None

    def owner(self, item: Item) -> str | None:
        """Whose an entry is; None when nothing says so."""
        return self.owner_of.get(session_of(item.name))

    @cached_property
    def ranked(self) -> tuple[str, ...]:
        """The paths with a claim, those with a folder first:
        the first has what nobody owns.
        """
        return tuple(
            sorted(self.claims, key=lambda path: self.evidence.exists(path) is False)
        )

    def items_of(self, path: str) -> Iterator[Item]:
        """What of the directory is this path's,
        with what nobody owns if it is the first.
        """
        for item in self.directory.items:
            if (self.owner(item) or self.ranked[0]) == path:
                yield item

    @cached_property
    def along(self) -> list[str]:
        """Paths whose folder is gone:
        their sessions were shown to the only other claimant.
        """
        gone = [path for path in self.staying if self.evidence.exists(path) is False]
        return gone if len(self.moving) == 1 and gone == self.staying else []

    def target(self, path: str) -> str:
        """The name of the directory that has this path's sessions after the move."""
        new = self.paths.map(path)
        return encode(new) if new is not None else self.directory.name

    @property
    def remaining(self) -> list[str]:
        """The paths whose sessions are in this directory after the move."""
        fold, name = self.evidence.fold, self.directory.name
        here = [path for path in self.moving if fold(self.target(path)) == fold(name)]
        return [*self.staying, *(self.paths.map(path) or path for path in here)]

    @cached_property
    def stays_together(self) -> bool:
        """Whether everyone who has a claim is in one directory after the move, too."""
        targets = (self.target(path) for path in self.claims if path not in self.along)
        return len(set(map(self.evidence.fold, targets))) == 1
