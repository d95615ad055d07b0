"""Take back a run that failed just now, or that died long ago, from the journal alone.

Each change of the run may have been done or not: it is recognised by the inode that it put in
place. What came later is never overwritten: such a file is reversed value by value.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

from ccmove.claude import nofollow
from ccmove.claude.layout import Layout
from ccmove.claude.state import read_document
from ccmove.errors import NothingKnownError, RefusedError, UnsettledError, describe, run
from ccmove.plan.model import Step
from ccmove.run import disk as files
from ccmove.run import reversal
from ccmove.run.disk import Attributes
from ccmove.run.journal import Journal, read_journal, remove_unfinished
from ccmove.run.locks import ClientLocks, remove_left_over
from ccmove.run.manifest import Content, Manifest, SavedFile, sha256_of
from ccmove.run.stage import history_pieces


def settle(layout: Layout) -> str | None:
    """Take back an interrupted run; what was done, in words, or None when there was none."""
    try:
        remove_unfinished(layout)
        journal = read_journal(layout)
    except OSError as error:
        raise _unsettled(error) from error
    if journal is None:
        return None
    try:
        undo = Undo(layout, journal, journal.manifest) if journal.manifest else None
        if undo is not None and undo.has_begun():
            with ClientLocks(list(journal.locks), journal.mark):
                # What was parked goes back the way it came, also when that was removed already.
                files.ensure_directory(layout.own / "work")
                undo.run()
        _refuse_vanished(layout, journal)
        _sweep(layout, journal)
    except OSError as error:
        raise _unsettled(error) from error
    except RefusedError as error:  # a lock is held: "nothing was done" would not be true
        raise UnsettledError(
            f"an interrupted run could not be taken back: {error.message}",
            run("ccmove", "recover", text="let it finish or leave it, then"),
        ) from error
    return f"the interrupted run {journal.id} was taken back"


def _unsettled(error: OSError) -> UnsettledError:
    return UnsettledError(
        f"an interrupted run could not be taken back: {describe(error)}",
        run("ccmove", "recover", text="mend that, then"),
    )


def _refuse_vanished(layout: Layout, journal: Journal) -> None:
    """A directory that someone took away may hold our changes, and come back with them."""
    needed = [path.parent for path in journal.staged if path.parent != layout.own / "work"]
    needed.append(layout.backups)
    steps = journal.manifest.steps if journal.manifest is not None else ()
    needed += [s.path for s in steps if s.target and s.path.parent == layout.projects]
    for path in dict.fromkeys(needed):
        if not nofollow.is_there(path):
            raise UnsettledError(
                f"{path} is gone, and with it what has to be taken back",
                run("mkdir", path, text="put it back where it was, or, if it is gone for good"),
                run("ccmove", "recover", text="then"),
            )


def _sweep(layout: Layout, journal: Journal) -> None:
    """Remove what the run left of its own; the journal last."""
    for path in journal.staged:
        files.remove_file(path)
    for path in journal.locks:
        remove_left_over(path, journal.mark)
    files.remove_tree(layout.own / "work")
    directory = layout.backups / journal.id
    with contextlib.suppress(FileNotFoundError):
        files.remove_directory(directory / "displaced")  # not empty: something of the user's
    files.remove_tree(directory)
    files.remove_file(layout.journal)


class Undo:
    """Takes the changes of a run back in the opposite order; each may have been done or not."""

    def __init__(self, layout: Layout, journal: Journal, manifest: Manifest) -> None:
        self.layout = layout
        self.manifest = manifest
        # What is made need not have been staged; `read_journal` has seen to the others.
        self._staged = dict(zip(manifest.files, journal.staged, strict=False))

    def has_begun(self) -> bool:
        """Whether anything of the user's was changed; if not, no lock is needed to take back."""
        numbered = zip(self.manifest.steps, self.manifest.inodes, strict=True)
        return any(
            _inode(place) == file.inode
            for file in self.manifest.files
            for place in (file.path, file.ends)
        ) or any(_may_be_done(step, inode) for step, inode in numbered)

    def run(self) -> None:
        for file in self.manifest.files:
            if file.before is None:
                self._remove_made(file)
        numbered = zip(self.manifest.steps, self.manifest.inodes, strict=True)
        for step, inode in reversed(list(numbered)):
            if step.target is not None:
                self._rename_back(step.path, step.target, inode)
            elif step.kind == "mkdir":
                with contextlib.suppress(FileNotFoundError):
                    self._remove_if_empty(step.path)
            elif not nofollow.is_there(step.path):
                files.make_directory(step.path, step.mode)
        for file in self.manifest.files:
            if file.before is not None:
                self._put_back(file, file.before)

    def _remove_made(self, file: SavedFile) -> None:
        with contextlib.suppress(FileNotFoundError):
            if os.lstat(file.path).st_ino == file.inode:
                files.remove_file(file.path)

    def _remove_if_empty(self, path: Path) -> None:
        try:
            files.remove_directory(path)
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:
                raise  # someone has put something there since: it is theirs

    def _rename_back(self, path: Path, target: Path, inode: int) -> None:
        try:
            if os.lstat(target).st_ino != inode:
                return
        except (FileNotFoundError, NotADirectoryError):
            return  # it was not done, or is taken back already
        if nofollow.is_there(path) and os.lstat(path).st_ino != inode:
            self._unite_back(target, path)
        else:
            files.rename_new(target, path)

    def _unite_back(self, target: Path, path: Path) -> None:
        """The old directory was made anew since: everything goes back beside what is there."""
        if not (target.is_dir() and path.is_dir()):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        for name in sorted(os.listdir(target)):
            if nofollow.is_there(path / name):
                self._unite_back(target / name, path / name)
            else:
                files.rename_new(target / name, path / name)
        files.remove_directory(target)

    def _put_back(self, file: SavedFile, before: Content) -> None:
        """The saved file itself when nothing came later; else what the reversal makes of it."""
        if _inode(self._staged[file]) == file.inode:
            return  # it was not replaced yet: whatever it holds is not ours
        saved = self.layout.backups / self.manifest.id / (file.saved or "")
        if not nofollow.is_there(saved):
            if _inode(file.path) == file.inode:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(saved))
            return  # a link that was renamed back already
        try:
            now = nofollow.lstat(file.path)
        except FileNotFoundError:
            self._bring_back(saved, file, before)
            return
        if now.st_ino == file.inode:
            self._refuse_changed(saved, before)
        if now.st_ino == file.inode and now.st_size == file.after.size:
            self._rename_saved(saved, file, before)
        elif os.lstat(saved).st_ino != now.st_ino:
            self._put_back_changed(file, before)

    def _bring_back(self, saved: Path, file: SavedFile, before: Content) -> None:
        """Someone took the file away, perhaps with our changes: it is there as before again."""
        if nofollow.is_there(file.path.parent):
            self._refuse_changed(saved, before)
            self._rename_saved(saved, file, before)

    def _refuse_changed(self, saved: Path, before: Content) -> None:
        """Never put back what is not what was saved."""
        if sha256_of(saved, before.size) != before.sha256:
            raise UnsettledError(
                f"{saved} was changed since it was saved",
                f"look at it and at {self.layout.journal}; nothing more is done by itself",
            )

    def _rename_saved(self, saved: Path, file: SavedFile, before: Content) -> None:
        found = os.lstat(saved)
        if stat.S_IMODE(found.st_mode) != before.mode:
            files.set_mode(saved, before.mode)
        if found.st_dev == os.lstat(file.path.parent).st_dev:
            files.rename_over(saved, file.path)
        else:
            self._replace(file, lambda staged: files.copy(saved, staged, keep_times=True))

    def _put_back_changed(self, file: SavedFile, before: Content) -> None:
        if file.is_history:
            self._put_back_history(file, before)
            return
        document = read_document(file.path)
        if document is None:
            return
        data = document.data
        content, _, _ = reversal.reversed_content(self.layout, self.manifest, file, data)
        if content != data:
            attributes = Attributes.of(os.lstat(file.path))
            self._replace(file, lambda staged: files.write_new(staged, [content], attributes))

    def _put_back_history(self, file: SavedFile, before: Content) -> None:
        if sha256_of(file.path, before.size) == before.sha256:
            return  # it is as before already, but for what was added
        change = reversal.reversed_history(self.layout, self.manifest, file, file.path, [])
        if change is None or not (change.lines or len(change.parts) > 1):
            return
        attributes = Attributes.of(os.lstat(file.path))
        pieces = history_pieces(change)
        self._replace(file, lambda staged: files.write_new(staged, pieces, attributes))

    def _replace(self, file: SavedFile, write: Callable[[Path], object]) -> None:
        """Through the name of its staged file, which the journal knows and which is free again."""
        staged = self._staged[file]
        files.remove_file(staged)
        write(staged)
        files.replace(staged, file.path)


def _inode(path: Path) -> int | None:
    try:
        return os.lstat(path).st_ino
    except (FileNotFoundError, NotADirectoryError):
        return None


def _may_be_done(step: Step, inode: int) -> bool:
    if step.target is not None:
        return _inode(step.target) == inode
    return (_inode(step.path) is not None) == (step.kind == "mkdir")


def set_aside(layout: Layout) -> str | None:
    """Stands in for keeping an unfinished run: there is nothing that could do it yet."""
    raise NothingKnownError(f"no run was interrupted in {layout.own}", run("ccmove", "recover"))
