"""Under which path are the sessions of a folder that was renamed? Said only if all that
is known leads to one answer.

Three things can tell: the config file, which links each GitHub repository with the
folders of its checkouts; the transcripts of a repository without a remote, each of
which notes the commits that it began with; and our own record of a move.
"""

import json
import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PurePath

from ccmove.claude.layout import Layout, find_layout
from ccmove.claude.naming import encode, may_be_name_of, sieve, uncut
from ccmove.claude.owners import Ledger, Owners, folder_exists, listed_in
from ccmove.claude.reading import names_in, read_document
from ccmove.claude.state import State
from ccmove.inside.checkouts import heads, linked_as, remotes
from ccmove.inside.commits import first_commit
from ccmove.inside.hook import has_another_session
from ccmove.rewrite.pathmap import (
    Move,
    PathMap,
    are_nested,
    still_moved,
    tail_below,
    with_parents,
)
from ccmove.text import at_home, command_line, plural, printable

OTHER_NAME = "CLAUDE_CODE_PROJECT_DIR_NAME"  # replaces the encoded name altogether
MOST_OF_MANIFESTS = 8 << 20  # bytes: more takes too long to read
MOST_ASKED = 300  # projects that are gone
# Where disks are mounted: what is missing there may be on one that is not.
MOUNTS = ("/Volumes", "/media", "/mnt", "/net", "/run/media")
MOUNTS_OF_USERS = ("/media", "/run/media")


def message_in(folder: str, session: str, config_dir: str | None) -> str | None:
    """What to say to who starts this session in a folder. None in any doubt, and so is
    any error.
    """
    new = os.path.realpath(folder)
    layout = find_layout(config_dir, os.environ)
    is_around_home = tail_below(str(layout.home), new) is not None
    if OTHER_NAME in os.environ or is_around_home or not os.path.isdir(new):
        return None
    if os.path.lexists(layout.run_dir):  # a run is under way, or was interrupted
        return None
    state = State(layout)
    if _has_sessions(state, new, session):
        return None
    repository = Repository.of(new)
    moves = list(still_moved(_our_moves(layout)))
    found = _former_path(state, new, repository, moves)
    if found is None:
        return None
    old, number = found
    if _is_in_doubt(old, new, moves):
        return None
    if _has_another_checkout(state, repository, new):
        return None
    what = "folder"
    if repository.is_known:
        what = "repository"
    where = f"{old}, which is gone"
    command = _command(layout, old, new)
    return _message(number, what, where, command)


@dataclass(frozen=True, slots=True)
class Repository:
    """By what a repository is known again: as GitHub's, or if it has no remote by the
    commits that HEAD was at.
    """

    name: str | None
    heads: frozenset[str] = frozenset()

    @classmethod
    def of(cls, folder: str) -> "Repository":
        if remotes(folder):
            return cls(linked_as(folder))
        return cls(None, frozenset(heads(folder)))

    @property
    def is_known(self) -> bool:
        return self.name is not None or bool(self.heads)

    def is_in(self, folder: str) -> bool:
        """Whether another folder is a checkout of it."""
        if self.name is not None:
            return linked_as(folder) == self.name
        return not self.heads.isdisjoint(heads(folder))


def _message(number: int, what: str, where: str, command: str) -> str:
    sessions = plural(number, "session")
    are = "are"
    if number == 1:
        are = "is"
    found = f"{sessions} of this {what} {are} under {where}."
    return at_home(printable(f"{found} Exit Claude Code and run: {command}"))


def _has_sessions(state: State, new: str, session: str) -> bool:
    """Whether there is another session than this one in a directory that is this
    folder's, or that it shares with a twin.
    """
    passes = sieve(new)
    for name in filter(passes, state.directory_names):
        directory = str(state.layout.projects / name)
        if may_be_name_of(name, new) and has_another_session(directory, session):
            return True
    return False


def _former_path(
    state: State, new: str, repository: Repository, moves: Iterable[Move]
) -> tuple[str, int] | None:
    """The path that `new` had before, and its number of sessions; None where nothing
    tells, or more than one could be it. Those below another one came along with that.
    """
    paths = {old for old, path in moves if path == new}
    paths.update(_linked_paths(state, repository))
    if repository.heads:
        paths.update(_paths_with_commits(state, repository.heads))
    olds: dict[str, int] = {}
    for path in sorted(paths):  # those around come before those inside
        is_inside = any(are_nested(path, old) for old in olds)
        if is_inside or folder_exists(path) is not False:
            continue
        number = _number_of_sessions(state, path, new)
        if number:
            olds[path] = number
    if len(olds) != 1:
        return None
    return olds.popitem()


def _linked_paths(state: State, repository: Repository) -> Iterator[str]:
    """The checkouts that the config file links with a repository."""
    for name, paths in state.repositories.items():
        if name.lower() == repository.name:
            yield from paths


def _paths_with_commits(state: State, heads: Collection[str]) -> Iterator[str]:
    """Projects that are gone, had no remote, and of which a session was begun at one of
    these commits. What is in another project may be a part of its repository.
    """
    known = set(state.config_paths)
    linked = chain(*state.repositories.values())
    alone = known.difference(linked)
    gone = [path for path in alone if folder_exists(path) is False]
    if len(gone) > MOST_ASKED:
        return
    for path in gone:
        _, *around = with_parents(path)
        if not known.isdisjoint(around):
            continue
        directory = state.layout.projects / encode(path)
        commit = first_commit(directory, path)
        if commit is None:
            continue
        if any(head.startswith(commit) for head in heads):
            yield path


def _is_in_doubt(old: str, new: str, moves: Iterable[Move]) -> bool:
    """Whether the sessions may belong elsewhere: the folder may be on a disk that is
    not there now, or a move of ours brought the rest of them to another path.
    """
    if are_nested(old, new) or _may_be_unmounted(old):
        return True
    for path, target in moves:
        if path == old and target != new and folder_exists(target) is not False:
            return True
    return False


def _may_be_unmounted(path: str) -> bool:
    """Whether the nearest folder that exists is one in which disks are mounted; or its
    drive is not there, on Windows.
    """
    root = PurePath(path).anchor
    near = next(filter(os.path.isdir, with_parents(path)), root)
    if not os.path.isdir(near):
        return True
    return near in MOUNTS or os.path.dirname(near) in MOUNTS_OF_USERS


def _has_another_checkout(state: State, repository: Repository, new: str) -> bool:
    """Whether a folder outside of `new` is a checkout of the repository as well, as far
    as the config file knows: the sessions may be meant for that one.
    """
    for path in _linked_paths(state, repository):
        is_there = folder_exists(path) is not False
        if is_there and _is_outside(path, new):
            return True
    for path in filter(_is_checkout, state.config_paths):
        if repository.is_in(path) and _is_outside(path, new):
            return True
    return False


def _is_checkout(folder: str) -> bool:
    return os.path.lexists(f"{folder}/.git")


def _is_outside(path: str, new: str) -> bool:
    return tail_below(os.path.realpath(path), new) is None


def _our_moves(layout: Layout) -> Iterator[list[Move]]:
    """What moves of ours that were not undone brought where, the newest first.

    Read without the checks that come before an undo, which take longer than all else
    here: a manifest is believed in nothing but which paths are to be compared.
    """
    room = MOST_OF_MANIFESTS
    undone: set[object] = set()
    for identifier in reversed(names_in(layout.backups)):
        file = layout.backups / identifier / "manifest.json"
        document = read_document(file, room)
        if document is None:
            continue
        room -= len(document.data)
        manifest = json.loads(document.data)
        undone.add(manifest["undoes"])
        if manifest["kind"] != "move" or identifier in undone:
            continue
        pairs = [(old, new) for old, new in manifest["moves"]]
        for move in manifest["projects"]:
            pair = move["path"], move["new_path"]
            pairs.append(pair)
        yield pairs


def _number_of_sessions(state: State, old: str, new: str) -> int:
    """How many sessions a move from `old` to `new` would bring."""
    number = 0
    owners = _owners_near(state, old, new)
    for holding in owners.concerned():
        for path in holding.moving:
            for item in holding.items_of(path):
                if item.is_conversation:
                    number += 1
    return number


def _owners_near(state: State, old: str, new: str) -> Owners:
    """The table for that move; of what is listed only the paths whose directory may be
    one of those.
    """
    passes = sieve(old)
    near = [path for path in state.config_paths if passes(uncut(path))]
    listed = listed_in((), near)
    return Owners(state, Ledger(), PathMap(((old, new),)), listed)


def _command(layout: Layout, old: str, new: str) -> str:
    """What brings them. Who starts Claude Code with a config directory of its own need
    not have that set in the shell.
    """
    words = ["ccmove", old, new]
    usual = os.path.realpath(layout.home / ".claude")
    if layout.config_dir != Path(usual):
        words += ["--config-dir", str(layout.config_dir)]
    return command_line(words)
