"""All backups, which of them are still in force, and what they tell about whose
sessions are whose.

`backups/<ID>/manifest.json` says what a move or a restore changed, `files/` holds the
documents before and after, `aside/` what lost in a merge. `unfinished/<ID>` is a run
that could not be rolled back and was set aside: never pruned. `ledger.json` keeps of
pruned backups what they told of whose sessions are.
"""

import json
import os
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.owners import Ledger
from ccmove.claude.reading import is_there, names_in, read_document
from ccmove.errors import (
    CcmoveError,
    NothingKnownError,
    RefusedError,
    describe,
    look_at,
    run,
)
from ccmove.plan.model import ProjectMove
from ccmove.rewrite.history import Scan, from_record
from ccmove.run import disk
from ccmove.run.manifest import (
    ID_PATTERN,
    LARGEST_MANIFEST,
    Id,
    Manifest,
    Spelling,
    Wrote,
    WroteHistory,
    decode,
    encode,
    from_json,
    sealed,
    sha256,
    unsealed,
)


def new_id(layout: Layout) -> str:
    """An ID that sorts after every other one, even when the clock was set back."""
    identifier = f"{stamp(time.time())}-{os.urandom(2).hex()}"
    newest = max(
        (*backup_ids(layout.backups), *backup_ids(layout.unfinished)), default=""
    )
    if identifier > newest:
        return identifier
    suffix = int(newest[-4:], 16) + 1
    if suffix > 0xFFFF:
        past = run("ccmove", "backups", text="its date can't be right")
        raise RefusedError(
            f"no later backup than {layout.backups / newest} can be made", past
        )
    return f"{newest[:17]}{suffix:04x}"


def stamp(seconds: float) -> str:
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(max(0, seconds)))


def write_manifest(manifest: Manifest, layout: Layout) -> None:
    """Into the directory of the run under way;
    only what passes the checks of a reader.
    """
    path = layout.run / "manifest.json"
    fresh = _write_beside(
        path, sealed(encode(manifest, Spelling(layout, layout.run).write))
    )
    try:
        if read_manifest(fresh, layout) != manifest:
            raise RefusedError(f"{fresh} does not read back as it was written")
    except RefusedError as error:
        what = (
            f"this run could not be undone later, so nothing was done: {error.message}"
        )
        raise CcmoveError(what) from None
    disk.replace(fresh, path)


def _write_beside(path: Path, record: object) -> Path:
    fresh = path.with_name(f"{path.name}.new")
    disk.remove_file(fresh, flushed=False)
    disk.write_new(fresh, [json.dumps(record).encode()])
    return fresh


def read_manifest(path: Path, layout: Layout) -> Manifest:
    """The manifest in the directory of a run; RefusedError when it can't be trusted."""
    document = read_document(path, LARGEST_MANIFEST)
    try:
        if document is None:
            raise ValueError("it is missing")
        return from_json(json.loads(document.data), layout, path.parent)
    except (ValueError, RecursionError) as error:
        files = run(
            "ls", "-l", path.parent / "files", text="what it saved is untouched"
        )
        raise RefusedError(f"{path} can't be used: {error}", files) from None


def no_backup(identifier: str, layout: Layout) -> CcmoveError:
    if identifier in backup_ids(layout.unfinished):
        kept = layout.unfinished / identifier
        return RefusedError(
            f"run {identifier} was set aside; it is kept in {kept}", look_at(kept)
        )
    past = run("ccmove", "backups", text="past moves")
    return NothingKnownError(f"there is no backup {identifier}", past)


def backup_ids(directory: Path) -> list[str]:
    """IDs of the backups in `backups`,
    or of what was set aside in `unfinished`, oldest first.
    """
    return [name for name in names_in(directory) if ID_PATTERN.fullmatch(name)]


@dataclass(frozen=True, slots=True)
class Backup:
    """One backup: its manifest, or the error that says why it can't be read."""

    id: str
    manifest: Manifest | None
    problem: CcmoveError | None = None
    stands: bool = False  # not undone


def all_backups(layout: Layout) -> list[Backup]:
    """Every backup, oldest first; each manifest is read once."""
    found = []
    for identifier in backup_ids(layout.backups):
        try:
            manifest = read_manifest(
                layout.backups / identifier / "manifest.json", layout
            )
            found.append(Backup(identifier, manifest))
        except (RefusedError, NothingKnownError) as error:
            found.append(Backup(identifier, None, error))
    undone: set[str] = set()
    for number, backup in reversed([*enumerate(found)]):
        if backup.manifest is not None and backup.id not in undone:
            found[number] = replace(backup, stands=True)
            undone.add(
                backup.manifest.undoes or ""
            )  # by one that stands: else it stands again
    return found


# What each run brought where. Names and paths in it are compared, and never opened.
Moved = dict[str, tuple[ProjectMove, ...]]


def ledger_of(layout: Layout, backups: Iterable[Backup]) -> Ledger:
    """What our own moves say about whose the entries of each directory are.

    One that was undone and its undoing say nothing: sessions that had come along are
    not its own.
    """
    known, problem = _known(layout, backups)
    ledger = Ledger(problem=problem)
    for move in (move for _, moves in sorted(known.items()) for move in moves):
        for entry in move.entries:
            ledger.entries.pop((move.source, entry), None)
            ledger.entries[(move.target, entry)] = move.new_path
        ledger.owners.get(move.source, set()).discard(move.path)
        ledger.owners.setdefault(move.target, set()).add(move.new_path)
    return ledger


def _known(layout: Layout, backups: Iterable[Backup]) -> tuple[Moved, str]:
    """What pruned runs and these moved; why the ledger can't be used,
    never worth a refusal.
    """
    kept: Moved = {}
    problem = ""
    try:
        document = read_document(layout.ledger, LARGEST_MANIFEST)
        body = (
            unsealed(json.loads(document.data))
            if document is not None
            else {"runs": []}
        )
        kind = tuple[tuple[Id, tuple[ProjectMove, ...]], ...]
        runs = decode(kind, body.get("runs"), Path)
        kept = {run: moves for run, moves in runs if not is_there(layout.backups / run)}
    except (CcmoveError, OSError, ValueError, RecursionError) as error:
        problem = f"{layout.ledger} can't be used, and is ignored: {describe(error)}"
    told = (b.manifest for b in backups if b.manifest and b.stands)
    return kept | {m.id: m.projects for m in told if m.kind == "move"}, problem


def read_saved(directory: Path, wrote: Wrote, which: str) -> bytes:
    """The text of a document `before` or `after` a run;
    RefusedError when it is not that.
    """
    content = wrote.before if which == "before" else wrote.after
    expected = content.sha256 if content is not None else ""
    return _saved(directory / "files" / f"{wrote.number}.{which}", expected)


def read_scan(directory: Path, wrote: WroteHistory) -> Scan:
    """What a run changed in the history;
    RefusedError when its record can't be trusted.
    """
    path = directory / "files" / f"{wrote.number}.changes"
    data = _saved(path, wrote.record)
    try:
        kept = from_record(data, wrote.before.size, wrote.after.size)
        if not kept.lines:
            raise ValueError("no change at all")
        return kept
    except (ValueError, RecursionError):
        raise RefusedError(f"{path} can't be used", look_at(path)) from None


def _saved(path: Path, expected: str) -> bytes:
    document = read_document(path)
    if document is not None and sha256(document.data) == expected:
        return document.data
    what = "is missing" if document is None else "was changed since it was saved"
    raise RefusedError(
        f"{path} {what}, so this backup can't be restored", look_at(path.parent)
    )


def prune(
    layout: Layout,
    keep: int | None,
    older_than: float | None,
    named: Collection[str],
    *,
    dry_run: bool = False,
) -> dict[str, str]:
    """Remove backups beyond the newest `keep`, or older than that many seconds, and
    those named.

    Of every backup why it stays, and nothing for those that go. One that holds the only
    copy of something stays unless it is named.
    """
    backups, why = all_backups(layout), {}
    limit = stamp(time.time() - older_than) if older_than is not None else "~"
    for age, backup in enumerate(reversed(backups)):
        if backup.id in named:
            why[backup.id] = ""
        elif keep is None and older_than is None:
            why[backup.id] = "not named"
        elif age < (keep or 0):
            why[backup.id] = "the newest" if keep == 1 else f"one of the newest {keep}"
        elif backup.id[:16] >= limit:
            why[backup.id] = "not old enough"
        else:
            only = "holds the only copy of something; to remove it, name its ID"
            why[backup.id] = only if has_only_copy(layout, backup) else ""
    pairs = [
        (b.id, b.manifest.undoes)
        for b in backups
        if b.manifest and b.manifest.undoes in why
    ]
    for one, other in (*pairs, *((undone, undo) for undo, undone in reversed(pairs))):
        if why[other or ""]:  # else what was undone would stand again, or be forgotten
            why[one or ""] = why[one or ""] or f"it goes only together with {other}"
    going = [] if dry_run else [backup for backup in backups if not why[backup.id]]
    if going:
        known, _ = _known(layout, going)
        record = sealed({"runs": encode(tuple(known.items()), str)})
        disk.replace(_write_beside(layout.ledger, record), layout.ledger)
    for backup in going:
        disk.remove_backup(layout.backups / backup.id)
    return why


def has_only_copy(layout: Layout, backup: Backup) -> bool:
    """Whether it has the only copy of something;
    of one that can't be read that is not known.
    """
    if backup.manifest is None:
        return bool(names_in(layout.backups / backup.id / "aside"))
    return any(is_there(path) for path in backup.manifest.only_copies)
