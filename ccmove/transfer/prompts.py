"""The prompts of some projects in the history, found once and read again later."""

from __future__ import annotations

import io
from array import array
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from ccmove.claude.reading import Fingerprint
from ccmove.errors import CcmoveError
from ccmove.rewrite.history import Read, Tick, blocks, decoded, encoded, prompt_of
from ccmove.rewrite.jsonspan import parse
from ccmove.rewrite.windows import is_windows, native

PIECE = 1 << 18
ProjectOf = Callable[[str], str | None]  # the project that a path's prompts go with
_ESCAPES = [b"\\u", b"\\/"]  # in which a path may be spelled otherwise


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
        bare = line.rstrip(b"\n")
        prompt = prompt_of(bare)
        if prompt is None:
            self.unreadable += is_named
            return
        path = native(decoded(prompt.project))
        project = self._project_of(path)
        if project is None:
            return
        if self._sessions and prompt.session not in self._sessions:
            return
        prompts = self.found.setdefault(project, Prompts())
        self.pasted.update(_pasted(bare))
        if path == project and bare != line:
            prompts.add(start, len(line))
        else:
            moved = prompt.with_path(bare, project)
            prompts.add_text(moved + b"\n")


def _pasted(line: bytes) -> Iterator[str]:
    """Hashes of the long texts of a prompt, which are kept elsewhere."""
    if b"contentHash" not in line:
        return
    contents = parse(line.decode()).members().get("pastedContents")
    if contents is None:
        return
    for content in contents.members().values():
        digest = content.string("contentHash")
        if digest is not None:
            yield digest
