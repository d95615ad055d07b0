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

import errno
import os
import stat
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.reading import is_there, names_in, open_regular, read_document, reader
from ccmove.errors import RefusedError, UnsettledError, describe, run
from ccmove.plan.model import FolderHolds, Holds, Mkdir, Rename, Rmdir
from ccmove.rewrite import history
from ccmove.run import disk
from ccmove.run.backups import read_saved
from ccmove.run.disk import Attributes
from ccmove.run.journal import (
    client_locks,
    read_journal,
    remove_unwritten,
    staged_file,
)
from ccmove.run.locks import ClientLocks, remove_stale
from ccmove.run.manifest import Manifest, Recorded, Wrote, WroteHistory, sha256
from ccmove.run.recognise import free_name, has_grown, holds, is_directory, is_folder
from ccmove.run.sweep import RECOVER, missing, sweep
from ccmove.run.takeback import document_back, history_back


def roll_back(layout: Layout) -> str | None:
    """Roll back an unfinished run; what was done, in words, or None when there was none."""
    try:
        remove_unwritten(layout)
        journal = read_journal(layout)
        if journal is None:
            return None
        if journal.manifest is None:  # nothing was changed yet
            sweep(layout, journal)
            return _done(journal.id)
        rollback = Rollback(layout, journal.manifest)
        rollback.refusemissing()
        locks = client_locks(layout, journal.manifest)
        if not rollback.begun:
            remove_stale(locks)
            locks = []  # nothing of the client's is touched
        with ClientLocks(locks):
            rollback.run()
        sweep(layout, journal)
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


class Rollback:
    """Undoes the operations of a run in the opposite order; each may have been done or not."""

    def __init__(self, layout: Layout, manifest: Manifest) -> None:
        self.layout = layout
        self.manifest = manifest
        self.begun = self._begun()
        self.stayed: list[str] = []  # what came later and was left as it is, in words

    def refusemissing(self) -> None:
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
                raise missing(f"{way[0]} is gone, and is not at {way[-1]} either")

    def _refuse_unsaved(self, wrote: Wrote) -> None:
        if self._is_staged(wrote):
            return
        try:
            read_saved(self.layout.run, wrote, "before")
        except RefusedError as error:
            raise missing(error.message) from error

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
        elif path.is_relative_to(self.layout.own) and has_grown(target, noted):
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
        if not (is_directory(target) and is_directory(path)):
            if path.suffix == ".jsonl":
                self.stayed.append(f"{path} was made again meanwhile; the earlier one is {target}")
                return
            later = free_name(path)
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
                raise missing(f"{first} and {last}: {both} the folder that was renamed")
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
            raise missing(f"{path} is used for something else, so {target} can't be renamed back")

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
