"""Shares of directories -> the renames that bring them to their new places, and what merges.

Several moves happen as if at one moment. A source whose name is needed by another move is first
parked in our own work directory, so swaps and chains need no special case. What comes to a
place that is taken is merged: sessions and folders are united, the index, the aliases and
MEMORY.md are joined, and a file that would be in the way of another is set aside in the backup.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ccmove import edits as make
from ccmove import rewriter
from ccmove.edits import Edit
from ccmove.encoding import encode
from ccmove.jsonspan import NotJsonError, parse_at, quote
from ccmove.ownership import Share
from ccmove.pathmap import PathMap
from ccmove.plan import FileChange, LeftAlone, ProjectMove, Step, landing_of, landings
from ccmove.rewriter import NameMap
from ccmove.state import ALIASES, INDEX, MEMORY, Document, read_document

MEMORY_FILE = "MEMORY.md"
CHUNK = 1 << 20


@dataclass
class Relocation:
    """One share on its way from `source` to `target`."""

    share: Share
    new_path: str
    target: str
    parked: Path | None = None

    @property
    def source(self) -> str:
        return self.share.directory.name

    @property
    def stays(self) -> bool:
        return self.source == self.target

    @property
    def now(self) -> Path:
        return self.share.directory.path

    @property
    def at(self) -> Path:
        """Where its entries are when they are placed."""
        return self.parked or self.now


@dataclass
class Relocator:
    """Collects steps and file changes; `own` is where parked and displaced things lie."""

    projects: Path
    work: Path
    displaced: Path
    paths: PathMap
    on_conflict: str = "refuse"
    steps: list[Step] = field(default_factory=list)
    files: list[FileChange] = field(default_factory=list)
    moves: list[ProjectMove] = field(default_factory=list)
    conflicts: list[tuple[Path, Path]] = field(default_factory=list)
    left_alone: list[LeftAlone] = field(default_factory=list)
    names: NameMap = field(default_factory=lambda: NameMap(()))
    _placed: dict[Path, Path] = field(default_factory=dict)  # final place -> where it is now
    _vacated: set[Path] = field(default_factory=set)
    _made: set[Path] = field(default_factory=set)
    _documents: dict[Path, _Draft] = field(default_factory=dict)
    _set_aside: int = 0

    def relocate(self, shares: Iterable[Share], directory_names: Iterable[str]) -> None:
        """Plan everything for these shares; all directories may have aliases that name them."""
        relocations = [self._destination(share) for share in shares]
        self.names = NameMap(
            tuple((r.source, r.target) for r in relocations if r.share.whole and not r.stays),
            self.paths,
        )
        moving = [r for r in relocations if not r.stays]
        for relocation in relocations:
            self._draft_index(relocation)
        self._draft_aliases(directory_names)
        for relocation in moving:
            self._vacate(relocation)
        self._park(moving)
        for relocation in moving:
            self._place(relocation)
        for relocation in relocations:
            self._count(relocation)
        landed = landings(self.steps)
        for path, draft in self._documents.items():
            if draft.differs:
                self.files.append(draft.change(landing_of(path, landed)))

    def _destination(self, share: Share) -> Relocation:
        new_path = self.paths.map(share.path)
        assert new_path is not None  # a share is made only for paths in the move
        return Relocation(share, new_path, encode(new_path))

    def _vacate(self, relocation: Relocation) -> None:
        if relocation.share.whole:
            self._vacated.add(relocation.now)
        self._vacated.update(relocation.now / name for name in relocation.share.entries)

    def _park(self, moving: list[Relocation]) -> None:
        targets = {r.target for r in moving}
        for number, relocation in enumerate(r for r in moving if r.source in targets):
            parked = self.work / str(number)
            if relocation.share.whole:
                self.steps.append(Step("rename", relocation.now, parked))
            else:
                self.steps.append(Step("mkdir", parked))
                for name in relocation.share.entries:
                    self.steps.append(Step("rename", relocation.now / name, parked / name))
            relocation.parked = parked

    def _where(self, final: Path) -> Path | None:
        """What will stand at `final` when the steps so far are done: where it is now, or None."""
        for place in (final, *final.parents):
            if place in self._placed:
                now = self._placed[place] / final.relative_to(place)
                return now if os.path.lexists(now) else None
            if place == self.projects:
                break
        if any(place in self._vacated for place in (final, *final.parents)):
            return None
        return final if os.path.lexists(final) else None

    # -- placing ------------------------------------------------------------------------------------

    def _place(self, relocation: Relocation) -> None:
        target = self.projects / relocation.target
        taken = self._where(target) is not None or target in self._made
        if relocation.share.whole and not taken:
            self.steps.append(Step("rename", relocation.at, target))
            self._placed[target] = relocation.now
            self._note(relocation, "rename")
            return
        if not taken:
            self._make_directory(target, relocation.now)
        self._unite(relocation.now, relocation.at, target, relocation.share.entries)
        if relocation.share.whole:
            self._remove_directory(relocation.at, relocation.now)
            self._note(relocation, "merge")
            return
        self._copy_memory(relocation.now / MEMORY, target / MEMORY)
        if relocation.parked:
            self._remove_directory(relocation.parked, relocation.now)
        self._note(relocation, "split")

    def _unite(self, now: Path, at: Path, target: Path, names: Iterable[str]) -> None:
        """Bring the entries to `target`, into what is there already."""
        for name in sorted(names):
            source, final = now / name, target / name
            occupant = self._where(final)
            if final.parent.parent == self.projects and name in (INDEX, ALIASES):
                self._join_document(source, at / name, final, occupant)
            elif occupant is None:
                self._rename(source, at / name, final)
            elif _is_dir(source) and _is_dir(occupant):
                self._unite(source, at / name, final, os.listdir(source))
                self._remove_directory(at / name, source)
            elif (
                name == MEMORY_FILE
                and final.parent.name == MEMORY
                and _both_files(source, occupant)
            ):
                self._join_memory(source, at / name, occupant)
            else:
                self._resolve(source, at / name, final, occupant)

    def _rename(self, now: Path, at: Path, final: Path) -> None:
        self.steps.append(Step("rename", at, final))
        self._placed[final] = now

    def _resolve(self, source: Path, at: Path, final: Path, occupant: Path) -> None:
        """Two things of one name meet: the same bytes are no conflict."""
        if _same_bytes(source, occupant) or self.on_conflict == "keep-new":
            self._displace(at)
        elif self.on_conflict == "keep-old":
            self._displace(final)
            self._rename(source, at, final)
        else:
            self.conflicts.append((source, final))

    def _displace(self, path: Path) -> None:
        self.steps.append(Step("rename", path, self.displaced / str(self._set_aside)))
        self._set_aside += 1

    def _make_directory(self, path: Path, like: Path) -> None:
        self.steps.append(Step("mkdir", path, mode=_mode(like)))
        self._made.add(path)

    def _remove_directory(self, path: Path, like: Path) -> None:
        self.steps.append(Step("rmdir", path, mode=_mode(like)))

    def _note(self, relocation: Relocation, kind: str) -> None:
        share = relocation.share
        self.moves.append(
            ProjectMove(
                share.path,
                relocation.new_path,
                relocation.source,
                relocation.target,
                kind,
                share.entries,
            )
        )

    def _count(self, relocation: Relocation) -> None:
        """A directory that keeps its name is listed too: its files are rewritten."""
        if relocation.stays:
            self._note(relocation, "same")

    # -- documents that are joined --------------------------------------------------------------------

    def draft(self, path: Path) -> _Draft | None:
        """The document at `path` with the changes planned so far, or None when there is none."""
        if path not in self._documents:
            document = read_document(path)
            if document is None:
                return None
            self._documents[path] = _Draft(document)
        return self._documents[path]

    def _draft_aliases(self, directory_names: Iterable[str]) -> None:
        """Lines of any project's aliases that name a directory which gets another name."""
        for name in directory_names if self.names.names else ():
            path = self.projects / name / ALIASES
            if os.path.lexists(path) and (aliases := self.draft(path)) is not None:
                aliases.lines += rewriter.alias_lines(aliases.text, self.names)

    def _draft_index(self, relocation: Relocation) -> None:
        """Plan the new paths in the index of a directory."""
        if not relocation.share.whole:
            self._split_index(relocation)
            return
        index = self.draft(relocation.now / INDEX)
        if index is None:
            return
        names = NameMap(((relocation.source, relocation.target),), self.paths)
        try:
            index.edits += rewriter.index_edits(index.text, self.paths, names)
        except NotJsonError as error:
            self._leave_bad_index(relocation.now, error)

    def _leave_bad_index(self, directory: Path, error: NotJsonError) -> None:
        self.left_alone.append(
            LeftAlone(
                str(directory / INDEX),
                f"not an index that can be read ({error}); moved along as it is",
                "",
            )
        )

    def _split_index(self, relocation: Relocation) -> None:
        """Take the entries of the sessions that leave out of the index, and give them to the new one."""
        draft = self.draft(relocation.now / INDEX)
        if draft is None:
            return
        try:
            root = rewriter.parse_index(draft.text)
        except NotJsonError as error:
            self._leave_bad_index(relocation.now, error)
            return
        entries = root.get("entries") if root.opened == "{" else None
        sessions = {name.removesuffix(".jsonl") for name in relocation.share.entries}
        ours = {
            i
            for i, entry in enumerate(entries.items if entries else ())
            if isinstance(entry.value, dict) and entry.value.get("sessionId") in sessions
        }
        names = NameMap(((relocation.source, relocation.target),), self.paths)
        if relocation.stays:
            for i in sorted(ours):
                assert entries is not None
                pointer = ("entries", i)
                draft.edits += rewriter.entry_edits(
                    draft.text, entries.items[i], pointer, self.paths.map, names.map
                )
            return
        if not ours or entries is None:
            return
        raws = [
            _moved_entry(draft.text, entries.items[i].start, self.paths, names)
            for i in sorted(ours)
        ]
        draft.edits += make.remove_items(draft.text, entries, ("entries",), ours)
        self._give_entries(relocation, raws)

    def _give_entries(self, relocation: Relocation, raws: list[tuple[str, str]]) -> None:
        final = self.projects / relocation.target / INDEX
        theirs = self.draft(final)
        if theirs is not None:
            theirs.edits += _missing_entries(theirs.text, raws)
            return
        listed = ",\n    ".join(raw for _, raw in raws)
        text = (
            f'{{\n  "version": 1,\n  "entries": [\n    {listed}\n  ],\n'
            f'  "originalPath": {quote(relocation.new_path)}\n}}'
        )
        self.files.append(
            FileChange(
                final, final, "index", after=text.encode("utf-8", "surrogateescape"), mode=0o600
            )
        )

    def _join_document(self, source: Path, at: Path, final: Path, occupant: Path | None) -> None:
        """The index or the aliases: rewritten where they are, then moved or joined to the other."""
        if occupant is None:
            self._rename(source, at, final)
            return
        ours = self.draft(source)
        theirs = self.draft(occupant)
        if ours is None or theirs is None:
            self._resolve(source, at, final, occupant)
            return
        if final.name == ALIASES:
            theirs.appended = rewriter.appendix(theirs.text, ours.changed_text())
        else:
            try:
                theirs.edits += _missing_entries(theirs.text, _entries_of(ours))
            except NotJsonError:
                self._resolve(source, at, final, occupant)
                return
        ours.forget()
        self._displace(at)

    def _join_memory(self, source: Path, at: Path, occupant: Path) -> None:
        """Two different MEMORY.md become one: the new one's text, then the lines that it lacks."""
        if _same_bytes(source, occupant):
            self._displace(at)
            return
        self._append_missing(source, occupant)
        self._displace(at)

    def _append_missing(self, source: Path, occupant: Path) -> None:
        ours, theirs = read_document(source), self.draft(occupant)
        assert ours is not None and theirs is not None  # both were seen to be files
        theirs.appended = rewriter.appendix(theirs.text, ours.text)

    def _copy_memory(self, source: Path, target: Path) -> None:
        """A shared memory can't be told apart: the project that moves gets a copy of it."""
        if not _is_dir(source) or os.path.islink(source):
            return
        if self._where(target) is None:
            self._make_directory(target, source)
        for name in sorted(os.listdir(source)):
            now, final = source / name, target / name
            occupant = self._where(final)
            if _is_dir(now):
                self._copy_memory(now, final)
            elif occupant is None:
                document = read_document(now)
                assert document is not None
                self.files.append(
                    FileChange(final, final, "other", after=document.data, mode=_mode(now))
                )
            elif name == MEMORY_FILE and _both_files(now, occupant):
                self._append_missing(now, occupant)
            elif not _same_bytes(now, occupant) and self.on_conflict != "keep-new":
                self.conflicts.append((now, final))


@dataclass
class _Draft:
    """A document and the changes that are planned for it."""

    document: Document
    edits: list[Edit] = field(default_factory=list)
    lines: list[tuple[int, str, str]] = field(default_factory=list)
    appended: str = ""

    @property
    def text(self) -> str:
        return self.document.text

    @property
    def differs(self) -> bool:
        return bool(self.edits or self.lines or self.appended)

    def changed_text(self) -> str:
        text = make.apply(self.text, self.edits)
        return rewriter.change_lines(text, self.lines) + self.appended

    def forget(self) -> None:
        """It is set aside: the backup gets it as it was."""
        self.edits, self.lines, self.appended = [], [], ""

    def change(self, ends: Path) -> FileChange:
        return FileChange(
            self.document.path,
            ends,
            "index" if self.document.path.name == INDEX else "other",
            before=self.document.data,
            after=self.changed_text().encode("utf-8", "surrogateescape"),
            edits=tuple(self.edits),
            lines=tuple(self.lines),
            appended=self.appended,
            seen=self.document.seen,
        )


def _entries_of(draft: _Draft) -> list[tuple[str, str]]:
    """(sessionId, JSON text) of an index's entries, with the changes planned for them made."""
    text = draft.changed_text()
    root = rewriter.parse_index(text)
    entries = root.get("entries") if root.opened == "{" else None
    found = []
    for entry in entries.items if entries else ():
        name = entry.value.get("sessionId") if isinstance(entry.value, dict) else None
        found.append((str(name), text[entry.start : entry.end]))
    return found


def _missing_entries(text: str, entries: list[tuple[str, str]]) -> list[Edit]:
    """Edits that add the entries whose session the index `text` does not list yet."""
    root = rewriter.parse_index(text)
    listed = root.get("entries") if root.opened == "{" else None
    if listed is None or listed.opened != "[":
        raise NotJsonError("an index without entries")
    have = {e.value.get("sessionId") for e in listed.items if isinstance(e.value, dict)}
    lacking = [(name, raw) for name, raw in entries if name not in have]
    return make.add_items(text, listed, ("entries",), lacking)


def _moved_entry(text: str, start: int, paths: PathMap, names: NameMap) -> tuple[str, str]:
    """(sessionId, JSON text) of one entry with its paths changed."""
    entry = parse_at(text, start, lambda _: False)
    changed = make.apply_inside(
        text, entry, rewriter.entry_edits(text, entry, (), paths.map, names.map)
    )
    return str(entry.value.get("sessionId")), changed


def _mode(path: Path) -> int:
    return stat.S_IMODE(os.lstat(path).st_mode)


def _is_dir(path: Path) -> bool:
    return stat.S_ISDIR(os.lstat(path).st_mode)


def _both_files(one: Path, other: Path) -> bool:
    return all(stat.S_ISREG(os.lstat(path).st_mode) for path in (one, other))


def _same_bytes(one: Path, other: Path) -> bool:
    """Whether both are regular files of the same content, or links to the same place."""
    first, second = os.lstat(one), os.lstat(other)
    if stat.S_ISLNK(first.st_mode) and stat.S_ISLNK(second.st_mode):
        return os.readlink(one) == os.readlink(other)
    if not _both_files(one, other) or first.st_size != second.st_size:
        return False
    return all(a == b for a, b in zip(_blocks(one), _blocks(other), strict=True))


def _blocks(path: Path) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while block := file.read(CHUNK):
            yield block
