"""Whose is a project directory, and whose is each thing in it? One table, by evidence.

The encoded name is lossy: `/a/my-app`, `/a/my_app` and `/a/my/app` share one directory,
and `-a-my-app-docker` looks as if it were below `/a/my-app`. Three rules decide, for
`list`, moves, the check who is at NEW, and doctor alike:

- A session belongs to the path it names if that encodes to its directory, else to the
  directory (it was brought there); our own earlier moves may say whose it is then.
  That is `Holding.owner_of_session`.
- A directory belongs to those whose sessions it has, else to those who are listed for
  it, else to who asks by name, else to the one folder of that name: `Holding.claims`.
- What belongs to a directory is its only claimant's. Where several have a claim it is
  nobody's: it stays, and is named. That is `Holding.owner`.
"""

import os
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property

from ccmove.claude.naming import (
    encode,
    is_of_downloads,
    may_be_name_of,
    possible_names,
    sieve,
    uncut,
)
from ccmove.claude.reading import ignores_case, refuse_link
from ccmove.claude.state import (
    INDEX,
    MEMORY,
    SESSION_ID,
    Item,
    ProjectDirectory,
    State,
)
from ccmove.rewrite.pathmap import PathMap, at_or_below
from ccmove.rewrite.windows import is_windows, native

BY_TRANSCRIPTS = "its transcripts"
BY_NAME = "its name, which nobody else claims"
OF_ALL = (INDEX, MEMORY)  # what a directory has once, for everybody who shares it

Claims = dict[str, str]  # a path, and what says that the directory is its


@dataclass(frozen=True, slots=True)
class Ledger:
    """What our own earlier moves say: whose an entry of a directory is,
    and who lives there.
    """

    entries: dict[tuple[str, str], str] = field(default_factory=dict)
    owners: dict[str, set[str]] = field(default_factory=dict)
    problem: str = ""  # with what was kept of them
    newest: str = ""  # the ID of the last run that is known


def session_of(name: str) -> str:
    """The session that an entry belongs to: `<id>.jsonl`,
    the folder `<id>`, `<id>.jsonl.…`.
    """
    match = SESSION_ID.match(name)
    if match:
        return match.group()
    return name.removesuffix(".jsonl")


def folder_exists(path: str) -> bool | None:
    """Whether a project's folder is there; None when that can't be told from here."""
    if "\ufffd" in path:
        return None
    if is_windows(path) and os.sep == "/":
        return None
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return None


def gone_first(paths: Iterable[str]) -> list[str]:
    """Those whose folder is gone, then the others; both in the order that they had."""
    return sorted(paths, key=lambda path: folder_exists(path) is not False)


def folders_in(base: str) -> list[str]:
    """The folders in a folder; links are none, and what can't be listed has none."""
    try:
        with os.scandir(base) as entries:
            return sorted(
                entry.path for entry in entries if entry.is_dir(follow_symlinks=False)
            )
    except OSError:
        return []


def _folders_named(name: str, base: str) -> Iterator[str]:
    """Existing folders with this encoded name;
    only one whose own name fits is entered.
    """
    for path in folders_in(base):
        encoded = uncut(path)
        if encoded == name:
            yield path
        elif name.startswith(encoded + "-"):
            yield from _folders_named(name, path)


def _of_the_only_folder(directory: ProjectDirectory) -> Claims:
    """The one existing folder of this name: Claude Code would find it there."""
    folders = list(_folders_named(directory.name, directory.path.anchor))
    if len(folders) != 1:
        return {}
    return dict.fromkeys(folders, "the only folder of this name")


def listed_in(prompts: Iterable[str], config: Iterable[str]) -> Claims:
    """The claims of paths that the history and the config file list."""
    claims = dict.fromkeys(config, "the config file")
    return claims | dict.fromkeys(map(native, prompts), "the prompt history")


class Owners:
    """The table: whose each directory is, from one look; each is looked at once."""

    def __init__(
        self,
        state: State,
        ledger: Ledger,
        paths: PathMap,  # the moves that are asked about
        listed: Claims,  # by the history, the config file and the like
    ) -> None:
        """Sort what is listed by the names of directories."""
        self.state = state
        self.paths = paths
        self.ledger = ledger
        self.exists = cache(folder_exists)
        # A directory, by its name.
        self.of = cache(lambda name: Holding(self, state.directory(name)))
        olds = [old for old, _ in paths.moves]
        news = [new for _, new in paths.moves]
        has_windows = any(map(is_windows, olds))
        self._folds = has_windows or ignores_case(state.layout.projects)
        both = [*olds, *news]
        self._asked_for = at_or_below(both)
        self._folded = at_or_below(map(self.fold, both))
        self._movable = sorted({*olds, *listed})
        self._listed = self._by_name(listed)
        for name, owners in ledger.owners.items():
            listed_here = self._listed[self.fold(name)]
            for path in owners:
                listed_here.setdefault(path, "an earlier move")
        of_news = dict.fromkeys(news, BY_NAME)
        of_olds = dict.fromkeys(olds, BY_NAME)
        self._asking = self._by_name(of_news)
        self._asking.update(self._by_name(of_olds))  # OLD before NEW

    def _by_name(self, claims: Claims) -> dict[str, Claims]:
        """By each name that some client gives the path;
        a long name's unknown suffix is none.
        """
        by_name: dict[str, Claims] = defaultdict(dict)
        for path, evidence in claims.items():
            for name in possible_names(path):
                by_name[self.fold(name)][path] = evidence
        return by_name

    def concerned(self) -> "list[Holding]":
        """Every directory that may concern the moves. None of them may be a link."""
        self._refuse_links()
        olds = [old for old, _ in self.paths.moves]
        passes = sieve(*map(self.fold, olds))  # by the name alone, never a proof
        own: set[str] = set()
        for old in olds:
            own.update(possible_names(old))
        names = []
        for name in self.state.directory_names:
            if is_of_downloads(name) or not passes(self.fold(name)):
                continue
            if name in own:
                self.of(name)  # if that is closed to us, it is an error
            names.append(name)
        holdings = []
        for directory in self.state.readable(names):
            holding = self.of(directory.name)
            holdings.append(holding)
        return holdings

    def _refuse_links(self) -> None:
        """Neither a directory that is moved nor where it goes may be a link."""
        projects = self.state.layout.projects
        for path in self._movable:
            new = self.paths.map(path)
            if new is None:
                continue
            for name in (encode(new), *possible_names(path)):
                refuse_link(projects / name)

    def fits(self, name: str, path: str) -> bool:
        return may_be_name_of(self.fold(name), self.fold(path))

    def fold(self, name: str) -> str:
        if self._folds:
            return name.lower()
        return name

    def is_other_case(self, path: str) -> bool:
        """Whether `path` is one of the move in other letters:
        the same folder, another name.
        """
        if self._asked_for.covers(path):
            return False
        return self._folded.covers(self.fold(path))

    def is_respelled(self, old: str, new: str) -> bool:
        """Whether they are one folder, which is there, in other letters."""
        if old == new:
            return False
        if self.fold(old) != self.fold(new):
            return False
        return bool(self.exists(old))

    def _listed_for(self, directory: ProjectDirectory) -> Claims:
        listed = dict(self._listed.get(self.fold(directory.name), {}))
        for path in directory.index_paths:
            if self.fits(directory.name, path):
                listed.setdefault(path, "its index")
        return listed

    def _is_in_use(self, path: str) -> bool:
        """Whether a path that is listed counts: it moves, or is there."""
        if self.paths.covers(path):
            return True
        return bool(self.exists(path)) and not self.is_other_case(path)

    def claims_without_sessions(self, directory: ProjectDirectory) -> Claims:
        """A directory without sessions of somebody's is who is listed for it, else who
        asks by name, else whose stale entry it has, else the one folder's of its name.

        An entry whose folder is gone keeps nothing from who asks. No client decides
        this: it comes from trials with directories of which only memory or an index
        was left, and tests/claude/test_owners.py has the table.
        """
        listed = self._listed_for(directory)
        in_use = {path: listed[path] for path in listed if self._is_in_use(path)}
        asking = self._asking.get(self.fold(directory.name))
        return in_use or asking or listed or _of_the_only_folder(directory)


class Holding:
    """One directory: who has a claim on it, and whose each thing in it is."""

    def __init__(self, owners: Owners, directory: ProjectDirectory) -> None:
        self.owners = owners
        self.paths = owners.paths
        self.directory = directory

    @cached_property
    def owner_of_session(self) -> dict[str, str | None]:
        """Whose each session is by itself: the path's that it names if that encodes to
        this directory; None when it goes with the directory.

        That is the client's own rule (docs/claude-state.md): after two moves a
        transcript still names a path of long ago. Where one of our moves brought it,
        that says whose it is.
        """
        whose: dict[str, str | None] = {}
        owners = self.owners
        name = self.directory.name
        brought = owners.ledger.entries
        for item in self.directory.transcripts:
            path = item.path
            if path is not None and (
                owners.is_other_case(path) or not owners.fits(name, path)
            ):
                path = None
            session = session_of(item.name)
            whose[session] = brought.get((name, item.name), path)
        return whose

    @cached_property
    def claims(self) -> Claims:
        """Paths with a claim on the directory, each with its evidence."""
        with_sessions = filter(None, self.owner_of_session.values())
        by_sessions = dict.fromkeys(with_sessions, BY_TRANSCRIPTS)
        return by_sessions or self.owners.claims_without_sessions(self.directory)

    def owner(self, item: Item) -> str | None:
        """An entry is its session's owner's, else the only claimant's; None when it is
        nobody's.
        """
        owner = self.owner_of_session.get(session_of(item.name))
        if owner is None and len(self.claims) == 1:
            return next(iter(self.claims))
        return owner

    def items_of(self, path: str) -> Iterator[Item]:
        """What of the directory is this path's, with what is everybody's."""
        for item in self.directory.items:
            is_of_all = item.name in OF_ALL and path in self.claims
            if is_of_all or self.owner(item) == path:
                yield item

    @cached_property
    def nobodys(self) -> tuple[Item, ...]:
        """What nothing shows the owner of."""
        rest = [item for item in self.directory.items if self.owner(item) is None]
        if self.claims:
            rest = [item for item in rest if item.name not in OF_ALL]
        return tuple(rest)

    def sessions_of(self, path: str) -> list[Item]:
        return [item for item in self.directory.transcripts if self.owner(item) == path]

    @cached_property
    def moving(self) -> list[str]:
        return sorted(path for path in self.claims if self.paths.covers(path))

    @cached_property
    def staying(self) -> list[str]:
        return sorted(path for path in self.claims if not self.paths.covers(path))

    @cached_property
    def ranked(self) -> tuple[str, ...]:
        """The paths with a claim, those with a folder first."""
        return tuple(sorted(sorted(self.claims), key=self.is_gone))

    def is_gone(self, path: str) -> bool:
        return self.owners.exists(path) is False

    @cached_property
    def along(self) -> list[str]:
        """Paths whose folder is gone move with the only other claimant.

        The client shows a session to whoever shares its directory once the folder that
        it names is gone: tests/client/test_conversations.py, "same encoded name".
        """
        gone = [path for path in self.staying if self.is_gone(path)]
        if len(self.moving) != 1 or gone != self.staying:
            return []
        if self.paths.map(self.moving[0]) in gone:
            return []  # it is at NEW
        return gone

    def new_path(self, path: str) -> str:
        """Where a project of this directory is after the move."""
        if path in self.along:
            path = self.moving[0]
        return self.paths.map(path) or path

    def target(self, path: str) -> str:
        """The name of the directory that has this path's sessions after the move."""
        new = self.paths.map(path)
        if new is not None:
            return encode(new)
        return self.directory.name

    @property
    def remaining(self) -> list[str]:
        """The paths whose sessions are in this directory after the move."""
        fold = self.owners.fold
        name = fold(self.directory.name)
        here = [path for path in self.moving if fold(self.target(path)) == name]
        arriving = map(self.new_path, here)
        return [*self.staying, *arriving]

    @cached_property
    def stays_together(self) -> bool:
        """Whether everyone who has a claim is in one directory after the move, too."""
        others = self.claims.keys() - self.along
        targets = {self.owners.fold(self.target(path)) for path in others}
        return len(targets) == 1
