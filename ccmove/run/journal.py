"""The run under way: its directory, what is known of it, how it is swept up or set
aside.

`ccmove/run/` has the manifest of the run, the record of its progress, the saved files,
and what is parked or set aside. The manifest first names only what will be staged and,
from the commit point on, everything that the run does. When the run is done this
directory becomes `ccmove/backups/<ID>`, and that rename is the mark of completion: a
run is unfinished as long as it is there. `ccmove/journal.json` is there as long, for
whoever looks: it tells the ID, and no run is rolled back from it.
"""

import contextlib
import json
import os
import re

from ccmove.claude.layout import Layout
from ccmove.claude.reading import is_there, names_in
from ccmove.errors import RefusedError, UnfinishedRunError, look_at, run
from ccmove.run import disk, progress
from ccmove.run.backups import REPORT, new_id, read_manifest, write_manifest
from ccmove.run.codec import SCHEMA
from ccmove.run.manifest import Manifest, staged_name

RECOVER = run("ccmove", "recover", text="fix that, then")
SET_ASIDE = run(
    "ccmove", "recover", "--set-aside", text="to keep it all and go on without it"
)
MOVES = "moves.txt"  # of a list, as `--from-file` reads it: to move again
PARTS = ("files", "staged", "aside", "parked")  # directories of a run
# Files beside them, in the order in which they are removed: without its record a
# manifest would say that something is missing.
RECORDS = (
    "manifest.json.new",
    "journal.json",
    REPORT,
    MOVES,
    "manifest.json",
    progress.NAME,
)
EMPTY = {"manifest.json.new", progress.NAME}  # what alone says nothing of a run


def missing(what: str) -> UnfinishedRunError:
    """Something that a rollback needs is gone, or used for something else."""
    what = f"an interrupted run could not be rolled back: {what}"
    return UnfinishedRunError(what, RECOVER, SET_ASIDE)


def begin(layout: Layout, manifest: Manifest) -> None:
    """Make the directory of a run, with what names all that it will stage."""
    disk.ensure_directory(layout.backups)
    disk.make_directory(layout.run)
    progress.make(layout.run)
    write_manifest(manifest, layout)
    disk.write_new(
        layout.journal, [json.dumps({"schema": SCHEMA, "id": manifest.id}).encode()]
    )
    lines = lines_of(manifest)
    if lines:
        disk.write_new(layout.run / MOVES, [os.fsencode(lines)])
    for name in PARTS:
        disk.make_directory(layout.run / name, flushed=False)
    disk.flush(layout.own)


def lines_of(manifest: Manifest) -> str:
    """The moves of a list as `--from-file` reads them.

    Nothing for a single move, for an undo, or where a name can't stand in a line.
    """
    if len(manifest.moves) < 2 or manifest.undoes is not None:
        return ""
    lines = [f"{old}\t{new}" for old, new in manifest.moves]
    is_plain = all(line.count("\t") == 1 and "\n" not in line for line in lines)
    return "".join(f"{line}\n" for line in lines) if is_plain else ""


def was_interrupted(layout: Layout) -> bool:
    return is_there(layout.run) or is_there(layout.journal)


def read_run(layout: Layout) -> Manifest | None:
    """The unfinished run, None when there is none;
    UnfinishedRunError when it can't be read.
    """
    if not is_there(layout.journal) and set(names_in(layout.run)) <= EMPTY:
        return None  # there is only the beginning of a directory, or the end of one
    try:
        return read_manifest(layout.run / "manifest.json", layout)
    except RefusedError as error:
        raise UnfinishedRunError(
            error.message, look_at(layout.own), SET_ASIDE
        ) from error


def sweep_up(layout: Layout, manifest: Manifest | None, at_once: bool) -> str | None:
    """Remove what the run left of its own; should there be anything else, its directory
    is set aside, under this ID.

    By now the record of progress says that nothing is left to undo: a staged file that
    is gone means nothing.
    """
    if manifest is not None:
        for parent in {path.parent for path in manifest.replaced}:
            # It may come back, with our file or our change in it; later, a job is gone
            # for good.
            if not is_there(parent) and (at_once or parent.parent != layout.jobs):
                raise missing(f"{parent} is gone")
        _remove_files(layout, manifest)
        disk.remove_file(layout.journal)
    if not set(names_in(layout.run)) <= set(RECORDS):
        return set_aside(layout)
    if is_there(layout.run):
        for name in RECORDS:
            disk.remove_file(layout.run / name, flushed=name == "manifest.json")
        disk.remove_directory(layout.run)
    return None


def _remove_files(layout: Layout, manifest: Manifest) -> None:
    """Remove the staged and saved files of a run,
    and its directories that are empty then.
    """
    for path in manifest.staged:
        disk.remove_file(path)
        disk.remove_file(path.with_name(f"{path.name}-back"))
    made = re.escape(staged_name(manifest.id, 0)).removesuffix("0") + "[0-9]+"
    for name in names_in(layout.run / "staged"):
        if re.fullmatch(made, name):
            disk.remove_file(layout.run / "staged" / name, flushed=False)
    for name in names_in(layout.run / "files"):
        if re.fullmatch(r"[0-9]+\.(before|after|changes|note)", name):
            disk.remove_file(layout.run / "files" / name, flushed=False)
    flush_parts(layout)


def flush_parts(layout: Layout) -> None:
    """Flush the directories of a run, and remove those that are empty."""
    for part in (layout.run / name for name in PARTS):
        if names_in(part):
            disk.flush(part)
        elif is_there(part):
            disk.remove_directory(part, flushed=False)
    disk.flush(layout.run)


def set_aside(layout: Layout) -> str:
    """Keep all that there is of an unfinished run together; the ID it has."""
    identifier = new_id(layout)
    with contextlib.suppress(RefusedError):
        identifier = read_manifest(layout.run / "manifest.json", layout).id
    disk.ensure_directory(layout.unfinished)
    disk.ensure_directory(layout.run)
    if is_there(layout.journal) and not is_there(layout.run / "journal.json"):
        disk.rename_new(layout.journal, layout.run / "journal.json")
    disk.rename_new(layout.run, layout.unfinished / identifier)
    return identifier
