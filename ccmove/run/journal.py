"""The run under way: its journal and its directory, and how they are swept up or set aside.

`ccmove/journal.json` names what the run stages and, from the commit point on, everything that it
does. `ccmove/run/` has the same manifest, the saved files, and what is parked or set aside; when
the run is done this directory becomes `ccmove/backups/<ID>`, and that rename is the mark of
completion. So a run is unfinished as long as either of the two is there, and can be rolled back
from each of them alone.
"""

import contextlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.reading import is_there, names_in, read_document
from ccmove.errors import UnsettledError, look_at, run
from ccmove.run import disk
from ccmove.run.backups import new_id
from ccmove.run.decode import decode
from ccmove.run.manifest import (
    LARGEST_MANIFEST,
    SCHEMA,
    Id,
    Manifest,
    Spelling,
    Wrote,
    WroteHistory,
    from_json,
    to_json,
)

RECOVER = run("ccmove", "recover", text="fix that, then")
SET_ASIDE = run("ccmove", "recover", "--set-aside", text="to keep it all and go on without it")
FRESH = "journal.json.new"  # a journal that is being written
PARTS = ("files", "staged", "aside", "parked")  # directories of a run
RECORDS = ("manifest.json", "manifest.json.new", "begun.json")  # files beside them


@dataclass(frozen=True, slots=True)
class Journal:
    """The run under way. Until `manifest` is there nothing of the user's was changed."""

    id: str
    staged: tuple[Path, ...]
    manifest: Manifest | None = None


def missing(what: str) -> UnsettledError:
    """Something that a rollback needs is gone, or used for something else."""
    return UnsettledError(
        f"an interrupted run could not be rolled back: {what}", RECOVER, SET_ASIDE
    )


def staged_path(layout: Layout, identifier: str, number: int, path: Path, is_made: bool) -> Path:
    """Where a run stages a file that it writes: beside it, or for one that it makes, in `run`.

    The name carries the ID: only this run can have made it.
    """
    parent = layout.run / "staged" if is_made else path.parent
    return parent / f".ccmove-{identifier}-{number}"


def staged_file(layout: Layout, identifier: str, wrote: Wrote | WroteHistory) -> Path:
    return staged_path(layout, identifier, wrote.number, wrote.path, wrote.before is None)


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
    remove_unwritten(layout)
    disk.write_new(layout.own / FRESH, [data])
    disk.replace(layout.own / FRESH, layout.journal)
    if not is_there(layout.run):  # until there is a manifest, what is staged is known from here
        disk.make_directory(layout.run, flushed=False)
        disk.write_new(layout.run / "begun.json", [data])


def remove_unwritten(layout: Layout) -> None:
    """Remove a journal that was never in force."""
    disk.remove_file(layout.own / FRESH, flushed=False)


def was_interrupted(layout: Layout) -> bool:
    """Whether a run left its journal, one that it was about to write, or its directory."""
    return any(map(is_there, (layout.journal, layout.own / FRESH, layout.run)))


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
        is_manifest = path.name == "manifest.json"
        try:
            return _journal(json.loads(document.data), layout, is_manifest)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            problem = problem or f"{path} can't be trusted: {error}"
            if is_manifest:
                break  # from here on something may have been changed: not to be taken for less
    if problem is not None:
        raise UnsettledError(problem, look_at(layout.own), SET_ASIDE)
    return Journal("", ()) if is_there(layout.run) else None


def _journal(record: dict[str, object], layout: Layout, is_manifest: bool) -> Journal:
    """A staged file is always ours: its name carries the ID of the run."""
    if is_manifest:
        manifest = from_json(record, layout, layout.run)
        files = tuple(staged_file(layout, manifest.id, wrote) for wrote in manifest.written)
        return Journal(manifest.id, files, manifest)
    if record["schema"] != SCHEMA:
        raise ValueError(f"unknown version {record['schema']!r}")
    read = Spelling(layout, layout.run).read
    identifier = decode(Id, record["id"], read)
    staged = decode(tuple[Path, ...], record["staged"], read)
    for path in staged:
        if not re.fullmatch(rf"\.ccmove-{identifier}-[0-9]+", path.name):
            raise ValueError(f"{str(path)!r} is not a staged file")
    if record["manifest"] is None:
        return Journal(identifier, staged)
    same = _journal(record["manifest"], layout, True)  # type: ignore[arg-type]  # it is checked
    if (same.id, same.staged) != (identifier, staged):
        raise ValueError("its manifest is that of another run")
    return same


def sweep_up(layout: Layout, journal: Journal) -> None:
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
        set_aside(layout, journal)  # nothing tells what it did
        return
    for part, ours in (("files", r"[0-9]+\.(before|after|changes)"), ("staged", r"\.ccmove-.*")):
        for name in names_in(layout.run / part):
            if re.fullmatch(ours, name, re.DOTALL):
                disk.remove_file(layout.run / part / name, flushed=False)
    for name in PARTS:
        if is_there(layout.run / name) and not names_in(layout.run / name):
            disk.remove_directory(layout.run / name, flushed=False)
    if set(names_in(layout.run)) <= set(RECORDS):
        for name in RECORDS:
            disk.remove_file(layout.run / name, flushed=False)
        disk.remove_directory(layout.run)
    else:
        set_aside(layout, journal)


def set_aside(layout: Layout, journal: Journal | None = None) -> str:
    """Keep journal, backup and parked things of an unfinished run together; the ID they have."""
    remove_unwritten(layout)
    with contextlib.suppress(UnsettledError):
        journal = journal or read_journal(layout)
    identifier = (journal.id if journal is not None else "") or new_id(layout)
    disk.ensure_directory(layout.unfinished)
    if not is_there(layout.run):
        disk.make_directory(layout.run)
    if is_there(layout.journal) and not is_there(layout.run / "journal.json"):
        disk.rename_new(layout.journal, layout.run / "journal.json")
    disk.rename_new(layout.run, layout.unfinished / identifier)
    return identifier
