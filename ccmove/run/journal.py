"""The journal: the run under way. While it is there, an interruption means: take back."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import NamedTuple

from ccmove.claude.layout import Layout
from ccmove.claude.nofollow import is_there
from ccmove.claude.state import read_document
from ccmove.errors import UnsettledError, run
from ccmove.run import disk as files
from ccmove.run.manifest import (
    LARGEST_MANIFEST,
    SCHEMA,
    Manifest,
    Spelling,
    checked_id,
    from_json,
    to_json,
)


class Journal(NamedTuple):
    """The run under way. Until `manifest` is there nothing of the user's was changed."""

    id: str
    mark: int  # nanoseconds that mark our client locks
    locks: tuple[Path, ...] = ()
    staged: tuple[Path, ...] = ()
    manifest: Manifest | None = None


def write_journal(journal: Journal, layout: Layout) -> None:
    """Flushed to disk when this returns; the old journal is replaced in one step."""
    spelling = Spelling(layout)
    record = {
        "schema": SCHEMA,
        "id": journal.id,
        "mark": journal.mark,
        "locks": [spelling.write(path) for path in journal.locks],
        "staged": [spelling.write(path) for path in journal.staged],
        "manifest": to_json(journal.manifest, layout) if journal.manifest else None,
    }
    fresh = _fresh(layout)
    files.remove_file(fresh, flushed=False)
    files.write_new(fresh, [json.dumps(record).encode()])
    files.replace(fresh, layout.journal)


def _fresh(layout: Layout) -> Path:
    """The name of a journal that is being written."""
    return layout.journal.with_name("journal.json.new")


def was_interrupted(layout: Layout) -> bool:
    """Whether a run left its journal, or one that it was about to write."""
    return is_there(layout.journal) or is_there(_fresh(layout))


def remove_unfinished(layout: Layout) -> None:
    """Remove a journal that was never in force."""
    files.remove_file(_fresh(layout), flushed=False)


def read_journal(layout: Layout) -> Journal | None:
    """The journal of an interrupted run, None when there is none; UnsettledError if unreadable."""
    document = read_document(layout.journal, LARGEST_MANIFEST)
    if document is None:
        return None
    try:
        record = json.loads(document.data)
        if record["schema"] != SCHEMA:
            raise ValueError(f"unknown version {record['schema']!r}")
        manifest = record["manifest"]
        if manifest is not None and manifest["id"] != record["id"]:
            raise ValueError(f"its manifest belongs to {manifest['id']!r}")
        journal = Journal(
            checked_id(record["id"]),
            _mark(record["mark"]),
            tuple(_lock_path(text, layout) for text in record["locks"]),
            tuple(_staged_path(text, layout, record["id"]) for text in record["staged"]),
            from_json(manifest, layout) if manifest is not None else None,
        )
        _refuse_unstaged(journal)
        return journal
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UnsettledError(
            f"{layout.journal} can't be trusted: {error}",
            run(
                "mv",
                layout.journal,
                f"{layout.journal}.bad",
                text=f"look at it and at {layout.backups}; to set it aside",
            ),
        ) from None


def _refuse_unstaged(journal: Journal) -> None:
    """Beside every file that a run replaces it stages one: the way back needs that place too.

    Both are listed in one order.
    """
    for number, file in enumerate(journal.manifest.files if journal.manifest is not None else ()):
        beside = [path.parent for path in journal.staged[number : number + 1]]
        if file.before is not None and beside != [file.path.parent]:
            raise ValueError(f"nothing is staged beside {file.path}")


def _lock_path(text: str, layout: Layout) -> Path:
    for path in layout.client_locks:
        if Spelling(layout).write(path) == text:
            return path
    raise ValueError(f"{text!r} is no lock of the client")


def _mark(value: object) -> int:
    if type(value) is not int or not 0 <= value < 1_000_000_000:
        raise ValueError(f"{value!r} marks no lock of ours")
    return value


def _staged_path(text: object, layout: Layout, identifier: str) -> Path:
    """A staged file is always ours: its name carries the ID of the run."""
    if not isinstance(text, str):
        raise ValueError(f"{text!r} is no staged file")
    path = Spelling(layout).read(text) if text.startswith("$") else Path(text)
    os.fsencode(text)  # half a character is no name; this error is a ValueError too
    is_ours = re.fullmatch(rf"\.ccmove-{identifier}-[0-9]+", path.name)
    if not is_ours or not path.is_absolute() or ".." in path.parts or "\0" in text:
        raise ValueError(f"{text!r} is no staged file")
    return path
