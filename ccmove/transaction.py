"""All or nothing: one journal, one commit point, and steps that can be taken back.

A run goes through these, in this order; `attempt` reads as the list:

    plan        a read-only look
    preflight   is there room, is everything ours, on one file system, no link in the way
    begin       the journal: names what will be staged, so that it can be swept up
    save        the files that change are kept in the backup
    stage       their new content is written beside them, flushed, and checked
    lock        the client's locks, only now
    look again  is everything still as it was planned? (the history may have grown: carry over)
    commit      manifest and journal on disk: from here on all can be taken back from them alone
    change      replace, rename
    verify      exactly what was planned?
    finish      locks released, journal removed

Until the journal is gone, an interruption anywhere means: take back. `settle` does that for a
run that failed just now and for one that died long ago.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import signal
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from ccmove import backup, files, history, reversal, verifier
from ccmove.backup import Content, Journal, Manifest, SavedFile
from ccmove.errors import CcmoveError, RefusedError, StaleLookError, UnsettledError
from ccmove.files import Attributes
from ccmove.layout import Layout
from ccmove.locks import ClientLocks, own_lock, remove_left_over
from ccmove.plan import FileChange, HistoryChange, Plan, origin_of
from ccmove.state import Fingerprint, open_regular, reader

MakePlan = Callable[[Path], Plan]
Progress = Callable[[str, int, int], None]  # what, bytes done, bytes in all

TRIES = 5
ROOM_TO_SPARE = 1 << 20


@dataclass(frozen=True)
class Outcome:
    """What a run did; `identifier` is None when there was nothing to do."""

    plan: Plan
    identifier: str | None
    settled: str | None = None


def run(
    layout: Layout, make_plan: MakePlan, *, full: bool = False, progress: Progress | None = None
) -> Outcome:
    """Do what `make_plan` plans, or leave everything as it was."""
    refuse_foreign_state(layout)
    with own_lock(layout), termination_as_interrupt():
        settled = settle(layout)
        for tries_left in reversed(range(TRIES)):
            try:
                return replace(attempt(layout, make_plan, full, progress), settled=settled)
            except StaleLookError:
                if not tries_left:
                    raise
        raise AssertionError("unreachable")


def attempt(layout: Layout, make_plan: MakePlan, full: bool, progress: Progress | None) -> Outcome:
    """One try; StaleLookError when the state changed under it and nothing was done."""
    identifier = backup.new_id(layout)
    plan = make_plan(layout.backups / identifier / "displaced")
    if not plan.changes_anything:
        return Outcome(plan, None)
    preflight(layout, plan)
    work = Run(layout, plan, identifier, progress)
    try:
        work.begin()
        work.save()
        work.stage()
        traces = work.snapshot(full)
        with work.client_locks():
            work.look_again()
            work.commit()
            work.change()
            work.verify(traces, full)
        work.finish()
    except BaseException as error:
        _take_back(layout, error)
        raise
    return Outcome(plan, identifier)


def _take_back(layout: Layout, error: BaseException) -> None:
    """After a failure: everything as it was, or an error that says what to do."""
    with _interrupts_ignored():
        settle(layout)
    if isinstance(error, OSError):
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOENT):
            raise StaleLookError(f"the state changed meanwhile: {describe(error)}") from error
        raise CcmoveError(
            f"could not change the state: {describe(error)}",
            "everything is as it was; mend that and run the command again",
        ) from error


def describe(error: OSError) -> str:
    """An OSError as one plain line: the file and what the system said of it."""
    name = error.filename2 or error.filename
    where = f"{os.fsdecode(name)}: " if isinstance(name, (str, bytes)) else ""
    return f"{where}{error.strerror or error}"


# -- before anything is changed -----------------------------------------------------------------------


def refuse_foreign_state(layout: Layout) -> None:
    """Another user's state would get files that its owner can't use."""
    owner = os.stat(layout.config_dir).st_uid
    if owner != os.geteuid():
        raise RefusedError(
            f"{layout.config_dir} belongs to another user (uid {owner})",
            "run ccmove as that user",
        )


def preflight(layout: Layout, plan: Plan) -> None:
    """Refuse what is bound to fail, while nothing has been touched."""
    staged: dict[Path, int] = {}
    for change in plan.files:
        if not change.is_new:
            _refuse_foreign_file(change.path)
        parent = change.path.parent if change.path.parent.is_dir() else layout.config_dir
        staged[parent] = staged.get(parent, 0) + len(change.after or b"")
    if plan.history is not None:
        _refuse_foreign_file(plan.history.path)
        parent = plan.history.path.parent
        staged[parent] = staged.get(parent, 0) + sum(p.scan.size for p in plan.history.parts)
    for parent, size in staged.items():
        _refuse_full_disk(parent, size)
    _refuse_two_file_systems(layout, plan)


def _refuse_foreign_file(path: Path) -> None:
    found = os.lstat(path)
    if found.st_uid != os.geteuid():
        raise RefusedError(f"{path} belongs to another user (uid {found.st_uid})")
    if not stat.S_ISREG(found.st_mode):
        raise RefusedError(f"{path} is not a regular file")
    if not os.access(path.parent, os.W_OK):
        raise RefusedError(f"{path.parent} can't be written to", f"chmod u+w {path.parent}")


def _refuse_full_disk(directory: Path, size: int) -> None:
    space = os.statvfs(directory)
    free = space.f_bavail * space.f_frsize
    if free < size + ROOM_TO_SPARE:
        raise RefusedError(
            f"{directory}: {free:,} bytes are free, {size + ROOM_TO_SPARE:,} are needed",
            "make room, then run the command again",
        )


def _refuse_two_file_systems(layout: Layout, plan: Plan) -> None:
    home = os.stat(layout.own).st_dev
    folders = {Path(old) for old, _ in plan.folders}
    for step in plan.steps:
        existing = step.path if os.path.lexists(step.path) else step.path.parent
        if not os.path.lexists(existing):
            continue
        device = os.lstat(existing).st_dev
        expected = home
        if step.path in folders and step.target is not None:
            if not step.target.parent.is_dir():
                raise RefusedError(
                    f"{step.target.parent} does not exist", f"mkdir -p {step.target.parent}"
                )
            expected = os.stat(step.target.parent).st_dev
        if device != expected:
            raise RefusedError(
                f"{existing} is on another file system than where it is to go",
                "move it there yourself first" if step.path in folders else None,
            )


# -- the run -------------------------------------------------------------------------------------------


@dataclass
class Run:
    """The state of one attempt: where things are staged and what they will have been."""

    layout: Layout
    plan: Plan
    identifier: str
    progress: Progress | None = None
    mark: int = field(default_factory=lambda: secrets.randbelow(900_000_000) + 1_000)
    staged: dict[Path, Path] = field(default_factory=dict)
    inodes: dict[Path, int] = field(default_factory=dict)
    saved: dict[Path, tuple[str, bool]] = field(default_factory=dict)
    edits: dict[Path, tuple[str, str]] = field(default_factory=dict)
    history_before: Content | None = None
    history_after: Content | None = None
    _sha_before: hashlib._Hash = field(default_factory=hashlib.sha256)
    _sha_after: hashlib._Hash = field(default_factory=hashlib.sha256)
    _carried: int = 0

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
            self.staged[change.path] = parent / f".ccmove-{self.identifier}-{number}"
        files.ensure_directory(self.layout.backups)
        backup.write_journal(self._journal(None), self.layout)
        files.make_directory(self.work)

    def _changes(self) -> list[FileChange | HistoryChange]:
        return [*self.plan.files, *([self.plan.history] if self.plan.history else [])]

    def _journal(self, manifest: Manifest | None) -> Journal:
        return Journal(
            self.identifier, self.mark, self._locks(), tuple(self.staged.values()), manifest
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
        files.make_directory(self.directory)
        files.make_directory(self.directory / "files")
        if any(step.target and step.target.parent.name == "displaced" for step in self.plan.steps):
            files.make_directory(self.directory / "displaced")
        for number, change in enumerate(self._changes()):
            name = f"files/{number}"
            if isinstance(change, FileChange) and change.is_new:
                continue
            is_link = files.save(change.path, self.directory / name)
            self.saved[change.path] = (name, is_link)
            if isinstance(change, FileChange) and (change.edits or change.lines or change.appended):
                data = backup.edits_to_json(change.edits, change.lines, change.appended)
                files.write_new(self.directory / f"{name}.json", [data])
                self.edits[change.path] = (f"{name}.json", backup.sha256(data))

    def stage(self) -> None:
        """Write the new content beside each file, flush it, and check the history."""
        for change in self.plan.files:
            assert change.after is not None
            attributes = self._attributes(change)
            staged = self.staged[change.path]
            self.inodes[change.path] = files.write_new(staged, [change.after], attributes)
        if self.plan.history is not None:
            self._stage_history(self.plan.history)

    def _attributes(self, change: FileChange | HistoryChange) -> Attributes:
        if isinstance(change, FileChange) and change.is_new:
            return Attributes(change.mode if change.mode is not None else 0o600)
        wanted = Attributes.of(os.lstat(change.path))
        return replace(wanted, mtime_ns=change.keep_times)

    def _stage_history(self, change: HistoryChange) -> None:
        total = sum(part.scan.size - part.start for part in change.parts)
        staged = self.staged[change.path]
        pieces = self._counted(self._history_pieces(change), total)
        self.inodes[change.path] = files.write_new(staged, pieces, self._attributes(change))
        problems = verifier.check_history(change, staged)
        if problems:
            raise CcmoveError("the new history is not as planned").with_details(problems)

    def _history_pieces(self, change: HistoryChange) -> Iterator[bytes]:
        from_itself = len(change.parts) == 1 and change.parts[0].file == change.path
        for part in change.parts:
            fd = open_regular(part.file)
            if fd is None:
                raise StaleLookError(f"{part.file} is gone")
            try:
                read = reader(fd)
                source = _hashing(read, self._sha_before) if from_itself else read
                yield from history.rewritten(source, part.scan, part.start)
            finally:
                os.close(fd)
        if not from_itself:
            self._sha_before.update(b"")
            self._hash_current(change)

    def _hash_current(self, change: HistoryChange) -> None:
        fd = open_regular(change.path)
        if fd is None:
            raise StaleLookError(f"{change.path} is gone")
        try:
            read = reader(fd)
            for offset in range(0, change.seen.size, 1 << 20):
                self._sha_before.update(read(offset, min(1 << 20, change.seen.size - offset)))
        finally:
            os.close(fd)

    def _counted(self, pieces: Iterable[bytes], total: int) -> Iterator[bytes]:
        done = 0
        for piece in pieces:
            self._sha_after.update(piece)
            done += len(piece)
            if self.progress:
                self.progress("history", done, total)
            yield piece

    def snapshot(self, full: bool) -> dict[Path, verifier.Trace]:
        """What must survive the renames."""
        tick = self.ticker("hashing") if full else None
        return verifier.snapshot(self.plan, self.staged.values(), full=full, tick=tick)

    def client_locks(self) -> ClientLocks:
        return ClientLocks(list(self._locks()), self.mark)

    def look_again(self) -> None:
        """Under the locks: is everything still what the plan was made from?"""
        for change in self.plan.files:
            self._refuse_changed(change)
        if self.plan.history is not None:
            self._carry_over(self.plan.history)

    def _refuse_changed(self, change: FileChange) -> None:
        if change.seen is None:
            return
        try:
            now = Fingerprint.of(os.lstat(change.path))
        except FileNotFoundError:
            now = None
        if now != change.seen:
            raise StaleLookError(f"{change.path} keeps changing", "close Claude Code and try again")

    def _carry_over(self, change: HistoryChange) -> None:
        """What the client appended since the plan goes into the staged history too."""
        fd = open_regular(change.path)
        if fd is None:
            raise StaleLookError(f"{change.path} is gone")
        try:
            now = Fingerprint.of(os.fstat(fd))
            tail = b""
            if now != change.seen:
                tail = self._tail(change, now, reader(fd))
            found = history.scan(reader(fd), now.size, self.plan.paths, change.seen.size)
            added = b"".join(history.rewritten(reader(fd), found, change.seen.size))
            self._carried = found.lines
            attributes = Attributes.of(os.fstat(fd))
        finally:
            os.close(fd)
        if tail:
            files.append(self.staged[change.path], added, attributes)
            self._sha_before.update(tail)
            self._sha_after.update(added)
            self._save_tail(change, tail)
        size = os.lstat(self.staged[change.path]).st_size
        mtime = now.mtime_ns
        self.history_before = Content(
            self._sha_before.hexdigest(), now.size, attributes.mode, mtime
        )
        self.history_after = Content(self._sha_after.hexdigest(), size)

    def _tail(self, change: HistoryChange, now: Fingerprint, read: history.Read) -> bytes:
        grew = (now.inode, now.device) == (change.seen.inode, change.seen.device)
        whole_lines = change.seen.size == 0 or read(change.seen.size - 1, 1) == b"\n"
        if not grew or now.size <= change.seen.size or not whole_lines:
            raise StaleLookError(f"{change.path} keeps changing", "close Claude Code and try again")
        return read(change.seen.size, now.size - change.seen.size)

    def _save_tail(self, change: HistoryChange, tail: bytes) -> None:
        """A linked backup has grown with the file; a copied one has not."""
        name, is_link = self.saved[change.path]
        if not is_link:
            files.append(
                self.directory / name, tail, Attributes.of(os.lstat(self.directory / name))
            )

    def commit(self) -> None:
        """From here on everything can be taken back from the disk alone."""
        manifest = self._manifest()
        backup.write_manifest(manifest, self.layout)
        backup.write_journal(self._journal(manifest), self.layout)

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
            tuple(_inodes(plan)),
            tuple(self._saved_file(change) for change in self._changes()),
            plan.folders,
        )

    def _saved_file(self, change: FileChange | HistoryChange) -> SavedFile:
        saved = self.saved.get(change.path, (None, False))[0]
        inode = self.inodes[change.path]
        if isinstance(change, HistoryChange):
            assert self.history_after is not None
            return SavedFile(
                change.path, change.path, "history", saved,
                self.history_before, self.history_after, inode=inode,
            )  # fmt: skip
        after = Content(backup.sha256(change.after or b""), len(change.after or b""))
        before = None
        if change.before is not None:
            before = reversal.content_of(change.before, os.lstat(change.path))
        edits, edits_sha256 = self.edits.get(change.path, (None, None))
        return SavedFile(
            change.path, change.ends, change.place, saved, before, after, edits, edits_sha256, inode
        )

    def change(self) -> None:
        """The only part that changes what is the user's."""
        for change in self._changes():
            if isinstance(change, FileChange):
                if change.is_new:
                    continue
                self._refuse_changed(change)
            files.replace(self.staged[change.path], change.path)
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
                files.rename_new(self.staged[made.path], made.path)

    def verify(self, traces: dict[Path, verifier.Trace], full: bool) -> None:
        problems = verifier.check(self.plan, traces, full=full)
        if self.plan.history is not None:
            found = os.lstat(self.plan.history.path)
            assert self.history_after is not None
            wanted = (self.inodes[self.plan.history.path], self.history_after.size)
            if (found.st_ino, found.st_size) != wanted:
                problems.append(f"{self.plan.history.path} is not the file that was staged")
        if problems:
            raise CcmoveError(
                "the result is not what was planned, so everything was put back"
            ).with_details(problems)

    def finish(self) -> None:
        """Leave nothing behind but the backup, which only its owner can read."""
        for name, is_link in self.saved.values():
            path = self.directory / name
            if stat.S_IMODE(os.lstat(path).st_mode) != 0o600:
                files.set_mode(path, 0o600)
        files.remove_tree(self.work)
        files.remove_file(self.layout.journal)


def _hashing(read: history.Read, digest: hashlib._Hash) -> history.Read:
    def hashed(offset: int, length: int) -> bytes:
        block = read(offset, length)
        digest.update(block)
        return block

    return hashed


def _inodes(plan: Plan) -> Iterator[int]:
    """For each step the inode of what it renames, by which a done step is recognised."""
    origin: dict[Path, Path] = {}
    for step in plan.steps:
        if step.target is None:
            yield 0
            continue
        now = origin_of(step.path, origin)
        origin[step.target] = now
        yield os.lstat(now).st_ino


# -- taking back ----------------------------------------------------------------------------------------


def settle(layout: Layout) -> str | None:
    """Take back an interrupted run; what was done, in words, or None when there was none."""
    files.remove_file(layout.journal.with_name("journal.json.new"))
    journal = backup.read_journal(layout)
    if journal is None:
        return None
    try:
        if journal.manifest is None:
            _sweep(layout, journal)
        else:
            with ClientLocks(list(journal.locks), journal.mark):
                Undo(layout, journal, journal.manifest).run()
            _sweep(layout, journal)
    except OSError as error:
        raise UnsettledError(
            f"an interrupted run could not be taken back: {describe(error)}",
            "mend that, then: ccmove recover",
        ) from error
    return f"the interrupted run {journal.id} was taken back"


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


@dataclass
class Undo:
    """Takes the changes of a run back in the opposite order; each may have been done or not."""

    layout: Layout
    journal: Journal
    manifest: Manifest

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
            elif not os.path.lexists(step.path):
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
        if os.path.lexists(path) and os.lstat(path).st_ino != inode:
            self._unite_back(target, path)
        else:
            files.rename_new(target, path)

    def _unite_back(self, target: Path, path: Path) -> None:
        """The old directory was made anew since: everything goes back beside what is there."""
        if not (target.is_dir() and path.is_dir()):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        for name in sorted(os.listdir(target)):
            if os.path.lexists(path / name):
                self._unite_back(target / name, path / name)
            else:
                files.rename_new(target / name, path / name)
        files.remove_directory(target)

    def _put_back(self, file: SavedFile, before: Content) -> None:
        """The saved file itself when nothing came later; else what the reversal makes of it."""
        try:
            now = os.lstat(file.path)
        except FileNotFoundError:
            return
        saved = self.layout.backups / self.manifest.id / (file.saved or "")
        if not os.path.lexists(saved):
            return  # a link that was renamed back already
        if now.st_ino == file.inode and now.st_size == file.after.size:
            self._rename_saved(saved, file.path, before)
        elif os.lstat(saved).st_ino != now.st_ino:
            self._put_back_changed(file, before)

    def _rename_saved(self, saved: Path, path: Path, before: Content) -> None:
        found = os.lstat(saved)
        if stat.S_IMODE(found.st_mode) != before.mode:
            files.set_mode(saved, before.mode)
        if found.st_dev == os.lstat(path.parent).st_dev:
            files.rename_over(saved, path)
        else:
            self._replace(path, lambda staged: files.copy(saved, staged, keep_times=True))

    def _put_back_changed(self, file: SavedFile, before: Content) -> None:
        if file.is_history:
            self._put_back_history(file)
            return
        with open(file.path, "rb") as current:
            data = current.read()
        content, _, _ = reversal.reversed_content(self.layout, self.manifest, file, data)
        if content != data:
            attributes = Attributes.of(os.lstat(file.path))
            self._replace(file.path, lambda staged: files.write_new(staged, [content], attributes))

    def _put_back_history(self, file: SavedFile) -> None:
        change = reversal.reversed_history(self.layout, self.manifest, file, file.path, [])
        if change is None or not (change.lines or len(change.parts) > 1):
            return
        attributes = Attributes.of(os.lstat(file.path))
        pieces = _pieces(change)
        self._replace(file.path, lambda staged: files.write_new(staged, pieces, attributes))

    def _replace(self, path: Path, write: Callable[[Path], object]) -> None:
        """Through a staged file that the journal already names."""
        staged = next(s for s in self.journal.staged if s.parent == path.parent)
        files.remove_file(staged)
        write(staged)
        files.replace(staged, path)


def _pieces(change: HistoryChange) -> Iterator[bytes]:
    for part in change.parts:
        fd = open_regular(part.file)
        if fd is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(part.file))
        try:
            yield from history.rewritten(reader(fd), part.scan, part.start)
        finally:
            os.close(fd)


# -- signals ----------------------------------------------------------------------------------------------


class TerminatedError(KeyboardInterrupt):
    """SIGTERM or SIGHUP: end like Ctrl-C, with everything as it was."""


@contextlib.contextmanager
def termination_as_interrupt() -> Iterator[None]:
    """Give a run that is asked to end the chance to take everything back."""

    def end(number: int, _: object) -> None:
        raise TerminatedError(number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Taking back must not be interrupted half way."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
