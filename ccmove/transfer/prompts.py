"""The prompts of some projects in the history, found once and read again later."""

from __future__ import annotations

import io
import json
from array import array
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ccmove.claude.reading import Fingerprint
from ccmove.errors import CcmoveError
from ccmove.rewrite.history import Read, Tick, blocks, encoded
from ccmove.rewrite.jsonspan import parse, quote
from ccmove.rewrite.splice import replaced
from ccmove.rewrite.windows import is_windows, native

PIECE = 1 << 18
ProjectOf = Callable[[str], str | None]  # the project that a path's prompts go with
_ESCAPES = [b"\\u", b"\\/"]  # in which a path may be spelled otherwise


class Entry(NamedTuple):
    """What a line of the history says."""

    path: str
    session: str | None
    pasted: tuple[str, ...]  # hashes of long texts, which are kept elsewhere


@dataclass(eq=False)
class Prompts:
    """Those of one project, in order: spans of the history, and lines made from it."""

    starts: array[int] = field(default_factory=lambda: array("q"))  # -1: of a text
    lengths: array[int] = field(default_factory=lambda: array("q"))
    texts: list[bytes] = field(default_factory=list)
    end: int = -1  # of the last span
    size: int = 0
    number: int = 0

    def add(self, start: int, length: int) -> None:
        """A line as it is in the history."""
        if start == self.end:
            self.lengths[-1] += length
        else:
            self.starts.append(start)
            self.lengths.append(length)
        self.end = start + length
        self.size += length
        self.number += 1

    def add_text(self, line: bytes) -> None:
        """A line that is not in the history as it is here."""
        self.starts.append(-1)
        self.lengths.append(len(line))
        self.texts.append(line)
        self.end = -1
        self.size += len(line)
        self.number += 1

    def read(self, read: Read) -> Iterator[bytes]:
        """Their bytes; CcmoveError when the history has become shorter."""
        texts = iter(self.texts)
        for start, length in zip(self.starts, self.lengths, strict=True):
            if start < 0:
                yield next(texts)
            else:
                yield from _span(read, start, start + length)


def _span(read: Read, start: int, end: int) -> Iterator[bytes]:
    while start < end:
        piece = read(start, min(PIECE, end - start))
        if not piece:
            raise CcmoveError("the history became shorter while it was packed")
        yield piece
        start += len(piece)


class Search:
    """Finds the prompts of each project that is asked for."""

    def __init__(
        self,
        project_of: ProjectOf,
        needles: Collection[str],  # each path that counts has one; none: any may
        sessions: Collection[str] = (),  # only theirs, where there are some
    ) -> None:
        self._project_of = project_of
        self._sessions = sessions
        self._signs: list[bytes] = []
        if not any(map(is_windows, needles)):  # which are spelled in too many ways
            self._signs = [encoded(needle)[1:-1] for needle in needles]
        self.found: dict[str, Prompts] = {}
        self.pasted: set[str] = set()  # hashes of long texts in them
        self.history = Fingerprint(0, 0, 0)  # as it was looked at
        self.unreadable = 0  # lines that name one of them and are not valid JSON

    def run(self, read: Read, seen: Fingerprint, tick: Tick = None) -> None:
        """Look at the whole history; `tick` is told how far."""
        self.history = seen
        for start, block, end in blocks(read, 0, seen.size):
            self._look_into(block[:end], start)
            if tick:
                tick(start + end)

    def _look_into(self, block: bytes, start: int) -> None:
        for line in io.BytesIO(block):
            self._look_at(line, start)
            start += len(line)

    def _look_at(self, line: bytes, start: int) -> None:
        """Take a line if it is a prompt of one of the projects."""
        is_named = any(sign in line for sign in self._signs)
        is_escaped = any(escape in line for escape in _ESCAPES)
        if self._signs and not is_named and not is_escaped:
            return
        entry = _entry(line)
        if entry is None:
            self.unreadable += is_named
            return
        project = self._project_of(entry.path)
        if project is None:
            return
        if self._sessions and entry.session not in self._sessions:
            return
        prompts = self.found.setdefault(project, Prompts())
        self.pasted.update(entry.pasted)
        if entry.path == project and line.endswith(b"\n"):
            prompts.add(start, len(line))
        else:
            prompts.add_text(_with_project(line, project))


def _entry(line: bytes) -> Entry | None:
    """What a line says if it is a prompt of a project."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    path, session = record.get("project"), record.get("sessionId")
    if not isinstance(path, str):
        return None
    if not isinstance(session, str):
        session = None
    return Entry(native(path), session, tuple(_pasted(record.get("pastedContents"))))


def _pasted(contents: object) -> Iterator[str]:
    if not isinstance(contents, dict):
        return
    for content in contents.values():
        if isinstance(content, dict) and "contentHash" in content:
            yield str(content["contentHash"])


def _with_project(line: bytes, project: str) -> bytes:
    """A line of a path whose sessions go with this project's, or one without its
    newline.
    """
    text = line.decode().rstrip("\n")
    node = parse(text).members()["project"]
    return replaced(node, quote(project)).encode() + b"\n"
