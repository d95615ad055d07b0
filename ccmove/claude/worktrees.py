"""Which worktree a session is in: the client notes it in the transcript.

After a move the note has the old path. Resumed in the main checkout, such a session
finds no worktree there, says so and goes on in the main checkout; started inside of the
worktree it stays in it (seen with 2.1.327).
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ccmove.claude.reading import directory
from ccmove.claude.state import GONE_SINCE, SESSION_ID, TAIL, get, members
from ccmove.rewrite.windows import native

NOTE = "worktree-state"


def sessions_in_worktrees(path: Path) -> Iterator[tuple[str, str]]:
    """The sessions of a project directory that are in a worktree, each with its path.

    Only the first and the last 64 kB of a transcript are read: the client repeats the
    note at the end of every start.
    """
    with directory(path) as folder, folder.scan() as entries:
        names = [e.name for e in entries if e.is_file(follow_symlinks=False)]
        for name in sorted(names):
            session = name.removesuffix(".jsonl")
            if session == name or not SESSION_ID.fullmatch(session):
                continue
            try:
                with open(folder.open(name), "rb") as transcript:
                    worktree = _worktree(transcript)
            except OSError as error:
                if error.errno not in GONE_SINCE:
                    raise
                continue
            if worktree is not None:
                yield session, worktree


def _worktree(transcript: BinaryIO) -> str | None:
    """What the last note says; None also where the session left its worktree."""
    for line in reversed(_both_ends(transcript).split(b"\n")):
        if NOTE.encode() not in line:
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue  # half of a line, or none of the client's
        if get(record, "type") == NOTE:
            worktree = members(record, "worktreeSession").get("worktreePath")
            return native(worktree) if isinstance(worktree, str) else None
    return None


def _both_ends(file: BinaryIO) -> bytes:
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if size <= 2 * TAIL:
        return file.read(size)
    head = file.read(TAIL)
    file.seek(size - TAIL)
    return head + b"\n" + file.read(TAIL)
