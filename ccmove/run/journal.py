"""The run under way: its directory, what is known of it, how it is swept up or set
aside.

`ccmove/run/` has the manifest of the run, the record of its progress, the saved files,
what is parked or retired, and what came in an archive. The manifest first names only
what will be staged and, from the commit point on, everything that the run does. When
the run is done this directory becomes `ccmove/backups/<ID>`, and that rename is the
mark of completion: a run is unfinished as long as it is there.
"""

import contextlib
import os
import re

from ccmove.claude.layout import Layout
from ccmove.claude.reading import is_there, names_in
from ccmove.errors import RefusedError, UnfinishedRunError
from ccmove.hints import to_type
from ccmove.plan.model import INCOMING
from ccmove.run import disk, progress
from ccmove.run.backups import REPORT, new_id, read_manifest, write_manifest
from ccmove.run.manifest import Manifest

TO_RECOVER = to_type("ccmove", "recover", text="fix that, then")
TO_SET_ASIDE = to_type(
    "ccmove", "recover", "--set-aside", text="to keep it all and go on without it"
)
MOVES = "moves.txt"  # of a list, as `--from-file` reads it: to move again
PARTS = ("files", "staged", "retired", "parked")  # directories of a run
# What a run itself puts into two of them.
FILES = {
    "files": r"[0-9]+\.(before|after|changes|note)",
    "staged": r"\.ccmove-.+-[0-9]+",
}
# Files beside them, in the order in which they are removed: without its record a
# manifest would say that something is missing.
RECORDS = (
    "manifest.json.new",
    REPORT,
    MOVES,
    "manifest.json",
    progress.NAME,
)
EMPTY = {"manifest.json.new", progress.NAME}  # what alone says nothing of a run


def begin(layout: Layout, manifest: Manifest) -> None:
    """Make the directory of a run, with what names all that it will stage.

    What came in for it is there already, and maybe what an earlier attempt has left,
    of which nothing is done by now.
    """
    run_dir = layout.run_dir
    disk.ensure_directory(layout.backups)
    disk.ensure_directory(run_dir)
    # First the manifest without operations: with the record of an earlier attempt it
    # says that there is nothing to undo, and the old one without a record would block.
    write_manifest(manifest, layout)
    disk.remove_file(run_dir / progress.NAME, flushed=False)
    progress.make(run_dir)
    lines = os.fsencode(lines_of(manifest))
    if lines:
        disk.write_new(run_dir / MOVES, [lines])
    for name in PARTS:
        with contextlib.suppress(FileExistsError):
            disk.make_directory(run_dir / name, flushed=False)
    disk.flush(run_dir)


def lines_of(manifest: Manifest) -> str:
    """The moves of a list as `--from-file` reads them.

    Nothing for a single move, for an undo or an unpack, or where a name can't stand in
    a line.
    """
    if len(manifest.moves) < 2 or manifest.kind != "move":
        return ""
    lines = ""
    for old, new in manifest.moves:
        line = f"{old}\t{new}"
        if line.count("\t") > 1 or "\n" in line:
            return ""
        lines += f"{line}\n"
    return lines


def was_interrupted(layout: Layout) -> bool:
    return is_there(layout.run_dir)


def read_run(layout: Layout) -> Manifest | None:
    """The unfinished run, None when there is none;
    UnfinishedRunError when it can't be read.
    """
    if set(names_in(layout.run_dir)) <= EMPTY:
        return None  # there is only the beginning of a directory, or the end of one
    try:
        return read_manifest(layout.run_dir / "manifest.json", layout)
    except RefusedError as error:
        raise UnfinishedRunError(
            error.message,
            to_type("ls", "-l", layout.ccmove, text="look at what is there"),
            TO_SET_ASIDE,
        ) from error


def sweep_up(
    layout: Layout,
    manifest: Manifest | None,
    *,
    keeps_incoming: bool = False,
) -> str | None:
    """Remove what the run left of its own; should there be anything else, its directory
    is set aside, under this ID.

    By now the record of progress says that nothing is left to undo: a staged file that
    is gone means nothing.
    """
    run_dir = layout.run_dir
    incoming = run_dir / INCOMING
    if manifest is not None:
        for path in manifest.beside_documents:
            disk.remove_file(path)
        for part, pattern in FILES.items():
            for name in names_in(run_dir / part):
                if re.fullmatch(pattern, name):
                    disk.remove_file(run_dir / part / name, flushed=False)
        if keeps_incoming and is_there(incoming):
            return None
        disk.remove_tree(incoming)
        flush_parts(layout)
    if not set(names_in(run_dir)) <= set(RECORDS):
        return set_aside(layout)
    if is_there(run_dir):
        for name in RECORDS:
            disk.remove_file(run_dir / name, flushed=name == "manifest.json")
        disk.remove_directory(run_dir)
    return None


def flush_parts(layout: Layout) -> None:
    """Flush the directories of a run, and remove those that are empty."""
    for name in PARTS:
        part = layout.run_dir / name
        if names_in(part):
            disk.flush(part)
        elif is_there(part):
            disk.remove_directory(part, flushed=False)
    disk.flush(layout.run_dir)


def set_aside(layout: Layout) -> str:
    """Keep together all that there is of a run that can't be rolled back, or what
    others put into its directory; the ID it has.
    """
    identifier = new_id(layout)
    with contextlib.suppress(RefusedError):
        manifest = read_manifest(layout.run_dir / "manifest.json", layout)
        identifier = manifest.id
    disk.ensure_directory(layout.unfinished)
    disk.rename_new(layout.run_dir, layout.unfinished / identifier)
    return identifier
