"""Portions of directories -> the steps that bring them to their new places, and what is rewritten.

Several moves happen as if at one moment, so swaps and chains need no special case. Of a directory
that is shared only what is the moving project's goes; memory, which can't be told apart, is
copied.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ccmove.claude.nofollow import is_there
from ccmove.claude.ownership import Portion, session_of
from ccmove.claude.state import ALIASES, INDEX, MEMORY, Document, read_document
from ccmove.errors import StaleLookError, again
from ccmove.plan.arrange import arrange
from ccmove.plan.drafts import (
    Draft,
    Entries,
    add_entries,
    new_index,
    owner_edits,
    sessions_of,
    take_entries,
)
from ccmove.plan.model import FileChange, LeftAlone, ProjectMove, Step
from ccmove.plan.place import MEMORY_FILE, Placer, both_files, mode_of, same_bytes
from ccmove.rewrite import rewriter
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.rewrite.pathmap import PathMap
from ccmove.rewrite.rewriter import NameMap


class Relocation:
    """One portion on its way."""

    def __init__(self, portion: Portion) -> None:
        self.portion = portion
        self.entries: Entries = []  # that it takes out of a shared index

    @property
    def source(self) -> Path:
        return self.portion.directory.path

    @property
    def target(self) -> Path:
        return self.source.with_name(self.portion.target)

    @property
    def stays(self) -> bool:
        return self.source == self.target

    @property
    def whole(self) -> bool:
        return self.portion.whole

    def names(self, paths: PathMap) -> NameMap:
        return NameMap(((self.source.name, self.target.name),), paths)


class Relocator:
    """Plans everything for the portions of one run; `work` is where sources are parked."""

    def __init__(self, placer: Placer, work: Path, paths: PathMap) -> None:
        self.placer = placer
        self.work = work
        self.paths = paths
        self.moves: list[ProjectMove] = []
        self.left_alone: list[LeftAlone] = []
        self.names = NameMap(())
        self._made: dict[Path, FileChange] = {}
        self._parked = 0
        self._listed: dict[Path, dict[str, str]] = {}  # in indexes that are made

    @property
    def steps(self) -> list[Step]:
        return self.placer.future.steps

    @property
    def files(self) -> list[FileChange]:
        return [*self.placer.changes(), *self._made.values()]

    def relocate(self, portions: Iterable[Portion], with_aliases: Iterable[Path]) -> None:
        """Plan the way of each portion; any directory may have aliases that name it."""
        relocations = [Relocation(portion) for portion in portions]
        self.names = self._new_names(relocations)
        for relocation in relocations:
            self._draft_index(relocation)
        self._draft_aliases(relocations, with_aliases)
        self._place([r for r in relocations if r.whole and not r.stays])
        # What is split off comes last: it then finds every directory in its place.
        for relocation in relocations:
            if not (relocation.whole or relocation.stays):
                self._place_part(relocation)
        for relocation in relocations:
            if relocation.stays:
                self._note(relocation, "same")

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
        """Whole directories, each renamed or united with what is there."""
        arrange(((r.source, r.target) for r in relocations), self.placer.bring, self._park)
        for relocation in relocations:
            is_renamed = self.placer.future.now(relocation.target) == relocation.source
            self._note(relocation, "rename" if is_renamed else "merge")

    def _park(self, path: Path) -> Path:
        parked = self.work / str(self._parked)
        self._parked += 1
        self.placer.future.rename(path, parked)
        return parked

    def _place_part(self, relocation: Relocation) -> None:
        """Part of a shared directory: sessions, their entries of the index, a copy of memory."""
        future = self.placer.future
        source, target = relocation.source, relocation.target
        memory = source / MEMORY
        if not (relocation.portion.entries or relocation.entries or is_there(memory)):
            return
        if not future.has(target):
            future.make_directory(target, mode_of(source))
        for name in relocation.portion.entries:
            self.placer.bring(source / name, target / name)
        self._copy(memory, target / MEMORY)
        self._give_entries(relocation)
        self._note(relocation, "split")

    # -- memory, which can't be told apart -----------------------------------------------

    def _copy(self, source: Path, target: Path) -> None:
        """The project that moves gets a copy of what both have; nothing is taken from the other."""
        future = self.placer.future
        if os.path.isdir(source) and not os.path.islink(source):
            if not future.has(target):
                future.make_directory(target, mode_of(source))
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
        occupant = self.placer.future.now(target)
        keep = self.placer.on_conflict
        if not self.placer.future.has(target):
            self._make(target, document.data, "other", mode_of(document.path))
        elif not (
            self._has_already(document, target, occupant)
            or keep == "keep-new"
            or (keep == "keep-old" and self._overwrite(occupant, document.data))
        ):
            self.placer.conflicts.append((document.path, target))

    def _has_already(self, document: Document, target: Path, occupant: Path | None) -> bool:
        """Whether the same is there, or a MEMORY.md, which gets the lines that it lacks."""
        made = self._made.get(target)
        if made is not None:
            return made.after == document.data
        if occupant is None or not both_files(document.path, occupant):
            return False
        if (
            document.path.name == MEMORY_FILE
            and target.parent.parent.parent == self.placer.projects
        ):
            theirs = self.placer.drafts.needed(occupant)
            theirs.appended += rewriter.appendix(theirs.content(), document.text)
            return True
        return same_bytes(document.path, occupant)

    def _overwrite(self, occupant: Path | None, content: bytes) -> bool:
        """Give a file on disk other content; what it holds is saved. False when it is none."""
        if occupant is None or not both_files(occupant, occupant):
            return False
        draft = self.placer.drafts.needed(occupant)
        draft.forget()
        draft.whole = content
        return True

    def _make(self, path: Path, content: bytes, place: str, mode: int) -> None:
        self.placer.future.add_file(path)
        self._made[path] = FileChange(path, path, place, after=content, mode=mode)

    # -- aliases and index ------------------------------------------------------------------

    def _draft_aliases(self, relocations: list[Relocation], with_aliases: Iterable[Path]) -> None:
        """Lines of any project's aliases that name a directory which gets another name."""
        split = [(r.source, r.target) for r in relocations if not (r.whole or r.stays)]
        for directory in with_aliases:
            if (aliases := self.placer.drafts.at(directory / ALIASES)) is not None:
                aliases.lines += rewriter.alias_lines(aliases.text, self.names)
                for source, target in split:
                    _also(aliases, str(source), str(target))

    def _draft_index(self, relocation: Relocation) -> None:
        """Plan the new paths in the index of a directory, and who gets which entries."""
        directory = relocation.portion.directory
        draft = self.placer.drafts.at(relocation.source / INDEX, directory.index_file)
        if draft is None:
            return
        try:
            if relocation.whole:
                draft.rewrite_index(self.paths, relocation.names(self.paths))
            elif relocation.stays:
                ours = PathMap(tuple((s.path, s.new_path) for s in relocation.portion.shares))
                draft.rewrite_index(ours, NameMap(()))
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
        wanted |= sessions_of(draft.text, olds) - present
        names = relocation.names(self.paths)
        relocation.entries = take_entries(draft, wanted, self.paths, names)
        if portion.heir is not None:
            draft.edits += owner_edits(draft.text, olds, portion.heir)

    def _give_entries(self, relocation: Relocation) -> None:
        """To the index that is there then, or to a new one."""
        final = relocation.target / INDEX
        occupant = self.placer.future.now(final)
        draft = self.placer.drafts.at(occupant) if occupant is not None else None
        try:
            if draft is not None and relocation.entries:
                add_entries(draft, relocation.entries)
            elif relocation.entries:
                self._make(final, self._listed_anew(relocation, final), "index", 0o600)
        except NotJsonError:
            if self.placer.on_conflict == "keep-old":
                self._overwrite(occupant, self._listed_anew(relocation, final))
            elif self.placer.on_conflict == "refuse":
                self.placer.conflicts.append((relocation.source / INDEX, final))

    def _listed_anew(self, relocation: Relocation, final: Path) -> bytes:
        """An index of its own for what comes to `final`, from one directory or several."""
        listed = self._listed.setdefault(final, {})
        listed.update(relocation.entries)
        text = new_index(list(listed.items()), relocation.portion.shares[0].new_path)
        return text.encode("utf-8", "surrogateescape")


def _also(aliases: Draft, source: str, target: str) -> None:
    """Sessions of a split directory are in two places now: name the second one as well."""
    if source in aliases.text.split("\n"):
        aliases.appended += rewriter.appendix(aliases.content(), f"{target}\n")
