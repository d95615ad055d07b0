"""What an unfinished run leaves: swept up when it is rolled back, or set aside and kept whole."""

from __future__ import annotations

import contextlib

from ccmove.claude.layout import Layout
from ccmove.claude.reading import is_there, names_in
from ccmove.errors import UnsettledError, run
from ccmove.run import disk
from ccmove.run.backups import new_id
from ccmove.run.journal import (
    Journal,
    read_journal,
    remove_unwritten,
    was_interrupted,
    write_journal,
)
from ccmove.run.manifest import ID_PATTERN
from ccmove.run.recognise import is_empty_directory

RECOVER = run("ccmove", "recover", text="fix that, then")
RECORDS = ("manifest.json", "manifest.json.new", "begun.json")  # of a run, beside its directories
SET_ASIDE = run("ccmove", "recover", "--set-aside", text="to keep it all and go on without it")


def missing(what: str) -> UnsettledError:
    """Something that a rollback needs is gone, or used for something else."""
    return UnsettledError(f"an interrupted run could not be taken back: {what}", RECOVER, SET_ASIDE)


def sweep(layout: Layout, journal: Journal) -> None:
    """Remove what the run left of its own; the journal last.

    First it says that nothing is left to undo: a staged file that is gone means nothing then.
    """
    if journal.manifest is not None and is_there(layout.run):
        write_journal(Journal(journal.id, journal.staged), layout)
        disk.remove_file(layout.run / "manifest.json")
    for path in journal.staged:
        if not is_there(path.parent) and path.parent != layout.run / "staged":
            raise missing(f"{path.parent} is gone")  # it may come back, with our file in it
        disk.remove_file(path)
        disk.remove_file(path.with_name(f"{path.name}-back"))
    if is_there(layout.run):
        _remove_run(layout, journal)
    disk.remove_file(layout.journal)


def _remove_run(layout: Layout, journal: Journal) -> None:
    """The directory of the run; should it hold anything that is not ours, it is kept whole."""
    if not journal.id and names_in(layout.run):
        _set_aside(layout, "")  # nothing tells what it did
        return
    saved = layout.run / "files"
    for name in names_in(saved):
        if name.partition(".")[0].isdigit() and name.endswith((".before", ".after", ".changes")):
            disk.remove_file(saved / name, flushed=False)
    for name in names_in(layout.run / "staged"):
        if name.startswith(".ccmove-"):
            disk.remove_file(layout.run / "staged" / name, flushed=False)
    empty = [part for part in ("files", "staged", "aside", "parked") if is_there(layout.run / part)]
    if all(is_empty_directory(layout.run / part) for part in empty) and set(
        names_in(layout.run)
    ) <= {*empty, *RECORDS}:
        for part in empty:
            disk.remove_directory(layout.run / part, flushed=False)
        for name in RECORDS:
            disk.remove_file(layout.run / name, flushed=False)
        disk.remove_directory(layout.run)
    else:
        _set_aside(layout, journal.id)


def set_aside(layout: Layout) -> str | None:
    """Keep journal, backup and parked things of an unfinished run together; the ID they have."""
    if not was_interrupted(layout):
        return None
    remove_unwritten(layout)
    with contextlib.suppress(UnsettledError):
        journal = read_journal(layout)
        if journal is not None and journal.id:
            return _set_aside(layout, journal.id)
    return _set_aside(layout, "")


def _set_aside(layout: Layout, identifier: str) -> str:
    identifier = identifier if ID_PATTERN.fullmatch(identifier) else new_id(layout)
    disk.ensure_directory(layout.unfinished)
    kept = layout.unfinished / identifier
    if not is_there(layout.run):
        disk.make_directory(layout.run)
    if is_there(layout.journal) and not is_there(layout.run / "journal.json"):
        disk.rename_new(layout.journal, layout.run / "journal.json")
    disk.rename_new(layout.run, kept)
    return identifier
