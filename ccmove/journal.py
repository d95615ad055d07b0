"""The journal: the run under way. While it is there, an interruption means: take back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from ccmove import files
from ccmove.errors import UnsettledError
from ccmove.layout import Layout
from ccmove.manifest import SCHEMA, Manifest, Spelling, checked_id, from_json, to_json
from ccmove.state import read_document


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
    fresh = layout.journal.with_name("journal.json.new")
    files.remove_file(fresh)
    files.write_new(fresh, [json.dumps(record).encode()])
    files.replace(fresh, layout.journal)


def read_journal(layout: Layout) -> Journal | None:
    """The journal of an interrupted run, None when there is none; UnsettledError if unreadable."""
    document = read_document(layout.journal)
    if document is None:
        return None
    try:
        record = json.loads(document.data)
        if record["schema"] != SCHEMA:
            raise ValueError(f"unknown version {record['schema']!r}")
        manifest = record["manifest"]
        return Journal(
            checked_id(record["id"]),
            int(record["mark"]),
            tuple(_lock_path(text, layout) for text in record["locks"]),
            tuple(_staged_path(text, layout, record) for text in record["staged"]),
            from_json(manifest, layout) if manifest is not None else None,
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UnsettledError(
            f"{layout.journal} can't be trusted: {error}",
            f"look at it and at {layout.backups}, then move it out of the way",
        ) from None


def _lock_path(text: str, layout: Layout) -> Path:
    for path in layout.client_locks:
        if Spelling(layout).write(path) == text:
            return path
    raise ValueError(f"{text!r} is no lock of the client")


def _staged_path(text: str, layout: Layout, record: dict[str, Any]) -> Path:
    """A staged file is always ours: its name carries the ID of the run."""
    path = Path(text) if not text.startswith("$") else Spelling(layout).read(text)
    if f".ccmove-{checked_id(record['id'])}" not in path.name or ".." in path.parts:
        raise ValueError(f"{text!r} is no staged file")
    return path
