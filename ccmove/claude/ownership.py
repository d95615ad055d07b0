"""Whose is a project directory? Decided by evidence, because the encoded name is lossy.

`/a/my-app`, `/a/my_app` and `/a/my/app` share one directory, and `-a-my-app-docker` looks as if
it were below `/a/my-app`. So a path has a claim on a directory only if something says so: a
transcript, the index, the config file, the history, or a move of our own. The client's rule for
transcripts holds: one whose path encodes to this very directory is that path's; one that names
some other place (it was moved here) belongs to the directory it is in.

The planner asks about the paths of a move; `list`, `doctor` and `verify` ask about everybody.
"""

from __future__ import annotations

import os
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property

from ccmove.claude.layout import Layout
from ccmove.claude.naming import encode, may_be_name_of, possible_names, sieve
from ccmove.claude.reading import ignores_case
from ccmove.claude.state import INDEX, MEMORY, SESSION_ID, Item, ProjectDirectory, State
from ccmove.rewrite.pathmap import PathMap, is_windows
from ccmove.text import command_line, plural

BY_TRANSCRIPTS = "its transcripts"


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """Something that names OLD and stays as it is."""

    file: str
    what: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Ledger:
    """What our own earlier moves say: whose an entry of a directory is, and who lives there."""

    entries: dict[tuple[str, str], str] = field(default_factory=dict)
    owners: dict[str, set[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Share:
    """What one path of the move owns of a directory."""

    path: str
    new_path: str
    entries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Portion:
    """What of a directory goes to one place: the whole of it, or the shares of some paths."""

    directory: ProjectDirectory
    target: str  # the name of the directory under `projects` that it goes to
    shares: tuple[Share, ...]
    whole: bool
    heir: str | None = None  # who has the rest, where that is a single path

    @property
    def entries(self) -> tuple[str, ...]:
        return tuple(entry for share in self.shares for entry in share.entries)


@dataclass(frozen=True, slots=True)
class Findings:
    """What moves, and the reasons for what is taken or left."""

    portions: list[Portion] = field(default_factory=list)
    left_alone: list[LeftAlone] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def find_portions(
    state: State, paths: PathMap, history_paths: Iterable[str], ledger: Ledger
) -> Findings:
    """Every directory, or part of one, that belongs to the moves."""
    prompts = list(history_paths)
    for path in dict.fromkeys([*(old for old, _ in paths.moves), *prompts, *state.config_paths]):
        new = paths.map(path)
        if new is not None:  # neither a directory that is moved nor where it goes may be a link
            state.refuse_links_named([*possible_names(path), encode(new)])
    listed = [(path, "the prompt history") for path in prompts if paths.covers(path)]
    listed += [(path, "the config file") for path in state.config_paths]
    evidence = Evidence(state.layout, ledger, paths, listed)
    findings = Findings()
    for name in state.directory_names:
        if evidence.may_concern(name):
            _judge(Case(evidence, state.directory(name)), findings)
    return findings


def session_of(name: str) -> str:
    """The session that an entry belongs to: `<id>.jsonl`, the folder `<id>`, `<id>.jsonl.…`."""
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
    """What the lists outside of the directories say about whose a directory is.

    `paths` are the moves that are asked about, `listed` paths with the list that names each.
    `others` are named too, but nowhere that Claude Code finds sessions by: they get what nobody
    else claims.
    """

    def __init__(
        self,
        layout: Layout,
        ledger: Ledger,
        paths: PathMap,
        listed: Iterable[tuple[str, str]],
        others: Iterable[str] = (),
    ) -> None:
        self.paths = paths
        self.ledger = ledger
        self._folds = ignores_case(layout.projects)
        self._lower = PathMap(tuple((old.lower(), new.lower()) for old, new in paths.moves))
        self._listed = self._by_name(listed)
        for name, owners in ledger.owners.items():
            self._listed[self.fold(name)] += [(path, "an earlier move") for path in sorted(owners)]
        self._others = self._by_name((path, "a list") for path in others)
        olds = [spelled for old, _ in paths.moves for spelled in _spellings(old)]
        self._passes = sieve(*map(self.fold, olds))
        self._asked = self._by_name((old, "its name, which nobody else claims") for old in olds)
        self.exists = cache(folder_exists)

    def _by_name(self, listed: Iterable[tuple[str, str]]) -> dict[str, list[tuple[str, str]]]:
        """By each name that some client gives the path; a long name's unknown suffix is none."""
        found: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for path, evidence in listed:
            for name in {self.fold(name) for name in possible_names(path)}:
                found[name].append((path, evidence))
        return found

    def may_concern(self, name: str) -> bool:
        """A first sieve by the name alone, never a proof."""
        return self._passes(self.fold(name))

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

    def claims(self, directory: ProjectDirectory, owners: Iterable[str]) -> dict[str, str]:
        """Paths with a claim on the directory, each with its evidence.

        Beside the owners of transcripts a path that is only listed counts if it is asked about or
        its folder exists: stale entries are common, and they keep nothing in the directory.
        """
        name = self.fold(directory.name)
        claims = dict.fromkeys(owners, BY_TRANSCRIPTS)
        index = [path for path in sorted(directory.index_paths) if self.fits(directory.name, path)]
        listed = [*self._listed.get(name, ()), *((path, "its index") for path in index)]
        for path, evidence in listed:
            stays = self.exists(path) and not self.is_other_case(path)
            if self.paths.covers(path) or stays:
                claims.setdefault(path, evidence)
        if not claims:
            claims.update((p, e) for p, e in self._asked.get(name, ()) if self.paths.covers(p))
        if not claims:
            left = [*listed, *self._others.get(name, ())]
            living = [(path, evidence) for path, evidence in left if self.exists(path)]
            claims.update(living or left)
        return claims

    def fold(self, name: str) -> str:
        return name.lower() if self._folds else name


def _spellings(path: str) -> list[str]:
    """A Windows path with its drive letter in either case: editors write it small."""
    if not is_windows(path) or path.startswith("\\"):
        return [path]
    return [path[0].upper() + path[1:], path[0].lower() + path[1:]]


class Case:
    """One directory and all that is known about whose it is."""

    def __init__(self, evidence: Evidence, directory: ProjectDirectory) -> None:
        self.evidence = evidence
        self.paths = evidence.paths
        self.directory = directory
        self.owner_of = {session_of(t.name): self._owner(t) for t in directory.transcripts}
        owners = sorted({owner for owner in self.owner_of.values() if owner is not None})
        self.claims = evidence.claims(directory, owners)
        self.moving = sorted(path for path in self.claims if self.paths.covers(path))
        self.staying = sorted(path for path in self.claims if not self.paths.covers(path))

    def _owner(self, item: Item) -> str | None:
        """Whose a transcript is, or None when it goes with its directory."""
        moved_here = self.evidence.ledger.entries.get((self.directory.name, item.name))
        if moved_here is not None or item.path is None or self.evidence.is_other_case(item.path):
            return moved_here
        return item.path if self.evidence.fits(self.directory.name, item.path) else None

    @cached_property
    def ranked(self) -> tuple[str, ...]:
        """The paths with a claim, those with a folder first: the first has what nobody owns."""
        return tuple(sorted(self.claims, key=lambda path: self.evidence.exists(path) is False))

    def items_of(self, path: str) -> Iterator[Item]:
        """What of the directory is this path's, with what nobody owns if it is the first."""
        default = self.ranked[0]
        for item in self.directory.items:
            if (self.owner_of.get(session_of(item.name)) or default) == path:
                yield item

    def target(self, path: str) -> str:
        """The name of the directory that has this path's sessions after the move."""
        new = self.paths.map(path)
        return encode(new) if new is not None else self.directory.name

    @cached_property
    def along(self) -> list[str]:
        """Paths whose folder is gone and whose sessions move together with the only other
        claimant's: the client showed them there.
        """
        gone = [path for path in self.staying if self.evidence.exists(path) is False]
        return gone if len(self.moving) == 1 and gone == self.staying else []

    def stays_together(self) -> bool:
        """Whether everyone who has a claim is in one directory after the move, too."""
        targets = {self.target(path) for path in self.claims if path not in self.along}
        return len(set(map(self.evidence.fold, targets))) == 1

    def share(self, path: str) -> Share:
        """What is this path's; a path without others beside it has everything."""
        alone = len(self.claims) - len(self.along) == 1
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
        findings.notes.extend(f"{name}: {path} by {case.claims[path]}" for path in case.moving)
        findings.notes.extend(
            f"{name}: also the sessions of {path}, whose folder is gone" for path in case.along
        )
        shares = [case.share(path) for path in case.moving]
        if case.stays_together():
            target = case.target(case.moving[0])
            findings.portions.append(Portion(case.directory, target, tuple(shares), True))
        else:
            findings.portions.extend(_parts(case, shares))
            findings.left_alone.extend(_left_behind(case, {share.new_path for share in shares}))


def _parts(case: Case, shares: list[Share]) -> Iterator[Portion]:
    fold = case.evidence.fold
    here = [s.new_path for s in shares if fold(case.target(s.path)) == fold(case.directory.name)]
    heirs = [*case.staying, *here]
    heir = heirs[0] if len(heirs) == 1 else None
    for target in dict.fromkeys(case.target(share.path) for share in shares):
        going = tuple(share for share in shares if case.target(share.path) == target)
        yield Portion(case.directory, target, going, False, heir)


def _left_behind(case: Case, new_paths: set[str]) -> Iterator[LeftAlone]:
    """What stays in a directory that is shared, and how to bring it along where that is likely."""
    others = ", ".join(case.staying) or "several paths of this move"
    for entry in case.unowned():
        what = f"in a directory shared with {others}; nothing says whose it is"
        yield LeftAlone(str(case.directory.path / entry), what)
    for path in case.staying:
        if case.claims[path] == BY_TRANSCRIPTS and not os.path.lexists(path):
            number = sum(owner == path for owner in case.owner_of.values())
            what = f"{plural(number, 'session')} of {path}, whose folder is gone"
            hint = command_line(["ccmove", path, *new_paths]) if len(new_paths) == 1 else ""
            yield LeftAlone(str(case.directory.path), what, hint)
