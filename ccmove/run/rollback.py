"""Roll back a run that failed just now, or that died long ago, from what is on disk.

Goes backward through the operations and undoes those that are done. What is done is
seen in what is there, not in inode numbers, which change with a copied home and are
soon used again:

- A write is done if and only if its staged file is gone: the replacing rename consumes
  it.
- A rename is done if the target holds what the journal noted, and the old place does
  not.
- What came later wins: of a changed document only our own change is taken out, a file
  that we made stays if it was changed, and a state directory that was made again is
  merged file by file.

Nothing is deleted but what we made. What can't be rolled back is kept, and blocks: exit
5.
"""

import os
import stat
from collections.abc import Iterable, Set
from itertools import takewhile
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.reading import (
    is_there,
    names_in,
    open_regular,
    read_document,
    reader,
)
from ccmove.claude.state import SESSION_ID
from ccmove.errors import RefusedError, StaleLookError, UnfinishedRunError, describe
from ccmove.plan.model import FolderHolds, Holds, Mkdir, Rename
from ccmove.rewrite import history
from ccmove.run import disk, journal
from ccmove.run.disk import Attributes
from ccmove.run.journal import (
    RECOVER,
    SET_ASIDE,
    missing,
    read_run,
    sweep_up,
    was_interrupted,
)
from ccmove.run.locks import Waiting, client_locks, held, own_lock, remove_stale
from ccmove.run.manifest import Manifest, Recorded, Wrote, WroteHistory, sha256
from ccmove.run.preflight import refuse_foreign_state
from ccmove.run.saved import document_back, plan_history_back, read_saved
from ccmove.run.signals import termination_as_interrupt
from ccmove.run.since import Since
from ccmove.run.stage import StagedHistory
from ccmove.run.verifier import (
    has,
    has_grown,
    is_directory,
    is_noted,
    is_respelled,
    likeness,
)


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
    if not is_there(layout.own):
        return None
    refuse_foreign_state(layout)
    if not was_interrupted(
        layout
    ):  # known without a lock, so also where none can be made
        return None
    if dry_run:
        raise UnfinishedRunError(
            "a run was interrupted and has to be rolled back first"
        )
    with own_lock(layout), termination_as_interrupt():
        try:
            return roll_back(layout, waiting)
        except UnfinishedRunError:
            if set_aside:
                return f"Set aside the interrupted run {journal.set_aside(layout)}."
            raise


def roll_back(
    layout: Layout, waiting: Waiting | None, *, at_once: bool = False
) -> str | None:
    """Roll back an unfinished run; what was done, in words,
    or None when there was none.
    """
    stayed: list[str] = []
    try:
        manifest = read_run(layout)
        if manifest is not None and manifest.operations:
            stayed = Rollback(layout, manifest).run(waiting)
        if aside := sweep_up(layout, manifest, at_once):
            kept = layout.unfinished / aside
            stayed = [line.replace(str(layout.run), str(kept)) for line in stayed]
            stayed.append(f"what is left of it is in {kept}")
    except (
        OSError,
        RefusedError,
        StaleLookError,
    ) as error:  # nothing says "nothing was done" here
        what = f"an interrupted run could not be rolled back: {describe(error)}"
        raise UnfinishedRunError(what, RECOVER, SET_ASIDE) from error
    if manifest is None:
        return None
    rest = "; ".join(stayed) or "Everything is as it was before"
    return f"Rolled back the interrupted run {manifest.id}. {rest}."


class Rollback:
    """Undoes the operations of a run in the opposite order;
    each may have been done or not.
    """

    def __init__(self, layout: Layout, manifest: Manifest) -> None:
        self.layout = layout
        self.manifest = manifest
        self.since = Since(manifest)
        self.stayed: list[str] = []  # what came later and was left as it is, in words
        self._history: StagedHistory | None = None  # without the run's change

    def run(self, waiting: Waiting | None) -> list[str]:
        self._refuse_missing()
        # None after the first that certainly was not done was done, either.
        # A staged file that is there: neither its write nor anything after it was done.
        operations = list(takewhile(self._is_gone, self.manifest.operations))
        last = max(
            (n for n, op in enumerate(operations) if self._is_past(op)), default=-1
        )
        begun = [op for op in operations[: last + 1] if not self._is_to_come(op)]
        begun += takewhile(lambda op: not self._is_to_come(op), operations[last + 1 :])
        locks = client_locks(self.layout, self.manifest)
        if not begun:
            remove_stale(locks)  # and nothing of the client's is touched
            return []
        wrote = self.manifest.history
        if wrote is not None and wrote in begun:
            self._stage_history(wrote)
        with held(locks, waiting):
            for name in ("aside", "parked"):  # what was there goes back the way it came
                disk.ensure_directory(self.layout.run / name)
            for operation in reversed(begun):
                self._undo(operation)
        return self.stayed

    def _is_to_come(self, op: Recorded) -> bool:
        """Whether it certainly was not done: its staged file is there, or what it
        renames is still in its old place and in no later one.
        """
        if not isinstance(op, Rename):
            return not self._is_gone(op)
        if is_there(op.target):
            return False
        later = self.manifest.operations[self.manifest.operations.index(op) :]
        ends = [
            o.target for o in later if isinstance(o, Rename) and o.path == op.target
        ]
        if ends and isinstance(
            op.holds, Holds
        ):  # it was parked: before that, or after it?
            return likeness(op.path, op.holds) > likeness(ends[0], op.holds)
        return not ends and is_noted(op.path, op.holds)

    def _is_gone(self, op: Recorded) -> bool:
        """Whether it has no staged file any more, or never had one."""
        return not isinstance(op, (Wrote, WroteHistory)) or not is_there(op.staged)

    def _is_past(self, op: Recorded) -> bool:
        """Whether it certainly was done, and so was all before it, whatever its owner
        did since. Single files do not tell: another one may have the same size.
        """
        if not isinstance(op, Rename):
            return not isinstance(op, Mkdir)
        is_whole = op.path.parent == self.layout.projects or isinstance(
            op.holds, FolderHolds
        )
        is_gone = is_whole and bool(op.holds.entries) and not is_there(op.path)
        return is_gone and is_noted(op.target, op.holds)

    def _refuse_missing(self) -> None:
        """Before anything is touched: saved texts,
        and all that was renamed, are there.
        """
        ways: list[
            tuple[Holds | FolderHolds, list[Path]]
        ] = []  # each thing's places, in order
        for op in self.manifest.operations:
            if isinstance(op, Rename):
                goes_on = [
                    way
                    for noted, way in ways
                    if (noted, way[-1]) == (op.holds, op.path)
                ]
                way = goes_on[0] if goes_on else [op.path]
                ways += [] if goes_on else [(op.holds, way)]
                way.append(op.target)
            elif (
                isinstance(op, Wrote)
                and op.before is not None
                and not self._is_to_come(op)
            ):
                try:
                    read_saved(self.layout.run, op, "before")
                except RefusedError as error:
                    raise missing(error.message) from error
        for noted, way in ways:
            is_known = isinstance(noted, Holds) and noted.is_directory and noted.entries
            if (
                is_known
                and not any(is_noted(p, noted) for p in way)
                and not self._was_swept(way)
            ):
                raise missing(f"{way[0]} is gone, and is not at {way[-1]} either")
        self._refuse_other_folders(
            {k: v for k, v in ways if isinstance(k, FolderHolds)}
        )

    def _was_swept(self, way: list[Path]) -> bool:
        """Whether only sessions are gone, which the client deletes when they are old;
        what else is there must be older than the run, or it is another directory.
        """
        if way[0].parent != self.layout.projects:
            return bool(SESSION_ID.match(way[0].name)) and any(
                is_there(p.parent) for p in way
            )
        files = [file for place in way for file in place.rglob("*") if file.is_file()]
        begun = os.lstat(self.layout.run / "manifest.json").st_mtime_ns
        is_ours = not files or any(
            os.lstat(file).st_mtime_ns <= begun for file in files
        )
        return is_ours and self._are_alone(way) and any(map(is_directory, way))

    def _are_alone(self, way: list[Path]) -> bool:
        """Whether no other rename has to do with these places:
        what is there is what it renamed.
        """
        renames = [op for op in self.manifest.operations if isinstance(op, Rename)]
        return sum(
            place in (op.path, op.target) for op in renames for place in way
        ) == len(way)

    def _refuse_other_folders(self, ways: dict[FolderHolds, list[Path]]) -> None:
        """A folder of the user's is renamed back only if it is the one that was
        renamed, to a place that is free or holds only what goes away from it before.
        """
        places: list[Path] = []
        for place in (place for way in ways.values() for place in way):
            if place not in places and not any(
                is_respelled(place, other) for other in places
            ):
                places.append(place)
        found = [
            [place for place in places if is_noted(place, noted)] for noted in ways
        ]
        for where, way in zip(found, ways.values(), strict=True):
            if len(where) != 1:
                both = "both look like" if where else "neither is"
                raise missing(
                    f"{way[0]} and {way[-1]}: {both} the folder that was renamed"
                )
            if where[0] != way[0] and is_there(way[0]) and [way[0]] not in found:
                taken = f"{way[0]} is used for something else"
                raise missing(f"{taken}, so {where[0]} can't be renamed back")

    def _undo(self, operation: Recorded) -> None:
        match operation:
            case Rename(path, target, noted) if is_there(target):
                self._rename_back(path, target, noted)
            case Mkdir(path):
                self._remove_if_empty(path)
            case WroteHistory():
                self._put_history_back(operation)
            case Wrote(before=None):
                self._remove_made(operation)
            case Wrote():
                self._put_back(operation)

    def _rename_back(
        self, path: Path, target: Path, noted: Holds | FolderHolds
    ) -> None:
        if is_respelled(path, target):
            disk.rename_new(target, path)
            return
        if not self._is_done(path, target, noted):
            return
        is_hidden = path.is_relative_to(self.layout.backups)
        for parent in reversed(path.parents):
            if parent.is_relative_to(
                self.layout.own
            ):  # of a backup that is gone by now
                disk.ensure_directory(parent)
        if is_there(path):
            self._merge_back(
                target, path, {entry[0].partition("/")[0] for entry in noted.entries}
            )
        elif is_hidden and has_grown(target, noted):
            self.stayed.append(f"{target} has something new in it and stays")
            if is_directory(target):
                disk.make_directory(path)  # an empty one, as it was
        else:
            disk.rename_new(target, path)

    def _is_done(self, path: Path, target: Path, noted: Holds | FolderHolds) -> bool:
        """Of a rename whose target is there.
        In our own directories nobody else makes anything.
        """
        if isinstance(noted, FolderHolds):
            return is_noted(target, noted) and not is_there(path)
        if target.is_relative_to(self.layout.own):
            return True
        if is_there(path) and path.is_relative_to(self.layout.own):
            return False
        if not noted.is_directory:  # another file may be where ours never came to
            return not is_there(path) or likeness(target, noted) >= likeness(
                path, noted
            )
        if not noted.entries or (
            not is_there(path) and self._are_alone([path, target])
        ):
            return not is_there(path)
        # Some may be back already, or all of them: that was killed, too.
        left = (has(target, entry) and not has(path, entry) for entry in noted.entries)
        return any(left) or (
            is_noted(path, noted) and is_directory(target) and not names_in(target)
        )

    def _merge_back(
        self, target: Path, path: Path, last: Set[str] = frozenset()
    ) -> None:
        """The old name was used again since: everything goes back beside what is there.

        A later file makes way under another name, with the same ending: what it was
        read for it is still read for. Two transcripts of one session both stay where
        they are, since the client goes by that name. `last` are the names by which the
        directory is known: as long as one of them is in the new place, a recovery that
        is killed here goes on the next time.
        """
        if is_directory(target) and is_directory(path):
            if names_in(target) or target.is_relative_to(
                self.layout.own
            ):  # else not ours
                disk.set_mode(path, stat.S_IMODE(os.lstat(target).st_mode))
            for name in sorted(names_in(target), key=lambda name: (name in last, name)):
                if is_there(path / name):
                    self._merge_back(target / name, path / name)
                else:
                    disk.rename_new(target / name, path / name)
            self._remove_if_empty(target)
        elif path.suffix == ".jsonl":
            self.stayed.append(
                f"{path} was made again meanwhile; the earlier one is {target}"
            )
        else:
            number = 0
            while is_there(later := path.with_stem(f"{path.stem}.later{number or ''}")):
                number += 1
            disk.rename_new(path, later)
            disk.rename_new(target, path)
            self.stayed.append(
                f"{path} was made again meanwhile; the later one is {later}"
            )

    def _remove_if_empty(self, path: Path) -> None:
        try:
            disk.remove_directory(path)
        except OSError:
            if names_in(path):
                self.stayed.append(f"{path} has something new in it, so it stays")
            elif is_directory(path):
                raise

    def _remove_made(self, wrote: Wrote) -> None:
        """A file that we made goes while it still holds exactly what we wrote."""
        document = read_document(wrote.path)
        if document is not None and sha256(document.data) == wrote.after.sha256:
            disk.remove_file(wrote.path)
        elif document is not None:
            self.stayed.append(f"{wrote.path} has changed since, so it stays")

    def _put_back(self, wrote: Wrote) -> None:
        assert wrote.before is not None
        document = read_document(wrote.path)
        if document is not None:
            found = document.data
            content, named, mtime = document_back(
                self.layout.run, self.since, wrote, found
            )
            self.stayed += [
                f"{wrote.path}: {n} has changed since, so it stays" for n in named
            ]
            if content != found:
                self._write(
                    wrote, [content], Attributes.of(os.lstat(wrote.path), mtime)
                )
        elif is_there(wrote.path.parent):  # taken away since, with our change in it
            before = read_saved(self.layout.run, wrote, "before")
            attributes = Attributes(wrote.before.mode, mtime_ns=wrote.before.mtime_ns)
            self._write(wrote, [before], attributes)

    def _put_history_back(self, wrote: WroteHistory) -> None:
        before = wrote.before
        if not is_there(
            wrote.path
        ):  # taken away since: from its second name, as it was before
            saved = open_regular(self.layout.run / "files" / f"{wrote.number}.before")
            if saved is not None:
                with saved as file:
                    pieces = history.rewritten(reader(file), history.Scan(before.size))
                    self._write(
                        wrote, pieces, Attributes(before.mode, mtime_ns=before.mtime_ns)
                    )
            return
        if self._history is not None:
            self._history.look_again()
            disk.replace(self._history.path, wrote.path)

    def _stage_history(self, wrote: WroteHistory) -> None:
        """Before the locks, since a large history takes time;
        only its tail is left for later.
        """
        write = plan_history_back(self.layout, self.layout.run, self.since)
        if write is not None:
            self._history = StagedHistory(wrote.number, write, self._fresh(wrote))
            self._history.stage()

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
        """Never the name of the staged file:
        its being gone says that the write was done.
        """
        fresh = wrote.path.with_name(f"{wrote.staged.name}-back")
        disk.remove_file(fresh, flushed=False)
        return fresh
