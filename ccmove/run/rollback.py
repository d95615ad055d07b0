"""Roll back a run that failed just now, or that died long ago, from what is on disk.

Goes backward through the operations and undoes those that are done. What is done is seen in what
is there, not in inode numbers, which change with a copied home and are soon used again:

- A write is done if and only if its staged file is gone: the replacing rename consumes it.
- A rename is done if the target holds what the journal noted, and the old place does not.
- What came later wins: of a changed document only our own change is taken out, a file that we
  made stays if it was changed, and a state directory that was made again is merged file by file.

Nothing is deleted but what we made. What can't be rolled back is kept, and blocks: exit 5.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.reading import is_there, names_in, open_regular, read_document, reader
from ccmove.errors import RefusedError, UnsettledError, describe, run
from ccmove.plan.model import FolderHolds, Holds, Mkdir, Rename, Rmdir
from ccmove.plan.tree import folder_holds
from ccmove.rewrite import history
from ccmove.run import disk
from ccmove.run.backups import new_id, read_saved
from ccmove.run.disk import Attributes
from ccmove.run.journal import (
    Journal,
    client_locks,
    read_journal,
    remove_unwritten,
    staged_file,
    was_interrupted,
    write_journal,
)
from ccmove.run.locks import ClientLocks, remove_stale
from ccmove.run.manifest import ID_PATTERN, Manifest, Recorded, Wrote, WroteHistory, sha256
from ccmove.run.takeback import document_back, history_back

RECOVER = run("ccmove", "recover", text="fix that, then")
RECORDS = ("manifest.json", "manifest.json.new", "begun.json")  # of a run, beside its directories
SET_ASIDE = run("ccmove", "recover", "--set-aside", text="to keep it all and go on without it")


def roll_back(layout: Layout) -> str | None:
    """Roll back an unfinished run; what was done, in words, or None when there was none."""
    try:
        remove_unwritten(layout)
        journal = read_journal(layout)
        if journal is None:
            return None
        if journal.manifest is None:  # nothing was changed yet
            _sweep(layout, journal)
            return _done(journal.id)
        rollback = Rollback(layout, journal.manifest)
        rollback.refuse_missing()
        locks = client_locks(layout, journal.manifest)
        if not rollback.begun:
            remove_stale(locks)
            locks = []  # nothing of the client's is touched
        with ClientLocks(locks):
            rollback.run()
        _sweep(layout, journal)
    except OSError as error:
        raise UnsettledError(
            f"an interrupted run could not be taken back: {describe(error)}", RECOVER
        ) from error
    except RefusedError as error:  # "nothing was done" would not be true
        raise UnsettledError(
            f"an interrupted run could not be taken back: {error.message}",
            run("ccmove", "recover", text="let it finish or leave it, then"),
        ) from error
    return _done(journal.id, rollback.stayed)


def _done(identifier: str, stayed: list[str] | None = None) -> str:
    name = f"the interrupted run {identifier}" if identifier else "an interrupted run"
    return "; ".join((f"{name} was taken back", *(stayed or ())))


def _missing(what: str) -> UnsettledError:
    return UnsettledError(f"an interrupted run could not be taken back: {what}", RECOVER, SET_ASIDE)


class Rollback:
    """Undoes the operations of a run in the opposite order; each may have been done or not."""

    def __init__(self, layout: Layout, manifest: Manifest) -> None:
        self.layout = layout
        self.manifest = manifest
        self.begun = self._begun()
        self.stayed: list[str] = []  # what came later and was left as it is, in words

    def refuse_missing(self) -> None:
        """Before anything is touched: is all there that is needed, and used for nothing else?"""
        for operation in self.manifest.written:
            if isinstance(operation, Wrote) and operation.before is not None:
                self._refuse_unsaved(operation)
        self._refuse_gone()
        self._refuse_folders()

    def _refuse_gone(self) -> None:
        """A directory with sessions must be somewhere on its way."""
        places: dict[Holds, list[Path]] = {}
        for op in self.manifest.operations:
            if isinstance(op, Rename) and isinstance(op.holds, Holds) and op.holds.is_directory:
                places.setdefault(op.holds, []).extend((op.path, op.target))
        for noted, way in places.items():
            if noted.entries and not any(holds(place, noted) for place in way):
                raise _missing(f"{way[0]} is gone, and is not at {way[-1]} either")

    def _refuse_unsaved(self, wrote: Wrote) -> None:
        if self._is_staged(wrote):
            return
        try:
            read_saved(self.layout.run, wrote, "before")
        except RefusedError as error:
            raise _missing(error.message) from error

    def _is_staged(self, wrote: Wrote | WroteHistory) -> bool:
        """Whether the write is still to be done."""
        return is_there(staged_file(self.layout, self.manifest.id, wrote))

    def run(self) -> None:
        for name in ("aside", "parked"):  # what was there goes back the way it came
            disk.ensure_directory(self.layout.run / name)
        for operation in reversed(self.begun):
            self._undo(operation)

    def _begun(self) -> list[Recorded]:
        """The operations up to the first that certainly was not done: none behind it was, either.

        That is one whose staged file is there, or that sets something aside which is not there.
        """
        operations = self.manifest.operations
        passing = {op.path for op in operations if isinstance(op, Rename)}
        for number, op in enumerate(operations):
            is_to_come = False
            if isinstance(op, (Wrote, WroteHistory)):
                is_to_come = self._is_staged(op)
            elif isinstance(op, Rename) and op.target.is_relative_to(self.layout.own):
                is_to_come = op.target not in passing and not is_there(op.target)
            if is_to_come:
                return list(operations[:number])
        return list(operations)

    def _undo(self, operation: Recorded) -> None:
        match operation:
            case Rename(holds=FolderHolds()):
                self._rename_folder_back(operation)
            case Rename():
                self._rename_back(operation)
            case Mkdir():
                self._remove_if_empty(operation.path)
            case Rmdir():
                if is_there(operation.path):
                    disk.set_mode(operation.path, operation.mode)
                else:
                    disk.make_directory(operation.path, operation.mode)
            case WroteHistory():
                self._put_history_back(operation)
            case Wrote(before=None):
                self._remove_made(operation)
            case Wrote():
                self._put_back(operation)

    # -- names -----------------------------------------------------------------------------

    def _rename_back(self, rename: Rename) -> None:
        """A file or directory of the state."""
        path, target, noted = rename.path, rename.target, rename.holds
        assert isinstance(noted, Holds)
        if not is_there(target) or not self._is_done(path, target, noted):
            return  # it was not done, or is undone already
        if is_there(path):
            self._merge_back(target, path)
        elif path.is_relative_to(self.layout.own) and _has_grown(target, noted):
            self.stayed.append(f"{target} has something new in it and stays")
            if noted.is_directory:
                disk.make_directory(path)  # an empty one, as it was
        else:
            disk.rename_new(target, path)

    def _is_done(self, path: Path, target: Path, noted: Holds) -> bool:
        """Of a rename whose target is there. In our own directories nobody else makes anything."""
        if target.is_relative_to(self.layout.own):
            return True
        if is_there(path) and path.is_relative_to(self.layout.own):
            return False
        if noted.is_directory and noted.entries:
            return holds(target, noted) and not holds(path, noted)
        return not noted.is_directory or not is_there(path)

    def _merge_back(self, target: Path, path: Path) -> None:
        """The old name was used again since: everything goes back beside what is there.

        A later file makes way under another name; two transcripts of one session both stay where
        they are, since the client goes by that name.
        """
        if not (_is_directory(target) and _is_directory(path)):
            if path.suffix == ".jsonl":
                self.stayed.append(f"{path} was made again meanwhile; the earlier one is {target}")
                return
            later = _free_name(path)
            disk.rename_new(path, later)
            disk.rename_new(target, path)
            self.stayed.append(f"{path} was made again meanwhile; the later one is {later}")
            return
        for name in sorted(names_in(target)):
            if is_there(path / name):
                self._merge_back(target / name, path / name)
            else:
                disk.rename_new(target / name, path / name)
        disk.set_mode(path, stat.S_IMODE(os.lstat(target).st_mode))
        self._remove_if_empty(target)

    def _remove_if_empty(self, path: Path) -> None:
        try:
            disk.remove_directory(path)
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            self.stayed.append(f"{path} has something new in it and stays")

    # -- project folders ---------------------------------------------------------------------

    def _refuse_folders(self) -> None:
        """A folder of the user's is renamed back only if it is the one that was renamed."""
        renames = [op for op in self.manifest.operations if isinstance(op, Rename)]
        folders = [op for op in renames if isinstance(op.holds, FolderHolds)]
        places = dict.fromkeys(path for op in folders for path in (op.path, op.target))
        for noted in {op.holds for op in folders}:
            assert isinstance(noted, FolderHolds)
            way = [op for op in folders if op.holds == noted]
            found = [path for path in places if is_folder(path, noted)]
            first, last = way[0].path, way[-1].target
            if len(found) != 1:
                both = "both look like" if found else "neither is"
                raise _missing(f"{first} and {last}: {both} the folder that was renamed")
        for operation in reversed(folders):
            self._refuse_taken(operation, folders)

    def _refuse_taken(self, operation: Rename, folders: list[Rename]) -> None:
        """The old place must be free, or hold only what goes away from it before."""
        assert isinstance(operation.holds, FolderHolds)
        path, target = operation.path, operation.target
        if not is_folder(target, operation.holds) or not is_there(path):
            return
        others = [op.holds for op in folders if op.holds != operation.holds]
        if not any(isinstance(one, FolderHolds) and is_folder(path, one) for one in others):
            raise _missing(f"{path} is used for something else, so {target} can't be renamed back")

    def _rename_folder_back(self, rename: Rename) -> None:
        assert isinstance(rename.holds, FolderHolds)
        if is_folder(rename.target, rename.holds) and not is_there(rename.path):
            disk.rename_new(rename.target, rename.path)

    # -- contents ----------------------------------------------------------------------------

    def _remove_made(self, wrote: Wrote) -> None:
        """A file that we made goes while it still holds exactly what we wrote."""
        document = read_document(wrote.path) if is_there(wrote.path) else None
        if document is None:
            return
        if sha256(document.data) == wrote.after.sha256:
            disk.remove_file(wrote.path)
        else:
            self.stayed.append(f"{wrote.path} was changed meanwhile and stays")

    def _put_back(self, wrote: Wrote) -> None:
        assert wrote.before is not None
        document = read_document(wrote.path)
        if document is not None:
            found = document.data
            content, named, mtime = document_back(self.layout.run, self.manifest, wrote, found)
            self.stayed += [
                f"{wrote.path}: {what} was changed meanwhile and stays" for what in named
            ]
            attributes = Attributes.of(os.lstat(wrote.path), mtime)
        elif is_there(wrote.path.parent):  # taken away since, with our change in it
            found, content = b"", read_saved(self.layout.run, wrote, "before")
            attributes = Attributes(wrote.before.mode, mtime_ns=wrote.before.mtime_ns)
        else:
            return
        if content != found or document is None:
            fresh = self._fresh(wrote)
            disk.write_new(fresh, [content], attributes)
            disk.replace(fresh, wrote.path)

    def _put_history_back(self, wrote: WroteHistory) -> None:
        fd = open_regular(wrote.path)
        if fd is None:
            self._bring_history_back(wrote)
            return
        try:
            found = os.fstat(fd)
            scan, mtime = history_back(
                self.layout.run, self.manifest, wrote, reader(fd), found.st_size
            )
            if scan.lines:
                fresh = self._fresh(wrote)
                pieces = history.rewritten(reader(fd), scan)
                disk.write_new(fresh, pieces, Attributes.of(found, mtime))
                disk.replace(fresh, wrote.path)
        finally:
            os.close(fd)

    def _bring_history_back(self, wrote: WroteHistory) -> None:
        """Someone took the history away: it is there as before again, from its second name."""
        saved = self.layout.run / "files" / f"{wrote.number}.before"
        document = read_document(saved)
        if document is not None:
            fresh = self._fresh(wrote)
            attributes = Attributes(wrote.before.mode, mtime_ns=wrote.before.mtime_ns)
            disk.write_new(fresh, [document.data[: wrote.before.size]], attributes)
            disk.replace(fresh, wrote.path)

    def _fresh(self, wrote: Wrote | WroteHistory) -> Path:
        """Never the name of the staged file: that one being gone says that the write was done."""
        staged = wrote.path.parent / staged_file(self.layout, self.manifest.id, wrote).name
        fresh = staged.with_name(f"{staged.name}-back")
        disk.remove_file(fresh, flushed=False)
        return fresh


# -- recognising -----------------------------------------------------------------------------------


def holds(path: Path, noted: Holds) -> bool:
    """Whether something of what was noted is there; names of transcripts are unique, and one may
    have grown since. Of an empty directory this can't be said."""
    return any(_has(path / name if name else path, size) for name, size in noted.entries)


def _has_grown(path: Path, noted: Holds) -> bool:
    """Whether something came to what a run took out of a backup: that is not to be hidden there."""
    if noted.is_directory:
        return not noted.entries and bool(names_in(path))
    return os.lstat(path).st_size != noted.entries[0][1]


def _has(path: Path, size: int) -> bool:
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size >= size


def is_folder(path: Path, noted: FolderHolds) -> bool:
    """Whether this is the project folder that was noted.

    The very one, with something left of what was in it; or, in a copied home, one with most of
    the noted entries, each of the same kind, size and date.
    """
    if not _is_directory(path):
        return False
    found = folder_holds(path)
    names = {entry[0] for entry in found.entries}
    if (found.device, found.inode) == (noted.device, noted.inode):
        return not noted.entries or any(entry[0] in names for entry in noted.entries)
    same = len(set(found.entries) & set(noted.entries))
    return 2 * same > len(noted.entries)


def _free_name(path: Path) -> Path:
    """Beside it, with the same ending: what it was read for it is still read for."""
    number = 0
    while is_there(free := path.with_name(f"{path.stem}.later{number or ''}{path.suffix}")):
        number += 1
    return free


def _is_directory(path: Path) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _is_empty_directory(path: Path) -> bool:
    return _is_directory(path) and not names_in(path)


# -- what is left ----------------------------------------------------------------------------------


def _sweep(layout: Layout, journal: Journal) -> None:
    """Remove what the run left of its own; the journal last.

    First it says that nothing is left to undo: a staged file that is gone means nothing then.
    """
    if journal.manifest is not None and is_there(layout.run):
        write_journal(Journal(journal.id, journal.staged), layout)
        disk.remove_file(layout.run / "manifest.json")
    for path in journal.staged:
        if not is_there(path.parent) and path.parent != layout.run / "staged":
            raise _missing(f"{path.parent} is gone")  # it may come back, with our file in it
        disk.remove_file(path)
        disk.remove_file(path.with_name(f"{path.name}-back"))
    if is_there(layout.run):
        _remove_run(layout, journal)
    disk.remove_file(layout.journal)


def _remove_run(layout: Layout, journal: Journal) -> None:
    """The directory of the run; should it hold anything that is not ours, it is kept whole."""
    saved = layout.run / "files"
    for name in names_in(saved):
        if name.partition(".")[0].isdigit() and name.endswith((".before", ".after", ".json")):
            disk.remove_file(saved / name, flushed=False)
    for name in names_in(layout.run / "staged"):
        if name.startswith(".ccmove-"):
            disk.remove_file(layout.run / "staged" / name, flushed=False)
    empty = [part for part in ("files", "staged", "aside", "parked") if is_there(layout.run / part)]
    if all(_is_empty_directory(layout.run / part) for part in empty) and set(
        names_in(layout.run)
    ) <= {*empty, *RECORDS}:
        for part in empty:
            disk.remove_directory(layout.run / part, flushed=False)
        for name in RECORDS:
            disk.remove_file(layout.run / name, flushed=False)
        disk.remove_directory(layout.run)
    else:
        _set_aside(layout, journal.id)


def set_aside(layout: Layout) -> str | None:
    """Keep journal, backup and parked things of an unfinished run together; the ID they have."""
    if not was_interrupted(layout):
        return None
    remove_unwritten(layout)
    with contextlib.suppress(UnsettledError):
        journal = read_journal(layout)
        if journal is not None and journal.id:
            return _set_aside(layout, journal.id)
    return _set_aside(layout, "")


def _set_aside(layout: Layout, identifier: str) -> str:
    identifier = identifier if ID_PATTERN.fullmatch(identifier) else new_id(layout)
    disk.ensure_directory(layout.unfinished)
    kept = layout.unfinished / identifier
    if not is_there(layout.run):
        disk.make_directory(layout.run)
    if is_there(layout.journal) and not is_there(layout.run / "journal.json"):
        disk.rename_new(layout.journal, layout.run / "journal.json")
    disk.rename_new(layout.run, kept)
    return identifier
