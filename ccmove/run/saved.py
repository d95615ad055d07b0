"""What a backup saved, and what is there now without the run's change.

Recovery and undo take a run's change out of documents in the same way: one that is as
the run left it gets its original bytes; in any other the three-way rules of
`rewrite.threeway` hold, and what came later stays.
"""

import hashlib
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.reading import (
    open_history,
    read_document,
)
from ccmove.errors import RefusedError, look_at
from ccmove.plan.model import WriteHistory
from ccmove.rewrite import history
from ccmove.rewrite.history import BLOCK, Read, Scan, Tick, WayBack, from_record
from ccmove.rewrite.pathmap import NameMap
from ccmove.rewrite.threeway import taken_out
from ccmove.run.manifest import SavedNote, Wrote, WroteHistory, sha256
from ccmove.run.since import Since


def read_saved(directory: Path, wrote: Wrote, which: str) -> bytes:
    """The text of a document `before` or `after` a run.

    RefusedError when it is not that.
    """
    content = wrote.before if which == "before" else wrote.after
    expected = content.sha256 if content is not None else ""
    return _saved(directory / "files" / f"{wrote.number}.{which}", expected)


def read_note(directory: Path, note: SavedNote) -> bytes:
    """A note as it was when a merge moved it; RefusedError when it is not that."""
    return _saved(directory / "files" / note.name, note.content.sha256)


def read_scan(directory: Path, wrote: WroteHistory) -> Scan:
    """What a run changed in the history.

    RefusedError when its record can't be trusted.
    """
    path = directory / "files" / f"{wrote.number}.changes"
    data = _saved(path, wrote.record)
    try:
        kept = from_record(data, wrote.before.size, wrote.after.size)
        if not kept.lines:
            raise ValueError("no change at all")
        return kept
    except (ValueError, RecursionError):
        raise RefusedError(f"{path} can't be used", look_at(path)) from None


def _saved(path: Path, expected: str) -> bytes:
    document = read_document(path)
    if document is not None and sha256(document.data) == expected:
        return document.data
    what = "is missing" if document is None else "was changed since it was saved"
    raise RefusedError(
        f"{path} {what}, so this run can't be undone", look_at(path.parent)
    )


def document_back(
    directory: Path, since: Since, wrote: Wrote, now: bytes
) -> tuple[bytes, list[str], int | None]:
    """The document without the run's change, what can't be taken out, and the date to
    give back.
    """
    assert wrote.before is not None
    digest = sha256(now)
    if digest == wrote.before.sha256:
        return now, [], None
    before = read_saved(directory, wrote, "before")
    if digest == wrote.after.sha256:
        return before, [], wrote.before.mtime_ns
    manifest = since.manifest
    whole = [m for m in manifest.projects if m.kind == "rename"]
    names = tuple((move.target, move.source) for move in whole)
    is_lines = wrote.place == "other" and wrote.path.suffix != ".json"
    text, named = taken_out(
        "lines" if is_lines else wrote.place,
        as_text(before),
        as_text(read_saved(directory, wrote, "after")),
        as_text(now),
        NameMap(names, since.following).map,  # what came since
        manifest.paths.map,
    )
    return text.encode("utf-8", "surrogateescape"), named, None


def as_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def plan_history_back(
    layout: Layout, directory: Path, since: Since, tick: Tick = None
) -> WriteHistory | None:
    """The history without the run's change; None when there is nothing to take out.

    Prompts that came since go by session, or follow the folder, even where the run
    itself has found none.
    """
    path, wrote = layout.history, since.manifest.history
    with open_history(path) as (read, seen):
        sizes = (wrote.before.size, wrote.after.size) if wrote else ()
        before, hashes = _hash_up_to(read, seen.size, sizes, tick)
        if wrote and hashes.get(wrote.before.size) == wrote.before.sha256:
            return None  # our write was not done, or was taken out already
        # Where what came since begins, if all before it is what the run left.
        end = wrote.after.size if wrote else 0
        is_as_left = wrote is not None and hashes.get(end) == wrote.after.sha256
        kept = read_scan(directory, wrote) if wrote else Scan()
        if is_as_left and not since.elsewhere:
            scan = history.spans_back(kept, end)
            scan.extend(history.scan(read, seen.size, since, end))
        else:
            met = frozenset(map(bytes.fromhex, since.manifest.prompts_at_new))
            way = WayBack(since, met, since.elsewhere)
            scan = history.lines_back(kept, read, seen.size, way)
    if not scan.lines:
        return None
    is_untouched = is_as_left and seen.size == end
    mtime = wrote.before.mtime_ns if wrote and is_untouched else None
    return WriteHistory(path, scan, seen, since, before, mtime)


def _hash_up_to(
    read: Read, size: int, marks: tuple[int, ...], tick: Tick
) -> tuple["hashlib._Hash", dict[int, str]]:
    """The hash of a file, and of its beginnings up to each of the marks."""
    digest = hashlib.sha256()
    hashes: dict[int, str] = {}
    done = 0
    for mark in sorted({*(m for m in marks if m <= size), size}):
        while done < mark and (block := read(done, min(BLOCK, mark - done))):
            digest.update(block)
            done += len(block)
            if tick:
                tick(done)
        hashes[mark] = digest.hexdigest()
    return digest, hashes
