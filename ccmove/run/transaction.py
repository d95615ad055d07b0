"""All or nothing: one journal, one commit point, and steps that can be taken back.

A run goes through these, in this order; `attempt` reads as the list:

    plan        a read-only look
    preflight   is there room, is everything ours, on one file system, no link in the way
    begin       the journal: names what will be staged, so that it can be swept up
    save        the files that change are kept in the backup
    stage       their new content is written beside them, flushed, read back and checked
    commit      manifest and journal on disk: from here on all can be taken back from them alone
    lock        the client's locks, only now and for a moment
    look again  is everything still as it was planned? (the history may have grown: carry over)
    change      replace, rename, and see that what was staged is what is there
    verify      locks released: has everything that moved survived?
    finish      journal removed

Until the journal is gone, an interruption anywhere means: take back. `settle` does that for a
run that failed just now and for one that died long ago.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from ccmove import errors
from ccmove.background import hashing
from ccmove.claude import nofollow
from ccmove.claude.layout import Layout
from ccmove.claude.reading import Fingerprint
from ccmove.errors import CcmoveError, StaleLookError, UnsettledError, describe
from ccmove.plan.model import FileChange, HistoryChange, Plan, origin_of
from ccmove.run import backups as backup
from ccmove.run import disk as files
from ccmove.run import journal, manifest, verifier
from ccmove.run.disk import Attributes
from ccmove.run.journal import Journal
from ccmove.run.locks import ClientLocks, new_mark, own_lock
from ccmove.run.manifest import Content, Manifest, SavedFile
from ccmove.run.preflight import preflight, refuse_foreign_state
from ccmove.run.signals import interrupts_ignored, termination_as_interrupt
from ccmove.run.stage import StagedHistory

MakePlan = Callable[[Path], Plan]
Progress = Callable[[str, int, int], None]  # what, bytes done, bytes in all

TRIES = 5


class Outcome(NamedTuple):
    """What a run did; `identifier` is None when there was nothing to do."""

    plan: Plan
    identifier: str | None
    settled: str | None = None


def run(
    layout: Layout, make_plan: MakePlan, *, full: bool = False, progress: Progress | None = None
) -> Outcome:
    """Do what `make_plan` plans, or leave everything as it was.

    The first plan is made before our lock is taken, so that a refusal leaves no trace at all;
    should the state change before the locks are held, it is planned again.
    """
    refuse_foreign_state(layout)
    first = None if nofollow.is_there(layout.journal) else Draft.make(layout, make_plan)
    if first is not None and not first.plan.changes_anything:
        return Outcome(first.plan, None)
    # `ending` outlives our lock: once the run is done nothing may claim that it was interrupted.
    with termination_as_interrupt(), contextlib.ExitStack() as ending, own_lock(layout):
        settled = _settled(layout)
        for tries_left in reversed(range(TRIES)):
            draft = first if first is not None and not settled else Draft.make(layout, make_plan)
            first = None
            if not draft.plan.changes_anything:
                return Outcome(draft.plan, None, settled)
            try:
                attempt(Run(layout, draft.plan, draft.identifier, progress), full, ending)
            except StaleLookError:
                if not tries_left:
                    raise
            else:
                return Outcome(draft.plan, draft.identifier, settled)
        raise AssertionError("unreachable")


class Draft(NamedTuple):
    """A plan that may be carried out, under the ID that its backup will have."""

    identifier: str
    plan: Plan

    @classmethod
    def make(cls, layout: Layout, make_plan: MakePlan) -> Draft:
        identifier = backup.new_id(layout)
        plan = make_plan(layout.backups / identifier / "displaced")
        preflight(layout, plan)
        return cls(identifier, plan)


def attempt(work: Run, full: bool, ending: contextlib.ExitStack) -> None:
    """One try; StaleLookError when the state changed under it and nothing was done."""
    try:
        work.begin()
        work.save()
        work.stage()
        work.check_staged(full)
        traces = work.snapshot(full)
        work.commit()
        with work.client_locks():
            work.look_again()
            work.change()
            work.check_places()
        work.verify(traces, full)
        ending.enter_context(interrupts_ignored())
        work.finish()
    except BaseException as error:
        _take_back(work, error)
        raise


def _settled(layout: Layout) -> str | None:
    """Take back what was interrupted. As a rule nothing was: then the way back is not loaded."""
    if not journal.was_interrupted(layout):
        return None
    from ccmove.run.rollback import settle

    return settle(layout)


def _take_back(work: Run, error: BaseException) -> None:
    """After a failure: everything as it was, or an error that says what to do."""
    with interrupts_ignored():
        if _settled(work.layout) is None and work.has_journal:
            raise UnsettledError(
                f"{work.layout.journal} is gone, so the run could not be taken back",
                errors.run(
                    "ccmove", "recover", text=f"put {work.layout.own} back where it was, then"
                ),
            ) from error
    if isinstance(error, OSError):
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOENT):
            raise StaleLookError(f"the state changed meanwhile: {describe(error)}") from error
        raise CcmoveError(
            f"could not change the state: {describe(error)}",
            errors.again("everything is as it was; mend that and run it again"),
        ) from error


def _refuse(problems: list[str]) -> None:
    if problems:
        raise CcmoveError(
            "the result is not what was planned, so everything was put back", details=problems
        )


# -- the run ---------------------------------------------------------------------------


def final(change: FileChange | HistoryChange) -> Path:
    """Where a change is in the end. One file may leave the place where another is made, so
    that only this tells them apart."""
    return change.ends if isinstance(change, FileChange) else change.path


class Run:
    """The state of one attempt: where things are staged and what they will have been."""

    def __init__(
        self, layout: Layout, plan: Plan, identifier: str, progress: Progress | None = None
    ) -> None:
        self.layout = layout
        self.plan = plan
        self.identifier = identifier
        self.progress = progress
        self.mark = new_mark()
        # These by where each file will be:
        self.staged: dict[Path, Path] = {}
        self.inodes: dict[Path, int] = {}
        self.saved: dict[Path, tuple[str, bool]] = {}
        self.edits: dict[Path, tuple[str, str]] = {}
        self.hashes: dict[Path, tuple[Callable[[], str], Callable[[], str]]] = {}  # before, after
        self.history: StagedHistory | None = None
        self.has_journal = False

    @property
    def directory(self) -> Path:
        return self.layout.backups / self.identifier

    @property
    def work(self) -> Path:
        return self.layout.own / "work"

    def ticker(self, what: str) -> Callable[[int], None]:
        done = 0
        total = sum(move.size for move in self.plan.projects)

        def tick(size: int) -> None:
            nonlocal done
            done += size
            if self.progress:
                self.progress(what, done, total)

        return tick

    def begin(self) -> None:
        """Write down what will be staged, before any of it is there."""
        for number, change in enumerate(self._changes()):
            parent = change.path.parent
            if isinstance(change, FileChange) and change.is_new:
                parent = self.work
            self.staged[final(change)] = parent / f".ccmove-{self.identifier}-{number}"
        if self.plan.history is not None:
            staged = self.staged[final(self.plan.history)]
            self.history = StagedHistory(self.plan.history, staged, self.plan.paths)
        files.ensure_directory(self.layout.backups)
        journal.write_journal(self._journal(None), self.layout)
        self.has_journal = True
        if self._needs_work():
            files.make_directory(self.work, flushed=False)

    def _needs_work(self) -> bool:
        """Whether something is made, or parked, where nothing of the user's is."""
        return any(change.is_new for change in self.plan.files) or any(
            self.work in (step.path.parent, step.target and step.target.parent)
            for step in self.plan.steps
        )

    def _changes(self) -> list[FileChange | HistoryChange]:
        return [*self.plan.files, *([self.plan.history] if self.plan.history else [])]

    def _journal(self, record: Manifest | None) -> Journal:
        return Journal(
            self.identifier, self.mark, self._locks(), tuple(self.staged.values()), record
        )

    def _locks(self) -> tuple[Path, ...]:
        """The client's locks that this plan needs."""
        history_lock, config_lock = self.layout.client_locks
        needed = [history_lock] if self.plan.history is not None else []
        if any(change.place == "config" for change in self.plan.files):
            needed.append(config_lock)
        return tuple(needed)

    def save(self) -> None:
        """Keep every file that changes, and write down the edits that it gets."""
        files.make_directory(self.directory, flushed=False)
        files.make_directory(self.directory / "files", flushed=False)
        if any(step.target and step.target.parent.name == "displaced" for step in self.plan.steps):
            files.make_directory(self.directory / "displaced", flushed=False)
        for number, change in enumerate(self._changes()):
            name = f"files/{number}"
            if isinstance(change, FileChange) and change.is_new:
                continue
            is_link = files.save(change.path, self.directory / name)
            self.saved[final(change)] = (name, is_link)
            if isinstance(change, FileChange) and (change.edits or change.lines or change.appended):
                data = manifest.edits_to_json(change.edits, change.lines, change.appended)
                files.write_new(self.directory / f"{name}.json", [data])
                self.edits[final(change)] = (f"{name}.json", manifest.sha256(data))

    def stage(self) -> None:
        """Write the new content beside each file, flush it, and check the history."""
        for change in self.plan.files:
            assert change.after is not None
            attributes = self._attributes(change)
            staged = self.staged[final(change)]
            # While the disk works there is time for this; the manifest needs both.
            self.hashes[final(change)] = hashing(change.before or b""), hashing(change.after)
            self.inodes[final(change)] = files.write_new(staged, [change.after], attributes)
        if self.history is not None:
            self._stage_history(self.history)

    def _stage_history(self, history: StagedHistory) -> None:
        progress = self.progress
        tick = (lambda done, total: progress("history", done, total)) if progress else None
        history.write(self._attributes(history.change), tick)
        self.inodes[final(history.change)] = history.inode

    def _attributes(self, change: FileChange | HistoryChange) -> Attributes:
        if isinstance(change, FileChange) and change.is_new:
            return Attributes(change.mode if change.mode is not None else 0o600)
        wanted = Attributes.of(os.lstat(change.path))
        return wanted._replace(mtime_ns=change.keep_times)

    def check_staged(self, full: bool) -> None:
        """What was written is read back: to the byte what was planned, and valid."""
        for change in self.plan.files:
            _refuse(verifier.check_file(change, self.staged[final(change)], full=full))

    def snapshot(self, full: bool) -> verifier.Traces:
        """What must survive the renames."""
        tick = self.ticker("hashing") if full else None
        return verifier.snapshot(self.plan, self.staged.values(), full=full, tick=tick)

    def client_locks(self) -> ClientLocks:
        return ClientLocks(list(self._locks()), self.mark)

    def look_again(self) -> None:
        """Under the locks: is everything still what the plan was made from?"""
        for change in self.plan.files:
            self._refuse_changed(change)
        if self.history is not None:
            name, is_link = self.saved[final(self.history.change)]
            if self.history.carry_over(None if is_link else self.directory / name):
                self.commit()  # the manifest tells the size and the hash of the history

    def _refuse_changed(self, change: FileChange) -> None:
        if change.seen is None:
            return
        try:
            now = Fingerprint.of(os.lstat(change.path))
        except FileNotFoundError:
            now = None
        if now != change.seen:
            raise StaleLookError(f"{change.path} keeps changing", "close Claude Code and try again")

    def commit(self) -> None:
        """From here on everything can be taken back from the disk alone."""
        record = self._manifest()
        backup.write_manifest(record, self.layout)
        for directory in (self.directory / "files", self.directory, self.layout.backups):
            files.flush(directory)
        if self._needs_work():
            files.flush(self.layout.own)
        journal.write_journal(self._journal(record), self.layout)

    def _manifest(self) -> Manifest:
        plan = self.plan
        return Manifest(
            self.identifier,
            plan.kind,
            time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            plan.paths.moves,
            tuple(sorted(plan.paths.kept)),
            plan.undoes,
            plan.projects,
            plan.steps,
            tuple(self._renamed_inodes()),
            tuple(self._saved_file(change) for change in self._changes()),
            plan.folders,
            plan.native,
        )

    def _renamed_inodes(self) -> Iterator[int]:
        """For each step the inode of what it renames, by which a done step is recognised.

        A file that is replaced first has the inode of its staged content by then.
        """
        replaced = {c.path: self.inodes[c.ends] for c in self.plan.files if not c.is_new}
        origin: dict[Path, Path] = {}
        for step in self.plan.steps:
            if step.target is None:
                yield 0
                continue
            now = origin_of(step.path, origin)
            origin[step.target] = now
            yield replaced.get(now) or os.lstat(now).st_ino

    def _saved_file(self, change: FileChange | HistoryChange) -> SavedFile:
        saved = self.saved.get(final(change), (None, False))[0]
        inode = self.inodes[final(change)]
        if isinstance(change, HistoryChange):
            assert self.history is not None
            before, after = self.history.contents()
            return SavedFile(change.path, change.path, "history", saved, before, after, inode=inode)
        sha_before, sha_after = self.hashes[final(change)]
        was = None
        if change.before is not None:
            now = os.lstat(change.path)
            mode = stat.S_IMODE(now.st_mode)
            was = Content(sha_before(), len(change.before), mode, now.st_mtime_ns)
        will_be = Content(sha_after(), len(change.after or b""))
        edits, edits_sha256 = self.edits.get(final(change), (None, None))
        return SavedFile(
            change.path, change.ends, change.place, saved, was, will_be, edits, edits_sha256, inode
        )

    def change(self) -> None:
        """The only part that changes what is the user's."""
        for change in self._changes():
            if isinstance(change, FileChange):
                if change.is_new:
                    continue
                self._refuse_changed(change)
            files.replace(self.staged[final(change)], change.path)
        for step in self.plan.steps:
            if step.kind == "rename":
                assert step.target is not None
                files.rename_new(step.path, step.target)
            elif step.kind == "mkdir":
                files.make_directory(step.path, step.mode)
            else:
                files.remove_directory(step.path)
        for made in self.plan.files:
            if made.is_new:
                files.rename_new(self.staged[final(made)], made.path)

    def check_places(self) -> None:
        """Under the locks: what is in its place is the very file that was staged and checked."""
        for change in self._changes():
            ends = final(change)
            found = os.lstat(ends)
            if (found.st_ino, found.st_size) != (self.inodes[final(change)], self._size(change)):
                problems = [f"{ends} is not the file that was staged"]
                if isinstance(change, FileChange):
                    problems += verifier.check_file(change, ends)
                _refuse(problems)

    def _size(self, change: FileChange | HistoryChange) -> int:
        if isinstance(change, FileChange):
            return len(change.after or b"")
        assert self.history is not None
        return self.history.contents()[1].size

    def verify(self, traces: verifier.Traces, full: bool) -> None:
        """Every rename has happened, and every file that moved is the one it was."""
        _refuse(verifier.check(self.plan, traces, full=full))

    def finish(self) -> None:
        """Leave nothing behind but the backup, which only its owner can read."""
        for name, _ in self.saved.values():
            path = self.directory / name
            if stat.S_IMODE(os.lstat(path).st_mode) != 0o600:
                files.set_mode(path, 0o600)
        files.remove_tree(self.work)
        try:
            files.remove_file(self.layout.journal, may_be_gone=False)
        except FileNotFoundError:
            raise  # someone took it away: should it come back, the whole run is taken back
        except OSError:
            if nofollow.is_there(self.layout.journal):
                raise
            # Gone, so the run is done; only the flush failed. Should the power fail now, the
            # journal may come back, and then the whole run is taken back.
