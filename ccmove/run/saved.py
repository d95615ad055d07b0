"""What a backup saved, and what is there now without the run's change.

Recovery and undo take a run's change out of documents in the same way: one that is as
the run left it gets its original bytes; in any other the three-way rules of
`rewrite.threeway` hold, and what came later stays.
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.reading import add_to_hash, open_history, read_document
from ccmove.errors import RefusedError
from ccmove.hints import look_at
from ccmove.plan.model import WriteHistory
from ccmove.rewrite import history
from ccmove.rewrite.added import without_added
from ccmove.rewrite.history import Read, Scan, Tick, WayBack, from_record
from ccmove.rewrite.occurrences import Occurrences
from ccmove.rewrite.pathmap import NameMap
from ccmove.rewrite.threeway import Following, taken_out
from ccmove.run.manifest import Content, SavedNote, Wrote, WroteHistory, sha256
from ccmove.run.since import Since
from ccmove.text import as_bytes, as_text

EMPTY_CONFIG = b'{"projects": {}}'  # a config file of a machine on which there was none


def read_saved(directory: Path, wrote: Wrote, which: str) -> bytes:
    """The text of a document `before` or `after` a run.

    RefusedError when it is not that.
    """
    content = wrote.before if which == "before" else wrote.after
    expected = ""
    if content is not None:
        expected = content.sha256
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
        return from_record(data, wrote.size_before, wrote.after.size)
    except (ValueError, RecursionError):
        raise RefusedError(f"{path} can't be used", look_at(path)) from None


def _saved(path: Path, expected: str) -> bytes:
    document = read_document(path)
    if document is not None and sha256(document.data) == expected:
        return document.data
    what = "was changed since it was saved"
    if document is None:
        what = "is missing"
    raise RefusedError(
        f"{path} {what}, so this run can't be undone", look_at(path.parent)
    )


@dataclass(frozen=True, slots=True)
class Back:
    """A document without the run's change."""

    content: bytes
    stays: list[str]  # what can't be taken out, in words
    mtime_ns: int | None  # the date to give back

    @property
    def text(self) -> str:
        return as_text(self.content)


def document_back(
    layout: Layout, directory: Path, since: Since, wrote: Wrote, now: bytes
) -> Back:
    """What takes the run's change out of what is there now.

    A config file that the run made is taken for an empty one before.
    """
    before = EMPTY_CONFIG
    mtime: int | None = None
    if wrote.before is not None:
        if sha256(now) == wrote.before.sha256:
            return Back(now, [], None)
        before = read_saved(directory, wrote, "before")
        mtime = wrote.before.mtime_ns
    if wrote.left(now):
        return Back(before, [], mtime)
    after = read_saved(directory, wrote, "after")
    form: str = wrote.form
    if form == "other" and wrote.path.suffix != ".json":
        form = "lines"
    text, named = taken_out(
        form,
        as_text(before),
        as_text(after),
        as_text(now),
        following(layout, since),
        since.renamed.map,
    )
    stays = []
    for place in named:
        what = f"{place} has changed since, so it stays"
        stays.append(f"{wrote.ends}: {what}")
    return Back(as_bytes(text), stays, None)


def following(layout: Layout, since: Since) -> Following:
    """NEW -> OLD, for paths that follow and for directories that were renamed."""
    names = _names_back(since)
    inside = Occurrences.of(since.following, str(layout.home), os.path.lexists)

    def value(string: str) -> str | None:
        return names.map(string) or inside.inside(string)

    return Following(names.map, value)


def _names_back(since: Since) -> NameMap:
    renamed = [move for move in since.manifest.projects if move.kind == "rename"]
    pairs = [(move.target, move.source) for move in renamed]
    return NameMap(tuple(pairs), since.following)


def plan_history_back(
    layout: Layout, directory: Path, since: Since, tick: Tick = None
) -> WriteHistory | None:
    """The history without the run's change; None when there is nothing to take out.

    Prompts that came since go by session, or follow the folder, even where the run
    itself has found none; not where the history begins as before the run again.
    """
    path = layout.history
    wrote = since.manifest.history
    mtime: int | None = None
    with open_history(path) as (read, seen):
        hashes = _hashes_of(read, seen.size, wrote, tick)
        if wrote is None:
            scan = _lines_back(Scan(), read, seen.size, since)
        elif since.manifest.is_unpack:
            kept = read_scan(directory, wrote)
            scan = without_added(kept, read, seen.size, since.stays)
        elif _begins_with(wrote.before, hashes):
            return None  # our write was not done, or was taken out already
        else:
            kept = read_scan(directory, wrote)
            end = wrote.after.size
            if _begins_with(wrote.after, hashes) and not since.elsewhere:
                scan = history.spans_back(kept, end)
                came = history.scan(read, seen.size, since, end)
                scan.extend(came)
            else:
                scan = _lines_back(kept, read, seen.size, since)
        if wrote is not None:
            mtime = _date_before(wrote, seen.size, hashes, scan)
    if not scan.lines:
        return None
    return WriteHistory(path, scan, seen, since, mtime)


def _begins_with(content: Content | None, hashes: dict[int, str]) -> bool:
    """Whether the history has still all that it had then, at its beginning."""
    if content is None:
        return False
    return hashes.get(content.size) == content.sha256


def _date_before(
    wrote: WroteHistory, size: int, hashes: dict[int, str], scan: Scan
) -> int | None:
    """The date to give back, where all is to be as it was."""
    before = wrote.before
    after = wrote.after
    is_as_left = size == after.size and _begins_with(after, hashes)
    if before is None or not is_as_left:
        return None
    if scan.new_size() != before.size:
        return None
    return before.mtime_ns


def _lines_back(kept: Scan, read: Read, size: int, since: Since) -> Scan:
    met = frozenset(map(bytes.fromhex, since.manifest.prompts_at_new))
    way = WayBack(since, met, since.elsewhere)
    return history.lines_back(kept, read, size, way)


def _hashes_of(
    read: Read, size: int, wrote: WroteHistory | None, tick: Tick
) -> dict[int, str]:
    """The hashes of the history's beginnings, as long as it was before the run and
    after it."""
    hashes: dict[int, str] = {}
    if wrote is None:
        return hashes
    digest = hashlib.sha256()
    done = 0
    for mark in sorted({wrote.size_before, wrote.after.size}):
        if mark > size:
            break
        add_to_hash(digest, read, done, mark, tick)
        done = mark
        hashes[mark] = digest.hexdigest()
    return hashes
