"""Take the change of a run out of a document: the same for restore, recover and undo of an undo.

A document that is as the run left it gets its original bytes. In any other only the run's own
change is taken out, by the three-way rules of `rewrite.threeway`; what came later stays.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from ccmove.claude.reading import Fingerprint, add_to_hash, open_regular, reader
from ccmove.plan.model import WriteHistory
from ccmove.rewrite import history
from ccmove.rewrite.history import Read, Scan, lines_back, spans_back
from ccmove.rewrite.pathmap import NameMap, PathMap
from ccmove.rewrite.threeway import taken_out
from ccmove.run.backups import read_changed, read_saved
from ccmove.run.manifest import Manifest, Wrote, WroteHistory, sha256
from ccmove.run.stage import StagedHistory


def way_back(manifest: Manifest) -> PathMap:
    """Where paths belong that were added since, if the run came to where nothing was known."""
    return PathMap(manifest.fresh).reversed()


def document_back(
    directory: Path, manifest: Manifest, wrote: Wrote, now: bytes
) -> tuple[bytes, list[str], int | None]:
    """The document without the run's change, what can't be taken out, and the date to give back."""
    assert wrote.before is not None
    digest = sha256(now)
    if digest == wrote.before.sha256:
        return now, [], None
    before = read_saved(directory, wrote, "before")
    if digest == wrote.after.sha256:
        return before, [], wrote.before.mtime_ns
    text, named = taken_out(
        _form(wrote),
        _text(before),
        _text(read_saved(directory, wrote, "after")),
        _text(now),
        _mapper(manifest, wrote),
        manifest.paths.map,
    )
    return text.encode("utf-8", "surrogateescape"), [*map(_readable, named)], None


def _readable(place: str) -> str:
    """A JSON pointer as people read it: `projects > /code/app > lastCost`."""
    if not place.startswith("/"):
        return place
    return " > ".join(part.replace("~1", "/").replace("~0", "~") for part in place[1:].split("/"))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _form(wrote: Wrote) -> str:
    if wrote.place != "other":
        return wrote.place
    return "json" if wrote.path.suffix == ".json" else "lines"


def _mapper(manifest: Manifest, wrote: Wrote) -> Callable[[str], str | None]:
    """For strings that came since; of an index also the names of directories inside paths."""
    back = way_back(manifest)
    if wrote.place != "index":
        return back.map
    renamed = [move for move in manifest.projects if move.kind == "rename"]
    names = NameMap(tuple((move.target, move.source) for move in renamed), back)
    return lambda path: names.map(path) or back.map(path)


def plan_history_back(directory: Path, manifest: Manifest, path: Path) -> WriteHistory | None:
    """The history without the run's change; None when there is nothing to take out.

    Prompts that came since follow, even where the run itself has found none.
    """
    fd = open_regular(path)
    if fd is None:
        return None
    with open(fd, "rb"):
        seen = Fingerprint.of(os.fstat(fd))
        scan, mtime = _history_back(directory, manifest, reader(fd), seen.size)
    return WriteHistory(path, scan, seen, mtime) if scan.lines else None


def _history_back(
    directory: Path, manifest: Manifest, read: Read, size: int
) -> tuple[Scan, int | None]:
    """What to change in the present history, and the date to give back when nothing came since."""
    wrote, back = manifest.history, way_back(manifest)
    if wrote is None:
        return history.scan(read, size, back), None
    before, after = wrote.before, wrote.after
    hashes: dict[int, str] = {}  # of the first so many bytes, in one pass
    position, digest = 0, hashlib.sha256()
    for length in sorted({before.size, after.size}):
        if length <= size:
            add_to_hash(digest, read, position, length)
            hashes[length], position = digest.hexdigest(), length
    if hashes.get(before.size) == before.sha256:
        return Scan(size=size), None
    kept = read_changed(directory, wrote)
    if hashes.get(after.size) != after.sha256:
        return lines_back(kept, read, size, back), None
    scan = spans_back(kept, after.size)
    scan.extend(history.scan(read, size, back, start=after.size))
    return scan, before.mtime_ns if size == after.size else None


def stage_history_back(
    directory: Path, manifest: Manifest, wrote: WroteHistory, staged: Path
) -> StagedHistory | None:
    """The history without the run's change, beside it; None when there is nothing to take out.

    This takes time, so it comes before the client's lock; under that, `look_again` carries over
    what was appended meanwhile.
    """
    write = plan_history_back(directory, manifest, wrote.path)
    if write is None:
        return None
    without = StagedHistory(wrote.number, write, staged, way_back(manifest))
    without.stage()
    return without
