"""The run under way: its directory, what is known of it, how it is swept up or set aside.

`ccmove/run/` has the manifest of the run, the saved files, and what is parked or set aside. The
manifest first names only what will be staged and, from the commit point on, everything that the
run does. When the run is done this directory becomes `ccmove/backups/<ID>`, and that rename is
the mark of completion: a run is unfinished as long as it is there. `ccmove/journal.json` is there
as long, for whoever looks: it tells the ID, and no run is rolled back from it.
"""

import contextlib
import json
import re
from dataclasses import replace
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.reading import is_there, names_in
from ccmove.errors import CcmoveError, RefusedError, UnsettledError, look_at, run
from ccmove.plan.model import Write, WriteHistory
from ccmove.run import disk
from ccmove.run.backups import new_id, read_manifest, write_manifest
from ccmove.run.manifest import SCHEMA, Manifest, Wrote, WroteHistory

RECOVER = run("ccmove", "recover", text="fix that, then")
SET_ASIDE = run("ccmove", "recover", "--set-aside", text="to keep it all and go on without it")
PARTS = ("files", "staged", "aside", "parked")  # directories of a run
RECORDS = ("manifest.json.new", "manifest.json")  # files beside them


def missing(what: str) -> UnsettledError:
    """Something that a rollback needs is gone, or used for something else."""
    return UnsettledError(
        f"an interrupted run could not be rolled back: {what}", RECOVER, SET_ASIDE
    )


def staged_file(
    layout: Layout, identifier: str, number: int, op: Write | WriteHistory | Wrote | WroteHistory
) -> Path:
    """Where a run stages a file that it writes: beside it, or for one that it makes, in `run`.

    The name carries the ID: only this run can have made it.
    """
    is_made = isinstance(op, (Write, Wrote)) and op.before is None
    parent = layout.run / "staged" if is_made else op.path.parent
    return parent / f".ccmove-{identifier}-{number}"


def begin(layout: Layout, manifest: Manifest) -> None:
    """Make the directory of a run, with what names all that it will stage."""
    disk.make_directory(layout.run)
    write_manifest(manifest, layout)
    disk.write_new(layout.journal, [json.dumps({"schema": SCHEMA, "id": manifest.id}).encode()])
    for name in PARTS:
        disk.make_directory(layout.run / name, flushed=False)
    disk.flush(layout.own)


def was_interrupted(layout: Layout) -> bool:
    """Whether a run left its directory, or at least its journal."""
    return is_there(layout.run) or is_there(layout.journal)


def read_run(layout: Layout) -> Manifest | None:
    """The unfinished run, None when there is none; UnsettledError when it can't be read."""
    if not is_there(layout.journal) and set(names_in(layout.run)) <= set(RECORDS[:1]):
        return None  # there is only the beginning of a directory, or the end of one
    try:
        return read_manifest(layout.run / "manifest.json", layout)
    except RefusedError as error:
        raise UnsettledError(error.message, look_at(layout.own), SET_ASIDE) from error


def sweep_up(layout: Layout, manifest: Manifest | None) -> None:
    """Remove what the run left of its own; should there be anything else, its directory is kept.

    First it says that nothing is left to undo: a staged file that is gone means nothing then.
    """
    if manifest is not None:
        if manifest.operations:
            write_manifest(replace(manifest, operations=()), layout)
        _remove_files(layout, manifest)
        disk.remove_file(layout.journal)
    if not set(names_in(layout.run)) <= set(RECORDS):
        set_aside(layout)
    elif is_there(layout.run):
        for name in RECORDS:
            disk.remove_file(layout.run / name, flushed=False)
        disk.remove_directory(layout.run)


def _remove_files(layout: Layout, manifest: Manifest) -> None:
    """Remove the staged and saved files of a run, and its directories that are empty then."""
    for path in manifest.staged:
        if not is_there(path.parent) and path.parent != layout.run / "staged":
            raise missing(f"{path.parent} is gone")  # it may come back, with our file in it
        disk.remove_file(path)
        disk.remove_file(path.with_name(f"{path.name}-back"))
    for name in names_in(layout.run / "files"):
        if re.fullmatch(r"[0-9]+\.(before|after|changes)", name):
            disk.remove_file(layout.run / "files" / name, flushed=False)
    for part in (layout.run / name for name in PARTS):
        if is_there(part) and not names_in(part):
            disk.remove_directory(part, flushed=False)
    disk.flush(layout.run)


def set_aside(layout: Layout) -> str:
    """Keep all that there is of an unfinished run together; the ID it has."""
    manifest = None
    with contextlib.suppress(CcmoveError):
        manifest = read_run(layout)
    identifier = manifest.id if manifest is not None else new_id(layout)
    disk.ensure_directory(layout.unfinished)
    if not is_there(layout.run):
        disk.make_directory(layout.run)
    if is_there(layout.journal) and not is_there(layout.run / "journal.json"):
        disk.rename_new(layout.journal, layout.run / "journal.json")
    disk.rename_new(layout.run, layout.unfinished / identifier)
    return identifier
