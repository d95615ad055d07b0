"""The backups there are, which of them still stand, and what they tell of whose sessions are.

`backups/<ID>/manifest.json` says what a move or a restore changed, `files/` holds the documents
before and after, `aside/` what lost in a merge. `unfinished/<ID>` is a run that could not be
rolled back and was set aside: never pruned.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.ownership import Ledger
from ccmove.claude.reading import is_there, names_in, read_document
from ccmove.errors import CcmoveError, NothingKnownError, RefusedError, look_at, run
from ccmove.rewrite.history import Scan
from ccmove.rewrite.history_back import from_record
from ccmove.run import disk
from ccmove.run.manifest import (
    ID_PATTERN,
    LARGEST_MANIFEST,
    Manifest,
    Wrote,
    WroteHistory,
    from_json,
    sha256,
    to_json,
)


def new_id(layout: Layout) -> str:
    """An ID that sorts after every other one, even when the clock was set back."""
    identifier = f"{_stamp(time.time())}-{os.urandom(2).hex()}"
    newest = max((*backup_ids(layout), *unfinished_ids(layout)), default="")
    if identifier > newest:
        return identifier
    suffix = int(newest[-4:], 16) + 1
    if suffix > 0xFFFF:
        raise RefusedError(
            f"no later backup than {layout.backups / newest} can be made",
            run("ccmove", "backups", text="its date can't be right"),
        )
    return f"{newest[:17]}{suffix:04x}"


def _stamp(seconds: float) -> str:
    """The moment as IDs have it, so that they sort by it."""
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(max(0, seconds)))


# -- manifests -------------------------------------------------------------------------------------


def write_manifest(manifest: Manifest, layout: Layout) -> None:
    """Into the directory of the run under way."""
    fresh = layout.run / "manifest.json.new"
    disk.remove_file(fresh, flushed=False)
    disk.write_new(fresh, [json.dumps(to_json(manifest, layout, layout.run)).encode()])
    disk.replace(fresh, layout.run / "manifest.json")


def read_manifest(identifier: str, layout: Layout) -> Manifest:
    """The manifest of one backup; RefusedError when it can't be trusted."""
    directory = layout.backups / identifier
    path = directory / "manifest.json"
    document = read_document(path, LARGEST_MANIFEST)
    if document is None:
        if identifier in backup_ids(layout):
            raise RefusedError(f"{path} is missing", look_at(directory))
        raise NothingKnownError(f"there is no backup {identifier}", run("ccmove", "backups"))
    try:
        manifest = from_json(json.loads(document.data), layout, directory)
        if manifest.id != identifier:
            raise ValueError(f"it belongs to {manifest.id}")
    except (ValueError, RecursionError) as error:
        files = run("ls", "-l", directory / "files", text="what it saved is untouched")
        raise RefusedError(f"{path} can't be used: {error}", files) from None
    return manifest


def backup_ids(layout: Layout) -> list[str]:
    """IDs of the backups there are, oldest first."""
    return [name for name in names_in(layout.backups) if ID_PATTERN.fullmatch(name)]


def unfinished_ids(layout: Layout) -> list[str]:
    """IDs of runs that were set aside."""
    return [name for name in names_in(layout.unfinished) if ID_PATTERN.fullmatch(name)]


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
    for identifier in backup_ids(layout):
        try:
            found.append(Backup(identifier, read_manifest(identifier, layout)))
        except (RefusedError, NothingKnownError) as error:
            found.append(Backup(identifier, None, error))
    standing = _standing(backup.manifest for backup in found if backup.manifest)
    return [replace(backup, stands=standing.get(backup.id, False)) for backup in found]


def _standing(manifests: Iterable[Manifest]) -> dict[str, bool]:
    """For each run whether it still stands: not undone, or undone and done again."""
    standing: dict[str, bool] = {}
    undoes: dict[str, str] = {}
    for manifest in manifests:
        standing[manifest.id] = True
        undone, state = manifest.undoes, False
        if undone is not None:
            undoes[manifest.id] = undone
        while undone is not None:  # an undone undoing makes what it had undone stand again
            standing[undone] = state
            undone, state = undoes.get(undone), not state
    return standing


def ledger_of(backups: Iterable[Backup]) -> Ledger:
    """What our own moves say about whose the entries of each directory are."""
    ledger = Ledger()
    for backup in backups:
        for move in backup.manifest.projects if backup.manifest is not None else ():
            for entry in move.entries:
                ledger.entries.pop((move.source, entry), None)
                ledger.entries[(move.target, entry)] = move.new_path
            ledger.owners.get(move.source, set()).discard(move.path)
            ledger.owners.setdefault(move.target, set()).add(move.new_path)
    return ledger


def read_ledger(layout: Layout) -> Ledger:
    return ledger_of(all_backups(layout))


# -- saved files -----------------------------------------------------------------------------------


def read_saved(directory: Path, wrote: Wrote, which: str) -> bytes:
    """The text of a document `before` or `after` a run; RefusedError when it is not that."""
    content = wrote.before if which == "before" else wrote.after
    expected = content.sha256 if content is not None else ""
    return _saved(directory / "files" / f"{wrote.number}.{which}", expected)


def read_changed(directory: Path, wrote: WroteHistory) -> Scan:
    """What a run changed in the history; RefusedError when its record can't be trusted."""
    path = directory / "files" / f"{wrote.number}.changes"
    data = _saved(path, wrote.record)
    try:
        return from_record(data, wrote.after.size)
    except (ValueError, RecursionError):
        raise RefusedError(f"{path} can't be used", look_at(path)) from None


def _saved(path: Path, expected: str) -> bytes:
    document = read_document(path)
    if document is None:
        raise RefusedError(
            f"{path} is missing, so this backup can't be restored",
            run("ls", "-l", path.parent, text="see what is left of it"),
        )
    if sha256(document.data) != expected:
        what = f"{path} was changed since it was saved, so this backup can't be restored"
        raise RefusedError(what, look_at(path))
    return document.data


# -- pruning ---------------------------------------------------------------------------------------


def prune(
    layout: Layout, keep: int | None, older_than: float | None, named: Iterable[str] = ()
) -> tuple[list[str], list[str]]:
    """Remove backups beyond the newest `keep`, or older than that many seconds, and those named.

    The IDs that went, and those that stay because they hold the only copy of something.
    """
    backups = {backup.id: backup for backup in all_backups(layout)}
    named = set(named)
    chosen = _chosen(list(backups), keep, older_than) if keep is not None or older_than else []
    spared = [i for i in chosen if i not in named and holds_only_copy(layout, backups[i])]
    gone = [i for i in backups if i in named or (i in chosen and i not in spared)]
    for identifier in gone:
        disk.remove_backup(layout.backups / identifier)
    return gone, spared


def holds_only_copy(layout: Layout, backup: Backup) -> bool:
    """Whether it has the only copy of something; of one that can't be read that is not known."""
    if backup.manifest is None:
        return bool(names_in(layout.backups / backup.id / "aside"))
    return any(is_there(path) for path in backup.manifest.only_copies)


def _chosen(identifiers: list[str], keep: int | None, older_than: float | None) -> list[str]:
    """Both conditions must hold when both are given."""
    chosen = identifiers if keep is None else identifiers[: max(0, len(identifiers) - keep)]
    limit = _stamp(time.time() - older_than) if older_than is not None else "~"
    return [identifier for identifier in chosen if identifier[:16] < limit]
