"""Take the change of a run out of a document: the same for restore, recover and undo of an undo.

A document that is as the run left it gets its original bytes. In any other only the run's own
change is taken out, by the three-way rules of `rewrite.threeway`; what came later stays.
"""

from collections.abc import Callable
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.reading import is_there, open_history, sha256_of
from ccmove.plan.model import WriteHistory
from ccmove.rewrite import history
from ccmove.rewrite.history import lines_back, spans_back
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
        "lines" if wrote.place == "other" and wrote.path.suffix != ".json" else wrote.place,
        _text(before),
        _text(read_saved(directory, wrote, "after")),
        _text(now),
        _mapper(manifest, wrote),
        manifest.paths.map,
    )
    return text.encode("utf-8", "surrogateescape"), named, None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _mapper(manifest: Manifest, wrote: Wrote) -> Callable[[str], str | None]:
    """For strings that came since; of an index also the names of directories inside paths."""
    back = way_back(manifest)
    if wrote.place != "index":
        return back.map
    renamed = [move for move in manifest.projects if move.kind == "rename"]
    names = NameMap(tuple((move.target, move.source) for move in renamed), back)
    return lambda path: names.map(path) or back.map(path)


def plan_history_back(layout: Layout, directory: Path, manifest: Manifest) -> WriteHistory | None:
    """The history without the run's change; None when there is nothing to take out.

    Prompts that came since follow, even where the run itself has found none.
    """
    path, wrote, back, mtime = layout.history, manifest.history, way_back(manifest), None
    with open_history(layout) as (read, seen):
        if wrote is None:
            scan = history.scan(read, seen.size, back)
        elif not is_there(path) or sha256_of(path, wrote.before.size) == wrote.before.sha256:
            return None
        else:
            kept, size = read_changed(directory, wrote), wrote.after.size
            if sha256_of(path, size) == wrote.after.sha256:
                scan = spans_back(kept, size)
                scan.extend(history.scan(read, seen.size, back, start=size))
                mtime = wrote.before.mtime_ns if seen.size == size else None
            else:
                scan = lines_back(kept, read, seen.size, back)
    return WriteHistory(path, scan, seen, mtime) if scan.lines else None


def stage_history_back(
    layout: Layout, manifest: Manifest, wrote: WroteHistory, staged: Path
) -> StagedHistory | None:
    """The history without the run's change, beside it; None when there is nothing to take out.

    This takes time, so it comes before the client's lock; under that, `look_again` carries over
    what was appended meanwhile.
    """
    write = plan_history_back(layout, layout.run, manifest)
    if write is None:
        return None
    without = StagedHistory(wrote.number, write, staged, way_back(manifest))
    without.stage()
    return without
