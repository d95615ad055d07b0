"""At which commit was a session begun? The client notes it in the transcript.

2.1.326 and 2.1.327 keep what the model is told of git at the start of a session, with
the commits of that time, in a record of their own; 2.1.92 did not.
"""

import os
import re
from pathlib import Path

from ccmove.claude.reading import names_in, open_again
from ccmove.claude.state import get, members, record_in

MOST_READ = 5  # transcripts
BEGINNING = 128 << 10  # bytes of one: the note is at 25 kB, after the prompt
NOTE = "session_context"
FIRST_COMMIT = re.compile(r"^Recent commits:\n([0-9a-f]{7,40}) ", re.MULTILINE)


def first_commit(directory: Path, path: str) -> str | None:
    """How the commit begins at which the newest session was begun that notes one, in
    the very folder that the project directory is for.
    """
    for file in _newest(directory)[:MOST_READ]:
        with open_again(file) as transcript:
            beginning = transcript.read(BEGINNING)
        for line in beginning.split(b"\n"):
            commit = _commit_in(line, path)
            if commit is not None:
                return commit
    return None


def _newest(directory: Path) -> list[Path]:
    """The transcripts, the newest first."""
    names = [name for name in names_in(directory) if name.endswith(".jsonl")]
    files = [directory / name for name in names]
    files.sort(key=_date, reverse=True)
    return files


def _date(file: Path) -> int:
    return os.lstat(file).st_mtime_ns


def _commit_in(line: bytes, path: str) -> str | None:
    """What such a record says, if it was made in this folder."""
    if NOTE.encode() not in line:
        return None
    record = record_in(line)
    note = members(record, "attachment")
    if get(note, "type") != NOTE or get(record, "cwd") != path:
        return None
    context = members(note, "context")
    status = get(context, "gitStatus")
    match = FIRST_COMMIT.search(str(status))
    if match:
        return match[1]
    return None
