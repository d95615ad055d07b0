"""All backups, which of them are still in force, and what they tell about whose
sessions are whose.

`backups/<ID>/manifest.json` says what a run changed, `files/` holds the documents
before and after and the notes that a merge moved, `retired/` what became one with
something live, and what an undo took out that was unpacked. `unfinished/<ID>` is a run
that could not be rolled back and was set aside: never pruned. `ledger.json` keeps of
pruned backups what they told of whose sessions are, and the newest ID.
"""

import calendar
import contextlib
import json
import os
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.owners import Ledger
from ccmove.claude.reading import names_in, read_document, refuse_link
from ccmove.errors import (
    CcmoveError,
    NothingKnownError,
    RefusedError,
    UsageError,
    describe,
)
from ccmove.hints import look_at, to_type
from ccmove.plan.model import ProjectMove, is_id
from ccmove.rewrite.pathmap import Move
from ccmove.run import disk
from ccmove.run.codec import Runs, from_json, ledger_from_json, ledger_to_json, to_json
from ccmove.run.manifest import LARGEST_MANIFEST, Manifest

PAST = to_type("ccmove", "backups", text="past moves")
REPORT = "report.json"  # what a run said, as `--json`
LARGEST_REPORT = 256 << 20
HOLDS_THE_ONLY_COPY = (
    "holds what was unpacked and taken out again: removed only by its ID"
)
SET_ASIDE = "could not be rolled back and was set aside: nothing of it is ever removed"


def new_id(layout: Layout) -> str:
    """An ID that sorts after every other one, pruned ones too, whatever the clock says.

    What runs tell of whose sessions are is read in the order of their IDs.
    """
    identifier = f"{stamp(time.time())}-{os.urandom(2).hex()}"
    newest = newest_id(layout)
    if identifier > newest:
        return identifier
    suffix = int(newest[-4:], 16) + 1
    if suffix <= 0xFFFF:
        return f"{newest[:17]}{suffix:04x}"
    with contextlib.suppress(ValueError, OverflowError, OSError):  # no such day
        moment = time.strptime(newest[:16], "%Y%m%dT%H%M%SZ")
        next_second = f"{stamp(calendar.timegm(moment) + 1)}-0000"
        if next_second > newest:
            return next_second
    past = to_type("ccmove", "backups", text="its date can't be right")
    raise RefusedError(
        f"no later backup than {layout.backups / newest} can be made", past
    )


def newest_id(layout: Layout) -> str:
    """The ID of the last run that is known, "" when there is none."""
    pruned, _ = _pruned(layout)
    return max((*pruned, *_ids(layout)), default="")


def find_id(layout: Layout, part: str) -> str:
    """The ID that has this part; UsageError with the list when several have it."""
    if not part:
        raise UsageError("ID is empty (an unset variable?)", PAST)
    fitting = sorted(identifier for identifier in _ids(layout) if part in identifier)
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise UsageError(
            f"{part} is part of {len(fitting)} IDs; type more of one",
            PAST,
            details=fitting,
        )
    pruned, _ = _pruned(layout)
    what = f"there is no backup {part}"
    if part in pruned:
        what = f"the backup of {part} was pruned"
    raise NothingKnownError(what, PAST)


def stamp(seconds: float) -> str:
    moment = time.gmtime(max(0, seconds))
    return time.strftime("%Y%m%dT%H%M%SZ", moment)


def write_manifest(manifest: Manifest, layout: Layout) -> None:
    """Into the directory of the run under way;
    only what passes the checks of a reader.
    """
    path = layout.run_dir / "manifest.json"
    try:
        record = to_json(manifest, layout, layout.run_dir)
        fresh = _write_beside(path, json.dumps(record).encode())
        if read_manifest(fresh, layout) != manifest:
            raise RefusedError(f"{fresh} does not read back as it was written")
    except (RefusedError, ValueError) as error:
        what = f"this run could not be undone later, so nothing was done: {error}"
        raise CcmoveError(what) from None
    disk.replace(fresh, path)


def _write_beside(path: Path, text: bytes) -> Path:
    fresh = path.with_name(f"{path.name}.new")
    disk.remove_file(fresh, flushed=False)
    disk.write_new(fresh, [text])
    return fresh


def read_manifest(path: Path, layout: Layout) -> Manifest:
    """The manifest in the directory of a run; RefusedError when it can't be trusted."""
    document = read_document(path, LARGEST_MANIFEST)
    try:
        if document is None:
            raise ValueError("it is missing")
        return from_json(json.loads(document.data), layout, path.parent)
    except (ValueError, RecursionError) as error:
        files = to_type(
            "ls", "-l", path.parent / "files", text="what it saved is untouched"
        )
        raise RefusedError(f"{path} can't be used: {error}", files) from None


def read_report(layout: Layout, identifier: str) -> bytes | None:
    """What the run said, as JSON; None when its backup has no report."""
    document = read_document(layout.backups / identifier / REPORT, LARGEST_REPORT)
    if document is None:
        return None
    return document.data


def replace_report(layout: Layout, identifier: str, report: bytes) -> None:
    """For what a run says after it is complete."""
    path = layout.backups / identifier / REPORT
    fresh = _write_beside(path, report)
    disk.replace(fresh, path)


def backup_ids(directory: Path) -> list[str]:
    """IDs of the backups in `backups`,
    or of what was set aside in `unfinished`, oldest first.
    """
    return [name for name in names_in(directory) if is_id(name)]


def _ids(layout: Layout) -> list[str]:
    """Of all runs whose directories are there."""
    return [*backup_ids(layout.backups), *backup_ids(layout.unfinished)]


@dataclass(frozen=True, slots=True)
class Backup:
    """One backup: its manifest, or the error that says why it can't be read."""

    id: str
    manifest: Manifest | None
    problem: CcmoveError | None = None
    stands: bool = False  # it can be read, and is not undone


def all_backups(layout: Layout) -> list[Backup]:
    """Every backup, oldest first; each manifest is read once."""
    found = []
    undone: set[str | None] = set()
    for identifier in reversed(backup_ids(layout.backups)):
        path = layout.backups / identifier / "manifest.json"
        try:
            manifest = read_manifest(path, layout)
            stands = identifier not in undone
            backup = Backup(identifier, manifest, stands=stands)
            undone.add(manifest.undoes)
        except RefusedError as error:
            backup = Backup(identifier, None, error)
        found.append(backup)
    return found[::-1]


def read_backup(layout: Layout, backups: Iterable[Backup], identifier: str) -> Manifest:
    """What a run did; RefusedError when that can't be read."""
    if identifier in backup_ids(layout.unfinished):
        kept = layout.unfinished / identifier
        raise RefusedError(
            f"run {identifier} was set aside; it is kept in {kept}", look_at(kept)
        )
    backup = next(backup for backup in backups if backup.id == identifier)
    if backup.problem is not None:
        raise backup.problem
    assert backup.manifest is not None
    return backup.manifest


def ledger_of(layout: Layout, backups: Iterable[Backup]) -> Ledger:
    """What our own moves say about whose the entries of each directory are.

    Each run is learned in its order. An undo brings back what its move brought, so that
    of both together only what became of it otherwise is left.
    """
    pruned, problem = _pruned(layout)
    known = _known(backups, pruned)
    unfinished = backup_ids(layout.unfinished)
    runs = sorted(known)
    newest = max((*runs, *unfinished), default="")
    ledger = Ledger(problem=problem, newest=newest)
    for identifier in runs:
        for move in known[identifier]:
            _learn(ledger, move)
    return ledger


def moves_by_us(layout: Layout, backups: Iterable[Backup]) -> list[list[Move]]:
    """From where to where each run brought something, the oldest first; not those
    that were undone, as far as their backups can tell.
    """
    pruned, _ = _pruned(layout)
    runs = {run: [move.pair for move in moves] for run, moves in pruned.items()}
    runs.update((backup.id, _brought_by(backup)) for backup in backups)
    return [runs[identifier] for identifier in sorted(runs)]


def _brought_by(backup: Backup) -> list[Move]:
    manifest = backup.manifest
    if manifest is None or not backup.stands or manifest.kind != "move":
        return []
    # What was asked for may have no directory of its own.
    return [*manifest.moves, *(move.pair for move in manifest.projects)]


def _learn(ledger: Ledger, move: ProjectMove) -> None:
    """What a move brought is at its target from then on, and the target's."""
    for entry in move.entries:
        ledger.entries.pop((move.source, entry), None)
        ledger.entries[(move.target, entry)] = move.new_path
    ledger.owners.get(move.source, set()).discard(move.path)
    owners = ledger.owners.setdefault(move.target, set())
    owners.add(move.new_path)


def _known(backups: Iterable[Backup], pruned: Runs) -> Runs:
    """What pruned runs and these moved; of one whose pruning was interrupted both say
    the same.
    """
    known = dict(pruned)
    for backup in backups:
        if backup.manifest is not None:
            known[backup.id] = backup.manifest.projects
        else:
            known.setdefault(backup.id, ())
    return known


def _pruned(layout: Layout) -> tuple[Runs, str]:
    """What the ledger keeps of pruned runs; why it can't be used, never worth a
    refusal.
    """
    try:
        document = read_document(layout.ledger, LARGEST_MANIFEST)
        if document is None:
            return {}, ""
        return ledger_from_json(json.loads(document.data)), ""
    except (CcmoveError, OSError, ValueError, RecursionError) as error:
        why = f"{layout.ledger} can't be used, and is ignored: {describe(error)}"
        return {}, why


@dataclass(frozen=True, slots=True)
class Pruning:
    """Which backups are to go: all beyond the newest `keep` that are older than that
    many seconds, and those that are named.
    """

    keep: int | None = None
    older_than: float | None = None
    named: Collection[str] = ()


def prune(layout: Layout, wanted: Pruning, *, dry_run: bool = False) -> dict[str, str]:
    """Remove backups; of each why it stays, and nothing for those that go."""
    backups = all_backups(layout)
    why = {}
    newest_first = reversed(backups)
    for age, backup in enumerate(newest_first):
        why[backup.id] = _why_it_stays(backup, age, wanted)
    _keep_pairs_together(backups, wanted.named, why)
    going = [backup for backup in backups if not why[backup.id]]
    paths = [layout.backups / backup.id for backup in going]
    for path in paths:
        refuse_link(path)
    if dry_run or not going:
        return why
    pruned, _ = _pruned(layout)
    known = _known(going, pruned)  # also when these are gone
    record = ledger_to_json(known)
    text = json.dumps(record)
    fresh = _write_beside(layout.ledger, text.encode())
    disk.replace(fresh, layout.ledger)
    for path in paths:
        disk.remove_tree(path)
    disk.flush(layout.backups)
    return why


def _why_it_stays(backup: Backup, age: int, wanted: Pruning) -> str:
    """Nothing for one that is to go; `age` counts from the newest, which has 0."""
    if backup.id in wanted.named:
        return ""
    if backup.manifest is not None and backup.manifest.holds_the_only_copy:
        return HOLDS_THE_ONLY_COPY
    if wanted.keep is None and wanted.older_than is None:
        return "not named"
    if age < (wanted.keep or 0):
        if wanted.keep == 1:
            return "the newest"
        return f"one of the newest {wanted.keep}"
    if wanted.older_than is None:
        return ""
    limit = stamp(time.time() - wanted.older_than)
    if backup.id >= limit:
        return "not old enough"
    return ""


def _keep_pairs_together(
    backups: list[Backup], named: Collection[str], why: dict[str, str]
) -> None:
    """A move that was undone goes together with its undo: of one without the other
    nobody could tell whether it was undone. Who names one of them means both.
    """
    partners = {}
    for backup in backups:
        manifest = backup.manifest
        if manifest is not None and manifest.undoes in why:
            partners[manifest.id] = manifest.undoes
            partners[manifest.undoes] = manifest.id
    for identifier in named:
        if identifier in partners:
            why[partners[identifier]] = ""
    for identifier, partner in partners.items():
        if why[partner] and not why[identifier]:
            why[identifier] = f"it goes only together with {partner}"
