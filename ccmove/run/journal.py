"""The run under way: its journal and its directory.

`ccmove/journal.json` names what the run stages and, from the commit point on, everything that it
does. `ccmove/run/` has the same manifest, the saved files, and what is parked or set aside; when
the run is done this directory becomes `ccmove/backups/<ID>`, and that rename is the mark of
completion. So a run is unfinished as long as either of the two is there, and can be rolled back
from each of them alone.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.reading import is_there, read_document
from ccmove.errors import UnsettledError, look_at, run
from ccmove.run import disk
from ccmove.run.manifest import (
    LARGEST_MANIFEST,
    SCHEMA,
    Manifest,
    Spelling,
    Wrote,
    WroteHistory,
    checked_id,
    from_json,
    to_json,
)


@dataclass(frozen=True, slots=True)
class Journal:
    """The run under way. Until `manifest` is there nothing of the user's was changed."""

    id: str
    staged: tuple[Path, ...]
    manifest: Manifest | None = None


def staged_path(layout: Layout, identifier: str, number: int, path: Path, is_made: bool) -> Path:
    """Where a run stages a file that it writes: beside it, or for one that it makes, in `run`.

    The name carries the ID: only this run can have made it.
    """
    parent = layout.run / "staged" if is_made else path.parent
    return parent / f".ccmove-{identifier}-{number}"


def staged_file(layout: Layout, identifier: str, wrote: Wrote | WroteHistory) -> Path:
    is_made = wrote.before is None
    return staged_path(layout, identifier, wrote.number, wrote.path, is_made)


def staged_files(layout: Layout, manifest: Manifest) -> tuple[Path, ...]:
    return tuple(staged_file(layout, manifest.id, op) for op in manifest.written)


def client_locks(layout: Layout, manifest: Manifest) -> list[Path]:
    """The client's locks that a run needs."""
    history_lock, config_lock = layout.client_locks
    needed = [history_lock] if manifest.history is not None else []
    if any(isinstance(op, Wrote) and op.place == "config" for op in manifest.written):
        needed.append(config_lock)
    return needed


# -- on disk ---------------------------------------------------------------------------------------


def write_journal(journal: Journal, layout: Layout) -> None:
    """Flushed to disk when this returns; the old journal is replaced in one step."""
    spelling = Spelling(layout, layout.run)
    record = {
        "schema": SCHEMA,
        "id": journal.id,
        "staged": [spelling.write(path) for path in journal.staged],
        "manifest": to_json(journal.manifest, layout, layout.run) if journal.manifest else None,
    }
    data = json.dumps(record).encode()
    fresh = _fresh(layout)
    disk.remove_file(fresh, flushed=False)
    disk.write_new(fresh, [data])
    disk.replace(fresh, layout.journal)
    if not is_there(layout.run):  # until there is a manifest, what is staged is known from here
        disk.make_directory(layout.run, flushed=False)
        disk.write_new(layout.run / "begun.json", [data])


def _fresh(layout: Layout) -> Path:
    """The name of a journal that is being written."""
    return layout.journal.with_name("journal.json.new")


def was_interrupted(layout: Layout) -> bool:
    """Whether a run left its journal, one that it was about to write, or its directory."""
    return any(map(is_there, (layout.journal, _fresh(layout), layout.run)))


def remove_unwritten(layout: Layout) -> None:
    """Remove a journal that was never in force."""
    disk.remove_file(_fresh(layout), flushed=False)


def read_journal(layout: Layout) -> Journal | None:
    """The unfinished run, None when there is none; UnsettledError when it can't be read.

    A journal that is gone or damaged is no loss: the run's own directory has the same manifest
    from the commit point on and, before that, the names of what was staged.
    """
    problem = None
    for path in (layout.journal, layout.run / "manifest.json", layout.run / "begun.json"):
        document = read_document(path, LARGEST_MANIFEST)
        if document is None:
            continue
        try:
            record = json.loads(document.data)
            if path.name != "manifest.json":
                return _journal(record, layout)
            manifest = from_json(record, layout, layout.run)
            return Journal(manifest.id, staged_files(layout, manifest), manifest)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            problem = problem or f"{path} can't be trusted: {error}"
            if path.name == "manifest.json":
                break  # from here on something may have been changed: not to be taken for less
    if problem is not None:
        keep = run("ccmove", "recover", "--set-aside", text="to keep it all and go on without it")
        raise UnsettledError(problem, look_at(layout.own), keep)
    return Journal("", ()) if is_there(layout.run) else None


def _journal(record: dict[str, object], layout: Layout) -> Journal:
    if record["schema"] != SCHEMA:
        raise ValueError(f"unknown version {record['schema']!r}")
    identifier = checked_id(record["id"])
    rows = record["staged"]
    if not isinstance(rows, list):
        raise ValueError(f"{rows!r} are no staged files")
    staged = tuple(_staged_path(text, layout, identifier) for text in rows)
    if record["manifest"] is None:
        return Journal(identifier, staged)
    manifest = from_json(record["manifest"], layout, layout.run)
    if manifest.id != identifier:
        raise ValueError(f"its manifest belongs to {manifest.id!r}")
    if staged != staged_files(layout, manifest):
        raise ValueError("what it staged is not what it wrote")
    return Journal(identifier, staged, manifest)


def _staged_path(text: object, layout: Layout, identifier: str) -> Path:
    """A staged file is always ours: its name carries the ID of the run."""
    if not isinstance(text, str):
        raise ValueError(f"{text!r} is no staged file")
    path = Spelling(layout, layout.run).read(text)
    if not re.fullmatch(rf"\.ccmove-{identifier}-[0-9]+", path.name):
        raise ValueError(f"{text!r} is no staged file")
    return path
