"""Portions of project directories -> the operations that bring them to their new places.

Several moves happen as if at one moment, so swaps and chains need no special case. Of a directory
that is shared only what is the moving project's goes; memory, which can't be told apart, is
copied.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ccmove.claude.ownership import Portion, session_of
from ccmove.claude.reading import Document, is_there, read_document
from ccmove.claude.state import ALIASES, INDEX, MEMORY
from ccmove.errors import StaleLookError, again
from ccmove.plan.model import LeftAlone, ProjectMove, Write
from ccmove.plan.place import MEMORY_FILE, Draft, Placer, arrange, both_files, mode_of, same_bytes
from ccmove.rewrite import index, other
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.rewrite.pathmap import NameMap, PathMap

Entries = list[tuple[str, str]]  # of an index: session, JSON text


class Relocation:
    """One portion on its way."""

    def __init__(self, portion: Portion) -> None:
        self.portion = portion
        self.source: Path = portion.directory.path
        self.target: Path = self.source.with_name(portion.target)
        self.stays = self.source == self.target
        self.whole = portion.whole
        self.entries: Entries = []  # that it takes out of a shared index

    def names(self, paths: PathMap) -> NameMap:
        return NameMap(((self.source.name, self.target.name),), paths)


class Relocator:
    """Plans everything for the portions of one run."""

    def __init__(self, placer: Placer, paths: PathMap) -> None:
        self.placer = placer
        self.tree = placer.tree
        self.paths = paths
        self.moves: list[ProjectMove] = []
        self.left_alone: list[LeftAlone] = []
        self.names = NameMap(())
        self.made: dict[Path, Write] = {}
        self._listed: dict[Path, dict[str, str]] = {}  # in indexes that are made

    def relocate(self, portions: Iterable[Portion], with_aliases: Iterable[Path]) -> None:
        """Plan the way of each portion; any directory may have aliases that name it."""
        relocations = [Relocation(portion) for portion in portions]
        self.names = self._new_names(relocations)
        for relocation in relocations:
            self._rewrite_index(relocation)
        self._rewrite_aliases(relocations, with_aliases)
        self._place([r for r in relocations if r.whole and not r.stays])
        # What is split off comes last: it then finds every directory in its place.
        for relocation in relocations:
            if relocation.stays:
                self._note(relocation, "same")
            elif not relocation.whole:
                self._place_part(relocation)

    def _new_names(self, relocations: list[Relocation]) -> NameMap:
        """The names of directories that change, and of single sessions that get another one."""
        moving = [r for r in relocations if not r.stays]
        return NameMap(
            tuple((r.source.name, r.target.name) for r in moving if r.whole),
            self.paths,
            {
                (r.source.name, session_of(entry)): r.target.name
                for r in moving
                if not r.whole
                for entry in r.portion.entries
            },
        )

    def _note(self, relocation: Relocation, kind: str) -> None:
        portion = relocation.portion
        sizes = {item.name: item.size for item in portion.directory.items if item.size is not None}
        for share in portion.shares:
            moved = [sizes[entry] for entry in share.entries if entry in sizes]
            self.moves.append(
                ProjectMove(
                    share.path,
                    share.new_path,
                    portion.directory.name,
                    portion.target,
                    kind,
                    share.entries,
                    len(moved),
                    sum(moved),
                )
            )

    # -- directories -----------------------------------------------------------------------

    def _place(self, relocations: list[Relocation]) -> None:
        """Whole directories, each renamed or merged with what is there."""
        moves = [(r.source, r.target) for r in relocations]
        arrange(moves, self.placer.bring, self.placer.park)
        for relocation in relocations:
            is_renamed = self.tree.now(relocation.target) == relocation.source
            self._note(relocation, "rename" if is_renamed else "merge")

    def _place_part(self, relocation: Relocation) -> None:
        """Part of a shared directory: sessions, their entries of the index, a copy of memory."""
        source, target = relocation.source, relocation.target
        memory = source / MEMORY
        if not (relocation.portion.entries or relocation.entries or is_there(memory)):
            return
        if not self.tree.has(target):
            self.tree.make_directory(target, mode_of(source))
        for name in relocation.portion.entries:
            self.placer.bring(source / name, target / name)
        self._copy(memory, target / MEMORY)
        self._give_entries(relocation)
        self._note(relocation, "split")

    # -- memory, which can't be told apart -----------------------------------------------

    def _copy(self, source: Path, target: Path) -> None:
        """The project that moves gets a copy of what both have; nothing is taken from the other."""
        if os.path.isdir(source) and not os.path.islink(source):
            if not self.tree.has(target):
                self.tree.make_directory(target, mode_of(source))
            for name in sorted(os.listdir(source)):
                self._copy(source / name, target / name)
        elif os.path.isfile(source) and not os.path.islink(source):
            document = read_document(source)
            if document is None:
                raise StaleLookError(f"{source} is gone", again("run it again"))
            self._copy_file(document, target)
        elif os.path.lexists(source):
            self.left_alone.append(LeftAlone(str(source), "a link; no copy of it is made"))

    def _copy_file(self, document: Document, target: Path) -> None:
        keep = self.placer.on_conflict
        if not self.tree.has(target):
            self._make(target, document.data, "other", mode_of(document.path))
        elif not (
            self._has_already(document, target)
            or keep == "keep-new"
            or (keep == "keep-old" and self._overwrite(target, document.text))
        ):
            self.placer.conflicts.append((document.path, target))

    def _has_already(self, document: Document, target: Path) -> bool:
        """Whether the same is there, or a MEMORY.md, which gets the lines that it lacks."""
        if target in self.made:
            return self.made[target].after == document.data
        occupant = self.tree.now(target)
        if occupant is None or not both_files(document.path, occupant):
            return False
        if target.parts[-2:] == (MEMORY, MEMORY_FILE) and target.parents[2] == self.placer.projects:
            theirs = self.placer.needed(occupant)
            theirs.text = other.appended(theirs.text, document.text)
            return True
        return same_bytes(document.path, occupant)

    def _overwrite(self, target: Path, text: str) -> bool:
        """Give a file on disk other content; what it holds is saved. False when it is none."""
        occupant = self.tree.now(target)
        if occupant is None or not both_files(occupant, occupant):
            return False
        self.placer.needed(occupant).text = text
        return True

    def _make(self, path: Path, content: bytes, place: str, mode: int) -> None:
        self.tree.add_file(path)
        self.made[path] = Write(path, path, place, None, content, mode=mode)

    # -- aliases and index ------------------------------------------------------------------

    def _rewrite_aliases(self, relocations: list[Relocation], with_aliases: Iterable[Path]) -> None:
        """Lines of any project's aliases that name a directory which gets another name."""
        split = [(r.source, r.target) for r in relocations if not (r.whole or r.stays)]
        for directory in with_aliases:
            aliases = self.placer.draft(directory / ALIASES)
            if aliases is None:
                continue
            had = aliases.text.split("\n")
            aliases.text = other.aliases(aliases.text, self.names)
            for source, target in split:
                if str(source) in had:  # its sessions are in two places then: name both
                    aliases.text = other.appended(aliases.text, f"{target}\n")

    def _rewrite_index(self, relocation: Relocation) -> None:
        """Plan the new paths in the index of a directory, and who gets which entries."""
        directory = relocation.portion.directory
        draft = self.placer.draft(relocation.source / INDEX, directory.index_file)
        if draft is None:
            return
        try:
            if relocation.whole:
                names = relocation.names(self.paths)
                draft.text = index.rewritten(draft.text, self.paths, names)
            elif relocation.stays:
                ours = PathMap(tuple((s.path, s.new_path) for s in relocation.portion.shares))
                draft.text = index.rewritten(draft.text, ours, NameMap(()))
            else:
                self._split_index(draft, relocation)
        except NotJsonError as error:
            what = f"not an index that can be read ({error}); its bytes stay as they are"
            self.left_alone.append(LeftAlone(str(relocation.source / INDEX), what))

    def _split_index(self, draft: Draft, relocation: Relocation) -> None:
        """Take the entries of the sessions that leave; the rest is the other project's."""
        portion = relocation.portion
        wanted = {session_of(entry) for entry in portion.entries}
        present = {session_of(item.name) for item in portion.directory.transcripts}
        olds = {share.path for share in portion.shares}
        wanted |= index.sessions_of(draft.text, olds) - present
        names = relocation.names(self.paths)
        relocation.entries = [
            (key, index.entry_rewritten(raw, self.paths, names))
            for key, raw in index.entries(draft.text)
            if key in wanted
        ]
        draft.text = index.without(draft.text, wanted)
        if portion.heir is not None:
            draft.text = index.owned_by(draft.text, olds, portion.heir)

    def _give_entries(self, relocation: Relocation) -> None:
        """To the index that is there then, or to a new one."""
        if not relocation.entries:
            return
        final = relocation.target / INDEX
        occupant = self.tree.now(final)
        draft = self.placer.draft(occupant) if occupant is not None else None
        try:
            if draft is not None:
                draft.text = index.with_entries(draft.text, relocation.entries)
            else:
                text = self._new_index(relocation, final)
                self._make(final, text.encode("utf-8", "surrogateescape"), "index", 0o600)
        except NotJsonError:
            if self.placer.on_conflict == "keep-old":
                self._overwrite(final, self._new_index(relocation, final))
            elif self.placer.on_conflict == "refuse":
                self.placer.conflicts.append((relocation.source / INDEX, final))

    def _new_index(self, relocation: Relocation, final: Path) -> str:
        """An index of its own for what comes to `final`, from one directory or several."""
        listed = self._listed.setdefault(final, {})
        listed.update(relocation.entries)
        return index.made(list(listed.items()), relocation.portion.shares[0].new_path)
