"""How to take back what a run did to the history, also when lines came and went since."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.reading import Fingerprint, open_regular, reader
from ccmove.plan.model import HistoryChange, HistoryPart
from ccmove.rewrite import history
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.rewrite.pathmap import PathMap
from ccmove.run.manifest import Manifest, SavedFile, sha256_of
from ccmove.run.wayback import WayBack, way_back


def reversed_history(
    layout: Layout,
    manifest: Manifest,
    file: SavedFile,
    path: Path,
    warnings: list[str],
    back: WayBack | None = None,
) -> HistoryChange | None:
    """The history with the run taken back; None when there is nothing to take back."""
    assert file.before is not None
    assert file.saved is not None
    fd = open_regular(path)
    if fd is None:
        warnings.append(f"{path} is gone; its old content is in the backup")
        return None
    saved = layout.backups / manifest.id / file.saved
    back = back or way_back(layout, manifest)
    try:
        seen = Fingerprint.of(os.fstat(fd))
        if seen.size >= file.after.size and sha256_of(path, file.after.size) == file.after.sha256:
            tail = history.scan(reader(fd), seen.size, back, file.after.size)
            untouched = history.Scan(size=file.before.size)
            keep = file.before.mtime_ns if seen.size == file.after.size else None
            parts = (HistoryPart(saved, untouched), HistoryPart(path, tail, file.after.size))
            return HistoryChange(path, parts, seen, keep)
        return _line_by_line(reader(fd), seen, path, Written(saved, manifest.paths, back))
    finally:
        os.close(fd)


def pointed_back(path: Path, back: WayBack) -> HistoryChange | None:
    """For a run that found nothing to change in the history: lines that came since."""
    fd = open_regular(path)
    if fd is None:
        return None
    try:
        seen = Fingerprint.of(os.fstat(fd))
        found = history.scan(reader(fd), seen.size, back)
    finally:
        os.close(fd)
    return HistoryChange(path, (HistoryPart(path, found),), seen) if found.lines else None


def _line_by_line(
    read: history.Read, seen: Fingerprint, path: Path, written: Written
) -> HistoryChange | None:
    """Lines that the run wrote get their old values back; lines that came since are mapped back."""
    backward = PathMap(written.back.moves)
    result = history.Scan(size=seen.size)
    done = 0
    for at in history.scan(read, seen.size, backward).starts:
        if at < done:
            continue  # the same line again: it names its project twice
        start, line = _line_around(read, at, seen.size)
        done = start + len(line)
        for value, raw in written.values_before(line, history.project_values(line, backward)):
            swap = history.Swap(value.end - value.start, raw)
            result.add(start + value.start, swap)
    return HistoryChange(path, (HistoryPart(path, result),), seen) if result.lines else None


class Written:
    """The lines that a run wrote, by their hash, with the values that each had before."""

    def __init__(self, saved: Path, forward: PathMap, back: WayBack) -> None:
        self.back = back
        self._values: dict[bytes, list[bytes]] = {}
        with open(saved, "rb") as file:
            for line in file:
                self._add(line, forward)

    def _add(self, line: bytes, forward: PathMap) -> None:
        try:
            values = history.project_values(line, forward)
        except (NotJsonError, UnicodeDecodeError):
            return
        if values:
            new = line
            for value in reversed(values):
                new = new[: value.start] + history.encoded(value.after) + new[value.end :]
            self._values[_digest(new)] = [line[value.start : value.end] for value in values]

    def values_before(
        self, line: bytes, values: list[history.Value]
    ) -> Iterator[tuple[history.Value, bytes]]:
        """What the values of this line are to be again; those that are to stay are left out."""
        before = self._values.get(_digest(line))
        if before is not None and len(before) == len(values):
            yield from zip(values, before, strict=True)
            return
        for value in values:
            back = self.back.map(value.before)
            if back is not None:
                yield value, history.encoded(back)


def _digest(line: bytes) -> bytes:
    return hashlib.sha256(line.rstrip(b"\r\n")).digest()


def _line_around(read: history.Read, offset: int, size: int) -> tuple[int, bytes]:
    """Where the line that `offset` is in begins, and the line."""
    start, head = offset, b""
    while start > 0 and b"\n" not in head:
        step = min(start, 4096)
        start -= step
        head = read(start, step) + head
    head = head[head.rfind(b"\n") + 1 :]
    tail, position = b"", offset
    while position < size and b"\n" not in tail:
        tail += read(position, 4096)
        position += 4096
    return offset - len(head), head + tail.split(b"\n", 1)[0]
