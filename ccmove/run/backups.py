"""The backups there are, which of them still stand, and what they tell of whose sessions are.

`backups/<ID>/manifest.json` says what a move or a restore changed, `files/` holds the saved
files and the edits that were made to each, `displaced/` what lost in a merge.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterable

from ccmove.claude.layout import Layout
from ccmove.claude.ownership import Ledger
from ccmove.claude.state import names_in, read_document
from ccmove.errors import NothingKnownError, RefusedError, run
from ccmove.run import disk as files
from ccmove.run.manifest import ID_PATTERN, LARGEST_MANIFEST, Manifest, from_json, to_json


def new_id(layout: Layout) -> str:
    """An ID that sorts after every other one, even when the clock was set back."""
    identifier = _id(time.time(), os.urandom(2).hex())
    newest = max(backup_ids(layout), default="")
    if identifier > newest:
        return identifier
    suffix = int(newest[-4:], 16) + 1
    if suffix <= 0xFFFF:
        return f"{newest[:17]}{suffix:04x}"
    following = _id(_moment(newest) + 1, "0000")
    if not ID_PATTERN.fullmatch(following):
        raise RefusedError(
            f"no later backup than {layout.backups / newest} can be made",
            "its date can't be right: move it out of the way",
        )
    return following


def _moment(identifier: str) -> int:
    """Seconds since 1970; a day that the month does not have is one of the next."""
    import calendar

    date = [int(identifier[a:b]) for a, b in ((0, 4), (4, 6), (6, 8), (9, 11), (11, 13), (13, 15))]
    return calendar.timegm(tuple(date))


def _id(seconds: float, suffix: str) -> str:
    return f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(seconds))}-{suffix}"


def write_manifest(manifest: Manifest, layout: Layout) -> None:
    path = layout.backups / manifest.id / "manifest.json"
    files.remove_file(path, flushed=False)
    files.write_new(path, [json.dumps(to_json(manifest, layout)).encode()])


def read_manifest(identifier: str, layout: Layout) -> Manifest:
    """The manifest of one backup; RefusedError when it can't be trusted."""
    path = layout.backups / identifier / "manifest.json"
    document = read_document(path, LARGEST_MANIFEST)
    if document is None:
        raise NothingKnownError(f"there is no backup {identifier}", run("ccmove", "backups"))
    try:
        manifest = from_json(json.loads(document.data), layout)
        if manifest.id != identifier:
            raise ValueError(f"it belongs to {manifest.id}")
    except (ValueError, RecursionError) as error:
        raise RefusedError(
            f"{path} can't be used: {error}",
            run("ls", "-l", path.parent / "files", text="what it saved is untouched"),
        ) from None
    return manifest


def backup_ids(layout: Layout) -> list[str]:
    """IDs of the backups there are, oldest first."""
    return [name for name in names_in(layout.backups) if ID_PATTERN.fullmatch(name)]


def all_manifests(layout: Layout) -> list[Manifest]:
    """Every manifest that can be trusted, oldest first."""
    found = []
    for identifier in backup_ids(layout):
        with contextlib.suppress(RefusedError, NothingKnownError):
            found.append(read_manifest(identifier, layout))
    return found


def in_force(manifests: Iterable[Manifest]) -> dict[str, bool]:
    """For each run whether it still stands: not undone, or undone and done again."""
    standing: dict[str, bool] = {}
    undoes: dict[str, str] = {}
    for manifest in manifests:
        standing[manifest.id] = True
        if manifest.undoes is not None:
            undoes[manifest.id] = manifest.undoes
            _turn(manifest.undoes, standing, undoes)
    return standing


def _turn(identifier: str, standing: dict[str, bool], undoes: dict[str, str]) -> None:
    """The run is undone; if it was itself an undoing, what it had undone stands again."""
    standing[identifier] = False
    if identifier in undoes:
        original = undoes[identifier]
        standing[original] = True
        if original in undoes:
            _turn(undoes[original], standing, undoes)


def read_ledger(layout: Layout) -> Ledger:
    """What our own moves say about whose the entries of each directory are."""
    ledger = Ledger()
    for manifest in all_manifests(layout):
        for move in manifest.projects:
            for entry in move.entries:
                ledger.entries.pop((move.source, entry), None)
                ledger.entries[(move.target, entry)] = move.new_path
            ledger.owners.get(move.source, set()).discard(move.path)
            ledger.owners.setdefault(move.target, set()).add(move.new_path)
    return ledger
