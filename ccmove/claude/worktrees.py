"""Which worktree a session is in: the client notes it in the transcript.

After a move the note has the old path. Resumed in the main checkout, such a session
finds no worktree there, says so and goes on in the main checkout; started inside of the
worktree it stays in it (seen with 2.1.327).
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ccmove.claude.reading import names_in, open_regular
from ccmove.claude.state import SESSION_ID, TAIL, get, members, record_in
from ccmove.errors import RefusedError
from ccmove.rewrite.windows import native

NOTE = "worktree-state"


def sessions_in_worktrees(path: Path) -> Iterator[tuple[str, str]]:
    """The sessions of a project directory that are in a worktree, with its path."""
    for name in names_in(path):
        session = name.removesuffix(".jsonl")
        if session == name or not SESSION_ID.fullmatch(session):
            continue
        try:
            transcript = open_regular(path / name)
        except RefusedError:  # a link, or a pipe
            continue
        if transcript is None:
            continue
        with transcript:
            worktree = _worktree(_both_ends(transcript))
        if worktree is not None:
            yield session, worktree


def _worktree(text: bytes) -> str | None:
    """What the last note says; None also where the session left its worktree."""
    for line in reversed(text.split(b"\n")):
        if NOTE.encode() not in line:
            continue
        record = record_in(line)
        if get(record, "type") == NOTE:
            worktree = members(record, "worktreeSession").get("worktreePath")
            if isinstance(worktree, str):
                return native(worktree)
            return None
    return None


def _both_ends(file: BinaryIO) -> bytes:
    """The first and the last 64 kB: the client repeats the note at the end of every
    start.
    """
    head = file.read(2 * TAIL)
    if file.seek(0, os.SEEK_END) <= len(head):
        return head
    file.seek(-TAIL, os.SEEK_END)
    return head[:TAIL] + b"\n" + file.read(TAIL)
