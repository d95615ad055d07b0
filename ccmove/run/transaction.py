"""All or nothing: one journal, one commit point, and operations that can be rolled
back.

`attempt` reads as the list of steps, and `Work` says what each does. Until the last of
them, the rename that makes a backup of the run's directory, an interruption anywhere
means: roll back.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.reading import Fingerprint, is_there
from ccmove.errors import CcmoveError, StaleLookError, UnfinishedRunError, describe
from ccmove.hints import again, to_type
from ccmove.plan.model import (
    INCOMING,
    Arrived,
    Mkdir,
    Operation,
    Plan,
    Rename,
    Undertaking,
    Write,
    WriteHistory,
)
from ccmove.run import backups, disk, verify
from ccmove.run.journal import (
    begin,
    flush_parts,
    was_interrupted,
)
from ccmove.run.locks import client_locks, held, lock_of_run
from ccmove.run.manifest import (
    Manifest,
    Recorded,
    config_name,
    folder_id,
    staged_name,
    staged_path,
)
from ccmove.run.preflight import preflight, refuse_foreign_state
from ccmove.run.progress import Record
from ccmove.run.recognise import has_grown
from ccmove.run.rollback import roll_back
from ccmove.run.signals import interrupts_ignored, termination_as_interrupt
from ccmove.run.stage import (
    Staged,
    StagedDocument,
    StagedHistory,
    keeps_changing,
    save_note,
)

MakePlan = Callable[[], Plan]
Progress = Callable[[str, int, int], None]  # what, bytes done, bytes in all

TRIES = 5
MOST_SHOWN = 20  # of what is not as planned


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run did; `identifier` is None when there was nothing to do."""

    plan: Plan
    identifier: str | None
    rolled_back: str | None = None


# What the run says, as its backup keeps it.
MakeReport = Callable[[Outcome], bytes]


def run_plan(
    layout: Layout,
    make_plan: MakePlan,
    make_report: MakeReport,
    *,
    full: bool = False,
    progress: Progress | None = None,
    arriving: contextlib.AbstractContextManager[None] | None = None,
) -> Outcome:
    """Do what `make_plan` plans, or leave everything as it was.

    The first plan is made before our lock is taken, so that a refusal leaves no trace
    at all; should the state change before the locks are held, it is planned again. What
    is `arriving` has to be there before that.
    """
    refuse_foreign_state(layout)
    plan = None
    if arriving is None and not was_interrupted(layout):
        plan = _planned(layout, make_plan)
        if plan.is_nothing:
            return Outcome(plan, None)
    # `ending` outlives our lock: once the run is done nothing may claim that it was
    # interrupted.
    with (
        termination_as_interrupt(),
        contextlib.ExitStack() as ending,
        lock_of_run(layout),
    ):
        rolled_back = roll_back(layout, progress)
        if rolled_back:
            plan = None
        with arriving or contextlib.nullcontext():
            for tries_left in reversed(range(TRIES)):
                plan = plan or _planned(layout, make_plan)
                if plan.is_nothing:
                    roll_back(layout, progress, just_failed=True)  # what came in
                    return Outcome(plan, None, rolled_back)
                identifier = backups.new_id(layout)
                outcome = Outcome(plan, identifier, rolled_back)
                work = Work(layout, plan, identifier, progress, full=full)
                try:
                    attempt(work, partial(make_report, outcome), ending)
                    return outcome
                except StaleLookError:
                    if work.has_brought or not tries_left:
                        raise
                    plan = None
    raise AssertionError("the last try ends the loop")


@contextlib.contextmanager
def arrival(
    layout: Layout,
    about: Undertaking,
    receive: Callable[[Path], None],
    progress: Progress | None,
) -> Iterator[None]:
    """What comes in is in a directory of the run, where `receive` puts it.

    It is not planned again once some of it was brought, since a rollback removes that.
    """
    try:
        begin(layout, _first_manifest(layout, about, backups.new_id(layout)))
        receive(layout.run_dir / INCOMING)
        yield
    except BaseException as error:
        with interrupts_ignored():
            roll_back(layout, progress, just_failed=True)
        if isinstance(error, OSError):
            raise _failed(error) from error
        raise


def _planned(layout: Layout, make_plan: MakePlan) -> Plan:
    """A plan that passes every check that needs no writing."""
    plan = make_plan()
    preflight(layout, plan)
    return plan


def attempt(
    work: Work, make_report: Callable[[], bytes], ending: contextlib.ExitStack
) -> None:
    """One try; StaleLookError when the state changed under it and nothing was done."""
    try:
        work.begin()
        work.save_notes()
        work.stage()
        traces = work.snapshot()
        work.commit()
        with Record(work.layout.run_dir) as record:
            record.done(0)
            with held(client_locks(work.layout, work.manifest), work.progress):
                work.look_again()
                work.replace_locked(record)
            work.change_the_rest(record)
        work.verify(traces)
        work.keep_report(make_report())
        ending.enter_context(interrupts_ignored())
        work.finish()
    except BaseException as error:
        _roll_back(work, error)
        raise


def _roll_back(work: Work, error: BaseException) -> None:
    """After a failure: everything as it was, or an error that says what to do."""
    layout = work.layout
    with interrupts_ignored():
        rolled_back = roll_back(
            layout, work.progress, just_failed=True, keeps_incoming=True
        )
    if rolled_back is None and work.has_begun:
        what = f"{layout.run_dir} is gone, so the run could not be rolled back"
        first = f"put {layout.ccmove} back where it was, then"
        recover = to_type("ccmove", "recover", text=first)
        raise UnfinishedRunError(what, recover) from error
    if isinstance(error, OSError):
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOENT):
            raise StaleLookError(
                f"the state changed meanwhile: {describe(error)}"
            ) from error
        raise _failed(error) from error


def _failed(error: OSError) -> CcmoveError:
    what = f"could not change the state: {describe(error)}"
    return CcmoveError(what, again("everything is as it was; fix that and try again"))


def _refuse(problems: Iterable[str]) -> None:
    if shown := list(problems)[:MOST_SHOWN]:
        what = "the result is not what was planned, so everything was rolled back"
        raise CcmoveError(what, details=shown)


class Work:
    """One attempt: what it stages, and the steps in their order."""

    def __init__(
        self,
        layout: Layout,
        plan: Plan,
        identifier: str,
        progress: Progress | None,
        *,
        full: bool = False,
    ) -> None:
        self.layout = layout
        self.plan = plan
        self.full = full  # hash everything
        self.progress = progress or (lambda _what, _done, _total: None)
        self.manifest = _first_manifest(layout, plan, identifier)
        self.has_begun = False
        self.has_brought = False  # something that came in
        self._hashed = 0  # bytes
        self.staged: dict[int, Staged] = {}  # by the number of its operation
        for number, op in enumerate(plan.operations):
            if not isinstance(op, Write | WriteHistory):
                continue
            name = staged_name(identifier, number)
            path = staged_path(layout.run_dir, name, op.path, is_made=op.is_made)
            if isinstance(op, Write):
                self.staged[number] = StagedDocument(number, op, path)
            else:
                self.staged[number] = StagedHistory(number, op, path)

    def begin(self) -> None:
        begin(self.layout, self.manifest)
        self.has_begun = True

    def stage(self) -> None:
        """Save each file that changes; write its new content beside it,
        and read that back.
        """
        for staged in self.staged.values():
            staged.save(self.layout.run_dir / "files")
            staged.stage(lambda done, total: self.progress("history", done, total))
            if isinstance(staged, StagedDocument):
                _refuse(verify.check_write(staged.write, staged.path, full=self.full))

    def save_notes(self) -> None:
        """Save each note that a merge moves, as it is before that."""
        files = self.layout.run_dir / "files"
        rows = enumerate(self.plan.notes_moved)
        notes = [save_note(number, note, files) for number, note in rows]
        self.manifest = replace(self.manifest, notes_saved=tuple(notes))

    def snapshot(self) -> verify.Traces:
        tick = None
        if self.full:
            tick = self._hashing
        staged = [staged.path for staged in self.staged.values()]
        return verify.snapshot(self.plan, staged, tick)

    def _hashing(self, size: int) -> None:
        """Once before the renames and once after them."""
        self._hashed += size
        self.progress(
            "hashing", self._hashed, 2 * sum(move.size for move in self.plan.projects)
        )

    def commit(self) -> None:
        """From here on everything can be rolled back from the disk alone.

        The names of staged files must be on disk by then: one that is gone means that
        its write was done.
        """
        operations: list[Recorded] = []
        changed = {self.layout.run_dir / "files"}
        for number, op in enumerate(self.plan.operations):
            if isinstance(op, Write | WriteHistory):
                staged = self.staged[number]
                operations.append(staged.record())
                changed.add(staged.path.parent)
            else:
                operations.append(op)
        for directory in sorted(changed):
            disk.flush(directory)
        recorded = tuple(operations)
        self.manifest = replace(self.manifest, operations=recorded)
        backups.write_manifest(self.manifest, self.layout)

    def look_again(self) -> None:
        """Under the locks: is everything still what the plan was made from?"""
        grown = [staged.look_again() for staged in self.staged.values()]
        for path, seen in self.plan.seen:
            if Fingerprint.of(os.lstat(path)) != seen:  # gone is an error, too
                raise keeps_changing(path)
        if any(grown):
            self.commit()  # the manifest tells the size and the hash of the history

    def replace_locked(self, record: Record) -> None:
        """Under the locks: config file and history get what was staged for them.

        They come first in a plan. Whether they are right is seen here, since the client
        may write to them as soon as the locks are released.
        """
        for number, operation in enumerate(self.plan.locked):
            self._do(number, operation)
            record.done(number + 1)
            if isinstance(operation, Write):
                _refuse(verify.check_write(operation, operation.path))

    def change_the_rest(self, record: Record) -> None:
        """Without the locks: all other documents, then what is renamed and made."""
        plan = self.plan
        first = len(plan.locked)
        others = plan.operations[first:]
        for number, operation in enumerate(others, first):
            self._do(number, operation)
            record.done(number + 1)
        for write in plan.writes:
            if not write.is_locked:
                _refuse(verify.check_write(write, write.ends))

    def _do(self, number: int, operation: Operation) -> None:
        """One operation; what it finds must be as it was when it was planned."""
        match operation:
            case Rename(path, target, holds):
                disk.rename_new(path, target)
                if isinstance(holds, Arrived):
                    self.has_brought = True
                is_hidden = target.parent == self.layout.run_dir / "retired"
                # Nothing goes into the backup that came after it was looked at.
                if is_hidden and has_grown(target, holds):
                    raise keeps_changing(path)
            case Mkdir(path, mode):
                disk.make_directory(path, mode)
            case Write() | WriteHistory() if operation.is_made:
                staged = self.staged[number]
                disk.rename_new(staged.path, operation.path)
            case Write():
                staged = self.staged[number]
                staged.look_again()
                disk.replace(staged.path, operation.path)
            case WriteHistory(path):
                disk.replace(self.staged[number].path, path)

    def verify(self, traces: verify.Traces) -> None:
        """Every rename has happened, and every file that moved is the one it was."""
        tick = None
        if self.full:
            tick = self._hashing
        _refuse(verify.check(self.plan, traces, tick))

    def keep_report(self, report: bytes) -> None:
        """Part of the backup from its first moment, since the directory is not one yet;
        its name is flushed with the others.
        """
        disk.write_new(self.layout.run_dir / backups.REPORT, [report])

    def finish(self) -> None:
        """The run's directory becomes a backup that only its owner can read."""
        layout = self.layout
        history = self.manifest.history
        if history is not None:
            # Of the history what changed is kept, and no more.
            second_name = layout.run_dir / "files" / f"{history.number}.before"
            disk.remove_file(second_name, flushed=False)
        disk.remove_tree(layout.run_dir / INCOMING)
        flush_parts(layout)
        # With this the run is done: a flush that fails afterwards may not say
        # otherwise.
        backup = layout.backups / self.manifest.id
        with contextlib.suppress(OSError):
            disk.rename_new(layout.run_dir, backup)
        if is_there(layout.run_dir) or not is_there(layout.ccmove):
            raise CcmoveError(f"{layout.run_dir} could not be renamed to a backup")


def _first_manifest(layout: Layout, plan: Undertaking, identifier: str) -> Manifest:
    """What a run writes down when it begins: what it is about, what it replaces."""
    operations = plan.operations if isinstance(plan, Plan) else ()
    documents = [op for op in operations if isinstance(op, Write | WriteHistory)]
    replaced = [op.path for op in documents if not op.is_made]
    folders_at_new = [folder_id(new) for _, new in plan.moves]
    return Manifest(
        id=identifier,
        kind=plan.kind,
        moves=plan.moves,
        kept=plan.kept,
        projects=plan.projects,
        own_at_new=plan.own_at_new,
        prompts_at_new=plan.prompts_at_new,
        folders=plan.folders,
        settings_in=plan.settings_in,
        undoes=plan.undoes,
        options=plan.options,
        folders_at_new=tuple(filter(None, folders_at_new)),
        config_file=config_name(layout),
        replaced=tuple(replaced),
    )
