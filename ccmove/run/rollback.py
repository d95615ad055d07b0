"""Roll back a run that failed just now, or that died long ago, from what is on disk.

A move was killed, say. The next command that changes anything finds `ccmove/run/`, and:

1. reads the manifest, which has the list of operations, and the record of progress,
   which says how many of them are done;
2. looks whether what it will need is there, as far as that can be told by now, and
   touches nothing if it is not;
3. undoes what is done, the last first, and records each: a recovery that is killed goes
   on from there;
4. removes what the run staged and saved, and its directory.

So at most one operation is in doubt, and what is there decides that one:

- A write is done if and only if its staged file is gone: the replacing rename consumes
  it.
- A rename is done if the old place is empty. Should both places be taken, then what is
  in `ccmove/` is ours; else it is done if the target holds what was noted and the old
  place does not.
- A directory that may be ours is removed if it is empty.

What came later wins: of a changed document only our own change is taken out, a file
that we made stays if it was changed, and a state directory that was made again is
merged file by file. Nothing is deleted but what we made. What can't be rolled back is
kept, and blocks: exit 5.
"""

import contextlib
import os
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.reading import (
    directory,
    is_there,
    names_in,
    open_regular,
    read_document,
    reader,
)
from ccmove.claude.state import SESSION_ID
from ccmove.errors import CcmoveError, RefusedError, UnfinishedRunError, describe
from ccmove.plan.model import Arrived, FolderHolds, Holds, Mkdir, Rename
from ccmove.plan.placing import mode_of
from ccmove.rewrite import history, index
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.run import disk, journal, progress
from ccmove.run.arrived import (
    arrivals,
    remove_if_empty,
    session_at,
    sessions_that_left,
    sessions_that_went_on,
    take_out,
)
from ccmove.run.disk import Attributes
from ccmove.run.journal import (
    TO_RECOVER,
    TO_SET_ASIDE,
    read_run,
    sweep_up,
    was_interrupted,
)
from ccmove.run.locks import Waiting, ccmove_lock, client_locks, held, remove_stale
from ccmove.run.manifest import (
    Manifest,
    Recorded,
    Wrote,
    WroteHistory,
    name_on_the_way_back,
    staged_name,
    staged_path,
)
from ccmove.run.preflight import refuse_foreign_state
from ccmove.run.progress import Record
from ccmove.run.recognise import (
    Noted,
    has_grown,
    is_directory,
    is_noted,
    is_respelled,
    is_swept,
)
from ccmove.run.saved import document_back, plan_history_back, read_saved
from ccmove.run.signals import termination_as_interrupt
from ccmove.run.since import Since
from ccmove.run.stage import StagedHistory
from ccmove.text import as_bytes, as_text


def recover(
    layout: Layout,
    waiting: Waiting | None = None,
    *,
    dry_run: bool = False,
    set_aside: bool = False,
) -> str | None:
    """Roll back an interrupted run, or else keep all that belongs to it; what was done.

    A preview can't: what is there now is half moved, so that it would show what is not
    so.
    """
    if not is_there(layout.ccmove):
        return None
    refuse_foreign_state(layout)
    # Known without a lock, so also where none can be made.
    if not was_interrupted(layout):
        return None
    if dry_run:
        what = "a run was interrupted and has to be rolled back first"
        raise UnfinishedRunError(what)
    with ccmove_lock(layout), termination_as_interrupt():
        try:
            return roll_back(layout, waiting)
        except UnfinishedRunError:
            if set_aside:
                return f"Set aside the interrupted run {journal.set_aside(layout)}."
            raise


def roll_back(
    layout: Layout,
    waiting: Waiting | None,
    *,
    just_failed: bool = False,
    keeps_incoming: bool = False,
) -> str | None:
    """Roll back an unfinished run; what was done, in words, None if there was none, or
    only the beginning of its directory.

    What came in for it is kept only where the same run is planned again.
    """
    stayed: list[str] = []
    try:
        manifest = read_run(layout)
        if manifest is not None:
            rollback = Rollback(layout, manifest, just_failed=just_failed)
            stayed = rollback.roll_back(waiting)
        identifier = sweep_up(layout, manifest, keeps_incoming=keeps_incoming)
        if identifier:
            kept = layout.unfinished / identifier
            stayed = [line.replace(str(layout.run_dir), str(kept)) for line in stayed]
            stayed.append(f"what is left of it is in {kept}")
    except UnfinishedRunError:
        raise
    except (OSError, CcmoveError) as error:
        # Which would say that nothing was done.
        what = f"an interrupted run could not be rolled back: {describe(error)}"
        raise UnfinishedRunError(what, TO_RECOVER, TO_SET_ASIDE) from error
    if manifest is None:
        return None
    rest = "; ".join(stayed) or "Everything is as it was before"
    return f"Rolled back the interrupted run {manifest.id}. {rest}."


@dataclass(frozen=True, slots=True)
class Way:
    """One thing that was renamed, what was noted of it, and its places in order."""

    noted: Noted
    places: list[Path]

    def present(self) -> list[Path]:
        """Those of its places at which it is; one that is spelled in two ways once."""
        present: list[Path] = []
        for place in self.places:
            if not is_noted(place, self.noted):
                continue
            if not any(place == p or is_respelled(place, p) for p in present):
                present.append(place)
        return present


def _ways(operations: Iterable[Recorded]) -> Iterable[Way]:
    """The way of each thing that was renamed, maybe more than once; not of what came in
    an archive, which is taken out file by file.
    """
    ways: dict[Path, Way] = {}  # by where each is so far
    for operation in operations:
        if not isinstance(operation, Rename):
            continue
        path = operation.path
        noted = operation.holds
        if not isinstance(noted, Arrived):
            way = ways.pop(path, Way(noted, [path]))
            way.places.append(operation.target)
            ways[operation.target] = way
    return ways.values()


class Rollback:
    """Undoes the operations of a run that are done, in the opposite order."""

    def __init__(
        self, layout: Layout, manifest: Manifest, *, just_failed: bool = False
    ) -> None:
        self.layout = layout
        self.manifest = manifest
        self.just_failed = just_failed  # and is rolled back by the run itself
        self._doubtful: Recorded | None = None  # may be undone already
        self._history: StagedHistory | None = None  # without the run's change
        self.operations = self._done()
        went_on = sessions_that_went_on(self.operations)
        left = sessions_that_left(layout.projects, self.operations)
        self.since = Since(manifest, went_on | left.keys())
        # What came later and was left as it is, in words:
        self.stayed = [
            f"session {session} left for {name} since, so it stays there"
            for session, name in left.items()
        ]

    def roll_back(self, waiting: Waiting | None) -> list[str]:
        """Undo what is done, the last first; what stayed as it is, in words.

        The client's locks are held only while the config file and the history are put
        back, which were replaced first.
        """
        layout = self.layout
        operations = self.operations
        self._refuse_links()
        self._refuse_missing()
        if not self.manifest.operations:
            return []  # it did not come to its commit point
        written = [op for op in operations if isinstance(op, Wrote | WroteHistory)]
        locked = sum(op.is_locked for op in written)  # the first of them
        locks = client_locks(layout, self.manifest)
        remove_stale(locks)
        with Record(layout.run_dir) as record, contextlib.ExitStack() as holding:
            record.left(len(operations))
            self._stage_history()
            for number in reversed(range(len(operations))):
                if number == locked - 1:
                    holding.enter_context(held(locks, waiting))
                self._undo(operations[number])
                record.left(number)
        return self.stayed

    # -- what is done, and where things are

    def _done(self) -> tuple[Recorded, ...]:
        """The operations that are done, by the record of progress; of the one that is
        in doubt by what is there.
        """
        operations = self.manifest.operations
        if not operations:
            return ()
        reached = progress.read(self.layout.run_dir, len(operations))
        number = reached.done
        if reached.goes_back:
            if number:
                self._doubtful = operations[number - 1]
        elif reached.has_begun and number < len(operations):
            in_doubt = operations[number]
            if self._is_done(in_doubt):
                number += 1
        return operations[:number]

    def _is_done(self, operation: Recorded) -> bool:
        """Whether the one operation is done that is in doubt.

        The replacing rename consumes a staged file. What is renamed is not where it
        was; should something be there, then the client has made it again meanwhile.
        """
        match operation:
            case Wrote() | WroteHistory():
                name = staged_name(self.manifest.id, operation.number)
                run_dir = self.layout.run_dir
                is_made = operation.before is None
                staged = staged_path(run_dir, name, operation.path, is_made=is_made)
                return not is_there(staged)
            case Mkdir(path):
                return is_directory(path)
            case Rename():
                return self._place_of(operation) == operation.target

    def _place_of(self, rename: Rename) -> Path | None:
        """Where something that was renamed is: its old place, or the new one; None if
        that can't be told.

        Both may be there: what is at the other one was made since by somebody else.
        """
        path = rename.path
        target = rename.target
        if not is_there(path):
            return target
        if is_respelled(path, target):
            return target
        for place in (target, path):  # in ours nobody else makes anything
            if place.is_relative_to(self.layout.ccmove) and is_there(place):
                return place
        is_at_old = is_noted(path, rename.holds)
        if is_at_old == is_noted(target, rename.holds):
            return None
        if is_at_old:
            return path
        return target

    # -- before anything is touched

    def _refuse_links(self) -> None:
        """Nothing was looked at through a link that was put there meanwhile.

        What is behind it is another directory, and says nothing about the one in which
        the run worked.
        """
        parents = {op.path.parent for op in self.manifest.operations}
        parents.update(rename.target.parent for rename in self.manifest.renames)
        for parent in sorted(parents):
            with contextlib.suppress(FileNotFoundError), directory(parent):
                pass

    def _refuse_missing(self) -> None:
        """The texts of before and every directory that was renamed are there, and where
        something was staged; what was renamed comes back, and with it what is in it.

        A single file may be gone: then there is nothing to rename back.
        """
        renamed: set[Path] = set()
        for operation in self.operations:
            if isinstance(operation, Rename):
                renamed.add(operation.path)
            elif isinstance(operation, Wrote) and operation.before is not None:
                read_saved(self.layout.run_dir, operation, "before")
        for path in self.manifest.replaced:
            if renamed.isdisjoint((path, *path.parents)):
                self._refuse_gone(path.parent)
        folders: list[Way] = []
        for way in _ways(self.operations):
            noted = way.noted
            if isinstance(noted, FolderHolds):
                folders.append(way)
            elif isinstance(noted, Holds) and not self._is_somewhere(way):
                first = way.places[0]
                last = way.places[-1]
                raise RefusedError(f"{first} is gone, and is not at {last} either")
        _refuse_other_folders(folders)

    def _refuse_gone(self, place: Path) -> None:
        """A directory that is gone may be there again later, with our file or our
        change in it. Not that of a job, unless it was there just now.
        """
        may_come_back = self.just_failed or place.parent != self.layout.jobs
        if may_come_back and not is_there(place):
            raise RefusedError(f"{place} is gone")

    def _is_somewhere(self, way: Way) -> bool:
        """Whether a directory is in one of its places, or was one that only the client
        empties: it deletes sessions that are old.
        """
        if way.noted == Holds(()) or way.present():
            return True
        *_, old, last = way.places
        if SESSION_ID.match(last.name):
            return is_there(old.parent) or is_there(last.parent)
        if is_swept(last):
            return True
        doubtful = self._doubtful
        if not isinstance(doubtful, Rename) or doubtful.target != last:
            return False
        return is_swept(old)

    # -- files and directories

    def _undo(self, operation: Recorded) -> None:
        """The opposite of one operation that is done."""
        match operation:
            case Rename(target=target, holds=Arrived() as arrived):
                self.stayed += take_out(arrived, target, self.since.elsewhere)
            case Rename() if is_there(operation.target):
                self._rename_back(operation)
            case Mkdir(path):
                self.stayed += remove_if_empty(path)
            case WroteHistory():
                self._put_history_back(operation)
            case Wrote(before=None):
                self._remove_made(operation)
            case Wrote():
                self._put_back(operation)

    def _rename_back(self, rename: Rename) -> None:
        """Of what is there: nothing is replaced, and nothing is hidden in a backup that
        came since.
        """
        path = rename.path
        target = rename.target
        noted = rename.holds
        if is_respelled(path, target):
            disk.rename_new(target, path)
            return
        if self._is_back(rename):
            return
        if self._is_outlived(path):
            self.stayed.append(f"an earlier {path} is {target}")
            return
        # Ours may be gone by now: a backup was pruned.
        for parent in reversed(path.parents):
            if parent.is_relative_to(self.layout.ccmove):
                disk.ensure_directory(parent)
        is_hidden = path.is_relative_to(self.layout.backups)
        if is_there(path):
            names = noted.names if isinstance(noted, Holds) else ()
            tops = {name.partition("/")[0] for name in names}
            self._merge_back(target, path, tops)
        elif is_hidden and self._has_grown(rename):
            self.stayed.append(f"{target} has something new in it and stays")
            if is_directory(target):
                disk.make_directory(path)  # an empty one, as it was
        else:
            disk.rename_new(target, path)

    def _is_back(self, rename: Rename) -> bool:
        """Whether what was renamed is in its old place again, so that what is at the
        new one by now is somebody else's.

        Someone has brought it back, or a recovery that was killed then: where that has
        emptied the new place, it has still to be removed.
        """
        target = rename.target
        is_emptied = is_directory(target) and not names_in(target)
        if rename is self._doubtful and is_emptied:
            return False
        return self._place_of(rename) == rename.path

    def _is_outlived(self, path: Path) -> bool:
        """Whether it is a former version of what came for a session that stays: where
        that left for another project it would be one session in two.
        """
        if session_at(path) not in self.since.elsewhere:
            return False
        return any(path == place for place, _ in arrivals(self.operations))

    def _has_grown(self, rename: Rename) -> bool:
        """Whether something came to what was taken out of a backup: not to be hidden.

        A document may have been written there before it was renamed, by this run.
        """
        target = rename.target
        for wrote in self.manifest.writes:
            if wrote.ends == target:
                document = read_document(target)
                return document is None or not wrote.left(document.data)
        return has_grown(target, rename.holds)

    def _merge_back(
        self, target: Path, path: Path, last: Set[str] = frozenset()
    ) -> None:
        """The old name was used again since: everything goes back beside what is there.

        A later file makes way under another name, with the same ending, so that it is
        still read for what it was. Two transcripts of one session both stay where
        they are, since the client goes by that name. `last` are the names by which the
        directory is known: as long as one of them is in the new place, a recovery that
        is killed here goes on the next time.
        """
        if not (is_directory(target) and is_directory(path)):
            other = f"the earlier one is {target}"
            if path.suffix != ".jsonl":
                later = _name_of_later(path)
                disk.rename_new(path, later)
                disk.rename_new(target, path)
                other = f"the later one is {later}"
            self.stayed.append(f"{path} was made again meanwhile; {other}")
            return
        names = names_in(target)
        if names or target.is_relative_to(self.layout.ccmove):  # else it is not ours
            disk.set_mode(path, mode_of(target))
        for name in sorted(names, key=last.__contains__):
            if is_there(path / name):
                self._merge_back(target / name, path / name)
            else:
                disk.rename_new(target / name, path / name)
        self.stayed += remove_if_empty(target)

    # -- documents

    def _remove_made(self, wrote: Wrote) -> None:
        """A file that we made goes while it still holds exactly what we wrote; what
        others wrote into a config file stays in it, without ours.
        """
        document = read_document(wrote.path)
        if document is None:
            return
        if wrote.form == "index":
            self._take_entries_out(wrote, document.data)
        elif wrote.left(document.data):
            disk.remove_file(wrote.path)
        elif wrote.form == "config":
            _, lock = self.layout.client_locks
            with held([lock]):
                self._put_back(wrote)
        else:
            self.stayed.append(f"{wrote.path} has changed since, so it stays")

    def _take_entries_out(self, wrote: Wrote, now: bytes) -> None:
        """Of an index that we made, those of the sessions that go; all of it while it
        has nothing else.
        """
        path = wrote.path
        came = set()
        for file, _ in arrivals(self.operations):
            if file.is_relative_to(path.parent):
                session = session_at(file)
                came.add(session or "")
        going = came - self.since.elsewhere
        if going == came and wrote.left(now):
            disk.remove_file(path)
            return
        self.stayed.append(f"{path} has something new in it, so it stays")
        with contextlib.suppress(NotJsonError):
            text = index.without(as_text(now), going)
            self._rewrite(wrote, now, as_bytes(text))

    def _put_back(self, wrote: Wrote) -> None:
        """A document without the run's change; what came later stays in it.

        One that was taken away since, with our change in it, is made again.
        """
        run_dir = self.layout.run_dir
        parent = wrote.path.parent
        document = read_document(wrote.path)
        if document is not None:
            now = document.data
            back = document_back(self.layout, run_dir, self.since, wrote, now)
            self.stayed += back.stays
            self._rewrite(wrote, now, back.content, back.mtime_ns)
        elif wrote.before is not None:
            self._refuse_gone(parent)
            if is_there(parent):
                before = read_saved(run_dir, wrote, "before")
                attributes = wrote.before.attributes
                self._write(wrote, [before], attributes)

    def _rewrite(
        self, wrote: Wrote, now: bytes, content: bytes, mtime: int | None = None
    ) -> None:
        if content != now:
            attributes = Attributes.of(os.lstat(wrote.path), mtime)
            self._write(wrote, [content], attributes)

    def _write(
        self,
        wrote: Wrote | WroteHistory,
        pieces: Iterable[bytes],
        attributes: Attributes,
    ) -> None:
        fresh = self._fresh(wrote)
        disk.write_new(fresh, pieces, attributes)
        disk.replace(fresh, wrote.path)

    def _fresh(self, wrote: Wrote | WroteHistory) -> Path:
        """Where new content is staged on the way back; nothing is there."""
        name = staged_name(self.manifest.id, wrote.number)
        fresh = wrote.path.with_name(name_on_the_way_back(name))
        disk.remove_file(fresh, flushed=False)
        return fresh

    # -- the history

    def _stage_history(self) -> None:
        """Before the locks, since a large history takes time; only its tail is left for
        later.
        """
        wrote = self.manifest.history
        if wrote is None or wrote not in self.operations:
            return
        run_dir = self.layout.run_dir
        write = plan_history_back(self.layout, run_dir, self.since)
        if write is not None:
            staged = self._fresh(wrote)
            self._history = StagedHistory(wrote.number, write, staged)
            self._history.stage()

    def _put_history_back(self, wrote: WroteHistory) -> None:
        """As it was staged: one that was made goes, unless there is something new in
        it. One that was taken away since comes from its second name, as it was before.
        """
        staged = self._history
        if not is_there(wrote.path):
            self._bring_history(wrote)
        elif staged is not None:
            staged.look_again()
            if wrote.before is None and not staged.scan.new_size():
                disk.remove_file(wrote.path)
            else:
                disk.replace(staged.path, wrote.path)

    def _bring_history(self, wrote: WroteHistory) -> None:
        before = wrote.before
        if before is None:
            return
        saved = open_regular(self.layout.run_dir / "files" / f"{wrote.number}.before")
        if saved is None:
            return
        with saved as file:
            whole = history.Scan(before.size)
            pieces = history.rewritten(reader(file), whole)
            self._write(wrote, pieces, before.attributes)


def _refuse_other_folders(ways: Sequence[Way]) -> None:
    """A folder of the user's is renamed back only if it is the one that was renamed, to
    a place that is free or holds only what goes away from it before.
    """
    folders = [way.present() for way in ways]
    for way, where in zip(ways, folders, strict=True):
        first = way.places[0]
        if len(where) != 1:
            both = "neither is"
            if where:
                both = "both look like"
            pair = f"{first} and {way.places[-1]}"
            raise RefusedError(f"{pair}: {both} the folder that was renamed")
        is_taken = where != [first] and is_there(first) and [first] not in folders
        if is_taken:
            taken = f"{first} is used for something else"
            raise RefusedError(f"{taken}, so {where[0]} can't be renamed back")


def _name_of_later(path: Path) -> Path:
    """A free name for a file that has to make way."""
    for number in count():
        later = path.with_stem(f"{path.stem}.later{number or ''}")
        if not is_there(later):
            break
    return later
